//! Refs: reading them, moving them by compare-and-swap, and deleting those whose work is known to
//! be elsewhere.

use std::path::PathBuf;

use git2::ErrorCode;
use orchestrate_core::Oid;

use crate::error::GitError;
use crate::error::lock_wait::Work;
use crate::program::lock::Held;
use crate::program::retry;
use crate::program::run::{Ended, Run};
use crate::repo::repository::{Repo, ours, theirs};

/// The message of our moves in a ref's log.
const LOG_MESSAGE: &str = "orchestrate";

/// The folders of the refs of runs.
pub(crate) const OUR_REFS: [&str; 2] = ["refs/heads/orchestrate/", "refs/orchestrate/"];

/// A ref and its target.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RefEntry {
    /// The full name.
    pub name: String,
    /// The object: a commit, or the tree of a conflict.
    pub target: Oid,
}

impl Repo {
    /// Returns what a ref names, or `None` if it is absent.
    ///
    /// # Errors
    /// If the name is not allowed or the ref cannot be read.
    pub fn read_ref(&self, name: &str) -> Result<Option<Oid>, GitError> {
        match self.handle()?.refname_to_id(name) {
            Ok(oid) => Ok(Some(ours(oid))),
            Err(error) => match error.code() {
                ErrorCode::NotFound => Ok(None),
                ErrorCode::InvalidSpec => Err(GitError::BadRefName {
                    name: name.to_owned(),
                }),
                _ => Err(GitError::library(format!("read {name}"))(error)),
            },
        }
    }

    /// Returns the tip of a branch.
    ///
    /// # Errors
    /// [`GitError::BranchGone`].
    pub fn branch_tip(&self, branch: &str) -> Result<Oid, GitError> {
        let tip = self.read_ref(&branch_ref(branch))?;
        tip.ok_or_else(|| GitError::BranchGone {
            branch: branch.to_owned(),
        })
    }

    /// Lists the refs whose name begins with a prefix, sorted by name.
    ///
    /// # Errors
    /// If the refs cannot be read.
    pub fn refs_below(&self, prefix: &str) -> Result<Vec<RefEntry>, GitError> {
        let handle = self.handle()?;
        let failed = GitError::library(format!("list the refs below {prefix}"));
        let mut entries = Vec::new();
        for reference in handle
            .references_glob(&format!("{prefix}*"))
            .map_err(&failed)?
        {
            let reference = reference.map_err(&failed)?;
            if let (Ok(name), Some(target)) = (reference.name(), reference.target()) {
                entries.push(RefEntry {
                    name: name.to_owned(),
                    target: ours(target),
                });
            }
        }
        entries.sort();
        Ok(entries)
    }

    /// Moves a ref if it has the expected value: a compare-and-swap under git's own lock.
    ///
    /// Moving a ref to its current value succeeds, so that a step can be repeated.
    ///
    /// # Errors
    /// [`GitError::RefMoved`] if it has another value.
    pub fn advance(&self, name: &str, expected: Option<&Oid>, new: &Oid) -> Result<(), GitError> {
        let handle = self.handle()?;
        let target = theirs(new)?;
        let old = expected.map(theirs).transpose()?;
        let attempt = || match old {
            Some(old) => handle
                .reference_matching(name, target, true, old, LOG_MESSAGE)
                .map(drop),
            None => handle.reference(name, target, false, LOG_MESSAGE).map(drop),
        };
        let moved = retry::while_locked(|| retry::while_swept(attempt));
        let Err(error) = moved else { return Ok(()) };
        match error.code() {
            ErrorCode::InvalidSpec => Err(GitError::BadRefName {
                name: name.to_owned(),
            }),
            ErrorCode::Locked => Err(GitError::Locked {
                path: self.lock_of(name),
            }),
            _ if self.is_there(name, expected, new)? => Ok(()),
            _ => Err(GitError::library(format!("move {name}"))(error)),
        }
    }

    /// Like [`Repo::advance`], for a ref of the user's, which is moved even if we are killed.
    ///
    /// # Errors
    /// As [`Repo::advance`].
    pub(crate) fn advance_to_its_end(
        &self,
        name: &str,
        expected: &Oid,
        new: &Oid,
        held: &Held,
    ) -> Result<(), GitError> {
        let ended = self.update_ref(
            ["-m", LOG_MESSAGE, name, new.as_str(), expected.as_str()],
            held,
        )?;
        if ended.code == 0 || self.is_there(name, Some(expected), new)? {
            return Ok(());
        }
        let lock = self.lock_of(name);
        Err(if lock.exists() {
            GitError::Locked { path: lock }
        } else {
            ended.failure("update-ref")
        })
    }

    /// Reports whether a ref that could not be moved is already at `new`. Fails with the reason if
    /// it is neither there nor at `expected`.
    fn is_there(&self, name: &str, expected: Option<&Oid>, new: &Oid) -> Result<bool, GitError> {
        let actual = self.read_ref(name)?;
        if actual.as_ref() != Some(new) && actual.as_ref() != expected {
            return Err(GitError::RefMoved {
                name: name.to_owned(),
                expected: expected.cloned(),
                actual,
            });
        }
        Ok(actual.as_ref() == Some(new))
    }

    fn lock_of(&self, name: &str) -> PathBuf {
        self.common_dir().join(format!("{name}.lock"))
    }

    /// Creates a branch at a commit, or succeeds if it is already at that commit.
    ///
    /// # Errors
    /// [`GitError::RefMoved`] if the branch exists at another commit.
    pub fn create_branch(&self, branch: &str, at: &Oid) -> Result<(), GitError> {
        self.advance(&branch_ref(branch), None, at)
    }

    /// Keeps an object alive by a ref of ours, so that `git gc` does not remove it.
    ///
    /// If the ref already names another object (a step that was killed is repeated and made another
    /// commit), that object is kept too, by a ref of the same name with its object id appended. An
    /// object that was kept is released only by [`Repo::delete`].
    ///
    /// # Errors
    /// If the name is not below `refs/orchestrate/`, or is not allowed.
    pub fn keep(&self, name: &str, target: &Oid) -> Result<(), GitError> {
        if !name.starts_with("refs/orchestrate/") {
            return Err(GitError::BadRefName {
                name: name.to_owned(),
            });
        }
        let before = self.read_ref(name)?;
        if let Some(before) = before.as_ref().filter(|before| *before != target) {
            self.advance(&format!("{name}-{before}"), None, before)?;
        }
        self.advance(name, before.as_ref(), target)
    }

    /// Deletes a ref of a run if it still has this target. Returns whether it did: a branch that is
    /// checked out stays.
    ///
    /// The caller has made sure that its commits are held elsewhere.
    ///
    /// # Errors
    /// If the ref is not one of ours, or cannot be deleted.
    pub fn delete(&self, entry: &RefEntry) -> Result<bool, GitError> {
        let RefEntry { name, target } = entry;
        if OUR_REFS.iter().all(|prefix| !name.starts_with(prefix)) {
            return Err(GitError::BadRefName { name: name.clone() });
        }
        if let Some(branch) = name.strip_prefix("refs/heads/")
            && self.landing().checkout_of(branch)?.is_some()
        {
            return Ok(false);
        }
        let has_target = || Ok::<_, GitError>(self.read_ref(name)?.as_ref() == Some(target));
        if !has_target()? {
            return Ok(false);
        }
        // Not libgit2: it would write a packed file of refs that it has read before git packed
        // others.
        let held = self.lock(Work::Pruning)?;
        let ended = self.update_ref(["-d", name.as_str(), target.as_str()], &held)?;
        if ended.code == 0 {
            return Ok(true);
        }
        let lock = self.lock_of(name);
        if lock.exists() {
            return Err(GitError::Locked { path: lock });
        }
        if has_target()? {
            Err(ended.failure("update-ref"))
        } else {
            Ok(false)
        }
    }

    /// Runs `git update-ref` without hooks. The process runs to its end even if we are killed,
    /// because the lock file that it would leave behind would obstruct the user.
    fn update_ref<'a>(
        &self,
        args: impl IntoIterator<Item = &'a str>,
        held: &Held,
    ) -> Result<Ended, GitError> {
        let wait = (
            "core.filesRefLockTimeout".to_owned(),
            retry::LOCKED_PATIENCE.as_millis().to_string().into(),
        );
        let args = std::iter::once("update-ref").chain(args);
        let run = Run::new(&self.shared.git_dir, self.workdir(), args).settings([wait]);
        self.program.run(
            &run.settings(self.shared.configuration.without_hooks())
                .outlives_us(held),
        )
    }

    /// Lists a run's snapshots and attempts that are kept by refs of ours.
    ///
    /// # Errors
    /// If the refs cannot be read.
    pub fn kept(&self, run: &orchestrate_core::RunId) -> Result<Vec<RefEntry>, GitError> {
        let mut kept = self.refs_below(&run.attempts_prefix())?;
        kept.extend(self.refs_below(&run.keep_prefix())?);
        Ok(kept)
    }

    /// Creates a branch at a kept commit; it never moves an existing branch.
    ///
    /// # Errors
    /// [`GitError::RefMoved`] if the branch exists at another commit. Also fails if the object is
    /// not a commit.
    pub fn restore(&self, kept: &Oid, branch: &str) -> Result<(), GitError> {
        self.handle()?
            .find_commit(theirs(kept)?)
            .map_err(GitError::library(format!("restore {kept}")))?;
        self.create_branch(branch, kept)
    }
}

/// Returns the full name of a branch.
pub(crate) fn branch_ref(branch: &str) -> String {
    format!("refs/heads/{branch}")
}
