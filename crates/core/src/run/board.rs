//! What a run does next: every change becomes an [`Input`], which becomes effects.
//!
//! [`Board::handle`] is pure and never waits; workers wait on the journal. The run's state decides
//! which tasks are ready, what is merged and how the run ends. The board adds only what no journal
//! can contain: which workers are active in this process.

use std::collections::{BTreeMap, BTreeSet};

use crate::event::RunStatus;
use crate::ids::{CallHash, TaskId};
use crate::record::TaskRecord;
use crate::run::merge_queue::MergeStep;
use crate::run::outcome::{EXIT_INTERRUPTED, outcome, waits_for_people};
use crate::run::run_state::RunState;

/// How often in a row a worker may end without progress: more would be an endless loop.
const IDLE_WORKERS: u32 = 2;

/// A change that the board reacts to.
#[derive(Debug)]
pub enum Input {
    /// Events were recorded, or the level of shutdown was raised.
    Changed,
    /// A task's worker, or the job that failed the task, has ended.
    WorkerEnded(TaskId),
    /// The merge step is complete.
    MergeEnded,
    /// The due events are recorded.
    DueRecorded,
    /// The check of the base has ended.
    BaseVerified,
    /// The approver has decided a call, or left it to a person.
    ApproverAsked(CallHash),
    /// The disk has no room for the worktree of a task, whose worker has ended.
    NoRoom(TaskId),
    /// The worktree of a task was removed, or has to stay.
    WorktreeReleased(TaskId),
}

/// An effect to carry out.
#[derive(Debug, PartialEq)]
pub enum Effect {
    /// Record the events that follow from the state alone.
    RecordDue,
    /// Check the base with this command.
    VerifyBase(String),
    /// Start a worker for this task.
    StartWorker(TaskId),
    /// Carry out this merge step.
    StartMerge(MergeStep),
    /// Interrupt the worker of a task that is to be stopped.
    StopWorker(TaskId),
    /// Cancel a task that no worker works on.
    CallOff(TaskId),
    /// Fail a task whose workers make no progress.
    GiveUp(TaskId),
    /// Ask the approver about a parked call.
    AskApprover(CallHash),
    /// Remove the worktree of a task whose work is merged.
    ReleaseWorktree(TaskId),
    /// End with an error: nothing that is left can start, for lack of room on the disk.
    EndWithoutRoom,
    /// Record the end of the run, and end.
    Finish(RunStatus, u8),
}

/// The active workers of this process.
#[derive(Clone, Debug, Default)]
pub struct Board {
    workers: BTreeSet<TaskId>,
    /// Those that are being interrupted.
    stopped: BTreeSet<TaskId>,
    merging: bool,
    recording: bool,
    verifying_base: bool,
    finished: bool,
    /// The state of a task when its worker last ended, and how often in a row workers left it
    /// unchanged.
    idle: BTreeMap<TaskId, (TaskRecord, u32)>,
    /// For how long the run stays open although nothing is left to do.
    pub stay: Stay,
    /// Whether there is an approver.
    has_approver: bool,
    /// The calls that it is being asked about.
    asking: BTreeSet<CallHash>,
    /// The calls that it was asked about, each once: one that it left to a person stays with the
    /// person.
    asked: BTreeSet<CallHash>,
    /// The tasks whose worktrees are being removed; none of them may get a worker meanwhile.
    releasing: BTreeSet<TaskId>,
    /// The tasks whose worktrees were to be removed since their last worker; some of these had to
    /// stay.
    released: BTreeSet<TaskId>,
    /// The tasks for whose worktrees the disk has no room, until something else has ended.
    without_room: BTreeSet<TaskId>,
}

impl Board {
    /// Creates a board without workers, of a process that has an approver or has none.
    pub fn new(has_approver: bool) -> Self {
        Self {
            has_approver,
            ..Self::default()
        }
    }

    /// Returns the effects of a change.
    pub fn handle(&mut self, input: Input, state: &RunState, level: ShutdownLevel) -> Vec<Effect> {
        match input {
            Input::Changed => {}
            Input::WorkerEnded(task) => self.worker_ended(&task, state),
            Input::MergeEnded => self.merging = false,
            Input::DueRecorded => self.recording = false,
            Input::BaseVerified => self.verifying_base = false,
            Input::ApproverAsked(call) => {
                self.asking.remove(&call);
            }
            Input::NoRoom(task) => {
                self.workers.remove(&task);
                self.stopped.remove(&task);
                self.without_room.insert(task);
            }
            Input::WorktreeReleased(task) => {
                self.releasing.remove(&task);
                self.without_room.clear();
            }
        }
        let mut effects = Vec::new();
        if self.finished {
            return effects;
        }
        if level < ShutdownLevel::Kill {
            self.stop_workers(state, &mut effects);
        }
        if level < ShutdownLevel::Drain {
            self.record_due(state, &mut effects);
            self.ask_approver(state, &mut effects);
            match state.base_check() {
                Some(command) => self.verify_base(command, &mut effects),
                None if state.red_base().is_some() => {}
                None => self.start_workers(state, &mut effects),
            }
            self.release_worktrees(state, &mut effects);
        }
        if level < ShutdownLevel::Stop {
            self.start_merge(state, &mut effects);
        }
        self.finish(state, level, &mut effects);
        effects
    }

    /// Reports whether the run still ends this way in a newer state than the one of the decision.
    pub fn still_ends(&self, end: (RunStatus, u8), state: &RunState, level: ShutdownLevel) -> bool {
        let mut board = Self {
            finished: false,
            ..self.clone()
        };
        board.handle(Input::Changed, state, level) == [Effect::Finish(end.0, end.1)]
    }

    /// Withdraws the end of the run, since there is something to do.
    pub fn reopen(&mut self) {
        self.finished = false;
    }

    /// Withdraws the end of the run until the events being recorded are durable.
    pub fn reopen_until_recorded(&mut self) {
        self.finished = false;
        self.recording = true;
    }

    fn worker_ended(&mut self, task: &TaskId, state: &RunState) {
        self.workers.remove(task);
        self.stopped.remove(task);
        self.without_room.clear();
        let Some(now) = state.task(task) else { return };
        let times = match self.idle.get(task) {
            Some((before, times)) if before == now => times + 1,
            _ => 0,
        };
        self.idle.insert(task.clone(), (now.clone(), times));
    }

    /// Reports whether workers keep leaving a task unchanged.
    fn is_idle(&self, task: &TaskId, state: &RunState) -> bool {
        self.idle.get(task).is_some_and(|(before, times)| {
            state.task(task) == Some(before) && *times >= IDLE_WORKERS
        })
    }

    fn record_due(&mut self, state: &RunState, effects: &mut Vec<Effect>) {
        if !self.recording && !state.due_facts().is_empty() {
            self.recording = true;
            effects.push(Effect::RecordDue);
        }
    }

    fn ask_approver(&mut self, state: &RunState, effects: &mut Vec<Effect>) {
        if !self.has_approver {
            return;
        }
        for (call, _) in state.open_approvals() {
            if self.asked.insert(call.clone()) {
                self.asking.insert(call.clone());
                effects.push(Effect::AskApprover(call.clone()));
            }
        }
    }

    /// Checks the base, for which all tasks wait.
    fn verify_base(&mut self, command: &str, effects: &mut Vec<Effect>) {
        if !self.verifying_base {
            self.verifying_base = true;
            effects.push(Effect::VerifyBase(command.to_owned()));
        }
    }

    /// Interrupts the workers of tasks that are to be stopped, and cancels those tasks that have
    /// none.
    fn stop_workers(&mut self, state: &RunState, effects: &mut Vec<Effect>) {
        for task in state.stopping() {
            let is_new = self.stopped.insert(task.clone());
            if self.workers.insert(task.clone()) {
                effects.push(Effect::CallOff(task.clone()));
            } else if is_new {
                effects.push(Effect::StopWorker(task.clone()));
            }
        }
    }

    fn start_workers(&mut self, state: &RunState, effects: &mut Vec<Effect>) {
        for task in state.to_work_on() {
            if self.workers.len() >= state.settings.max_agents {
                return;
            }
            let has_to_wait = self.releasing.contains(task) || self.without_room.contains(task);
            if has_to_wait || !self.workers.insert(task.clone()) {
                continue;
            }
            self.released.remove(task);
            let (task, give_up) = (task.clone(), self.is_idle(task, state));
            effects.push(if give_up {
                Effect::GiveUp(task)
            } else {
                Effect::StartWorker(task)
            });
        }
    }

    /// Removes the worktrees of merged work, each once.
    fn release_worktrees(&mut self, state: &RunState, effects: &mut Vec<Effect>) {
        for task in state.with_releasable_worktree() {
            if !self.workers.contains(task) && self.released.insert(task.clone()) {
                self.releasing.insert(task.clone());
                effects.push(Effect::ReleaseWorktree(task.clone()));
            }
        }
    }

    fn start_merge(&mut self, state: &RunState, effects: &mut Vec<Effect>) {
        if self.merging {
            return;
        }
        if let Some(step) = state.next_merge() {
            self.merging = true;
            effects.push(Effect::StartMerge(step));
        }
    }

    fn finish(&mut self, state: &RunState, level: ShutdownLevel, effects: &mut Vec<Effect>) {
        let waits = !self.asking.is_empty() || !self.releasing.is_empty();
        let busy = !self.workers.is_empty()
            || self.merging
            || self.recording
            || self.verifying_base
            || waits;
        if busy || !effects.is_empty() {
            return;
        }
        if !self.without_room.is_empty() && level == ShutdownLevel::None {
            self.finished = true;
            effects.push(Effect::EndWithoutRoom);
            return;
        }
        let end = match outcome(state) {
            Some(_) if level == ShutdownLevel::None && self.stays(state) => None,
            Some(end) => Some(end),
            None if level >= ShutdownLevel::Drain => {
                Some((RunStatus::Interrupted, EXIT_INTERRUPTED))
            }
            None => None,
        };
        if let Some((status, exit_code)) = end {
            self.finished = true;
            effects.push(Effect::Finish(status, exit_code));
        }
    }

    /// Reports whether the run stays open although nothing is left to do.
    fn stays(&self, state: &RunState) -> bool {
        // What waits for a base whose check has failed would wait for ever.
        state.red_base().is_none()
            && match self.stay {
                Stay::Never => false,
                Stay::ForPeople => waits_for_people(state),
                Stay::UntilClosed => true,
            }
    }
}

/// For how long a run stays open although nothing is left to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stay {
    /// Not at all.
    #[default]
    Never,
    /// As long as something waits for a person's decision.
    ForPeople,
    /// Until it is closed, since there may be further tasks.
    UntilClosed,
}

/// How urgently a shutdown is requested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShutdownLevel {
    /// Not at all.
    #[default]
    None,
    /// Nothing new is started; current work completes.
    Drain,
    /// Current work is interrupted immediately and resumed later; its files are kept.
    Stop,
    /// Processes are killed immediately, without a grace period. That includes those of git, which
    /// no lower level affects, since it stores stopped work; no new ones are started. They leave
    /// the same state as if this whole process were killed, which resuming the run repairs. Only a
    /// git that moves the user's own checkout or branch completes, under its lock.
    Kill,
}

impl ShutdownLevel {
    /// Returns the next higher level; the highest stays.
    pub fn next(self) -> Self {
        match self {
            ShutdownLevel::None => ShutdownLevel::Drain,
            ShutdownLevel::Drain => ShutdownLevel::Stop,
            ShutdownLevel::Stop | ShutdownLevel::Kill => ShutdownLevel::Kill,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::settings::RunSettings;
    use crate::event::{Event, Recorded, StopRequest, VERSION};
    use crate::task::Task;

    fn state(max_agents: usize, facts: Vec<Event>) -> RunState {
        let settings = Box::new(RunSettings {
            max_agents,
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
        let tasks = ["a", "b", "c"].map(|id| {
            Event::planned(Task {
                id: id.into(),
                ..Task::default()
            })
        });
        let events = std::iter::once(started)
            .chain(tasks)
            .chain(facts)
            .enumerate();
        let recorded: Vec<Recorded> = events
            .map(|(at, event)| Recorded {
                run_id: "r-abcdef".into(),
                seq: at as u64 + 1,
                ts_ms: 0,
                v: VERSION,
                event,
            })
            .collect();
        RunState::replay(&recorded).unwrap().unwrap()
    }

    fn ready() -> Vec<Event> {
        ["a", "b", "c"]
            .map(|task| Event::TaskReady { task: task.into() })
            .to_vec()
    }

    fn spawned(task: &str) -> Event {
        Event::AgentSpawned {
            task: task.into(),
            attempt: 1,
            agent: None,
            model: None,
            branch: format!("orchestrate/r-abcdef/{task}"),
            base: "base".into(),
            spec: None,
            sends: None,
        }
    }

    fn merged(task: &str) -> [Event; 2] {
        let merged = Event::TaskMerged {
            task: task.into(),
            commit: None,
            target: None,
            summary: None,
        };
        [spawned(task), merged]
    }

    fn parked(task: &str) -> [Event; 2] {
        let asked = Event::ApprovalRequested {
            task: task.into(),
            call: "hash".into(),
            call_id: "c1".into(),
            tool: "write_file".to_owned(),
            summary: "s".to_owned(),
            arguments: serde_json::Value::Null,
            rule: "ask".to_owned(),
        };
        [spawned(task), asked]
    }

    #[test]
    fn a_run_stays_open_for_people_while_something_waits_for_them() {
        let done = ["a", "b", "c"].map(merged);
        let waiting = [parked("a"), merged("b"), merged("c")];
        let states = [done, waiting].map(|facts| {
            let facts = ready().into_iter().chain(facts.into_iter().flatten());
            state(1, facts.collect())
        });
        let table = [
            (
                Stay::Never,
                [Some(RunStatus::Succeeded), Some(RunStatus::NeedsHuman)],
            ),
            (Stay::ForPeople, [Some(RunStatus::Succeeded), None]),
            (Stay::UntilClosed, [None, None]),
        ];
        for (stay, expected) in table {
            let ends = states.each_ref().map(|state| {
                let mut board = Board {
                    stay,
                    ..Board::default()
                };
                let effects = board.handle(Input::Changed, state, ShutdownLevel::None);
                effects.iter().find_map(|effect| match effect {
                    Effect::Finish(status, _) => Some(*status),
                    _ => None,
                })
            });
            assert_eq!(ends, expected, "{stay:?}");
        }
        // Whoever stops it does not wait for anybody.
        let mut board = Board {
            stay: Stay::ForPeople,
            ..Board::default()
        };
        let stopped = board.handle(Input::Changed, &states[1], ShutdownLevel::Drain);
        assert_eq!(stopped, [Effect::Finish(RunStatus::NeedsHuman, 3)]);
    }

    #[test]
    fn due_facts_are_asked_for_once() {
        let (mut board, state) = (Board::default(), state(2, Vec::new()));
        assert_eq!(
            board.handle(Input::Changed, &state, ShutdownLevel::None),
            [Effect::RecordDue]
        );
        assert_eq!(
            board.handle(Input::Changed, &state, ShutdownLevel::None),
            []
        );
    }

    #[test]
    fn no_more_workers_than_agents_are_allowed() {
        let (mut board, state) = (Board::default(), state(2, ready()));
        let started = ["a", "b"].map(|task| Effect::StartWorker(task.into()));
        assert_eq!(
            board.handle(Input::Changed, &state, ShutdownLevel::None),
            started
        );
        let after = board.handle(Input::WorkerEnded("b".into()), &state, ShutdownLevel::None);
        assert_eq!(after, [Effect::StartWorker("b".into())]);
    }

    #[test]
    fn a_worker_that_does_nothing_is_given_up() {
        let (mut board, state) = (Board::default(), state(1, ready()));
        board.handle(Input::Changed, &state, ShutdownLevel::None);
        for _ in 0..IDLE_WORKERS {
            let again = board.handle(Input::WorkerEnded("a".into()), &state, ShutdownLevel::None);
            assert_eq!(again, [Effect::StartWorker("a".into())]);
        }
        let given_up = board.handle(Input::WorkerEnded("a".into()), &state, ShutdownLevel::None);
        // The job is active until the task has failed, which may take a while.
        assert_eq!(given_up, [Effect::GiveUp("a".into())]);
        assert_eq!(
            board.handle(Input::Changed, &state, ShutdownLevel::None),
            []
        );
    }

    #[test]
    fn a_task_that_is_to_be_stopped_is_cancelled_once_it_has_no_worker() {
        let stop = |task: &str| {
            Event::StopRequested(StopRequest {
                task: task.into(),
                by: None,
            })
        };
        let stopping = state(
            1,
            ready().into_iter().chain([stop("a"), stop("b")]).collect(),
        );
        let (mut board, begun) = (Board::default(), state(1, ready()));
        assert_eq!(
            board.handle(Input::Changed, &begun, ShutdownLevel::None),
            [Effect::StartWorker("a".into())]
        );
        let stops = [Effect::StopWorker("a".into()), Effect::CallOff("b".into())];
        assert_eq!(
            board.handle(Input::Changed, &stopping, ShutdownLevel::None),
            stops
        );
        assert_eq!(
            board.handle(Input::Changed, &stopping, ShutdownLevel::Drain),
            []
        );
        let off = board.handle(
            Input::WorkerEnded("a".into()),
            &stopping,
            ShutdownLevel::None,
        );
        assert_eq!(off, [Effect::CallOff("a".into())]);
        // Nothing is recorded any more once the processes are killed; whoever resumes the run
        // cancels the task.
        let mut killed = Board::default();
        let end = Effect::Finish(RunStatus::Interrupted, EXIT_INTERRUPTED);
        assert_eq!(
            killed.handle(Input::Changed, &stopping, ShutdownLevel::Kill),
            [end]
        );
    }

    #[test]
    fn an_end_is_asked_for_again_in_a_newer_state() {
        let merged = ["a", "b", "c"].map(merged);
        let facts = ready().into_iter().chain(merged.into_iter().flatten());
        let (mut board, done) = (Board::default(), state(1, facts.collect()));
        let end = (RunStatus::Succeeded, 0);
        assert_eq!(
            board.handle(Input::Changed, &done, ShutdownLevel::None),
            [Effect::Finish(end.0, end.1)]
        );
        assert!(board.still_ends(end, &done, ShutdownLevel::None));
        assert!(!board.still_ends((RunStatus::NeedsHuman, 3), &done, ShutdownLevel::None));
        // Asking changes nothing: the workers of a newer state are not active yet.
        for _ in 0..2 {
            assert!(!board.still_ends(end, &state(1, ready()), ShutdownLevel::None));
        }
        assert_eq!(
            board.handle(Input::Changed, &state(1, ready()), ShutdownLevel::None),
            []
        );
    }

    #[test]
    fn the_approver_is_asked_once_and_waited_for() {
        let facts = ready().into_iter().take(1).chain(parked("a"));
        let parked = state(1, facts.collect());
        let asks = Effect::AskApprover("hash".into());
        let without = Board::default().handle(Input::Changed, &parked, ShutdownLevel::None);
        assert!(!without.contains(&asks), "{without:?}");
        let mut board = Board::new(true);
        assert!(
            board
                .handle(Input::Changed, &parked, ShutdownLevel::None)
                .contains(&asks)
        );
        assert!(
            !board
                .handle(Input::Changed, &parked, ShutdownLevel::None)
                .contains(&asks)
        );
        // The run cannot end before the answer, even if it is being stopped.
        assert_eq!(
            board.handle(Input::DueRecorded, &parked, ShutdownLevel::Drain),
            []
        );
        let end = board.handle(
            Input::ApproverAsked("hash".into()),
            &parked,
            ShutdownLevel::Drain,
        );
        assert_eq!(
            end,
            [Effect::Finish(RunStatus::Interrupted, EXIT_INTERRUPTED)]
        );
    }

    #[test]
    fn the_worktree_of_merged_work_is_removed_once_and_never_under_a_worker() {
        let id = || TaskId::from("a");
        let spawned = Event::AgentSpawned {
            task: id(),
            attempt: 1,
            agent: None,
            model: None,
            branch: "orchestrate/r-abcdef/a".to_owned(),
            base: "base".into(),
            spec: None,
            sends: None,
        };
        let prepared = Event::WorktreePrepared {
            task: id(),
            onto: None,
        };
        let merged = Event::TaskMerged {
            task: id(),
            commit: None,
            target: None,
            summary: None,
        };
        let begun = vec![Event::TaskReady { task: id() }, spawned, prepared];
        let done: Vec<Event> = begun.clone().into_iter().chain([merged]).collect();
        let (running, merged) = (state(1, begun), state(1, done.clone()));
        let release = Effect::ReleaseWorktree(id());
        let mut board = Board::default();
        assert!(
            board
                .handle(Input::Changed, &running, ShutdownLevel::None)
                .contains(&Effect::StartWorker(id()))
        );
        // Its worker may still be storing files.
        assert!(
            !board
                .handle(Input::Changed, &merged, ShutdownLevel::None)
                .contains(&release)
        );
        let ended = board.handle(Input::WorkerEnded(id()), &merged, ShutdownLevel::None);
        assert!(ended.contains(&release), "{ended:?}");
        assert!(
            !board
                .handle(Input::Changed, &merged, ShutdownLevel::None)
                .contains(&release)
        );
        // A task that is rejected meanwhile waits for the end of the removal.
        assert_eq!(
            board.handle(Input::Changed, &running, ShutdownLevel::None),
            []
        );
        let after = board.handle(Input::WorktreeReleased(id()), &running, ShutdownLevel::None);
        assert_eq!(after, [Effect::StartWorker(id())]);
        // Another process tries again what stayed, and nothing else.
        assert!(
            Board::default()
                .handle(Input::Changed, &merged, ShutdownLevel::None)
                .contains(&release)
        );
        let gone = state(
            1,
            done.into_iter()
                .chain([Event::WorktreeRemoved { task: id() }])
                .collect(),
        );
        assert!(
            !Board::default()
                .handle(Input::Changed, &gone, ShutdownLevel::None)
                .contains(&release)
        );
    }

    #[test]
    fn a_task_without_room_waits_for_the_end_of_another_one() {
        let (mut board, state) = (Board::default(), state(2, ready()));
        let starts = |tasks: &[&str]| {
            tasks
                .iter()
                .map(|task| Effect::StartWorker((*task).into()))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            board.handle(Input::Changed, &state, ShutdownLevel::None),
            starts(&["a", "b"])
        );
        // The next one may need less.
        assert_eq!(
            board.handle(Input::NoRoom("b".into()), &state, ShutdownLevel::None),
            starts(&["c"])
        );
        assert_eq!(
            board.handle(Input::NoRoom("c".into()), &state, ShutdownLevel::None),
            []
        );
        let after = board.handle(Input::WorkerEnded("a".into()), &state, ShutdownLevel::None);
        assert_eq!(after, starts(&["a", "b"]));
        // Once nothing is left that could end, nor start, the run does.
        assert_eq!(
            board.handle(Input::NoRoom("a".into()), &state, ShutdownLevel::None),
            starts(&["c"])
        );
        assert_eq!(
            board.handle(Input::NoRoom("b".into()), &state, ShutdownLevel::None),
            []
        );
        let end = board.handle(Input::NoRoom("c".into()), &state, ShutdownLevel::None);
        assert_eq!(end, [Effect::EndWithoutRoom]);
        assert_eq!(
            board.handle(Input::Changed, &state, ShutdownLevel::None),
            []
        );
    }

    #[test]
    fn draining_starts_nothing_and_ends_interrupted() {
        let (mut board, state) = (Board::default(), state(2, ready()));
        board.handle(Input::Changed, &state, ShutdownLevel::None);
        assert_eq!(
            board.handle(Input::WorkerEnded("a".into()), &state, ShutdownLevel::Drain),
            []
        );
        let end = board.handle(Input::WorkerEnded("b".into()), &state, ShutdownLevel::Drain);
        assert_eq!(
            end,
            [Effect::Finish(RunStatus::Interrupted, EXIT_INTERRUPTED)]
        );
        assert_eq!(
            board.handle(Input::Changed, &state, ShutdownLevel::None),
            []
        );
    }
}
