//! One run: the fold of its facts.
//!
//! [`RunState::apply`] is the only way to change it, so replaying the journal restores the state of
//! the dead process. An event that is not valid in the current state is refused with a reason
//! ([`IllegalEvent`]) and changes nothing. The state decides what is ready, what is skipped and
//! when nothing more can be done; the coordinator only asks. It is cheap to clone: records are
//! shared until they change, and so are the maps of them.

mod agenda;
mod base;
mod checks;
mod clock;
mod dropping;
pub(super) mod holds;
mod landing;
mod merging;
mod messages;
mod reporting;
mod spawning;
mod spending;
mod stopping;
mod verdicts;
mod waiting;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::agent::budget::{BudgetTree, Unit};
use crate::checks::BaseResult;
use crate::collections::SharedMap;
use crate::event::settings::RunSettings;
use crate::event::{
    AdoptedWork, Event, Illegal, IllegalEvent, Recorded, RunStatus, SpawnRecord, VerifyScope,
};
use crate::ids::{AgentId, BlobId, CallHash, Oid, RunId, TaskId};
use crate::messages::ExpiredMessage;
use crate::record::{TaskRecord, TaskRecords};
use crate::run::agenda::{Agenda, List};
use crate::run::mailboxes::Mailboxes;
use crate::run::merge_queue::MergeQueue;
use crate::secrecy::taint::{Exposure, Exposures, TaintGuard};
use crate::task::schedule::Schedule;
use crate::task::{EndCause, FailureCause, ReturnCause, Task, TaskState};

/// The state of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunState {
    /// The run.
    pub run_id: RunId,
    /// Sequence number of the newest event.
    pub seq: u64,
    /// Unix milliseconds of the first event.
    pub started_ms: u64,
    /// Unix milliseconds of the newest event.
    pub updated_ms: u64,
    /// Milliseconds between these two in which no process worked on it, or all its agents waited
    /// for their models.
    pub paused_ms: u64,
    /// Milliseconds of these in which its agents waited for models that did not answer, and nothing
    /// else was done.
    pub waited_ms: u64,
    /// Its frozen settings.
    pub settings: Arc<RunSettings>,
    /// The plan's path as typed.
    pub plan: Option<String>,
    /// The plan's text.
    pub plan_source: Option<BlobId>,
    /// The plan's title.
    pub title: Option<String>,
    /// The commit that the run started from.
    pub base: Oid,
    /// The branch that was checked out.
    pub base_branch: Option<String>,
    /// The integration branch's tip.
    pub integration: Oid,
    /// The status.
    pub status: RunStatus,
    /// The exit code, once it has ended.
    pub exit_code: Option<u8>,
    /// The merge in progress and the results of checks.
    pub merges: MergeQueue,
    /// Token budgets.
    pub budget: BudgetTree,
    /// The budget of money, in micro-dollars.
    pub money: BudgetTree,
    /// The landings that have not been undone, oldest first; the newest may be incomplete.
    pub landings: Vec<Landing>,
    /// Earlier results, which a drop of tasks has replaced, oldest first.
    pub replaced: Vec<Oid>,
    /// The result whose landing was undone last, unless another landing has begun since.
    pub taken_back: Option<Oid>,
    base_result: BaseResult,
    schedule: Schedule,
    tasks: TaskRecords,
    agenda: Agenda,
    mailboxes: Arc<Mailboxes>,
    approvals: SharedMap<CallHash, Arc<Approval>>,
    exposures: Exposures,
}

/// A landing of the run's result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Landing {
    /// The user's branch.
    pub branch: String,
    /// Its previous tip.
    pub from: Oid,
    /// Its new tip.
    pub to: Oid,
    /// The run's result that was landed.
    pub result: Oid,
    /// The tasks whose work it contains.
    pub tasks: Vec<TaskId>,
    /// Whether the branch is known to have moved; a killed process may have moved it without
    /// recording that.
    pub is_done: bool,
}

/// The fate of a landing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LandingOutcome {
    /// It is as recorded: complete, or begun and not yet overtaken by another change of its branch.
    AsRecorded,
    /// It is complete, although a killed process has not recorded that.
    Completed,
    /// The user has undone it by hand.
    Undone,
    /// It was interrupted, and its branch or the run's result has moved on without it, so its files
    /// must be restored.
    Overtaken,
}

/// A tool call that was parked, and the decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// The task of the call.
    pub task: TaskId,
    /// The tool.
    pub tool: String,
    /// The call in one line, truncated if it is long.
    pub summary: String,
    /// The complete arguments, secrets redacted.
    pub arguments: serde_json::Value,
    /// The rule that requires approval.
    pub rule: String,
    /// The decision, or `None` if there is none yet.
    pub decision: Option<ApprovalDecision>,
}

impl Approval {
    /// Returns the call that an event parks; `None` for any other event.
    pub fn requested_by(event: &Event) -> Option<Self> {
        let Event::ApprovalRequested {
            task,
            tool,
            summary,
            arguments,
            rule,
            ..
        } = event
        else {
            return None;
        };
        Some(Self {
            task: task.clone(),
            tool: tool.clone(),
            summary: summary.clone(),
            arguments: arguments.clone(),
            rule: rule.clone(),
            decision: None,
        })
    }
}

/// The user's decision on a tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalDecision {
    /// Whether it may run.
    pub allowed: bool,
    /// The user's message.
    pub message: Option<String>,
}

/// A limit that stopped a task and would stop it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The token limit of the whole run, which the user may raise.
    RunTokens,
    /// The cost limit of the whole run, which the user may raise.
    RunMoney,
    /// The time limit of the whole run, which the user may raise.
    RunTime,
    /// The model's endpoint, which has to answer again.
    Endpoint,
    /// The plan's token budget of the task or of one of its ancestors: raising it takes another
    /// plan.
    TaskTokens,
}

impl RunState {
    /// Creates the state from a run's first event.
    ///
    /// # Errors
    ///
    /// Fails if the event is not `run.started`.
    pub fn begin(first: &Recorded) -> Result<Self, IllegalEvent> {
        let Event::RunStarted {
            plan,
            plan_source,
            title,
            settings,
            base_commit,
            base_branch,
        } = &first.event
        else {
            return Err(illegal(first, Illegal::NotStarted));
        };
        Ok(Self {
            run_id: first.run_id.clone(),
            seq: first.seq,
            started_ms: first.ts_ms,
            updated_ms: first.ts_ms,
            paused_ms: 0,
            waited_ms: 0,
            settings: Arc::new((**settings).clone()),
            plan: plan.clone(),
            plan_source: plan_source.clone(),
            title: title.clone(),
            base: base_commit.clone(),
            base_branch: base_branch.clone(),
            integration: base_commit.clone(),
            status: RunStatus::Running,
            exit_code: None,
            merges: MergeQueue::default(),
            budget: BudgetTree::new(Unit::Tokens, settings.budget_tokens),
            money: BudgetTree::new(Unit::Money, settings.budget_micro_usd),
            landings: Vec::new(),
            replaced: Vec::new(),
            taken_back: None,
            base_result: BaseResult::default(),
            schedule: Schedule::default(),
            tasks: TaskRecords::default(),
            agenda: Agenda::default(),
            mailboxes: Arc::default(),
            approvals: SharedMap::default(),
            exposures: Exposures::new(settings),
        })
    }

    /// Folds a whole journal; returns `None` for an empty one.
    ///
    /// # Errors
    ///
    /// Fails with the first event that is not valid after those before it.
    pub fn replay<'a>(
        facts: impl IntoIterator<Item = &'a Recorded>,
    ) -> Result<Option<Self>, IllegalEvent> {
        let mut facts = facts.into_iter();
        let Some(first) = facts.next() else {
            return Ok(None);
        };
        let mut state = Self::begin(first)?;
        for fact in facts {
            state.apply(fact)?;
        }
        Ok(Some(state))
    }

    /// Applies an event.
    ///
    /// # Errors
    ///
    /// Fails if the event is not valid in the current state, which then stays unchanged.
    pub fn apply(&mut self, fact: &Recorded) -> Result<(), IllegalEvent> {
        if fact.seq != self.seq + 1 {
            return Err(illegal(fact, Illegal::OutOfSequence { newest: self.seq }));
        }
        let was_stopped = self.status != RunStatus::Running || is_from_outside(&fact.event);
        let stood_still = self.stands_still();
        if let Err(reason) = self.apply_event(&fact.event) {
            self.tasks.take_changes();
            return Err(illegal(fact, reason));
        }
        self.note_review(&fact.event);
        self.exposures.apply(&fact.event);
        self.seq = fact.seq;
        self.note_outage(fact);
        let passed_ms = fact.ts_ms.saturating_sub(self.updated_ms);
        if was_stopped || stood_still {
            self.paused_ms += passed_ms;
        }
        if stood_still && !was_stopped {
            self.waited_ms += passed_ms;
        }
        self.updated_ms = fact.ts_ms;
        self.count_work(&fact.event);
        self.note_time(&fact.event);
        self.update_agenda();
        Ok(())
    }

    fn apply_event(&mut self, event: &Event) -> Result<(), Illegal> {
        match event {
            Event::RunStarted { .. } => Err(Illegal::AlreadyStarted),
            Event::RunResumed {
                timeout_ms,
                budget_tokens,
                budget_micro_usd,
                ..
            } => {
                let settings = Arc::make_mut(&mut self.settings);
                settings.timeout_ms = timeout_ms.or(settings.timeout_ms);
                self.raise_budgets(*budget_tokens, *budget_micro_usd);
                (self.status, self.exit_code) = (RunStatus::Running, None);
                self.forget_red_base();
                self.end_outages();
                self.ask_endpoints_again();
                Ok(())
            }
            Event::RunFinished { status, exit_code } => {
                (self.status, self.exit_code) = (*status, Some(*exit_code));
                Ok(())
            }
            Event::LandingStarted { branch, from, to } => self.landing_started(branch, from, to),
            Event::LandingFailed(_) => {
                self.begun_landing()?;
                self.landings.pop();
                Ok(())
            }
            Event::RunLanded { .. } => self.begun_landing().map(|begun| begun.is_done = true),
            Event::RunUnlanded(_) => {
                let landing = self.landings.pop().ok_or(Illegal::NothingLanded)?;
                // The current result stays undone, although the landing before it is undone, too.
                if self.taken_back.as_ref() != Some(&self.integration) {
                    self.taken_back = Some(landing.result);
                }
                Ok(())
            }
            Event::IntegrationHeld(_) | Event::BaseVerifying { .. } => Ok(()),
            Event::BaseVerified { .. } => {
                self.base_verified(event);
                Ok(())
            }
            Event::CheckFlaky(flaky) => {
                self.merges.results.announced();
                if let Some(task) = &flaky.task {
                    self.count_checks(task, event);
                }
                Ok(())
            }
            Event::MachineSlept { slept_ms } => {
                // The time of an ended run, or of one that waits for its models, stands still
                // anyway.
                if self.status == RunStatus::Running && !self.stands_still() {
                    self.paused_ms += slept_ms;
                }
                Ok(())
            }
            Event::TasksDropped(dropped) => self.dropped(dropped),
            Event::RunCleaned { tasks } => {
                for task in tasks {
                    if let Some(record) = self.tasks.get_mut(task) {
                        record.lose_worktree();
                    }
                }
                Ok(())
            }
            Event::TaskAdded {
                task,
                parent,
                spawn,
            } => self.add_task(task, parent.as_ref(), spawn.as_deref()),
            Event::StopRequested(request) => self.stop_requested(request),
            Event::MessageSent { envelope } => self.message_sent(envelope),
            Event::MessageDelivered {
                from,
                to,
                sequence,
                expired: false,
            } => self.message_delivered(from, to, *sequence),
            Event::MessageDelivered {
                from,
                to,
                sequence,
                expired: true,
            } => self.message_expired(from, &to.clone().into(), *sequence),
            Event::MessageExpired(ExpiredMessage { from, to, sequence }) => {
                self.message_expired(from, to, *sequence)
            }
            Event::QuestionUnanswered(question) => self.question_unanswered(question),
            Event::ApprovalDecided {
                call,
                allowed,
                message,
                ..
            } => self.decided(call, *allowed, message.as_deref()),
            _ => self.apply_to_task(event),
        }
    }

    fn add_task(
        &mut self,
        task: &Task,
        parent: Option<&AgentId>,
        spawn: Option<&SpawnRecord>,
    ) -> Result<(), Illegal> {
        for concerned in self.schedule.add(task)? {
            self.tasks.note_rewired(concerned);
        }
        if let (Some(parent), Some(place)) = (parent, self.schedule.place(&task.id)) {
            self.agenda.add_child(parent, place);
        }
        self.budget
            .add(task.id.clone(), parent.cloned(), task.tokens);
        self.money.add(task.id.clone(), parent.cloned(), None);
        let record = match spawn {
            Some(spawn) => TaskRecord::of_child(task.clone(), parent.cloned(), spawn.clone()),
            None => TaskRecord::new(task.clone(), parent.cloned()),
        };
        self.tasks.insert(record);
        Ok(())
    }

    fn apply_to_task(&mut self, event: &Event) -> Result<(), Illegal> {
        let Some(id) = event.task().cloned() else {
            return Ok(());
        };
        let record = self.task(&id).ok_or_else(|| Illegal::NoTask(id.clone()))?;
        if hands_over(event) && self.messages_for(&id).next().is_some() {
            return Err(Illegal::UnreadMessage.for_task(id));
        }
        let before = record.state();
        if let Event::MergeStarted {
            into, candidate, ..
        } = event
            && !self.is_candidate(record, into, candidate)
        {
            return Err(Illegal::NotACandidate(candidate.clone()).for_task(id));
        }
        let record = self
            .tasks
            .get_mut(&id)
            .ok_or_else(|| Illegal::NoTask(id.clone()))?;
        record
            .apply(self.seq + 1, event)
            .map_err(|reason| reason.for_task(id.clone()))?;
        let into = self.merges.target().cloned();
        self.merges.apply(event)?;
        self.count_spending(&id, event);
        self.count_checks(&id, event);
        match event {
            Event::MergePrepared { tree, .. } => self.take_over_check(&id, tree),
            Event::VerifyFinished {
                scope: VerifyScope::Target,
                ..
            } => {}
            Event::TaskCommitted { tree, .. } | Event::VerifyFinished { tree, .. } => {
                self.count_red_check(&id, tree)
            }
            Event::WorkAdopted(AdoptedWork { tree, .. }) => {
                self.count_red_check(&id, tree);
                if before.is_settled() {
                    self.unskip(&id);
                }
            }
            Event::TaskMerged {
                commit: Some(commit),
                ..
            } => self.merged(&id, into, commit),
            Event::ApprovalRequested { call, .. } => {
                if let Some(asked) = Approval::requested_by(event) {
                    self.approvals.insert_mut(call.clone(), Arc::new(asked));
                }
            }
            // What was built on the chosen part stands.
            Event::TaskReturned {
                cause: ReturnCause::Rest,
                ..
            } => {}
            Event::TaskReturned { .. } if before == TaskState::Merged => self.mark_stale(&id),
            Event::TaskReturned { .. } if before.is_settled() => self.unskip(&id),
            Event::ReviewApproved { .. } if before.is_settled() => {
                self.unskip(&id);
                self.unmark_stale(&id);
            }
            _ => {}
        }
        Ok(())
    }

    /// Makes the tasks that were skipped because of this one pending again.
    fn unskip(&mut self, retried: &TaskId) {
        for id in self.schedule.lost_with(retried) {
            if let Some(record) = self
                .tasks
                .get_mut_if(&id, |record| record.state() == TaskState::Skipped)
            {
                record.wait_again();
            }
        }
    }

    /// Marks all merged tasks that were built on this one as stale.
    fn mark_stale(&mut self, rejected: &TaskId) {
        let attempt = self.task(rejected).map_or(0, TaskRecord::attempt);
        for id in self.schedule.dependents(rejected) {
            if let Some(record) = self
                .tasks
                .get_mut_if(&id, |record| record.state() == TaskState::Merged)
            {
                record.mark_stale(rejected, attempt);
            }
        }
    }

    /// Withdraws that the tasks built on this one are stale: the rejection of its newest merged
    /// work is withdrawn.
    fn unmark_stale(&mut self, task: &TaskId) {
        let newest = self.task(task).and_then(|record| record.merged().last());
        let Some(attempt) = newest.map(|merged| merged.attempt) else {
            return;
        };
        for id in self.schedule.dependents(task) {
            if let Some(record) = self.tasks.get_mut_if(&id, TaskRecord::is_stale) {
                record.unmark_stale(task, attempt);
            }
        }
    }

    fn decided(
        &mut self,
        call: &CallHash,
        allowed: bool,
        message: Option<&str>,
    ) -> Result<(), Illegal> {
        let approval = self
            .approvals
            .get_mut(call)
            .ok_or_else(|| Illegal::NoCall(call.clone()))?;
        if approval.decision.is_some() {
            return Err(Illegal::Decided(call.clone()));
        }
        let approval = Arc::make_mut(approval);
        approval.decision = Some(ApprovalDecision {
            allowed,
            message: message.map(str::to_owned),
        });
        if let Some(record) = self.tasks.get_mut(&approval.task) {
            record.unpark(call);
        }
        Ok(())
    }

    /// Returns the limit that stopped a task and must be raised before the task can continue, or
    /// `None` if the task ended otherwise, or because of a limit that starts afresh in each
    /// attempt.
    pub fn stopped_by(&self, record: &TaskRecord) -> Option<Limit> {
        if record.state() != TaskState::Failed {
            return None;
        }
        let error = record.error()?;
        let EndCause::Failed(cause) = error.cause else {
            return None;
        };
        match cause {
            FailureCause::Budget if self.budget.is_bound_by_run(&record.task.id) => {
                Some(Limit::RunTokens)
            }
            FailureCause::Budget if self.budget.is_renewable(&record.task.id) => None,
            FailureCause::Budget => Some(Limit::TaskTokens),
            FailureCause::Cost => Some(Limit::RunMoney),
            FailureCause::Endpoint => Some(Limit::Endpoint),
            FailureCause::Timeout => {
                let is_over = self.time_left() == Some(Duration::ZERO);
                (is_over && record.failed_out_of_time()).then_some(Limit::RunTime)
            }
            _ => None,
        }
    }

    /// Returns a task's record.
    pub fn task(&self, id: &TaskId) -> Option<&TaskRecord> {
        self.tasks.get(id)
    }

    /// Returns the tasks merged by this run whose boxes were open when it began.
    pub fn newly_merged(&self) -> Vec<TaskId> {
        let mut merged = Vec::new();
        for record in self.tasks() {
            let is_new = record.state().is_merged() && !record.was_done();
            if is_new && (record.merged().is_empty() || self.is_in_result(record)) {
                merged.push(record.task.id.clone());
            }
        }
        merged
    }

    /// Returns all records in the order in which the tasks were added.
    pub fn tasks(&self) -> impl Iterator<Item = &TaskRecord> {
        self.schedule.tasks().filter_map(|id| self.task(id))
    }

    /// Returns the parked calls with their hashes, except those of ended tasks.
    pub fn open_approvals(&self) -> impl Iterator<Item = (&CallHash, &Approval)> {
        // In the order of their hashes.
        let mut open: BTreeMap<&CallHash, &Approval> = BTreeMap::new();
        for call in self.listed(List::Waiting).filter_map(TaskRecord::parked) {
            if let Some((call, approval)) = self.approvals.get_key_value(call)
                && approval.decision.is_none()
            {
                open.insert(call, approval);
            }
        }
        open.into_iter()
    }

    /// Reports whether a call whose id has this prefix was parked and has been decided.
    pub fn is_decided(&self, prefix: &str) -> bool {
        let mut approvals = self.approvals.iter();
        !prefix.is_empty()
            && approvals.any(|(call, approval)| {
                approval.decision.is_some() && call.as_str().starts_with(prefix)
            })
    }

    /// Returns the calls of one agent that were parked, decided or not.
    pub fn approvals_of<'a>(
        &'a self,
        agent: &'a AgentId,
    ) -> impl Iterator<Item = (&'a CallHash, &'a Approval)> {
        let approvals = self
            .approvals
            .iter()
            .map(|(call, approval)| (call, approval.as_ref()));
        approvals.filter(move |(_, approval)| approval.task == *agent)
    }

    /// Returns what an agent was exposed to; `None` if nothing is known of it.
    pub fn exposure(&self, agent: &AgentId) -> Option<&Exposure> {
        self.exposures.for_agent(agent)
    }

    /// Returns what decisions about an agent's calls depend on, as far as it was exposed to text
    /// from outside.
    pub fn taint_guard(&self, agent: &AgentId) -> TaintGuard {
        TaintGuard::new(
            &self.settings,
            self.exposures.for_agent(agent).cloned().unwrap_or_default(),
        )
    }

    /// Returns the events that follow from the state alone: tasks that become ready, skipped, due
    /// for review, or abandoned, waits that are over, and questions that will not be answered.
    ///
    /// The sequencer evaluates this on the newest state, so calling it twice records nothing twice.
    pub fn due_facts(&self) -> Vec<Event> {
        let mut due = Vec::new();
        for flaky in self.merges.results.unannounced() {
            due.push(Event::CheckFlaky(flaky.clone()));
        }
        for (task, because) in self.unstartable() {
            due.push(Event::TaskSkipped {
                task: task.clone(),
                because: because.clone(),
            });
        }
        for record in self.listed(List::Startable) {
            let task = record.task.id.clone();
            due.push(Event::TaskReady { task });
        }
        for record in self.listed(List::ToReview) {
            let task = record.task.id.clone();
            due.push(Event::ReviewRequested { task });
        }
        due.extend(self.wakes());
        let abandoned = self.abandoned();
        due.retain(|event| !abandoned.iter().any(|end| end.task() == event.task()));
        due.extend(abandoned);
        let mut unanswered = self.unanswered();
        let ended: Vec<&TaskId> = due
            .iter()
            .filter(ends_task)
            .filter_map(Event::task)
            .collect();
        unanswered.retain(|event| event.task().is_none_or(|asker| !ended.contains(&asker)));
        due.extend(unanswered);
        due
    }

    /// Reports whether a task can continue without the user: by an agent's work, by being merged,
    /// or once a deadline has passed.
    pub fn can_go_on(&self, record: &TaskRecord) -> bool {
        record.state().is_workable()
            || record.waits_until().is_some()
            || self.is_to_be_merged(record)
    }

    /// Reports whether any task can continue without the user.
    pub fn can_any_go_on(&self) -> bool {
        self.is_any(List::GoesOn)
    }

    /// Returns the tasks that an agent should be working on, those started first.
    pub fn workable(&self) -> Vec<TaskId> {
        self.to_work_on().cloned().collect()
    }

    /// Returns the same tasks one by one: there may be many more than agents.
    pub(crate) fn to_work_on(&self) -> impl Iterator<Item = &TaskId> {
        self.listed(List::Begun)
            .chain(self.listed(List::Ready))
            .map(|record| &record.task.id)
    }

    /// Returns the tasks whose work is merged and that still have a worktree.
    pub(crate) fn with_releasable_worktree(&self) -> impl Iterator<Item = &TaskId> {
        self.listed(List::Releasable).map(|record| &record.task.id)
    }
}

/// Reports whether a task that ends with this event takes no notice any more.
fn ends_task(event: &&Event) -> bool {
    matches!(
        event,
        Event::TaskSkipped { .. } | Event::TaskCancelled { .. }
    )
}

/// Reports whether an event is recorded by a process that found the run idle: to take it over, to
/// clean up or to land it.
fn is_from_outside(event: &Event) -> bool {
    use Event::{
        LandingFailed, LandingStarted, RunCleaned, RunLanded, RunResumed, RunUnlanded, TasksDropped,
    };
    let is_of_landing = matches!(
        event,
        LandingStarted { .. } | LandingFailed { .. } | RunLanded { .. } | RunUnlanded { .. }
    );
    is_of_landing
        || matches!(
            event,
            RunResumed { .. } | RunCleaned { .. } | TasksDropped { .. }
        )
}

/// Reports whether with this event an agent ends its work, and reads no more messages unless the
/// work is returned.
fn hands_over(event: &Event) -> bool {
    let is_report = matches!(
        event,
        Event::TaskMerged { commit: None, .. } | Event::NothingToDo { .. }
    );
    is_report
        || matches!(
            event,
            Event::TaskCommitted { .. } | Event::ReviewWaiting { .. }
        )
}

fn illegal(fact: &Recorded, reason: Illegal) -> IllegalEvent {
    let mut kind = String::new();
    if let Ok(value) = serde_json::to_value(&fact.event)
        && let Some(name) = value.get("type").and_then(serde_json::Value::as_str)
    {
        kind.push_str(name);
    }
    IllegalEvent {
        run: fact.run_id.clone(),
        seq: fact.seq,
        kind,
        reason,
    }
}
