//! A task with at least one attempt: the data that later attempts continue from.

use std::collections::BTreeSet;
use std::mem;

use serde::{Deserialize, Serialize};

use super::branch::{Branch, Snapshot};
use super::review::Review;
use super::stage::{End, Stage, Work};
use crate::agent::ReachedLimit;
use crate::agent::conversation::Usage;
use crate::agent::price::Cost;
use crate::event::{Event, Extent, Illegal, MergeTarget, VerifyScope};
use crate::ids::{BlobId, CallId, Oid};
use crate::record::check_receipt::CheckReceipts;
use crate::task::{ComparedWork, FailureCause, ReturnCause, Task, TaskState, Verify};

/// A time in which the model of an agent does not answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outage {
    /// When it was noticed, in Unix milliseconds.
    pub since_ms: u64,
    /// Why the request failed.
    pub error: String,
    /// The agent's request number.
    pub turn: u32,
}

/// A model that took over from another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TakeOver {
    /// `provider/model` of the one before.
    pub from: String,
    /// `provider/model` that took over.
    pub model: String,
    /// The agent's first request that it got.
    pub turn: u32,
    /// Why the request to the one before failed.
    pub error: String,
}

/// An attempt whose work was merged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergedAttempt {
    /// Its number.
    pub attempt: u32,
    /// The branch that it was merged into.
    #[serde(default, skip_serializing_if = "MergeTarget::is_integration")]
    pub into: MergeTarget,
    /// The commit on that branch that merged it.
    pub commit: Oid,
    /// The commit with its work, which was merged.
    pub work: Oid,
}

/// The data of a task since its first attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Started {
    /// The newest attempt.
    pub(super) attempt: Attempt,
    /// The specification of the first attempt's agent.
    pub(super) spec: Option<BlobId>,
    /// The branch and the worktree.
    pub(super) branch: Branch,
    /// The task's stage.
    pub(super) stage: Stage,
    /// The work that was handed over before, if the stage has none.
    earlier: Option<Work>,
    /// The attempts whose work was merged, oldest first, including work rejected after that.
    pub(super) merged: Vec<MergedAttempt>,
    /// Whether its work was rejected and nothing has been handed over since.
    pub(super) rejection_stands: bool,
    /// Requests answered, across attempts.
    pub(super) turns: u32,
    /// The choices of a person about its work.
    #[serde(default)]
    pub(super) chosen: Chosen,
    /// Tokens used, across attempts.
    pub(super) usage: Usage,
    /// What they cost, with what those may have cost that were cut off.
    pub(super) cost: Cost,
    /// The extent of the newest request, across attempts; the next one refers to it.
    requested: Option<Extent>,
    /// The request whose end is not recorded.
    pub(super) asked: Option<Asked>,
    /// How many of its calls were answered with a stored result, across attempts.
    pub(super) replayed_calls: u64,
    /// The processor time of its commands in milliseconds, across attempts.
    pub(super) command_cpu_ms: u64,
    /// The last tool that it started, for the display.
    pub(super) last_tool: Option<String>,
    /// The agent's final report.
    pub(super) summary: String,
    /// The work that it was shown and its decision, if it reviews other tasks.
    pub(super) review: Review,
    /// The checks of its work.
    pub(super) checks: CheckReceipts,
    /// The changes of its work, as they were compared last.
    pub(super) compared: Option<ComparedWork>,
}

/// The newest attempt at a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Attempt {
    /// Its number, from 1.
    pub(super) number: u32,
    /// The role that works on it.
    pub(super) agent: Option<String>,
    /// The model that works on it.
    pub(super) model: Option<String>,
    /// Counters of the attempt.
    pub(super) tally: Tally,
    /// The time worked on it.
    pub(super) clock: Clock,
    /// The outage that its agent waits for, while the clock stands still.
    pub(super) outage: Option<Outage>,
    /// The model that took over last.
    pub(super) take_over: Option<TakeOver>,
}

/// A request whose end is not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Asked {
    /// Its number.
    pub(super) turn: u32,
    /// The maximum that it can use, in tokens.
    pub(super) tokens: u64,
    /// The maximum that it can cost, in micro-dollars; `None` if the price is not known.
    pub(super) micro_usd: Option<u64>,
}

/// Counters of an attempt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Tally {
    /// How often the work was returned.
    pub(super) rounds: u32,
    /// Whether a call was denied.
    pub(super) denied: bool,
    /// The limit that the agent has reached, and whether its last request was sent.
    pub(super) report: Option<LastReport>,
    /// Whether the agent was told which files are missing and nothing has been stored since: ending
    /// again then confirms the deletion.
    pub(super) deletions_told: bool,
    /// Whether the agent had finished before its children, and was not told yet what has become of
    /// them.
    pub(super) awaits_children: bool,
}

/// The report of an agent that has reached a limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct LastReport {
    /// The limit.
    pub(super) limit: ReachedLimit,
    /// Whether the last request was sent.
    pub(super) asked: bool,
}

/// The time worked on an attempt, measured in the run's own working time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Clock {
    /// Milliseconds before the current worker began.
    before_ms: u64,
    /// The value of [`crate::RunState::worked_ms`] when it began, or `None` while no worker is
    /// active.
    since: Option<u64>,
}

impl Clock {
    /// Reports whether the clock is running.
    pub(super) fn runs(&self) -> bool {
        self.since.is_some()
    }

    /// Returns the milliseconds so far, if `now` milliseconds have been worked on the run.
    pub(super) fn worked_ms(&self, now: u64) -> u64 {
        let since = self.since.map_or(0, |since| now.saturating_sub(since));
        self.before_ms.saturating_add(since)
    }

    /// Starts or stops the clock.
    pub(super) fn set(&mut self, now: u64, runs: bool) {
        self.before_ms = self.worked_ms(now);
        self.since = runs.then_some(now);
    }
}

impl Attempt {
    /// Makes another model the one that works on it.
    fn switched(&mut self, to: TakeOver) {
        self.model = Some(to.model.clone());
        self.take_over = Some(to);
    }
}

impl Started {
    /// Starts the first attempt.
    pub(super) fn new(attempt: Attempt, spec: Option<BlobId>, branch: Branch) -> Self {
        Self {
            attempt,
            spec,
            branch,
            stage: Stage::running(),
            earlier: None,
            merged: Vec::new(),
            rejection_stands: false,
            turns: 0,
            chosen: Chosen::default(),
            usage: Usage::default(),
            cost: Cost::default(),
            requested: None,
            asked: None,
            replayed_calls: 0,
            command_cpu_ms: 0,
            last_tool: None,
            summary: String::new(),
            review: Review::default(),
            checks: CheckReceipts::default(),
            compared: None,
        }
    }

    /// Starts another attempt. A new base moves the branch there; with the same base the branch
    /// stays, so that an agent continues from its own work. A command starts afresh instead.
    pub(super) fn again(
        &mut self,
        attempt: Attempt,
        spec: Option<BlobId>,
        branch: Branch,
        task: &Task,
    ) {
        self.attempt = Attempt {
            tally: mem::take(&mut self.attempt.tally),
            ..attempt
        };
        self.spec = self.spec.take().or(spec);
        self.branch.name = branch.name;
        if self.branch.base != branch.base || task.is_command() {
            self.branch.restart(&branch.base);
        }
        self.enter(Stage::running());
    }

    /// Returns the newest work that was handed over.
    pub(super) fn work(&self) -> Option<&Work> {
        self.stage.work().or(self.earlier.as_ref())
    }

    /// Enters a stage without handed-over work, keeping the earlier work.
    pub(super) fn enter(&mut self, stage: Stage) {
        let left = mem::replace(&mut self.stage, stage);
        if let Some(work) = left.into_work() {
            self.earlier = Some(work);
        }
    }

    /// Enters a stage with the work handed over now or earlier.
    fn hand_on(&mut self, to: impl FnOnce(Work) -> Stage) -> Result<(), Illegal> {
        let Some(work) = self.work().cloned() else {
            return Err(Illegal::NoWork);
        };
        self.earlier = None;
        self.stage = to(work);
        Ok(())
    }

    /// Records the result of checking the newest work.
    pub(super) fn count_check(&mut self, passed: bool) {
        let work = self.stage.work_mut().or(self.earlier.as_mut());
        if let Some(work) = work {
            work.verify = if passed {
                Verify::Passed
            } else {
                Verify::Failed
            };
        }
    }

    /// Applies an event of an attempt, or about its work; fails with the reason if it is not valid
    /// in the current state.
    pub(super) fn apply(&mut self, seq: u64, event: &Event, task: &Task) -> Result<(), Illegal> {
        match event {
            Event::WorktreePrepared { onto, .. } => {
                self.require_running()?;
                self.branch.prepared(onto.as_ref());
                Ok(())
            }
            Event::MapMade { .. }
            | Event::TurnStarted { .. }
            | Event::ContextCompacted { .. }
            | Event::BudgetWaited { .. }
            | Event::ModelWaiting { .. } => self.require_running(),
            Event::ModelRequested { .. }
            | Event::ModelReplied { .. }
            | Event::ModelCut { .. }
            | Event::ModelSwitched { .. }
            | Event::ModelFailed { .. }
            | Event::SearchRequested(_)
            | Event::SearchEnded(_) => self.apply_request(seq, event),
            Event::WorktreeRemoved { .. } => {
                self.branch.lose_worktree();
                Ok(())
            }
            Event::SnapshotTaken {
                number,
                commit,
                tree,
                on_branch,
                replaced,
                left_out,
                aside,
                ..
            } => {
                self.branch.snapshot = Some(Snapshot {
                    number: *number,
                    tree: tree.clone(),
                });
                if *on_branch {
                    self.branch.advance(commit, left_out, aside);
                    self.attempt.tally.deletions_told = false;
                } else if !replaced {
                    self.branch.keep(commit, aside);
                }
                Ok(())
            }
            Event::ToolStarted { .. } | Event::ToolFinished { .. } => self.apply_call(event, task),
            // It may be recorded after the end of a call that was interrupted.
            Event::EgressDecided(_) => Ok(()),
            _ if event.is_of_wait() => self.apply_wait(event),
            Event::ReportDue(_) | Event::ReportGiven(_) | Event::WorkCompared(_) => {
                self.apply_report(event)
            }
            _ => self.apply_outcome(event, task),
        }
    }

    /// Applies an event of a request to a model.
    fn apply_request(&mut self, seq: u64, event: &Event) -> Result<(), Illegal> {
        match event {
            Event::ModelRequested {
                turn,
                parts,
                reserved_tokens,
                reserved_micro_usd,
                ..
            } => {
                self.require_running()?;
                self.require_request_allowed()?;
                self.requested = Some(Extent::follow(self.requested, seq, parts)?);
                self.note_last_request();
                // While no model answers, the same request is sent to each of them in turn.
                self.attempt.outage.take_if(|outage| outage.turn != *turn);
                self.asked = Some(Asked {
                    turn: *turn,
                    tokens: *reserved_tokens,
                    micro_usd: *reserved_micro_usd,
                });
                Ok(())
            }
            Event::SearchRequested(of) => {
                self.require_running()?;
                self.asked = Some(Asked {
                    turn: of.turn,
                    tokens: of.reserved_tokens,
                    micro_usd: of.reserved_micro_usd,
                });
                Ok(())
            }
            Event::SearchEnded(ended) => {
                // One that was counted as cut off is not counted again.
                if self.asked.take().is_some() {
                    self.usage.add(ended.usage);
                    self.cost.add(ended.micro_usd);
                }
                Ok(())
            }
            Event::ModelCut { micro_usd, .. } => {
                self.asked = None;
                self.cost.add(*micro_usd);
                Ok(())
            }
            Event::ModelSwitched {
                turn,
                from,
                to,
                error,
                ..
            } => {
                self.require_running()?;
                self.asked = None;
                self.attempt.switched(TakeOver {
                    from: from.clone(),
                    model: to.clone(),
                    turn: *turn,
                    error: error.clone(),
                });
                Ok(())
            }
            Event::ModelFailed { .. } => {
                (self.attempt.outage, self.asked) = (None, None);
                Ok(())
            }
            Event::ModelReplied {
                turn,
                usage,
                micro_usd,
                ..
            } => {
                self.require_running()?;
                self.attempt.outage = None;
                self.asked = None;
                self.turns = *turn;
                self.usage.add(*usage);
                self.cost.add(*micro_usd);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Applies events about the outcome of the work.
    fn apply_outcome(&mut self, event: &Event, task: &Task) -> Result<(), Illegal> {
        match event {
            Event::TaskCommitted {
                commit,
                tree,
                summary,
                ..
            } => {
                self.require_running()?;
                let work = Work {
                    commit: commit.clone(),
                    tree: tree.clone(),
                    verify: Verify::None,
                };
                self.committed(work, task);
                self.summary.clone_from(summary);
                Ok(())
            }
            Event::WorkAdopted(adopted) => self.adopt(adopted, task),
            // Nothing of it was checked.
            Event::VerifyFinished {
                scope: VerifyScope::Target,
                ..
            } => Ok(()),
            Event::VerifyFinished { scope, passed, .. } => {
                if *scope == VerifyScope::Task && *passed {
                    self.require(&[TaskState::Committed])?;
                    let approved = self.chosen.approved.take();
                    self.hand_on(|work| Stage::Verified {
                        is_approved: approved.as_ref() == Some(&work.tree),
                        work,
                    })?;
                }
                self.count_check(*passed);
                Ok(())
            }
            Event::ReviewRequested { .. } => {
                self.require(&[TaskState::Verified])?;
                self.hand_on(Stage::AwaitingReview)
            }
            Event::ReviewApproved { tree, .. } => {
                let takes_back = self.may_take_rejection_back(task);
                if !takes_back {
                    self.require(&[TaskState::AwaitingReview, TaskState::Verified])?;
                }
                let is_merged = takes_back && self.is_work_merged();
                self.hand_on(|work| match is_merged {
                    true => Stage::Merged(Some(work)),
                    false => Stage::Verified {
                        is_approved: work.tree == *tree,
                        work,
                    },
                })?;
                self.rejection_stands = false;
                Ok(())
            }
            Event::TaskMerged {
                commit, summary, ..
            } => {
                self.merged(commit.as_ref())?;
                if let Some(summary) = summary {
                    self.summary.clone_from(summary);
                }
                Ok(())
            }
            _ => self.apply_review(event),
        }
    }

    /// Makes work the finished work, which is checked next.
    pub(super) fn committed(&mut self, work: Work, task: &Task) {
        self.branch.repair = None;
        self.rejection_stands = false;
        self.earlier = None;
        self.stage = match task.verify {
            Some(_) => Stage::Committed(work),
            None => Stage::Verified {
                work,
                is_approved: false,
            },
        };
    }

    fn merged(&mut self, commit: Option<&Oid>) -> Result<(), Illegal> {
        let Some(commit) = commit else {
            self.require_running()?;
            self.review.conclude();
            self.end_without_work(Stage::Merged(None));
            return Ok(());
        };
        self.require(&[TaskState::Verified])?;
        let Some(work) = self.work().map(|work| work.commit.clone()) else {
            return Err(Illegal::NoWork);
        };
        self.hand_on(|work| Stage::Merged(Some(work)))?;
        let into = MergeTarget::Integration;
        self.merged.push(MergedAttempt {
            attempt: self.attempt.number,
            into,
            commit: commit.clone(),
            work,
        });
        Ok(())
    }

    /// Enters a final stage without work: what an earlier attempt committed is in the result only
    /// if it was merged.
    pub(super) fn end_without_work(&mut self, stage: Stage) {
        (self.earlier, self.stage) = (None, stage);
    }

    /// Applies a return of the work.
    pub(super) fn returned(
        &mut self,
        cause: ReturnCause,
        onto: Option<&Oid>,
        task: &Task,
    ) -> Result<(), Illegal> {
        if self.stage == Stage::Ready {
            return Err(Illegal::NothingToReturn(TaskState::Ready));
        }
        // The commit must be merged into the worktree before the agent continues; without one, a
        // repair continues unchanged.
        if let Some(onto) = onto.filter(|_| !task.is_command()) {
            self.branch.return_onto(onto);
        }
        self.review.returned(cause);
        // Calls that the previous attempt left open will never end.
        if cause.is_new_attempt() {
            self.attempt.tally = Tally::default();
            // An agent has to change rejected work, however often; a command is retried for its new
            // output.
            self.rejection_stands =
                cause == ReturnCause::Rejected || self.rejection_stands && !task.is_command();
            let is_part =
                cause == ReturnCause::Rest || self.chosen.is_part && cause == ReturnCause::Retried;
            self.chosen = Chosen {
                is_part,
                ..Chosen::default()
            };
            self.enter(Stage::Ready);
            return Ok(());
        }
        let tally = &mut self.attempt.tally;
        tally.deletions_told |= cause == ReturnCause::Deletions;
        tally.awaits_children &= cause != ReturnCause::ChildrenEnded;
        tally.rounds += u32::from(cause.is_fault());
        // A person has not chosen what the agent makes of it now.
        self.chosen.approved = None;
        // A command cannot fix anything: it is rerun from the integration branch's tip.
        self.enter(if task.is_command() {
            Stage::Ready
        } else {
            Stage::running()
        });
        Ok(())
    }

    /// Applies the end of a task that did not succeed.
    pub(super) fn ended(&mut self, event: &Event) -> Result<(), Illegal> {
        if self.stage.state().is_settled() {
            return Err(Illegal::Ended(self.stage.state()));
        }
        let stage = match event {
            Event::TaskConflicted { cause, message, .. } => Stage::Conflicted {
                cause: *cause,
                message: message.clone(),
            },
            Event::TaskSkipped { because, .. } if self.stage == Stage::Pending => Stage::Skipped {
                because: because.clone(),
            },
            other => Stage::Ended(End::from_event(other).ok_or_else(|| self.refusal())?),
        };
        self.enter(stage);
        Ok(())
    }

    /// Ends the task without any work; its branch stays.
    pub(super) fn drop_work(&mut self) {
        self.merged.clear();
        self.rejection_stands = false;
        self.review = Review::default();
        self.enter(Stage::Ended(End::Dropped));
        self.earlier = None;
    }

    /// Reports whether the work was dropped, and there is no new attempt.
    pub(super) fn is_dropped(&self) -> bool {
        matches!(self.stage, Stage::Ended(End::Dropped))
    }

    /// Reports whether a rejection may be withdrawn.
    pub(super) fn may_take_rejection_back(&self, task: &Task) -> bool {
        let is_unchanged = matches!(
            self.stage,
            Stage::Ended(End::Failed {
                cause: FailureCause::NoChanges,
                ..
            })
        );
        let is_green = match self.work() {
            Some(work) if work.commit == self.branch.tip => match work.verify {
                Verify::Passed => true,
                Verify::Failed => false,
                Verify::None => task.verify.is_none(),
            },
            _ => false,
        };
        let is_kept = self.is_work_merged() || is_green && self.merged.is_empty();
        self.rejection_stands && is_unchanged && !task.is_command() && is_kept
    }

    /// Reports whether the newest work that was handed over is the one that was merged last.
    fn is_work_merged(&self) -> bool {
        let newest = self.work().map(|work| &work.commit);
        newest.is_some() && self.merged.last().map(|merged| &merged.work) == newest
    }

    /// Returns the open calls of a working agent.
    pub(super) fn running(&mut self) -> Result<&mut BTreeSet<CallId>, Illegal> {
        self.require_running()?;
        let refusal = self.refusal();
        self.stage.open_calls_mut().ok_or(refusal)
    }

    pub(super) fn require_running(&self) -> Result<(), Illegal> {
        self.require(&[TaskState::Running])
    }

    pub(super) fn require(&self, allowed: &[TaskState]) -> Result<(), Illegal> {
        if allowed.contains(&self.stage.state()) {
            Ok(())
        } else {
            Err(self.refusal())
        }
    }

    pub(super) fn refusal(&self) -> Illegal {
        Illegal::State(self.stage.state())
    }
}

/// What a person has chosen of a task's work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Chosen {
    /// The tree that was approved before its check.
    pub(super) approved: Option<Oid>,
    /// The message with which the rest is returned to the agent once this is merged.
    pub(super) rest: Option<BlobId>,
    /// Whether a part was merged, and the agent works on the rest.
    pub(super) is_part: bool,
}
