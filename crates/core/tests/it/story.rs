//! A run that is fed event by event, one each second.

use orchestrate_core::event::Event;
use orchestrate_core::{
    IllegalEvent, Liveness, Oid, RunSettings, RunState, Task, TaskId, TaskRecord, TaskState,
};

use crate::facts::{added, committed, recorded, reported, spawned, started, started_on_main};

/// Up to how many tasks what may be done next is compared with what is found anew.
const FEW_TASKS: usize = 100;

/// The state of a run, which tests change by events alone.
#[derive(Clone)]
pub(crate) struct Story(pub(crate) RunState);

impl Story {
    /// Begins a run without tasks.
    pub(crate) fn begun(settings: RunSettings) -> Story {
        Story(RunState::begin(&recorded(1, started(settings))).unwrap())
    }

    /// Begins a run of these tasks on the branch `main`.
    pub(crate) fn planned(settings: RunSettings, tasks: Vec<Task>) -> Story {
        let first = recorded(1, started_on_main(settings));
        let mut story = Story(RunState::begin(&first).unwrap());
        for task in tasks {
            story.tell(Event::planned(task));
        }
        story
    }

    /// Begins a run of these tasks, each with the agent that has spawned it.
    pub(crate) fn spawning(settings: RunSettings, tasks: Vec<(Task, Option<&str>)>) -> Story {
        let mut story = Self::begun(settings);
        for (task, parent) in tasks {
            story.tell(added(task, parent));
        }
        story
    }

    /// Lets every task begin that may.
    pub(crate) fn at_work(mut self) -> Self {
        for due in self.0.due_facts() {
            let task = due.task().unwrap().clone();
            self.tell(due).tell(spawned(task, 1));
        }
        self
    }

    pub(crate) fn try_tell(&mut self, event: Event) -> Result<(), IllegalEvent> {
        self.0.apply(&recorded(self.0.seq + 1, event))
    }

    /// Applies a valid event. What may be done next is kept as if it was found anew.
    pub(crate) fn tell(&mut self, event: Event) -> &mut Self {
        self.try_tell(event).unwrap();
        // Finding it anew takes a time like the number of tasks.
        if self.0.tasks().count() <= FEW_TASKS {
            assert_eq!(self.0, self.0.with_new_agenda());
        }
        self
    }

    pub(crate) fn tell_all(&mut self, events: impl IntoIterator<Item = Event>) -> &mut Self {
        for event in events {
            self.tell(event);
        }
        self
    }

    /// Records what follows by itself from what has happened.
    pub(crate) fn due(&mut self) -> &mut Self {
        self.tell_all(self.0.due_facts())
    }

    /// Hands committed work over, whose tree is named after the commit.
    pub(crate) fn hand_over(&mut self, task: &str, commit: &str) -> &mut Self {
        self.tell(committed(
            task,
            commit,
            Oid::new(format!("tree of {commit}")),
        ))
    }

    /// Ends a task's work with a report.
    pub(crate) fn report(&mut self, task: &str) -> &mut Self {
        self.tell(reported(task, &format!("{task} is done.")))
    }

    pub(crate) fn record(&self, task: &str) -> &TaskRecord {
        self.0.task(&TaskId::from(task)).unwrap()
    }

    pub(crate) fn state_of(&self, task: &str) -> TaskState {
        self.record(task).state()
    }

    pub(crate) fn liveness(&self, task: &str, is_live: bool) -> Liveness {
        self.0.liveness(self.record(task), is_live)
    }

    /// Returns the states of all tasks.
    pub(crate) fn states(&self) -> Vec<(&str, TaskState)> {
        let records = self.0.tasks();
        records
            .map(|record| (record.task.id.as_str(), record.state()))
            .collect()
    }
}
