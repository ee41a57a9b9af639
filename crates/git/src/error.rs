//! Errors of this crate, each with the path, ref or command that it concerns.
//!
//! Merge conflicts are values ([`crate::Merge`]), not errors: an error means that the operation
//! cannot continue.

pub(crate) mod lock_wait;
pub(crate) mod refusal;
pub(crate) mod remote;

use std::path::PathBuf;

use orchestrate_core::text::git_path::shown_path;
use orchestrate_core::{Oid, shell_word};

use self::lock_wait::Holder;
use self::refusal::{Operation, RepositoryRefusal};
use self::remote::RemoteError;

/// The text with which the system reports a full disk.
pub(crate) const NO_SPACE: &str = "No space left";

/// Why a git operation failed; the text completes "failed to {error}".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GitError {
    /// The repository is of a kind, or in a state, that this program does not work with.
    #[error("use the repository at {name}: {refusal}; {}", refusal.fix(), name = shown_path(.path))]
    Refused {
        /// Where the repository was looked for.
        path: PathBuf,
        /// Why.
        refusal: RepositoryRefusal,
    },
    /// A revision does not name a commit.
    #[error("resolve {rev:?}: it is not a commit of this repository")]
    UnknownRevision {
        /// The revision as given.
        rev: String,
    },
    /// A ref does not have the value that the caller expected, so it was not moved.
    #[error("move {name}: expected it at {}, but it is at {}", shown(.expected), shown(.actual))]
    RefMoved {
        /// The full name of the ref.
        name: String,
        /// The value that the caller expected; `None` means absent.
        expected: Option<Oid>,
        /// The actual value; `None` means absent.
        actual: Option<Oid>,
    },
    /// The name of a ref is not one that git allows.
    #[error("name a ref {name:?}: git does not allow this name")]
    BadRefName {
        /// The name as given.
        name: String,
    },
    /// Another process holds one of git's lock files, or left it behind.
    #[error(
        "lock {path}: another process holds the lock, or a killed process left it behind; if no \
         git is running in this repository, delete that file"
    )]
    Locked {
        /// The lock file.
        path: PathBuf,
    },
    /// Another process has held the repository's lock for too long.
    #[error(
        "lock the repository: {} has held the lock for {seconds} seconds; inspect that process \
         (`ps -fp {}`), wait for it or stop it, and try again (a git that it started may outlive \
         it: `fuser {path}` shows its pid)",
        named(.holder.as_ref()), pid(.holder.as_ref())
    )]
    Busy {
        /// The lock file.
        path: PathBuf,
        /// How long the same process has been seen to hold it.
        seconds: u64,
        /// The process that holds it, if known.
        holder: Option<Holder>,
    },
    /// The files that tie a worktree to its repository are not what git wrote there.
    #[error(
        "trust the worktree at {path}: {what} has changed since git wrote it; its files are kept. \
         If it is `.git`, move it away, type `git worktree repair` in the project, and try again"
    )]
    Tampered {
        /// The worktree's folder.
        path: PathBuf,
        /// The file that was changed.
        what: &'static str,
    },
    /// A worktree was switched to another branch, or to a detached HEAD.
    #[error(
        "use a worktree that is not on its branch; type `{back}`, which restores it, and try again"
    )]
    OnAnotherBranch {
        /// The command that switches it back to its branch.
        back: String,
    },
    /// The branch of a worktree to be created is checked out somewhere else.
    #[error("create a worktree for {branch}: it is checked out at {name}; switch to another branch \
             there and try again", name = shown_path(.path))]
    BranchInUse {
        /// The short name of the branch.
        branch: String,
        /// Where it is checked out.
        path: PathBuf,
    },
    /// A worktree whose HEAD must be detached has a branch checked out, so its files are not
    /// replaced.
    #[error(
        "check out a commit in {name}: {branch} is checked out there; type `git -C {} switch \
         --detach` and try again",
        shell_word(.path), name = shown_path(.path)
    )]
    NotDetached {
        /// The worktree's folder.
        path: PathBuf,
        /// The short name of the branch.
        branch: String,
    },
    /// The branch to land on is checked out in a working tree whose path git does not record.
    #[error(
        "land on {branch}: it is checked out in the working tree of {git_dir}, whose path git does \
         not record; run the command in that working tree"
    )]
    UnknownCheckout {
        /// The short name of the branch.
        branch: String,
        /// The git directory, which is outside its working tree.
        git_dir: PathBuf,
    },
    /// The branch to land on is checked out in several places, and only one of them could be
    /// updated.
    #[error("land on {branch}: it is checked out in several places ({}); switch all but one to \
             another branch", listed(.paths))]
    CheckedOutTwice {
        /// The short name of the branch.
        branch: String,
        /// Where it is checked out.
        paths: Vec<PathBuf>,
    },
    /// The path of a worktree to be created cannot be used, for example because other files are
    /// there.
    #[error("create a worktree at {name}: {reason}", name = shown_path(.path))]
    PathInUse {
        /// The path.
        path: PathBuf,
        /// Why it cannot be used.
        reason: String,
    },
    /// A commit stores a link at a path, which leads to no file of the same commit.
    #[error("read {name}: it is a link to a file that this commit does not \
             contain", name = shown_path(.path))]
    LinkLeadsOut {
        /// The path of the link.
        path: PathBuf,
    },
    /// There is no worktree of this repository at a path.
    #[error("open the worktree at {name}: {reason}", name = shown_path(.path))]
    NoWorktree {
        /// The path.
        path: PathBuf,
        /// What is missing.
        reason: String,
    },
    /// A worktree's files are stored nowhere else, so it is not removed.
    #[error(
        "remove the worktree at {path}: its files are stored nowhere else; commit them to a branch \
         of your own, in that folder, with `git switch -c NAME`, `git add -A` and `git commit`, or \
         delete the folder yourself"
    )]
    Unkept {
        /// The worktree's folder.
        path: PathBuf,
    },
    /// A worktree's staged changes are stored nowhere else, so it is not removed.
    #[error(
        "remove the worktree at {path}: its staged changes are stored nowhere else; commit them to \
         a branch of your own, in that folder, with `git switch -c NAME` and `git commit`, or \
         discard them with `git reset`"
    )]
    StagedAlone {
        /// The worktree's folder.
        path: PathBuf,
    },
    /// A person has detached HEAD in a worktree, whose commits may be held by nothing else, so it
    /// is not removed.
    #[error(
        "remove the worktree at {path}: no branch is checked out there, so its commits may be held \
         by nothing else; give them a branch, in that folder, with `git switch -c NAME`"
    )]
    HeadAlone {
        /// The worktree's folder.
        path: PathBuf,
    },
    /// A person has not finished an operation in a worktree, which may hold changes of its own, so
    /// it is not removed.
    #[error(
        "remove the worktree at {path}: {operation} is in progress; finish it in that folder, or \
         abort it"
    )]
    UnfinishedOperation {
        /// The worktree's folder.
        path: PathBuf,
        /// The operation.
        operation: Operation,
    },
    /// A merge that a person started in a worktree is not finished.
    #[error(
        "continue from {path}: an unfinished merge there has unresolved files: {}; finish it in \
         that folder (remove conflict markers, `git add` or `git rm` each file), or abort it with \
         `git reset --merge`, and try again",
        files.join(", ")
    )]
    UnfinishedMerge {
        /// The worktree's folder.
        path: PathBuf,
        /// The files in conflict, each with the line of its first marker.
        files: Vec<String>,
    },
    /// A snapshot has no files although its base has some.
    #[error(
        "snapshot {path}: no file is left, and the deletion of {lost} was not recorded; the \
         worktree is kept unchanged"
    )]
    EmptySnapshot {
        /// The worktree's folder.
        path: PathBuf,
        /// How many files of the base were deleted without a record.
        lost: usize,
    },
    /// A snapshot lost more than half of its base's files without recorded deletions.
    #[error(
        "snapshot {path}: {lost} of {total} files are gone and their deletion was not recorded; \
         the worktree is kept unchanged"
    )]
    LostFiles {
        /// The worktree's folder.
        path: PathBuf,
        /// How many files of the base were deleted without a record.
        lost: usize,
        /// How many files the base had.
        total: usize,
    },
    /// A changed file needs a program (a filter) in order to be stored, and no program is run for
    /// that.
    #[error(
        "store {path}: its attributes name the filter {filter:?}, which would run a program on an \
         agent's file; remove `filter={filter}` from them, or the filter from git's configuration: \
         `git config --show-origin --get-regexp '^filter\\.{filter}\\.'` shows where it is set"
    )]
    FilterAsked {
        /// The file, relative to its worktree.
        path: PathBuf,
        /// The filter's name.
        filter: String,
    },
    /// A file cannot be stored as it is.
    #[error("store {name}: {reason}", name = shown_path(.path))]
    Unstorable {
        /// The file, relative to its worktree.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// A file, a snapshot, the depth of its folders or the cost of its ignore rules exceeds its
    /// limit.
    #[error("snapshot {name}: {what} exceeds the limit of {limit}", name = shown_path(.path))]
    TooLarge {
        /// The worktree or file.
        path: PathBuf,
        /// The quantity that is limited, worded for the message.
        what: &'static str,
        /// The limit, in the unit that `what` implies.
        limit: u64,
    },
    /// Landing, or undoing it, would overwrite uncommitted changes of the user.
    #[error("move {branch} and its checkout: it would overwrite local changes in {}; commit, stash \
             or move them first", listed(.paths))]
    LocalChanges {
        /// The short name of the branch.
        branch: String,
        /// The files that both sides change, relative to the checkout.
        paths: Vec<PathBuf>,
    },
    /// Git could not write a checkout's files; the ones that it had written were restored.
    #[error("write the files of {name}: {reason}; nothing was changed: fix this and run the \
             command again", name = shown_path(.path))]
    NotWritten {
        /// The checkout.
        path: PathBuf,
        /// What git said.
        reason: String,
    },
    /// Git could not write a checkout's files, and the ones that it had written could not be
    /// restored.
    #[error(
        "write the files of {path}: {reason}; some are half written and could not be restored \
         (failed to {left}): fix this and run the command again, which restores them first"
    )]
    HalfWritten {
        /// The checkout.
        path: PathBuf,
        /// What git said.
        reason: String,
        /// Why they could not be restored.
        left: Box<GitError>,
    },
    /// The checkout has files in conflict, as after `git stash pop`; git updates none until these
    /// are resolved.
    #[error(
        "move {branch} and its checkout: it has conflicts ({}); resolve each file and `git add` it",
        listed(.paths)
    )]
    InConflict {
        /// The short name of the branch.
        branch: String,
        /// The files, relative to the checkout.
        paths: Vec<PathBuf>,
    },
    /// The user signs commits, and the commit that a landing needs cannot be signed.
    #[error(
        "sign the commit of the landing: {reason}; nothing has landed: correct `user.signingKey` \
         and `gpg.format` in your own git configuration, or switch signing off for this once with \
         `GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=commit.gpgSign GIT_CONFIG_VALUE_0=false`"
    )]
    NotSigned {
        /// What git said.
        reason: String,
    },
    /// A hook of the user's, which was run on request, refused the message of a commit.
    #[error("run the hook {name}: it ended with exit code {code}; nothing has landed: {said}")]
    HookFailed {
        /// The hook.
        name: &'static str,
        /// Its exit code.
        code: i32,
        /// What it wrote.
        said: String,
    },
    /// There is no remote to push to.
    #[error(
        "push for {branch}: no remote is configured for it; add one with `git remote add origin \
         ADDRESS`"
    )]
    NoRemote {
        /// The short name of the branch.
        branch: String,
    },
    /// The server refused a branch, or could not be reached.
    #[error("push to {remote}: {reason}")]
    NotPushed {
        /// The remote's name.
        remote: String,
        /// What git said.
        reason: String,
    },
    /// The branch of the remote has commits that would be lost.
    #[error(
        "push to {remote}: its branch {branch} has commits that this repository has not pushed \
         there, up to {found}; `git fetch {} {}` fetches them; once you have what you need of \
         them, `git push {} --delete {}` removes the branch there, so that it can be pushed again",
        shell_word(.remote), shell_word(.branch), shell_word(.remote), shell_word(.branch)
    )]
    Unreplaceable {
        /// The remote's name.
        remote: String,
        /// The branch's short name there.
        branch: String,
        /// Its commit.
        found: Oid,
    },
    /// The program that opens pull requests failed; the branch has been pushed.
    #[error("open a pull request with {program}: {reason}")]
    Forge {
        /// The program.
        program: &'static str,
        /// How it ended, and what it wrote.
        reason: String,
    },
    /// A remote repository could not be used.
    #[error(transparent)]
    Remote(RemoteError),
    /// The branch to land on no longer exists.
    #[error("land on {branch}: the branch is gone; recreate it with `git branch {} \
             COMMIT`", shell_word(.branch))]
    BranchGone {
        /// The short name of the branch.
        branch: String,
    },
    /// The new commit is not a descendant of the branch's tip.
    #[error("land on {branch}: {new} does not contain {old}, so it is not a fast-forward")]
    NotFastForward {
        /// The short name of the branch.
        branch: String,
        /// The branch's tip.
        old: Oid,
        /// The commit to which it was to be moved.
        new: Oid,
    },
    /// A checkout's files were updated, its branch could not be moved, and the files could not be
    /// restored.
    #[error(
        "land on {branch}: {path} already contains the files of {to}, but the branch could not be \
         moved (failed to {unmoved}), and the files could not be restored (failed to {ahead}); fix \
         the cause and land again"
    )]
    FilesAhead {
        /// The short name of the branch.
        branch: String,
        /// The checkout.
        path: PathBuf,
        /// The commit whose files it has.
        to: Oid,
        /// Why the branch was not moved.
        unmoved: Box<GitError>,
        /// Why the files were not restored.
        ahead: Box<GitError>,
    },
    /// A git process was killed, or a wait for a lock abandoned, because the work that it served
    /// was killed; see [`crate::Repo::killed_by`].
    #[error("complete a git operation: it was killed on request; resuming repeats it")]
    Killed,
    /// The git program failed.
    #[error("run git {command}: {reason}")]
    Program {
        /// The subcommand.
        command: String,
        /// How it ended, and what it wrote to standard error.
        reason: String,
    },
    /// The output of the git program could not be parsed.
    #[error("read the output of git {command}: {reason}")]
    Output {
        /// The subcommand.
        command: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Libgit2 failed.
    #[error("{doing}: {source}")]
    Library {
        /// What was being done, as a bare infinitive.
        doing: String,
        /// The error of libgit2.
        source: LibraryError,
    },
    /// The file system failed.
    #[error("{doing} {name}: {source}", name = shown_path(.path))]
    Io {
        /// What was being done, as a bare infinitive.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
}

/// An error of libgit2, wrapped to keep its type out of this crate's interface.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct LibraryError(#[from] git2::Error);

/// Reports whether an error in writing says that the place cannot be written to.
pub(crate) fn says_read_only(text: &str) -> bool {
    text.contains("Read-only file system") || text.contains("Permission denied")
}

impl GitError {
    /// Reports whether the disk is full, so that the caller can pause instead of failing.
    pub fn is_disk_full(&self) -> bool {
        match self {
            GitError::Io { source, .. } => {
                matches!(
                    source.kind(),
                    std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded
                )
            }
            GitError::Library {
                source: LibraryError(error),
                ..
            } => error.message().contains(NO_SPACE),
            GitError::Program { reason, .. } | GitError::NotWritten { reason, .. } => {
                reason.contains(NO_SPACE)
            }
            GitError::HalfWritten { reason, left, .. } => {
                reason.contains(NO_SPACE) || left.is_disk_full()
            }
            GitError::FilesAhead { unmoved, ahead, .. } => {
                unmoved.is_disk_full() || ahead.is_disk_full()
            }
            _ => false,
        }
    }

    /// Reports whether the repository cannot be written to.
    pub fn is_read_only(&self) -> bool {
        match self {
            GitError::Io { source, .. } => {
                matches!(
                    source.kind(),
                    std::io::ErrorKind::ReadOnlyFilesystem | std::io::ErrorKind::PermissionDenied
                )
            }
            GitError::Library {
                source: LibraryError(error),
                ..
            } => says_read_only(error.message()),
            GitError::Program { reason, .. } | GitError::NotWritten { reason, .. } => {
                says_read_only(reason)
            }
            _ => false,
        }
    }

    /// Returns what makes an error of one of the file system. `doing` is a bare infinitive.
    pub fn io(
        doing: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl Fn(std::io::Error) -> GitError {
        let path = path.into();
        move |source| GitError::Io {
            doing,
            path: path.clone(),
            source,
        }
    }

    pub(crate) fn errno(
        doing: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl Fn(rustix::io::Errno) -> GitError {
        let path = path.into();
        move |source| GitError::Io {
            doing,
            path: path.clone(),
            source: source.into(),
        }
    }

    pub(crate) fn library(doing: impl Into<String>) -> impl Fn(git2::Error) -> GitError {
        let doing = doing.into();
        move |source| GitError::Library {
            doing: doing.clone(),
            source: LibraryError(source),
        }
    }

    pub(crate) fn output(command: &str, reason: impl Into<String>) -> GitError {
        GitError::Output {
            command: command.to_owned(),
            reason: reason.into(),
        }
    }
}

fn pid(holder: Option<&Holder>) -> String {
    holder.map_or_else(|| "PID".to_owned(), |holder| holder.pid.to_string())
}

fn named(holder: Option<&Holder>) -> String {
    holder.map_or_else(|| "another process".to_owned(), ToString::to_string)
}

fn shown(oid: &Option<Oid>) -> String {
    oid.as_ref()
        .map_or_else(|| "nothing".to_owned(), ToString::to_string)
}

/// How many paths an error names before it only counts them: a screenful.
const LISTED_PATHS: usize = 10;

fn listed(paths: &[PathBuf]) -> String {
    let mut text: Vec<String> = paths
        .iter()
        .take(LISTED_PATHS)
        .map(|path| shown_path(path))
        .collect();
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
        let full = || {
            Box::new(GitError::io("write", "a")(
                std::io::ErrorKind::StorageFull.into(),
            ))
        };
        let other = || {
            Box::new(GitError::BranchGone {
                branch: "main".to_owned(),
            })
        };
        let half = |left| GitError::HalfWritten {
            path: "a".into(),
            reason: "it was interrupted".to_owned(),
            left,
        };
        let ahead = |ahead| GitError::FilesAhead {
            branch: "main".to_owned(),
            path: "a".into(),
            to: Oid::new("1".repeat(40)),
            unmoved: other(),
            ahead,
        };
        let seen = [half(full()), ahead(full()), half(other()), ahead(other())]
            .map(|error| error.is_disk_full());
        assert_eq!(seen, [true, true, false, false]);
    }
}
