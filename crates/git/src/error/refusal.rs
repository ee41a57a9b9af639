//! What is reported about a repository before it is used: refusals and warnings.

use std::path::{Path, PathBuf};

use orchestrate_core::text::git_path::shown_path;
use orchestrate_core::{Oid, shell_word};

use crate::version::OLDEST;

/// The maximum number of ignored files that are copied to each worktree: as many as the packages of
/// a large project have.
pub(crate) const MAX_INCLUDED: usize = 50_000;

/// The maximum number of files that a warning names.
const NAMED_FILES: usize = 5;

/// How deep submodules may be nested; others are left empty.
pub(crate) const DEEPEST_SUBMODULE: usize = 8;
/// How many submodules are looked for; others are left empty.
pub(crate) const MOST_SUBMODULES: usize = 500;

/// Why a repository is not used; [`RepositoryRefusal::fix`] returns what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RepositoryRefusal {
    /// There is no repository.
    #[error("not a git repository (or any parent directory)")]
    NoRepository,
    /// The repository has no working tree.
    #[error("it is bare, which is not supported yet")]
    Bare,
    /// The repository has no commit.
    #[error("it has no commit yet")]
    Unborn,
    /// The repository names its objects by SHA-256.
    #[error("it uses sha256 object names, which are not supported yet")]
    Sha256,
    /// The repository keeps its refs in reftable files.
    #[error("it keeps refs as reftable, which is not supported yet")]
    Reftable,
    /// The attributes ask for a filter that is configured, so that git would run a program to store
    /// files.
    #[error("{path} names the filter {filter:?}, but no program may run on agents' files")]
    Filter {
        /// The attributes file with the filter.
        path: PathBuf,
        /// The filter's name.
        filter: String,
    },
    /// The attributes of what is landed ask for a filter that the repository's own configuration
    /// names.
    #[error(
        "{path} names the filter {filter:?}, which only the repository's own configuration \
         defines, so it is not run"
    )]
    OwnFilter {
        /// The attributes file with the filter.
        path: PathBuf,
        /// The filter's name.
        filter: String,
        /// The commit to land.
        commit: Oid,
    },
    /// The attributes ask for an encoding that only the git program can convert.
    #[error("{path} names the encoding {encoding:?}, which is not supported yet")]
    Encoding {
        /// The attributes file with the encoding.
        path: PathBuf,
        /// The encoding's name.
        encoding: String,
    },
    /// Git could not read a file of patterns in bounded time, or it is not a regular file.
    #[error("{path} cannot be used: {reason}", path = path.display())]
    Patterns {
        /// The file with the patterns.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// More files would be copied to every worktree than is sensible.
    #[error(
        "{path} lists {files} files that git ignores, but at most {MAX_INCLUDED} are copied to \
         each worktree"
    )]
    IncludesTooMuch {
        /// The file with the patterns.
        path: PathBuf,
        /// How many they name.
        files: usize,
    },
    /// A file that would be copied to every worktree, or that every worktree has, leads back into
    /// the checkout.
    #[error("{}{link}, so a check would use the checkout's files instead of the \
             worktree's", shown_path(.path))]
    LeadsBack {
        /// The file.
        path: PathBuf,
        /// How it leads back.
        link: BackLink,
    },
    /// The checkout is sparse.
    #[error("its checkout is sparse, which is not supported yet")]
    Sparse,
    /// The index is split.
    #[error("its index is split, which is not supported yet")]
    SplitIndex,
    /// The repository is a partial clone of an old version of git, which libgit2 does not open.
    #[error(
        "it is a partial clone in the form of an old git (`extensions.partialClone`), which is not \
         supported yet"
    )]
    PartialClone,
    /// An operation such as a merge or rebase is in progress.
    #[error("{0} is in progress")]
    InProgress(Operation),
    /// Git is not installed.
    #[error("git is not installed, or not on PATH")]
    GitMissing,
    /// Git is installed only in a folder that an agent or another user could write to.
    #[error(
        "{path} is not trusted as git: its folder is relative, part of a repository or writable by \
         every user",
        path = .0.display()
    )]
    GitNotTrusted(PathBuf),
    /// Git is too old.
    #[error("{path} is {found}")]
    GitTooOld {
        /// The program.
        path: PathBuf,
        /// What `git --version` printed.
        found: String,
    },
    /// Git cannot read its configuration.
    #[error("git cannot read its configuration ({0})")]
    UnreadableConfiguration(String),
    /// Git does not finish reading its configuration.
    #[error("git did not finish reading its configuration within {seconds} \
             s{}", stuck(.file.as_deref()))]
    EndlessConfiguration {
        /// The file that is not a regular file, if it was found.
        file: Option<PathBuf>,
        /// The time limit.
        seconds: u64,
    },
    /// The git program cannot be started.
    #[error("{path} cannot be started ({reason})")]
    GitUnstartable {
        /// The program.
        path: PathBuf,
        /// The error of the system.
        reason: String,
    },
    /// The folder for temporary files is not writable, and merges take place there.
    #[error("files cannot be created in {path}, where merges take place ({reason})")]
    NoTemporaryFolder {
        /// The folder for temporary files.
        path: PathBuf,
        /// The error of the system.
        reason: String,
    },
    /// The repository belongs to another user.
    #[error("it belongs to another user")]
    ForeignOwner {
        /// The folder to add to `safe.directory`.
        path: PathBuf,
    },
    /// The folder with this program's state is inside the checkout.
    #[error("{path}, where runs are stored, is inside it")]
    HoldsState {
        /// The state folder.
        path: PathBuf,
    },
    /// A branch has the name of the folder in which the branches of runs are.
    #[error("its branch `{0}` blocks the names of runs' branches")]
    BranchInTheWay(String),
    /// The index cannot be read.
    #[error("its index cannot be read ({0})")]
    UnreadableIndex(String),
}

/// Why the folder of a submodule is left empty in worktrees.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LeftEmpty {
    /// No name is given to it.
    #[error("`.gitmodules` does not name it")]
    Unnamed,
    /// Its name or its path could lead elsewhere.
    #[error("its name `{0}` could lead elsewhere")]
    UnsafeName(String),
    /// The user's repository does not have it.
    #[error(
        "`.git/modules` does not have it; `git submodule update --init --recursive` fetches it"
    )]
    NotThere,
    /// The user's repository does not have the commit, or not all of its files.
    #[error(
        "its commit {0} is not complete in `.git/modules`; `git submodule update --init \
         --recursive` fetches it"
    )]
    Incomplete(String),
    /// There are too many, or they are nested too deep.
    #[error(
        "there are more than {MOST_SUBMODULES} submodules, or they are nested more than \
         {DEEPEST_SUBMODULE} deep"
    )]
    TooMany,
}

/// How a file leads back into the checkout, in a form that cannot be changed exactly.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BackLink {
    /// It is no text.
    #[error(":{line} names this checkout, but is not text")]
    NotText {
        /// The line, from 1.
        line: usize,
    },
    /// It is the result of a configuration, as many other files are.
    #[error(":{line} configures a build for this checkout")]
    Configured {
        /// The line, from 1.
        line: usize,
    },
    /// It is a script whose first line would become one that cannot be executed.
    #[error(
        ":1 names an interpreter in this checkout, and its path in the worktree is too long or has \
         spaces"
    )]
    Shebang,
    /// It is outside the checkout, behind a link that is copied.
    #[error(":{line}, which `{}` links to, names this checkout", shown_path(.through))]
    Behind {
        /// The link, below the checkout.
        through: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// It is a link outside the checkout, behind a link that is copied.
    #[error(", behind the link `{}`, leads into this checkout", shown_path(.through))]
    LinkBehind {
        /// The link that is copied, below the checkout.
        through: PathBuf,
    },
    /// It is committed.
    #[error(":{line} names this checkout by its absolute path")]
    Committed {
        /// The line, from 1.
        line: usize,
    },
}

impl BackLink {
    fn fix(&self) -> &'static str {
        match self {
            Self::Behind { .. } | Self::LinkBehind { .. } => {
                "replace the link by a folder of its own, or create it in each worktree with \
                 `[worktree] setup`"
            }
            Self::Committed { .. } => "use a relative path there, and commit it",
            _ => {
                "do not list it in .worktreeinclude, but create it in each worktree with \
                 `[worktree] setup`"
            }
        }
    }
}

impl RepositoryRefusal {
    /// Returns what to do about it; the command lines in it are git's own.
    pub fn fix(&self) -> String {
        let fixed = match self {
            Self::NoRepository => "run `git init` and make a first commit",
            Self::Bare => "run from a clone with a working tree",
            Self::Unborn => "make a first one, for example `git commit --allow-empty -m start`",
            Self::Sha256 => "use a clone made with `--object-format=sha1`",
            Self::Reftable => "run `git refs migrate --ref-format=files`",
            Self::Patterns { .. } => "change that file and try again",
            Self::IncludesTooMuch { .. } => "list fewer, or create them with `[worktree] setup`",
            Self::LeadsBack { link, .. } => link.fix(),
            Self::Sparse => "run `git sparse-checkout disable`",
            Self::SplitIndex => "run `git update-index --no-split-index`",
            Self::PartialClone => {
                "run `git config remote.origin.promisor true`, with the name of that remote, and \
                 then `git config --unset extensions.partialClone`"
            }
            Self::InProgress(_) => "finish or abort it first",
            Self::UnreadableConfiguration(_) => "fix it until `git config --list` works here",
            Self::EndlessConfiguration { file: Some(_), .. } => {
                "replace it, or remove the `include.path` that names it"
            }
            Self::EndlessConfiguration { file: None, .. } => {
                "find which of its files, or of those named by `include.path`, does not respond \
                 (`git config --list` hangs as well), and remove it"
            }
            Self::GitUnstartable { .. } => "check whether `git --version` works here",
            Self::NoTemporaryFolder { .. } => "set TMPDIR to a writable folder",
            Self::HoldsState { .. } => "set XDG_STATE_HOME to a folder outside it",
            Self::UnreadableIndex(_) => "run `git status` for details",
            Self::GitMissing | Self::GitTooOld { .. } => {
                return format!("install git {OLDEST} or newer");
            }
            Self::GitNotTrusted(_) => {
                return format!("install git {OLDEST} or newer elsewhere on PATH");
            }
            Self::Encoding { encoding, .. } => {
                return format!("start from a commit without `working-tree-encoding={encoding}`");
            }
            Self::ForeignOwner { path } => {
                return format!(
                    "if you trust it, run `git config --global --add safe.directory {}`",
                    shell_word(path)
                );
            }
            Self::BranchInTheWay(branch) => {
                return format!("rename it with `git branch -m {} NAME`", shell_word(branch));
            }
            Self::Filter { filter, .. } => return fix_filter(filter),
            Self::OwnFilter { filter, commit, .. } => return fix_own_filter(filter, commit),
        };
        fixed.to_owned()
    }
}

fn fix_filter(filter: &str) -> String {
    format!(
        "remove `filter={filter}` there, or the filter from git's configuration: `git config \
         --show-origin --get-regexp '^filter\\.{filter}\\.'` shows where it is set"
    )
}

fn fix_own_filter(filter: &str, commit: &Oid) -> String {
    format!(
        "if you trust it, type `git merge --ff-only {commit}` in that checkout, or define the \
         filter in your own configuration with `git config --global filter.{filter}.smudge PROGRAM`"
    )
}

/// A git operation that is in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Operation {
    /// `git merge`
    Merge,
    /// `git rebase`
    Rebase,
    /// `git cherry-pick`
    CherryPick,
    /// `git revert`
    Revert,
    /// `git bisect`
    Bisect,
    /// `git am`
    ApplyMailbox,
}

/// A fact that the user should know and that does not prevent a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// The checkout has uncommitted changes, which agents do not see.
    Dirty {
        /// The number of changed files.
        files: usize,
    },
    /// No branch is checked out, so nothing can be landed on it.
    DetachedHead,
    /// The history is truncated; a merge that needs a missing commit fails.
    Shallow,
    /// Jujutsu manages this repository as well.
    Jujutsu,
    /// Some objects are in another repository, which confined commands cannot see.
    BorrowedObjects,
    /// Objects of HEAD are not there yet, in a partial clone.
    Incomplete {
        /// How many are known to be missing.
        objects: usize,
    },
    /// The folder of a submodule is empty in worktrees.
    EmptySubmodule {
        /// The submodule, relative to the top of the checkout.
        path: PathBuf,
        /// Why.
        reason: LeftEmpty,
    },
    /// Files of `.worktreeinclude` name the checkout, so they are not copied to worktrees at other
    /// paths.
    NamesCheckout {
        /// The files, relative to the top of the checkout.
        paths: Vec<PathBuf>,
    },
    /// Files that are stored with Git LFS are pointers in worktrees.
    Pointers {
        /// How many.
        files: usize,
    },
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Operation::Merge => "a merge",
            Operation::Rebase => "a rebase",
            Operation::CherryPick => "a cherry-pick",
            Operation::Revert => "a revert",
            Operation::Bisect => "a bisect",
            Operation::ApplyMailbox => "a `git am`",
        })
    }
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Warning::BorrowedObjects => f.write_str(
                "it borrows objects from another repository, so git fails in the commands of \
                 agents and checks; `git repack -a -d && rm .git/objects/info/alternates` makes it \
                 self-contained",
            ),
            Warning::Dirty { files: 1 } => {
                f.write_str("1 file has uncommitted changes; agents start without them")
            }
            Warning::Dirty { files } => {
                write!(
                    f,
                    "{files} files have uncommitted changes; agents start without them"
                )
            }
            Warning::DetachedHead => {
                f.write_str("no branch is checked out, so the result cannot be landed")
            }
            Warning::Shallow => {
                f.write_str("this is a shallow clone; `git fetch --unshallow` completes it")
            }
            Warning::Incomplete { objects } => {
                let (objects, are) = counted(*objects);
                write!(
                    f,
                    "{objects} of this partial clone {are} not here yet; a run fetches what it \
                     starts from"
                )
            }
            Warning::EmptySubmodule { path, reason } => {
                write!(
                    f,
                    "the submodule {} is left empty for agents and checks: {reason}",
                    shown_path(path)
                )
            }
            Warning::NamesCheckout { paths } => write!(
                f,
                "{} of .worktreeinclude will not be copied: they name this checkout, and \
                 worktrees are at other paths in this tier of the sandbox",
                named(paths)
            ),
            Warning::Pointers { files } => {
                let (files, are) = counted(*files);
                write!(
                    f,
                    "{files} of Git LFS {are} not in `.git/lfs`, so agents and checks find the \
                     pointer; `git lfs fetch` brings it"
                )
            }
            Warning::Jujutsu => {
                f.write_str("jujutsu manages this repository too and may move branches")
            }
        }
    }
}

/// Returns a number of files, and the verb that follows it.
fn counted(files: usize) -> (String, &'static str) {
    if files == 1 {
        ("1 file".to_owned(), "is")
    } else {
        (format!("{files} files"), "are")
    }
}

/// Names the first of some files, and says how many more there are.
fn named(paths: &[PathBuf]) -> String {
    let named: Vec<String> = paths
        .iter()
        .take(NAMED_FILES)
        .map(|path| shown_path(path))
        .collect();
    match paths.len().saturating_sub(NAMED_FILES) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

fn stuck(file: Option<&Path>) -> String {
    let waits = |file| {
        format!(
            ": it waits for {}, which is not a regular file",
            shown_path(file)
        )
    };
    file.map(waits).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_and_its_fix_are_separate_whatever_they_contain() {
        let patterns = RepositoryRefusal::Patterns {
            path: "a; b".into(),
            reason: "it is a pipe; no file".to_owned(),
        };
        let endless = |file: Option<&str>| RepositoryRefusal::EndlessConfiguration {
            file: file.map(Into::into),
            seconds: 5,
        };
        let table = [
            (
                patterns,
                "a; b cannot be used: it is a pipe; no file",
                "change that file and try again",
            ),
            (
                endless(Some("x")),
                "git did not finish reading its configuration within 5 s: it waits for x, which is \
                 not a regular file",
                "replace it, or remove the `include.path` that names it",
            ),
        ];
        for (refusal, reason, fix) in table {
            assert_eq!(
                (refusal.to_string().as_str(), refusal.fix().as_str()),
                (reason, fix)
            );
        }
        assert_eq!(
            endless(None).to_string(),
            "git did not finish reading its configuration within 5 s"
        );
    }
}
