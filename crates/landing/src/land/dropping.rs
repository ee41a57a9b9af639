//! Dropping tasks: rebuilds a run's result without their work.
//!
//! The merges before the first dropped one stay as they are. Each later one is made again: what it
//! changed is applied to the new result. So nothing of a dropped task is left in the files or in
//! the history. The new result passes the run's check before the event is recorded; the integration
//! branch moves after that, and the old result stays held by a ref of ours.

use std::collections::BTreeMap;

use orchestrate_core::event::Event;
use orchestrate_core::run::outcome;
use orchestrate_core::run::request::Purpose;
use orchestrate_core::text::invisible::shown;
use orchestrate_core::{DroppedTasks, Oid, RunId, RunState, TaskId};
use orchestrate_git::{CommitInfo, CommitSpec, Identities, Merge};
use orchestrate_journal::Journal;
use orchestrate_sandbox::Cancel;

use crate::archive::Archive;
use crate::error::{LandingError, ResultRefusal};
use crate::land::integration_branch;
use crate::land::tree_check::RedTree;

/// Tasks that were dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The run.
    pub run: RunId,
    /// The tasks: the requested one, and those that were built on it.
    pub tasks: Vec<TaskId>,
    /// The run's result without them.
    pub result: Oid,
    /// Whether the result has changed.
    pub is_rebuilt: bool,
    /// The tasks whose work is merged without a review now, since their reviewers are dropped.
    pub unreviewed: Vec<TaskId>,
    /// Whether a resumed run has something to do, such as an agent that waited for a dropped one.
    pub goes_on: bool,
}

/// What rebuilding has made so far.
struct Rebuilt {
    tip: Oid,
    /// The merges that were made again, with their new commits.
    merges: BTreeMap<Oid, Oid>,
    /// The commits whose history must not become part of the result.
    unwanted: Vec<Oid>,
}

impl Archive {
    /// Drops a task, and those that were built on it if that is requested.
    ///
    /// # Errors
    ///
    /// Fails if the request is refused, if the remaining work conflicts or fails the run's check,
    /// or if another process works on the run. Nothing has changed then.
    pub async fn drop_task(
        &self,
        run: &RunId,
        task: &TaskId,
        with_dependents: bool,
        cancel: &Cancel,
    ) -> Result<Dropped, LandingError> {
        let (run, task, cancel) = (run.clone(), task.clone(), cancel.clone());
        self.beside("dropping", move |runs| {
            runs.observed(&run, || {
                runs.drop_now(&run, &task, with_dependents, &cancel)
            })
        })
        .await
    }

    fn drop_now(
        &self,
        run: &RunId,
        task: &TaskId,
        with_dependents: bool,
        cancel: &Cancel,
    ) -> Result<Dropped, LandingError> {
        let journal = Journal::resume_for(&self.store, run, Purpose::Drop)?;
        let state = journal.state();
        if state.exit_code.is_none() || state.landing_begun().is_some() {
            return Err(ResultRefusal::Unfinished { run: run.clone() }.into());
        }
        // A killed drop may have recorded its decision alone.
        self.conclude(&journal)?;
        let state = journal.state();
        let refused = |why| ResultRefusal::NotDropped {
            run: run.clone(),
            why,
        };
        let tasks = state.decide_drop(task, with_dependents).map_err(refused)?;
        let Rebuilt { tip, merges, .. } = self.rebuild(&state, task, &tasks)?;
        let target = state.integration.clone();
        if tip != target {
            self.require_green_without(&state, task, &tip, cancel)?;
        }
        let (commit, is_rebuilt, unreviewed) =
            (tip.clone(), tip != target, state.unreviewed_without(&tasks));
        journal.append_blocking(Event::TasksDropped(DroppedTasks {
            tasks: tasks.clone(),
            target,
            commit,
            merges,
        }))?;
        self.conclude(&journal)?;
        let goes_on = outcome(&journal.state()).is_none();
        Ok(Dropped {
            run: run.clone(),
            tasks,
            result: tip,
            is_rebuilt,
            unreviewed,
            goes_on,
        })
    }

    /// Makes the result again from the merges of all other tasks.
    fn rebuild(
        &self,
        state: &RunState,
        task: &TaskId,
        dropped: &[TaskId],
    ) -> Result<Rebuilt, LandingError> {
        let mut rebuilt = Rebuilt {
            tip: state.base.clone(),
            merges: BTreeMap::new(),
            unwanted: Vec::new(),
        };
        let gone = dropped.iter().filter_map(|task| state.task(task));
        let gone: Vec<&Oid> = gone
            .flat_map(|record| record.merged())
            .map(|attempt| &attempt.commit)
            .collect();
        for merge in self
            .repo
            .store()
            .first_parents(&state.base, &state.integration)?
        {
            let before = merge.parents.first().unwrap_or(&state.base);
            if gone.contains(&&merge.id) {
                rebuilt.unwanted.push(merge.id.clone());
                rebuilt.unwanted.extend(merge.parents.get(1).cloned());
            } else if *before == rebuilt.tip {
                rebuilt.tip = merge.id;
            } else {
                let tree = match self.repo.merging().apply(before, &rebuilt.tip, &merge.id)? {
                    Merge::Clean { tree } => tree,
                    Merge::Conflict { files, .. } => {
                        let files = files.iter().map(|file| shown(&file.to_string())).collect();
                        let (run, task) = (state.run_id.clone(), task.clone());
                        return Err(ResultRefusal::Entangled { run, task, files }.into());
                    }
                };
                self.make_again(state, &merge, tree, &mut rebuilt)?;
            }
        }
        Ok(rebuilt)
    }

    fn make_again(
        &self,
        state: &RunState,
        merge: &CommitInfo,
        tree: Oid,
        rebuilt: &mut Rebuilt,
    ) -> Result<(), LandingError> {
        let mut parents = vec![rebuilt.tip.clone()];
        for work in merge.parents.iter().skip(1) {
            if !self.contains_any(work, &rebuilt.unwanted)? {
                parents.push(work.clone());
            }
        }
        let by = Identities {
            author: merge.author.clone(),
            ..self.identities()?
        };
        let (message, trailers, time_unix) = (merge.message.clone(), Vec::new(), merge.time_unix);
        let made = self.repo.commit(&CommitSpec {
            tree,
            parents,
            message,
            trailers,
            by,
            time_unix,
        })?;
        self.keep_beside_result(&state.run_id, "rebuilt", &made)?;
        rebuilt.merges.insert(merge.id.clone(), made.clone());
        rebuilt.tip = made;
        Ok(())
    }

    fn contains_any(&self, commit: &Oid, others: &[Oid]) -> Result<bool, LandingError> {
        for other in others {
            if self.repo.contains(commit, other)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn require_green_without(
        &self,
        state: &RunState,
        task: &TaskId,
        commit: &Oid,
        cancel: &Cancel,
    ) -> Result<(), LandingError> {
        if *commit == state.base {
            // Nothing is left, so there is nothing to check.
            return Ok(());
        }
        if let Some(command) = &state.settings.verify {
            (self.progress)(&format!("checking the result without {task}: `{command}`"));
        }
        let Some(RedTree {
            command,
            exit,
            output,
        }) = self.check(state, commit, cancel)?
        else {
            return Ok(());
        };
        let run = state.run_id.clone();
        let task = task.clone();
        let command = command.into();
        let exit = exit.into();
        Err(ResultRefusal::RedWithout {
            run,
            task,
            command,
            exit,
            output,
        }
        .into())
    }

    /// Moves the integration branch, which has no stranger's commits, and records how the run ends
    /// now. Nothing is left to do the second time.
    fn conclude(&self, journal: &Journal) -> Result<(), LandingError> {
        let state = journal.state();
        if let Some(old) = state.replaced.last() {
            self.keep_beside_result(&state.run_id, "replaced", old)?;
        }
        // A branch that stays behind because it is checked out, or was moved from outside, follows
        // at the landing.
        integration_branch::follow(&self.repo, &state)?;
        for fact in state.due_facts() {
            journal.append_blocking(fact)?;
        }
        let state = journal.state();
        if let Some((status, exit_code)) = outcome(&state)
            && (state.status, state.exit_code) != (status, Some(exit_code))
        {
            journal.append_blocking(Event::RunFinished { status, exit_code })?;
        }
        Ok(())
    }
}
