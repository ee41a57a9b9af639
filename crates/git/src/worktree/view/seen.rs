//! A worktree as its processes see it.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use orchestrate_sandbox::{Content, HostView, Mask, Mount, Mounted, Seen, View};

use crate::files::openat;
use crate::repo::refs::branch_ref;
use crate::repo::worktree::Worktree;
use crate::store::brought;
use crate::worktree::private::place::PrivatePlace;
use crate::worktree::private::shown;
use crate::worktree::view::{git_mounts, stand_in};

impl Worktree {
    /// Returns the worktree as its processes see it: its files and its own git directory are
    /// writable (`private`), the repository's objects are readable.
    ///
    /// Where worktrees are mounted
    /// ([`Worktrees::are_mounted`](crate::Worktrees::are_mounted)), it is at the path of the user's
    /// checkout, which it hides: absolute paths in what was built or installed there lead to the
    /// worktree's files.
    pub fn seen(&self) -> Seen {
        match &self.shown().at {
            Some(checkout) => Seen {
                path: checkout.clone(),
                view: self.mounted_view(checkout),
            },
            None => Seen {
                path: self.path().to_owned(),
                view: self.own_view(),
            },
        }
    }

    fn mounted_view(&self, checkout: &Path) -> View {
        let mut mounts = vec![Mount::new(
            checkout,
            Mounted::Writable(self.path().to_owned()),
        )];
        mounts.extend(git_mounts::mounts(self));
        mounts.push(Mount::new(
            checkout.join(".git"),
            Mounted::File(git_mounts::pointer()),
        ));
        for folder in self.read_only_folders() {
            mounts.push(Mount::new(
                checkout.join(&folder),
                Mounted::ReadOnly(self.path().join(&folder)),
            ));
        }
        View::Host(HostView {
            mounts,
            ..HostView::default()
        })
    }

    /// Returns the view in which the worktree is at its own path.
    ///
    /// The `.git` file leads to the git directory, or can only be read. A sandbox tier that cannot
    /// mask a file inside a writable folder leaves it writable, so nothing relies on the mask: see
    /// [`Worktree::verify_untampered`].
    fn own_view(&self) -> View {
        let dot_git = self.path().join(".git");
        let pointer = if self.shown().mounts {
            Content::File(git_mounts::pointer())
        } else {
            Content::ReadOnly
        };
        let mut masks = vec![Mask {
            path: dot_git,
            content: pointer,
        }];
        for folder in self.read_only_folders() {
            masks.push(Mask {
                path: self.path().join(folder),
                content: Content::ReadOnly,
            });
        }
        if self.shown().mounts {
            return View::Host(HostView {
                writable: vec![self.path().to_owned()],
                masks,
                mounts: git_mounts::mounts(self),
                ..HostView::default()
            });
        }
        let (common_dir, git_dir) = (self.common_dir(), PrivatePlace::beside(self).git_dir());
        // It is shown only as long as it is what may be shown.
        masks.push(Mask {
            path: common_dir.join("config"),
            content: Content::File(self.shown().config.clone()),
        });
        // With these, programs that do not use git itself find their commit.
        let mut optional = shown::shown(common_dir, self.admin_dir());
        let own_ref = self.branch().map(branch_ref);
        optional.extend(own_ref.map(|name| common_dir.join(name)));
        View::Host(HostView {
            writable: vec![self.path().to_owned(), git_dir.clone()],
            optional,
            masks,
            stand_in: Some(stand_in::for_git(self.path(), &git_dir)),
            ..HostView::default()
        })
    }

    /// Returns the folders in it whose changes would be lost, relative to it, as far as they are
    /// there. A link in the place of one, or on the way to it, is not followed.
    fn read_only_folders(&self) -> Vec<PathBuf> {
        let mut folders = brought::outer_folders(self.admin_dir());
        folders.retain(|folder| {
            openat::open_folder(self.root(), folder.as_os_str().as_bytes()).is_ok()
        });
        folders
    }
}
