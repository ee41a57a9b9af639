//! The worker's interface to the coordinator: the only connection between the two.
//!
//! Only events, ids, texts and bytes pass through it, so it could be a network connection; today it calls the run's
//! journal directly. It is restricted to one task: no worker can record or read for another. The run's state, its
//! journal and its repository stay behind it.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

use orchestrate_core::budget::{Amount, Reservation};
use orchestrate_core::child::{KeptWork, TerminateDecision};
use orchestrate_core::event::{Event, FailureCause, Recorded};
use orchestrate_core::invisible::is_invisible;
use orchestrate_core::message::{Envelope, Origin, Outgoing, Sender};
use orchestrate_core::run_state::{
    ApprovalDecision, AskedWait, HandOver, MessageRefused, Receipt, SpawnRefused, StopRefused, WaitDecision,
};
use orchestrate_core::{
    AgentHandle, AgentId, AgentInfo, AgentStatus, BlobId, CallHash, CallOfTurn, DividedRequest, ReachedLimit,
    ReviewVerdict, RunState, TaskId, TaskRecord, ToolCall, VerdictRefused, WaitRefused,
};
use orchestrate_journal::{Batch, Blob, Slot};
use orchestrate_plan::{PlanError, proposed};
use orchestrate_tools::EndedAgentsWait;
use serde::de::DeserializeOwned;

use crate::error::CoordinatorError;
use crate::merge::checks::CheckResult;
use crate::merge::setup::{self, Unprepared};
use crate::run::context::{RunContext, blocking};
use crate::run::new_child::{self, NewChild};
use crate::run::retry_notices::Retry;
use crate::run::shutdown::Shutdown;
use crate::run::time_limit;
use crate::texts::roles::known_names;
use crate::texts::skills::SkillRefused;
use crate::worker::task_end::Failure;
use crate::worker::{childrens_work, review_end, task_end};
use crate::worktree::git_link::GitLink;

/// The maximum length of a call's summary; the user is asked with the full call.
const SUMMARY_CHARS: usize = 4_000;

/// One worker's connection to the coordinator.
#[derive(Clone)]
pub(crate) struct WorkerLink {
    context: Arc<RunContext>,
    task: TaskId,
}

/// A request that is about to be sent to a model.
pub(crate) struct Announced {
    /// The agent's request number.
    pub(crate) turn: u32,
    /// `provider/model`.
    pub(crate) model: String,
    /// The request as it is recorded.
    pub(crate) request: DividedRequest,
    /// The counted input plus the maximum reply, and what they can cost.
    pub(crate) amount: Amount,
}

/// Reports whether a task's agent waits for a model that does not answer.
fn is_waiting(state: &RunState, task: &TaskId) -> bool {
    state.task(task).is_some_and(|record| record.outage().is_some())
}

impl WorkerLink {
    /// Opens the connection for one task.
    pub(crate) fn new(context: &Arc<RunContext>, task: &TaskId) -> Self {
        Self { context: Arc::clone(context), task: task.clone() }
    }

    /// Prepares the worktree with the project's setup; see [`setup::prepare`].
    pub(crate) async fn prepare(
        &self,
        unprepared: Unprepared<'_>,
        shutdown: &Shutdown,
    ) -> Result<Option<CheckResult>, CoordinatorError> {
        setup::prepare(&self.context, unprepared, shutdown).await
    }

    /// Returns the task's record.
    pub(crate) fn task(&self) -> Result<TaskRecord, CoordinatorError> {
        self.context.task(&self.task)
    }

    /// Reads recorded data of the task on a blocking thread.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&WorkerLink) -> Result<T, CoordinatorError> + Send + 'static,
    ) -> Result<T, CoordinatorError> {
        let link = self.clone();
        blocking("a reader of the journal", move || look(&link)).await
    }

    /// Returns the task's events, from the first.
    pub(crate) fn history(&self) -> Result<Vec<Recorded>, CoordinatorError> {
        Ok(self.context.store.events_of_task(&self.context.run, &self.task, 0, usize::MAX)?)
    }

    /// Resolves when the attempt's time is used up; never if it has no limit. While the agent waits for a model that
    /// does not answer, its time stands still.
    pub(crate) async fn out_of_time(&self) {
        let left = |state: &RunState| state.time_left_of(&self.task).filter(|_| !is_waiting(state, &self.task));
        time_limit::reached(self.context.journal.watch(), left).await;
    }

    /// Records that the agent's undelivered messages are delivered, and returns them, oldest first; those that have
    /// expired are left out.
    pub(crate) async fn deliver(&self) -> Result<Vec<Envelope>, CoordinatorError> {
        if self.context.state().messages_for(&self.task).next().is_none() {
            return Ok(Vec::new());
        }
        let task = self.task.clone();
        let delivered = self.context.decide_and_tell(move |state| {
            let (events, read) = state.decide_delivery(&task);
            Ok::<_, Infallible>((Batch::from(events), read))
        });
        delivered.await?.map_err(|never| match never {})
    }

    /// Returns the user's decisions on the agent's calls.
    pub(crate) fn approval_decisions(&self) -> BTreeMap<CallHash, ApprovalDecision> {
        let state = self.context.state();
        let calls = state.approvals_of(&self.task);
        calls.filter_map(|(call, approval)| Some((call.clone(), approval.decision.clone()?))).collect()
    }

    /// Returns the plan's text; `None` if the run has no plan.
    pub(crate) async fn plan(&self) -> Result<Option<String>, CoordinatorError> {
        match self.context.state().plan_source.clone() {
            Some(plan) => self.context.blob_text(plan).await.map(Some),
            None => Ok(None),
        }
    }

    /// Returns the text of the plan that an answer proposes, or its errors, one a line, if it cannot be run.
    pub(crate) fn judge_plan(&self, answer: &str) -> Result<String, String> {
        let settings = &self.context.state().settings;
        let known = known_names(&self.context.roles, settings.base_url.is_some());
        let errors = |errors: Vec<PlanError>| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        proposed(answer, &known, settings).map_err(errors)
    }

    /// Returns a skill's body, or a file below its folder: of the project's skills, as the base commit has it.
    pub(crate) async fn skill(
        &self,
        name: &str,
        file: Option<&str>,
    ) -> Result<Result<String, SkillRefused>, CoordinatorError> {
        let (context, base) = (Arc::clone(&self.context), self.context.state().base.clone());
        let (name, file) = (name.to_owned(), file.map(str::to_owned));
        let read = move || context.skills.read(&context.repo, &base, &name, file.as_deref());
        blocking("a reader of skills", read).await
    }

    /// Reads a blob.
    pub(crate) fn blob(&self, id: &BlobId) -> Result<Vec<u8>, CoordinatorError> {
        Ok(self.context.store.blob(id)?)
    }

    /// Reads a recorded value from a blob.
    pub(crate) fn blob_value<T: DeserializeOwned>(
        &self,
        id: &BlobId,
        what: &'static str,
    ) -> Result<T, CoordinatorError> {
        self.context.blob_value(id, what)
    }

    /// Stores bytes, and returns their id.
    pub(crate) async fn put_blob(&self, bytes: Vec<u8>) -> Result<BlobId, CoordinatorError> {
        let blob = Blob::new(bytes);
        let id = blob.id().clone();
        self.context.journal.append(Batch::default().with_blob(blob)).await?;
        Ok(id)
    }

    /// Notifies the followers of the run that a model request is retried.
    pub(crate) fn tell(&self, retry: Retry) {
        self.context.retries.tell(retry);
    }

    /// Records events; returns when they are durable.
    pub(crate) async fn record(&self, facts: Vec<Event>) -> Result<(), CoordinatorError> {
        self.context.record(facts).await
    }

    /// Records events together with the bytes that they name.
    pub(crate) async fn record_with<F: Into<Batch>>(
        &self,
        bytes: Vec<u8>,
        facts: impl FnOnce(BlobId) -> F,
    ) -> Result<(), CoordinatorError> {
        self.context.record_with(bytes, facts).await
    }

    /// Reserves a slot in the journal for an event that must be recordable in any case.
    pub(crate) async fn keep_place(&self) -> Result<JournalSlot, CoordinatorError> {
        Ok(JournalSlot(self.context.journal.reserve().await?))
    }

    /// Records that a request is about to be sent, if every budget covers it, and returns the number of that event;
    /// otherwise records that it waits, or returns why it is refused.
    pub(crate) async fn reserve(&self, request: Announced) -> Result<Result<u64, Reservation>, CoordinatorError> {
        let task = self.task.clone();
        let Announced { turn, model, request: DividedRequest { hash: request, parts, new }, amount } = request;
        let blobs = new.into_iter().map(|part| Blob::new(part.into_bytes())).collect();
        let sent = self.context.journal.append_if(move |state| match state.ask_budgets(&task, amount) {
            Reservation::Fits => {
                let Amount { tokens: reserved_tokens, micro_usd: reserved_micro_usd } = amount;
                let started = Event::TurnStarted { task: task.clone(), turn };
                let requested =
                    Event::ModelRequested { task, turn, model, request, parts, reserved_tokens, reserved_micro_usd };
                Ok(Batch { events: vec![started, requested], blobs, ..Batch::default() })
            }
            other => Err(other),
        });
        let refusal = match sent.await? {
            Ok(numbers) => {
                return numbers.last().map(|seq| Ok(*seq)).ok_or(CoordinatorError::Ended(self.context.run.clone()));
            }
            Err(refusal) => refusal,
        };
        if refusal == Reservation::Waits {
            self.record_wait(turn, amount).await?;
        }
        Ok(Err(refusal))
    }

    /// Reports whether a budget limits the task.
    pub(crate) fn is_capped(&self) -> bool {
        let state = self.context.state();
        state.budget.is_capped(&self.task) || state.money.is_capped(&self.task)
    }

    /// Reports whether the cost of the run is limited.
    pub(crate) fn is_cost_limited(&self) -> bool {
        self.context.state().money.is_capped(&self.task)
    }

    /// Records that a request waits, unless it need not any more or this is recorded already.
    async fn record_wait(&self, turn: u32, amount: Amount) -> Result<(), CoordinatorError> {
        let task = self.task.clone();
        let waited = self.context.journal.append_if(move |state| {
            let recorded = state.waiting_for(&task) == Some(amount);
            let waits = !recorded && state.ask_budgets(&task, amount) == Reservation::Waits;
            let Amount { tokens, micro_usd } = amount;
            let fact = waits.then_some(Event::BudgetWaited { task, turn, tokens, micro_usd });
            Ok::<_, Infallible>(Batch::from(fact.into_iter().collect::<Vec<_>>()))
        });
        waited.await?.map(|_| ()).map_err(|never| match never {})
    }

    /// Waits until a request that needs this much no longer has to wait.
    pub(crate) async fn until_decided(&self, amount: Amount) -> Result<(), CoordinatorError> {
        let mut state = self.context.journal.watch();
        let decided = state.wait_for(|state| state.ask_budgets(&self.task, amount) != Reservation::Waits).await;
        decided.map(|_| ()).map_err(|_| CoordinatorError::Ended(self.context.run.clone()))
    }

    /// Parks a call for approval, as a rule requires; the decision is among the verdicts once it is made.
    pub(crate) async fn ask(&self, call: ToolCall, hash: CallHash, rule: String) -> Result<(), CoordinatorError> {
        let asked = Event::ApprovalRequested {
            task: self.task.clone(),
            call: hash,
            summary: summary(&call),
            call_id: call.id,
            tool: call.name,
            arguments: call.arguments,
            rule,
        };
        self.record(vec![asked]).await
    }

    /// Sends a message of the agent's call and returns who gets it; `None` if the call waits for the answer.
    pub(crate) async fn send(
        &self,
        call: CallOfTurn,
        message: Outgoing,
    ) -> Result<Result<Option<Receipt>, MessageRefused>, CoordinatorError> {
        let record = self.task()?;
        let role = record.agent().map(|name| self.context.roles.role(name)).transpose()?;
        let channels = role.and_then(|role| role.channels.clone());
        self.context.send(Origin { from: Sender::Agent(self.task.clone()), call: Some(call), channels }, message).await
    }

    /// Returns the child that the agent's call has spawned already, `None` if it may spawn one, or why it may not.
    pub(crate) fn foresee_child(
        &self,
        new: NewChild,
    ) -> Result<Result<Option<AgentHandle>, SpawnRefused>, CoordinatorError> {
        new_child::foresee(&self.context, NewChild { parent: Some(self.task.clone()), ..new })
    }

    /// Spawns a child of the agent, once for each call.
    pub(crate) async fn spawn(&self, new: NewChild) -> Result<Result<AgentHandle, SpawnRefused>, CoordinatorError> {
        new_child::add(&self.context, NewChild { parent: Some(self.task.clone()), ..new }).await
    }

    /// Records that one of the agent's descendants is to be stopped, and that the call waits for that, and returns
    /// `None`; if nothing is left to stop, or the wait is over, returns what is left of them.
    pub(crate) async fn terminate(
        &self,
        of: CallOfTurn,
        agent: AgentId,
    ) -> Result<Result<Option<Vec<KeptWork>>, StopRefused>, CoordinatorError> {
        let (by, named) = (self.task.clone(), agent.clone());
        let stops = self.context.journal.append_if(move |state| match state.decide_termination(&by, &of, &named) {
            Ok(TerminateDecision::Stops(events)) => Ok(Batch::from(events)),
            Ok(TerminateDecision::Over) => Err(None),
            Err(refused) => Err(Some(refused)),
        });
        Ok(match stops.await? {
            Ok(_) => Ok(None),
            Err(None) => Ok(Some(self.context.state().kept_work(&agent))),
            Err(Some(refused)) => Err(refused),
        })
    }

    /// Returns what is known of an agent of the run; fails with the reason if there is none.
    pub(crate) fn agent_status(&self, agent: &AgentId) -> Result<AgentStatus, String> {
        let state = self.context.state();
        let record = state.known_agent(agent).map_err(|refused| refused.to_string())?;
        let messages = state.channel(&Sender::Agent(self.task.clone()), &agent.clone().into());
        let messages = Some(messages).filter(|messages| messages.sent > 0);
        Ok(AgentStatus { messages, ..state.agent_status(record, true) })
    }

    /// Returns the agents of the run that have not ended.
    pub(crate) fn active_agents(&self) -> Vec<AgentInfo> {
        self.context.state().active_agents(true)
    }

    /// Records that a call waits for other agents, and returns `None`; if the wait is over, returns how it has ended.
    pub(crate) async fn wait(
        &self,
        asked: AskedWait,
    ) -> Result<Result<Option<EndedAgentsWait>, WaitRefused>, CoordinatorError> {
        let (task, wanted) = (self.task.clone(), asked.clone());
        let waits = self.context.journal.append_if(move |state| match state.decide_wait(&task, &wanted) {
            Ok(WaitDecision::Waits(fact)) => Ok(Batch::from(*fact)),
            Ok(WaitDecision::Over { timed_out }) => Err(Ok(timed_out)),
            Err(refused) => Err(Err(refused)),
        });
        let timed_out = match waits.await? {
            Ok(_) => return Ok(Ok(None)),
            Err(Err(refused)) => return Ok(Err(refused)),
            Err(Ok(timed_out)) => timed_out,
        };
        let state = self.context.state();
        let named: Vec<&TaskRecord> = asked.ids.iter().filter_map(|id| state.task(id)).collect();
        let all_done = asked.ids.iter().all(|id| state.is_done_for(&self.task, id));
        let agents = named.iter().map(|record| state.agent_status(record, true)).collect();
        let has_message = state.messages_for(&self.task).next().is_some();
        let merged = childrens_work::merged_into(&self.context, &self.task, &asked.ids).await?;
        Ok(Ok(Some(EndedAgentsWait { all_done, timed_out, has_message, agents, merged })))
    }

    /// Reports whether the work of other agents is merged into the agent's branch if this call waits.
    pub(crate) fn takes_work_at(&self, call: &CallOfTurn) -> Result<bool, CoordinatorError> {
        let (record, state) = (self.task()?, self.context.state());
        let has_waited = record.ended_wait().is_some_and(|ended| ended.of == *call);
        Ok(!has_waited && state.open_children(&self.task).next().is_some())
    }

    /// Records that the agent waits for those that it spawned, or is told what has become of them, before it hands its
    /// work over. Returns whether there is more to do; goes on if nothing has to come before.
    pub(crate) async fn settle_children(&self) -> Result<ControlFlow<bool>, CoordinatorError> {
        let task = self.task.clone();
        let waits = self.context.journal.append_if(move |state| match state.decide_hand_over(&task) {
            HandOver::AfterChildren(wait) => Ok(Batch::from(*wait)),
            other => Err(other),
        });
        match waits.await? {
            Ok(_) => Ok(ControlFlow::Break(false)),
            Err(HandOver::Now) => Ok(ControlFlow::Continue(())),
            Err(HandOver::AfterNews) => {
                childrens_work::tell(&self.context, &self.task).await?;
                Ok(ControlFlow::Break(true))
            }
            Err(HandOver::AfterMessages | HandOver::AfterChildren(_)) => Ok(ControlFlow::Break(true)),
        }
    }

    /// Records that the agent hands its work over, unless something has to come before; returns whether it was
    /// recorded.
    pub(crate) async fn hand_over(&self, fact: Event) -> Result<bool, CoordinatorError> {
        let task = self.task.clone();
        let handed = self.context.journal.append_if(move |state| match state.decide_hand_over(&task) {
            HandOver::Now => Ok(Batch::from(fact)),
            other => Err(other),
        });
        Ok(handed.await?.is_ok())
    }

    /// Records the verdict of a task that reviews others.
    pub(crate) async fn give_verdict(
        &self,
        verdict: ReviewVerdict,
    ) -> Result<Result<(), VerdictRefused>, CoordinatorError> {
        let task = self.task.clone();
        let given = self.context.journal.append_if(move |state| state.decide_verdict(&task, &verdict).map(Batch::from));
        Ok(given.await?.map(|_| ()))
    }

    /// Ends the review with the verdict that was given, unless the agent has to read a message first; returns whether
    /// it was recorded.
    pub(crate) async fn conclude_review(&self, summary: String) -> Result<bool, CoordinatorError> {
        review_end::conclude(&self.context, &self.task, summary).await
    }

    /// Records that the agent has reached a limit, so that its last request is due; returns `None` if none is.
    pub(crate) async fn reach_limit(
        &self,
        cause: FailureCause,
        message: &str,
    ) -> Result<Option<ReachedLimit>, CoordinatorError> {
        let (task, message) = (self.task.clone(), message.to_owned());
        let due = move |state: &RunState| state.decide_report(&task, cause, &message).map(Batch::from).ok_or(());
        match self.context.journal.append_if(due).await? {
            Ok(_) => Ok(self.task()?.reached_limit().cloned()),
            Err(()) => Ok(None),
        }
    }

    /// Fails the task, unless its work has been handed over; its worktree is kept.
    pub(crate) async fn fail(&self, cause: FailureCause, message: String) -> Result<(), CoordinatorError> {
        task_end::fail(&self.context, &self.task, Failure { cause, message, report: None }).await
    }

    /// Fails the task, whose agent has reached a limit, with the agent's report; its worktree is kept.
    pub(crate) async fn fail_at_limit(
        &self,
        limit: ReachedLimit,
        report: Option<String>,
    ) -> Result<(), CoordinatorError> {
        let ReachedLimit { cause, message, .. } = limit;
        task_end::fail(&self.context, &self.task, Failure { cause, message, report }).await
    }

    /// Turns an error of this task alone into its failure; returns any other error, since the run cannot continue.
    pub(crate) async fn contain(&self, error: CoordinatorError) -> Result<(), CoordinatorError> {
        match error.own_failure() {
            Some(cause) => self.fail(cause, error.to_string()).await,
            None => Err(error),
        }
    }

    /// Opens the task's worktree and branch, creating a missing worktree.
    pub(crate) async fn git(&self) -> Result<GitLink, CoordinatorError> {
        GitLink::open(&self.context, &self.task).await
    }
}

/// Formats a call in one line, for the user who decides about it; omitted characters are counted.
fn summary(call: &ToolCall) -> String {
    let whole = format!("{} {}", call.name, call.arguments);
    // JSON has escaped the line ends of the arguments already; other deceptive characters are escaped here.
    let plain = |c: char| c == ' ' || c.is_ascii_graphic() || c.is_alphanumeric() && !is_invisible(c);
    let mut shown: String = whole
        .chars()
        .take(SUMMARY_CHARS)
        .flat_map(|c| if plain(c) { vec![c] } else { c.escape_unicode().collect() })
        .collect();
    let more = whole.chars().count().saturating_sub(SUMMARY_CHARS);
    if more > 0 {
        shown.push_str(&format!("… ({more} more characters)"));
    }
    shown
}

/// A journal slot reserved for one event.
pub(crate) struct JournalSlot(Slot);

impl JournalSlot {
    /// Submits an event and the bytes that it names; the future resolves when they are durable.
    pub(crate) fn record(
        self,
        bytes: Vec<u8>,
        fact: impl FnOnce(BlobId) -> Event,
    ) -> impl Future<Output = Result<(), CoordinatorError>> + Send + 'static {
        let blob = Blob::new(bytes);
        let fact = fact(blob.id().clone());
        let durable = self.0.append(Batch::from(fact).with_blob(blob));
        async move {
            durable.await?;
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_is_shown_in_whole_or_says_what_is_missing() {
        let call = |command: &str| ToolCall {
            id: "c1".into(),
            name: "run_shell_command".to_owned(),
            arguments: json!({ "command": command }),
        };
        let long = format!("echo {}; rm -rf src", "a".repeat(190));
        assert_eq!(summary(&call(&long)), format!("run_shell_command {{\"command\":\"{long}\"}}"));
        assert_eq!(summary(&call("echo é \u{202e}\n")), r#"run_shell_command {"command":"echo é \u{202e}\n"}"#);
        assert!(summary(&call(&"a".repeat(5_000))).ends_with("a… (1032 more characters)"));
    }
}
