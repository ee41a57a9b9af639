//! A worktree at the start of an attempt, and with the merge that work was returned with.

use std::sync::Arc;

use orchestrate_core::record::Repair;
use orchestrate_core::text::git_path::shown_path;
use orchestrate_core::text::invisible::shown;
use orchestrate_core::{Oid, RunId, TaskId};
use orchestrate_git::own_refs::{MERGING, OwnRefs, REPLACING, RESTORING, SELECTED};
use orchestrate_git::{ConflictFile, GitError, Merge, Repo, Worktree, WrittenConflict};

use crate::error::CoordinatorError;
use crate::worktree::workspace::Workspace;

/// The unresolved files of a conflict that an agent is resolving.
#[derive(Default)]
pub(crate) struct Unresolved {
    /// Files with conflict markers, each with the line of the first.
    pub(crate) marked: Vec<String>,
    /// Files without markers that are unresolved, with git's name of the conflict.
    pub(crate) untouched: Vec<String>,
}

impl Unresolved {
    /// Reports whether everything is resolved.
    pub(crate) fn is_empty(&self) -> bool {
        self.marked.is_empty() && self.untouched.is_empty()
    }
}

impl Workspace {
    /// Brings a worktree to the start of its attempt, with the files that the project wants in
    /// every worktree.
    pub(crate) async fn begin(&self) -> Result<(), CoordinatorError> {
        let (record, tip) = self.record().await?;
        let branch = format!("refs/heads/{}", self.link.run.task_branch(&self.link.agent));
        let (marks, of_tip) = (self.own_refs(), tip.clone());
        let looked = self.host.git(move |repo| {
            let is_begun = marks.current(repo, REPLACING, &of_tip)?.is_some();
            Ok((repo.read_ref(&branch)?, is_begun))
        });
        let (before, is_begun) = looked.await?;
        // An agent continues from its own files; a command starts in a clean worktree, as a new one
        // is. A killed process may have moved the branch and not replaced the files.
        let is_used = !self.worktree.take_unused();
        let is_cleaned = record.is_command() && is_used;
        let replaced = before.filter(|before| *before != tip || is_begun || is_cleaned);
        // What was done with git before is held; a new attempt begins with a fresh one.
        self.sync_git().await?;
        let kept = match replaced {
            Some(_) => self.keep_replaced().await?,
            None => None,
        };
        let worktree = Arc::clone(&self.worktree);
        let run = self.link.run.clone();
        let task = self.link.agent.clone();
        let own = self.own_refs();
        let lost = record.lost_files().cloned().filter(|_| replaced.is_none());
        let superseded = record
            .attempt()
            .checked_sub(1)
            .filter(|attempt| *attempt > 0);
        let begun = self.host.git(move |repo| {
            if let Some(lost) = lost {
                restore(repo, &worktree, &own, &tip, &lost)?;
            }
            if let Some(before) = replaced {
                if !repo.contains(&tip, &before)? {
                    hold_replaced(repo, &run, &task, superseded, &before)?;
                }
                if let Some(kept) = kept {
                    own.set(repo, REPLACING, &kept)?;
                }
                repo.worktrees().restart(&worktree, &before, &tip)?;
                own.forget(repo, &[SELECTED, MERGING, REPLACING])?;
                repo.worktrees().renew_git(&worktree)?;
            }
            repo.worktrees().copy_included(&worktree).map(|_| ())
        });
        begun.await?;
        self.sync_git().await.map(drop)
    }

    /// Merges the commit that work was returned onto into the worktree, including conflict markers;
    /// returns the files in conflict that are not text: a tool that writes text can neither keep
    /// them nor restore a version.
    ///
    /// The worktree is reset to the branch's tip first, so doing it twice is harmless: no agent has
    /// edited it since the work was handed over, or the merge would have been recorded. The user
    /// may have, so it is saved first.
    pub(crate) async fn write_return(&self, onto: Oid) -> Result<Vec<String>, CoordinatorError> {
        self.keep_replaced().await?;
        let (worktree, (_, tip)) = (Arc::clone(&self.worktree), self.record().await?);
        let anchor = self.link.run.conflict_ref(&self.link.agent);
        let written = self.host.git(move |repo| {
            repo.worktrees().restart(&worktree, &tip, &tip)?;
            let WrittenConflict { tree, files, .. } = repo
                .merging()
                .write_conflict(&worktree, &onto, &tip, &anchor)?;
            let mut binary = Vec::new();
            for file in repo.merging().untouched(&worktree, &files)? {
                if repo
                    .store()
                    .read_stored(&tree, &file.path)?
                    .is_some_and(|bytes| !is_text(&bytes))
                {
                    binary.push(named(&file));
                }
            }
            Ok(binary)
        });
        written.await
    }

    /// Returns the unresolved files of the conflict that the agent is resolving.
    ///
    /// The two sides are those that were written into the worktree: a commit that the agent made
    /// since contains both.
    pub(crate) async fn unresolved(&self, repair: &Repair) -> Result<Unresolved, CoordinatorError> {
        let (worktree, Repair { onto, tip }) = (Arc::clone(&self.worktree), repair.clone());
        let found = self.host.git(move |repo| {
            let Merge::Conflict { files, .. } = repo.merging().merge(&onto, &tip)? else {
                return Ok(Unresolved::default());
            };
            let paths: Vec<_> = files.iter().map(|file| file.path.clone()).collect();
            let marked = repo.merging().remaining_markers(
                &repo.store().current_tree(&worktree)?,
                &paths,
                [&onto, &tip],
            )?;
            Ok(Unresolved {
                marked: marked
                    .iter()
                    .map(|(path, line)| format!("{}:{line}", shown_path(path)))
                    .collect(),
                untouched: repo
                    .merging()
                    .untouched(&worktree, &files)?
                    .iter()
                    .map(named)
                    .collect(),
            })
        });
        found.await
    }

    /// Saves files that are about to be replaced: an attempt's work, or later changes of the
    /// user's. Returns their commit, or `None` if they are those of the branch's tip.
    async fn keep_replaced(&self) -> Result<Option<Oid>, CoordinatorError> {
        let kept = self.keep_before_replacing().await;
        kept.map_err(|error| match error {
            CoordinatorError::Git(source) if error.return_cause().is_some() => {
                CoordinatorError::Unkeepable {
                    path: self.worktree.path().to_owned(),
                    source: Box::new(source),
                }
            }
            other => other,
        })
    }
}

/// Holds the tip of a branch that is about to move: that of an attempt which the new one
/// supersedes, or what the user has committed there since.
fn hold_replaced(
    repo: &Repo,
    run: &RunId,
    task: &TaskId,
    superseded: Option<u32>,
    tip: &Oid,
) -> Result<(), GitError> {
    let task = task.branch_component();
    if let Some(attempt) = superseded {
        return repo.keep(&format!("{}{task}/{attempt}", run.attempts_prefix()), tip);
    }
    if repo.kept(run)?.iter().any(|kept| kept.target == *tip) {
        return Ok(());
    }
    repo.keep(&format!("{}{task}/replaced", run.keep_prefix()), tip)
}

/// Brings the files of the newest snapshot into a worktree that was made again. One with other
/// files than those of the branch's tip stays as it is, unless a killed process has left it so.
fn restore(
    repo: &Repo,
    worktree: &Worktree,
    own: &OwnRefs,
    tip: &Oid,
    snapshot: &Oid,
) -> Result<(), GitError> {
    let is_begun = own.current(repo, RESTORING, tip)?.is_some();
    if !is_begun && repo.store().current_tree(worktree)? != repo.tree_of(tip)? {
        return Ok(());
    }
    own.set(repo, RESTORING, snapshot)?;
    repo.worktrees()
        .exchange(worktree, &repo.tree_of(snapshot)?)?;
    own.forget(repo, &[RESTORING])
}

/// Formats a file in conflict, with git's name of the conflict.
fn named(file: &ConflictFile) -> String {
    shown(&file.to_string())
}

fn is_text(bytes: &[u8]) -> bool {
    !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok()
}
