//! A whole run without clock or IO: the run's state and the dispatcher's board are the real ones,
//! and what workers and merges record is as if each did its work at once.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use orchestrate_core::event::{ResourceUsage, ToolOutcome, VERSION, VerifyScope};
use orchestrate_core::policy::Grant;
use orchestrate_core::run::board::{Board, Effect, Input};
use orchestrate_core::run::child::{AskedChild, SpawnDecision};
use orchestrate_core::{
    AgentLimits, Authority, CallId, Event, MergeStep, Oid, Recorded, RequestParts, RunSettings,
    RunState, ShutdownLevel, StopReason, Task, TaskId, Usage,
};

/// How many agents are at work at once.
const AGENTS: usize = 16;
/// The turns of each agent, in each of which it calls one tool.
const TURNS: u32 = 3;

/// How the tasks of a run depend on each other.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// Each depends on one before it, at half its number.
    Layers,
    /// None depends on another.
    Flat,
    /// The last one depends on all others.
    FanIn,
    /// A program adds them as children, one after the other, and none is carried out.
    OneByOne,
}

/// A run in which each task is carried out and merged.
pub(crate) struct PlayedRun {
    shape: Shape,
    state: Arc<RunState>,
    board: Board,
    inputs: VecDeque<Input>,
    /// The events that each worker has yet to record.
    workers: BTreeMap<TaskId, VecDeque<Event>>,
}

impl PlayedRun {
    /// Begins a run of this many tasks.
    pub(crate) fn begin(shape: Shape, tasks: usize) -> Result<Self, String> {
        let settings = Box::new(RunSettings {
            max_agents: AGENTS,
            verify: Some("check".to_owned()),
            verify_base: false,
            timeout_ms: Some(1_000_000),
            ..RunSettings::default()
        });
        let started = Event::RunStarted {
            plan: None,
            plan_source: None,
            title: None,
            settings,
            base_commit: "base".into(),
            base_branch: None,
        };
        let first = Recorded {
            run_id: "r-played".into(),
            seq: 1,
            ts_ms: 1,
            v: VERSION,
            event: started,
        };
        let state = RunState::begin(&first).map_err(|error| error.to_string())?;
        let mut run = Self {
            shape,
            state: Arc::new(state),
            board: Board::new(false),
            inputs: VecDeque::new(),
            workers: BTreeMap::new(),
        };
        if !matches!(shape, Shape::OneByOne) {
            let added = (1..=tasks).map(|number| Event::planned(planned(shape, number, tasks)));
            run.record(added.collect())?;
        }
        Ok(run)
    }

    /// Plays the run to its end, and returns the number of its facts.
    pub(crate) fn play(mut self, tasks: usize) -> Result<u64, String> {
        if matches!(self.shape, Shape::OneByOne) {
            return self.spawn(tasks);
        }
        loop {
            let input = self.inputs.pop_front().unwrap_or(Input::Changed);
            let effects = self.board.handle(input, &self.state, ShutdownLevel::None);
            let is_idle = effects.is_empty();
            for effect in effects {
                if let Effect::Finish(status, exit_code) = effect {
                    self.record(vec![Event::RunFinished { status, exit_code }])?;
                    let is_done = self.state.tasks().all(|record| record.state().is_merged());
                    return if is_done {
                        Ok(self.state.seq)
                    } else {
                        Err("not all tasks are merged".to_owned())
                    };
                }
                self.perform(effect)?;
            }
            let has_worked = self.work()?;
            if is_idle && !has_worked && self.inputs.is_empty() {
                return Err("the run stands still".to_owned());
            }
        }
    }

    fn spawn(mut self, children: usize) -> Result<u64, String> {
        for number in 1..=children {
            let decided = self.state.decide_spawn(child(number));
            match decided.map_err(|refused| refused.to_string())? {
                SpawnDecision::Adds(added) => self.record(vec![*added])?,
                SpawnDecision::Exists(id) => return Err(format!("{id} exists")),
            }
            self.record(self.state.due_facts())?;
        }
        Ok(self.state.seq)
    }

    fn perform(&mut self, effect: Effect) -> Result<(), String> {
        match effect {
            Effect::RecordDue => {
                self.record(self.state.due_facts())?;
                self.inputs.push_back(Input::DueRecorded);
            }
            Effect::StartWorker(task) => {
                let record = self.state.task(&task).ok_or("no such task")?;
                let events = events_of(&task, self.state.target_tip(record));
                self.workers.insert(task, events.into());
            }
            Effect::StartMerge(step) => {
                self.merge(step)?;
                self.inputs.push_back(Input::MergeEnded);
            }
            other => return Err(format!("{other:?} is not expected")),
        }
        Ok(())
    }

    /// Lets each worker record its next event; reports whether there is any.
    fn work(&mut self) -> Result<bool, String> {
        let at_work: Vec<TaskId> = self.workers.keys().cloned().collect();
        for task in &at_work {
            match self.workers.get_mut(task).and_then(VecDeque::pop_front) {
                Some(event) => {
                    self.record(vec![event])?;
                    self.observe();
                }
                None => {
                    self.workers.remove(task);
                    self.inputs.push_back(Input::WorkerEnded(task.clone()));
                }
            }
        }
        Ok(!at_work.is_empty())
    }

    fn merge(&mut self, step: MergeStep) -> Result<(), String> {
        let events = match step {
            MergeStep::Merge {
                task,
                into,
                target,
                candidate,
            } => {
                let prepared = Event::MergePrepared {
                    task: task.clone(),
                    commit: oid("merge", &task),
                    tree: oid("tree", &task),
                };
                vec![
                    Event::MergeStarted {
                        task,
                        into,
                        target,
                        candidate,
                    },
                    prepared,
                ]
            }
            MergeStep::Verify {
                task,
                tree,
                command,
                ..
            } => {
                vec![Event::VerifyFinished {
                    task,
                    scope: VerifyScope::Run,
                    tree,
                    command,
                    passed: true,
                    exit: "exit 0".to_owned(),
                    output: "output".into(),
                    duration_ms: 1,
                }]
            }
            MergeStep::Advance {
                task,
                commit,
                target,
                ..
            } => {
                vec![Event::TaskMerged {
                    task,
                    commit: Some(commit),
                    target: Some(target),
                    summary: None,
                }]
            }
            other => return Err(format!("{other:?} is not expected")),
        };
        self.record(events)
    }

    /// Records events as the journal does: it applies them to a copy, and publishes that once they
    /// are durable.
    fn record(&mut self, events: Vec<Event>) -> Result<(), String> {
        let mut next = RunState::clone(&self.state);
        for event in events {
            let fact = Recorded {
                run_id: next.run_id.clone(),
                seq: next.seq + 1,
                ts_ms: next.updated_ms + 1,
                v: VERSION,
                event,
            };
            next.apply(&fact).map_err(|error| error.to_string())?;
        }
        self.state = Arc::new(next);
        Ok(())
    }

    /// Does what the dispatcher does with each new state.
    fn observe(&mut self) {
        self.inputs.push_back(Input::Changed);
        let _ = std::hint::black_box((self.state.next_expiry(), self.state.stands_still()));
    }
}

/// Returns a task of so many.
fn planned(shape: Shape, number: usize, tasks: usize) -> Task {
    let name = |number: usize| TaskId::new(format!("T{number}"));
    let depends = match shape {
        Shape::Layers if number > 1 => vec![name(number / 2)],
        Shape::FanIn if number == tasks => (1..tasks).map(name).collect(),
        _ => Vec::new(),
    };
    Task {
        id: name(number),
        title: format!("Write part {number}"),
        depends,
        ..Task::default()
    }
}

/// Returns a child that a program asks for.
fn child(number: usize) -> AskedChild {
    AskedChild {
        parent: None,
        call: None,
        id: None,
        task: Task {
            title: format!("Write part {number}"),
            ..Task::default()
        },
        base: None,
        context: None,
        asked: None,
        of_role: Authority {
            grant: Grant::of_tools(["read_file", "write_file"]),
            rules: Vec::new(),
            domains: Vec::new(),
            limits: AgentLimits {
                context_tokens: 16_000,
                max_output_tokens: 4_096,
                max_turns: 60,
            },
        },
        of_parents_role: None,
        tools: None,
        delivers_changes: true,
    }
}

/// Returns what a worker records.
fn events_of(task: &TaskId, base: &Oid) -> Vec<Event> {
    let mut events = vec![
        Event::AgentSpawned {
            task: task.clone(),
            attempt: 1,
            agent: Some("implementer".to_owned()),
            model: Some("test/model".to_owned()),
            branch: format!("orchestrate/r-played/{task}"),
            base: base.clone(),
            spec: Some("spec".into()),
            sends: None,
        },
        Event::WorktreePrepared {
            task: task.clone(),
            onto: None,
        },
    ];
    events.extend((1..=TURNS).flat_map(|turn| turn_of(task, turn)));
    events.push(Event::TaskCommitted {
        task: task.clone(),
        commit: oid("commit", task),
        tree: oid("own", task),
        summary: "Done.".to_owned(),
    });
    events
}

fn oid(of: &str, task: &TaskId) -> Oid {
    Oid::new(format!("{of}-{task}"))
}

fn turn_of(task: &TaskId, turn: u32) -> [Event; 5] {
    let (call_id, tool) = (CallId::from("c1"), "write_file".to_owned());
    [
        Event::TurnStarted {
            task: task.clone(),
            turn,
        },
        Event::ModelRequested {
            task: task.clone(),
            turn,
            model: "test/model".to_owned(),
            request: "request".into(),
            parts: RequestParts::anew(
                "system".into(),
                "tools".into(),
                vec!["message".into()],
                1_000,
            ),
            reserved_tokens: 1_000,
            reserved_micro_usd: None,
        },
        Event::ModelReplied {
            task: task.clone(),
            turn,
            reply: "reply".into(),
            usage: Usage::default(),
            micro_usd: None,
            stop: StopReason::ToolCalls,
        },
        Event::ToolStarted {
            task: task.clone(),
            turn,
            call_id: call_id.clone(),
            tool: tool.clone(),
            arguments: serde_json::json!({ "path": "part.txt", "content": "done\n" }),
            writes: vec!["part.txt".to_owned()],
            deletes: Vec::new(),
            rule: "role".to_owned(),
            cache: None,
        },
        Event::ToolFinished {
            task: task.clone(),
            turn,
            call_id,
            tool,
            outcome: ToolOutcome::Ok,
            error_class: None,
            denied_by: None,
            error: None,
            exit_code: None,
            result: "result".into(),
            duration_ms: 1,
            resource_usage: ResourceUsage::default(),
            deleted: Vec::new(),
            recovered: Vec::new(),
        },
    ]
}
