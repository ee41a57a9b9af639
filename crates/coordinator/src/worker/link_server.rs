//! The coordinator's end of a worker's link: the one place that answers a worker's requests.
//!
//! It answers for one task only. It decides nothing: each answer is read from the run's state, or
//! is what `orchestrate_core` decides inside the journal's sequencer.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future;
use std::sync::Arc;

use orchestrate_checks::blocking;
use orchestrate_core::agent::budget::{Amount, Reservation};
use orchestrate_core::agent::model_search::SearchRequested;
use orchestrate_core::collections::Mutex;
use orchestrate_core::event::{Event, Recorded};
use orchestrate_core::messages::{Envelope, MessageRefused, Origin, Outgoing, Sender, StopRefused};
use orchestrate_core::projections::HandBacks;
use orchestrate_core::record::{ChildrenSettled, HandOver};
use orchestrate_core::run::child::{KeptWork, TerminateDecision};
use orchestrate_core::run::{
    ApprovalDecision, AskedWait, Receipt, RunBranches, WaitDecision, WorkSpan,
};
use orchestrate_core::text::invisible::shown;
use orchestrate_core::{
    AgentId, AgentStatus, BlobId, CallHash, CallOfTurn, ReachedLimit, ReviewVerdict, RunState,
    TaskId, TaskRecord, VerdictRefused, WaitRefused,
};
use orchestrate_journal::{Appended, Batch, Blob, Slot};
use orchestrate_plan::{KnownNames, PlanError, proposed};
use orchestrate_tools::EndedAgentsWait;

use crate::error::{CoordinatorError, LinkError};
use crate::link::blobs::Blobs;
use crate::link::requests::{
    CallSlot, EndCall, Facts, LimitedBudgets, LinkReply as Reply, LinkRequest as Request,
    ReachLimit, ReadSkill, Reserve, SendMessage, StartCall, TerminateAgent,
};
use crate::link::worker_link::{Answer, Answers, WorkerLink};
use crate::ruling::Ruling;
use crate::run::context::RunContext;
use crate::run::new_child::{self, NewChild};
use crate::run::until_due;
use crate::texts::roles::known_names;
use crate::texts::skills::SkillRefused;
use crate::worker::{agent_map, childrens_work, end_facts, review_end};

/// The coordinator's end of one worker's link.
pub(crate) struct LinkServer {
    context: Arc<RunContext>,
    task: TaskId,
    /// The slots in the journal for the ends of open calls; one that is not used is released with
    /// the link.
    slots: Mutex<BTreeMap<CallSlot, Slot>>,
    /// The newest error that concerns the whole run.
    failed: Mutex<Option<CoordinatorError>>,
}

impl Answers for LinkServer {
    fn answer(self: Arc<Self>, request: Request) -> Answer {
        match request {
            // These two at once, since nobody may wait for their replies.
            Request::EndCall(call) => {
                let durable = self.end_call(*call);
                Box::pin(async move {
                    durable.await.map_err(|error| self.told(error))?;
                    Ok(Reply::EndCall(().into()))
                })
            }
            Request::TellLive(of) => {
                self.context.tell(of.item);
                Box::pin(future::ready(Ok(Reply::TellLive(().into()))))
            }
            other => Box::pin(async move {
                self.carry_out(other)
                    .await
                    .map_err(|error| self.told(error))
            }),
        }
    }
}

impl LinkServer {
    /// Creates the server of a task's link.
    pub(crate) fn new(context: &Arc<RunContext>, task: &TaskId) -> Arc<Self> {
        let (context, task) = (Arc::clone(context), task.clone());
        Arc::new(Self {
            context,
            task,
            slots: Mutex::default(),
            failed: Mutex::default(),
        })
    }

    /// Creates a worker's end.
    pub(crate) fn link(self: &Arc<Self>) -> WorkerLink {
        WorkerLink::new(
            self.context.run.clone(),
            self.task.clone(),
            Arc::clone(self) as Arc<dyn Answers>,
        )
    }

    /// Returns how a worker has ended: with the error itself, if one that concerns the whole run
    /// stayed here.
    pub(crate) fn ended(
        &self,
        ended: Result<(), CoordinatorError>,
    ) -> Result<(), CoordinatorError> {
        match ended {
            Err(CoordinatorError::Link(LinkError::Run(text))) => {
                let kept = self.failed.lock().take();
                Err(kept.unwrap_or(CoordinatorError::Link(LinkError::Run(text))))
            }
            other => other,
        }
    }

    /// Returns what the worker is told of an error.
    fn told(&self, error: CoordinatorError) -> LinkError {
        let message = error.to_string();
        match (&error, error.own_failure()) {
            (CoordinatorError::UnknownRole { name, known }, _) => {
                LinkError::Invalid(format!("there is no role '{name}'; the roles are: {known}"))
            }
            (_, Some(cause)) => LinkError::Task { cause, message },
            (_, None) => {
                *self.failed.lock() = Some(error);
                LinkError::Run(message)
            }
        }
    }

    async fn carry_out(&self, request: Request) -> Result<Reply, CoordinatorError> {
        let (context, task) = (&self.context, &self.task);
        Ok(match request {
            Request::ReadTask(_) => Reply::ReadTask(self.record()?.into()),
            Request::ReadHistory(_) => Reply::ReadHistory(self.history().await?.into()),
            Request::TakeMap(_) => Reply::TakeMap(agent_map::take(context, task).await?.into()),
            Request::ReadBlobs(of) => Reply::ReadBlobs(self.blobs(of.ids).await?.into()),
            Request::ReadDecisions(_) => Reply::ReadDecisions(self.decisions().into()),
            Request::ReadTaint(_) => Reply::ReadTaint(context.state().taint_guard(task).into()),
            Request::ReadPlan(of) => self.read_plan(of.section.as_deref()).await?,
            Request::ReadSkill(of) => Reply::ReadSkill(self.skill(*of).await?.into()),
            Request::ReadWorkSpan(_) => {
                Reply::ReadWorkSpan(WorkSpan::for_task(&context.state(), &self.record()?).into())
            }
            Request::ReadBranches(_) => {
                Reply::ReadBranches(RunBranches::for_run(&context.state()).into())
            }
            Request::ReadHandBacks(of) => {
                let handed = HandBacks::for_agents(&context.state(), &of.agents, Some(task));
                Reply::ReadHandBacks(Ruling::from(handed).into())
            }
            Request::JudgeRedCheck(_) => {
                Reply::JudgeRedCheck(self.context.state().after_red_check(&self.task).into())
            }
            Request::JudgePlan(of) => return self.judge_plan(&of.answer).await,
            Request::Record(of) => Reply::Record(self.append(of.facts).await?.into()),
            Request::StartCall(of) => Reply::StartCall(self.start_call(*of).await?.into()),
            Request::EndCall(of) => Reply::EndCall(self.end_call(*of).await?.into()),
            Request::ReadLimits(_) => Reply::ReadLimits(self.limits().into()),
            Request::Reserve(of) => Reply::Reserve(self.reserve(*of).await?.into()),
            Request::ReserveSearch(of) => {
                Reply::ReserveSearch(self.reserve_search(of.search).await?.into())
            }
            Request::AwaitBudget(of) => {
                Reply::AwaitBudget(self.await_budget(of.amount).await?.into())
            }
            Request::TellLive(of) => {
                context.tell(of.item);
                Reply::TellLive(().into())
            }
            Request::DeliverMessages(_) => Reply::DeliverMessages(self.deliver().await?.into()),
            Request::ForeseeMessage(of) => {
                Reply::ForeseeMessage(self.foresee_message(&of.message)?.into())
            }
            Request::SendMessage(of) => Reply::SendMessage(self.send(*of).await?.into()),
            Request::ForeseeChild(of) => {
                Reply::ForeseeChild(new_child::foresee(context, self.own(of.child))?.into())
            }
            Request::SpawnChild(of) => {
                Reply::SpawnChild(new_child::add(context, self.own(of.child)).await?.into())
            }
            Request::ForeseeTermination(of) => {
                let ruling = context.state().check_termination(task, &of.agent);
                Reply::ForeseeTermination(Ruling::from(ruling).into())
            }
            Request::TerminateAgent(of) => Reply::TerminateAgent(self.terminate(*of).await?.into()),
            Request::ReadAgentStatus(of) => Reply::ReadAgentStatus(self.status(&of.agent).into()),
            Request::ListActiveAgents(_) => {
                Reply::ListActiveAgents(context.state().active_agents(true).into())
            }
            Request::ForeseeWait(of) => {
                let ruling = context.state().check_wait(task, &of.agents, of.timeout);
                Reply::ForeseeWait(Ruling::from(ruling).into())
            }
            Request::WaitForAgents(of) => Reply::WaitForAgents(self.wait(of.wait).await?.into()),
            Request::TakesWorkAt(of) => Reply::TakesWorkAt(self.takes_work_at(&of.call)?.into()),
            Request::AwaitTimeout(_) => {
                self.out_of_time().await;
                Reply::AwaitTimeout(().into())
            }
            Request::ReachLimit(of) => Reply::ReachLimit(self.reach_limit(*of).await?.into()),
            Request::GiveVerdict(of) => {
                Reply::GiveVerdict(self.give_verdict(of.verdict).await?.into())
            }
            Request::ConcludeReview(of) => Reply::ConcludeReview(
                review_end::conclude(context, task, of.summary)
                    .await?
                    .into(),
            ),
            Request::SettleChildren(_) => {
                Reply::SettleChildren(self.settle_children().await?.into())
            }
            Request::HandOver(of) => Reply::HandOver(self.hand_over(of.fact).await?.into()),
            Request::Fail(of) => Reply::Fail(
                end_facts::fail_worked(context, task, of.failure)
                    .await?
                    .into(),
            ),
        })
    }

    /// Returns the task's record.
    fn record(&self) -> Result<TaskRecord, CoordinatorError> {
        self.context.task(&self.task)
    }
}

/// What the worker reads.
impl LinkServer {
    async fn history(&self) -> Result<Vec<Recorded>, CoordinatorError> {
        let (run, task) = (self.context.run.clone(), self.task.clone());
        self.context
            .read(move |store| store.events_of_task(&run, &task, 0, usize::MAX))
            .await
    }

    async fn blobs(&self, ids: Vec<BlobId>) -> Result<Blobs, CoordinatorError> {
        self.context
            .read(move |store| {
                ids.into_iter()
                    .map(|id| Ok((id.clone(), store.blob(&id)?)))
                    .collect()
            })
            .await
    }

    fn decisions(&self) -> BTreeMap<CallHash, ApprovalDecision> {
        let state = self.context.state();
        let calls = state.approvals_of(&self.task);
        calls
            .filter_map(|(call, approval)| Some((call.clone(), approval.decision.clone()?)))
            .collect()
    }

    /// Answers with the plan, or a section of it, or why there is none.
    async fn read_plan(&self, section: Option<&str>) -> Result<Reply, CoordinatorError> {
        let found = match (self.context.plan_text().await?, section) {
            (None, _) => Err("this run has no plan".to_owned()),
            (Some(text), None) => Ok(text),
            (Some(text), Some(heading)) => {
                let known = KnownNames::of_run(&self.context.state().settings);
                let found = orchestrate_plan::section(&text, heading, &known);
                found.map(str::to_owned).map_err(|headings| {
                    format!(
                        "the plan has no section `{}`; its sections: {}",
                        shown(heading),
                        headings.join(", ")
                    )
                })
            }
        };
        Ok(Reply::ReadPlan(Box::new(found)))
    }

    async fn skill(
        &self,
        ReadSkill { name, file }: ReadSkill,
    ) -> Result<Ruling<String, SkillRefused>, CoordinatorError> {
        let (context, base) = (Arc::clone(&self.context), self.context.state().base.clone());
        let read = move || {
            context
                .skills
                .read(&context.host.site.repo, &base, &name, file.as_deref())
        };
        blocking("a reader of skills", read).await
    }

    /// Judges the plan that an agent has made: of the document that the whole run rewrites, if it
    /// does.
    async fn judge_plan(&self, answer: &str) -> Result<Reply, CoordinatorError> {
        let settings = &self.context.state().settings;
        let rewrites = settings.plan_file.is_some() && self.record()?.task.goal;
        let document = match rewrites {
            true => self.context.plan_text().await?,
            false => None,
        };
        let known = known_names(&self.context.roles, settings.base_url.is_some());
        let judged = proposed(answer, document.as_deref(), &known, settings);
        Ok(Reply::JudgePlan(
            judged.map_err(|errors| errors_of(&errors)).into(),
        ))
    }
}

fn errors_of(errors: &[PlanError]) -> String {
    errors
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

/// What the worker records.
impl LinkServer {
    /// Requires that events are about the worker's own task, as a worker elsewhere could send
    /// others.
    fn require_own<'e>(
        &self,
        events: impl IntoIterator<Item = &'e Event>,
    ) -> Result<(), CoordinatorError> {
        if events
            .into_iter()
            .all(|event| event.task() == Some(&self.task))
        {
            return Ok(());
        }
        let task = &self.task;
        Err(LinkError::Invalid(format!(
            "the worker of {task} records events of another task"
        ))
        .into())
    }

    async fn append(&self, facts: Facts) -> Result<(), CoordinatorError> {
        self.require_own(&facts.events)?;
        self.context.journal.append(batch(facts)).await?;
        Ok(())
    }

    async fn start_call(
        &self,
        StartCall { started }: StartCall,
    ) -> Result<CallSlot, CoordinatorError> {
        self.require_own([&started])?;
        // Reserved first: the end must be recordable whatever happens after the start.
        let reserved = self.context.journal.reserve().await?;
        self.context.record(vec![started]).await?;
        let mut slots = self.slots.lock();
        let slot = slots
            .last_key_value()
            .map_or(CallSlot(0), |(CallSlot(last), _)| CallSlot(last + 1));
        slots.insert(slot, reserved);
        Ok(slot)
    }

    /// Submits the end of a call at once; the future resolves when it is durable.
    fn end_call(
        &self,
        EndCall { slot, end }: EndCall,
    ) -> impl Future<Output = Result<(), CoordinatorError>> + Send + use<> {
        let own = self.require_own(&end.events);
        let reserved = self.slots.lock().remove(&slot);
        let durable = reserved.map(|reserved| reserved.append(batch(end)));
        let run = self.context.run.clone();
        async move {
            own?;
            // A call has one end.
            durable.ok_or(CoordinatorError::Ended(run))?.await?;
            Ok(())
        }
    }
}

/// What the worker spends.
impl LinkServer {
    fn limits(&self) -> LimitedBudgets {
        let state = self.context.state();
        LimitedBudgets {
            tokens: state.budget.is_capped(&self.task),
            money: state.money.is_capped(&self.task),
        }
    }

    async fn reserve(&self, asked: Reserve) -> Result<Ruling<u64, Reservation>, CoordinatorError> {
        let task = self.task.clone();
        let Reserve {
            turn,
            model,
            request,
            parts,
            new,
            amount,
        } = asked;
        let blobs = new.into_iter().map(Blob::new).collect();
        let sent =
            self.context
                .journal
                .append_if(move |state| match state.ask_budgets(&task, amount) {
                    Reservation::Fits => {
                        let Amount {
                            tokens: reserved_tokens,
                            micro_usd: reserved_micro_usd,
                        } = amount;
                        let started = Event::TurnStarted {
                            task: task.clone(),
                            turn,
                        };
                        let requested = Event::ModelRequested {
                            task,
                            turn,
                            model,
                            request,
                            parts,
                            reserved_tokens,
                            reserved_micro_usd,
                        };
                        Ok(Batch {
                            events: vec![started, requested],
                            blobs,
                            ..Batch::default()
                        })
                    }
                    other => Err(other),
                });
        let refusal = match sent.await? {
            Appended::Recorded(numbers) => {
                return numbers
                    .last()
                    .map(|seq| Ruling::Granted(*seq))
                    .ok_or(CoordinatorError::Ended(self.context.run.clone()));
            }
            Appended::Refused(refusal) => refusal,
        };
        if refusal == Reservation::Waits {
            self.record_wait(turn, amount).await?;
        }
        Ok(Ruling::Refused(refusal))
    }

    async fn reserve_search(
        &self,
        search: SearchRequested,
    ) -> Result<Ruling<(), Reservation>, CoordinatorError> {
        self.require_own([&Event::SearchRequested(search.clone())])?;
        let (turn, amount) = (search.turn, search.amount());
        let asked = self.context.journal.append_if(move |state| {
            match state.ask_budgets(&search.task, amount) {
                Reservation::Fits => Ok(Batch::from(vec![Event::SearchRequested(search)])),
                other => Err(other),
            }
        });
        let refusal = asked.await?.recorded().err();
        if refusal == Some(Reservation::Waits) {
            self.record_wait(turn, amount).await?;
        }
        Ok(refusal.map_or(Ruling::Granted(()), Ruling::Refused))
    }

    /// Records that a request waits, unless it need not any more or this is recorded already.
    async fn record_wait(&self, turn: u32, amount: Amount) -> Result<(), CoordinatorError> {
        let task = self.task.clone();
        let waited = move |state: &RunState| {
            let recorded = state.waiting_for(&task) == Some(amount);
            let waits = !recorded && state.ask_budgets(&task, amount) == Reservation::Waits;
            let Amount { tokens, micro_usd } = amount;
            let fact = waits.then_some(Event::BudgetWaited {
                task,
                turn,
                tokens,
                micro_usd,
            });
            Batch::from(fact.into_iter().collect::<Vec<_>>())
        };
        self.context.decide(waited).await
    }

    async fn await_budget(&self, amount: Amount) -> Result<(), CoordinatorError> {
        let mut state = self.context.journal.watch();
        let decided = state
            .wait_for(|state| state.ask_budgets(&self.task, amount) != Reservation::Waits)
            .await;
        decided
            .map(|_| ())
            .map_err(|_| CoordinatorError::Ended(self.context.run.clone()))
    }
}

/// Messages, and other agents.
impl LinkServer {
    async fn deliver(&self) -> Result<Vec<Envelope>, CoordinatorError> {
        if self
            .context
            .state()
            .messages_for(&self.task)
            .next()
            .is_none()
        {
            return Ok(Vec::new());
        }
        let task = self.task.clone();
        let delivered = self.context.decide_and_tell(move |state| {
            let (events, read) = state.decide_delivery(&task);
            Ok::<_, Infallible>((Batch::from(events), read))
        });
        match delivered.await? {
            Ruling::Granted(read) => Ok(read),
            Ruling::Refused(never) => match never {},
        }
    }

    async fn send(
        &self,
        SendMessage { call, message }: SendMessage,
    ) -> Result<Ruling<Option<Receipt>, MessageRefused>, CoordinatorError> {
        self.context.send(self.origin(Some(call))?, message).await
    }

    fn foresee_message(
        &self,
        message: &Outgoing,
    ) -> Result<Ruling<(), MessageRefused>, CoordinatorError> {
        let decided = self
            .context
            .state()
            .decide_message(&self.origin(None)?, message);
        Ok(decided.map(drop).into())
    }

    /// Returns the agent as the sender of a message.
    fn origin(&self, call: Option<CallOfTurn>) -> Result<Origin, CoordinatorError> {
        let record = self.record()?;
        let role = record
            .agent()
            .map(|name| self.context.roles.role(name))
            .transpose()?;
        let channels = role.and_then(|role| role.channels.clone());
        Ok(Origin {
            from: Sender::Agent(self.task.clone()),
            call,
            channels,
        })
    }

    /// Returns a child as one of this agent.
    fn own(&self, child: NewChild) -> NewChild {
        NewChild {
            parent: Some(self.task.clone()),
            ..child
        }
    }

    async fn terminate(
        &self,
        TerminateAgent { call, agent }: TerminateAgent,
    ) -> Result<Ruling<Option<Vec<KeptWork>>, StopRefused>, CoordinatorError> {
        let (by, named) = (self.task.clone(), agent.clone());
        let stops = self.context.journal.append_if(move |state| {
            match state.decide_termination(&by, &call, &named) {
                Ok(TerminateDecision::Stops(events)) => Ok(Batch::from(events)),
                Ok(TerminateDecision::Over) => Err(None),
                Err(refused) => Err(Some(refused)),
            }
        });
        Ok(match stops.await? {
            Appended::Recorded(_) => Ruling::Granted(None),
            Appended::Refused(None) => {
                Ruling::Granted(Some(self.context.state().kept_work(&agent)))
            }
            Appended::Refused(Some(refused)) => Ruling::Refused(refused),
        })
    }

    fn status(&self, agent: &AgentId) -> Result<AgentStatus, String> {
        let state = self.context.state();
        let record = state
            .known_agent(agent)
            .map_err(|refused| refused.to_string())?;
        let messages = state.channel(&Sender::Agent(self.task.clone()), &agent.clone().into());
        let messages = Some(messages).filter(|messages| messages.sent > 0);
        Ok(AgentStatus {
            messages,
            ..state.agent_status(record, true)
        })
    }

    async fn wait(
        &self,
        asked: AskedWait,
    ) -> Result<Ruling<Option<EndedAgentsWait>, WaitRefused>, CoordinatorError> {
        let (task, wanted) = (self.task.clone(), asked.clone());
        let waits =
            self.context
                .journal
                .append_if(move |state| match state.decide_wait(&task, &wanted) {
                    Ok(WaitDecision::Waits(fact)) => Ok(Batch::from(*fact)),
                    Ok(WaitDecision::Over { timed_out }) => Err(Ok(timed_out)),
                    Err(refused) => Err(Err(refused)),
                });
        let timed_out = match waits.await? {
            Appended::Recorded(_) => return Ok(Ruling::Granted(None)),
            Appended::Refused(Err(refused)) => return Ok(Ruling::Refused(refused)),
            Appended::Refused(Ok(timed_out)) => timed_out,
        };
        let state = self.context.state();
        let named: Vec<&TaskRecord> = asked.ids.iter().filter_map(|id| state.task(id)).collect();
        let all_done = asked.ids.iter().all(|id| state.is_done_for(&self.task, id));
        let agents = named
            .iter()
            .map(|record| state.agent_status(record, true))
            .collect();
        let has_message = state.messages_for(&self.task).next().is_some();
        let merged = childrens_work::merged_into(&self.context, &self.task, &asked.ids).await?;
        Ok(Ruling::Granted(Some(EndedAgentsWait {
            all_done,
            timed_out,
            has_message,
            agents,
            merged,
        })))
    }

    fn takes_work_at(&self, call: &CallOfTurn) -> Result<bool, CoordinatorError> {
        let (record, state) = (self.record()?, self.context.state());
        let has_waited = record.ended_wait().is_some_and(|ended| ended.of == *call);
        Ok(!has_waited && state.open_children(&self.task).next().is_some())
    }
}

/// The end of the worker's task.
impl LinkServer {
    /// Resolves when the attempt's time is used up; never if it has no limit. While the agent waits
    /// for a model that does not answer, its time stands still.
    async fn out_of_time(&self) {
        let is_waiting = |state: &RunState| {
            state
                .task(&self.task)
                .is_some_and(|record| record.outage().is_some())
        };
        let left = |state: &RunState| {
            state
                .time_left_of(&self.task)
                .filter(|_| !is_waiting(state))
        };
        until_due::reached(self.context.journal.watch(), left).await;
    }

    async fn reach_limit(
        &self,
        ReachLimit { cause, message }: ReachLimit,
    ) -> Result<Option<ReachedLimit>, CoordinatorError> {
        let task = self.task.clone();
        let due = move |state: &RunState| {
            state
                .decide_report(&task, cause, &message)
                .map(Batch::from)
                .ok_or(())
        };
        match self.context.journal.append_if(due).await? {
            Appended::Recorded(_) => Ok(self.record()?.reached_limit().cloned()),
            Appended::Refused(()) => Ok(None),
        }
    }

    async fn give_verdict(
        &self,
        verdict: ReviewVerdict,
    ) -> Result<Ruling<(), VerdictRefused>, CoordinatorError> {
        let task = self.task.clone();
        let given = self
            .context
            .journal
            .append_if(move |state| state.decide_verdict(&task, &verdict).map(Batch::from));
        Ok(given.await?.recorded().map(drop).into())
    }

    async fn settle_children(&self) -> Result<ChildrenSettled, CoordinatorError> {
        let task = self.task.clone();
        let waits =
            self.context
                .journal
                .append_if(move |state| match state.decide_hand_over(&task) {
                    HandOver::AfterChildren(wait) => Ok(Batch::from(*wait)),
                    other => Err(other),
                });
        match waits.await? {
            Appended::Recorded(_) => Ok(ChildrenSettled::Waits),
            Appended::Refused(HandOver::Now) => Ok(ChildrenSettled::Done),
            Appended::Refused(HandOver::AfterNews) => {
                childrens_work::tell(&self.context, &self.task).await?;
                Ok(ChildrenSettled::WorkLeft)
            }
            Appended::Refused(HandOver::AfterMessages | HandOver::AfterChildren(_)) => {
                Ok(ChildrenSettled::WorkLeft)
            }
        }
    }

    async fn hand_over(&self, fact: Event) -> Result<bool, CoordinatorError> {
        self.require_own([&fact])?;
        let task = self.task.clone();
        let handed =
            self.context
                .journal
                .append_if(move |state| match state.decide_hand_over(&task) {
                    HandOver::Now => Ok(Batch::from(fact)),
                    other => Err(other),
                });
        Ok(handed.await?.recorded().is_ok())
    }
}

/// Returns facts with the bytes that they name, to be recorded together.
fn batch(Facts { events, blobs }: Facts) -> Batch {
    Batch {
        events,
        blobs: blobs.into_iter().map(Blob::new).collect(),
        ..Batch::default()
    }
}
