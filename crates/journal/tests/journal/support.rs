//! A small run to record, and a clock that does not advance.

use std::path::Path;

use orchestrate_core::event::{Event, Recorded, VERSION};
use orchestrate_core::ids::{RunId, TaskId};
use orchestrate_core::messages::{Envelope, Sender};
use orchestrate_core::{RunSettings, Task};
use orchestrate_journal::{Clock, Store};

pub(crate) const NOW: u64 = 1_795_255_200_000;

/// A clock that does not advance.
pub(crate) const CLOCK: Clock = Clock {
    date: || NOW,
    steady: || 0,
    asleep: || 0,
};

pub(crate) fn run() -> RunId {
    RunId::from("r-abcdef")
}

pub(crate) fn store(folder: &Path) -> Store {
    Store::open_with(folder, CLOCK).unwrap()
}

pub(crate) fn started() -> Event {
    Event::RunStarted {
        plan: Some("plan.md".to_owned()),
        plan_source: None,
        title: Some("A run".to_owned()),
        settings: Box::new(RunSettings::default()),
        base_commit: "1".repeat(40).as_str().into(),
        base_branch: Some("main".to_owned()),
    }
}

pub(crate) fn added(id: &str) -> Event {
    let task = Task {
        id: TaskId::from(id),
        title: format!("Task {id}"),
        ..Task::default()
    };
    Event::planned(task)
}

pub(crate) fn ready(id: &str) -> Event {
    Event::TaskReady { task: id.into() }
}

pub(crate) fn spawned(id: &str) -> Event {
    Event::AgentSpawned {
        task: id.into(),
        attempt: 1,
        agent: Some("implementer".to_owned()),
        model: Some("script/demo".to_owned()),
        branch: format!("orchestrate/r-abcdef/{id}"),
        base: "1".repeat(40).as_str().into(),
        spec: None,
        sends: None,
    }
}

pub(crate) fn turn(id: &str, turn: u32) -> Event {
    Event::TurnStarted {
        task: id.into(),
        turn,
    }
}

pub(crate) fn sent(to: &str, sequence: u64) -> Event {
    Event::MessageSent {
        envelope: Envelope::note(sequence, Sender::User, to, format!("message {sequence}")),
    }
}

pub(crate) fn delivered(to: &str, sequence: u64) -> Event {
    Event::MessageDelivered {
        from: Sender::User,
        to: to.into(),
        sequence,
        expired: false,
    }
}

/// Returns facts as the journal records them, numbered from 1.
pub(crate) fn recorded(events: Vec<Event>) -> Vec<Recorded> {
    let numbered = (1..).zip(events);
    numbered
        .map(|(seq, event)| Recorded {
            run_id: run(),
            seq,
            ts_ms: NOW,
            v: VERSION,
            event,
        })
        .collect()
}
