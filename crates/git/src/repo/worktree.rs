//! A worktree of ours, held by an open descriptor of its directory.
//!
//! A worktree's `.git` file is in a folder that an agent can write, and git follows it. So no code
//! ever finds a repository from inside a worktree: git and libgit2 are given the recorded admin
//! directory, and the `.git`, `commondir` and `gitdir` files are compared before each use with what
//! git writes there.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use orchestrate_files::if_there;

use crate::error::GitError;
use crate::files::openat;

/// The maximum size of the files that are compared; each contains one path.
pub(crate) const POINTER_BYTES: u64 = 8 << 10;

/// Where the processes of a worktree find its own git directory, if the sandbox can mount it: the
/// same for all worktrees, since builds record it.
pub(crate) const GIT_SEEN: &str = "/run/git";
/// Where they find the repository's objects then.
pub(crate) const BASE_SEEN: &str = "/run/git-base";

/// A worktree of ours, with an open descriptor of its directory.
#[derive(Debug)]
pub struct Worktree {
    path: PathBuf,
    admin_dir: PathBuf,
    root: OwnedFd,
    branch: Option<String>,
    /// How its processes see it.
    shown: Shown,
    /// Whether it was filled just now, and nothing has used it since.
    is_unused: AtomicBool,
}

/// How the processes of a worktree see it.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    /// Whether the sandbox can mount files at other paths than their own.
    pub(crate) mounts: bool,
    /// The user's own checkout, if the worktree is mounted at its path.
    pub(crate) at: Option<PathBuf>,
    /// The repository's configuration, as far as it may be shown.
    pub(crate) config: Vec<u8>,
}

impl Worktree {
    /// Returns the directory, as a real path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns git's admin directory for this worktree, in the common directory.
    pub fn admin_dir(&self) -> &Path {
        &self.admin_dir
    }

    /// Returns the short name of the branch that is checked out, or `None` if HEAD is detached.
    pub fn branch(&self) -> Option<&str> {
        self.branch.as_deref()
    }

    /// Returns the descriptor of the directory, below which all files must be opened.
    pub fn root(&self) -> BorrowedFd<'_> {
        self.root.as_fd()
    }

    /// Returns how its processes see it.
    pub(crate) fn shown(&self) -> &Shown {
        &self.shown
    }

    /// Returns the folder of git's files for all worktrees.
    pub(crate) fn common_dir(&self) -> &Path {
        self.admin_dir.ancestors().nth(2).unwrap_or(&self.admin_dir)
    }

    /// Returns where its processes find the repository's objects.
    pub(crate) fn objects_seen(&self) -> PathBuf {
        if self.shown.mounts {
            Path::new(BASE_SEEN).join("objects")
        } else {
            self.common_dir().join("objects")
        }
    }

    /// Opens the worktree at a path, whose admin directory is known.
    pub(crate) fn hold(
        path: PathBuf,
        admin_dir: PathBuf,
        shown: Shown,
    ) -> Result<Worktree, GitError> {
        let root = openat::open_root(&path).map_err(GitError::errno("open", &path))?;
        let head = admin_dir.join("HEAD");
        let text = std::fs::read_to_string(&head).map_err(GitError::io("read", &head))?;
        let branch = text
            .trim_end()
            .strip_prefix("ref: refs/heads/")
            .map(str::to_owned);
        Ok(Worktree {
            path,
            admin_dir,
            root,
            branch,
            shown,
            is_unused: AtomicBool::new(false),
        })
    }

    /// Notes that the worktree was filled just now.
    pub(crate) fn set_unused(&self) {
        self.is_unused.store(true, Ordering::Relaxed);
    }

    /// Reports whether the worktree was filled when this value was made, and has exactly the files
    /// of its commit: true at most once, since the caller uses it.
    pub fn take_unused(&self) -> bool {
        self.is_unused.swap(false, Ordering::Relaxed)
    }

    /// Removes the configuration that git copies from the user's checkout if worktrees may have
    /// their own (`extensions.worktreeConfig`, which `git sparse-checkout` leaves set): it applies
    /// to that checkout's files.
    pub(crate) fn drop_inherited_config(&self) -> Result<(), GitError> {
        let path = self.admin_dir.join("config.worktree");
        if_there(std::fs::remove_file(&path))
            .map(drop)
            .map_err(GitError::io("remove", &path))
    }

    /// Checks that the files that tie the worktree to its repository are what git wrote there.
    ///
    /// # Errors
    /// [`GitError::Tampered`], or [`GitError::NoWorktree`] if the directory was replaced or
    /// removed.
    pub fn verify_untampered(&self) -> Result<(), GitError> {
        let gone = |reason: &str| GitError::NoWorktree {
            path: self.path.clone(),
            reason: reason.to_owned(),
        };
        let here = openat::open_root(&self.path).map_err(|_| gone("its directory is gone"))?;
        let same = |one: rustix::fs::Stat, two: rustix::fs::Stat| {
            (one.st_dev, one.st_ino) == (two.st_dev, two.st_ino)
        };
        let stat = |fd: BorrowedFd<'_>| {
            rustix::fs::fstat(fd).map_err(GitError::errno("look at", &self.path))
        };
        if !same(stat(here.as_fd())?, stat(self.root())?) {
            return Err(gone("its directory was replaced"));
        }
        let tampered = |what| GitError::Tampered {
            path: self.path.clone(),
            what,
        };
        let admin =
            openat::open_root(&self.admin_dir).map_err(|_| gone("git's entry for it is gone"))?;
        let expected = Pointers::new(&self.path, &self.admin_dir);
        let files = [
            (self.root(), ".git", expected.dot_git),
            (admin.as_fd(), "commondir", expected.commondir),
            (admin.as_fd(), "gitdir", expected.gitdir),
        ];
        for (folder, name, expected) in files {
            match openat::read(folder, name.as_bytes(), POINTER_BYTES) {
                Ok(Some((bytes, _))) if bytes == expected => {}
                _ => return Err(tampered(name)),
            }
        }
        match openat::look(&admin, b"config.worktree") {
            Ok(None) => Ok(()),
            _ => Err(tampered("config.worktree")),
        }
    }
}

/// The expected contents of the files that tie a worktree to its repository.
pub(crate) struct Pointers {
    pub(crate) dot_git: Vec<u8>,
    pub(crate) commondir: Vec<u8>,
    pub(crate) gitdir: Vec<u8>,
}

impl Pointers {
    pub(crate) fn new(path: &Path, admin_dir: &Path) -> Pointers {
        Pointers {
            dot_git: [b"gitdir: ", admin_dir.as_os_str().as_bytes(), b"\n"].concat(),
            commondir: b"../..\n".to_vec(),
            gitdir: [path.as_os_str().as_bytes(), b"/.git\n"].concat(),
        }
    }
}
