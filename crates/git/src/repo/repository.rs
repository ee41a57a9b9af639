//! The repository: opened and probed once, then shared.
//!
//! A [`Repo`] is cheap to clone and may be used from many threads: each operation borrows a handle
//! of libgit2 from a small pool. Objects are synced to the disk before refs are moved to them.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use git2::{ErrorCode, Repository, RepositoryOpenFlags};
use orchestrate_core::collections::Mutex;
use orchestrate_core::{CommitRules, Oid};
use orchestrate_sandbox::{Cancel, Confinement};
use rustix::fs::Access;

use crate::error::GitError;
use crate::error::lock_wait::{Waiting, Work};
use crate::error::refusal::{Operation, RepositoryRefusal, Warning};
use crate::files::bounds;
use crate::files::bounds::Excess;
use crate::files::openat::path_of;
use crate::program::configuration::Configuration;
use crate::program::lock::Held;
use crate::program::run::{Environment, Program};
use crate::program::scratch_repo::ScratchRepo;
use crate::program::{lock, retry};
use crate::repo::submodules::Pins;
use crate::repo::tree_files::ListedTrees;
use crate::repo::{probe, submodules};

/// The folder of the branches of runs, which git cannot create beside a branch of that name.
const BRANCHES: &str = "orchestrate";

/// The folder, below that of this program's state, with our folders for repositories.
const OWN_FOLDER: &str = "git";
/// What git writes to, below the common directory.
const WRITTEN: [&str; 2] = ["objects", "refs"];
/// What git leaves in a worktree's git directory while an operation is not finished. Opening
/// libgit2 to ask it costs more than all of these.
const SIGNS_OF_OPERATIONS: [&str; 6] = [
    "MERGE_HEAD",
    "REVERT_HEAD",
    "CHERRY_PICK_HEAD",
    "BISECT_LOG",
    "rebase-merge",
    "rebase-apply",
];
/// How many handles are kept open: about as many operations run at once in practice.
const KEPT_HANDLES: usize = 8;

/// A repository that was opened and found suitable.
#[derive(Clone, Debug)]
pub struct Repo {
    pub(crate) shared: Arc<Shared>,
    /// How git is started. Clones may differ in what kills it.
    pub(crate) program: Arc<Program>,
    /// In which tier of the sandbox the processes of worktrees run.
    tier: Confinement,
    /// Which new files of worktrees stay out of snapshots. Clones may differ in it.
    pub(crate) rules: Arc<CommitRules>,
}

/// What all clones of a [`Repo`] share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) common_dir: PathBuf,
    pub(crate) git_dir: PathBuf,
    pub(crate) workdir: PathBuf,
    /// Our folder for the repository, outside of it: see [`Repo::open`].
    own_folder: PathBuf,
    /// The configuration that git found when the repository was opened.
    pub(crate) configuration: Configuration,
    handles: Handles,
    /// Called when a wait for the lock takes long.
    tell: OnceLock<fn(&Waiting)>,
    /// The scratch repository of the previous merge, while no merge is in progress: creating a
    /// scratch repository takes milliseconds.
    pub(crate) scratch: Mutex<Option<ScratchRepo>>,
    /// The scratch repositories of earlier runs on the files of checkouts.
    pub(crate) scratches_for_files: Mutex<Vec<ScratchRepo>>,
    /// For each worktree, by git's folder for it, the tree of its files that [`Repo::sync_tree`]
    /// made durable last.
    synced: Mutex<BTreeMap<PathBuf, Oid>>,
    /// The lengths of blobs that were asked for.
    pub(crate) blob_lengths: Arc<BlobLengths>,
    pub(crate) listed_trees: ListedTrees,
}

/// The lengths of blobs, by their id. An id names the same bytes for ever.
pub(crate) type BlobLengths = Mutex<HashMap<git2::Oid, u64>>;

#[derive(Default)]
struct Handles(Mutex<Vec<Repository>>);

/// A handle of libgit2, returned to the pool when dropped.
pub(crate) struct Handle<'a> {
    repository: Option<Repository>,
    pool: &'a Handles,
}

/// What is checked out in the user's working tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The commit.
    pub commit: Oid,
    /// The short name of the branch, or `None` if HEAD is detached.
    pub branch: Option<String>,
}

/// The author or committer of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The name.
    pub name: String,
    /// The mail address.
    pub email: String,
}

/// The author and committer of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identities {
    /// The author: the one whose work it is.
    pub author: Identity,
    /// The committer: the one who stores it.
    pub committer: Identity,
}

/// A commit to be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitSpec {
    /// Its tree.
    pub tree: Oid,
    /// Its parents, in order.
    pub parents: Vec<Oid>,
    /// Subject and body.
    pub message: String,
    /// `Key: value` lines that close the message.
    pub trailers: Vec<(String, String)>,
    /// The author and committer.
    pub by: Identities,
    /// The time in seconds since 1970. The caller fixes it, so that repeating a commit yields the
    /// same object.
    pub time_unix: i64,
}

impl Identities {
    /// Returns the user's identities outside of any repository; see [`Repo::identities`].
    pub fn of_user(variables: &BTreeMap<String, String>) -> Option<Identities> {
        let configuration = Configuration::of_user(&Program::find().ok()?).ok()?;
        Self::found(&configuration.for_library().ok()?, variables)
    }

    pub(crate) fn found(
        config: &git2::Config,
        variables: &BTreeMap<String, String>,
    ) -> Option<Identities> {
        Some(Identities {
            author: Identity::find(config, variables, "AUTHOR")?,
            committer: Identity::find(config, variables, "COMMITTER")?,
        })
    }
}

impl Identity {
    /// Returns the identity of the author or the committer.
    fn find(
        config: &git2::Config,
        variables: &BTreeMap<String, String>,
        who: &str,
    ) -> Option<Identity> {
        let name = match variables.get(&format!("GIT_{who}_NAME")) {
            Some(name) => name.clone(),
            None => configured(config, who, "name")?,
        };
        // The last one is git's own last resort that does not depend on the machine's name.
        let email = match variables.get(&format!("GIT_{who}_EMAIL")) {
            Some(email) => email.clone(),
            None => configured(config, who, "email").or_else(|| variables.get("EMAIL").cloned())?,
        };
        // This cleans them as git does, and fails for a value that a commit cannot hold.
        let signature = git2::Signature::now(&name, &email).ok()?;
        Some(Identity {
            name: signature.name().ok()?.to_owned(),
            email: signature.email().ok()?.to_owned(),
        })
    }
}

/// Returns what is configured of an author or a committer, or of the user.
fn configured(config: &git2::Config, who: &str, key: &str) -> Option<String> {
    let own = config.get_string(&format!("{}.{key}", who.to_lowercase()));
    own.or_else(|_| config.get_string(&format!("user.{key}")))
        .ok()
}

fn real(path: &Path) -> Result<PathBuf, GitError> {
    path.canonicalize().map_err(GitError::io("resolve", path))
}

fn create_commit(
    repository: &git2::Repository,
    spec: &CommitSpec,
    tree: git2::Oid,
    parents: &[git2::Oid],
) -> Result<git2::Oid, git2::Error> {
    let tree = repository.find_tree(tree)?;
    let mut found = Vec::new();
    for parent in parents {
        found.push(repository.find_commit(*parent)?);
    }
    let parents: Vec<&git2::Commit<'_>> = found.iter().collect();
    let time = git2::Time::new(spec.time_unix, 0);
    let Identities { author, committer } = &spec.by;
    let author = git2::Signature::new(&author.name, &author.email, &time)?;
    let committer = git2::Signature::new(&committer.name, &committer.email, &time)?;
    let text = spec.text();
    retry::while_swept(|| repository.commit(None, &author, &committer, &text, &tree, &parents))
}

impl Repo {
    /// Opens the repository that contains a folder, or refuses it if it is not supported.
    ///
    /// Our folder for the repository is below `state`, which belongs to this user and is not
    /// visible to confined processes. It holds the lock that other processes of ours wait for, and
    /// the note of a checkout that is being written. They are not kept in the repository, because
    /// its contents may come from someone else.
    ///
    /// # Errors
    /// [`GitError::Refused`] with the reason and what to do about it.
    pub fn open(start: &Path, state: &Path) -> Result<Repo, GitError> {
        Self::open_as(start, state, Environment::of_process())
    }

    /// Like [`Repo::open`], with environment variables other than this process's.
    ///
    /// # Errors
    /// As [`Repo::open`].
    pub fn open_as(start: &Path, state: &Path, environment: Environment) -> Result<Repo, GitError> {
        let program = Program::find().map_err(|refusal| GitError::Refused {
            path: start.to_owned(),
            refusal,
        })?;
        let program = program.with(environment);
        let (repository, configuration) = probe::open(start, &program)?;
        let Some(workdir) = repository.workdir() else {
            return Err(GitError::Refused {
                path: start.to_owned(),
                refusal: RepositoryRefusal::Bare,
            });
        };
        let common_dir = real(repository.commondir())?;
        let shared = Shared {
            own_folder: state.join(OWN_FOLDER).join(id_of(&common_dir)),
            common_dir,
            git_dir: real(repository.path())?,
            workdir: real(workdir)?,
            configuration,
            handles: Handles::default(),
            tell: OnceLock::new(),
            scratch: Mutex::default(),
            scratches_for_files: Mutex::default(),
            synced: Mutex::default(),
            blob_lengths: Arc::default(),
            listed_trees: ListedTrees::default(),
        };
        let (tier, rules) = (Confinement::Full, Arc::default());
        Ok(Repo {
            shared: Arc::new(shared),
            program: Arc::new(program),
            tier,
            rules,
        })
    }

    /// Returns a handle for worktrees whose processes run in this tier of the sandbox. Until it is
    /// known, it counts as the full one, in which no file of the checkout leads back into it: see
    /// [`Worktrees::are_mounted`].
    ///
    /// [`Worktrees::are_mounted`]: crate::Worktrees::are_mounted
    #[must_use]
    pub fn confined_in(&self, tier: Confinement) -> Repo {
        Repo {
            tier,
            ..self.clone()
        }
    }

    /// Returns the tier of the sandbox in which the processes of worktrees run.
    pub(crate) fn tier(&self) -> Confinement {
        self.tier
    }

    /// Calls a function for each wait for the repository's lock that takes long. Only the first
    /// function that is set takes effect.
    #[must_use]
    pub fn telling(self, tell: fn(&Waiting)) -> Repo {
        let _ = self.shared.tell.set(tell);
        self
    }

    /// Returns a handle that keeps new files out of snapshots by these rules.
    #[must_use]
    pub fn committing_by(self, rules: CommitRules) -> Repo {
        Repo {
            rules: Arc::new(rules),
            ..self
        }
    }

    /// Returns a handle whose git processes are killed with `cancel`, as if this whole process were
    /// killed. [`Worktrees::reconcile`](crate::Worktrees::reconcile) and the next call repair what
    /// they leave half done. After that no git process is started and no lock is waited for. A git
    /// that moves the user's checkout or branch is not killed, and runs to its end.
    ///
    /// The operation that was in progress fails with [`GitError::Killed`].
    #[must_use]
    pub fn killed_by(&self, cancel: &Cancel) -> Repo {
        Repo {
            program: Arc::new(self.program.killed_by(cancel)),
            ..self.clone()
        }
    }

    /// Waits for the repository's lock; `work` is recorded in it.
    pub(crate) fn lock(&self, work: Work) -> Result<Held, GitError> {
        let tell = self.shared.tell.get().copied().unwrap_or(|_| ());
        let (own, cancel) = (self.shared.own_folder.as_path(), self.program.cancel());
        lock::take(own, self.common_dir(), work, cancel, &tell)
    }

    /// Refuses a checkout that a run cannot start from: in the middle of a merge or rebase, with
    /// filters or encodings, with too many files to copy to each worktree, or with a branch that
    /// blocks the names of runs' branches. Also refuses a machine without a writable folder for
    /// temporary files. Commands that only look at a repository do not require this, because its
    /// user continues to work beside a run.
    ///
    /// # Errors
    /// [`GitError::Refused`] with the reason and what to do about it.
    pub fn require_ready(&self) -> Result<(), GitError> {
        self.require_at_rest()?;
        let head = self.head()?.commit;
        // What a partial clone lacks cannot be examined yet, and a run may start from another
        // commit.
        if self.lacking(&head)?.is_empty() {
            self.require_plain_tree(&head)?;
        }
        self.worktrees().require_includable().map(drop)
    }

    /// Like [`Repo::require_ready`] without examining the files of HEAD, for landing the result of
    /// a run that has ended.
    ///
    /// # Errors
    /// As [`Repo::require_ready`].
    pub fn require_at_rest(&self) -> Result<(), GitError> {
        if let Some(operation) = probe::operation(self.handle()?.state()) {
            let path = self.shared.workdir.clone();
            let refusal = RepositoryRefusal::InProgress(operation);
            return Err(GitError::Refused { path, refusal });
        }
        if self.read_ref(&format!("refs/heads/{BRANCHES}"))?.is_some() {
            let path = self.shared.workdir.clone();
            let refusal = RepositoryRefusal::BranchInTheWay(BRANCHES.to_owned());
            return Err(GitError::Refused { path, refusal });
        }
        self.require_temporary_folder()?;
        self.require_bounded_patterns()
    }

    /// Refuses a checkout with files of patterns that git cannot read in bounded time, before git
    /// reads them.
    fn require_bounded_patterns(&self) -> Result<(), GitError> {
        let handle = self.handle()?;
        let index = handle
            .index()
            .map_err(GitError::library("read the index"))?;
        let found = match bounds::excess_below(self.workdir(), &index)? {
            None => bounds::excess_elsewhere(&handle)?,
            found => found,
        };
        match found {
            None => Ok(()),
            Some(Excess { path, reason }) => {
                let refusal = RepositoryRefusal::Patterns { path, reason };
                Err(GitError::Refused {
                    path: self.workdir().to_owned(),
                    refusal,
                })
            }
        }
    }

    /// Refuses to continue if no temporary file can be created.
    ///
    /// # Errors
    /// [`GitError::Refused`] with the folder and what to do about it.
    pub fn require_temporary_folder(&self) -> Result<(), GitError> {
        let path = std::env::temp_dir();
        let Err(error) = rustix::fs::access(path.join("."), Access::WRITE_OK | Access::EXEC_OK)
        else {
            return Ok(());
        };
        let refusal = RepositoryRefusal::NoTemporaryFolder {
            path,
            reason: std::io::Error::from(error).to_string(),
        };
        Err(GitError::Refused {
            path: self.shared.workdir.clone(),
            refusal,
        })
    }

    /// Checks that objects and branches can be written, as far as access(2) tells.
    ///
    /// # Errors
    /// If they cannot be written; see [`GitError::is_read_only`].
    pub fn require_writable(&self) -> Result<(), GitError> {
        for folder in ["", "objects", "refs/heads"].map(|name| self.common_dir().join(name)) {
            rustix::fs::access(&folder, Access::WRITE_OK | Access::EXEC_OK)
                .map_err(GitError::errno("write to", &folder))?;
        }
        Ok(())
    }

    /// Reports whether the repository's git directory cannot be written now: its file system or its
    /// folders are read-only. An error alone does not say so: a file of an agent's may be closed to
    /// us, too, and that concerns its task alone.
    pub fn is_read_only(&self) -> bool {
        let folder = self.common_dir();
        let places =
            std::iter::once(folder.to_owned()).chain(WRITTEN.iter().map(|name| folder.join(name)));
        places
            .into_iter()
            .any(|place| place.exists() && rustix::fs::access(&place, Access::WRITE_OK).is_err())
    }

    /// Refuses a commit whose tree has something unsupported: filters or encodings, or files that
    /// name the checkout by its absolute path where a tool would follow it.
    ///
    /// [`Repo::require_ready`] checks HEAD; call this for another base.
    ///
    /// # Errors
    /// [`GitError::Refused`].
    pub fn require_plain_tree(&self, commit: &Oid) -> Result<(), GitError> {
        let handle = self.handle()?;
        let tree = tree_of(&handle, commit)?;
        match probe::tree_refusal(&handle, &self.shared.configuration, &tree)? {
            Some(refusal) => Err(GitError::Refused {
                path: self.shared.workdir.clone(),
                refusal,
            }),
            None => self.worktrees().require_no_path_back(commit),
        }
    }

    /// Returns the directory that all worktrees of the repository share, as a real path.
    pub fn common_dir(&self) -> &Path {
        &self.shared.common_dir
    }

    /// Returns the user's working tree, as a real path.
    pub fn workdir(&self) -> &Path {
        &self.shared.workdir
    }

    /// Returns the git program's absolute path.
    pub fn git_path(&self) -> &Path {
        self.program.path()
    }

    /// Returns the git program's version, for example `2.47`.
    pub fn git_version(&self) -> String {
        self.program.version().to_string()
    }

    /// Returns the repository's id: 16 hexadecimal digits of a hash of the common directory's real
    /// path.
    pub fn id(&self) -> String {
        id_of(&self.shared.common_dir)
    }

    /// Returns our folder for the repository; it is created when a file is first put there.
    pub(crate) fn own_folder(&self) -> &Path {
        &self.shared.own_folder
    }

    /// Returns the author and committer that git would use, from these variables
    /// (`GIT_AUTHOR_NAME`, `GIT_AUTHOR_EMAIL` and the same of `GIT_COMMITTER`) or else from the
    /// user's configuration (`author.name`, and else `user.name`), or else from `EMAIL`. Returns
    /// `None` if one of the values is missing.
    pub fn identities(&self, variables: &BTreeMap<String, String>) -> Option<Identities> {
        Identities::found(&self.handle().ok()?.config().ok()?, variables)
    }

    /// Returns what is checked out in the user's working tree.
    ///
    /// # Errors
    /// If HEAD cannot be read.
    pub fn head(&self) -> Result<Head, GitError> {
        let handle = self.handle()?;
        let head = handle.head().map_err(GitError::library("read HEAD"))?;
        let commit = head
            .peel_to_commit()
            .map_err(GitError::library("read the commit of HEAD"))?;
        let branch = head
            .is_branch()
            .then(|| String::from_utf8_lossy(head.shorthand_bytes()).into_owned());
        Ok(Head {
            commit: ours(commit.id()),
            branch,
        })
    }

    /// Resolves a revision to the commit that it names.
    ///
    /// # Errors
    /// [`GitError::UnknownRevision`].
    pub fn resolve(&self, rev: &str) -> Result<Oid, GitError> {
        let handle = self.handle()?;
        let object = handle.revparse_single(rev);
        match object.and_then(|object| object.peel_to_commit()) {
            Ok(commit) => Ok(ours(commit.id())),
            Err(_) => Err(GitError::UnknownRevision {
                rev: rev.to_owned(),
            }),
        }
    }

    /// Lists what the user should know and what does not prevent a run that starts from a commit.
    ///
    /// # Errors
    /// If the checkout or the commit cannot be read.
    pub fn warnings_for(&self, commit: &Oid) -> Result<Vec<Warning>, GitError> {
        let mut warnings = probe::warnings(&*self.handle()?)?;
        warnings.extend(self.not_brought(commit)?);
        warnings.extend(self.not_copied());
        Ok(warnings)
    }

    /// Returns the warning about files of `.worktreeinclude` that are not copied in this tier of
    /// the sandbox.
    pub fn not_copied(&self) -> Option<Warning> {
        if self.worktrees().are_mounted() {
            return None;
        }
        // What is refused is said where a run would begin.
        let paths = self.worktrees().require_includable().unwrap_or_default();
        (!paths.is_empty()).then_some(Warning::NamesCheckout { paths })
    }

    /// Lists what the user should know and what does not prevent a run from HEAD.
    ///
    /// # Errors
    /// As [`Repo::warnings_for`].
    pub fn warnings(&self) -> Result<Vec<Warning>, GitError> {
        self.warnings_for(&self.head()?.commit)
    }

    /// Lists what worktrees of a commit lack, because the repository does not have it.
    fn not_brought(&self, commit: &Oid) -> Result<Vec<Warning>, GitError> {
        let objects = self.lacking(commit)?.len();
        if objects > 0 {
            return Ok(vec![Warning::Incomplete { objects }]);
        }
        let handle = self.handle()?;
        let pins = Pins::of_tree(&tree_of(&handle, commit)?);
        let pins = pins.map_err(GitError::library(format!("read the files of {commit}")))?;
        let places = submodules::places(&self.shared.git_dir, &self.shared.common_dir);
        let found = submodules::find(&self.program, &handle, &places, pins)?;
        let empty = found.into_iter().filter_map(|module| {
            Some(Warning::EmptySubmodule {
                path: path_of(&module.path),
                reason: module.objects.err()?,
            })
        });
        let mut warnings: Vec<Warning> = empty.collect();
        warnings.extend(self.missing_lfs_files(&handle, commit)?);
        Ok(warnings)
    }

    /// Creates a commit object; no ref moves.
    ///
    /// # Errors
    /// If a parent or the tree is missing, or the disk is full.
    pub fn commit(&self, spec: &CommitSpec) -> Result<Oid, GitError> {
        let handle = self.handle()?;
        let tree = theirs(&spec.tree)?;
        let mut parents = Vec::new();
        for parent in &spec.parents {
            parents.push(theirs(parent)?);
        }
        let oid = create_commit(&handle, spec, tree, &parents)
            .map_err(GitError::library("make a commit"))?;
        Ok(ours(oid))
    }

    /// Returns the tree of a commit.
    ///
    /// # Errors
    /// If there is no such commit.
    pub fn tree_of(&self, commit: &Oid) -> Result<Oid, GitError> {
        Ok(ours(tree_of(&*self.handle()?, commit)?.id()))
    }

    /// Reports whether an object exists: git removes those that no ref holds.
    ///
    /// # Errors
    /// If the objects cannot be read.
    pub fn has_object(&self, object: &Oid) -> Result<bool, GitError> {
        let handle = self.handle()?;
        let objects = handle
            .odb()
            .map_err(GitError::library("open the objects"))?;
        Ok(objects.exists(theirs(object)?))
    }

    /// Reports whether `ancestor` is in the history of `descendant`, or is the same commit.
    ///
    /// # Errors
    /// If one of them is missing.
    pub fn contains(&self, descendant: &Oid, ancestor: &Oid) -> Result<bool, GitError> {
        if descendant == ancestor {
            return Ok(true);
        }
        let handle = self.handle()?;
        handle
            .graph_descendant_of(theirs(descendant)?, theirs(ancestor)?)
            .map_err(GitError::library(format!(
                "follow the history of {descendant}"
            )))
    }

    /// Returns the best common ancestor of two commits, if they have one.
    ///
    /// # Errors
    /// If one of them is missing.
    pub fn merge_base(&self, one: &Oid, two: &Oid) -> Result<Option<Oid>, GitError> {
        match self.handle()?.merge_base(theirs(one)?, theirs(two)?) {
            Ok(oid) => Ok(Some(ours(oid))),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(GitError::library(format!(
                "find where {one} and {two} part"
            ))(error)),
        }
    }

    /// Borrows a handle of libgit2 on the user's working tree.
    pub(crate) fn handle(&self) -> Result<Handle<'_>, GitError> {
        let pool = &self.shared.handles;
        let kept = pool.0.lock().pop();
        let repository = match kept {
            Some(repository) => repository,
            None => self.open_git_dir_of(&self.shared.git_dir, &self.shared.workdir)?,
        };
        Ok(Handle {
            repository: Some(repository),
            pool,
        })
    }

    /// Opens libgit2 on a recorded git directory and the checkout that belongs to it. If the two
    /// are apart (`--separate-git-dir`), libgit2 would take the folder around the git directory for
    /// the checkout.
    pub(crate) fn open_git_dir_of(
        &self,
        git_dir: &Path,
        workdir: &Path,
    ) -> Result<Repository, GitError> {
        let repository = self.open_git_dir(git_dir)?;
        let failed = GitError::library(format!("open {}", workdir.display()));
        repository.set_workdir(workdir, false).map_err(failed)?;
        Ok(repository)
    }

    /// Opens libgit2 on a recorded git directory, without searching for one.
    pub(crate) fn open_git_dir(&self, git_dir: &Path) -> Result<Repository, GitError> {
        let repository = self.open_plain(git_dir)?;
        self.shared.configuration.give_to(&repository, true)?;
        Ok(repository)
    }

    /// Like [`Repo::open_git_dir`], but objects are not synced one by one. The caller must call
    /// [`Repo::sync_objects`] or [`Repo::sync_tree`] before anything refers to them.
    pub(crate) fn open_unsynced(&self, git_dir: &Path) -> Result<Repository, GitError> {
        let repository = self.open_plain(git_dir)?;
        self.shared.configuration.give_to(&repository, false)?;
        Ok(repository)
    }

    /// Returns the operation that a person has not finished in a worktree, such as a rebase.
    pub(crate) fn operation_in(&self, git_dir: &Path) -> Result<Option<Operation>, GitError> {
        let mut signs = SIGNS_OF_OPERATIONS.iter();
        if !signs.any(|name| git_dir.join(name).exists()) {
            return Ok(None);
        }
        Ok(probe::operation(self.open_git_dir(git_dir)?.state()))
    }

    fn open_plain(&self, git_dir: &Path) -> Result<Repository, GitError> {
        let flags = RepositoryOpenFlags::NO_SEARCH | RepositoryOpenFlags::NO_DOTGIT;
        let none: [&Path; 0] = [];
        Repository::open_ext(git_dir, flags, none)
            .map_err(GitError::library(format!("open {}", git_dir.display())))
    }

    /// Returns the tree that [`Repo::sync_tree`] made durable last for a worktree.
    pub(crate) fn synced_tree(&self, admin_dir: &Path) -> Option<Oid> {
        self.shared.synced.lock().get(admin_dir).cloned()
    }

    /// Makes all objects that were written for a worktree's tree durable, and records the tree.
    pub(crate) fn sync_tree(&self, admin_dir: &Path, tree: &Oid) -> Result<(), GitError> {
        self.sync_objects()?;
        let mut synced = self.shared.synced.lock();
        synced.insert(admin_dir.to_owned(), tree.clone());
        Ok(())
    }

    /// Makes all objects that were written durable, along with everything else that is waiting to
    /// be written to that disk.
    pub(crate) fn sync_objects(&self) -> Result<(), GitError> {
        let objects = self.common_dir().join("objects");
        let opened = File::open(&objects).map_err(GitError::io("open", &objects))?;
        rustix::fs::syncfs(&opened).map_err(GitError::errno("write to the disk below", &objects))
    }
}

impl CommitSpec {
    /// Returns the message as it is stored. Its text may come from a model: control characters
    /// except tabs are dropped, because they could truncate the message or move a terminal's
    /// cursor, and a line that would sign off for someone is marked as quoted.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for line in self.message.trim_end().lines() {
            let signs = line
                .trim_start()
                .to_ascii_lowercase()
                .starts_with("signed-off-by:");
            text.push_str(if signs { "> " } else { "" });
            text.extend(line.chars().filter(|c| *c == '\t' || !c.is_control()));
            text.push('\n');
        }
        if !self.trailers.is_empty() {
            text.push('\n');
        }
        for (key, value) in &self.trailers {
            text.push_str(&format!("{key}: {}\n", value.replace('\n', " ")));
        }
        text
    }
}

impl std::ops::Deref for Handle<'_> {
    type Target = Repository;

    fn deref(&self) -> &Repository {
        // Only `drop` takes the repository out.
        match &self.repository {
            Some(repository) => repository,
            None => unreachable!("BUG: a handle is used after it was given back"),
        }
    }
}

impl Drop for Handle<'_> {
    fn drop(&mut self) {
        let mut kept = self.pool.0.lock();
        if let Some(repository) = self.repository.take().filter(|_| kept.len() < KEPT_HANDLES) {
            kept.push(repository);
        }
    }
}

impl std::fmt::Debug for Handles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Handles")
    }
}

pub(crate) fn id_of(common_dir: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;
    let hashed = git2::Oid::hash_object(git2::ObjectType::Blob, common_dir.as_os_str().as_bytes());
    // Hashing memory cannot fail. If it ever does, the path itself still distinguishes
    // repositories.
    let text = hashed.map_or_else(|_| common_dir.display().to_string(), |oid| oid.to_string());
    text.chars().take(16).collect()
}

/// Converts libgit2's object id to ours.
pub(crate) fn ours(oid: git2::Oid) -> Oid {
    Oid::new(oid.to_string())
}

/// Converts our object id to libgit2's.
pub(crate) fn theirs(oid: &Oid) -> Result<git2::Oid, GitError> {
    git2::Oid::from_str(oid.as_str())
        .map_err(GitError::library(format!("read the object name {oid:?}")))
}

/// Returns the tree of a commit, or the tree itself.
pub(crate) fn tree_of<'r>(
    repository: &'r Repository,
    treeish: &Oid,
) -> Result<git2::Tree<'r>, GitError> {
    repository
        .find_object(theirs(treeish)?, None)
        .and_then(|object| object.peel_to_tree())
        .map_err(GitError::library(format!("read the tree of {treeish}")))
}

/// Returns the object id of a path in a tree, if it has the path.
pub(crate) fn id_in(tree: &git2::Tree<'_>, path: &Path) -> Option<git2::Oid> {
    tree.get_path(path).ok().map(|entry| entry.id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_synced() {
        let folder = tempfile::tempdir().unwrap();
        let made = Repository::init(folder.path()).unwrap();
        let author =
            git2::Signature::new("Test", "test@example.invalid", &git2::Time::new(0, 0)).unwrap();
        let tree = made.treebuilder(None).unwrap().write().unwrap();
        made.commit(
            Some("HEAD"),
            &author,
            &author,
            "x",
            &made.find_tree(tree).unwrap(),
            &[],
        )
        .unwrap();
        let opened = Repo::open(folder.path(), &folder.path().join("state")).unwrap();
        let syncs = |handle: Repository| {
            handle
                .config()
                .unwrap()
                .get_bool("core.fsyncObjectFiles")
                .unwrap_or(false)
        };
        assert!(syncs(opened.open_git_dir(made.path()).unwrap()));
        // The control: a handle whose objects are synced together later does not sync each.
        assert!(!syncs(opened.open_unsynced(made.path()).unwrap()));
    }
}
