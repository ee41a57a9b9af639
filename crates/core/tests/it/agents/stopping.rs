//! Stopping agents with their descendants, and what the children of agents mean for the run's end.

use orchestrate_core::event::{Event, RunStatus};
use orchestrate_core::run::child::TerminateDecision;
use orchestrate_core::run::outcome;
use orchestrate_core::run::request::{Decision, Request};
use orchestrate_core::task::FailureCause;
use orchestrate_core::{CallOfTurn, MergeStep, RunSettings, StopRequest, TaskId, TaskState, Wait};

use crate::facts::{failed, returned, task, woken};
use crate::story::Story;

/// Tells of a run with the task `a`, its children `b` and `c`, the child `d` of `b`, and the task
/// `e`; all of them are being worked on.
fn tree() -> Story {
    let of_a = Some("a");
    let tasks = vec![
        (task("a", &[]), None),
        (task("b", &[]), of_a),
        (task("c", &[]), of_a),
        (task("d", &[]), Some("b")),
        (task("e", &[]), None),
    ];
    Story::spawning(RunSettings::default(), tasks).at_work()
}

impl Story {
    /// Records everything that cancels stopped agents.
    fn call_off(&mut self) {
        for task in self.stopping() {
            self.tell_all(self.0.decide_cancellation(&TaskId::from(task.as_str())));
        }
    }

    fn stopping(&self) -> Vec<String> {
        self.0.stopping().map(ToString::to_string).collect()
    }

    fn terminate(&self, by: &str, agent: &str) -> Result<TerminateDecision, String> {
        let decided = self
            .0
            .decide_termination(&by.into(), &call(), &agent.into());
        decided.map_err(|refused| refused.to_string())
    }
}

fn call() -> CallOfTurn {
    CallOfTurn {
        turn: 1,
        call: "c1".into(),
    }
}

fn stop(task: &str) -> Event {
    Event::StopRequested(StopRequest {
        task: task.into(),
        by: None,
    })
}

#[test]
fn a_stop_holds_for_all_descendants_that_have_not_ended() {
    let mut story = tree();
    story.report("c");
    let asked = Request::StopAgent {
        agent: "a".into(),
        holder: None,
    };
    let decided = story.0.decide(&asked).unwrap().decision;
    assert_eq!(decided, Decision::Record(vec![stop("a")]));
    story.tell(stop("a"));
    assert_eq!(
        (story.stopping(), story.0.workable()),
        (vec!["a".into(), "b".into(), "d".into()], vec!["e".into()])
    );
    assert_eq!(outcome(&story.0), None);
    story.call_off();
    let states = ["a", "b", "c", "d", "e"].map(|task| story.state_of(task));
    use TaskState::{Cancelled, Merged, Running};
    assert_eq!(
        (states, story.stopping()),
        (
            [Cancelled, Cancelled, Merged, Cancelled, Running],
            Vec::new()
        )
    );
    let message = story.0.task(&"d".into()).unwrap().error().unwrap().message;
    assert_eq!(
        message,
        "stopped by request; its worktree and branch are kept"
    );
    // There is nothing left to stop, so nothing is recorded.
    assert_eq!(story.0.decide(&asked).unwrap().decision, Decision::Stop);
}

#[test]
fn work_is_merged_to_its_end_or_not_at_all() {
    let mut story = tree();
    let wait = Wait::Agents {
        ids: vec!["b".into(), "c".into()],
        until_ms: None,
    };
    story.tell(Event::AgentWaiting {
        task: "a".into(),
        turn: 1,
        call_id: "c1".into(),
        wait,
    });
    story.hand_over("b", "commit");
    story.hand_over("c", "commit");
    let Some(MergeStep::Merge {
        task,
        into,
        target,
        candidate,
    }) = story.0.next_merge()
    else {
        unreachable!()
    };
    assert_eq!(task.as_str(), "b");
    story.tell(Event::MergeStarted {
        task,
        into,
        target,
        candidate,
    });
    story.tell(stop("a"));
    // The agent into whose work it is merged ends after the merge as well.
    assert_eq!(story.stopping(), ["c", "d"]);
    assert_eq!(
        (
            story.0.decide_cancellation(&"a".into()),
            story.0.decide_cancellation(&"b".into())
        ),
        (vec![], vec![])
    );
    let (commit, target) = (Some("merge".into()), Some("base".into()));
    story.tell(Event::TaskMerged {
        task: "b".into(),
        commit,
        target,
        summary: None,
    });
    // The other one waits for its merge no more.
    assert_eq!(
        (story.0.next_merge(), story.state_of("b")),
        (None, TaskState::Merged)
    );
    story.call_off();
    assert_eq!(
        (story.state_of("a"), story.state_of("c")),
        (TaskState::Cancelled, TaskState::Cancelled)
    );
}

#[test]
fn a_stopped_task_can_be_retried() {
    let mut story = tree();
    story.tell(stop("b"));
    story.call_off();
    let cause = orchestrate_core::task::ReturnCause::Retried;
    story.tell(returned("d", cause));
    assert_eq!(
        (story.stopping(), story.state_of("d")),
        (Vec::new(), TaskState::Ready)
    );
}

#[test]
fn an_agent_ends_only_its_descendants() {
    let story = tree();
    let refused = |agent: &str, own: &str| {
        Err(format!(
            "an agent can end only those below it, and '{agent}' is not: {own}"
        ))
    };
    let table = [
        ("b", "a", "d"),
        ("b", "c", "d"),
        ("b", "b", "d"),
        ("a", "e", "b, c, d"),
        ("e", "d", "none"),
    ];
    for (by, agent, own) in table {
        assert_eq!(
            story.terminate(by, agent),
            refused(agent, own),
            "{by} {agent}"
        );
    }
    let unknown = "there is no agent 'z' in this run; those below you are: b, c, d";
    assert_eq!(story.terminate("a", "z"), Err(unknown.to_owned()));
}

#[test]
fn a_termination_waits_until_everything_below_has_ended() {
    let mut story = tree();
    let Ok(TerminateDecision::Stops(events)) = story.terminate("a", "b") else {
        unreachable!()
    };
    let wait = Wait::Agents {
        ids: vec!["b".into(), "d".into()],
        until_ms: None,
    };
    let waiting = Event::AgentWaiting {
        task: "a".into(),
        turn: 1,
        call_id: "c1".into(),
        wait,
    };
    assert_eq!(
        events,
        [
            Event::StopRequested(StopRequest {
                task: "b".into(),
                by: Some("a".into())
            }),
            waiting
        ]
    );
    story.tell_all(events);
    // Handed-over work of an agent that is to be stopped is not at rest.
    story.hand_over("b", "commit");
    assert_eq!(
        (story.0.due_facts(), story.0.next_merge()),
        (Vec::new(), None)
    );
    story.call_off();
    let woken = woken("a", false);
    assert_eq!(story.0.due_facts(), std::slice::from_ref(&woken));
    story.tell(woken);
    assert_eq!(story.terminate("a", "b"), Ok(TerminateDecision::Over));
    let kept: Vec<_> = story
        .0
        .kept_work(&"b".into())
        .into_iter()
        .map(|work| (work.agent_id.to_string(), work.state))
        .collect();
    assert_eq!(
        kept,
        [
            ("b".to_owned(), TaskState::Cancelled),
            ("d".to_owned(), TaskState::Cancelled)
        ]
    );
    let message = story.0.task(&"d".into()).unwrap().error().unwrap().message;
    assert_eq!(
        message,
        "stopped by agent a; its worktree and branch are kept"
    );
}

#[test]
fn the_children_of_agents_do_not_decide_how_the_run_ends() {
    let ended = |a: Option<FailureCause>, b: FailureCause| {
        let mut story = tree();
        story.tell(failed("d", FailureCause::Internal, ""));
        story.tell(failed("b", b, ""));
        story.report("c");
        story.report("e");
        match a {
            Some(cause) => story.tell(failed("a", cause, "")),
            None => story.report("a"),
        };
        outcome(&story.0)
    };
    assert_eq!(
        ended(None, FailureCause::Denied),
        Some((RunStatus::Succeeded, 0))
    );
    assert_eq!(
        ended(Some(FailureCause::Check), FailureCause::Turns),
        Some((RunStatus::Failed, 1))
    );
}
