//! The record of one task: the fold of its events.
//!
//! Nothing here is set by hand: everything follows from events. Events that are not valid in the
//! current state are refused with a reason, at run time as at recovery. Data that exists only in
//! some states is part of these states, so that no other can have it. Everything that concerns
//! several tasks (order, messages, the merge in progress, budgets) is in [`crate::run`] and
//! [`crate::run::merge_queue`].

mod adopted;
mod branch;
mod calls;
mod last_report;
mod review;
mod review_events;
mod stage;
mod started;
mod stored_work;
mod waits;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::agent::ReachedLimit;
use crate::agent::conversation::Usage;
use crate::agent::price::Cost;
use crate::event::{EndedWait, Event, Illegal, MergeTarget, SpawnRecord, StopRequest, Wait};
use crate::ids::{AgentId, BlobId, CallHash, CallId, Oid, TaskId};
use crate::record::check_receipt::CheckReceipt;
use crate::task::{
    ChangedPath, ComparedWork, Reopening, ReturnCause, Task, TaskError, TaskState, Verify,
};

use self::branch::{Branch, Worktree};
use self::stage::{End, Stage, Unstarted};
use self::started::{Attempt, Clock, Started, Tally};

pub use self::branch::{Repair, Snapshot};
pub use self::started::{MergedAttempt, Outage, TakeOver};

/// One task of a run and everything that happened to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// The task as planned.
    pub task: Task,
    /// The agent that spawned it.
    pub parent: Option<AgentId>,
    /// How it began as a child; `None` for a task of the plan, and in older journals.
    pub spawn: Option<Arc<SpawnRecord>>,
    /// Who asked for its end, which is then the next thing that happens to it, until it has ended.
    stop: Option<StopRequest>,
    /// How often its work was returned in all attempts.
    returns: u32,
    /// The work that it was built on and that was rejected after it was merged: the tasks and their
    /// attempts.
    stale_by: BTreeSet<(TaskId, u32)>,
    /// The task's progress.
    life: Life,
}

/// The progress of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Life {
    /// No attempt has begun.
    Unstarted(Unstarted),
    /// An attempt has begun.
    Started(Box<Started>),
}

impl TaskRecord {
    /// Creates the record of a task that has not started.
    pub fn new(task: Task, parent: Option<AgentId>) -> Self {
        let life = Life::Unstarted(Unstarted::of_box(task.status));
        Self {
            task,
            parent,
            spawn: None,
            stop: None,
            returns: 0,
            stale_by: BTreeSet::new(),
            life,
        }
    }

    /// Creates the record of a child that has not started.
    pub(crate) fn of_child(task: Task, parent: Option<AgentId>, spawn: SpawnRecord) -> Self {
        Self {
            spawn: Some(Arc::new(spawn)),
            ..Self::new(task, parent)
        }
    }

    fn started(&self) -> Option<&Started> {
        match &self.life {
            Life::Unstarted(_) => None,
            Life::Started(started) => Some(started),
        }
    }

    fn started_mut(&mut self) -> Option<&mut Started> {
        match &mut self.life {
            Life::Unstarted(_) => None,
            Life::Started(started) => Some(started),
        }
    }

    fn attempted(&self) -> Option<&Attempt> {
        self.started().map(|started| &started.attempt)
    }

    fn tally(&self) -> Option<&Tally> {
        self.attempted().map(|attempt| &attempt.tally)
    }

    fn branched(&self) -> Option<&Branch> {
        self.started().map(|started| &started.branch)
    }

    /// Returns the task's state.
    pub fn state(&self) -> TaskState {
        match &self.life {
            Life::Unstarted(unstarted) => unstarted.state(),
            Life::Started(started) => started.stage.state(),
        }
    }

    /// Returns why the task did not succeed.
    pub fn error(&self) -> Option<TaskError> {
        match &self.life {
            Life::Unstarted(unstarted) => unstarted.error(),
            Life::Started(started) => started.stage.error(),
        }
    }

    /// Returns how many attempts have begun.
    pub fn attempt(&self) -> u32 {
        self.attempted().map_or(0, |attempt| attempt.number)
    }

    /// Returns the role that works on it.
    pub fn agent(&self) -> Option<&str> {
        self.attempted()?.agent.as_deref()
    }

    /// Returns the model that works on it.
    pub fn model(&self) -> Option<&str> {
        self.attempted()?.model.as_deref()
    }

    /// Returns the specification of the first attempt's agent.
    pub fn spec(&self) -> Option<&BlobId> {
        self.started()?.spec.as_ref()
    }

    /// Returns the branch's short name, once it has one.
    pub fn branch(&self) -> Option<&str> {
        self.branched().map(|branch| branch.name.as_str())
    }

    /// Returns the commit that the newest attempt started from.
    pub fn base(&self) -> Option<&Oid> {
        self.branched().map(|branch| &branch.base)
    }

    /// Returns the commit that a child's first attempt starts from; `None` for the run's result,
    /// and afterwards.
    pub fn first_base(&self) -> Option<&Oid> {
        self.spawn
            .as_ref()
            .filter(|_| self.attempt() == 0)?
            .base
            .as_ref()
    }

    /// Returns the tip of its branch; the ref may still have to follow.
    pub fn tip(&self) -> Option<&Oid> {
        self.branched().map(|branch| &branch.tip)
    }

    /// Reports whether the worktree exists and its setup has run.
    pub fn is_prepared(&self) -> bool {
        self.branched()
            .is_some_and(|branch| branch.worktree != Worktree::Missing)
    }

    /// Returns the commit that is merged into its worktree and becomes the next commit's second
    /// parent.
    pub fn onto(&self) -> Option<&Oid> {
        self.branched()?.onto.as_ref()
    }

    /// Returns the commit that the work was returned onto, if it still has to be merged into the
    /// worktree.
    pub fn owed_merge(&self) -> Option<&Oid> {
        self.branched()?.owed_merge()
    }

    /// Returns the commit whose files the worktree still has, although work has been merged into
    /// the branch since.
    pub fn behind(&self) -> Option<&Oid> {
        self.branched()?.behind.as_ref()
    }

    /// Reports whether the work of agents that it spawned was merged into its branch.
    pub fn has_childrens_work(&self) -> bool {
        self.branched()
            .is_some_and(|branch| branch.has_childrens_work)
    }

    /// Reports whether its agent had finished before its children, and was not told yet what has
    /// become of them.
    pub(crate) fn awaits_children(&self) -> bool {
        self.tally().is_some_and(|tally| tally.awaits_children)
    }

    /// Returns the conflict that its agent is resolving, until the work is handed over.
    pub fn repair(&self) -> Option<&Repair> {
        self.branched()?.repair.as_ref()
    }

    /// Returns the paths that git could not store in the newest snapshot that became the branch's
    /// tip.
    pub fn left_out(&self) -> &[String] {
        self.branched().map_or(&[], |branch| &branch.left_out)
    }

    /// Returns the commit with its finished work; for a report, what an earlier attempt contributed
    /// to the result.
    pub fn commit(&self) -> Option<&Oid> {
        let started = self.started()?;
        let own = started.work().map(|work| &work.commit);
        own.or_else(|| started.merged.last().map(|earlier| &earlier.commit))
    }

    /// Returns the tree of its finished work.
    pub fn tree(&self) -> Option<&Oid> {
        self.started()?.work().map(|work| &work.tree)
    }

    /// Returns the commit with its newest work, finished or not: a snapshot may be newer than the
    /// branch's tip.
    pub fn newest_work(&self) -> Option<&Oid> {
        let finished = self.commit().filter(|_| self.state().is_handed_over());
        finished.or_else(|| self.kept()).or_else(|| self.tip())
    }

    /// Returns the result of the newest check of its finished work.
    pub fn verify(&self) -> Verify {
        self.started()
            .and_then(Started::work)
            .map_or(Verify::None, |work| work.verify)
    }

    /// Returns the commit of verified work that may be merged: that a person approved, or that
    /// needs no review.
    pub(crate) fn candidate(&self, needs_review: bool) -> Option<&Oid> {
        match &self.started()?.stage {
            Stage::Verified { work, is_approved } if *is_approved || !needs_review => {
                Some(&work.commit)
            }
            _ => None,
        }
    }

    /// Returns the agent's final report.
    pub fn summary(&self) -> &str {
        self.started().map_or("", |started| &started.summary)
    }

    /// Returns the attempts whose work was merged, oldest first, including work rejected after
    /// that.
    pub fn merged(&self) -> &[MergedAttempt] {
        self.started().map_or(&[], |started| &started.merged)
    }

    /// Returns how often its work was returned in this attempt.
    pub fn rounds(&self) -> u32 {
        self.tally().map_or(0, |tally| tally.rounds)
    }

    /// Returns how often its work was returned in all attempts.
    pub fn returns(&self) -> u32 {
        self.returns
    }

    /// Reports whether its work was rejected and nothing has been handed over since.
    pub fn rejection_stands(&self) -> bool {
        self.started()
            .is_some_and(|started| started.rejection_stands)
    }

    /// Reports whether its agent was told which files are missing and nothing has been stored
    /// since: ending again then confirms the deletion.
    pub fn deletions_told(&self) -> bool {
        self.tally().is_some_and(|tally| tally.deletions_told)
    }

    /// Returns the limit that its agent has reached in this attempt, once its last report is due.
    pub fn reached_limit(&self) -> Option<&ReachedLimit> {
        self.tally()?.report.as_ref().map(|report| &report.limit)
    }

    /// Returns the newest checks of its work, oldest first.
    pub fn checks(&self) -> &[CheckReceipt] {
        self.started().map_or(&[], |started| started.checks.all())
    }

    /// Counts an event that concerns the checks of its work.
    pub(crate) fn count_checks(
        &mut self,
        event: &Event,
        changes_files: impl Fn(&str) -> bool,
        of_run: Option<&str>,
    ) {
        let of_task = self.task.verify.clone();
        let checks: Vec<&str> = of_task.as_deref().into_iter().chain(of_run).collect();
        if let Some(started) = self.started_mut() {
            started.checks.apply(event, changes_files, &checks);
        }
    }

    /// Returns what its work changes, as it was compared last.
    pub fn compared(&self) -> Option<&ComparedWork> {
        self.started()?.compared.as_ref()
    }

    /// Reports whether its agent's last request was sent.
    pub fn has_asked_for_report(&self) -> bool {
        self.tally()
            .and_then(|tally| tally.report.as_ref())
            .is_some_and(|report| report.asked)
    }

    /// Reports whether a call was denied in this attempt.
    pub fn was_denied(&self) -> bool {
        self.tally().is_some_and(|tally| tally.denied)
    }

    /// Returns how many requests were answered, across attempts.
    pub fn turns(&self) -> u32 {
        self.started().map_or(0, |started| started.turns)
    }

    /// Returns the tokens it used, across attempts.
    pub fn usage(&self) -> Usage {
        self.started()
            .map_or_else(Usage::default, |started| started.usage)
    }

    /// Returns how many of its calls were answered with a stored result, across attempts.
    pub fn replayed_calls(&self) -> u64 {
        self.started().map_or(0, |started| started.replayed_calls)
    }

    /// Returns the processor time of its commands in milliseconds, across attempts.
    pub fn command_cpu_ms(&self) -> u64 {
        self.started().map_or(0, |started| started.command_cpu_ms)
    }

    /// Returns what its requests cost, across attempts.
    pub fn cost(&self) -> Cost {
        self.started()
            .map_or_else(Cost::default, |started| started.cost)
    }

    /// Returns the event that counts the request whose end is not recorded as the maximum that it
    /// can use; `None` if there is none, or if its model is known not to answer.
    pub fn cut(&self) -> Option<Event> {
        let asked = self.started()?.asked.filter(|_| self.outage().is_none())?;
        let task = self.task.id.clone();
        Some(Event::ModelCut {
            task,
            turn: asked.turn,
            tokens: asked.tokens,
            micro_usd: asked.micro_usd,
        })
    }

    /// Returns the calls that have started but not ended, while its agent may end them.
    pub fn open_calls(&self) -> &BTreeSet<CallId> {
        static NONE: BTreeSet<CallId> = BTreeSet::new();
        self.started()
            .and_then(|started| started.stage.open_calls())
            .unwrap_or(&NONE)
    }

    /// Returns the parked call.
    pub fn parked(&self) -> Option<&CallHash> {
        match self.wait()? {
            Wait::Person { call } => Some(call),
            Wait::Agents { .. } | Wait::Children | Wait::Message { .. } | Wait::Endpoint { .. } => {
                None
            }
        }
    }

    /// Returns what it waits for.
    pub fn wait(&self) -> Option<&Wait> {
        match &self.started()?.stage {
            Stage::Waiting { wait, .. } => Some(wait),
            _ => None,
        }
    }

    /// Reports whether it waits so that the work of agents that it spawned can be merged into its
    /// own.
    pub(crate) fn takes_work(&self) -> bool {
        matches!(self.wait(), Some(Wait::Agents { .. } | Wait::Children))
    }

    /// Returns the endpoint that rejects the key or the account, if its agent waits for another
    /// one.
    pub fn rejecting_endpoint(&self) -> Option<&str> {
        match self.wait()? {
            Wait::Endpoint { endpoint, .. } => Some(endpoint),
            Wait::Person { .. } | Wait::Agents { .. } | Wait::Children | Wait::Message { .. } => {
                None
            }
        }
    }

    /// Returns when its wait is over at the latest, in milliseconds worked on the run; `None` if it
    /// has no deadline.
    pub fn waits_until(&self) -> Option<u64> {
        self.wait()?.until_ms()
    }

    /// Returns the newest wait for other agents or a message, until its agent hands over or waits
    /// again.
    pub fn ended_wait(&self) -> Option<&EndedWait> {
        match &self.started()?.stage {
            Stage::Running { waited, .. } => waited.as_ref(),
            _ => None,
        }
    }

    /// Reports whether the user has to act: to decide a tool call, to answer a question, to mend a
    /// key, or to review its work.
    pub fn waits_for_person(&self) -> bool {
        self.wait().is_some_and(Wait::is_for_person) || self.state().awaits_review()
    }

    /// Reports whether the task cannot continue by itself: it has ended, or waits for the user.
    pub fn rests(&self) -> bool {
        self.waits_for_person() || self.state().is_settled()
    }

    /// Returns the last tool that it started, for the display.
    pub fn last_tool(&self) -> Option<&str> {
        self.started()?.last_tool.as_deref()
    }

    /// Reports whether it was built on work that was rejected after it was merged.
    pub fn is_stale(&self) -> bool {
        !self.stale_by.is_empty()
    }

    /// Reports whether its box was ticked already in the plan.
    pub fn was_done(&self) -> bool {
        self.task.status == crate::task::TaskStatus::Done
    }

    /// Reports whether a person decided that it is not carried out: its box said so, or it was
    /// dropped.
    pub(crate) fn is_given_up(&self) -> bool {
        match &self.life {
            Life::Unstarted(Unstarted::Ended(end)) => end.is_given_up(),
            Life::Unstarted(_) => false,
            Life::Started(started) => started.stage.end().is_some_and(End::is_given_up),
        }
    }

    /// Reports whether a shell command carries it out, without an agent.
    pub fn is_command(&self) -> bool {
        self.task.is_command()
    }

    /// Reports whether an agent or a command works on it, or its own check is running.
    pub fn is_at_work(&self) -> bool {
        matches!(self.state(), TaskState::Running | TaskState::Committed) && self.outage().is_none()
    }

    /// Returns the outage that its agent waits for.
    pub fn outage(&self) -> Option<&Outage> {
        self.attempted().and_then(|attempt| attempt.outage.as_ref())
    }

    /// Returns the model that took over last in the newest attempt.
    pub fn take_over(&self) -> Option<&TakeOver> {
        self.attempted()?.take_over.as_ref()
    }

    pub(crate) fn end_outage(&mut self) {
        if let Some(started) = self.started_mut() {
            started.attempt.outage = None;
        }
    }

    pub(crate) fn begin_outage(&mut self, outage: Outage) {
        if let Some(started) = self.started_mut() {
            started.attempt.outage.get_or_insert(outage);
        }
    }

    /// Returns the milliseconds worked on the newest attempt, if `now` milliseconds have been
    /// worked on the run.
    pub(crate) fn worked_ms(&self, now: u64) -> u64 {
        self.attempted()
            .map_or(0, |attempt| attempt.clock.worked_ms(now))
    }

    /// Reports whether work on it has begun or ended since the last count.
    pub(crate) fn is_count_due(&self) -> bool {
        self.attempted()
            .is_some_and(|attempt| attempt.clock.runs() != self.is_at_work())
    }

    /// Starts or stops counting, if `now` milliseconds have been worked on the run.
    pub(crate) fn count_work(&mut self, now: u64) {
        let is_at_work = self.is_at_work();
        if let Some(started) = self.started_mut() {
            started.attempt.clock.set(now, is_at_work);
        }
    }

    /// Reports whether it failed because the run had no time left.
    pub(crate) fn failed_out_of_time(&self) -> bool {
        let end = match &self.life {
            Life::Unstarted(Unstarted::Ended(end)) => Some(end),
            Life::Unstarted(_) => None,
            Life::Started(started) => started.stage.end(),
        };
        matches!(
            end,
            Some(End::Failed {
                out_of_time: true,
                ..
            })
        )
    }

    /// Reports whether a rejection may be withdrawn: the agent has left the work as it was, which
    /// is merged, or is on its branch and has passed its check. This never holds for a command,
    /// even if it creates the same commit again within a second; if it is retried, it hands over
    /// the new work.
    pub fn may_take_rejection_back(&self) -> bool {
        self.started()
            .is_some_and(|started| started.may_take_rejection_back(&self.task))
    }

    /// Reports whether its work may be returned for this cause.
    pub(crate) fn may_be_returned(&self, cause: ReturnCause) -> bool {
        let (state, reopening) = (self.state(), self.state().reopening());
        match cause {
            ReturnCause::Rejected if self.attempt() == 0 || state == TaskState::Cancelled => false,
            ReturnCause::Rejected => matches!(reopening, Reopening::Reject | Reopening::Retry),
            _ => reopening == Reopening::Retry,
        }
    }

    /// Applies an event of this task, with its number; fails with the reason if it is not valid in
    /// the current state.
    pub(crate) fn apply(&mut self, seq: u64, event: &Event) -> Result<(), Illegal> {
        self.apply_event(seq, event)?;
        if self.state().is_settled() {
            // Should it continue one day, that is another request.
            self.stop = None;
        }
        Ok(())
    }

    fn apply_event(&mut self, seq: u64, event: &Event) -> Result<(), Illegal> {
        match event {
            Event::TaskReady { .. } => self.make_ready(),
            Event::AgentSpawned { .. } => self.spawned(event),
            Event::TaskReturned { cause, onto, .. } => self.returned(*cause, onto.as_ref()),
            Event::TaskFailed { .. }
            | Event::TaskConflicted { .. }
            | Event::TaskCancelled { .. }
            | Event::TaskSkipped { .. } => self.ended(event),
            // The merge queue tracks the merge in progress.
            Event::MergeStarted { .. }
            | Event::MergeConflicted { .. }
            | Event::MergePrepared { .. } => Ok(()),
            _ => {
                let refusal = self.refusal();
                let Life::Started(started) = &mut self.life else {
                    return Err(refusal);
                };
                started.apply(seq, event, &self.task)?;
                if matches!(event, Event::TaskMerged { .. } | Event::NothingToDo { .. }) {
                    self.stale_by.clear();
                }
                Ok(())
            }
        }
    }

    fn make_ready(&mut self) -> Result<(), Illegal> {
        let refusal = self.refusal();
        match &mut self.life {
            Life::Unstarted(unstarted @ Unstarted::Pending) => *unstarted = Unstarted::Ready,
            Life::Started(started) if started.stage == Stage::Pending => {
                started.enter(Stage::Ready)
            }
            _ => return Err(refusal),
        }
        Ok(())
    }

    /// Starts an attempt.
    fn spawned(&mut self, event: &Event) -> Result<(), Illegal> {
        let Event::AgentSpawned {
            attempt,
            agent,
            model,
            branch,
            base,
            spec,
            ..
        } = event
        else {
            return Ok(());
        };
        if self.state() != TaskState::Ready {
            return Err(self.refusal());
        }
        let (agent, model) = (agent.clone(), model.clone());
        let attempt = Attempt {
            number: *attempt,
            agent,
            model,
            tally: Tally::default(),
            clock: Clock::default(),
            outage: None,
            take_over: None,
        };
        let branch = Branch::new(branch.clone(), base.clone());
        match &mut self.life {
            Life::Started(started) => started.again(attempt, spec.clone(), branch, &self.task),
            Life::Unstarted(_) => {
                self.life = Life::Started(Box::new(Started::new(attempt, spec.clone(), branch)));
            }
        }
        Ok(())
    }

    /// Applies a return of the work; a task that has not started can only be retried.
    fn returned(&mut self, cause: ReturnCause, onto: Option<&Oid>) -> Result<(), Illegal> {
        match &mut self.life {
            Life::Started(started) => started.returned(cause, onto, &self.task)?,
            Life::Unstarted(ended @ Unstarted::Ended(_)) if cause.is_new_attempt() => {
                *ended = Unstarted::Ready
            }
            Life::Unstarted(other) => {
                return Err(Illegal::NothingToReturn(other.state()));
            }
        }
        self.returns += 1;
        Ok(())
    }

    /// Applies the end of a task that did not succeed.
    fn ended(&mut self, event: &Event) -> Result<(), Illegal> {
        let refusal = self.refusal();
        match &mut self.life {
            Life::Started(started) => started.ended(event),
            Life::Unstarted(unstarted) if unstarted.state().is_settled() => {
                Err(Illegal::Ended(unstarted.state()))
            }
            Life::Unstarted(unstarted) => {
                *unstarted = match event {
                    Event::TaskSkipped { because, .. } => Unstarted::Skipped {
                        because: because.clone(),
                    },
                    other => Unstarted::Ended(End::from_event(other).ok_or(refusal)?),
                };
                Ok(())
            }
        }
    }

    /// Records that the worktree has to be set up, and merged into, again.
    pub(crate) fn lose_worktree(&mut self) {
        if let Some(started) = self.started_mut() {
            started.branch.lose_worktree();
        }
    }

    /// Makes a merge of another agent's work, which changes these tests, the tip of its branch.
    pub(crate) fn take_in(&mut self, commit: &Oid, tests: Vec<ChangedPath>) {
        if let Some(started) = self.started_mut() {
            started.branch.take_in(commit, tests);
        }
    }

    /// Records which branch its newest work was merged into.
    pub(crate) fn note_target(&mut self, into: MergeTarget) {
        if let Some(newest) = self
            .started_mut()
            .and_then(|started| started.merged.last_mut())
        {
            newest.into = into;
        }
    }

    /// Removes its work from the result, and cancels it.
    pub(crate) fn drop_work(&mut self) {
        self.stale_by.clear();
        match &mut self.life {
            Life::Started(started) => started.drop_work(),
            Life::Unstarted(unstarted) => *unstarted = Unstarted::Ended(End::Dropped),
        }
    }

    /// Reports whether work of its was dropped, and there is no new attempt.
    pub(crate) fn is_dropped(&self) -> bool {
        self.started().is_some_and(Started::is_dropped)
    }

    /// Replaces commits of the integration branch that were made again.
    pub(crate) fn replace_merges(&mut self, merges: &BTreeMap<Oid, Oid>) {
        let attempts = self
            .started_mut()
            .map(|started| started.merged.as_mut_slice())
            .unwrap_or_default();
        for attempt in attempts {
            if let Some(new) = merges.get(&attempt.commit) {
                attempt.commit = new.clone();
            }
        }
    }

    /// Records that work it was built on was rejected: an attempt of another task.
    pub(crate) fn mark_stale(&mut self, task: &TaskId, attempt: u32) {
        self.stale_by.insert((task.clone(), attempt));
    }

    /// Records that the rejection of that work was withdrawn.
    pub(crate) fn unmark_stale(&mut self, task: &TaskId, attempt: u32) {
        self.stale_by.remove(&(task.clone(), attempt));
    }

    /// Records the result of checking the tree of its work.
    pub(crate) fn count_check(&mut self, passed: bool) {
        if let Some(started) = self.started_mut() {
            started.count_check(passed);
        }
    }

    /// Records for a failed task whether the run had any time left.
    pub(crate) fn note_time(&mut self, is_over: bool) {
        let end = match &mut self.life {
            Life::Unstarted(Unstarted::Ended(end)) => Some(end),
            Life::Unstarted(_) => None,
            Life::Started(started) => started.stage.end_mut(),
        };
        if let Some(End::Failed { out_of_time, .. }) = end {
            *out_of_time = is_over;
        }
    }

    /// Makes a skipped task pending again.
    pub(crate) fn wait_again(&mut self) {
        match &mut self.life {
            Life::Unstarted(unstarted) => *unstarted = Unstarted::Pending,
            Life::Started(started) => started.enter(Stage::Pending),
        }
    }

    /// Lets its agent continue if it waits for an endpoint.
    pub(crate) fn ask_again(&mut self) {
        if let Some(started) = self.started_mut() {
            started.ask_again();
        }
    }

    /// Reopens the task if this is its parked call.
    pub(crate) fn unpark(&mut self, decided: &CallHash) {
        if let Some(started) = self.started_mut() {
            started.unpark(decided);
        }
    }

    fn refusal(&self) -> Illegal {
        Illegal::State(self.state())
    }
}

impl TaskRecord {
    /// Reports whether it is to be stopped, and has not ended yet.
    pub fn is_stopping(&self) -> bool {
        self.stop.is_some() && !self.state().is_settled()
    }

    /// Returns the event with which it is cancelled, as was asked for, and before it the one that
    /// counts its request; none if nothing asks for that.
    pub(crate) fn cancellation(&self) -> Vec<Event> {
        let by = match &self.stop {
            Some(StopRequest {
                by: Some(agent), ..
            }) => format!("agent {agent}"),
            Some(_) => "request".to_owned(),
            None => return Vec::new(),
        };
        if !self.is_stopping() {
            return Vec::new();
        }
        let mut events: Vec<Event> = self.cut().into_iter().collect();
        events.push(Event::TaskCancelled {
            task: self.task.id.clone(),
            message: format!("stopped by {by}; its worktree and branch are kept"),
        });
        events
    }

    /// Records that it is to be stopped; the first request counts.
    pub(crate) fn request_stop(&mut self, request: &StopRequest) {
        if !self.state().is_settled() {
            self.stop.get_or_insert_with(|| request.clone());
        }
    }
}
