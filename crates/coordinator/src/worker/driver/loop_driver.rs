//! Drives our own agent loop: carries out each step of [`AgentLoop`], records it, and feeds it
//! back.
//!
//! The order is always record → apply → act for our actions, and act → record → apply for external
//! answers, so an agent can be killed anywhere and resumed by replay. Streaming stays out of the
//! loop: until a reply is complete, only retries are reported.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use orchestrate_checks::{ShutdownLevel, blocking};
use orchestrate_core::agent::agent_loop::{Finish, Step};
use orchestrate_core::agent::model_fallback::Failure;
use orchestrate_core::event::{Event, Recorded};
use orchestrate_core::policy::tool_settings::WebRequests;
use orchestrate_core::policy::{Grant, Permission};
use orchestrate_core::run::ApprovalDecision;
use orchestrate_core::{
    AgentFact, AgentLoop, CallHash, CallId, ModelReply, ModelRequest, RequestChain, ReviewVerdict,
    ToolCall,
};
use orchestrate_sandbox::Cancel;
use orchestrate_tools::{
    AgentCpu, Approval, CallLimits, CallOutcome, CallScope, Notes, ReadLedger, ToolOutput,
};

use super::agent_driver::{AgentDriver, DriverEnd};
use super::agent_services::{AgentServices, services};
use super::ask_approval::ask_approval;
use super::asking::{Answer, Asking, Out, complete, note_outage};
use super::call_end::{CallOf, finished};
use super::native_search::NativeSearch;
use super::restore_agent::{named_blobs, replay};
use super::spending::{Due, announce, price_of};
use crate::error::CoordinatorError;
use crate::link::requests::{
    DeliverMessages, Facts, ReadBlobs, ReadDecisions, ReadHistory, ReadTaint,
};
use crate::run::codec::value_bytes;
use crate::worker::workplace::Workplace;

/// The minimum size of a result, however many calls a turn has: a message, and the mark of what is
/// left out.
const LEAST_RESULT_TOKENS: u64 = 128;

/// The permission of the tools that run programs.
const CODE_EXECUTION: Permission = Permission::CodeExecution;

/// Why a request cannot be made small enough.
const CONTEXT_FULL: &str = "the parts that cannot be left out (task text, tools, list of steps, \
                            notes) do not fit into its context; shorten the task, or start a run \
                            with larger `context_tokens`";

/// Drives one agent with a model.
pub(crate) struct LoopDriver {
    pub(super) agent: AgentLoop,
    /// What its requests are made of.
    pub(super) requests: RequestChain,
    ledger: ReadLedger,
    notes: Notes,
    services: Arc<AgentServices>,
    grant: Arc<Grant>,
    asking: Asking,
    /// The tools that may answer instead of others.
    alternatives: Arc<BTreeMap<String, String>>,
    /// What the user lets tools do on the web.
    web: Arc<WebRequests>,
}

impl Drop for LoopDriver {
    fn drop(&mut self) {
        self.services.close();
    }
}

impl LoopDriver {
    /// Restores an agent from its recorded events; calls whose end was not observed are recorded as
    /// interrupted.
    pub(crate) async fn open(workplace: &Workplace) -> Result<Self, CoordinatorError> {
        let (link, assignment) = (&workplace.link, &workplace.assignment);
        let record = link.task().await?;
        let Some(role) = &assignment.role else {
            return Err(CoordinatorError::UnknownTask {
                run: assignment.run.clone(),
                task: assignment.agent.clone(),
            });
        };
        let mut facts = link.ask(ReadHistory {}).await?;
        if !record.open_calls().is_empty() {
            for call in record.open_calls() {
                close_interrupted(workplace, call, record.turns(), tool_of(call, &facts)).await?;
            }
            facts = link.ask(ReadHistory {}).await?;
        }
        let agent = AgentLoop::new(role.spec.clone(), &workplace.assignment.tools);
        let blobs = link
            .ask(ReadBlobs {
                ids: named_blobs(&facts),
            })
            .await?;
        let replayed = blocking("the replay of an agent", move || {
            replay(agent, &facts, &blobs)
        })
        .await?;
        Ok(Self {
            asking: Asking::new(replayed.agent.spec().models()),
            agent: replayed.agent,
            requests: replayed.requests,
            ledger: replayed.ledger,
            notes: replayed.notes,
            services: AgentServices::new(workplace, record.agent(), replayed.artifacts),
            grant: Arc::new(role.grant.clone()),
            alternatives: Arc::new(assignment.tool_settings.alternatives.clone()),
            web: Arc::new(assignment.tool_settings.web_requests.clone()),
        })
    }

    /// Delivers the pending messages, except those whose deadline has passed; they reopen an agent
    /// that has just ended.
    async fn deliver_messages(&mut self, workplace: &Workplace) -> Result<(), CoordinatorError> {
        if !self.agent.can_hear() {
            return Ok(());
        }
        for envelope in workplace.link.ask(DeliverMessages {}).await? {
            self.agent.apply(AgentFact::Delivered {
                text: envelope.render(),
            })?;
        }
        Ok(())
    }

    /// Sends a request to the model in use; returns `None` if the agent continues.
    async fn ask(
        &mut self,
        workplace: &Workplace,
        request: ModelRequest,
    ) -> Result<Option<DriverEnd>, CoordinatorError> {
        let turn = request.origin.turn;
        let mut due = Due {
            request: &request,
            agent: Some(&self.agent),
            requests: &mut self.requests,
        };
        if let Some(end) = announce(workplace, &mut due).await? {
            return Ok(Some(end));
        }
        let leaves_after = self.asking.leaves_after(self.agent.model_in_use());
        let answer = match workplace.host.models.model(&request.model) {
            Ok(model) => complete(workplace, &*model, &mut due, leaves_after).await?,
            Err(error) => Answer::failed(&error),
        };
        match answer {
            Answer::Reply(reply) => {
                self.take_reply(workplace, &request, reply).await?;
                self.asking = Asking::new(self.agent.spec().models());
                Ok(None)
            }
            Answer::Out(unanswered) => self.hand_on(workplace, turn, unanswered).await,
            Answer::Ended(end) => Ok(Some(end)),
        }
    }

    /// Records a reply, and applies it.
    pub(super) async fn take_reply(
        &mut self,
        workplace: &Workplace,
        request: &ModelRequest,
        reply: ModelReply,
    ) -> Result<(), CoordinatorError> {
        let turn = request.origin.turn;
        let reply = reply.bounded(turn);
        let micro_usd = price_of(workplace, &request.model).map(|price| price.cost(reply.usage));
        let (task, usage, stop) = (workplace.task().clone(), reply.usage, reply.stop.clone());
        let replied = |reply| Event::ModelReplied {
            task,
            turn,
            reply,
            usage,
            micro_usd,
            stop,
        };
        workplace
            .link
            .record(Facts::naming(value_bytes(&reply, "model reply")?, replied))
            .await?;
        self.agent.apply(AgentFact::Replied { reply })?;
        Ok(())
    }

    /// Lets the next model take over a request that was not answered, waiting if all are out;
    /// returns `None` if the agent continues.
    async fn hand_on(
        &mut self,
        workplace: &Workplace,
        turn: u32,
        out: Out,
    ) -> Result<Option<DriverEnd>, CoordinatorError> {
        let from = self.agent.model_in_use();
        let patience = Duration::from_millis(workplace.assignment.limits.outage_patience_ms);
        let Some(next) = self.asking.after(from, &out, patience) else {
            return self.asking.end(workplace, turn, from, out).await.map(Some);
        };
        if self.asking.is_outage() {
            note_outage(workplace, turn, out.error.clone()).await?;
        }
        if !self
            .asking
            .wait(workplace, next.wait, (&out, patience))
            .await
        {
            return Ok(Some(DriverEnd::Interrupted));
        }
        if next.model != from {
            let name = |number| {
                self.agent
                    .spec()
                    .model(number)
                    .map_or_else(String::new, |(name, _)| name.to_owned())
            };
            let (from, to) = (name(from), name(next.model));
            let (task, model) = (workplace.task().clone(), to.clone());
            let switched = Event::ModelSwitched {
                task,
                turn,
                from,
                to,
                error: out.error,
            };
            workplace.link.record(vec![switched]).await?;
            self.agent.apply(AgentFact::ModelSwitched { model })?;
        }
        Ok(None)
    }

    /// Runs calls in order; returns `None` if the agent continues.
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
            let scope = self.scope(workplace, cancel.clone()).await?;
            let running = workplace.host.executor.call(&call, &scope);
            let outcome = workplace.shutdown.guard(&cancel, running).await;
            if let Some(error) = self.services.lost() {
                return Err(error);
            }
            match outcome {
                CallOutcome::Done(output) => {
                    self.agent.apply(AgentFact::ToolEnded {
                        answer: output.to_answer(),
                    })?;
                }
                CallOutcome::NeedsApproval {
                    call: hash,
                    tool,
                    arguments,
                    rule,
                } => {
                    // As it would run, under the tool's own name: the hash covers exactly that.
                    let asking = ToolCall {
                        id: call.id,
                        name: tool,
                        arguments,
                    };
                    ask_approval(workplace, asking, hash, rule).await?;
                    return Ok(Some(DriverEnd::Parked));
                }
                CallOutcome::Waits => return Ok(Some(DriverEnd::Parked)),
            }
        }
        Ok(None)
    }

    /// Returns the verdict with which the agent has ended, as its report.
    async fn verdict(&self, workplace: &Workplace) -> Result<Option<String>, CoordinatorError> {
        // Every call of the reply has its result first.
        if !workplace.assignment.task.verdict || !self.agent.can_hear() {
            return Ok(None);
        }
        Ok(workplace
            .link
            .task()
            .await?
            .given_verdict()
            .map(ReviewVerdict::report))
    }

    /// Returns the model in use.
    fn model(&self) -> &str {
        self.agent
            .spec()
            .model(self.agent.model_in_use())
            .map_or("", |(name, _)| name)
    }

    async fn scope(
        &self,
        workplace: &Workplace,
        cancel: Cancel,
    ) -> Result<CallScope, CoordinatorError> {
        let assignment = &workplace.assignment;
        let search = NativeSearch::new(Arc::clone(&self.services), self.model());
        Ok(CallScope {
            run: assignment.run.clone(),
            agent: assignment.agent.clone(),
            attempt: assignment.attempt,
            turn: self.agent.turns(),
            grant: Arc::clone(&self.grant),
            policy: Arc::clone(&workplace.policy),
            taint: Arc::new(workplace.link.ask(ReadTaint {}).await?),
            approvals: Arc::new(approvals(workplace).await?),
            ask_parks: assignment.limits.ask_parks,
            worktree: Arc::clone(&workplace.scope),
            sandbox: Arc::clone(&workplace.sandbox),
            limits: CallLimits::from_settings(&assignment.tool_settings),
            agent_cpu: AgentCpu::from_settings(
                &assignment.tool_settings,
                workplace.link.task().await?.command_cpu_ms(),
            ),
            alternatives: Arc::clone(&self.alternatives),
            web: Arc::clone(&self.web),
            cancel,
            services: services(&self.services, &workplace.host.web, Arc::new(search)),
            ledger: self.ledger.clone(),
            notes: self.notes.clone(),
            shared: workplace.host.shared.clone(),
            result_tokens: result_tokens(self.agent.context_tokens(), self.agent.calls_of_reply()),
        })
    }
}

#[async_trait]
impl AgentDriver for LoopDriver {
    async fn drive(&mut self, workplace: &Workplace) -> Result<DriverEnd, CoordinatorError> {
        loop {
            if workplace.shutdown.level() >= ShutdownLevel::Stop {
                return Ok(DriverEnd::Interrupted);
            }
            self.deliver_messages(workplace).await?;
            if let Some(report) = self.verdict(workplace).await? {
                return Ok(DriverEnd::Finished(report));
            }
            let ended = match self.agent.next_step(&*workplace.host.counter.current()) {
                Step::AwaitCounter => {
                    workplace.host.counter.wait().await?;
                    None
                }
                Step::Compact(compaction) => {
                    let (task, decided) = (workplace.task().clone(), compaction.clone());
                    workplace
                        .link
                        .record(vec![Event::ContextCompacted {
                            task,
                            compaction: decided,
                        }])
                        .await?;
                    self.agent.apply(AgentFact::Compacted { compaction })?;
                    None
                }
                Step::CallModel(request) => self.ask(workplace, *request).await?,
                Step::CallTools(calls) => self.call(workplace, calls).await?,
                Step::Report(request) => self.report(workplace, *request).await?,
                // A fall-back that is too small for the task cannot take over; another one may.
                Step::Finish(Finish::ContextFull) if self.agent.model_in_use() > 0 => {
                    let out = Out {
                        failure: Failure::TooLarge,
                        rejecting: None,
                        error: format!("fit the request: {CONTEXT_FULL}"),
                    };
                    self.hand_on(workplace, self.agent.turns() + 1, out).await?
                }
                Step::Finish(finish) => Some(end_of(finish)),
            };
            if let Some(end) = ended
                && let Some(end) = self.report_at_limit(workplace, end).await?
            {
                return Ok(end);
            }
        }
    }
}

/// Returns the maximum size of a result in a turn with this many calls: at most a quarter of the
/// context, and half of it for all results, so that the turn and its predecessors leave enough room
/// to work.
fn result_tokens(context_tokens: u64, calls: usize) -> u64 {
    let calls = u64::try_from(calls).unwrap_or(u64::MAX).max(1);
    (context_tokens / 4)
        .min(context_tokens / 2 / calls)
        .max(LEAST_RESULT_TOKENS)
}

/// Returns the user's decisions on this agent's calls.
async fn approvals(
    workplace: &Workplace,
) -> Result<BTreeMap<CallHash, Approval>, CoordinatorError> {
    let decisions = workplace.link.ask(ReadDecisions {}).await?;
    let decided = decisions
        .into_iter()
        .map(|(call, ApprovalDecision { allowed, message })| {
            let reason = message.unwrap_or_else(|| "the user denied it".to_owned());
            (
                call,
                if allowed {
                    Approval::Approved
                } else {
                    Approval::Rejected { reason }
                },
            )
        });
    Ok(decided.collect())
}

/// Returns the name of the tool that a call used.
fn tool_of(call: &CallId, facts: &[Recorded]) -> String {
    let started = facts.iter().rev().find_map(|fact| match &fact.event {
        Event::ToolStarted { call_id, tool, .. } if call_id == call => Some(tool.clone()),
        _ => None,
    });
    started.unwrap_or_default()
}

/// Records the end of a call that was not observed, so that the model is told and nothing is
/// assumed.
async fn close_interrupted(
    workplace: &Workplace,
    call: &CallId,
    turn: u32,
    tool: String,
) -> Result<(), CoordinatorError> {
    let runs_programs = workplace
        .assignment
        .tools
        .tool(&tool)
        .is_some_and(|traits| traits.permission == CODE_EXECUTION);
    let undo = if runs_programs {
        workplace.files.undo_of_command().await?
    } else {
        None
    };
    let end = ToolOutput::interrupted(call);
    let footer = std::iter::once(end.footer.clone())
        .chain(undo)
        .collect::<Vec<_>>()
        .join("\n");
    let end = ToolOutput { footer, ..end };
    let of = CallOf {
        task: workplace.task().clone(),
        turn,
        tool,
    };
    let fact = |result| finished(&end, of, result);
    workplace
        .link
        .record(Facts::naming(value_bytes(&end, "tool result")?, fact))
        .await
}

/// Returns how an agent's end ends the driver's work.
fn end_of(finish: Finish) -> DriverEnd {
    let cause = finish.failure_cause();
    let text = match finish {
        Finish::Done(report) => report,
        Finish::OutOfTurns => "the attempt has used all its turns".to_owned(),
        Finish::ContextFull => CONTEXT_FULL.to_owned(),
        Finish::Silent => "the model returned two empty replies".to_owned(),
        Finish::Looping => "the agent repeated the same calls with the same results".to_owned(),
        Finish::CutOff => {
            "the model's replies were repeatedly cut off at their maximum size; give its role a \
             larger `orchestrate-max-output-tokens`, or split the task"
                .to_owned()
        }
        Finish::Refused(text) => format!("the model refused to answer: {text}"),
        Finish::AtLimit { limit, report } => return DriverEnd::AtLimit { limit, report },
    };
    match cause {
        None => DriverEnd::Finished(text),
        Some(cause) => DriverEnd::Failed(cause, text),
    }
}
