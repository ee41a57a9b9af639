//! Pruning: removes the worktrees, branches and snapshots of runs that have landed long ago.
//!
//! A run has landed if its whole result has, and if the user's branch still contains that landing;
//! or if the branch contains the result because the user, or a server, has merged it. A ref is
//! deleted only if the result that landed contains its commit, so work that was rejected, dropped
//! or never merged stays.
//!
//! After a squash or a rebase the branch has the work in other commits. One ref of ours then holds
//! the result with the agents' own commits, since undoing the landing, and landing again, need it.

use std::collections::BTreeSet;

use orchestrate_core::run::request::Purpose;
use orchestrate_core::{Oid, RunId, RunState};
use orchestrate_git::{GitError, RefEntry};
use orchestrate_journal::{Journal, JournalError};

use crate::archive::{Archive, LANDED, ref_beside_result};
use crate::clean::worktrees::{CleanOptions, Cleaned};
use crate::error::LandingError;

/// The names of all branches begin so.
const BRANCHES: &str = "refs/heads/";

/// The result of pruning.
#[derive(Debug, Default)]
pub struct Pruned {
    /// The runs of which something was removed, or would be.
    pub runs: Vec<PrunedRun>,
    /// The runs that could not be pruned, and why; pruning again continues.
    pub failed: Vec<(RunId, LandingError)>,
}

/// What was removed of a run that has landed, or would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrunedRun {
    /// The run.
    pub run: RunId,
    /// Its worktrees.
    pub cleaned: Cleaned,
    /// The names of the refs that are gone.
    pub refs: Vec<String>,
    /// The names of the refs that stay, because they hold work that has not landed, or are checked
    /// out.
    pub kept_refs: Vec<String>,
}

/// A result that the user's branch contains.
struct LandedAs {
    /// The commit of the branch that brought it: itself, or one with its work.
    commit: Oid,
    /// The result.
    result: Oid,
}

impl Archive {
    /// Reports whether a branch of a landed run can be pruned. What only holds a landing after it
    /// was undone is no reason to prune again.
    ///
    /// # Errors
    ///
    /// Fails if a journal, the refs or a worktree cannot be read.
    pub fn has_prunable(&self, keep_runs: usize) -> Result<bool, LandingError> {
        let options = CleanOptions {
            dry_run: true,
            ignored: false,
        };
        for run in self.older(keep_runs)? {
            if self.repo.refs_below(&branches_of(&run))?.is_empty() {
                continue;
            }
            match self.prune_run(&run, options) {
                Ok(Some(of_run)) if of_run.refs.iter().any(|name| name.starts_with(BRANCHES)) => {
                    return Ok(true);
                }
                Ok(_)
                | Err(LandingError::Journal(
                    JournalError::Held { .. } | JournalError::Undecodable { .. },
                )) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Prunes all runs that have landed, except the newest `keep_runs` runs. Runs that a process
    /// works on are skipped.
    ///
    /// # Errors
    ///
    /// Fails if the runs or their refs cannot be listed.
    pub async fn prune(
        &self,
        keep_runs: usize,
        options: CleanOptions,
    ) -> Result<Pruned, LandingError> {
        self.beside("pruning", move |runs| runs.prune_now(keep_runs, options))
            .await
    }

    fn prune_now(&self, keep_runs: usize, options: CleanOptions) -> Result<Pruned, LandingError> {
        let mut pruned = Pruned::default();
        for run in self.older(keep_runs)? {
            match self.prune_run(&run, options) {
                Ok(None) | Err(LandingError::Journal(JournalError::Held { .. })) => {}
                Ok(Some(of_run)) => pruned.runs.push(of_run),
                Err(error) => pruned.failed.push((run, error)),
            }
        }
        Ok(pruned)
    }

    fn prune_run(
        &self,
        run: &RunId,
        options: CleanOptions,
    ) -> Result<Option<PrunedRun>, LandingError> {
        if self.landed_as(&self.store.state(run)?)?.is_none() {
            return Ok(None);
        }
        let cleaned = self.observed(run, || self.clean_now(run, options))?;
        let (refs, kept_refs) = self.prune_refs(run, &cleaned, options.dry_run)?;
        let is_pruned = !refs.is_empty() || !cleaned.removed.is_empty();
        Ok(is_pruned.then(|| PrunedRun {
            run: run.clone(),
            cleaned,
            refs,
            kept_refs,
        }))
    }

    /// Returns the runs that have refs, except the newest `keep_runs` runs.
    fn older(&self, keep_runs: usize) -> Result<Vec<RunId>, LandingError> {
        let mut older = Vec::new();
        for run in self
            .store
            .runs()?
            .into_iter()
            .skip(keep_runs)
            .map(|summary| summary.run_id)
        {
            if !self.refs_of(&run)?.is_empty() {
                older.push(run);
            }
        }
        Ok(older)
    }

    fn refs_of(&self, run: &RunId) -> Result<Vec<RefEntry>, GitError> {
        let mut refs = self.repo.refs_below(&branches_of(run))?;
        refs.extend(self.repo.kept(run)?);
        Ok(refs)
    }

    /// Returns how a run's whole result has landed, if its branch still contains it.
    fn landed_as(&self, state: &RunState) -> Result<Option<LandedAs>, LandingError> {
        let recorded = state.landed().filter(|_| state.is_landed());
        let is_merged_elsewhere = || {
            state.exit_code.is_some()
                && state.landing_begun().is_none()
                && state.integration != state.base
        };
        let (branch, commit) = match (recorded, &state.base_branch) {
            (Some(landed), _) => (&landed.branch, &landed.to),
            (None, Some(branch)) if is_merged_elsewhere() => (branch, &state.integration),
            _ => return Ok(None),
        };
        let tip = match self.repo.branch_tip(branch) {
            Err(GitError::BranchGone { .. }) => return Ok(None),
            tip => tip?,
        };
        // A commit that no longer exists is contained in no branch.
        if !self.repo.has_object(commit)? || !self.repo.contains(&tip, commit)? {
            return Ok(None);
        }
        Ok(Some(LandedAs {
            commit: commit.clone(),
            result: state.integration.clone(),
        }))
    }

    /// Deletes the refs whose commits have landed, and returns the names of those that are gone and
    /// that stay.
    fn prune_refs(
        &self,
        run: &RunId,
        cleaned: &Cleaned,
        dry_run: bool,
    ) -> Result<(Vec<String>, Vec<String>), LandingError> {
        // Meanwhile the run must not be continued, nor its landing undone.
        let _held = if dry_run {
            None
        } else {
            Some(Journal::resume_for(&self.store, run, Purpose::Clean)?)
        };
        let state = self.store.state(run)?;
        let (mut gone, mut kept) = (Vec::new(), Vec::new());
        let Some(landed) = self.landed_as(&state)? else {
            return Ok((gone, kept));
        };
        // Branches of tasks that need their worktree, or whose worktree stays, are needed, too.
        let (needed, entries) = (self.needed_branches(&state, cleaned), self.refs_of(run)?);
        if !dry_run {
            self.hold_result(&landed, run)?;
        }
        for entry in entries {
            if dry_run
                && cleaned
                    .branches
                    .iter()
                    .any(|cleaned| entry.name == format!("{BRANCHES}{}", cleaned.branch))
            {
                // It would be gone by now.
                continue;
            }
            let is_removable =
                !needed.contains(&entry.name) && self.is_within(&landed, run, &entry)?;
            let is_gone = match dry_run {
                _ if !is_removable => false,
                true => !self.is_checked_out_beside(&entry.name, cleaned.places())?,
                false => self.repo.delete(&entry)?,
            };
            if is_gone {
                gone.push(entry.name);
            } else {
                kept.push(entry.name);
            }
        }
        Ok((gone, kept))
    }

    fn needed_branches(&self, state: &RunState, cleaned: &Cleaned) -> BTreeSet<String> {
        let needed = state.tasks().filter(|record| {
            let place = self.layout.worktree(&state.run_id, &record.task.id);
            record.needs_worktree() || cleaned.leaves(&place)
        });
        needed
            .filter_map(|record| Some(format!("{BRANCHES}{}", record.branch()?)))
            .collect()
    }

    /// Holds a result that has landed in other commits.
    fn hold_result(&self, landed: &LandedAs, run: &RunId) -> Result<(), LandingError> {
        let LandedAs { commit, result } = landed;
        if self.repo.has_object(result)? && !self.repo.contains(commit, result)? {
            self.keep_beside_result(run, LANDED, result)?;
        }
        Ok(())
    }

    /// Reports whether what a ref holds has landed. The tree of a conflict is no work.
    fn is_within(
        &self,
        landed: &LandedAs,
        run: &RunId,
        entry: &RefEntry,
    ) -> Result<bool, LandingError> {
        let LandedAs { commit, result } = landed;
        let is_commit = self.repo.store().find_commit(&entry.target)?.is_some();
        if !is_commit || self.repo.contains(commit, &entry.target)? {
            return Ok(true);
        }
        let is_held =
            entry.name != ref_beside_result(run, LANDED, result) && self.repo.has_object(result)?;
        Ok(is_held && self.repo.contains(result, &entry.target)?)
    }
}

/// Returns how the names of a run's branches begin.
fn branches_of(run: &RunId) -> String {
    format!("{BRANCHES}orchestrate/{run}/")
}
