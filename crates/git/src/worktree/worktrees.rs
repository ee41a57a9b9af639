//! Worktrees: created outside the user's checkout, one per agent, locked with a reason while in
//! use.
//!
//! What ties a worktree to its repository is checked before each use: see
//! [`crate::repo::worktree`].
//!
//! Every step is idempotent: names follow from ids, and what a killed process left half done is
//! taken over.

use std::fs::OpenOptions;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use git2::{ErrorCode, Repository, Status};
use orchestrate_core::{Oid, shell_word};
use orchestrate_files::{TemporaryFolder, if_there};
use orchestrate_sandbox::can_mount_at;

use crate::error::GitError;
use crate::error::lock_wait::Work;
use crate::error::refusal::{Operation, RepositoryRefusal};
use crate::files::openat;
use crate::program::lock::Held;
use crate::repo::probe;
use crate::repo::refs::branch_ref;
use crate::repo::repository::{Repo, ours, theirs, tree_of};
use crate::repo::worktree::{POINTER_BYTES, Pointers, Shown, Worktree};
use crate::worktree::checkout::Checkout;
use crate::worktree::entries;
use crate::worktree::private::place;
use crate::worktree::private::shown;

/// The error for a folder whose entry is gone, with what to do: its files may be stored nowhere
/// else.
const NO_ENTRY: &str = "git has no entry for it; inspect its files, and delete the folder yourself \
                        if you do not need them";

/// The worktrees of a repository, returned by [`Repo::worktrees`].
#[derive(Clone, Copy, Debug)]
pub struct Worktrees<'r> {
    pub(super) repo: &'r Repo,
}

impl Repo {
    /// Returns the operations on worktrees: creating, examining, resetting and removing them.
    pub fn worktrees(&self) -> Worktrees<'_> {
        Worktrees { repo: self }
    }
}

/// A worktree to be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorktreeSpec {
    /// The path. Git uses its last component as the worktree's id, so it should be unique and plain
    /// ASCII.
    pub path: PathBuf,
    /// The short name of the branch, created at `base` if it does not exist; `None` detaches HEAD
    /// at `base`.
    pub branch: Option<String>,
    /// The commit from which it starts.
    pub base: Oid,
    /// The reason for the lock, which `git worktree list` shows.
    pub lock_reason: String,
    /// The record of the times that the base's files have: see [`Worktrees::record_times`].
    pub times: Option<PathBuf>,
}

/// The result of removing a worktree.
#[must_use = "the files are still in the trash: call `delete`"]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// Where the files are now, or `None` if there were none.
    pub trashed: Option<PathBuf>,
}

impl Removed {
    /// Deletes the files. Files that cannot be deleted stay in the trash.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn delete(self) -> Result<(), GitError> {
        let Some(trashed) = self.trashed else {
            return Ok(());
        };
        if_there(orchestrate_files::remove_folder(&trashed))
            .map(drop)
            .map_err(GitError::io("delete", trashed))
    }
}

impl Worktrees<'_> {
    /// Reports whether processes find worktrees at the path of the user's checkout: in a tier that
    /// can mount files at other paths than their own, unless every process needs what is there,
    /// such as in `/etc`.
    pub fn are_mounted(&self) -> bool {
        self.repo.tier().mounts() && can_mount_at(self.repo.workdir())
    }

    /// Returns the path at which processes find the worktree that is at `own`.
    pub fn path_seen(&self, own: PathBuf) -> PathBuf {
        if self.are_mounted() {
            self.repo.workdir().to_owned()
        } else {
            own
        }
    }

    /// Creates a worktree, or takes over what exists of it.
    ///
    /// An existing branch of that name is not moved. If the directory was deleted, it is recreated
    /// from the branch. If only git's entry was deleted, the entry is recreated and the files stay.
    /// If creation was interrupted, it is completed. Files of a complete worktree are not touched.
    ///
    /// # Errors
    /// [`GitError::BranchInUse`], [`GitError::PathInUse`], [`GitError::OnAnotherBranch`], or git's
    /// own failure.
    pub fn add(&self, spec: &WorktreeSpec) -> Result<Worktree, GitError> {
        let path = self.real_place(&spec.path)?;
        let worktree = {
            let held = self.repo.lock(Work::Worktree)?;
            match self.entry_at(&path)? {
                Some(admin_dir) if path.exists() && entries::is_whole(&admin_dir) => {
                    self.hold(path, admin_dir)?
                }
                entry => {
                    entry.map_or(Ok(()), |half_made| entries::drop_entry(&half_made, &held))?;
                    match self.readopt(spec, &path, &spec.base, &held)? {
                        Some(found) => found,
                        None => self.register(spec, &path, &held)?,
                    }
                }
            }
        };
        if worktree.branch() != spec.branch.as_deref() {
            let back = self.way_back(&worktree, spec.branch.as_deref())?;
            return Err(GitError::OnAnotherBranch { back });
        }
        let is_new = !worktree.admin_dir().join("index").exists();
        if is_new {
            worktree.drop_inherited_config()?;
        }
        worktree.verify_untampered()?;
        if is_new {
            let head = self.head(&worktree)?;
            self.fill(&worktree, &head)?;
            if let Some(times) = &spec.times {
                self.set_recorded_times(&worktree, times, &head)?;
                self.set_time_of_head(&worktree, &head, spec.branch.as_deref())?;
            }
            worktree.set_unused();
        } else {
            // A killed process may have filled it only in part.
            self.complete(&worktree)?;
        }
        self.ensure_git(&worktree)?;
        Ok(worktree)
    }

    /// Gives a worktree's HEAD, and the file of its branch, the time of the commit: a build script
    /// that follows them need not run again in each new worktree.
    fn set_time_of_head(
        &self,
        worktree: &Worktree,
        head: &Oid,
        branch: Option<&str>,
    ) -> Result<(), GitError> {
        let commit = self
            .repo
            .handle()?
            .find_commit(theirs(head)?)
            .map_err(GitError::library(format!("read {head}")))?
            .time()
            .seconds();
        let since = Duration::from_secs(u64::try_from(commit).unwrap_or_default());
        let of_branch = branch.map(|branch| worktree.common_dir().join(branch_ref(branch)));
        for path in of_branch
            .into_iter()
            .chain([worktree.admin_dir().join("HEAD")])
        {
            // Git may have packed it.
            let file = if_there(OpenOptions::new().write(true).open(&path));
            let set = file.and_then(|file| {
                file.map_or(Ok(()), |file| {
                    file.set_modified(SystemTime::UNIX_EPOCH + since)
                })
            });
            set.map_err(GitError::io("set the time of", path))?;
        }
        Ok(())
    }

    /// Returns the commit at a worktree's HEAD.
    ///
    /// # Errors
    /// If its branch is gone.
    pub fn head(&self, worktree: &Worktree) -> Result<Oid, GitError> {
        let failed = GitError::library(format!(
            "read HEAD of the worktree at {}",
            worktree.path().display()
        ));
        let place = worktree.admin_dir().join("HEAD");
        let text = std::fs::read_to_string(&place).map_err(GitError::io("read", &place))?;
        let handle = self.repo.handle()?;
        let commit = match text.trim_end().strip_prefix("ref: ") {
            Some(branch) => handle
                .find_reference(branch.trim_start())
                .and_then(|branch| branch.peel_to_commit()),
            None => git2::Oid::from_str(text.trim_end())
                .and_then(|detached| handle.find_commit(detached)),
        };
        Ok(ours(commit.map_err(failed)?.id()))
    }

    /// Returns the command that switches a worktree back to its branch, or that aborts an operation
    /// in progress, which must be done first.
    fn way_back(&self, worktree: &Worktree, branch: Option<&str>) -> Result<String, GitError> {
        let git = format!("git -C {}", shell_word(worktree.path()));
        let back = format!("{git} switch {}", branch.unwrap_or("--detach"));
        let repository = self.repo.open_git_dir(worktree.admin_dir())?;
        Ok(match probe::operation(repository.state()) {
            Some(Operation::Rebase) => format!("{git} rebase --abort"),
            Some(Operation::ApplyMailbox) => format!("{git} am --abort"),
            Some(Operation::Bisect) => format!("{git} bisect reset"),
            Some(operation) => {
                let path = worktree.path().to_owned();
                let refusal = RepositoryRefusal::InProgress(operation);
                return Err(GitError::Refused { path, refusal });
            }
            None if self.holds_up(worktree, &repository, branch)? => {
                format!("{git} stash -u && {back}")
            }
            None => back,
        })
    }

    /// Reports whether git refuses to switch a worktree to a branch because of uncommitted changes.
    fn holds_up(
        &self,
        worktree: &Worktree,
        repository: &Repository,
        branch: Option<&str>,
    ) -> Result<bool, GitError> {
        // An unborn branch has no commit to compare with.
        let is_unborn = repository
            .head()
            .is_err_and(|error| error.code() == ErrorCode::UnbornBranch);
        let Some(branch) = branch.filter(|_| !is_unborn) else {
            return Ok(false);
        };
        let ways = [&self.head(worktree)?, &self.repo.branch_tip(branch)?];
        let place = Checkout {
            path: worktree.path().to_owned(),
            git_dir: worktree.admin_dir().to_owned(),
        };
        Ok(!self
            .repo
            .landing()
            .overlapping(&place, ways, Status::all() - Status::IGNORED)?
            .is_empty())
    }

    /// Recreates git's entry for a worktree if it was deleted and the files are still there. The
    /// files do not change.
    ///
    /// The new index tracks the files of `tracked`, a commit or a tree. Git itself finds out which
    /// of them differ.
    ///
    /// # Errors
    /// [`GitError::BranchInUse`], or if the file system refuses.
    pub fn restore_entry(&self, spec: &WorktreeSpec, tracked: &Oid) -> Result<(), GitError> {
        let Ok(path) = spec.path.canonicalize() else {
            return Ok(());
        };
        let held = self.repo.lock(Work::Worktree)?;
        match self.entry_at(&path)? {
            Some(_) => Ok(()),
            None => self.readopt(spec, &path, tracked, &held).map(drop),
        }
    }

    /// Opens an existing worktree by its path.
    ///
    /// # Errors
    /// [`GitError::NoWorktree`], or [`GitError::Tampered`].
    pub fn open(&self, path: &Path) -> Result<Worktree, GitError> {
        let none = |reason: &str| GitError::NoWorktree {
            path: path.to_owned(),
            reason: reason.to_owned(),
        };
        let real = path
            .canonicalize()
            .map_err(|_| none("its directory is gone"))?;
        let admin_dir = self.entry_at(&real)?.ok_or_else(|| none(NO_ENTRY))?;
        let worktree = self.hold(real, admin_dir)?;
        worktree.verify_untampered()?;
        Ok(worktree)
    }

    /// Removes a worktree: its files are moved to the trash at once and deleted by
    /// [`Removed::delete`].
    ///
    /// If it has a branch, its files must be stored: their tree must be that of the branch, or of a
    /// ref of ours. Files that are in no tree, such as ignored ones, are removed with it: see
    /// [`Worktrees::uncommitted`].
    ///
    /// # Errors
    /// [`GitError::Unkept`] or [`GitError::StagedAlone`] if that is not so; nothing is removed
    /// then.
    pub fn remove(&self, worktree: &Worktree, trash: &Path) -> Result<Removed, GitError> {
        if worktree.branch().is_some() && worktree.path().exists() {
            return self.remove_kept(worktree, self.require_kept(worktree)?, trash);
        }
        self.move_to_trash(worktree.path(), Some(worktree.admin_dir()), trash)
    }

    /// Removes a folder of ours with everything in it, and git's entry for it if there is one. Use
    /// it only for a worktree whose files are not needed, in whatever state it is.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn discard(&self, path: &Path, trash: &Path) -> Result<Removed, GitError> {
        self.move_to_trash(
            path,
            self.entry_at(&real_if_it_were_there(path))?.as_deref(),
            trash,
        )
    }

    /// Moves a folder of ours to the trash, and removes git's entry for it if there is one.
    pub(crate) fn move_to_trash(
        &self,
        path: &Path,
        admin_dir: Option<&Path>,
        trash: &Path,
    ) -> Result<Removed, GitError> {
        orchestrate_files::create_folder(trash).map_err(GitError::io("make", trash))?;
        let held = self.repo.lock(Work::Worktree)?;
        let place = TemporaryFolder::create("worktree-", Some(trash));
        let place = place
            .map_err(GitError::io("make a folder in", trash))?
            .keep();
        let target = place.join(path.file_name().unwrap_or_default());
        let trashed = match std::fs::rename(path, &target) {
            Ok(()) => Some(place),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                drop(std::fs::remove_dir(&place));
                None
            }
            // The user's folder for worktrees is on another file system: the trash is beside the
            // worktree then.
            Err(error) if error.kind() == std::io::ErrorKind::CrossesDevices => {
                drop(std::fs::remove_dir(&place));
                Some(set_aside(path)?)
            }
            Err(error) => {
                return Err(GitError::Io {
                    doing: "move to the trash",
                    path: path.to_owned(),
                    source: error,
                });
            }
        };
        admin_dir.map_or(Ok(()), |entry| entries::drop_entry(entry, &held))?;
        place::remove_of(path)?;
        Ok(Removed { trashed })
    }

    /// Reports whether git has an entry for a worktree whose folder is gone, and removes the entry
    /// if `remove` is set.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn forget(&self, path: &Path, remove: bool) -> Result<bool, GitError> {
        let held = self.repo.lock(Work::Worktree)?;
        if path.exists() {
            return Ok(false);
        }
        let Some(admin_dir) = self.entry_at(&real_if_it_were_there(path))? else {
            return Ok(false);
        };
        if remove {
            entries::drop_entry(&admin_dir, &held)?;
        }
        Ok(true)
    }

    /// Finds git's entry for the worktree at this real path.
    fn entry_at(&self, path: &Path) -> Result<Option<PathBuf>, GitError> {
        let expected = [path.as_os_str().as_bytes(), b"/.git\n"].concat();
        let is_of_path = |entry: &&PathBuf| {
            std::fs::read(entry.join("gitdir")).is_ok_and(|bytes| bytes == expected)
        };
        let entries = entries::all(self.repo.common_dir())?;
        // Git names an entry for its folder, with digits behind that if the name was taken. So a
        // run with many worktrees need not read the entries of all for each of them.
        let (named, others): (Vec<PathBuf>, Vec<PathBuf>) = entries
            .into_iter()
            .partition(|entry| may_be_named_for(entry, path));
        if let Some(entry) = named.iter().find(is_of_path) {
            return Ok(Some(entry.clone()));
        }
        // Someone may have moved the folder of another one here.
        if path.join(".git").symlink_metadata().is_err() {
            return Ok(None);
        }
        Ok(others.iter().find(is_of_path).cloned())
    }

    /// Refuses a folder of ours that is inside the user's checkout, where builds and sandboxes
    /// would see it.
    ///
    /// # Errors
    /// [`GitError::Refused`].
    pub fn require_outside(&self, folder: &Path) -> Result<(), GitError> {
        if !real_if_it_were_there(folder).starts_with(self.repo.workdir()) {
            return Ok(());
        }
        let (path, refusal) = (
            self.repo.workdir().to_owned(),
            RepositoryRefusal::HoldsState {
                path: folder.to_owned(),
            },
        );
        Err(GitError::Refused { path, refusal })
    }

    fn real_place(&self, path: &Path) -> Result<PathBuf, GitError> {
        let in_use = |reason: &str| GitError::PathInUse {
            path: path.to_owned(),
            reason: reason.to_owned(),
        };
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(in_use("it has no parent"));
        };
        orchestrate_files::create_folder(parent).map_err(GitError::io("make", parent))?;
        let real = parent
            .canonicalize()
            .map_err(GitError::io("resolve", parent))?
            .join(name);
        self.require_outside(&real)?;
        Ok(real)
    }

    /// Recreates the entry that a folder's `.git` file names, if nothing else is missing of the
    /// worktree.
    fn readopt(
        &self,
        spec: &WorktreeSpec,
        path: &Path,
        tracked: &Oid,
        held: &Held,
    ) -> Result<Option<Worktree>, GitError> {
        let Some(admin_dir) = self.lost_entry(path) else {
            return Ok(None);
        };
        self.claim_branch(spec)?;
        let handle = self.repo.handle()?;
        entries::put_entry(&admin_dir, held, |making| {
            write_entry(making, spec, &Pointers::new(path, &admin_dir))?;
            let place = making.join("index");
            let failed = GitError::library(format!("write {}", place.display()));
            let mut index = git2::Index::open(&place).map_err(&failed)?;
            index
                .read_tree(&tree_of(&handle, tracked)?)
                .map_err(&failed)?;
            index.write().map_err(&failed)
        })?;
        self.hold(path.to_owned(), admin_dir).map(Some)
    }

    /// Returns the entry that a folder's `.git` file names, if that entry is gone and the folder
    /// has files.
    ///
    /// An agent's command may have written the `.git` file. So the name must be one that git would
    /// give to the entry of this folder: the folder's own name, followed by digits if that was
    /// taken.
    fn lost_entry(&self, path: &Path) -> Option<PathBuf> {
        let root = openat::open_root(path).ok()?;
        let (text, _) = openat::read(&root, b".git", POINTER_BYTES).ok()??;
        let entry = text.strip_prefix(b"gitdir: ")?.strip_suffix(b"\n")?;
        let own = self
            .repo
            .common_dir()
            .join("worktrees")
            .join(path.file_name()?);
        let digits = entry.strip_prefix(own.as_os_str().as_bytes())?;
        let admin_dir = openat::path_of(entry);
        let is_ours = digits.iter().all(u8::is_ascii_digit) && !admin_dir.exists();
        (is_ours && !is_alone(&path.join(".git"))).then_some(admin_dir)
    }

    /// Creates the branch of a worktree if it does not exist, and refuses one that is already
    /// checked out.
    fn claim_branch(&self, spec: &WorktreeSpec) -> Result<(), GitError> {
        let Some(branch) = &spec.branch else {
            return Ok(());
        };
        if self.repo.read_ref(&branch_ref(branch))?.is_none() {
            self.repo.create_branch(branch, &spec.base)?;
        }
        match self
            .repo
            .landing()
            .checked_out_at(branch)?
            .into_iter()
            .next()
        {
            Some(place) => Err(GitError::BranchInUse {
                branch: branch.clone(),
                path: place.path,
            }),
            None => Ok(()),
        }
    }

    fn register(
        &self,
        spec: &WorktreeSpec,
        path: &Path,
        held: &Held,
    ) -> Result<Worktree, GitError> {
        self.remove_dangling_pointer(path)?;
        if std::fs::read_dir(path).is_ok_and(|mut files| files.next().is_some()) {
            let reason =
                "there are files that are no worktree of this repository; move them elsewhere"
                    .to_owned();
            return Err(GitError::PathInUse {
                path: path.to_owned(),
                reason,
            });
        }
        self.claim_branch(spec)?;
        let admin_dir = entries::free_name(self.repo.common_dir(), path);
        // The folder's own file is first: without an entry, what a killed process leaves of it is
        // removed again.
        orchestrate_files::create_folder(path).map_err(GitError::io("make", path))?;
        let dot_git = path.join(".git");
        orchestrate_files::write(&dot_git, &Pointers::new(path, &admin_dir).dot_git)
            .map_err(GitError::io("write", &dot_git))?;
        self.put_entry(spec, path, &admin_dir, held)?;
        self.hold(path.to_owned(), admin_dir)
    }

    /// Creates git's entry for a worktree, without an index.
    fn put_entry(
        &self,
        spec: &WorktreeSpec,
        path: &Path,
        admin_dir: &Path,
        held: &Held,
    ) -> Result<(), GitError> {
        entries::put_entry(admin_dir, held, |making| {
            write_entry(making, spec, &Pointers::new(path, admin_dir))
        })
    }

    /// Removes the `.git` file of a worktree whose creation was killed, if the folder has no other
    /// file. It may be empty, because git creates the file before it writes it.
    fn remove_dangling_pointer(&self, path: &Path) -> Result<(), GitError> {
        let pointer = path.join(".git");
        let Ok(text) = std::fs::read(&pointer) else {
            return Ok(());
        };
        let begins = [b"gitdir: ", self.repo.common_dir().as_os_str().as_bytes()].concat();
        let target = text
            .strip_prefix(b"gitdir: ")
            .map(|target| openat::path_of(target.trim_ascii_end()));
        let ours = target
            .is_some_and(|target| target.starts_with(self.repo.common_dir()) && !target.exists());
        if is_alone(&pointer) && (ours || begins.starts_with(&text)) {
            std::fs::remove_file(&pointer).map_err(GitError::io("remove", &pointer))?;
        }
        Ok(())
    }

    fn hold(&self, path: PathBuf, admin_dir: PathBuf) -> Result<Worktree, GitError> {
        let shown = Shown {
            mounts: self.repo.tier().mounts(),
            at: self.are_mounted().then(|| self.repo.workdir().to_owned()),
            config: shown::config(self.repo.common_dir()),
        };
        Worktree::hold(path, admin_dir, shown)
    }
}

/// Writes what git's entry for a worktree has besides an index.
fn write_entry(making: &Path, spec: &WorktreeSpec, pointers: &Pointers) -> Result<(), GitError> {
    let head = match &spec.branch {
        Some(branch) => format!("ref: {}\n", branch_ref(branch)),
        None => format!("{}\n", spec.base),
    };
    let locked = format!("{}\n", spec.lock_reason);
    let files = [
        ("locked", locked.as_bytes()),
        ("commondir", &pointers.commondir),
        ("gitdir", &pointers.gitdir),
        ("HEAD", head.as_bytes()),
    ];
    for (name, bytes) in files {
        let place = making.join(name);
        // Whoever could write to git's entry would choose what runs in the user's next command
        // there.
        orchestrate_files::write(&place, bytes).map_err(GitError::io("write", &place))?;
    }
    Ok(())
}

/// Reports whether git may have given an entry this name for the folder at a path.
fn may_be_named_for(entry: &Path, path: &Path) -> bool {
    let (Some(entry), Some(folder)) = (entry.file_name(), path.file_name()) else {
        return false;
    };
    let digits = entry.as_bytes().strip_prefix(folder.as_bytes());
    digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_digit))
}

/// Moves a worktree into a new folder beside it, which is returned.
fn set_aside(path: &Path) -> Result<PathBuf, GitError> {
    let folder = path.parent().unwrap_or(path);
    let place = TemporaryFolder::create("trash-", Some(folder))
        .map_err(GitError::io("make a folder in", folder))?
        .keep();
    std::fs::rename(path, place.join(path.file_name().unwrap_or_default()))
        .map_err(GitError::io("move to the trash", path))?;
    Ok(place)
}

/// Reports whether a folder has no other file than this one.
fn is_alone(file: &Path) -> bool {
    let others = |mut files: std::fs::ReadDir| {
        files.any(|other| other.is_ok_and(|other| other.path() != file))
    };
    !file
        .parent()
        .and_then(|folder| std::fs::read_dir(folder).ok())
        .is_some_and(others)
}

/// Resolves the existing part of a path, and appends the rest unchanged.
fn real_if_it_were_there(path: &Path) -> PathBuf {
    let found = path
        .ancestors()
        .find_map(|above| Some((above, above.canonicalize().ok()?)));
    let Some((above, real)) = found else {
        return path.to_owned();
    };
    path.strip_prefix(above)
        .map_or_else(|_| path.to_owned(), |rest| real.join(rest))
}
