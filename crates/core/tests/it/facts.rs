//! Events as short calls: whatever a test does not state has a plain default.

use orchestrate_core::event::{Event, RunStatus, VERSION, VerifyScope};
use orchestrate_core::task::{FailureCause, ReturnCause};
use orchestrate_core::{
    AgentId, BlobId, CallHash, LeftAside, MergeTarget, Oid, Recorded, RunSettings, RunState, Task,
    TaskId,
};

/// Records an event of the run, one each second.
pub(crate) fn recorded(seq: u64, event: Event) -> Recorded {
    Recorded {
        run_id: "r-abcdef".into(),
        seq,
        ts_ms: seq * 1_000,
        v: VERSION,
        event,
    }
}

/// Returns the state after these events, of which the first starts the run.
pub(crate) fn replayed(events: impl IntoIterator<Item = Event>) -> RunState {
    let facts = (1..).zip(events).map(|(seq, event)| recorded(seq, event));
    RunState::replay(&facts.collect::<Vec<_>>())
        .unwrap()
        .unwrap()
}

/// A run that starts on the commit `base`, and on no branch.
pub(crate) fn started(settings: RunSettings) -> Event {
    started_on(None, settings)
}

/// A run that starts on the branch `main`.
pub(crate) fn started_on_main(settings: RunSettings) -> Event {
    started_on(Some("main"), settings)
}

fn started_on(branch: Option<&str>, settings: RunSettings) -> Event {
    Event::RunStarted {
        plan: None,
        plan_source: None,
        title: None,
        settings: Box::new(settings),
        base_commit: "base".into(),
        base_branch: branch.map(str::to_owned),
    }
}

pub(crate) fn resumed() -> Event {
    Event::RunResumed {
        pid: 1,
        timeout_ms: None,
        budget_tokens: None,
        budget_micro_usd: None,
    }
}

pub(crate) fn finished(status: RunStatus, exit_code: u8) -> Event {
    Event::RunFinished { status, exit_code }
}

/// A task that depends on these.
pub(crate) fn task(name: &str, depends: &[&str]) -> Task {
    Task {
        id: name.into(),
        depends: depends.iter().map(|on| TaskId::from(*on)).collect(),
        ..Task::default()
    }
}

/// A task that an agent has spawned, or nobody.
pub(crate) fn added(task: Task, parent: Option<&str>) -> Event {
    Event::TaskAdded {
        task: Box::new(task),
        parent: parent.map(AgentId::from),
        spawn: None,
    }
}

pub(crate) fn ready(task: impl Into<TaskId>) -> Event {
    Event::TaskReady { task: task.into() }
}

/// An implementer that begins on the commit `base`.
pub(crate) fn spawned(task: impl Into<TaskId>, attempt: u32) -> Event {
    let task = task.into();
    Event::AgentSpawned {
        branch: format!("orchestrate/r-abcdef/{task}"),
        task,
        attempt,
        agent: Some("implementer".to_owned()),
        model: None,
        base: "base".into(),
        spec: None,
        sends: None,
    }
}

pub(crate) fn prepared(task: impl Into<TaskId>) -> Event {
    Event::WorktreePrepared {
        task: task.into(),
        onto: None,
    }
}

pub(crate) fn snapshot(
    task: impl Into<TaskId>,
    commit: impl Into<Oid>,
    tree: impl Into<Oid>,
) -> Event {
    Event::SnapshotTaken {
        task: task.into(),
        number: 1,
        commit: commit.into(),
        tree: tree.into(),
        on_branch: true,
        replaced: false,
        left_out: Vec::new(),
        aside: LeftAside::default(),
    }
}

pub(crate) fn committed(
    task: impl Into<TaskId>,
    commit: impl Into<Oid>,
    tree: impl Into<Oid>,
) -> Event {
    Event::TaskCommitted {
        task: task.into(),
        commit: commit.into(),
        tree: tree.into(),
        summary: String::new(),
    }
}

/// A check of `check` that has ended.
pub(crate) fn verified(
    task: impl Into<TaskId>,
    scope: VerifyScope,
    tree: impl Into<Oid>,
    passed: bool,
) -> Event {
    Event::VerifyFinished {
        task: task.into(),
        scope,
        tree: tree.into(),
        command: "check".to_owned(),
        passed,
        exit: if passed { "exit code 0" } else { "exit code 1" }.to_owned(),
        output: "output".into(),
        duration_ms: 1,
    }
}

/// A call that waits for a person's decision.
pub(crate) fn parked(task: impl Into<TaskId>, call: impl Into<CallHash>) -> Event {
    Event::ApprovalRequested {
        task: task.into(),
        call: call.into(),
        call_id: "c1".into(),
        tool: "tool".to_owned(),
        summary: "new".to_owned(),
        arguments: serde_json::Value::Null,
        rule: "ask".to_owned(),
    }
}

pub(crate) fn review_requested(task: impl Into<TaskId>) -> Event {
    Event::ReviewRequested { task: task.into() }
}

pub(crate) fn review_approved(task: impl Into<TaskId>, tree: impl Into<Oid>) -> Event {
    Event::ReviewApproved {
        task: task.into(),
        tree: tree.into(),
    }
}

/// A merge into the run's result that begins.
pub(crate) fn merge_started(
    task: impl Into<TaskId>,
    target: impl Into<Oid>,
    candidate: impl Into<Oid>,
) -> Event {
    Event::MergeStarted {
        task: task.into(),
        into: MergeTarget::Integration,
        target: target.into(),
        candidate: candidate.into(),
    }
}

pub(crate) fn merge_prepared(
    task: impl Into<TaskId>,
    commit: impl Into<Oid>,
    tree: impl Into<Oid>,
) -> Event {
    Event::MergePrepared {
        task: task.into(),
        commit: commit.into(),
        tree: tree.into(),
    }
}

pub(crate) fn merged(
    task: impl Into<TaskId>,
    commit: impl Into<Oid>,
    target: impl Into<Oid>,
) -> Event {
    Event::TaskMerged {
        task: task.into(),
        commit: Some(commit.into()),
        target: Some(target.into()),
        summary: None,
    }
}

/// Work that ends with a report.
pub(crate) fn reported(task: impl Into<TaskId>, summary: &str) -> Event {
    Event::TaskMerged {
        task: task.into(),
        commit: None,
        target: None,
        summary: Some(summary.to_owned()),
    }
}

/// Work that ends with neither a commit nor a report.
pub(crate) fn ended(task: impl Into<TaskId>) -> Event {
    Event::TaskMerged {
        task: task.into(),
        commit: None,
        target: None,
        summary: None,
    }
}

pub(crate) fn conflicted(task: impl Into<TaskId>) -> Event {
    Event::TaskConflicted {
        task: task.into(),
        cause: ReturnCause::Conflict,
        message: String::new(),
    }
}

pub(crate) fn returned(task: impl Into<TaskId>, cause: ReturnCause) -> Event {
    Event::TaskReturned {
        task: task.into(),
        cause,
        text: BlobId::from("text"),
        onto: None,
    }
}

pub(crate) fn failed(task: impl Into<TaskId>, cause: FailureCause, message: &str) -> Event {
    Event::TaskFailed {
        task: task.into(),
        cause,
        message: message.to_owned(),
    }
}

pub(crate) fn cancelled(task: impl Into<TaskId>, message: &str) -> Event {
    Event::TaskCancelled {
        task: task.into(),
        message: message.to_owned(),
    }
}

pub(crate) fn skipped(task: impl Into<TaskId>, because: impl Into<TaskId>) -> Event {
    Event::TaskSkipped {
        task: task.into(),
        because: because.into(),
    }
}

pub(crate) fn woken(task: impl Into<TaskId>, timed_out: bool) -> Event {
    Event::AgentWoken {
        task: task.into(),
        timed_out,
    }
}
