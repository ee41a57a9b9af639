//! A process that works on a run: the dispatcher's loop over the [`Board`], and people who act
//! beside it.
//!
//! What is enabled comes in a random order. A process may end at any point, and another one takes
//! over.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use orchestrate_core::event::settings::MergeMode;
use orchestrate_core::event::{Event, RunStatus};
use orchestrate_core::messages::MessageKind;
use orchestrate_core::run::board::{Board, Effect, Input};
use orchestrate_core::run::request::{Decision, Request};
use orchestrate_core::run::{EXIT_INTERRUPTED, outcome_if_stopped};
use orchestrate_core::task::FailureCause;
use orchestrate_core::{RunState, ShutdownLevel, TaskId, TaskState};

use crate::worker::returned;
use crate::world::{INTEGRATION, Shared};
use crate::{merge, worker};

/// More steps mean that nothing comes of them.
const MAX_STEPS: usize = 60_000;

/// How rough the world is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Roughness {
    /// How many processes may die.
    pub(crate) crashes: usize,
    /// How often in 1,000 steps something comes from outside.
    pub(crate) disturbances: usize,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ended {
    Crashed,
    Finished(RunStatus),
}

struct Job {
    input: Input,
    work: Pin<Box<dyn Future<Output = ()>>>,
    /// The number of events at which it is known to wait.
    blocked_at: Option<usize>,
}

struct Process {
    world: Shared,
    board: Board,
    inputs: VecDeque<Input>,
    jobs: Vec<Job>,
    ending: Option<(RunStatus, u8)>,
    /// The number of events that the board has seen.
    seen: usize,
}

/// Works on a run with one process after the other until nothing is left to do, for agents and for
/// people.
pub(crate) fn play(world: &Shared, roughness: Roughness) {
    let (mut crashes, mut steps) = (roughness.crashes, 0);
    let mut is_first = true;
    loop {
        if !std::mem::take(&mut is_first) {
            take_over(world);
        }
        let mut process = Process::new(world);
        let ended = process.serve(roughness, &mut crashes, &mut steps);
        world.replay();
        let is_over = !matches!(
            ended,
            Ended::Crashed | Ended::Finished(RunStatus::Interrupted)
        );
        if is_over && !has_request(world) {
            return;
        }
    }
}

/// Records that a process takes over, and what it finds.
fn take_over(world: &Shared) {
    world.level.set(ShutdownLevel::None);
    world.pass(1_000);
    require_refs(world);
    let resumed = Event::RunResumed {
        pid: 1,
        timeout_ms: None,
        budget_tokens: None,
        budget_micro_usd: None,
    };
    let cuts = world.state.borrow().cut_requests();
    let request = if world.state.borrow().exit_code.is_some() {
        decided(world)
    } else {
        Vec::new()
    };
    world.record(
        std::iter::once(resumed)
            .chain(cuts)
            .chain(request)
            .collect(),
    );
}

/// Requires that each branch is at its recorded tip or follows it, and brings it there.
fn require_refs(world: &Shared) {
    let (state, mut git) = (world.state.borrow(), world.git.borrow_mut());
    let branches = state.tasks().filter(|record| record.needs_branch());
    let branches =
        branches.map(|record| (world.branch(&record.task.id), record.tip().unwrap().clone()));
    let result = (INTEGRATION.to_owned(), state.integration.clone());
    for (name, tip) in branches.chain([result]) {
        let found = git
            .read_ref(&name)
            .unwrap_or_else(|| panic!("{name} is gone"));
        assert!(
            git.contains(&tip, found),
            "{name} is at {found}, which does not lead to {tip}"
        );
        git.set_ref(&name, &tip);
    }
}

/// Reports whether a person has something to request, in a run that does not go on without one.
fn has_request(world: &Shared) -> bool {
    !requests(world).is_empty()
}

/// Returns what people would request now.
fn requests(world: &Shared) -> Vec<Request> {
    let (state, scenario) = (world.state.borrow(), &world.scenario);
    let mut requests = Vec::new();
    for (call, approval) in state.open_approvals() {
        let allowed = scenario.scripts[&approval.task].number % 3 != 0;
        requests.push(Request::Decide {
            call: call.clone(),
            allowed,
            message: None,
        });
    }
    for (agent, question) in state.questions_to_user() {
        let (to, body) = (agent.clone().into(), "Yes.".into());
        let (kind, reply_to) = (Some(MessageKind::Answer), Some(question.sequence));
        requests.push(Request::Message {
            to,
            body,
            kind,
            reply_to,
            deadline_seconds: None,
        });
    }
    for record in state.tasks() {
        let task = record.task.id.clone();
        match (record.state(), record.tree()) {
            (TaskState::AwaitingReview, Some(tree)) => {
                let needs_changes = scenario.needs_changes(&task, world.git.borrow().tree(tree));
                requests.push(match needs_changes {
                    true => Request::Reject {
                        task,
                        message: "Improve it.".to_owned(),
                        at: None,
                    },
                    false => Request::Approve {
                        task,
                        tree: tree.clone(),
                    },
                });
            }
            // Each is retried once, and only where that could help: where nothing is merged,
            // nothing may be left to take the new work of a child.
            (TaskState::Failed, _)
                if record.attempt() == 1
                    && scenario.is_confluent
                    && (record.parent.is_none() || state.settings.merge != MergeMode::None) =>
            {
                requests.push(Request::Retry {
                    task,
                    message: None,
                });
            }
            _ => {}
        }
    }
    // Work whose reviewer cannot review it any more is left to a person.
    let is_over = !matches!(state.status, RunStatus::Running | RunStatus::Interrupted);
    if requests.is_empty() && is_over && state.settings.merge != MergeMode::None {
        let held = state
            .tasks()
            .filter(|record| record.state() == TaskState::Verified);
        let held = held.filter_map(|record| Some((record.task.id.clone(), record.tree()?.clone())));
        requests.extend(held.map(|(task, tree)| Request::Approve { task, tree }));
    }
    requests
}

/// Returns the events of one of these requests.
fn decided(world: &Shared) -> Vec<Event> {
    let requests = requests(world);
    let Some(request) = world.random.borrow_mut().pick(&requests).cloned() else {
        return Vec::new();
    };
    match world
        .state
        .borrow()
        .decide(&request)
        .map(|accepted| accepted.decision)
    {
        Ok(Decision::Record(events)) => events,
        Ok(Decision::Return(again)) => again
            .tasks
            .iter()
            .map(|task| returned(task, again.cause, None))
            .collect(),
        Ok(Decision::Stop | Decision::Adopt(_)) => Vec::new(),
        Err(refused) => panic!("{request:?} is refused: {refused}"),
    }
}

impl Process {
    fn new(world: &Shared) -> Self {
        let (world, seen) = (Rc::clone(world), 0);
        Self {
            world,
            board: Board::new(false),
            inputs: VecDeque::new(),
            jobs: Vec::new(),
            ending: None,
            seen,
        }
    }

    fn serve(&mut self, roughness: Roughness, crashes: &mut usize, steps: &mut usize) -> Ended {
        loop {
            *steps += 1;
            assert!(*steps < MAX_STEPS, "the run goes on for ever");
            if *crashes > 0 && self.world.random.borrow_mut().below(150) == 0 {
                *crashes -= 1;
                return Ended::Crashed;
            }
            if self.world.random.borrow_mut().below(1_000) < roughness.disturbances {
                self.disturb();
            }
            match self.step() {
                Some(Ended::Finished(status)) => return Ended::Finished(status),
                Some(Ended::Crashed) => unreachable!("only the world kills a process"),
                None => {}
            }
        }
    }

    /// Lets one thing happen that can; returns how the process ends, if it does.
    fn step(&mut self) -> Option<Ended> {
        let events = self.world.events();
        let mut enabled: Vec<usize> = Vec::new();
        enabled.extend((0..self.jobs.len()).filter(|at| self.jobs[*at].blocked_at != Some(events)));
        let has_news = self.ending.is_some() || !self.inputs.is_empty() || self.seen != events;
        if has_news {
            enabled.push(usize::MAX);
        }
        let chosen = self.world.random.borrow_mut().pick(&enabled).copied();
        match chosen {
            Some(usize::MAX) => self.dispatch(),
            Some(job) => {
                self.poll(job);
                None
            }
            None => {
                let is_helped = self.expire() || self.request();
                assert!(
                    is_helped,
                    "nothing can happen any more, and the run has not ended"
                );
                None
            }
        }
    }

    fn poll(&mut self, at: usize) {
        self.world.is_blocked.set(false);
        let polled = self.jobs[at]
            .work
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        match polled {
            Poll::Ready(()) => self.inputs.push_back(self.jobs.swap_remove(at).input),
            Poll::Pending => {
                self.jobs[at].blocked_at = self.world.is_blocked.get().then(|| self.world.events())
            }
        }
    }

    /// Reacts to a change; returns how the run has ended, if it has.
    fn dispatch(&mut self) -> Option<Ended> {
        if let Some(end) = self.ending.take() {
            return self.finish(end);
        }
        let input = self.inputs.pop_front().unwrap_or(Input::Changed);
        self.seen = self.world.events();
        let effects = self
            .board
            .handle(input, &self.world.state.borrow(), self.world.level.get());
        for effect in effects {
            self.perform(effect);
        }
        let workers = self
            .jobs
            .iter()
            .filter(|job| matches!(job.input, Input::WorkerEnded(_)))
            .count();
        assert!(
            workers <= self.world.scenario.settings.max_agents,
            "too many agents are at work"
        );
        None
    }

    fn perform(&mut self, effect: Effect) {
        let world = Rc::clone(&self.world);
        match effect {
            Effect::RecordDue => self.spawn(Input::DueRecorded, async move {
                world.append(RunState::due_facts).await;
            }),
            Effect::StartWorker(task) => {
                self.spawn(Input::WorkerEnded(task.clone()), worker::start(world, task))
            }
            Effect::StartMerge(step) => {
                self.spawn(Input::MergeEnded, merge::carry_out(world, step))
            }
            Effect::VerifyBase(command) => {
                self.spawn(Input::BaseVerified, merge::verify_base(world, command))
            }
            Effect::ReleaseWorktree(task) => {
                self.spawn(Input::WorktreeReleased(task.clone()), async move {
                    world
                        .append(move |state| {
                            let is_there =
                                state.task(&task).is_some_and(|record| record.is_prepared());
                            if is_there {
                                vec![Event::WorktreeRemoved { task }]
                            } else {
                                Vec::new()
                            }
                        })
                        .await;
                })
            }
            Effect::GiveUp(task) => self.give_up(task),
            Effect::AskApprover(call) => unreachable!("there is no approver to ask about {call}"),
            Effect::EndWithoutRoom => unreachable!("the disk has room"),
            Effect::StopWorker(task) | Effect::CallOff(task) => {
                unreachable!("nobody asks {task} to stop")
            }
            Effect::Finish(status, exit_code) => self.ending = Some((status, exit_code)),
        }
    }

    fn spawn(&mut self, input: Input, work: impl Future<Output = ()> + 'static) {
        self.jobs.push(Job {
            input,
            work: Box::pin(work),
            blocked_at: None,
        });
    }

    fn give_up(&mut self, task: TaskId) {
        let world = Rc::clone(&self.world);
        assert!(world.has_stopped(), "the workers of {task} do nothing");
        self.spawn(Input::WorkerEnded(task.clone()), async move {
            worker::fail(&world, &task, FailureCause::Internal).await;
        });
    }

    /// Ends the run, if it still ends so in the newest state.
    fn finish(&mut self, (status, exit_code): (RunStatus, u8)) -> Option<Ended> {
        let level = self.world.level.get();
        if !self
            .board
            .still_ends((status, exit_code), &self.world.state.borrow(), level)
        {
            self.board.reopen();
            // The loop looks at the newest state at once.
            self.inputs.push_back(Input::Changed);
            return None;
        }
        let asked = (level > ShutdownLevel::None).then_some(EXIT_INTERRUPTED);
        let (status, exit_code) = outcome_if_stopped((status, exit_code), asked);
        self.world
            .record(vec![Event::RunFinished { status, exit_code }]);
        Some(Ended::Finished(status))
    }

    /// Lets something come from outside.
    fn disturb(&mut self) {
        let kind = self.world.random.borrow_mut().below(20);
        match kind {
            0..=3 => self.world.repeat(),
            4..=8 => drop(self.request()),
            9..=11 => drop(self.expire()),
            12..=14 => self.say(),
            15..=18 => self.inputs.push_back(Input::Changed),
            _ => {
                let level = self.world.level.get().next().min(ShutdownLevel::Stop);
                self.world.level.set(level);
                self.inputs.push_back(Input::Changed);
                self.jobs.iter_mut().for_each(|job| job.blocked_at = None);
            }
        }
    }

    /// Carries out what a person requests; reports whether there is anything.
    fn request(&self) -> bool {
        // A run that ends is requested something of afterwards.
        let events = if self.world.state.borrow().exit_code.is_some() {
            Vec::new()
        } else {
            decided(&self.world)
        };
        self.world.record(events) > 0
    }

    /// Lets the time of a wait pass; reports whether there is one.
    fn expire(&self) -> bool {
        let expiry = self.world.state.borrow().next_expiry();
        let Some(expiry) = expiry else { return false };
        self.world
            .pass(u64::try_from(expiry.left.as_millis()).unwrap());
        let events = self.world.state.borrow().decide_expiry(&expiry);
        self.world.record(events) > 0
    }

    /// Lets a person send a message to some agent.
    fn say(&self) {
        let ids: Vec<TaskId> = self.world.scenario.ids().into_iter().collect();
        let to = self.world.random.borrow_mut().pick(&ids).unwrap().clone();
        let accepted = self
            .world
            .state
            .borrow()
            .decide(&Request::message(to, "Go on."));
        if let Ok(Decision::Record(events)) = accepted.map(|accepted| accepted.decision) {
            self.world.record(events);
        }
    }
}
