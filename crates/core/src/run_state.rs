//! One run: the fold of its facts.
//!
//! [`RunState::apply`] is the only way to change it, so replaying the journal gives the state that the dead process
//! had. A fact that cannot follow what happened before is refused with its reason ([`IllegalEvent`]) and changes
//! nothing. The state decides what is ready, what is skipped and when nothing more can be done; the coordinator
//! only asks. It is cheap to clone: records are shared until they change.

mod refused;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

pub use self::refused::{MessageRefused, SpawnRefused};
use crate::budget::BudgetTree;
use crate::event::{Event, FailureCause, Recorded, RunStatus};
use crate::ids::{AgentId, BlobId, CallHash, Oid, RunId, TaskId};
use crate::merge_queue::{MergeQueue, MergeStep, Situation};
use crate::message::{Envelope, MAILBOX_CAPACITY, MAX_BODY_BYTES, Sender};
use crate::schedule::{Progress, Schedule};
use crate::settings::{MergeMode, RunSettings};
pub use crate::task_record::{MergedAttempt, Repair, Snapshot, TaskRecord};
pub use crate::task_state::{EndCause, Reopening, TaskError, TaskState, Verify};

/// The state of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunState {
    /// The run.
    pub run_id: RunId,
    /// Sequence number of the newest fact.
    pub seq: u64,
    /// Unix milliseconds of the first fact.
    pub started_ms: u64,
    /// Unix milliseconds of the newest fact.
    pub updated_ms: u64,
    /// Milliseconds between these two in which nobody worked on it.
    pub paused_ms: u64,
    /// Its frozen settings.
    pub settings: RunSettings,
    /// The plan's path as typed.
    pub plan: Option<String>,
    /// The plan's text.
    pub plan_source: Option<BlobId>,
    /// The plan's title.
    pub title: Option<String>,
    /// The commit that it started from.
    pub base: Oid,
    /// The branch that was checked out.
    pub base_branch: Option<String>,
    /// The integration branch's tip.
    pub integration: Oid,
    /// How it stands.
    pub status: RunStatus,
    /// The exit code, once it has ended.
    pub exit_code: Option<u8>,
    /// The merge in progress and the checks that have been done.
    pub merges: MergeQueue,
    /// Token budgets.
    pub budget: BudgetTree,
    /// The landings that have not been undone, oldest first; the newest may only have been begun.
    pub landings: Vec<Landing>,
    /// The result whose landing was taken back last, unless another has begun since.
    pub taken_back: Option<Oid>,
    schedule: Schedule,
    tasks: BTreeMap<TaskId, Arc<TaskRecord>>,
    undelivered: Vec<Envelope>,
    sent: BTreeMap<Sender, u64>,
    approvals: BTreeMap<CallHash, Approval>,
}

/// Where a run's result went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Landing {
    /// The user's branch.
    pub branch: String,
    /// Its tip before.
    pub from: Oid,
    /// Its tip after.
    pub to: Oid,
    /// The run's result that it brought there.
    pub result: Oid,
    /// The tasks whose work it has.
    pub tasks: Vec<TaskId>,
    /// Whether the branch is known to have been moved; a process that was killed may have moved it all the same.
    pub is_done: bool,
}

/// A tool call that asked for a person, and the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// Whose call.
    pub task: TaskId,
    /// The tool.
    pub tool: String,
    /// The call in one line, cut if it is long.
    pub summary: String,
    /// The whole arguments, but for secrets.
    pub arguments: serde_json::Value,
    /// The rule that asks.
    pub rule: String,
    /// What the person said, or `None` while nobody has answered.
    pub decision: Option<Verdict>,
}

/// What a person has said about a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether it may run.
    pub allowed: bool,
    /// In the person's words.
    pub message: Option<String>,
}

/// A limit that has stopped a task, which would stop it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The tokens that the whole run may use, which a person may raise.
    RunTokens,
    /// The time that the whole run may take, which a person may raise.
    RunTime,
    /// The tokens that the plan gives to the task or to one above it: only another plan gives more.
    TaskTokens,
}

/// A fact that cannot follow what happened before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("run {run}: fact {seq} ({kind}) is impossible: {reason}")]
pub struct IllegalEvent {
    /// The run.
    pub run: RunId,
    /// The fact's number.
    pub seq: u64,
    /// The fact's type.
    pub kind: String,
    /// Why it cannot be.
    pub reason: String,
}

impl RunState {
    /// Makes the state that a run's first fact begins.
    ///
    /// # Errors
    ///
    /// Fails if the fact is not `run.started`.
    pub fn begin(first: &Recorded) -> Result<Self, IllegalEvent> {
        let Event::RunStarted { plan, plan_source, title, settings, base_commit, base_branch } = &first.event else {
            return Err(illegal(first, "a run begins with run.started".to_owned()));
        };
        Ok(Self {
            run_id: first.run_id.clone(),
            seq: first.seq,
            started_ms: first.ts_ms,
            updated_ms: first.ts_ms,
            paused_ms: 0,
            settings: (**settings).clone(),
            plan: plan.clone(),
            plan_source: plan_source.clone(),
            title: title.clone(),
            base: base_commit.clone(),
            base_branch: base_branch.clone(),
            integration: base_commit.clone(),
            status: RunStatus::Running,
            exit_code: None,
            merges: MergeQueue::default(),
            budget: BudgetTree::new(settings.budget_tokens),
            landings: Vec::new(),
            taken_back: None,
            schedule: Schedule::default(),
            tasks: BTreeMap::new(),
            undelivered: Vec::new(),
            sent: BTreeMap::new(),
            approvals: BTreeMap::new(),
        })
    }

    /// Folds a whole journal; `None` for an empty one.
    ///
    /// # Errors
    ///
    /// Fails with the first fact that cannot follow those before it.
    pub fn replay<'a>(facts: impl IntoIterator<Item = &'a Recorded>) -> Result<Option<Self>, IllegalEvent> {
        let mut facts = facts.into_iter();
        let Some(first) = facts.next() else { return Ok(None) };
        let mut state = Self::begin(first)?;
        for fact in facts {
            state.apply(fact)?;
        }
        Ok(Some(state))
    }

    /// Takes in a fact.
    ///
    /// # Errors
    ///
    /// Fails if the fact cannot follow what happened before; the state is then as it was.
    pub fn apply(&mut self, fact: &Recorded) -> Result<(), IllegalEvent> {
        if fact.seq != self.seq + 1 {
            return Err(illegal(fact, format!("fact {} was the newest", self.seq)));
        }
        let was_paused = self.status != RunStatus::Running || is_from_outside(&fact.event);
        self.apply_event(&fact.event).map_err(|reason| illegal(fact, reason))?;
        self.seq = fact.seq;
        if was_paused {
            self.paused_ms += fact.ts_ms.saturating_sub(self.updated_ms);
        }
        self.updated_ms = fact.ts_ms;
        self.count_work(&fact.event);
        self.note_time(&fact.event);
        Ok(())
    }

    /// Keeps of a task that fails whether the run had any time left.
    fn note_time(&mut self, event: &Event) {
        let is_over = self.time_left() == Some(Duration::ZERO);
        if let Event::TaskFailed { task, .. } = event
            && let Some(record) = self.tasks.get_mut(task)
        {
            Arc::make_mut(record).note_time(is_over);
        }
    }

    /// Follows whether somebody works on the task that a fact is about.
    fn count_work(&mut self, event: &Event) {
        let task = match event {
            Event::ApprovalDecided { call, .. } => self.approvals.get(call).map(|approval| &approval.task),
            other => other.task(),
        };
        let now = self.worked_ms();
        if let Some(record) = task.and_then(|task| self.tasks.get_mut(task))
            && record.is_count_due()
        {
            Arc::make_mut(record).count_work(now);
        }
    }

    fn apply_event(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::RunStarted { .. } => Err("the run has begun already".to_owned()),
            Event::RunResumed { timeout_ms, budget_tokens, .. } => {
                self.settings.timeout_ms = timeout_ms.or(self.settings.timeout_ms);
                self.settings.budget_tokens = budget_tokens.or(self.settings.budget_tokens);
                self.budget.limit_run(self.settings.budget_tokens);
                (self.status, self.exit_code) = (RunStatus::Running, None);
                // The process that had sent them is no more, and its workers ask again.
                self.budget.release_all();
                Ok(())
            }
            Event::RunFinished { status, exit_code } => {
                (self.status, self.exit_code) = (*status, Some(*exit_code));
                Ok(())
            }
            Event::LandingStarted { branch, from, to } => self.landing_started(branch, from, to),
            Event::LandingFailed { .. } => {
                self.begun_landing()?;
                self.landings.pop();
                Ok(())
            }
            Event::RunLanded { .. } => self.begun_landing().map(|begun| begun.is_done = true),
            Event::RunUnlanded { .. } => {
                let landing = self.landings.pop().ok_or_else(|| "nothing has landed".to_owned())?;
                // The result of now stays taken back, though the landing before it is, too.
                if self.taken_back.as_ref() != Some(&self.integration) {
                    self.taken_back = Some(landing.result);
                }
                Ok(())
            }
            Event::IntegrationHeld { .. } => Ok(()),
            Event::RunCleaned { tasks } => {
                for task in tasks {
                    if let Some(record) = self.tasks.get_mut(task) {
                        Arc::make_mut(record).lose_worktree();
                    }
                }
                Ok(())
            }
            Event::TaskAdded { task, parent } => self.add_task(task, parent.as_ref()),
            Event::MessageSent { envelope } => self.message_sent(envelope),
            Event::MessageDelivered { from, to, sequence, .. } => self.message_delivered(from, to, *sequence),
            Event::ApprovalDecided { call, allowed, message } => self.decided(call, *allowed, message.as_deref()),
            _ => self.apply_to_task(event),
        }
    }

    fn add_task(&mut self, task: &crate::task::Task, parent: Option<&AgentId>) -> Result<(), String> {
        self.schedule.add(task).map_err(|error| format!("it would {error}"))?;
        self.budget.add(task.id.clone(), parent.cloned(), task.tokens);
        self.tasks.insert(task.id.clone(), Arc::new(TaskRecord::new(task.clone(), parent.cloned())));
        Ok(())
    }

    fn apply_to_task(&mut self, event: &Event) -> Result<(), String> {
        let Some(id) = event.task().cloned() else { return Ok(()) };
        let record = self.task(&id).ok_or_else(|| format!("there is no task {id}"))?;
        if hands_over(event) && self.messages_for(&id).next().is_some() {
            return Err(format!("task {id}: a message waits for its agent, which has to read it first"));
        }
        let before = record.state();
        if let Event::MergeStarted { candidate, .. } = event
            && self.candidate(record) != Some(candidate)
        {
            return Err(format!("task {id}: its commit {candidate} is not up for merging"));
        }
        let record = self.tasks.get_mut(&id).ok_or_else(|| format!("there is no task {id}"))?;
        Arc::make_mut(record).apply(event).map_err(|reason| format!("task {id}: {reason}"))?;
        self.merges.apply(event)?;
        match event {
            Event::ModelRequested { reserved_tokens, .. } => self.budget.reserve(&id, *reserved_tokens),
            Event::BudgetWaited { tokens, .. } => self.budget.wait(&id, *tokens),
            Event::ModelReplied { usage, .. } => self.budget.settle(&id, usage.total()),
            // Whoever has ended sends no more: a request that nobody saw the end of holds nothing back.
            Event::ModelFailed { .. } | Event::TaskFailed { .. } | Event::TaskCancelled { .. } => {
                self.budget.release(&id);
            }
            Event::MergePrepared { tree, .. } => self.take_over_gate(&id, tree),
            Event::TaskCommitted { tree, .. } | Event::VerifyFinished { tree, .. } => self.count_red_gate(&id, tree),
            Event::TaskMerged { commit: Some(commit), .. } => self.integration = commit.clone(),
            Event::ApprovalRequested { call, tool, summary, arguments, rule, .. } => {
                let (tool, summary, rule) = (tool.clone(), summary.clone(), rule.clone());
                let arguments = arguments.clone();
                let asked = Approval { task: id, tool, summary, arguments, rule, decision: None };
                self.approvals.insert(call.clone(), asked);
            }
            Event::TaskReturned { .. } if before == TaskState::Merged => self.mark_stale(&id),
            Event::TaskReturned { .. } | Event::ReviewApproved { .. } if before.is_settled() => self.unskip(&id),
            _ => {}
        }
        Ok(())
    }

    /// Lets a merged tree that was checked for another task count as checked for this one.
    fn take_over_gate(&mut self, task: &TaskId, tree: &Oid) {
        let gate = self.settings.verify.as_deref().and_then(|command| self.merges.gate(tree, command));
        if let (Some(gate), Some(record)) = (gate, self.tasks.get_mut(task)) {
            Arc::make_mut(record).count_check(gate.passed);
        }
    }

    /// Lets the run's check that was red on a tree count for the task that hands over that very tree, also where the
    /// task's own check passes: merged as it is, it would be red again.
    fn count_red_gate(&mut self, task: &TaskId, tree: &Oid) {
        let gate = self.settings.verify.as_deref().and_then(|command| self.merges.gate(tree, command));
        if gate.is_some_and(|gate| !gate.passed) {
            self.take_over_gate(task, tree);
        }
    }

    /// Lets what was skipped because of this task wait for it again.
    fn unskip(&mut self, retried: &TaskId) {
        for id in self.schedule.dependents(retried) {
            if let Some(record) = self.tasks.get_mut(&id).filter(|record| record.state() == TaskState::Skipped) {
                Arc::make_mut(record).wait_again();
            }
        }
    }

    /// Marks everything merged that was built on this task.
    fn mark_stale(&mut self, rejected: &TaskId) {
        for id in self.schedule.dependents(rejected) {
            if let Some(record) = self.tasks.get_mut(&id).filter(|record| record.state() == TaskState::Merged) {
                Arc::make_mut(record).mark_stale();
            }
        }
    }

    fn landing_started(&mut self, branch: &str, from: &Oid, to: &Oid) -> Result<(), String> {
        if self.landings.last().is_some_and(|landing| !landing.is_done) {
            return Err("a landing has begun already".to_owned());
        }
        let (tasks, result) = (self.newly_merged(), self.integration.clone());
        let (branch, from, to) = (branch.to_owned(), from.clone(), to.clone());
        self.landings.push(Landing { branch, from, to, result, tasks, is_done: false });
        // Whoever begins a landing wants the result, though it may have been taken back before.
        self.taken_back = None;
        Ok(())
    }

    fn begun_landing(&mut self) -> Result<&mut Landing, String> {
        let begun = self.landings.last_mut().filter(|landing| !landing.is_done);
        begun.ok_or_else(|| "no landing has begun".to_owned())
    }

    fn message_sent(&mut self, envelope: &Envelope) -> Result<(), String> {
        let expected = self.next_sequence(&envelope.from);
        if envelope.sequence != expected {
            return Err(format!("the sender's next message is number {expected}, not {}", envelope.sequence));
        }
        self.check_message(envelope.to.as_str(), &envelope.body).map_err(|refused| refused.to_string())?;
        self.sent.insert(envelope.from.clone(), envelope.sequence);
        self.undelivered.push(envelope.clone());
        Ok(())
    }

    fn message_delivered(&mut self, from: &Sender, to: &AgentId, sequence: u64) -> Result<(), String> {
        let at = self
            .undelivered
            .iter()
            .position(|message| message.to == *to && message.from == *from && message.sequence == sequence)
            .ok_or_else(|| format!("no message {sequence} waits for {to}"))?;
        self.undelivered.remove(at);
        Ok(())
    }

    fn decided(&mut self, call: &CallHash, allowed: bool, message: Option<&str>) -> Result<(), String> {
        let approval = self.approvals.get_mut(call).ok_or_else(|| format!("no parked call {call}"))?;
        if approval.decision.is_some() {
            return Err(format!("call {call} is decided already"));
        }
        approval.decision = Some(Verdict { allowed, message: message.map(str::to_owned) });
        if let Some(record) = self.tasks.get_mut(&approval.task) {
            Arc::make_mut(record).unpark(call);
        }
        Ok(())
    }

    /// Returns the milliseconds in which somebody worked on the run, up to its newest fact.
    pub fn worked_ms(&self) -> u64 {
        self.updated_ms.saturating_sub(self.started_ms).saturating_sub(self.paused_ms)
    }

    /// Returns how long the run may still be worked on, or `None` if nothing limits it.
    pub fn time_left(&self) -> Option<Duration> {
        let limit = self.settings.timeout_ms?;
        Some(Duration::from_millis(limit.saturating_sub(self.worked_ms())))
    }

    /// Returns how long the newest attempt at a task may still be worked on, or `None` if nothing limits it.
    pub fn time_left_of(&self, task: &TaskId) -> Option<Duration> {
        let record = self.task(task)?;
        Some(Duration::from_millis(record.task.timeout_ms?.saturating_sub(record.worked_ms(self.worked_ms()))))
    }

    /// Returns the limit that has stopped a task, so that nothing but more of it lets the task go on, or `None` if it
    /// ended otherwise, or by a limit that each attempt has anew.
    pub fn stopped_by(&self, record: &TaskRecord) -> Option<Limit> {
        let error = record.error().filter(|_| record.state() == TaskState::Failed)?;
        let failed_for = |cause: FailureCause| error.cause == EndCause::Failed(cause);
        let has_time = self.time_left() != Some(Duration::ZERO);
        if failed_for(FailureCause::Budget) {
            let is_of_run = self.budget.is_bound_by_run(&record.task.id);
            return Some(if is_of_run { Limit::RunTokens } else { Limit::TaskTokens });
        }
        (failed_for(FailureCause::Timeout) && record.failed_out_of_time() && !has_time).then_some(Limit::RunTime)
    }

    /// Returns a task's record.
    pub fn task(&self, id: &TaskId) -> Option<&TaskRecord> {
        self.tasks.get(id).map(Arc::as_ref)
    }

    /// Returns the newest landing, if it is done.
    pub fn landed(&self) -> Option<&Landing> {
        self.landings.last().filter(|landing| landing.is_done)
    }

    /// Reports whether all that is merged has landed.
    pub fn is_landed(&self) -> bool {
        self.landed().is_some_and(|landing| landing.result == self.integration)
    }

    /// Reports whether whoever has brought the run to its end has to land it: it was asked for, the run has succeeded,
    /// and this result has not landed, and no person has taken a landing back since there is this result.
    pub fn is_to_be_landed(&self) -> bool {
        self.settings.land
            && self.status == RunStatus::Succeeded
            && !self.is_landed()
            && self.taken_back.as_ref() != Some(&self.integration)
    }

    /// Returns the tasks that this run has merged, whose boxes were open when it began.
    pub fn newly_merged(&self) -> Vec<TaskId> {
        let merged = self.tasks().filter(|record| record.state() == TaskState::Merged && !record.was_done());
        merged.map(|record| record.task.id.clone()).collect()
    }

    /// Returns all records in the order that the tasks were added.
    pub fn tasks(&self) -> impl Iterator<Item = &TaskRecord> {
        self.schedule.tasks().filter_map(|id| self.task(id))
    }

    /// Returns the messages that an agent has not read, oldest first.
    pub fn messages_for<'a>(&'a self, agent: &'a AgentId) -> impl Iterator<Item = &'a Envelope> {
        self.undelivered.iter().filter(move |message| message.to == *agent)
    }

    /// Returns all messages that nobody has read, oldest first.
    pub fn unread(&self) -> impl Iterator<Item = &Envelope> {
        self.undelivered.iter()
    }

    /// Returns the number that a sender's next message has.
    pub fn next_sequence(&self, from: &Sender) -> u64 {
        self.sent.get(from).copied().unwrap_or(0) + 1
    }

    /// Decides whether a message can be accepted.
    ///
    /// # Errors
    ///
    /// Fails with what the sender is told.
    pub fn check_message(&self, to: &str, body: &str) -> Result<(), MessageRefused> {
        let id = TaskId::from(to);
        let Some(record) = self.task(&id) else {
            let agents = self.tasks().filter(|record| !record.is_command());
            let known: Vec<&str> = agents.map(|record| record.task.id.as_str()).collect();
            return Err(MessageRefused::UnknownRecipient { to: to.to_owned(), known: known.join(", ") });
        };
        if record.is_command() {
            return Err(MessageRefused::NoAgent { to: id });
        }
        if body.trim().is_empty() {
            return Err(MessageRefused::Empty);
        }
        if self.merges.current() == Some(&id) {
            return Err(MessageRefused::BeingMerged { to: id });
        }
        if !record.state().reads_messages() {
            return Err(MessageRefused::ReadsNoMore { to: id, state: record.state() });
        }
        if body.len() > MAX_BODY_BYTES {
            return Err(MessageRefused::TooLong { bytes: body.len() });
        }
        if self.messages_for(&id).count() >= MAILBOX_CAPACITY {
            return Err(MessageRefused::MailboxFull { to: id });
        }
        Ok(())
    }

    /// Decides whether there may be one more child, below an agent or below the run itself.
    ///
    /// # Errors
    ///
    /// Fails with what the parent is told.
    pub fn check_spawn(&self, id: &TaskId, parent: Option<&AgentId>) -> Result<(), SpawnRefused> {
        if let Some(reason) = TaskId::refusal(id.as_str()) {
            return Err(SpawnRefused::BadId { id: id.to_string(), reason });
        }
        let key = TaskId::key(id.as_str());
        if self.schedule.tasks().any(|known| TaskId::key(known.as_str()) == key) {
            return Err(SpawnRefused::Taken);
        }
        let Some(parent) = parent else { return Ok(()) };
        if self.task(parent).is_none() {
            return Err(SpawnRefused::UnknownParent { parent: parent.clone() });
        }
        let limit = self.settings.max_children_per_agent;
        if self.tasks().filter(|record| record.parent.as_ref() == Some(parent)).count() >= limit {
            return Err(SpawnRefused::TooMany { parent: parent.clone(), limit });
        }
        let ancestors = std::iter::successors(Some(parent), |at| self.task(at)?.parent.as_ref());
        // The parent itself stands at the first level below the root; its child one deeper.
        let depth = u32::try_from(ancestors.count() + 1).unwrap_or(u32::MAX);
        if depth > self.settings.max_depth {
            return Err(SpawnRefused::TooDeep { parent: parent.clone(), limit: self.settings.max_depth });
        }
        Ok(())
    }

    /// Returns the calls that wait for a person, with their hashes; those of a task that has ended wait no more.
    pub fn open_approvals(&self) -> impl Iterator<Item = (&CallHash, &Approval)> {
        self.approvals.iter().filter(|(call, approval)| {
            let waits = self.task(&approval.task).is_some_and(|record| record.parked() == Some(*call));
            waits && approval.decision.is_none()
        })
    }

    /// Reports whether a call whose id begins so has asked and been answered.
    pub fn is_decided(&self, prefix: &str) -> bool {
        let decided = self.approvals.iter().filter(|(_, approval)| approval.decision.is_some());
        !prefix.is_empty() && decided.into_iter().any(|(call, _)| call.as_str().starts_with(prefix))
    }

    /// Returns the calls of one agent that asked, decided or not.
    pub fn approvals_of<'a>(&'a self, agent: &'a AgentId) -> impl Iterator<Item = (&'a CallHash, &'a Approval)> {
        self.approvals.iter().filter(move |(_, approval)| approval.task == *agent)
    }

    /// Decides the next step of merging, or `None` if there is nothing to do now.
    ///
    /// Candidates come in the plan's order: what a task depends on is merged, or it would not have started.
    pub fn next_merge(&self) -> Option<MergeStep> {
        self.next_merge_of(&self.merges)
    }

    /// Decides the next step of merging as if a fact were recorded already; none also if the fact cannot follow.
    pub fn next_merge_after(&self, fact: &Event) -> Option<MergeStep> {
        let mut merges = self.merges.clone();
        merges.apply(fact).ok()?;
        self.next_merge_of(&merges)
    }

    fn next_merge_of(&self, merges: &MergeQueue) -> Option<MergeStep> {
        if self.settings.merge == MergeMode::None {
            return None;
        }
        merges.next(&Situation {
            settings: &self.settings,
            integration: &self.integration,
            candidate: self.tasks().find_map(|record| Some((record.task.id.clone(), self.candidate(record)?.clone()))),
            current: merges.current().and_then(|task| self.task(task)),
        })
    }

    /// Reports whether a person must approve a task before it is merged.
    pub fn needs_review(&self, record: &TaskRecord) -> bool {
        self.settings.merge == MergeMode::Review || record.task.review_required
    }

    /// Returns the commit of a task that may be merged.
    fn candidate<'r>(&self, record: &'r TaskRecord) -> Option<&'r Oid> {
        record.candidate(self.needs_review(record))
    }

    /// Returns the facts that follow from the state by themselves: what is ready, skipped, or up for review.
    ///
    /// The sequencer evaluates this on the newest state, so asking twice records nothing twice.
    pub fn due_facts(&self) -> Vec<Event> {
        let skipped = self.schedule.skipped(|id| self.progress(id)).into_iter();
        let skipped = skipped.map(|(task, because)| Event::TaskSkipped { task, because });
        let ready = self.schedule.ready(|id| self.progress(id)).into_iter().map(|task| Event::TaskReady { task });
        let reviews = self
            .tasks()
            .filter(|record| record.state() == TaskState::Verified && self.needs_review(record))
            .filter(|record| self.settings.merge != MergeMode::None && self.candidate(record).is_none())
            .map(|record| Event::ReviewRequested { task: record.task.id.clone() });
        skipped.chain(ready).chain(reviews).collect()
    }

    /// Reports whether a task can go on without a person: by an agent's work, or by being merged.
    pub fn can_go_on(&self, record: &TaskRecord) -> bool {
        let is_to_be_merged = record.state() == TaskState::Verified && self.settings.merge != MergeMode::None;
        record.state().is_workable() || is_to_be_merged
    }

    /// Returns the tasks that an agent should be working on, those that were begun first.
    pub fn workable(&self) -> Vec<TaskId> {
        let begun = self.tasks().filter(|record| matches!(record.state(), TaskState::Running | TaskState::Committed));
        let ready = self.tasks().filter(|record| record.state() == TaskState::Ready);
        let mut ready: Vec<&TaskRecord> = ready.collect();
        ready.sort_by_key(|record| std::cmp::Reverse(record.task.priority));
        begun.chain(ready).map(|record| record.task.id.clone()).collect()
    }

    /// Informs the schedule how far a task is.
    fn progress(&self, id: &TaskId) -> Progress {
        match self.task(id).map(|record| record.state()) {
            None | Some(TaskState::Pending) => Progress::Waiting,
            // Nothing is merged in this mode, so work that has passed its check is as far as it comes.
            Some(TaskState::Verified) if self.settings.merge == MergeMode::None => Progress::Parked,
            Some(TaskState::Ready | TaskState::Running | TaskState::Committed | TaskState::Verified) => {
                Progress::Active
            }
            Some(TaskState::Waiting | TaskState::AwaitingReview) => Progress::Parked,
            Some(TaskState::Merged) => Progress::Merged,
            Some(TaskState::Failed | TaskState::Conflicted | TaskState::Skipped | TaskState::Cancelled) => {
                Progress::Failed
            }
        }
    }
}

/// Reports whether a fact is recorded by somebody who found the run without anybody at work: to take it over, to clean
/// up or to land it.
fn is_from_outside(event: &Event) -> bool {
    use Event::{LandingFailed, LandingStarted, RunCleaned, RunLanded, RunResumed, RunUnlanded};
    let is_of_landing =
        matches!(event, LandingStarted { .. } | LandingFailed { .. } | RunLanded { .. } | RunUnlanded { .. });
    is_of_landing || matches!(event, RunResumed { .. } | RunCleaned { .. })
}

/// Reports whether by this fact an agent ends its work, and reads nothing more unless the work comes back.
fn hands_over(event: &Event) -> bool {
    matches!(event, Event::TaskCommitted { .. } | Event::TaskMerged { commit: None, .. })
}

fn illegal(fact: &Recorded, reason: String) -> IllegalEvent {
    let kind = serde_json::to_value(&fact.event)
        .ok()
        .and_then(|value| value.get("type").and_then(|kind| kind.as_str().map(str::to_owned)))
        .unwrap_or_default();
    IllegalEvent { run: fact.run_id.clone(), seq: fact.seq, kind, reason }
}
