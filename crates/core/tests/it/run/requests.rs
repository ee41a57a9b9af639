//! Decisions on requests in each state of a task.

use orchestrate_core::event::settings::MergeMode;
use orchestrate_core::event::{Event, VerifyScope};
use orchestrate_core::run::request::{Allowance, Decision, Request, RequestRefused, Return};
use orchestrate_core::task::{FailureCause, ReturnCause};
use orchestrate_core::{RunSettings, RunState, Task, TaskId, TaskState};

use crate::facts;
use crate::facts::{review_approved, review_requested, started_on_main};

const TASK: &str = "T1";

/// Returns the state of a run of one task after these events.
fn after(settings: RunSettings, facts: &[Event]) -> RunState {
    let task = Task {
        verify: Some("check".to_owned()),
        ..facts::task(TASK, &[])
    };
    let begun = [started_on_main(settings), Event::planned(task)];
    facts::replayed(begun.into_iter().chain(facts.iter().cloned()))
}

fn reviewed() -> RunSettings {
    RunSettings {
        merge: MergeMode::Review,
        ..RunSettings::default()
    }
}

fn ready() -> Event {
    facts::ready(TASK)
}

fn spawned() -> Event {
    facts::spawned(TASK, 1)
}

fn committed() -> Event {
    facts::committed(TASK, "c1", "tree")
}

fn failed(cause: FailureCause) -> Event {
    facts::failed(TASK, cause, "no")
}

/// Returns the events that bring the task to a state, for the states that a user may encounter.
fn facts_to(state: TaskState) -> Vec<Event> {
    let passed = facts::verified(TASK, VerifyScope::Task, "tree", true);
    let review = review_requested(TASK);
    match state {
        TaskState::Pending => vec![],
        TaskState::Ready => vec![ready()],
        TaskState::Running => vec![ready(), spawned()],
        TaskState::Committed => vec![ready(), spawned(), committed()],
        TaskState::Verified => vec![ready(), spawned(), committed(), passed],
        TaskState::AwaitingReview => vec![ready(), spawned(), committed(), passed, review],
        TaskState::Failed => vec![ready(), spawned(), failed(FailureCause::Turns)],
        other => unreachable!("{other:?} is not in the table"),
    }
}

fn approve(tree: &str) -> Request {
    Request::Approve {
        task: TASK.into(),
        tree: tree.into(),
    }
}

fn reject() -> Request {
    Request::Reject {
        task: TASK.into(),
        message: "why?".to_owned(),
        at: Some("a.rs:3".to_owned()),
    }
}

fn retry() -> Request {
    Request::Retry {
        task: TASK.into(),
        message: None,
    }
}

#[test]
fn each_state_allows_its_requests() {
    use TaskState::{AwaitingReview, Committed, Failed, Pending, Ready, Running, Verified};
    for (state, may_approve, may_reject, may_retry) in [
        (Pending, false, false, false),
        (Ready, false, false, false),
        (Running, false, false, false),
        (Committed, false, false, false),
        (Verified, true, true, false),
        (AwaitingReview, true, true, false),
        (Failed, false, true, true),
    ] {
        let run = after(reviewed(), &facts_to(state));
        assert_eq!(run.task(&TASK.into()).unwrap().state(), state);
        for (request, allowed) in [
            (approve("tree"), may_approve),
            (reject(), may_reject),
            (retry(), may_retry),
        ] {
            let decided = run.decide(&request);
            assert_eq!(
                decided.is_ok(),
                allowed,
                "{state:?} {request:?} {decided:?}"
            );
        }
    }
}

#[test]
fn what_failed_is_retried_at_once_unless_a_limit_would_stop_it_again() {
    let again = Request::RetryFailed { message: None };
    for (cause, is_retried) in [
        (FailureCause::Check, true),
        (FailureCause::Endpoint, true),
        (FailureCause::Turns, true),
        (FailureCause::Budget, false),
    ] {
        let run = after(reviewed(), &[ready(), spawned(), failed(cause)]);
        match run.decide(&again) {
            Ok(accepted) => {
                assert!(is_retried, "{cause}");
                assert_eq!(
                    accepted.answer,
                    "returned to their agents for another attempt: T1"
                );
            }
            Err(refused) => assert_eq!(
                (refused, is_retried),
                (RequestRefused::NothingFailed, false),
                "{cause}"
            ),
        }
    }
}

#[test]
fn a_resumption_reopens_what_the_endpoint_stopped() {
    let run = after(
        reviewed(),
        &[ready(), spawned(), failed(FailureCause::Endpoint)],
    );
    let again = run
        .decide_resumption(Allowance::default())
        .unwrap()
        .unwrap();
    assert_eq!(again.tasks, [TaskId::from(TASK)]);
    let run = after(
        reviewed(),
        &[ready(), spawned(), failed(FailureCause::Check)],
    );
    assert_eq!(run.decide_resumption(Allowance::default()), Ok(None));
}

#[test]
fn an_agent_is_told_which_limit_was_raised() {
    let told =
        |run: &RunState, allowance| run.decide_resumption(allowance).unwrap().unwrap().message;
    let run = after(
        reviewed(),
        &[ready(), spawned(), failed(FailureCause::Endpoint)],
    );
    assert_eq!(told(&run, Allowance::default()), "Try again.");
    let settings = RunSettings {
        budget_tokens: Some(10),
        ..reviewed()
    };
    let run = after(
        settings,
        &[ready(), spawned(), failed(FailureCause::Budget)],
    );
    let more = Allowance {
        tokens: Some(50_000),
        ..Allowance::default()
    };
    let expected = "The limit that stopped you has been raised: the whole run may use 50000 tokens now. Go on where you were.";
    assert_eq!(told(&run, more), expected);
}

#[test]
fn what_waits_for_an_endpoint_needs_time_to_go_on() {
    let (endpoint, error) = ("http://e/v1".to_owned(), "authenticate".to_owned());
    let rejected = Event::ModelRejected {
        task: TASK.into(),
        turn: 1,
        endpoint,
        error,
    };
    let facts = [ready(), spawned(), rejected];
    // The resumption itself is what it waits for: nothing is returned.
    assert_eq!(
        after(reviewed(), &facts).decide_resumption(Allowance::default()),
        Ok(None)
    );
    let run = after(
        RunSettings {
            timeout_ms: Some(0),
            ..reviewed()
        },
        &facts,
    );
    let refused = run.decide_resumption(Allowance::default());
    let tasks = vec![TaskId::from(TASK)];
    let (more_tokens, more_money, more_time) = (false, false, false);
    let expected = RequestRefused::StillOutOfTime {
        tasks,
        limit_ms: 0,
        more_tokens,
        more_money,
        more_time,
    };
    assert_eq!(refused, Err(expected));
    let more = Allowance {
        time: Some(std::time::Duration::from_secs(60)),
        ..Allowance::default()
    };
    assert_eq!(run.decide_resumption(more), Ok(None));
}

#[test]
fn a_rejection_returns_the_task_with_its_place_and_comment() {
    let run = after(reviewed(), &facts_to(TaskState::AwaitingReview));
    let accepted = run.decide(&reject()).unwrap();
    let tasks = vec![TaskId::from(TASK)];
    let message = "a.rs:3: why?".to_owned();
    assert_eq!(
        accepted.decision,
        Decision::Return(Return {
            tasks,
            cause: ReturnCause::Rejected,
            message
        })
    );
    assert_eq!(accepted.answer, "T1 is returned to its agent for attempt 2");
}

#[test]
fn an_approval_is_of_the_tree_that_was_seen() {
    let run = after(reviewed(), &facts_to(TaskState::AwaitingReview));
    assert_eq!(
        run.decide(&approve("other")),
        Err(RequestRefused::Changed { task: TASK.into() })
    );
    let fact = review_approved(TASK, "tree");
    assert_eq!(
        run.decide(&approve("tree")).unwrap().decision,
        Decision::Record(vec![fact])
    );
    let unmerged = RunSettings {
        merge: MergeMode::None,
        ..RunSettings::default()
    };
    let run = after(unmerged, &facts_to(TaskState::Verified));
    let branch = Some("orchestrate/r-abcdef/T1".to_owned());
    assert_eq!(
        run.decide(&approve("tree")),
        Err(RequestRefused::NothingIsMerged {
            task: TASK.into(),
            branch
        })
    );
}

#[test]
fn what_is_not_there_is_refused_with_what_is() {
    let run = after(reviewed(), &[]);
    let unknown = Request::Retry {
        task: "T9".into(),
        message: None,
    };
    assert_eq!(
        run.decide(&unknown),
        Err(RequestRefused::NoSuchTask {
            task: "T9".into(),
            known: vec![TASK.into()]
        })
    );
    let stop = Request::StopAgent {
        agent: "T9".into(),
        holder: None,
    };
    assert_eq!(
        run.decide(&stop),
        Err(RequestRefused::NoSuchTask {
            task: "T9".into(),
            known: vec![TASK.into()]
        })
    );
    let decide = Request::Decide {
        call: "c".into(),
        allowed: true,
        message: None,
    };
    assert_eq!(
        run.decide(&decide),
        Err(RequestRefused::NoSuchCall { call: "c".into() })
    );
}

#[test]
fn without_time_nothing_is_set_going() {
    let settings = RunSettings {
        timeout_ms: Some(0),
        ..reviewed()
    };
    let run = after(settings, &facts_to(TaskState::AwaitingReview));
    for request in [approve("tree"), reject()] {
        assert_eq!(
            run.decide(&request),
            Err(RequestRefused::OutOfTime { limit_ms: 0 })
        );
    }
    let message = Request::message(TASK, "");
    assert!(matches!(
        run.decide(&message),
        Err(RequestRefused::Message(_))
    ));
    assert_eq!(run.decide_resumption(Allowance::default()), Ok(None));
}

#[test]
fn a_refusal_reads_the_same_once_stored() {
    let refused = [
        RequestRefused::NoSuchTask {
            task: TASK.into(),
            known: vec![TASK.into()],
        },
        RequestRefused::NotInReview {
            task: TASK.into(),
            state: TaskState::Running,
        },
        RequestRefused::StillOutOfTime {
            tasks: vec![TASK.into()],
            limit_ms: 1,
            more_tokens: true,
            more_money: false,
            more_time: false,
        },
        RequestRefused::Late,
        after(reviewed(), &[])
            .decide(&Request::message("T9", "hello"))
            .unwrap_err(),
    ];
    for refusal in refused {
        let stored = serde_json::to_string(&refusal).unwrap();
        assert_eq!(
            serde_json::from_str::<RequestRefused>(&stored).unwrap(),
            refusal,
            "{stored}"
        );
        assert!(!refusal.to_string().contains("orchestrate "), "{refusal}");
    }
}
