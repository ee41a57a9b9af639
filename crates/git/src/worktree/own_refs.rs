//! The refs that an agent's git tools create: names for commits, changes set aside, what the next
//! commit takes, and a merge in progress.
//!
//! All are below the run's safety refs and belong to one task, so no agent sees another's. None of
//! this is in the journal: each step is one ref that is set or not, so a call that was interrupted
//! can be repeated. What concerns the next commit (a selection, a merge in progress) is itself a
//! commit whose first parent is the branch's tip; it no longer counts once the tip has moved,
//! whatever a killed process has left.

use std::collections::BTreeSet;

use orchestrate_core::{Oid, RunId, TaskId};

use crate::error::GitError;
use crate::repo::refs::RefEntry;
use crate::repo::repository::Repo;
use crate::store::objects::CommitInfo;

/// The name of what the next commit takes.
pub const SELECTED: &str = "selected";
/// The name of the merge in progress: a commit of its tree, with both sides as parents.
pub const MERGING: &str = "merging";
/// The name of the worktree's files before the newest command.
pub const BEFORE: &str = "before-command";
/// The name of the snapshot whose files are being brought into a worktree that was made again.
pub const RESTORING: &str = "restoring";
/// The name of the snapshot of the files that a new attempt's are about to replace.
pub const REPLACING: &str = "replacing";
/// The name of what was fetched from a remote last.
pub const PULLED: &str = "pulled";
/// The commit on which the agent is in its own git, if it has made commits there.
pub const HEAD: &str = "head";
/// The task's branch in the agent's own git, while the agent is on another one.
pub(crate) const TASK_BRANCH: &str = "task-branch";
/// The folder of commits on which the agent was, and to which no history leads any more.
pub(crate) const LEFT: &str = "left/";
/// The most names for commits, and the most changes set aside, that an agent may have; each is a
/// file.
pub const MOST_NAMES: usize = 100;
/// The folder of the agent's names for commits.
const BRANCHES: &str = "branch/";
/// The folders of all names that an agent's own git may have given.
const NAMES: [&str; 3] = [BRANCHES, "tag/", "other/"];
/// The folder of changes that were set aside.
const STASHES: &str = "stash/";
/// The folder of those of them that were applied or dropped: they stay until the run is cleaned.
const DROPPED: &str = "dropped-stash/";

/// The names of one agent's own refs.
#[derive(Clone, Debug)]
pub struct OwnRefs {
    prefix: String,
}

/// Changes that were set aside.
#[derive(Clone, Debug)]
pub struct Stashed {
    /// Its number.
    pub number: String,
    /// The commit of the files.
    pub commit: CommitInfo,
}

impl OwnRefs {
    /// Returns the names for a task's agent.
    pub fn for_task(run: &RunId, task: &TaskId) -> Self {
        Self {
            prefix: format!("{}{}/", run.keep_prefix(), task.branch_component()),
        }
    }

    /// Returns the full name of the ref of the tree that a merge in progress wrote into the
    /// worktree.
    pub fn merged_tree(&self) -> String {
        format!("{}merged-tree", self.prefix)
    }

    /// Returns the full name of the agent's own name for a commit.
    pub fn branch(&self, name: &str) -> String {
        format!("{}{BRANCHES}{name}", self.prefix)
    }

    /// Returns the full name of the agent's own tag.
    pub fn tag(&self, name: &str) -> String {
        format!("{}tag/{name}", self.prefix)
    }

    /// Returns what a ref holds, if it belongs to this tip.
    pub fn current(
        &self,
        repo: &Repo,
        name: &str,
        tip: &Oid,
    ) -> Result<Option<CommitInfo>, GitError> {
        let held = repo.read_ref(&format!("{}{name}", self.prefix))?;
        let held = held
            .map(|commit| repo.store().commit_info(&commit))
            .transpose()?;
        Ok(held.filter(|commit| commit.parents.first() == Some(tip)))
    }

    /// Returns what a ref holds.
    pub fn read(&self, repo: &Repo, name: &str) -> Result<Option<Oid>, GitError> {
        repo.read_ref(&format!("{}{name}", self.prefix))
    }

    /// Lists the names that the agent has given to commits, as branches, tags and otherwise.
    pub(crate) fn names(&self, repo: &Repo) -> Result<Vec<RefEntry>, GitError> {
        let mut names = self.named(repo, "")?;
        names.retain(|entry| NAMES.iter().any(|folder| entry.name.starts_with(folder)));
        Ok(names)
    }

    /// Makes a ref hold a commit, whatever it held before.
    pub fn set(&self, repo: &Repo, name: &str, commit: &Oid) -> Result<(), GitError> {
        let name = format!("{}{name}", self.prefix);
        repo.advance(&name, repo.read_ref(&name)?.as_ref(), commit)
    }

    /// Deletes refs, as far as they exist.
    pub fn forget(&self, repo: &Repo, names: &[&str]) -> Result<(), GitError> {
        for name in names.iter().map(|name| format!("{}{name}", self.prefix)) {
            if let Some(target) = repo.read_ref(&name)? {
                repo.delete(&RefEntry { name, target })?;
            }
        }
        Ok(())
    }

    /// Lists the agent's own names for commits, sorted, without what all of them begin with.
    pub fn branches(&self, repo: &Repo) -> Result<Vec<RefEntry>, GitError> {
        self.named(repo, BRANCHES)
    }

    /// Lists the changes that are set aside, newest first.
    pub fn stashes(&self, repo: &Repo) -> Result<Vec<Stashed>, GitError> {
        let gone: BTreeSet<String> = self
            .named(repo, DROPPED)?
            .into_iter()
            .map(|entry| entry.name)
            .collect();
        let mut stashes = Vec::new();
        for RefEntry { name, target } in self.named(repo, STASHES)?.into_iter().rev() {
            if !gone.contains(&name) {
                stashes.push(Stashed {
                    number: name,
                    commit: repo.store().commit_info(&target)?,
                });
            }
        }
        Ok(stashes)
    }

    /// Puts a commit on top of the changes that are set aside.
    pub fn push(&self, repo: &Repo, commit: &Oid) -> Result<(), GitError> {
        let newest = self
            .named(repo, STASHES)?
            .last()
            .and_then(|entry| entry.name.parse::<u32>().ok());
        let number = newest.unwrap_or(0).saturating_add(1);
        self.set(repo, &format!("{STASHES}{number:06}"), commit)
    }

    /// Takes changes off the stack; a ref still holds them.
    pub fn take_off(&self, repo: &Repo, stashed: &Stashed) -> Result<(), GitError> {
        self.set(
            repo,
            &format!("{DROPPED}{}", stashed.number),
            &stashed.commit.id,
        )
    }

    /// Lists the refs in a folder by their names in it, sorted: numbered ones are oldest first.
    fn named(&self, repo: &Repo, folder: &str) -> Result<Vec<RefEntry>, GitError> {
        let prefix = format!("{}{folder}", self.prefix);
        let numbered = |entry: RefEntry| {
            let name = entry.name.strip_prefix(&prefix)?.to_owned();
            Some(RefEntry { name, ..entry })
        };
        Ok(repo
            .refs_below(&prefix)?
            .into_iter()
            .filter_map(numbered)
            .collect())
    }

    /// Lists the refs that are not needed once the task's worktree is gone: changes that were
    /// dropped or applied, a selection, a merge in progress, and names for commits that the task's
    /// branch contains.
    pub fn disposable(&self, repo: &Repo, tip: Option<&Oid>) -> Result<Vec<RefEntry>, GitError> {
        let gone: BTreeSet<String> = self
            .named(repo, DROPPED)?
            .into_iter()
            .map(|entry| entry.name)
            .collect();
        let mut disposable = Vec::new();
        for entry in repo.refs_below(&self.prefix)? {
            let Some(name) = entry.name.strip_prefix(&self.prefix) else {
                continue;
            };
            let is_disposable = match name
                .strip_prefix(STASHES)
                .or_else(|| name.strip_prefix(DROPPED))
            {
                Some(number) => gone.contains(number),
                None if is_of_own_git(name) => match tip {
                    Some(tip) => repo.contains(tip, &entry.target)?,
                    None => false,
                },
                None => {
                    let names = [SELECTED, MERGING, BEFORE, RESTORING, REPLACING, PULLED];
                    names.contains(&name) || name == "merged-tree"
                }
            };
            if is_disposable {
                disposable.push(entry);
            }
        }
        Ok(disposable)
    }
}

/// Reports whether a ref holds a commit for what an agent has done in its own git.
fn is_of_own_git(name: &str) -> bool {
    [HEAD, TASK_BRANCH].contains(&name)
        || name.starts_with(LEFT)
        || NAMES.iter().any(|folder| name.starts_with(folder))
}
