//! Drives our own agent loop: carries out each step of [`AgentLoop`], records it, and feeds it back.
//!
//! The order is always record → apply → act for what we do, and act → record → apply for what the world answers, so
//! an agent can be killed anywhere and taken up again by replay. Streaming stays out of the loop: deltas would go to
//! the display from here.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use orchestrate_core::agent_loop::{Finish, Step, interrupted};
use orchestrate_core::context::request_tokens;
use orchestrate_core::event::{Event, FailureCause, Recorded, ToolOutcome};
use orchestrate_core::policy::{Grant, Policy};
use orchestrate_core::{AgentFact, AgentLoop, AgentSpec, CallHash, CallId, ModelRequest, TaskId, ToolCall};
use orchestrate_journal::{Batch, Blob};
use orchestrate_sandbox::Cancel;
use orchestrate_tools::{Approval, CallEnd, CallLimits, CallOutcome, CallScope, ReadLedger, ResourceUsage};

use super::agent_driver::{AgentDriver, DriverEnd};
use super::agent_services::{AgentDesk, services};
use super::replay::replay;
use crate::error::CoordinatorError;
use crate::roles::grant;
use crate::run_context::value_blob;
use crate::shutdown::ShutdownLevel;
use crate::workplace::Workplace;

/// The longest summary of a call that a person is shown when it asks.
const SUMMARY_CHARS: usize = 200;

/// Drives one agent with a model.
pub(crate) struct LoopDriver {
    agent: AgentLoop,
    ledger: ReadLedger,
    desk: Arc<AgentDesk>,
    grant: Arc<Grant>,
    policy: Arc<Policy>,
}

impl LoopDriver {
    /// Takes an agent up where its recorded facts left it; calls whose end nobody saw are recorded as interrupted.
    pub(crate) async fn open(workplace: &Workplace) -> Result<Self, CoordinatorError> {
        let context = &workplace.context;
        let record = context.task(&workplace.task)?;
        let spec_id = record
            .spec
            .as_ref()
            .ok_or_else(|| CoordinatorError::UnknownTask { run: context.run.clone(), task: workplace.task.clone() })?;
        let spec: AgentSpec = context.blob_value(spec_id, "agent")?;
        if !record.open_calls.is_empty() {
            let facts = context.store.events_of_task(&context.run, &workplace.task, 0, usize::MAX)?;
            for call in &record.open_calls {
                close_interrupted(workplace, call, (record.turns, tool_of(call, &facts))).await?;
            }
        }
        let role = context.roles.role(record.agent.as_deref().unwrap_or_default())?;
        let facts = context.store.events_of_task(&context.run, &workplace.task, 0, usize::MAX)?;
        let replayed = replay(context, spec, &facts)?;
        Ok(Self {
            agent: replayed.agent,
            ledger: replayed.ledger,
            desk: AgentDesk::new(workplace, replayed.artifacts),
            grant: Arc::new(grant(role)),
            policy: Arc::clone(&workplace.policy),
        })
    }

    /// Hears the messages that wait; the agent that has just ended is reopened by them.
    async fn hear(&mut self, workplace: &Workplace) -> Result<(), CoordinatorError> {
        if !self.agent.can_hear() {
            return Ok(());
        }
        let state = workplace.context.state();
        let waiting: Vec<_> = state.messages_for(&workplace.task).cloned().collect();
        if waiting.is_empty() {
            return Ok(());
        }
        let delivered = waiting.iter().map(|envelope| Event::MessageDelivered {
            from: envelope.from.clone(),
            to: envelope.to.clone(),
            sequence: envelope.sequence,
        });
        workplace.context.record(delivered.collect()).await?;
        for envelope in &waiting {
            self.agent.apply(AgentFact::Delivered { text: envelope.render() })?;
        }
        Ok(())
    }

    /// Sends a request; none means that the agent goes on.
    async fn ask(
        &mut self,
        workplace: &Workplace,
        request: ModelRequest,
    ) -> Result<Option<DriverEnd>, CoordinatorError> {
        let (context, task, turn) = (&workplace.context, &workplace.task, request.origin.turn);
        if let Some(end) = self.announce(workplace, &request).await? {
            return Ok(Some(end));
        }
        let model = match context.models.model(&request.model) {
            Ok(model) => model,
            Err(error) => return failed(workplace, turn, FailureCause::Model, error.to_string()).await.map(Some),
        };
        let mut ignore_deltas = |_: orchestrate_model::Delta<'_>| {};
        let answer = tokio::select! {
            answer = model.complete(&request, &mut ignore_deltas) => answer,
            () = workplace.shutdown.reached(ShutdownLevel::Stop) => return Ok(Some(DriverEnd::Interrupted)),
        };
        match answer {
            Ok(reply) => {
                let blob = value_blob(&reply, "model reply")?;
                let (usage, stop) = (reply.usage, reply.stop.clone());
                let replied = |reply| Event::ModelReplied { task: task.clone(), turn, reply, usage, stop };
                context.record_with(blob, replied).await?;
                self.agent.apply(AgentFact::Replied { reply })?;
                Ok(None)
            }
            Err(error) => {
                let full = error.is_context_too_long();
                let cause = if full { FailureCause::Context } else { FailureCause::Model };
                failed(workplace, turn, cause, error.to_string()).await.map(Some)
            }
        }
    }

    /// Records that a request is about to be sent, if every budget can carry it.
    async fn announce(
        &self,
        workplace: &Workplace,
        request: &ModelRequest,
    ) -> Result<Option<DriverEnd>, CoordinatorError> {
        let (context, task, turn) = (&workplace.context, workplace.task.clone(), request.origin.turn);
        let input = u64::try_from(request_tokens(request, &*context.counter.current())).unwrap_or(u64::MAX);
        let reserved_tokens = input.saturating_add(u64::from(request.max_output_tokens));
        let blob = value_blob(request, "model request")?;
        let (request_id, model) = (blob.id().clone(), request.model.clone());
        let decided = context
            .journal
            .append_if(move |state| {
                state.budget.check(&task, reserved_tokens)?;
                let started = Event::TurnStarted { task: task.clone(), turn };
                let requested = Event::ModelRequested { task, turn, model, request: request_id, reserved_tokens };
                Ok::<_, orchestrate_core::budget::Exhausted>(Batch::from(vec![started, requested]).with_blob(blob))
            })
            .await?;
        Ok(decided.err().map(|exhausted| DriverEnd::Failed(FailureCause::Budget, exhausted.to_string())))
    }

    /// Runs calls in their order; none means that the agent goes on.
    async fn call(
        &mut self,
        workplace: &Workplace,
        calls: Vec<ToolCall>,
    ) -> Result<Option<DriverEnd>, CoordinatorError> {
        for call in calls {
            if workplace.shutdown.level() >= ShutdownLevel::Stop {
                return Ok(Some(DriverEnd::Interrupted));
            }
            let cancel = Cancel::new();
            let scope = self.scope(workplace, cancel.clone());
            let running = workplace.context.executor.call(&call, &scope);
            let outcome = workplace.shutdown.guard(&cancel, running).await;
            if let Some(error) = self.desk.lost() {
                return Err(error.into());
            }
            match outcome {
                CallOutcome::Done(output) => {
                    self.agent.apply(AgentFact::ToolEnded { result: output.to_result(&call.id) })?;
                }
                CallOutcome::NeedsApproval(hash) => {
                    park(workplace, &call, hash).await?;
                    return Ok(Some(DriverEnd::Parked));
                }
            }
        }
        Ok(None)
    }

    fn scope(&self, workplace: &Workplace, cancel: Cancel) -> CallScope {
        let context = &workplace.context;
        let state = context.state();
        CallScope {
            run: context.run.clone(),
            agent: workplace.task.clone(),
            attempt: workplace.attempt,
            turn: self.agent.turns(),
            grant: Arc::clone(&self.grant),
            policy: Arc::clone(&self.policy),
            approvals: Arc::new(approvals(workplace)),
            ask_parks: state.settings.ask_parks,
            worktree: Arc::clone(&workplace.scope),
            sandbox: Arc::clone(&context.sandbox),
            limits: CallLimits::default(),
            cancel,
            services: services(&self.desk),
            ledger: self.ledger.clone(),
            // A quarter of the bound: four results as large as this still leave a context that can work.
            result_tokens: self.agent.spec().context_tokens / 4,
        }
    }
}

#[async_trait]
impl AgentDriver for LoopDriver {
    async fn drive(&mut self, workplace: &Workplace) -> Result<DriverEnd, CoordinatorError> {
        loop {
            if workplace.shutdown.level() >= ShutdownLevel::Stop {
                return Ok(DriverEnd::Interrupted);
            }
            self.hear(workplace).await?;
            let ended = match self.agent.next_step(&*workplace.context.counter.current()) {
                Step::AwaitCounter => {
                    workplace.context.counter.wait().await?;
                    None
                }
                Step::Compact(compaction) => {
                    let (task, decided) = (workplace.task.clone(), compaction.clone());
                    workplace.context.record(vec![Event::ContextCompacted { task, compaction: decided }]).await?;
                    self.agent.apply(AgentFact::Compacted { compaction })?;
                    None
                }
                Step::CallModel(request) => self.ask(workplace, *request).await?,
                Step::CallTools(calls) => self.call(workplace, calls).await?,
                Step::Finish(finish) => Some(DriverEnd::Finished(finish)),
            };
            if let Some(end) = ended {
                return Ok(end);
            }
        }
    }
}

/// What people have decided about this agent's calls.
fn approvals(workplace: &Workplace) -> BTreeMap<CallHash, Approval> {
    let state = workplace.context.state();
    let decided = state.approvals_of(&workplace.task).filter_map(|(hash, approval)| {
        let (allowed, message) = approval.decision.as_ref()?;
        let reason = message.clone().unwrap_or_else(|| "a person said no".to_owned());
        let decision = if *allowed { Approval::Approved } else { Approval::Rejected { reason } };
        Some((hash.clone(), decision))
    });
    decided.collect()
}

/// Records that a call waits for a person.
async fn park(workplace: &Workplace, call: &ToolCall, hash: CallHash) -> Result<(), CoordinatorError> {
    let whole = format!("{} {}", call.name, call.arguments);
    let shown: String = whole.escape_debug().take(SUMMARY_CHARS).collect();
    let asked = Event::ApprovalRequested {
        task: workplace.task.clone(),
        call: hash,
        call_id: call.id.clone(),
        tool: call.name.clone(),
        summary: shown,
        rule: "ask".to_owned(),
    };
    workplace.context.record(vec![asked]).await
}

/// Records that a request failed for good, which releases its reservation.
async fn failed(
    workplace: &Workplace,
    turn: u32,
    cause: FailureCause,
    error: String,
) -> Result<DriverEnd, CoordinatorError> {
    let fact = Event::ModelFailed { task: workplace.task.clone(), turn, error: error.clone() };
    workplace.context.record(vec![fact]).await?;
    Ok(DriverEnd::Failed(cause, error))
}

/// Gives the name of the tool that a call started.
fn tool_of(call: &CallId, facts: &[Recorded]) -> String {
    let started = facts.iter().rev().find_map(|fact| match &fact.event {
        Event::ToolStarted { call_id, tool, .. } if call_id == call => Some(tool.clone()),
        _ => None,
    });
    started.unwrap_or_default()
}

/// Records the end of a call that nobody saw, so that the model is told and nothing is assumed.
async fn close_interrupted(
    workplace: &Workplace,
    call: &CallId,
    (turn, tool): (u32, String),
) -> Result<(), CoordinatorError> {
    let result = interrupted(call);
    let end = CallEnd {
        call: call.clone(),
        success: false,
        error_kind: Some(orchestrate_tools::ErrorKind::Interrupted),
        error: Some(result.text.clone()),
        text: result.text,
        artifacts: Vec::new(),
        deleted: Vec::new(),
        seen: Vec::new(),
        exit_code: None,
        duration_ms: 0,
        resource_usage: ResourceUsage::default(),
    };
    let blob: Blob = value_blob(&end, "tool result")?;
    let task: TaskId = workplace.task.clone();
    let fact = |result| Event::ToolFinished {
        task,
        turn,
        call_id: call.clone(),
        tool,
        outcome: ToolOutcome::Interrupted,
        result,
        duration_ms: 0,
        deleted: Vec::new(),
    };
    workplace.context.record_with(blob, fact).await
}

/// Tells how an agent's end fails its task; none for an end that hands work over.
pub(crate) fn failure_of(finish: &Finish) -> Option<(FailureCause, String)> {
    let (cause, text) = match finish {
        Finish::Done(_) => return None,
        Finish::OutOfTurns => (FailureCause::Turns, "the turns of the attempt are used up".to_owned()),
        Finish::ContextFull => {
            (FailureCause::Context, "the newest turn alone does not fit into the context".to_owned())
        }
        Finish::Silent => (FailureCause::Silent, "the model answered nothing twice".to_owned()),
        Finish::Looping => (FailureCause::Looping, "the agent repeated the same calls without a change".to_owned()),
        Finish::Refused(text) => (FailureCause::Refused, format!("the model would not answer: {text}")),
    };
    Some((cause, text))
}
