//! What became of one task: the fold of the facts about it.
//!
//! Nothing here is set by hand: every field follows from facts. Facts that cannot follow what happened before are
//! refused with a reason, at run time as at recovery. What concerns several tasks (order, messages, the merge in
//! progress, budgets) is in [`crate::run_state`] and [`crate::merge_queue`].

use std::collections::BTreeSet;

use serde::Serialize;

use crate::conversation::Usage;
use crate::event::{Event, FailureCause, ReturnCause, ToolOutcome, VerifyScope};
use crate::ids::{AgentId, BlobId, CallHash, CallId, Oid};
use crate::task::{Task, Work};
use crate::task_state::{EndCause, Reopening, TaskError, TaskState, Verify};

/// A merge that was written into an author's worktree; which files conflict follows from its two sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// The integration branch's tip of that moment.
    pub onto: Oid,
    /// The tip of the author's branch of that moment.
    pub tip: Oid,
}

/// A snapshot of a task's worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Counts the task's snapshots from 1.
    pub number: u32,
    /// Its tree.
    pub tree: Oid,
}

/// An attempt whose work the integration branch holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MergedAttempt {
    /// Its number.
    pub attempt: u32,
    /// The integration commit that brought it in.
    pub commit: Oid,
}

/// One task of a run and everything that happened to it.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskRecord {
    /// The task as planned.
    pub task: Task,
    /// The agent that spawned it.
    pub parent: Option<AgentId>,
    /// Where it stands.
    state: TaskState,
    /// Attempts begun.
    attempt: u32,
    /// The role that works on it.
    agent: Option<String>,
    /// The model that works on it.
    model: Option<String>,
    /// The branch's short name, once it has one.
    branch: Option<String>,
    /// The commit that the newest attempt started from.
    base: Option<Oid>,
    /// Whether the worktree stands and its setup has run.
    prepared: bool,
    /// Whether `onto` is merged into the worktree.
    base_merged: bool,
    /// What the first attempt's agent was made from.
    spec: Option<BlobId>,
    /// Where its branch stands, or has to stand once the ref has followed.
    tip: Option<Oid>,
    /// The commit that holds its finished work.
    commit: Option<Oid>,
    /// The tree of that commit.
    tree: Option<Oid>,
    /// The commit that was merged into its worktree and becomes the next commit's second parent.
    onto: Option<Oid>,
    /// The conflict that its author is mending, until the work is handed over.
    repair: Option<Repair>,
    /// What the newest check said.
    verify: Verify,
    /// How often its work came back in this attempt.
    rounds: u32,
    /// How often its work came back in all attempts.
    returns: u32,
    /// Whether a person has sent its work back, and nothing has been handed over since.
    rejection_stands: bool,
    /// Whether its author was told what the worktree lacks and nothing has been stored since: to end again confirms it.
    deletions_told: bool,
    /// Requests answered, across attempts.
    turns: u32,
    /// What it used, across attempts.
    usage: Usage,
    /// The newest snapshot.
    snapshot: Option<Snapshot>,
    /// What git cannot store of the newest snapshot that became its branch's tip.
    left_out: Vec<String>,
    /// Calls whose start is recorded and whose end is not.
    open_calls: BTreeSet<CallId>,
    /// The call that waits for a person.
    parked: Option<CallHash>,
    /// Whether a call was denied in this attempt.
    denied: bool,
    /// The tree that a person approved.
    approved: Option<Oid>,
    /// The agent's closing report.
    summary: String,
    /// Why it ended without success.
    error: Option<TaskError>,
    /// The attempts whose work the integration branch holds, oldest first: also what was rejected after it was merged.
    merged: Vec<MergedAttempt>,
    /// Whether something that it was built on has been rejected after it was merged.
    stale: bool,
    /// Whether the run's time was used up when it failed.
    out_of_time: bool,
    /// The last tool that it started, for the display.
    last_tool: Option<String>,
    /// Milliseconds for which the newest attempt was worked on before whoever works on it now began.
    worked_before_ms: u64,
    /// What [`crate::RunState::worked_ms`] was when somebody began to work on it, or `None` while nobody does.
    working_since: Option<u64>,
}

impl TaskRecord {
    /// Makes the record of a task that nothing has happened to.
    pub fn new(task: Task, parent: Option<AgentId>) -> Self {
        let state = if task.status.runs() { TaskState::Pending } else { TaskState::Cancelled };
        let state = if task.status == crate::task::TaskStatus::Done { TaskState::Merged } else { state };
        Self {
            task,
            parent,
            state,
            attempt: 0,
            agent: None,
            model: None,
            branch: None,
            base: None,
            prepared: false,
            base_merged: false,
            spec: None,
            tip: None,
            commit: None,
            tree: None,
            onto: None,
            repair: None,
            verify: Verify::None,
            rounds: 0,
            returns: 0,
            rejection_stands: false,
            deletions_told: false,
            turns: 0,
            usage: Usage::default(),
            snapshot: None,
            left_out: Vec::new(),
            open_calls: BTreeSet::new(),
            parked: None,
            denied: false,
            approved: None,
            summary: String::new(),
            error: None,
            merged: Vec::new(),
            stale: false,
            out_of_time: false,
            last_tool: None,
            worked_before_ms: 0,
            working_since: None,
        }
    }

    /// Returns where it stands.
    pub fn state(&self) -> TaskState {
        self.state
    }

    /// Returns how many attempts have begun.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Returns the role that works on it.
    pub fn agent(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    /// Returns the model that works on it.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Returns what the first attempt's agent was made from.
    pub fn spec(&self) -> Option<&BlobId> {
        self.spec.as_ref()
    }

    /// Returns the branch's short name, once it has one.
    pub fn branch(&self) -> Option<&str> {
        self.branch.as_deref()
    }

    /// Returns the commit that the newest attempt started from.
    pub fn base(&self) -> Option<&Oid> {
        self.base.as_ref()
    }

    /// Returns where its branch stands, or has to stand once the ref has followed.
    pub fn tip(&self) -> Option<&Oid> {
        self.tip.as_ref()
    }

    /// Reports whether the worktree stands and its setup has run.
    pub fn is_prepared(&self) -> bool {
        self.prepared
    }

    /// Returns the commit that was merged into its worktree and becomes the next commit's second parent.
    pub fn onto(&self) -> Option<&Oid> {
        self.onto.as_ref()
    }

    /// Returns what the work was returned onto, if that still has to be merged into the worktree.
    pub fn owed_merge(&self) -> Option<&Oid> {
        self.onto.as_ref().filter(|_| !self.base_merged)
    }

    /// Returns the conflict that its author is mending, until the work is handed over.
    pub fn repair(&self) -> Option<&Repair> {
        self.repair.as_ref()
    }

    /// Returns the commit that holds its finished work.
    pub fn commit(&self) -> Option<&Oid> {
        self.commit.as_ref()
    }

    /// Returns the tree of its finished work.
    pub fn tree(&self) -> Option<&Oid> {
        self.tree.as_ref()
    }

    /// Returns what the newest check said.
    pub fn verify(&self) -> Verify {
        self.verify
    }

    /// Reports whether its work is verified and of the very tree that a person approved.
    pub(crate) fn is_approved(&self) -> bool {
        self.approved.is_some() && self.approved == self.tree
    }

    /// Returns how often its work came back in this attempt.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// Returns how often its work came back in all attempts.
    pub fn returns(&self) -> u32 {
        self.returns
    }

    /// Reports whether a person has sent its work back, and nothing has been handed over since.
    pub fn rejection_stands(&self) -> bool {
        self.rejection_stands
    }

    /// Reports whether its author was told what the worktree lacks and nothing has been stored since: to end again
    /// confirms it.
    pub fn deletions_told(&self) -> bool {
        self.deletions_told
    }

    /// Reports whether a call was denied in this attempt.
    pub fn was_denied(&self) -> bool {
        self.denied
    }

    /// Returns how many requests were answered, across attempts.
    pub fn turns(&self) -> u32 {
        self.turns
    }

    /// Returns what it used, across attempts.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Returns the newest snapshot.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.snapshot.as_ref()
    }

    /// Returns what git cannot store of the newest snapshot that became its branch's tip.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Returns the calls whose start is recorded and whose end is not.
    pub fn open_calls(&self) -> &BTreeSet<CallId> {
        &self.open_calls
    }

    /// Returns the call that waits for a person.
    pub fn parked(&self) -> Option<&CallHash> {
        self.parked.as_ref()
    }

    /// Returns the last tool that it started, for the display.
    pub fn last_tool(&self) -> Option<&str> {
        self.last_tool.as_deref()
    }

    /// Returns the agent's closing report.
    pub fn summary(&self) -> &str {
        &self.summary
    }

    /// Returns why it ended without success.
    pub fn error(&self) -> Option<TaskError> {
        self.error.clone()
    }

    /// Returns the attempts whose work the integration branch holds, oldest first: also what was rejected after it was
    /// merged.
    pub fn merged(&self) -> &[MergedAttempt] {
        &self.merged
    }

    /// Reports whether something that it was built on has been rejected after it was merged.
    pub fn is_stale(&self) -> bool {
        self.stale
    }

    /// Keeps that something which it was built on has been rejected.
    pub(crate) fn mark_stale(&mut self) {
        self.stale = true;
    }

    /// Keeps what a check of the tree of its work said.
    pub(crate) fn count_check(&mut self, passed: bool) {
        self.verify = if passed { Verify::Passed } else { Verify::Failed };
    }

    /// Reports whether it failed when no time of the run was left.
    pub(crate) fn failed_out_of_time(&self) -> bool {
        self.state == TaskState::Failed && self.out_of_time
    }

    /// Keeps of a task that fails whether the run had any time left.
    pub(crate) fn note_time(&mut self, is_over: bool) {
        self.out_of_time = is_over;
    }

    /// Reports whether somebody is known to work on it.
    pub(crate) fn is_clocked(&self) -> bool {
        self.working_since.is_some()
    }

    /// Reports whether the plan's box said already that it is done.
    pub fn was_done(&self) -> bool {
        self.task.status == crate::task::TaskStatus::Done
    }

    /// Reports whether a shell command carries it out, without an agent.
    pub fn is_command(&self) -> bool {
        matches!(self.task.work, Work::Run(_))
    }

    /// Reports whether an agent or a command works on it, or its own check runs.
    pub(crate) fn is_at_work(&self) -> bool {
        matches!(self.state, TaskState::Running | TaskState::Committed)
    }

    /// Returns the milliseconds for which the newest attempt has been worked on, where the run itself has been for
    /// `now`.
    pub(crate) fn worked_ms(&self, now: u64) -> u64 {
        let since = self.working_since.map_or(0, |since| now.saturating_sub(since));
        self.worked_before_ms.saturating_add(since)
    }

    /// Follows whether somebody works on it, where the run itself has been worked on for `now` milliseconds.
    pub(crate) fn count_work(&mut self, now: u64) {
        self.worked_before_ms = self.worked_ms(now);
        self.working_since = self.is_at_work().then_some(now);
    }

    /// Reports whether a person may take a rejection back: its agent has left the work as it was, which stands on its
    /// branch, is nowhere merged and has passed its check. A command leaves nothing as it was, even if it makes the
    /// same commit again within a second; tried again it hands over what it makes.
    pub fn may_take_rejection_back(&self) -> bool {
        let is_unchanged =
            self.error.as_ref().is_some_and(|error| error.cause == EndCause::Failed(FailureCause::NoChanges));
        let is_standing =
            self.commit.is_some() && self.commit == self.tip && !self.is_command() && self.merged.is_empty();
        let is_green = self.verify == Verify::Passed || self.verify == Verify::None && self.task.verify.is_none();
        self.state == TaskState::Failed && self.rejection_stands && is_unchanged && is_standing && is_green
    }

    /// Reports whether a person may send its work back, for having seen it or to let it try again.
    pub(crate) fn may_be_returned(&self, cause: ReturnCause) -> bool {
        let reopening = self.state.reopening();
        match cause {
            ReturnCause::Rejected if self.attempt == 0 || self.state == TaskState::Cancelled => false,
            ReturnCause::Rejected => matches!(reopening, Reopening::Reject | Reopening::Retry),
            _ => reopening == Reopening::Retry,
        }
    }

    /// Reports whether its work was rejected after it had been merged, and nothing has replaced it.
    pub fn is_rejected_in_result(&self) -> bool {
        self.state != TaskState::Merged && !self.merged.is_empty()
    }

    /// Takes in a fact about this task; says why not if it cannot follow what happened before.
    pub(crate) fn apply(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::TaskReady { .. } => self.step(&[TaskState::Pending], TaskState::Ready),
            Event::AgentSpawned { attempt, agent, model, branch, base, spec, .. } => {
                self.step(&[TaskState::Ready], TaskState::Running)?;
                (self.attempt, self.agent, self.model) = (*attempt, agent.clone(), model.clone());
                self.branch = Some(branch.clone());
                self.spec = self.spec.take().or_else(|| spec.clone());
                self.worked_before_ms = 0;
                self.starts_from(base);
                Ok(())
            }
            Event::WorktreePrepared { onto, .. } => {
                self.require(&[TaskState::Running])?;
                match onto {
                    None => self.prepared = true,
                    Some(_) => self.base_merged = true,
                }
                Ok(())
            }
            Event::TurnStarted { .. }
            | Event::ContextCompacted { .. }
            | Event::BudgetWaited { .. }
            | Event::ModelRequested { .. } => self.require(&[TaskState::Running]),
            Event::WorktreeLost { .. } => {
                self.lose_worktree();
                Ok(())
            }
            Event::ModelFailed { .. } => Ok(()),
            Event::ModelReplied { turn, usage, .. } => {
                self.require(&[TaskState::Running])?;
                self.turns = *turn;
                self.usage.add(*usage);
                Ok(())
            }
            Event::SnapshotTaken { number, commit, tree, on_branch, left_out, .. } => {
                self.snapshot = Some(Snapshot { number: *number, tree: tree.clone() });
                if *on_branch {
                    self.tip = Some(commit.clone());
                    self.onto = None;
                    self.deletions_told = false;
                    self.left_out.clone_from(left_out);
                }
                Ok(())
            }
            Event::TaskReturned { cause, onto, .. } => self.returned(*cause, onto.clone()),
            _ => self.apply_call(event).unwrap_or_else(|| self.apply_outcome(event)),
        }
    }

    /// Facts about tool calls, or `None` if the fact is another.
    fn apply_call(&mut self, event: &Event) -> Option<Result<(), String>> {
        Some(match event {
            Event::ToolStarted { call_id, tool, .. } => self.require(&[TaskState::Running]).map(|()| {
                self.last_tool = Some(tool.clone());
                self.open_calls.insert(call_id.clone());
                // A command is run again in a clean worktree only, and from here on it is not clean.
                self.prepared &= !self.is_command();
            }),
            Event::ToolFinished { call_id, outcome, .. } => {
                self.open_calls.remove(call_id);
                self.denied |= *outcome == ToolOutcome::Denied;
                Ok(())
            }
            Event::ApprovalRequested { call, .. } => {
                self.step(&[TaskState::Running], TaskState::Waiting).map(|()| self.parked = Some(call.clone()))
            }
            _ => return None,
        })
    }

    /// Facts about what became of the work.
    fn apply_outcome(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::TaskCommitted { commit, tree, summary, .. } => {
                self.committed(commit, tree)?;
                self.summary.clone_from(summary);
                Ok(())
            }
            Event::VerifyFinished { scope, passed, .. } => {
                if *scope == VerifyScope::Task && *passed {
                    self.step(&[TaskState::Committed], TaskState::Verified)?;
                }
                self.verify = if *passed { Verify::Passed } else { Verify::Failed };
                Ok(())
            }
            Event::VerifyStarted { .. } => Ok(()),
            Event::ReviewRequested { .. } => self.step(&[TaskState::Verified], TaskState::AwaitingReview),
            Event::ReviewApproved { tree, .. } => {
                if !self.may_take_rejection_back() {
                    self.require(&[TaskState::AwaitingReview, TaskState::Verified])?;
                }
                (self.approved, self.error, self.rejection_stands) = (Some(tree.clone()), None, false);
                self.state = TaskState::Verified;
                Ok(())
            }
            Event::TaskMerged { commit, summary, .. } => {
                let from = if commit.is_some() { TaskState::Verified } else { TaskState::Running };
                self.step(&[from], TaskState::Merged)?;
                self.stale = false;
                if let Some(commit) = commit {
                    self.merged.push(MergedAttempt { attempt: self.attempt, commit: commit.clone() });
                } else {
                    // What an earlier attempt has committed is in the result only if it was merged.
                    let standing = self.merged.last().map(|earlier| earlier.commit.clone());
                    (self.commit, self.tree, self.verify) = (standing, None, Verify::None);
                }
                if let Some(summary) = summary {
                    self.summary.clone_from(summary);
                }
                Ok(())
            }
            Event::TaskFailed { cause, message, .. } => {
                self.ended(TaskState::Failed, EndCause::Failed(*cause), message)
            }
            Event::TaskConflicted { cause, message, .. } => {
                let cause = match cause {
                    ReturnCause::RunCheck | ReturnCause::TaskCheck => EndCause::Failed(FailureCause::Check),
                    _ => EndCause::Conflict,
                };
                self.ended(TaskState::Conflicted, cause, message)
            }
            Event::TaskCancelled { message, .. } => self.ended(TaskState::Cancelled, EndCause::Cancelled, message),
            // A journal of before may tell it twice; it is the same.
            Event::TaskSkipped { .. } if self.state == TaskState::Skipped => Ok(()),
            Event::TaskSkipped { because, .. } => {
                self.ended(TaskState::Skipped, EndCause::Dependency, &format!("{because} did not succeed"))
            }
            _ => Ok(()),
        }
    }

    /// A new base moves the branch there; the same base leaves the branch where it is, so that an agent goes on from
    /// its own work. A command has none: it begins anew.
    fn starts_from(&mut self, base: &Oid) {
        if self.base.as_ref() != Some(base) || self.is_command() {
            self.base = Some(base.clone());
            self.tip = Some(base.clone());
            (self.onto, self.repair) = (None, None);
            self.lose_worktree();
        }
    }

    /// The worktree has to be set up again, and to be merged into again.
    pub(crate) fn lose_worktree(&mut self) {
        (self.prepared, self.base_merged) = (false, false);
    }

    fn committed(&mut self, commit: &Oid, tree: &Oid) -> Result<(), String> {
        self.require(&[TaskState::Running])?;
        (self.commit, self.tree) = (Some(commit.clone()), Some(tree.clone()));
        (self.approved, self.repair) = (None, None);
        self.rejection_stands = false;
        self.verify = Verify::None;
        self.state = if self.task.verify.is_some() { TaskState::Committed } else { TaskState::Verified };
        Ok(())
    }

    fn returned(&mut self, cause: ReturnCause, onto: Option<Oid>) -> Result<(), String> {
        if matches!(self.state, TaskState::Pending | TaskState::Ready | TaskState::Skipped) {
            return Err(format!("work came back of a task that is {}", self.state.as_str()));
        }
        self.returns += 1;
        self.deletions_told |= cause == ReturnCause::Deletions;
        self.error = None;
        self.parked = None;
        // Calls that the end of an attempt left open have no end of their own any more.
        self.open_calls.clear();
        if let (Some(onto), Some(tip), false) = (onto, &self.tip, self.is_command()) {
            // It has to be merged into the worktree before the agent goes on; without one, a repair goes on as it is.
            self.repair = Some(Repair { onto: onto.clone(), tip: tip.clone() });
            (self.onto, self.base_merged) = (Some(onto), false);
        }
        if cause.is_new_attempt() {
            self.rounds = 0;
            self.denied = false;
            // An agent has to make something else of it, however often; who tries a command again wants what it makes.
            self.rejection_stands = cause == ReturnCause::Rejected || self.rejection_stands && !self.is_command();
            self.deletions_told = false;
            self.state = TaskState::Ready;
            return Ok(());
        }
        self.rounds += 1;
        if self.is_command() {
            // A command cannot mend anything: it is run again from the integration branch's tip.
            self.state = TaskState::Ready;
        } else {
            self.state = TaskState::Running;
        }
        Ok(())
    }

    fn ended(&mut self, state: TaskState, cause: EndCause, message: &str) -> Result<(), String> {
        if self.state.is_settled() {
            return Err(format!("it is {} already", self.state.as_str()));
        }
        self.state = state;
        self.parked = None;
        self.error = Some(TaskError { cause, message: message.to_owned() });
        Ok(())
    }

    /// Lets a skipped task wait again for what it depends on.
    pub(crate) fn wait_again(&mut self) {
        self.error = None;
        self.state = TaskState::Pending;
    }

    /// Reopens the task if this is the call that it waits for.
    pub(crate) fn unpark(&mut self, decided: &CallHash) {
        if self.parked.as_ref() == Some(decided) && self.state == TaskState::Waiting {
            self.parked = None;
            self.state = TaskState::Running;
        }
    }

    fn require(&self, allowed: &[TaskState]) -> Result<(), String> {
        if allowed.contains(&self.state) { Ok(()) } else { Err(format!("it is {}", self.state.as_str())) }
    }

    fn step(&mut self, from: &[TaskState], to: TaskState) -> Result<(), String> {
        self.require(from)?;
        self.state = to;
        Ok(())
    }
}
