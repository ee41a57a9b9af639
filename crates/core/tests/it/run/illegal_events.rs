//! Events that are not valid in the current state are refused and change nothing.

use orchestrate_core::event::{Event, VerifyScope};
use orchestrate_core::task::{FailureCause, ReturnCause};
use orchestrate_core::{
    BlobId, Illegal, Oid, RequestParts, RunSettings, RunState, StopReason, Task, TaskId, Usage,
};

use crate::facts::{
    cancelled, failed, merge_prepared, merge_started, merged, parked, prepared, ready, recorded,
    replayed, reported, returned, review_approved, review_requested, spawned, started, task,
    verified,
};

fn a() -> TaskId {
    TaskId::from("a")
}

fn oid(text: &str) -> Oid {
    Oid::from(text)
}

fn blob() -> BlobId {
    BlobId::from("blob")
}

fn begun() -> Vec<Event> {
    let checked = Task {
        verify: Some("check".to_owned()),
        ..task("a", &[])
    };
    vec![started(RunSettings::default()), Event::planned(checked)]
}

/// Returns the parts of a request that keeps the messages of the request with this number, and this
/// many of them.
fn request_parts(after: Option<u64>, keep_first: usize) -> RequestParts {
    let parts = RequestParts::anew(blob(), blob(), vec![blob(), blob()], 100);
    RequestParts {
        after,
        keep_first,
        ..parts
    }
}

fn requested(parts: RequestParts) -> Event {
    let (request, model) = ("request".into(), "m".to_owned());
    Event::ModelRequested {
        task: a(),
        turn: 1,
        model,
        request,
        parts,
        reserved_tokens: 9,
        reserved_micro_usd: None,
    }
}

/// One event of each kind that is refused in some states of its task.
fn facts() -> Vec<Event> {
    let usage = Usage {
        input_tokens: 5,
        ..Usage::default()
    };
    let tool = "tool".to_owned();
    let arguments = serde_json::Value::Null;
    let rule = "allow".to_owned();
    let (merge, target) = (oid("merge"), oid("base"));
    vec![
        ready(a()),
        spawned(a(), 1),
        prepared(a()),
        Event::WorktreePrepared {
            task: a(),
            onto: Some(oid("onto")),
        },
        Event::TurnStarted { task: a(), turn: 1 },
        requested(request_parts(None, 0)),
        requested(request_parts(Some(99), 1)),
        Event::ModelReplied {
            task: a(),
            turn: 1,
            reply: blob(),
            usage,
            micro_usd: None,
            stop: StopReason::EndTurn,
        },
        Event::ToolStarted {
            task: a(),
            turn: 1,
            call_id: "c1".into(),
            tool,
            arguments,
            writes: Vec::new(),
            deletes: Vec::new(),
            rule,
            cache: None,
        },
        Event::TaskCommitted {
            task: a(),
            commit: oid("work"),
            tree: oid("tree"),
            summary: "new".to_owned(),
        },
        verified(a(), VerifyScope::Task, "tree", true),
        merge_started(a(), target.clone(), "work"),
        merge_prepared(a(), merge.clone(), "merged"),
        merged(a(), merge, target),
        reported(a(), "new"),
        parked(a(), "hash"),
        review_requested(a()),
        review_approved(a(), "tree"),
        returned(a(), ReturnCause::TaskCheck),
        failed(a(), FailureCause::Turns, "new"),
        cancelled(a(), "new"),
    ]
}

/// One run for each task state that these events lead to, with and without a merge in progress.
fn runs() -> Vec<RunState> {
    let mut reached = vec![replayed(begun())];
    let seen = |state: &RunState| {
        (
            state.task(&a()).map(|record| record.state()),
            state.merges.current().is_some(),
        )
    };
    let mut at = 0;
    while let Some(from) = reached.get(at).cloned() {
        for event in facts() {
            let mut next = from.clone();
            let is_told = next.apply(&recorded(from.seq + 1, event)).is_ok();
            if is_told && reached.iter().all(|known| seen(known) != seen(&next)) {
                reached.push(next);
            }
        }
        at += 1;
    }
    reached
}

#[test]
fn a_refused_fact_changes_nothing() {
    let mut refused = 0;
    for before in runs() {
        for event in facts() {
            let mut state = before.clone();
            if let Err(error) = state.apply(&recorded(before.seq + 1, event)) {
                refused += 1;
                assert_eq!(state, before, "{error}");
            }
        }
    }
    assert!(refused > 100, "only {refused} facts were refused");
}

#[test]
fn a_request_keeps_messages_of_the_agents_request_before_it_only() {
    let mut state = RunState::replay(&[]).unwrap();
    for (seq, event) in (1..).zip(begun().into_iter().chain([ready(a()), spawned(a(), 1)])) {
        let fact = recorded(seq, event);
        match &mut state {
            Some(state) => state.apply(&fact).unwrap(),
            None => state = RunState::replay(&[fact]).unwrap(),
        }
    }
    let mut state = state.unwrap();
    let mut tell = |after: Option<u64>, keep_first: usize| {
        let fact = recorded(state.seq + 1, requested(request_parts(after, keep_first)));
        state.apply(&fact).map_err(|error| match error.reason {
            Illegal::OfTask { reason, .. } => *reason,
            other => other,
        })
    };
    let not_before = |newest| Err(Illegal::NotTheRequestBefore { newest });
    assert_eq!(tell(Some(4), 0), not_before(None));
    assert_eq!(tell(None, 1), Err(Illegal::NoSuchMessages { messages: 0 }));
    assert_eq!(tell(None, 0), Ok(()));
    assert_eq!(tell(Some(4), 1), not_before(Some(5)));
    assert_eq!(
        tell(Some(5), 3),
        Err(Illegal::NoSuchMessages { messages: 2 })
    );
    assert_eq!(tell(Some(5), 2), Ok(()));
    assert_eq!(tell(Some(5), 2), not_before(Some(6)));
    assert_eq!(tell(Some(6), 4), Ok(()));
    assert_eq!(tell(None, 0), Ok(()));
    assert_eq!(
        tell(Some(8), 3),
        Err(Illegal::NoSuchMessages { messages: 2 })
    );
}
