//! What can go wrong with git, each case with the path, ref or command that it concerns.
//!
//! Conflicts of a merge are values ([`crate::Merge`]), not errors: an error means that we cannot continue.

use std::path::PathBuf;

use orchestrate_core::git_path::shown_path;
use orchestrate_core::{Oid, shell_word};

use crate::repo::lock_holder::Holder;
use crate::repo::refusal::Refusal;

/// What the system says of a full disk.
pub(crate) const NO_SPACE: &str = "No space left";

/// The reason why something with git failed; fits "failed to {error}".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// The repository is of a kind, or in a state, that this program does not work with.
    #[error("use the repository at {name}: {refusal}", name = shown_path(.path))]
    Refused {
        /// Where the repository was looked for.
        path: PathBuf,
        /// Why, and what to do about it.
        refusal: Refusal,
    },
    /// A revision does not name a commit.
    #[error("resolve {rev:?}: it is not a commit of this repository")]
    UnknownRevision {
        /// The revision as given.
        rev: String,
    },
    /// A ref is not where the caller believed it to be, so it was not moved.
    #[error("move {name}: expected it at {}, but it is at {}", shown(.expected), shown(.actual))]
    RefMoved {
        /// The full name of the ref.
        name: String,
        /// Where the caller believed it to be; `None` means absent.
        expected: Option<Oid>,
        /// Where it is; `None` means absent.
        actual: Option<Oid>,
    },
    /// A ref's name is not one that git allows.
    #[error("name a ref {name:?}: git does not allow this name")]
    BadRefName {
        /// The name as given.
        name: String,
    },
    /// Another process holds a lock of git's.
    #[error(
        "lock {path}: another process holds the lock, or a killed process left it behind; if no git is running in this \
        repository, delete that file"
    )]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// Another process holds the repository's lock for too long.
    #[error(
        "lock the repository: {} has held the lock for {seconds} seconds; inspect that process (`ps -fp {}`), \
        wait for it or stop it, and try again (a git that it started may outlive it: `fuser {path}` shows its pid)",
        named(.holder.as_ref()), pid(.holder.as_ref())
    )]
    Busy {
        /// The lock's file.
        path: PathBuf,
        /// How long we have waited.
        seconds: u64,
        /// Who holds it, if that is known.
        holder: Option<Holder>,
    },
    /// A worktree's own files of git's are not the ones that were recorded when it was made.
    #[error(
        "trust the worktree at {path}: {what} has changed since git wrote it; its files are kept. If it is `.git`, \
         move it away, type `git worktree repair` in the project, and try again"
    )]
    Tampered {
        /// The worktree.
        path: PathBuf,
        /// Which file was changed.
        what: &'static str,
    },
    /// Somebody has switched a worktree to another branch, or to none.
    #[error("use a worktree that is not on its branch; type `{back}`, which restores it, and try again")]
    OnAnotherBranch {
        /// The command that brings it back to its branch.
        back: String,
    },
    /// The branch of a worktree that we are asked to make is in use somewhere else.
    #[error("create a worktree for {branch}: it is checked out at {name}; switch to another branch there and try again", name = shown_path(.path))]
    BranchInUse {
        /// The short name of the branch.
        branch: String,
        /// Where it is checked out.
        path: PathBuf,
    },
    /// The branch to land on is checked out somewhere, and git does not know where.
    #[error(
        "land on {branch}: it is checked out in the working tree of {git_dir}, whose path git does not record; \
        run the command in that working tree"
    )]
    UnknownCheckout {
        /// The short name of the branch.
        branch: String,
        /// The directory that is not in its working tree.
        git_dir: PathBuf,
    },
    /// The branch to land on is checked out in several places, and only one of them could follow it.
    #[error("land on {branch}: it is checked out in several places ({}); switch all but one to another branch", listed(.paths))]
    CheckedOutTwice {
        /// The short name of the branch.
        branch: String,
        /// Where it is checked out.
        paths: Vec<PathBuf>,
    },
    /// There is something at the place of a worktree that we did not put there.
    #[error("create a worktree at {name}: {reason}", name = shown_path(.path))]
    PathInUse {
        /// The place.
        path: PathBuf,
        /// What is there.
        reason: String,
    },
    /// There is no worktree of this repository there.
    #[error("open the worktree at {name}: {reason}", name = shown_path(.path))]
    NoWorktree {
        /// The place.
        path: PathBuf,
        /// What is missing.
        reason: String,
    },
    /// A worktree's files are kept nowhere else, so it is not removed.
    #[error(
        "remove the worktree at {path}: its files are stored nowhere else; commit them to a branch of your own, in that \
         folder, with `git switch -c NAME`, `git add -A` and `git commit`, or delete the folder yourself"
    )]
    Unkept {
        /// The worktree.
        path: PathBuf,
    },
    /// What is staged in a worktree is nowhere else, so it is not removed.
    #[error(
        "remove the worktree at {path}: its staged changes are stored nowhere else; commit them to a branch of your own, in \
         that folder, with `git switch -c NAME` and `git commit`, or discard them with `git reset`"
    )]
    StagedAlone {
        /// The worktree.
        path: PathBuf,
    },
    /// A merge that a person has begun in a worktree is not finished.
    #[error(
        "continue from {path}: an unfinished merge there has unresolved files: {}; finish it in that folder (remove \
        conflict markers, `git add` or `git rm` each file), or abort it with `git reset --merge`, and try again",
        files.join(", ")
    )]
    UnfinishedMerge {
        /// The worktree.
        path: PathBuf,
        /// The files in conflict, each with the line of its first marker.
        files: Vec<String>,
    },
    /// A snapshot holds no files although its base does.
    #[error(
        "snapshot {path}: no file is left, and the deletion of {lost} was not recorded; the worktree is kept unchanged"
    )]
    EmptySnapshot {
        /// The worktree.
        path: PathBuf,
        /// How many files of the base are gone without a record.
        lost: usize,
    },
    /// A snapshot lost more than half of its base's files without recorded deletions.
    #[error(
        "snapshot {path}: {lost} of {total} files are gone and their deletion was not recorded; \
         the worktree is kept unchanged"
    )]
    LostFiles {
        /// The worktree.
        path: PathBuf,
        /// How many files of the base are gone without a record.
        lost: usize,
        /// How many files the base had.
        total: usize,
    },
    /// A file that changed asks for a program (a filter) to be stored, and we run none.
    #[error(
        "store {path}: its attributes name the filter {filter:?}, which would run a program on an agent's file; \
        remove `filter={filter}` from them, or the filter from git's configuration: `git config --show-origin \
        --get-regexp '^filter\\.{filter}\\.'` shows where it is set"
    )]
    FilterAsked {
        /// The file, below its worktree.
        path: PathBuf,
        /// The filter's name.
        filter: String,
    },
    /// A file cannot be stored as it is.
    #[error("store {name}: {reason}", name = shown_path(.path))]
    Unstorable {
        /// The file, below its worktree.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A snapshot or a checkout is larger than its limit.
    #[error("snapshot {name}: {what} exceeds the limit of {limit}", name = shown_path(.path))]
    TooLarge {
        /// The worktree or file.
        path: PathBuf,
        /// What was counted.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// Landing, or taking it back, would overwrite changes that the user has not committed.
    #[error("move {branch} and its checkout: it would overwrite local changes in {}; commit, stash or move them first", listed(.paths))]
    LocalChanges {
        /// The short name of the branch.
        branch: String,
        /// The files that both sides change, below the checkout.
        paths: Vec<PathBuf>,
    },
    /// Git could not write a checkout's files, and those that it had written were put back.
    #[error("write the files of {name}: {reason}; nothing was changed: fix this and run the command again", name = shown_path(.path))]
    NotWritten {
        /// The checkout.
        path: PathBuf,
        /// What git said.
        reason: String,
    },
    /// Git could not write a checkout's files, nor could those be put back that it had written.
    #[error(
        "write the files of {path}: {reason}; some are half written and could not be restored (failed to {left}): fix \
        this and run the command again, which restores them first"
    )]
    HalfWritten {
        /// The checkout.
        path: PathBuf,
        /// What git said.
        reason: String,
        /// Why they could not be put back.
        left: Box<GitError>,
    },
    /// Some files of the checkout are in conflict, as after `git stash pop`, and git moves none until they are settled.
    #[error(
        "move {branch} and its checkout: it has conflicts ({}); resolve each file and `git add` it",
        listed(.paths)
    )]
    InConflict {
        /// The short name of the branch.
        branch: String,
        /// The files, below the checkout.
        paths: Vec<PathBuf>,
    },
    /// The branch is gone.
    #[error("land on {branch}: the branch is gone; recreate it with `git branch {} COMMIT`", shell_word(.branch))]
    BranchGone {
        /// The short name of the branch.
        branch: String,
    },
    /// The new commit is not a descendant of what the branch has.
    #[error("land on {branch}: {new} does not contain {old}, so it is not a fast-forward")]
    NotFastForward {
        /// The short name of the branch.
        branch: String,
        /// What the branch has.
        old: Oid,
        /// What it should get.
        new: Oid,
    },
    /// The branch could not follow the files of its checkout, and the files could not go back.
    #[error(
        "land on {branch}: {path} already has the files of {to}, but it failed to {unmoved}, and then to {ahead}; \
        fix this and land again to complete it"
    )]
    FilesAhead {
        /// The short name of the branch.
        branch: String,
        /// The checkout.
        path: PathBuf,
        /// The commit whose files it has.
        to: Oid,
        /// Why the branch did not follow.
        unmoved: Box<GitError>,
        /// Why the files did not go back.
        ahead: Box<GitError>,
    },
    /// The git process was killed, or the wait for a lock given up, because whoever it was for is killed; see
    /// [`crate::Repo::killed_by`].
    #[error("complete a git operation: it was killed on request; resuming repeats it")]
    Killed,
    /// The git program failed.
    #[error("run git {command}: {reason}")]
    Program {
        /// The subcommand.
        command: String,
        /// How it ended, with what it wrote.
        reason: String,
    },
    /// The git program printed something that we do not understand.
    #[error("read the output of git {command}: {reason}")]
    Output {
        /// The subcommand.
        command: String,
        /// What was wrong with it.
        reason: String,
    },
    /// Libgit2 failed.
    #[error("{doing}: {source}")]
    Library {
        /// What was being done, as a bare infinitive.
        doing: String,
        /// What libgit2 says.
        source: LibraryError,
    },
    /// The file system failed.
    #[error("{doing} {name}: {source}", name = shown_path(.path))]
    Io {
        /// What was being done, as a bare infinitive.
        doing: &'static str,
        /// To which file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

/// An error of libgit2, without its type in our interface.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct LibraryError(#[from] git2::Error);

impl GitError {
    /// Reports whether the disk is full, so that the caller can pause instead of failing.
    pub fn is_disk_full(&self) -> bool {
        match self {
            GitError::Io { source, .. } => {
                matches!(source.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded)
            }
            GitError::Library { source: LibraryError(error), .. } => error.message().contains(NO_SPACE),
            GitError::Program { reason, .. } | GitError::NotWritten { reason, .. } => reason.contains(NO_SPACE),
            GitError::HalfWritten { reason, left, .. } => reason.contains(NO_SPACE) || left.is_disk_full(),
            GitError::FilesAhead { unmoved, ahead, .. } => unmoved.is_disk_full() || ahead.is_disk_full(),
            _ => false,
        }
    }

    /// Reports whether the repository cannot be written to.
    pub fn is_read_only(&self) -> bool {
        let says = |text: &str| text.contains("Read-only file system") || text.contains("Permission denied");
        match self {
            GitError::Io { source, .. } => {
                matches!(source.kind(), std::io::ErrorKind::ReadOnlyFilesystem | std::io::ErrorKind::PermissionDenied)
            }
            GitError::Library { source: LibraryError(error), .. } => says(error.message()),
            GitError::Program { reason, .. } => says(reason),
            _ => false,
        }
    }

    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> GitError {
        let path = path.into();
        move |source| GitError::Io { doing, path, source }
    }

    pub(crate) fn errno(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(rustix::io::Errno) -> GitError {
        let path = path.into();
        move |source| GitError::Io { doing, path, source: source.into() }
    }

    pub(crate) fn library(doing: impl Into<String>) -> impl FnOnce(git2::Error) -> GitError {
        let doing = doing.into();
        move |source| GitError::Library { doing, source: LibraryError(source) }
    }

    pub(crate) fn output(command: &str, reason: impl Into<String>) -> GitError {
        GitError::Output { command: command.to_owned(), reason: reason.into() }
    }
}

fn pid(holder: Option<&Holder>) -> String {
    holder.map_or_else(|| "PID".to_owned(), |holder| holder.pid.to_string())
}

fn named(holder: Option<&Holder>) -> String {
    holder.map_or_else(|| "another process".to_owned(), ToString::to_string)
}

fn shown(oid: &Option<Oid>) -> String {
    oid.as_ref().map_or_else(|| "nothing".to_owned(), ToString::to_string)
}

/// How many paths an error names before it only counts them: a screenful.
const LISTED_PATHS: usize = 10;

fn listed(paths: &[PathBuf]) -> String {
    let mut text: Vec<String> = paths.iter().take(LISTED_PATHS).map(|path| shown_path(path)).collect();
    if paths.len() > LISTED_PATHS {
        text.push(format!("and {} more", paths.len() - LISTED_PATHS));
    }
    text.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_seen_through_what_it_led_to() {
        let full = || Box::new(GitError::io("write", "a")(std::io::ErrorKind::StorageFull.into()));
        let other = || Box::new(GitError::BranchGone { branch: "main".to_owned() });
        let half = |left| GitError::HalfWritten { path: "a".into(), reason: "it was interrupted".to_owned(), left };
        let ahead = |ahead| GitError::FilesAhead {
            branch: "main".to_owned(),
            path: "a".into(),
            to: Oid::new("1".repeat(40)),
            unmoved: other(),
            ahead,
        };
        let seen = [half(full()), ahead(full()), half(other()), ahead(other())].map(|error| error.is_disk_full());
        assert_eq!(seen, [true, true, false, false]);
    }
}
