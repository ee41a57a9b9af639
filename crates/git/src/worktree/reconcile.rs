//! Finds and removes what killed processes leave in the common directory.
//!
//! An entry with an empty `commondir` makes `worktree list`, `branch -D`, `fetch` and `gc` fail,
//! and `git worktree prune` does not repair it. Entries of ours are removed; others are reported,
//! never touched.

use std::path::{Path, PathBuf};

use crate::error::GitError;
use crate::error::lock_wait::Work;
use crate::program::lock::Held;
use crate::program::scratch_repo;
use crate::worktree::handle::Worktrees;

/// The lock files of git and libgit2 for one worktree.
const WORKTREE_LOCKS: [&str; 2] = ["index.lock", "HEAD.lock"];
/// The folders with the refs of runs, one subfolder for each run.
const REF_FOLDERS: [&str; 3] = [
    "refs/heads/orchestrate",
    "refs/orchestrate/keep",
    "refs/orchestrate/attempts",
];

/// The result of [`Worktrees::reconcile`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reconciled {
    /// Incomplete entries and stale lock files that were removed.
    pub removed: Vec<PathBuf>,
    /// Incomplete entries that are not ours. Git fails until the user removes them.
    pub foreign: Vec<PathBuf>,
}

impl Worktrees<'_> {
    /// Removes what killed processes of ours left: incomplete worktree entries, locks on our
    /// worktrees and refs, and scratch repositories for merging.
    ///
    /// `ours` decides what belongs to us. It is called with the reason with which a worktree is
    /// locked ([`crate::WorktreeSpec::lock_reason`]), and with `orchestrate <run>` for a lock on a
    /// ref of that run. No other process may be using what `ours` accepts.
    ///
    /// # Errors
    /// [`GitError::Refused`] if the temporary folder is not writable, or if the file system
    /// refuses.
    pub fn reconcile(&self, ours: &dyn Fn(&str) -> bool) -> Result<Reconciled, GitError> {
        self.repo.require_temporary_folder()?;
        scratch_repo::sweep()?;
        let held = self.repo.lock(Work::Reconciling)?;
        let mut found = Reconciled::default();
        for entry in entries(self.repo.common_dir())? {
            // Git writes the reason before any other file of an entry.
            let is_ours = std::fs::read_to_string(entry.join("locked"))
                .is_ok_and(|reason| ours(reason.trim_end()));
            match (is_ours, is_whole(&entry)) {
                (true, true) => WORKTREE_LOCKS
                    .iter()
                    .try_for_each(|name| remove(entry.join(name), &mut found.removed))?,
                (true, false) => {
                    drop_entry(&entry, &held)?;
                    found.removed.push(entry);
                }
                (false, true) => {}
                (false, false) => found.foreign.push(entry),
            }
        }
        for folder in REF_FOLDERS {
            for run in list(&self.repo.common_dir().join(folder))? {
                let name = run.file_name().unwrap_or_default().to_string_lossy();
                if ours(&format!("orchestrate {name}")) {
                    remove_locks(&run, &mut found.removed)?;
                }
            }
        }
        Ok(found)
    }
}

impl Worktrees<'_> {
    /// Removes git's entries for worktrees of ours whose directories are gone; their branches stay.
    ///
    /// A removal that was killed may have moved the directory away and left the entry, which
    /// prevents the branch from being checked out elsewhere. `ours` is called as in
    /// [`Worktrees::reconcile`].
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn drop_dangling(&self, ours: &dyn Fn(&str) -> bool) -> Result<(), GitError> {
        let held = self.repo.lock(Work::Reconciling)?;
        for entry in entries(self.repo.common_dir())? {
            let is_ours = std::fs::read_to_string(entry.join("locked"))
                .is_ok_and(|reason| ours(reason.trim_end()));
            let pointer = std::fs::read(entry.join("gitdir")).unwrap_or_default();
            let pointer = crate::files::openat::path_of(pointer.trim_ascii_end());
            if is_ours
                && pointer
                    .parent()
                    .is_some_and(|folder| matches!(folder.try_exists(), Ok(false)))
            {
                drop_entry(&entry, &held)?;
            }
        }
        Ok(())
    }
}

/// Lists git's entries for linked worktrees, complete or not, sorted.
pub(crate) fn entries(common_dir: &Path) -> Result<Vec<PathBuf>, GitError> {
    list(&common_dir.join("worktrees"))
}

/// Removes git's entry for a worktree. It is renamed first, so that git never sees half of it.
pub(crate) fn drop_entry(admin_dir: &Path, _held: &Held) -> Result<(), GitError> {
    let (folder, place) = aside(admin_dir)?;
    absent(std::fs::rename(admin_dir, &place)).map_err(GitError::io("remove", admin_dir))?;
    absent(orchestrate_files::remove_folder(&folder)).map_err(GitError::io("delete", &folder))?;
    // Git removes the folder with the last entry, and so do we. This fails while there are other
    // entries.
    drop(admin_dir.parent().map(std::fs::remove_dir));
    Ok(())
}

/// Creates git's entry for a worktree. It is created elsewhere first, so that git never sees half
/// of it.
pub(crate) fn put_entry(
    admin_dir: &Path,
    _held: &Held,
    make: impl FnOnce(&Path) -> Result<(), GitError>,
) -> Result<(), GitError> {
    let (folder, place) = aside(admin_dir)?;
    orchestrate_files::create_folder(&place).map_err(GitError::io("make", &place))?;
    make(&place)?;
    let worktrees = admin_dir.parent().unwrap_or(admin_dir);
    orchestrate_files::create_folder(worktrees).map_err(GitError::io("make", worktrees))?;
    std::fs::rename(&place, admin_dir).map_err(GitError::io("make", admin_dir))?;
    absent(orchestrate_files::remove_folder(&folder)).map_err(GitError::io("delete", &folder))
}

/// Returns the folder for entries that are being created or removed, and the place of this entry in
/// it, which is emptied.
fn aside(admin_dir: &Path) -> Result<(PathBuf, PathBuf), GitError> {
    let folder = admin_dir
        .ancestors()
        .nth(2)
        .unwrap_or(admin_dir)
        .join("orchestrate-trash");
    orchestrate_files::create_folder(&folder).map_err(GitError::io("make", &folder))?;
    let place = folder.join(admin_dir.file_name().unwrap_or_default());
    absent(orchestrate_files::remove_folder(&place)).map_err(GitError::io("delete", &place))?;
    Ok((folder, place))
}

/// Treats a missing file as removed.
fn absent(removed: std::io::Result<()>) -> std::io::Result<()> {
    match removed {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Reports whether git finished creating an entry.
pub(crate) fn is_whole(entry: &Path) -> bool {
    // Older git first writes a HEAD of zeros, and then sets it to the branch or the commit.
    let is_set = |head: Vec<u8>| head.trim_ascii_end().iter().any(|byte| *byte != b'0');
    ["commondir", "gitdir"]
        .iter()
        .all(|name| entry.join(name).metadata().is_ok_and(|meta| meta.len() > 0))
        && std::fs::read(entry.join("HEAD")).is_ok_and(is_set)
}

fn remove_locks(folder: &Path, removed: &mut Vec<PathBuf>) -> Result<(), GitError> {
    for path in list(folder)? {
        if path.is_dir() {
            remove_locks(&path, removed)?;
        } else if path
            .extension()
            .is_some_and(|extension| extension == "lock")
        {
            remove(path, removed)?;
        }
    }
    Ok(())
}

fn remove(path: PathBuf, removed: &mut Vec<PathBuf>) -> Result<(), GitError> {
    match std::fs::remove_file(&path) {
        Ok(()) => removed.push(path),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => {
            return Err(GitError::Io {
                doing: "remove",
                path,
                source: error,
            });
        }
    }
    Ok(())
}

/// Lists a folder, sorted; a missing folder counts as empty.
fn list(folder: &Path) -> Result<Vec<PathBuf>, GitError> {
    let listed = match std::fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error)
            if matches!(
                error.kind(),
                std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(Vec::new());
        }
        Err(error) => {
            return Err(GitError::Io {
                doing: "list",
                path: folder.to_owned(),
                source: error,
            });
        }
    };
    let mut paths = Vec::new();
    for entry in listed {
        paths.push(entry.map_err(GitError::io("list", folder))?.path());
    }
    paths.sort();
    Ok(paths)
}
