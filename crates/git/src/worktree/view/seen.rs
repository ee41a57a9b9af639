//! A worktree as its processes see it.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use orchestrate_sandbox::{Content, HostView, Mask, Mount, Mounted, Seen, View};

use crate::files::openat;
use crate::repo::worktree::Worktree;
use crate::store::brought;
use crate::worktree::view::private_git_dir::GitDirs;
use crate::worktree::view::shown_refs::ShownRefs;
use crate::worktree::view::stand_in::StandInFor;
use crate::worktree::view::{private_git_dir, shown};

impl Worktree {
    /// Returns the worktree as its processes see it: its files are writable, git's are readable.
    ///
    /// Where worktrees are mounted
    /// ([`Worktrees::are_mounted`](crate::Worktrees::are_mounted)), it is at the path of the user's
    /// checkout, which it hides: absolute paths in what was built or installed there lead to the
    /// worktree's files. Its git directory is made for each view (`private_git_dir`).
    pub fn seen(&self) -> Seen {
        match self.mounted_at() {
            Some(checkout) => Seen {
                path: checkout.to_owned(),
                view: self.mounted_view(checkout),
            },
            None => Seen {
                path: self.path().to_owned(),
                view: self.own_view(),
            },
        }
    }

    fn mounted_view(&self, checkout: &Path) -> View {
        let common_dir = self.common_dir();
        let config = shown::config(common_dir);
        let refs = ShownRefs::read(common_dir, self.branch());
        let mut mounts = vec![Mount::new(
            checkout,
            Mounted::Writable(self.path().to_owned()),
        )];
        mounts.extend(private_git_dir::mounts(
            &GitDirs {
                common_dir,
                admin_dir: self.admin_dir(),
            },
            config,
            &refs,
        ));
        mounts.push(Mount::new(
            checkout.join(".git"),
            Mounted::File(private_git_dir::pointer()),
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
    /// The `.git` file is read-only, and of git's directories only the files that git needs to read
    /// are visible (`shown.rs`). A sandbox tier that cannot mask a file inside a writable folder
    /// leaves `.git` writable, so nothing relies on the mask: see [`Worktree::verify_untampered`].
    ///
    /// The refs are those of now, and of those of runs only the worktree's own branch
    /// (`shown_refs.rs`). A tier that cannot replace files hides the refs and the configuration;
    /// git's reading commands find them in a git directory of the job's own (`stand_in.rs`).
    fn own_view(&self) -> View {
        let common_dir = self.common_dir();
        let config = shown::config(common_dir);
        let refs = ShownRefs::read(common_dir, self.branch());
        let mut masks = refs.masks(common_dir);
        masks.push(Mask {
            path: self.path().join(".git"),
            content: Content::ReadOnly,
        });
        for folder in self.read_only_folders() {
            masks.push(Mask {
                path: self.path().join(folder),
                content: Content::ReadOnly,
            });
        }
        masks.push(Mask {
            path: common_dir.join("config"),
            content: Content::File(config.clone()),
        });
        let mut optional = shown::shown(common_dir, self.admin_dir());
        // With it, programs that do not use git itself find their commit in every tier.
        optional.extend(refs.own_file().map(|file| common_dir.join(file)));
        let stand_in = StandInFor {
            worktree: self.path(),
            common_dir,
            admin_dir: self.admin_dir(),
        }
        .with(config, &refs);
        let (writable, composed) = (vec![self.path().to_owned()], vec![common_dir.to_owned()]);
        View::Host(HostView {
            writable,
            optional,
            composed,
            masks,
            stand_in: Some(stand_in),
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
