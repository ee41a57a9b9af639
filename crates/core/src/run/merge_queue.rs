//! The queue of merges: which work to merge, verify, advance or return; one merge at a time.
//!
//! Work is merged into the integration branch, or into the branch of the agent that spawned its
//! task, by the same rules. What is merged has passed the run's check: a candidate is merged
//! without a checkout, its exact merged tree is verified, and only then the branch moves to it. A
//! conflict or a failed check is returned to its agent with the evidence, a limited number of
//! times. Results of checks are kept by (tree, command), so no green tree is checked twice, and a
//! red one only to rule out that the check is flaky ([`crate::checks::flaky`]). This module
//! decides; the merge executor acts.

use crate::checks::flaky::{CheckResults, FlakyCheck, TriedCheck, Try, VerifyResult};
use crate::event::settings::RunSettings;
use crate::event::{AdoptedWork, Event, Illegal, MergeTarget, VerifyScope};
use crate::ids::{Oid, TaskId};
use crate::record::{AfterFault, GivenUp, TaskRecord};
use crate::task::ReturnCause;

/// The merge in progress and the results of checks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MergeQueue {
    current: Option<Current>,
    pub(crate) results: CheckResults,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Current {
    task: TaskId,
    into: MergeTarget,
    target: Oid,
    candidate: Oid,
    stage: Stage,
    /// The check of the target without the candidate, tried since the merged tree stays red.
    on_target: Option<VerifyResult>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Stage {
    Merging,
    Conflicted(Vec<String>),
    Prepared { commit: Oid, tree: Oid },
}

/// The next step of the merge executor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MergeStep {
    /// Merge the candidate into the target without a checkout, and record the result.
    Merge {
        /// The task.
        task: TaskId,
        /// The branch that it is merged into.
        into: MergeTarget,
        /// That branch's tip.
        target: Oid,
        /// The task's commit.
        candidate: Oid,
    },
    /// Run the run's check on this tree.
    Verify {
        /// The task that is verified.
        task: TaskId,
        /// The merge commit with the tree.
        commit: Oid,
        /// The tree.
        tree: Oid,
        /// The command.
        command: String,
    },
    /// Run the run's check on the target without the candidate, since it stays red with it.
    VerifyTarget {
        /// The task whose work is not in it.
        task: TaskId,
        /// The target.
        commit: Oid,
        /// The command.
        command: String,
    },
    /// Record the merge, then move the branch from `target` to `commit`.
    Advance {
        /// The task.
        task: TaskId,
        /// The branch.
        into: MergeTarget,
        /// The merge commit.
        commit: Oid,
        /// The tip that it must still have.
        target: Oid,
    },
    /// Return the work to its agent.
    Return {
        /// The task.
        task: TaskId,
        /// Why.
        cause: ReturnCause,
        /// The commit that is merged into the agent's worktree first.
        onto: Oid,
        /// The evidence.
        evidence: Evidence,
    },
    /// The rounds are used up.
    GiveUp {
        /// The task.
        task: TaskId,
        /// Why the work would be returned once more.
        cause: ReturnCause,
        /// How the task ends.
        end: GivenUp,
        /// The evidence.
        evidence: Evidence,
    },
}

/// The evidence for returning work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// These paths conflict.
    Conflict(Vec<String>),
    /// This check failed.
    Check {
        /// The command.
        command: String,
        /// Each try on the merged tree, oldest first.
        tries: Vec<VerifyResult>,
        /// The try without the work, if there was one.
        on_target: Option<VerifyResult>,
    },
}

impl MergeQueue {
    /// Applies an event of a task; fails with the reason if it is not valid in the current state.
    pub(crate) fn apply(&mut self, event: &Event) -> Result<(), Illegal> {
        match event {
            Event::MergeStarted {
                task,
                into,
                target,
                candidate,
            } => {
                if let Some(other) = self
                    .current
                    .as_ref()
                    .filter(|current| current.task != *task)
                {
                    return Err(Illegal::MergeOpen(other.task.clone()));
                }
                let task = task.clone();
                let into = into.clone();
                let target = target.clone();
                let candidate = candidate.clone();
                let stage = Stage::Merging;
                self.current = Some(Current {
                    task,
                    into,
                    target,
                    candidate,
                    stage,
                    on_target: None,
                });
                Ok(())
            }
            Event::MergeConflicted { task, files } => {
                self.reached(task, Stage::Conflicted(files.clone()))
            }
            Event::MergePrepared { task, commit, tree } => self.reached(
                task,
                Stage::Prepared {
                    commit: commit.clone(),
                    tree: tree.clone(),
                },
            ),
            Event::VerifyFinished {
                task,
                scope,
                tree,
                command,
                passed,
                exit,
                output,
                ..
            } => {
                let result = VerifyResult {
                    passed: *passed,
                    exit: exit.clone(),
                    output: output.clone(),
                };
                self.tried(
                    *scope,
                    Try {
                        task: Some(task),
                        tree,
                        command,
                        result,
                    },
                );
                Ok(())
            }
            Event::TaskCommitted { task, .. } | Event::WorkAdopted(AdoptedWork { task, .. }) => {
                self.results.forget_own(task);
                Ok(())
            }
            Event::TaskMerged { task, .. }
            | Event::TaskReturned { task, .. }
            | Event::TaskConflicted { task, .. }
            | Event::TaskCancelled { task, .. }
            | Event::TaskFailed { task, .. } => {
                // The branch of an agent that has ended is left as it is.
                self.current
                    .take_if(|current| current.task == *task || current.into.agent() == Some(task));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Notes a try of a check.
    fn tried(&mut self, scope: VerifyScope, tried: Try<'_>) {
        let Some(task) = tried.task else { return };
        match scope {
            VerifyScope::Task => self.results.add_own(task, tried),
            VerifyScope::Run => self.results.add(tried),
            VerifyScope::Target => {
                if let Some(current) = self
                    .current
                    .as_mut()
                    .filter(|current| current.task == *task)
                {
                    current.on_target = Some(tried.result.clone());
                }
                self.results.add(tried);
            }
        }
    }

    /// Abandons the merge in progress, because the integration branch is another one now.
    pub(crate) fn restart(&mut self) {
        self.current = None;
    }

    fn reached(&mut self, task: &TaskId, stage: Stage) -> Result<(), Illegal> {
        match &mut self.current {
            Some(current) if current.task == *task => {
                current.stage = stage;
                Ok(())
            }
            _ => Err(Illegal::NoMerge(task.clone())),
        }
    }

    /// Returns the next step of merging, or `None` if there is none now.
    pub fn next(&self, situation: &Situation<'_>) -> Option<MergeStep> {
        let Some(current) = &self.current else {
            let Candidate {
                task,
                commit,
                into,
                target,
            } = situation.candidate.clone()?;
            return Some(MergeStep::Merge {
                task,
                into,
                target,
                candidate: commit,
            });
        };
        let task = current.task.clone();
        let into = current.into.clone();
        let target = current.target.clone();
        match &current.stage {
            Stage::Merging => Some(MergeStep::Merge {
                task,
                into,
                target,
                candidate: current.candidate.clone(),
            }),
            Stage::Conflicted(files) => Some(situation.give_back(
                current,
                ReturnCause::Conflict,
                Evidence::Conflict(files.clone()),
            )),
            Stage::Prepared { commit, tree } => {
                let advance = MergeStep::Advance {
                    task,
                    into,
                    commit: commit.clone(),
                    target,
                };
                let Some(command) = situation.settings.verify.clone() else {
                    return Some(advance);
                };
                let retries = situation.settings.verify_retries;
                let tries = self.results.for_tree(tree, &command);
                Some(match self.results.judge(tries, &command, retries) {
                    TriedCheck::Open => {
                        let (task, commit, tree) =
                            (current.task.clone(), commit.clone(), tree.clone());
                        MergeStep::Verify {
                            task,
                            commit,
                            tree,
                            command,
                        }
                    }
                    TriedCheck::Green => advance,
                    // What is known to be flaky has had all its tries on the merged tree.
                    TriedCheck::Red
                        if retries > 0
                            && current.on_target.is_none()
                            && !self.results.is_flaky(&command) =>
                    {
                        MergeStep::VerifyTarget {
                            task: current.task.clone(),
                            commit: current.target.clone(),
                            command,
                        }
                    }
                    TriedCheck::Red => {
                        let tries = tries.map_or_else(Vec::new, |tries| tries.red().to_vec());
                        let evidence = Evidence::Check {
                            command,
                            tries,
                            on_target: current.on_target.clone(),
                        };
                        situation.give_back(current, ReturnCause::RunCheck, evidence)
                    }
                })
            }
        }
    }

    /// Returns the checks that have failed and passed on one tree, oldest first.
    pub fn flaky_checks(&self) -> &[FlakyCheck] {
        self.results.flaky()
    }

    /// Returns the task whose merge is in progress.
    pub fn current(&self) -> Option<&TaskId> {
        self.current.as_ref().map(|current| &current.task)
    }

    /// Returns the branch that the merge in progress is into.
    pub fn target(&self) -> Option<&MergeTarget> {
        self.current.as_ref().map(|current| &current.into)
    }
}

/// Work that may be merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The task.
    pub task: TaskId,
    /// The commit with the work.
    pub commit: Oid,
    /// The branch that it is merged into.
    pub into: MergeTarget,
    /// That branch's tip.
    pub target: Oid,
}

/// The parts of the run's state that the decision needs.
pub struct Situation<'a> {
    /// The frozen settings.
    pub settings: &'a RunSettings,
    /// The first work that may be merged.
    pub candidate: Option<Candidate>,
    /// The task whose merge is in progress.
    pub current: Option<&'a TaskRecord>,
}

impl Situation<'_> {
    fn give_back(&self, current: &Current, cause: ReturnCause, evidence: Evidence) -> MergeStep {
        let (task, onto) = (current.task.clone(), current.target.clone());
        let decided = self
            .current
            .map(|record| record.after_fault(cause, Some(&onto), self.settings.merge_rounds));
        match decided.unwrap_or(AfterFault::Return) {
            AfterFault::Return => MergeStep::Return {
                task,
                cause,
                onto,
                evidence,
            },
            AfterFault::GiveUp(end) => MergeStep::GiveUp {
                task,
                cause,
                end,
                evidence,
            },
        }
    }
}
