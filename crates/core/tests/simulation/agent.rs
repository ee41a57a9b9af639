//! The driver of an agent: carries out each step of its [`AgentLoop`], and records what happened.
//!
//! It follows the coordinator's (`crates/coordinator/src/worker/driver/loop_driver.rs`).

use std::time::Duration;

use orchestrate_core::agent::budget::{Amount, Reservation};
use orchestrate_core::event::{Event, ToolOutcome};
use orchestrate_core::messages::{Address, Body, MessageKind, Origin, Outgoing, Sender};
use orchestrate_core::policy::Grant;
use orchestrate_core::run::child::{AskedChild, SpawnDecision};
use orchestrate_core::run::{ApprovalDecision, AskedWait, WaitDecision};
use orchestrate_core::task::FailureCause;
use orchestrate_core::{
    AgentFact, AgentLimits, AgentLoop, Authority, BlobId, CallHash, CallId, CallOfTurn, Finish,
    Message, ModelRequest, RequestHash, RequestParts, RequestedChange, ReviewVerdict, RunSettings,
    RunState, SameAgain, Step, TaskId, ToolAnswer, ToolCall, VerdictKind,
};
use serde_json::Value;

use crate::model::{self, ANSWER, IDLE, IMPROVE, INTERRUPTED, MEND, OK, Quarter, REFUSED, VERDICT};
use crate::scenario::Act;
use crate::worker;
use crate::world::{Blob, World};

/// How a driver's work ended.
pub(crate) enum DriverEnd {
    Finished(String),
    Failed(FailureCause, Option<String>),
    Parked,
    Interrupted,
}

struct Driver<'w> {
    world: &'w World,
    task: &'w TaskId,
    agent: AgentLoop,
}

/// Drives an agent until it stops.
pub(crate) async fn drive(world: &World, task: &TaskId) -> DriverEnd {
    let record = world.task(task);
    for call in record.open_calls() {
        let turn = record.turns();
        world
            .append(|_| {
                vec![finished(
                    world,
                    task,
                    (turn, call),
                    (ToolOutcome::Interrupted, INTERRUPTED),
                )]
            })
            .await;
    }
    let mut driver = Driver {
        world,
        task,
        agent: replayed(world, task),
    };
    let end = driver.run().await;
    assert_eq!(
        replayed(world, task),
        driver.agent,
        "the agent {task} is not the fold of its events"
    );
    end
}

/// Restores an agent from its events.
fn replayed(world: &World, task: &TaskId) -> AgentLoop {
    let mut agent = AgentLoop::new(
        model::spec(&world.scenario, task),
        &world.scenario.settings.tools,
    );
    let mut sent = std::collections::BTreeMap::new();
    for fact in world.history(task) {
        let told = match fact.event {
            Event::MessageSent { envelope } => {
                sent.insert((envelope.from.clone(), envelope.sequence), envelope);
                continue;
            }
            Event::MessageDelivered {
                from,
                sequence,
                expired: false,
                ..
            } => AgentFact::Delivered {
                text: sent[&(from, sequence)].render(),
            },
            Event::ReportDue(due) => AgentFact::ReportDue { limit: due.limit },
            Event::ModelRequested { .. } if agent.is_at_limit() => AgentFact::ReportAsked,
            Event::ModelReplied { reply, .. } => match world.blob(&reply) {
                Blob::Reply(reply) => AgentFact::Replied { reply },
                Blob::Answer(_) => unreachable!("a reply is no answer"),
            },
            Event::ToolFinished { result, .. } => match world.blob(&result) {
                Blob::Answer(answer) => AgentFact::ToolEnded { answer },
                Blob::Reply(_) => unreachable!("an answer is no reply"),
            },
            Event::TaskReturned { cause, text, .. } => {
                if cause.is_new_attempt() {
                    agent.apply(AgentFact::AttemptStarted).unwrap();
                }
                AgentFact::Returned {
                    cause,
                    text: text.to_string(),
                }
            }
            _ => continue,
        };
        agent.apply(told).unwrap();
    }
    agent
}

impl Driver<'_> {
    async fn run(&mut self) -> DriverEnd {
        loop {
            if self.world.has_stopped() {
                return DriverEnd::Interrupted;
            }
            self.deliver_messages().await;
            let record = self.world.task(self.task);
            if record.task.verdict && self.agent.can_hear() && record.given_verdict().is_some() {
                return DriverEnd::Finished("A verdict.".to_owned());
            }
            let ended = match self.agent.next_step(&Quarter) {
                Step::CallModel(request) => self.ask(&request).await,
                Step::CallTools(calls) => self.call(calls).await,
                Step::Finish(Finish::Done(report)) => Some(DriverEnd::Finished(report)),
                Step::Report(request) => self.report(&request).await,
                Step::Finish(Finish::AtLimit { limit, report }) => {
                    Some(DriverEnd::Failed(limit.cause, report))
                }
                Step::Finish(other) => other
                    .failure_cause()
                    .map(|cause| DriverEnd::Failed(cause, None)),
                other => unreachable!("the context is large enough: {other:?}"),
            };
            if let Some(end) = ended
                && let Some(end) = self.report_at_limit(end).await
            {
                return end;
            }
        }
    }

    /// Lets an agent that has reached a limit report next; returns how the work ends otherwise.
    async fn report_at_limit(&mut self, end: DriverEnd) -> Option<DriverEnd> {
        let DriverEnd::Failed(cause, None) = end else {
            return Some(end);
        };
        let due = |state: &RunState| {
            state
                .decide_report(self.task, cause, "limit")
                .into_iter()
                .collect()
        };
        if self.world.append(due).await == 0 {
            return Some(end);
        }
        let limit = self.world.task(self.task).reached_limit().cloned().unwrap();
        self.agent.apply(AgentFact::ReportDue { limit }).unwrap();
        None
    }

    /// Sends the last request, if the budgets cover it.
    async fn report(&mut self, request: &ModelRequest) -> Option<DriverEnd> {
        let end = self.ask(request).await;
        if matches!(end, Some(DriverEnd::Interrupted)) {
            return end;
        }
        if self.agent.is_at_limit() {
            self.agent.apply(AgentFact::ReportAsked).unwrap();
        }
        None
    }

    async fn deliver_messages(&mut self) {
        if !self.agent.can_hear()
            || self
                .world
                .state
                .borrow()
                .messages_for(self.task)
                .next()
                .is_none()
        {
            return;
        }
        let mut read = Vec::new();
        let deliver = |state: &RunState| {
            let (events, messages) = state.decide_delivery(self.task);
            read = messages;
            events
        };
        self.world.append(deliver).await;
        for envelope in read {
            self.agent
                .apply(AgentFact::Delivered {
                    text: envelope.render(),
                })
                .unwrap();
        }
    }

    /// Sends a request to the model once the budgets cover it; returns how the work ends otherwise.
    async fn ask(&mut self, request: &ModelRequest) -> Option<DriverEnd> {
        if !model::is_last(request) {
            self.require_messages(request);
        }
        let (world, task, turn) = (self.world, self.task, request.origin.turn);
        let tokens = model::input_tokens(request) + u64::from(request.max_output_tokens);
        let amount = Amount {
            tokens,
            micro_usd: None,
        };
        loop {
            let mut refusal = None;
            let reserve = |state: &RunState| match state.ask_budgets(task, amount) {
                Reservation::Fits => requested(request, tokens),
                other => {
                    refusal = Some(other);
                    Vec::new()
                }
            };
            world.append(reserve).await;
            match refusal {
                None | Some(Reservation::Fits) => break,
                Some(Reservation::Refused(_)) => {
                    return Some(DriverEnd::Failed(FailureCause::Budget, None));
                }
                Some(Reservation::Waits) => {}
            }
            let wait = |state: &RunState| {
                let is_new = state.waiting_for(task) != Some(amount);
                let waits = is_new && state.ask_budgets(task, amount) == Reservation::Waits;
                waits
                    .then(|| Event::BudgetWaited {
                        task: task.clone(),
                        turn,
                        tokens,
                        micro_usd: None,
                    })
                    .into_iter()
                    .collect()
            };
            world.append(wait).await;
            world
                .until(|state| {
                    state.ask_budgets(task, amount) != Reservation::Waits || world.has_stopped()
                })
                .await;
            if world.has_stopped() {
                return Some(DriverEnd::Interrupted);
            }
        }
        let reply = model::reply(&world.scenario, request);
        let (task, usage, stop) = (task.clone(), reply.usage, reply.stop.clone());
        let blob = world.keep(Blob::Reply(reply.clone()));
        world
            .append(|_| {
                vec![Event::ModelReplied {
                    task,
                    turn,
                    reply: blob,
                    usage,
                    micro_usd: None,
                    stop,
                }]
            })
            .await;
        if self.agent.is_at_limit() {
            self.agent.apply(AgentFact::ReportAsked).unwrap();
        }
        self.agent.apply(AgentFact::Replied { reply }).unwrap();
        None
    }

    /// Requires that the agent reads each delivered message once, in every request.
    fn require_messages(&self, request: &ModelRequest) {
        // Several texts without a reply between them are one message of the request.
        let texts = request.messages.iter().filter_map(|message| match message {
            Message::User { text } => Some(text),
            _ => None,
        });
        let lines = texts
            .flat_map(|text| text.lines())
            .filter(|line| line.starts_with("Message "));
        let mut read: Vec<String> = lines.map(str::to_owned).collect();
        let is_delivered =
            |event: &Event| matches!(event, Event::MessageDelivered { expired: false, .. });
        let delivered = self
            .world
            .history(self.task)
            .iter()
            .filter(|fact| is_delivered(&fact.event))
            .count();
        assert_eq!(
            read.len(),
            delivered,
            "{} does not read every message",
            self.task
        );
        read.sort();
        read.dedup();
        assert_eq!(read.len(), delivered, "{} reads a message twice", self.task);
    }

    /// Runs calls in order; returns `None` if the agent continues.
    async fn call(&mut self, calls: Vec<ToolCall>) -> Option<DriverEnd> {
        for call in calls {
            if self.world.has_stopped() {
                return Some(DriverEnd::Interrupted);
            }
            let (outcome, text) = match self.carry_out(&call).await {
                Some(ended) => ended,
                None => return Some(DriverEnd::Parked),
            };
            let of = (self.agent.turns(), &call.id);
            let ended = finished(self.world, self.task, of, (outcome, text));
            self.world.append(|_| vec![ended]).await;
            self.agent
                .apply(AgentFact::ToolEnded {
                    answer: answer(&call.id, text),
                })
                .unwrap();
        }
        None
    }

    /// Carries out a call whose end is recorded next; returns `None` if it waits.
    async fn carry_out(&self, call: &ToolCall) -> Option<(ToolOutcome, &'static str)> {
        let (world, scenario, task) = (self.world, &self.world.scenario, self.task);
        let of = CallOfTurn {
            turn: self.agent.turns(),
            call: call.id.clone(),
        };
        if [IMPROVE, MEND, IDLE].contains(&call.name.as_str()) {
            self.start(call).await;
            let improve = |git: &mut crate::git::Git| {
                let worktree = git.worktree(task);
                scenario.mend(&mut worktree.files, &mut worktree.unresolved);
                scenario.improve(task, call.name == IMPROVE, &mut worktree.files);
            };
            if call.name != IDLE {
                world.effect(improve).await;
            }
            return Some((ToolOutcome::Ok, OK));
        }
        if call.name == ANSWER {
            let outgoing = answer_to(&call.arguments);
            return self.send(call, of, outgoing).await;
        }
        if call.name == VERDICT {
            return Some(self.give_verdict(call).await);
        }
        let at: usize = call.id.as_str()[1..].parse().unwrap();
        match scenario.scripts[task].acts[at].clone() {
            Act::Write(file) => {
                self.start(call).await;
                world
                    .effect(|git| scenario.write(task, file, &mut git.worktree(task).files))
                    .await;
                Some((ToolOutcome::Ok, OK))
            }
            Act::Spawn(child) => Some(self.spawn(call, of, &child).await),
            Act::Send(to) => {
                let deadline_seconds = self.world.chance(20).then_some(9);
                let body = format!("From {} in turn {}.", self.task, self.agent.turns());
                self.send(
                    call,
                    of,
                    Outgoing {
                        deadline_seconds,
                        ..Outgoing::new(to, body)
                    },
                )
                .await
            }
            Act::Question(to, deadline_seconds) => {
                let outgoing = Outgoing::new(to, "Which one?");
                self.send(
                    call,
                    of,
                    Outgoing {
                        waits: true,
                        deadline_seconds,
                        ..outgoing
                    },
                )
                .await
            }
            Act::Wait(ids, seconds) => {
                self.wait(
                    call,
                    AskedWait {
                        of,
                        ids,
                        timeout: seconds.map(Duration::from_secs),
                    },
                )
                .await
            }
            Act::Ask => self.park(call).await,
        }
    }

    async fn start(&self, call: &ToolCall) {
        let started = started(self.task, (self.agent.turns(), &call.id));
        self.world.append(|_| vec![started]).await;
    }

    /// Spawns a child that starts from a commit of the agent's work. A repeated call finds the
    /// child it has spawned.
    async fn spawn(
        &self,
        call: &ToolCall,
        of: CallOfTurn,
        child: &TaskId,
    ) -> (ToolOutcome, &'static str) {
        let world = self.world;
        if !self.commit_so_far().await {
            self.start(call).await;
            return (ToolOutcome::Failed, REFUSED);
        }
        let base = world.task(self.task).tip().unwrap().clone();
        let asked = AskedChild {
            parent: Some(self.task.clone()),
            call: Some(of),
            id: Some(child.clone()),
            task: world.scenario.children[child].clone(),
            base: Some(base),
            context: None,
            asked: None,
            of_role: authority(&world.scenario.settings),
            of_parents_role: Some(authority(&world.scenario.settings)),
            tools: None,
            delivers_changes: false,
        };
        let mut is_refused = false;
        let add = |state: &RunState| match state.decide_spawn(asked) {
            Ok(SpawnDecision::Adds(added)) => vec![*added],
            Ok(SpawnDecision::Exists(_)) => Vec::new(),
            Err(_) => {
                is_refused = true;
                Vec::new()
            }
        };
        world.append(add).await;
        self.start(call).await;
        if is_refused {
            (ToolOutcome::Failed, REFUSED)
        } else {
            (ToolOutcome::Ok, OK)
        }
    }

    /// Sends a message; returns `None` if the call waits for the answer. A repeated call sends
    /// nothing more.
    async fn send(
        &self,
        call: &ToolCall,
        of: CallOfTurn,
        outgoing: Outgoing,
    ) -> Option<(ToolOutcome, &'static str)> {
        let origin = Origin {
            from: Sender::Agent(self.task.clone()),
            call: Some(of),
            channels: None,
        };
        let (mut waits, mut outcome) = (false, (ToolOutcome::Ok, OK));
        let send = |state: &RunState| match state.decide_message(&origin, &outgoing) {
            Ok(routed) => {
                waits = routed.waits;
                routed.events
            }
            Err(_) => {
                outcome = (ToolOutcome::Failed, REFUSED);
                Vec::new()
            }
        };
        self.world.append(send).await;
        if waits {
            return None;
        }
        self.start(call).await;
        Some(outcome)
    }

    async fn wait(&self, call: &ToolCall, asked: AskedWait) -> Option<(ToolOutcome, &'static str)> {
        let takes_work = {
            let state = self.world.state.borrow();
            let ended = state
                .task(self.task)
                .unwrap()
                .ended_wait()
                .is_some_and(|ended| ended.of == asked.of);
            !ended && state.open_children(self.task).next().is_some()
        };
        let is_clean = !takes_work || self.commit_so_far().await;
        let mut is_refused = !is_clean;
        let decide = |state: &RunState| match state.decide_wait(self.task, &asked) {
            Ok(WaitDecision::Waits(waiting)) => vec![*waiting],
            Ok(WaitDecision::Over { .. }) => Vec::new(),
            Err(_) => {
                is_refused = true;
                Vec::new()
            }
        };
        if is_clean && self.world.append(decide).await > 0 {
            return None;
        }
        self.start(call).await;
        Some(if is_refused {
            (ToolOutcome::Failed, REFUSED)
        } else {
            (ToolOutcome::Ok, OK)
        })
    }

    /// Commits the worktree for children that begin with it or are merged into it; reports whether
    /// nothing in it conflicts.
    async fn commit_so_far(&self) -> bool {
        let is_resolved = self
            .world
            .git
            .borrow_mut()
            .worktree(self.task)
            .unresolved
            .is_empty();
        if is_resolved {
            worker::commit(self.world, &self.world.task(self.task)).await;
        }
        is_resolved
    }

    /// Parks a call until a person has decided about it.
    async fn park(&self, call: &ToolCall) -> Option<(ToolOutcome, &'static str)> {
        let hash = CallHash::new(format!("{}-{}", self.task, call.id));
        let decided: Option<ApprovalDecision> = {
            let state = self.world.state.borrow();
            state
                .approvals_of(self.task)
                .find(|(asked, _)| **asked == hash)
                .and_then(|(_, it)| it.decision.clone())
        };
        let Some(decision) = decided else {
            let (task, call_id, tool) = (self.task.clone(), call.id.clone(), call.name.clone());
            let (summary, arguments, rule) = (String::new(), Value::Null, "ask".to_owned());
            let asked = Event::ApprovalRequested {
                task,
                call: hash,
                call_id,
                tool,
                summary,
                arguments,
                rule,
            };
            self.world.append(|_| vec![asked]).await;
            return None;
        };
        if decision.allowed {
            self.start(call).await;
            return Some((ToolOutcome::Ok, OK));
        }
        Some((ToolOutcome::Denied, REFUSED))
    }

    async fn give_verdict(&self, call: &ToolCall) -> (ToolOutcome, &'static str) {
        self.start(call).await;
        let world = self.world;
        let needs_changes = |task: &TaskId, tree: &orchestrate_core::Oid| {
            world
                .scenario
                .needs_changes(task, world.git.borrow().tree(tree))
        };
        let decide = |state: &RunState| {
            let shown = state.work_under_review(self.task);
            let bad = shown
                .iter()
                .filter(|(task, tree)| needs_changes(task, tree));
            let change = |task: &TaskId| RequestedChange {
                task: task.clone(),
                text: "Improve it.".to_owned(),
            };
            let changes: Vec<RequestedChange> = bad.map(|(task, _)| change(task)).collect();
            let verdict = match (changes.is_empty(), shown.is_empty()) {
                (false, _) => VerdictKind::Changes,
                (true, true) => VerdictKind::NothingToDo,
                (true, false) => VerdictKind::Approve,
            };
            let given = ReviewVerdict {
                verdict,
                changes,
                comment: None,
            };
            state
                .decide_verdict(self.task, &given)
                .map(|event| vec![event])
                .unwrap_or_default()
        };
        let is_given = world.append(decide).await > 0;
        if is_given {
            (ToolOutcome::Ok, OK)
        } else {
            (ToolOutcome::Failed, REFUSED)
        }
    }
}

fn requested(request: &ModelRequest, reserved_tokens: u64) -> Vec<Event> {
    let (task, turn) = (request.origin.task.clone(), request.origin.turn);
    let parts = RequestParts::anew(
        "system".into(),
        "tools".into(),
        Vec::new(),
        request.max_output_tokens,
    );
    let requested = Event::ModelRequested {
        task: task.clone(),
        turn,
        model: request.model.clone(),
        request: RequestHash::from("request"),
        parts,
        reserved_tokens,
        reserved_micro_usd: None,
    };
    vec![Event::TurnStarted { task, turn }, requested]
}

fn authority(settings: &RunSettings) -> Authority {
    let RunSettings {
        context_tokens,
        max_output_tokens,
        max_turns,
        ..
    } = *settings;
    let limits = AgentLimits {
        context_tokens,
        max_output_tokens,
        max_turns,
    };
    Authority {
        grant: Grant::of_tools(["tool"]),
        rules: Vec::new(),
        domains: Vec::new(),
        limits,
    }
}

/// Returns the message of a call that answers a question.
fn answer_to(arguments: &Value) -> Outgoing {
    let to = Address::Agent(arguments["to"].as_str().unwrap().into());
    let (kind, reply_to) = (Some(MessageKind::Answer), arguments["reply_to"].as_u64());
    Outgoing {
        kind,
        reply_to,
        ..Outgoing::new(to, Body::from("This one."))
    }
}

fn answer(call: &CallId, text: &str) -> ToolAnswer {
    ToolAnswer {
        call_id: call.clone(),
        text: text.to_owned(),
        note: text.to_owned(),
        is_error: text != OK,
        same_again: if text == INTERRUPTED {
            SameAgain::Stopped
        } else {
            SameAgain::Repeats
        },
    }
}

pub(crate) fn started(task: &TaskId, (turn, call): (u32, &CallId)) -> Event {
    Event::ToolStarted {
        task: task.clone(),
        turn,
        call_id: call.clone(),
        tool: "tool".to_owned(),
        arguments: Value::Null,
        writes: Vec::new(),
        deletes: Vec::new(),
        rule: "allow".to_owned(),
        cache: None,
    }
}

pub(crate) fn finished(
    world: &World,
    task: &TaskId,
    (turn, call): (u32, &CallId),
    (outcome, text): (ToolOutcome, &str),
) -> Event {
    let result: BlobId = world.keep(Blob::Answer(answer(call, text)));
    Event::ToolFinished {
        task: task.clone(),
        turn,
        call_id: call.clone(),
        tool: "tool".to_owned(),
        outcome,
        error_class: None,
        denied_by: None,
        error: None,
        exit_code: None,
        result,
        duration_ms: 1,
        resource_usage: Default::default(),
        deleted: Vec::new(),
        recovered: Vec::new(),
    }
}
