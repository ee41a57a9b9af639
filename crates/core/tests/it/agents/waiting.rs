//! Waiting for other agents: who may, when it is over, and what an agent is doing meanwhile.

use std::collections::BTreeSet;
use std::time::Duration;

use orchestrate_core::event::settings::MergeMode;
use orchestrate_core::event::{Event, RunStatus};
use orchestrate_core::messages::{
    Address, Envelope, MAX_DEADLINE_SECONDS, Origin, Outgoing, Sender,
};
use orchestrate_core::projections::report::Standing;
use orchestrate_core::run::request::Decision;
use orchestrate_core::run::{AskedWait, Expiring, WaitDecision, outcome};
use orchestrate_core::task::FailureCause;
use orchestrate_core::{
    Action, Blocker, CallOfTurn, Liveness, Recorded, RejectingEndpoint, Request, RequestRefused,
    RunSettings, Task, TaskId, TaskState, Wait, WaitRefused, shown_hash,
};

use crate::facts;
use crate::facts::{failed, finished, parked, ready, recorded, review_requested, task, woken};
use crate::story::Story;

/// Tells of a run whose tasks are all being worked on, if nothing comes before them.
fn at_work(tasks: Vec<Task>) -> Story {
    let tasks = tasks.into_iter().map(|task| (task, None)).collect();
    Story::spawning(RunSettings::default(), tasks).at_work()
}

fn with(settings: RunSettings, tasks: Vec<(Task, Option<&str>)>) -> Story {
    Story::spawning(settings, tasks).at_work()
}

impl Story {
    fn ask(
        &self,
        waiter: &str,
        ids: &[&str],
        seconds: Option<u64>,
    ) -> Result<WaitDecision, WaitRefused> {
        let ids = ids.iter().map(|id| TaskId::from(*id)).collect();
        let timeout = seconds.map(Duration::from_secs);
        self.0.decide_wait(
            &waiter.into(),
            &AskedWait {
                of: of_turn(1),
                ids,
                timeout,
            },
        )
    }

    /// Lets an agent wait.
    fn wait(&mut self, waiter: &str, ids: &[&str], seconds: Option<u64>) {
        let decided = self.ask(waiter, ids, seconds);
        let Ok(WaitDecision::Waits(event)) = decided else {
            unreachable!("{waiter}: {decided:?}")
        };
        self.tell(*event);
    }

    /// Lets an endpoint reject the key of a task's agent.
    fn reject(&mut self, task: &str, endpoint: &str) {
        let error = format!("authenticate {task}");
        self.tell(Event::ModelRejected {
            task: task.into(),
            turn: 1,
            endpoint: endpoint.to_owned(),
            error,
        });
    }
}

fn of_turn(turn: u32) -> CallOfTurn {
    CallOfTurn {
        turn,
        call: "c1".into(),
    }
}

fn message_to(task: &str) -> Event {
    Event::MessageSent {
        envelope: Envelope::note(1, Sender::User, task, "stop"),
    }
}

#[test]
fn a_wait_holds_no_agent_and_ends_with_the_work_that_it_is_for() {
    let mut story = at_work(vec![task("a", &[]), task("b", &[]), task("c", &[])]);
    story.wait("a", &["b", "c", "b"], None);
    assert_eq!(
        (story.state_of("a"), story.0.workable()),
        (TaskState::Waiting, vec!["b".into(), "c".into()])
    );
    story.report("b");
    assert_eq!(
        (story.0.is_woken(&"a".into()), story.0.due_facts()),
        (false, Vec::new())
    );
    story.report("c");
    assert_eq!(story.0.due_facts(), [woken("a", false)]);
    story.tell(woken("a", false));
    assert_eq!(
        (story.state_of("a"), story.0.workable()),
        (TaskState::Running, vec!["a".into()])
    );
    // The same call is answered; another one of the same name, in a later turn, is a call of its
    // own.
    let again = |turn| AskedWait {
        of: of_turn(turn),
        ids: vec!["b".into()],
        timeout: None,
    };
    let over = Ok(WaitDecision::Over { timed_out: false });
    assert_eq!(story.0.decide_wait(&"a".into(), &again(1)), over);
    assert_eq!(story.0.decide_wait(&"a".into(), &again(2)), over);
    assert!(story.try_tell(woken("a", false)).is_err());
}

#[test]
fn a_message_ends_a_wait_whoever_sends_it() {
    let mut story = at_work(vec![task("a", &[]), task("b", &[])]);
    story.wait("a", &["b"], None);
    story.tell(message_to("b"));
    assert_eq!(story.0.due_facts(), []);
    story.tell(Event::MessageSent {
        envelope: Envelope::note(1, Sender::Agent("b".into()), "a", "which port?"),
    });
    assert_eq!(story.0.due_facts(), [woken("a", false)]);
    // A message that came during the turn is read before another wait begins.
    assert_eq!(
        story.ask("b", &["a"], None),
        Ok(WaitDecision::Over { timed_out: false })
    );
}

#[test]
fn finished_work_that_a_person_reviews_is_done() {
    let reviewed = RunSettings {
        merge: MergeMode::Review,
        ..RunSettings::default()
    };
    let mut story = with(
        reviewed,
        vec![(task("a", &[]), None), (task("b", &[]), None)],
    );
    story.wait("a", &["b"], None);
    story.hand_over("b", "commit");
    assert_eq!(story.0.due_facts(), [review_requested("b")]);
    story.tell(review_requested("b"));
    assert_eq!(story.0.due_facts(), [woken("a", false)]);

    // Work that is merged without one is done only then: it may come back to its agent.
    let mut story = at_work(vec![task("a", &[]), task("b", &[])]);
    story.wait("a", &["b"], None);
    story.hand_over("b", "commit");
    assert_eq!(story.0.due_facts(), []);
    story.tell(failed("b", FailureCause::Check, ""));
    assert_eq!(story.0.due_facts(), [woken("a", false)]);
}

#[test]
fn a_deadline_counts_the_time_that_is_worked() {
    let mut story = at_work(vec![task("a", &[]), task("b", &[]), task("c", &[])]);
    let began = story.0.worked_ms();
    story.wait("a", &["b"], Some(60));
    story.wait("c", &["b"], Some(20));
    let expiry = story.0.next_expiry().unwrap();
    let until_ms = began + 21_000;
    let of_c = Expiring::Wait {
        task: "c".into(),
        until_ms,
    };
    assert_eq!((&expiry.of, expiry.left), (&of_c, Duration::from_secs(19)));
    // Nobody works on the run meanwhile.
    story.tell(finished(RunStatus::Interrupted, 130));
    story
        .0
        .apply(&Recorded {
            ts_ms: 900_000,
            ..recorded(story.0.seq + 1, resumed())
        })
        .unwrap();
    assert_eq!(story.0.next_expiry().unwrap().left, Duration::from_secs(18));
    assert_eq!(story.0.decide_expiry(&expiry), [woken("c", true)]);
    story
        .0
        .apply(&Recorded {
            ts_ms: 920_000,
            ..recorded(story.0.seq + 1, woken("c", true))
        })
        .unwrap();
    assert_eq!(story.0.decide_expiry(&expiry), []);
    let again = AskedWait {
        of: of_turn(1),
        ids: vec!["b".into()],
        timeout: Some(Duration::from_secs(20)),
    };
    assert_eq!(
        story.0.decide_wait(&"c".into(), &again),
        Ok(WaitDecision::Over { timed_out: true })
    );
    assert!(
        matches!(story.0.next_expiry().unwrap().of, Expiring::Wait { task, .. } if task.as_str() == "a")
    );
}

fn resumed() -> Event {
    facts::resumed()
}

#[test]
fn a_run_ends_only_if_no_wait_can() {
    let mut story = at_work(vec![task("a", &[]), task("b", &[])]);
    story.wait("a", &["b"], None);
    assert_eq!(outcome(&story.0), None);
    story.tell(parked("b", "hash"));
    assert_eq!(outcome(&story.0), Some((RunStatus::NeedsHuman, 3)));

    let mut story = at_work(vec![task("a", &[]), task("b", &[])]);
    story.tell(parked("b", "hash"));
    story.wait("a", &["b"], Some(5));
    assert_eq!(outcome(&story.0), None);
}

#[test]
fn a_wait_for_what_will_never_start_is_over_once_that_is_known() {
    let unmerged = RunSettings {
        merge: MergeMode::None,
        ..RunSettings::default()
    };
    let tasks = vec![
        task("a", &[]),
        task("b", &[]),
        task("c", &["b"]),
        task("d", &[]),
    ];
    let mut story = with(
        unmerged,
        tasks.into_iter().map(|task| (task, None)).collect(),
    );
    story.wait("d", &["a"], None);
    // If `b` delivers a report, `c` starts.
    story.wait("a", &["c"], None);
    assert_eq!(story.0.due_facts(), []);
    story.hand_over("b", "commit");
    assert_eq!(story.0.due_facts(), [woken("a", false)]);
    story.tell(woken("a", false));
    let over = Ok(WaitDecision::Over { timed_out: false });
    assert_eq!(
        (story.ask("a", &["c"], None), story.0.due_facts()),
        (over, Vec::new())
    );
    story.hand_over("a", "commit");
    assert_eq!(story.0.due_facts(), [woken("d", false)]);
}

/// Returns agents `a` to `d`: `b` and `c` come after others or are children of others as the
/// closures say.
fn cycles() -> Vec<(
    &'static str,
    Story,
    &'static str,
    Vec<&'static str>,
    WaitRefused,
)> {
    let two = || at_work(vec![task("a", &[]), task("b", &[]), task("c", &[])]);
    let cycle = |ids: &[&str]| WaitRefused::Cycle(ids.iter().map(|id| TaskId::from(*id)).collect());
    let mut each_other = two();
    each_other.wait("a", &["b"], None);
    let mut around = two();
    around.wait("a", &["b", "c"], None);
    around.wait("b", &["c"], None);
    let dependent = at_work(vec![task("a", &[]), task("b", &["a"]), task("c", &["b"])]);
    let after = Task {
        after: vec!["a".into()],
        ..task("b", &[])
    };
    let reviewer = Task {
        verdict: true,
        ..task("r", &["a", "b"])
    };
    let mut reviewed = at_work(vec![
        task("a", &[]),
        task("b", &[]),
        reviewer,
        task("d", &["r"]),
    ]);
    reviewed.hand_over("b", "commit");
    let child = |name, parent| (task(name, &[]), Some(parent));
    let tree = || {
        let tasks = vec![(task("a", &[]), None), child("b", "a"), child("c", "b")];
        with(RunSettings::default(), tasks)
    };
    let known = "a, b, c".to_owned();
    vec![
        ("itself", two(), "a", vec!["b", "a"], WaitRefused::Itself),
        ("no agent", two(), "a", vec![], WaitRefused::NoAgents),
        (
            "unknown",
            two(),
            "a",
            vec!["b", "x"],
            WaitRefused::Unknown {
                agent: "x".into(),
                known,
            },
        ),
        (
            "its parent",
            tree(),
            "b",
            vec!["a"],
            WaitRefused::Ancestor { agent: "a".into() },
        ),
        (
            "its grandparent",
            tree(),
            "c",
            vec!["a"],
            WaitRefused::Ancestor { agent: "a".into() },
        ),
        ("each other", each_other, "b", vec!["c", "a"], cycle(&["a"])),
        ("around", around, "c", vec!["a"], cycle(&["a"])),
        (
            "its dependent",
            dependent,
            "a",
            vec!["c", "b"],
            cycle(&["c", "b"]),
        ),
        (
            "what comes after it",
            at_work(vec![task("a", &[]), after]),
            "a",
            vec!["b"],
            cycle(&["b"]),
        ),
        ("its reviewer", reviewed, "a", vec!["r"], cycle(&["r"])),
    ]
}

#[test]
fn a_cycle_is_refused_to_the_one_that_closes_it() {
    for (name, story, waiter, ids, expected) in cycles() {
        assert_eq!(
            story.ask(waiter, &ids, None),
            Err(expected.clone()),
            "{name}"
        );
        // A deadline would end it, but not what it waits for.
        assert_eq!(story.ask(waiter, &ids, Some(5)), Err(expected), "{name}");
    }
}

#[test]
fn a_wait_is_at_most_a_year_long() {
    let story = at_work(vec![task("a", &[]), task("b", &[])]);
    assert!(matches!(
        story.ask("a", &["b"], Some(MAX_DEADLINE_SECONDS)),
        Ok(WaitDecision::Waits(_))
    ));
    let refused = story.ask("a", &["b"], Some(1_000_000_000_000_000));
    assert_eq!(
        refused,
        Err(WaitRefused::TooLong {
            seconds: 1_000_000_000_000_000
        })
    );
    // That is known before anybody is asked about the call.
    let check = |seconds: u64| {
        story.0.check_wait(
            &"a".into(),
            &["b".into()],
            Some(Duration::from_secs(seconds)),
        )
    };
    assert_eq!(check(MAX_DEADLINE_SECONDS), Ok(()));
    assert_eq!(check(1_000_000_000_000_000), refused.map(drop));
}

/// Whoever waits for the answer of this agent, or for one that does, goes on once it has answered.
#[test]
fn an_agent_is_told_to_answer_before_it_waits() {
    let child = |name, parent| (task(name, &[]), Some(parent));
    let tasks = vec![(task("a", &[]), None), child("b", "a"), child("c", "b")];
    let mut story = with(RunSettings::default(), tasks);
    let origin = Origin {
        from: Sender::Agent("c".into()),
        call: Some(of_turn(1)),
        channels: None,
    };
    let asked = Outgoing {
        waits: true,
        ..Outgoing::new(Address::Agent("a".into()), "Which colour?")
    };
    let events = story.0.decide_message(&origin, &asked).unwrap().events;
    story.tell_all(events);
    story.wait("b", &["c"], None);
    for event in story.0.decide_delivery(&"a".into()).0 {
        story.tell(event);
    }
    let refused = WaitRefused::Asked {
        asker: "c".into(),
        question: 1,
    };
    assert_eq!(story.ask("a", &["b"], None), Err(refused.clone()));
    let expected = "agent 'c' waits for your answer to its question 1: answer it first (`send_message_to_agent`, \
                    `reply_to` 1), then wait";
    assert_eq!(refused.to_string(), expected);
}

#[test]
fn what_ends_by_itself_may_be_waited_for() {
    let three = || at_work(vec![task("a", &[]), task("b", &[]), task("c", &["b"])]);
    let mut of_a_person = three();
    of_a_person.tell(parked("b", "hash"));
    let mut with_deadline = three();
    with_deadline.wait("a", &["b"], Some(5));
    let mut broken = three();
    broken.tell(failed("b", FailureCause::Check, ""));
    let reviewer = |name: &str| Task {
        verdict: true,
        ..task(name, &["b"])
    };
    let mut reviewed = at_work(vec![
        task("a", &[]),
        task("b", &[]),
        reviewer("c"),
        task("d", &["c"]),
    ]);
    reviewed.hand_over("b", "commit");
    let child = (task("b", &[]), Some("a"));
    let tree = with(RunSettings::default(), vec![(task("a", &[]), None), child]);
    let table = [
        ("its child", tree, "a", "b"),
        ("a task that comes after another one", three(), "a", "c"),
        ("a task that a person decides about", of_a_person, "a", "c"),
        (
            "an agent whose wait has a deadline",
            with_deadline,
            "b",
            "a",
        ),
        ("a task that will be skipped", broken, "a", "c"),
        ("a task after a review", reviewed, "a", "d"),
    ];
    for (name, story, waiter, id) in table {
        let decided = story.ask(waiter, &[id], None);
        assert!(
            matches!(decided, Ok(WaitDecision::Waits(_))),
            "{name}: {decided:?}"
        );
    }
}

#[test]
fn a_person_is_asked_by_a_fact_of_its_own() {
    let mut story = at_work(vec![task("a", &[])]);
    let waiting = |wait| Event::AgentWaiting {
        task: "a".into(),
        turn: 1,
        call_id: "c1".into(),
        wait,
    };
    assert!(
        story
            .try_tell(waiting(Wait::Person {
                call: "hash".into()
            }))
            .is_err()
    );
    story.tell(parked("a", "hash"));
    assert_eq!(
        story.0.task(&"a".into()).unwrap().wait(),
        Some(&Wait::Person {
            call: "hash".into()
        })
    );
    assert!(story.try_tell(woken("a", false)).is_err());
    let agents = Wait::Agents {
        ids: vec!["b".into()],
        until_ms: None,
    };
    assert!(story.try_tell(waiting(agents)).is_err());
}

#[test]
fn a_rejected_key_parks_what_asks_there_until_the_run_is_resumed() {
    let after = Task {
        after: vec!["a".into()],
        ..task("e", &[])
    };
    let mut story = at_work(vec![
        task("a", &[]),
        task("b", &[]),
        task("c", &["a"]),
        task("d", &[]),
        after,
    ]);
    story.reject("a", "http://e/v1");
    story.reject("b", "http://f/v1");
    // What depends on it is not skipped, and what only comes after it need not wait for a person.
    assert_eq!(story.0.due_facts(), [ready("e")]);
    let mut story = story.at_work();
    assert_eq!(
        (outcome(&story.0), story.0.workable()),
        (None, vec!["d".into(), "e".into()])
    );
    story.reject("d", "http://e/v1");
    story.report("e");
    assert_eq!(outcome(&story.0), Some((RunStatus::NeedsHuman, 3)));
    story.tell(finished(RunStatus::NeedsHuman, 3));
    let ids = |ids: &[&str]| ids.iter().map(|id| TaskId::from(*id)).collect();
    let rejecting = |endpoint: &str, error: &str, tasks: &[&str]| {
        let (endpoint, error) = (endpoint.to_owned(), error.to_owned());
        RejectingEndpoint {
            endpoint,
            error,
            tasks: ids(tasks),
        }
    };
    let report = Standing {
        state: story.0.clone().into(),
        is_live: false,
    }
    .report();
    let named = [
        rejecting("http://e/v1", "authenticate a", &["a", "d"]),
        rejecting("http://f/v1", "authenticate b", &["b"]),
    ];
    assert_eq!(report.rejecting_endpoints, named);
    let resume = Action::Resume {
        more_tokens: false,
        more_money: false,
        more_time: false,
    };
    assert_eq!(report.actions(&story.0), [resume]);
    story.tell(resumed());
    assert_eq!(
        (story.0.rejecting_endpoints(), story.0.workable()),
        (Vec::new(), ids(&["a", "b", "d"]))
    );
    assert_eq!(
        (
            story.state_of("c"),
            story.0.task(&"a".into()).unwrap().attempt()
        ),
        (TaskState::Pending, 1)
    );
}

#[test]
fn a_wait_for_an_endpoint_is_ended_by_nothing_else() {
    let mut story = at_work(vec![task("a", &[]), task("b", &[])]);
    story.reject("a", "http://e/v1");
    story.tell(message_to("a"));
    assert_eq!(story.0.due_facts(), []);
    assert!(story.try_tell(woken("a", false)).is_err());
    // It may be waited for, as a person may mend the key.
    story.wait("b", &["a"], None);
    assert_eq!(outcome(&story.0), Some((RunStatus::NeedsHuman, 3)));
    // An agent that waits for a person or another agent asks no model.
    assert!(
        story
            .try_tell(Event::ModelRejected {
                task: "b".into(),
                turn: 1,
                endpoint: "http://e/v1".to_owned(),
                error: "authenticate".to_owned(),
            })
            .is_err()
    );
    story.tell(resumed());
    assert_eq!(
        (story.state_of("a"), story.state_of("b")),
        (TaskState::Running, TaskState::Waiting)
    );
}

#[test]
fn what_an_agent_is_doing_follows_from_the_facts() {
    use Liveness::{BlockedOn, IdleDone, Lost, WaitingHuman, Working};
    let reviewer = Task {
        verdict: true,
        ..task("r", &["h"])
    };
    let after = Task {
        after: vec!["w".into()],
        ..task("p", &["d"])
    };
    let names = ["w", "d", "a", "q", "m", "v", "f", "o", "b", "h", "k"];
    let tasks = names
        .into_iter()
        .map(|name| task(name, &[]))
        .chain([after, reviewer]);
    let mut story = at_work(tasks.collect());
    story.wait("a", &["w", "d"], None);
    story.tell(parked("q", "hash"));
    story.reject("k", "http://e/v1");
    story.tell(Event::ModelWaiting {
        task: "o".into(),
        turn: 1,
        error: "reach it".to_owned(),
    });
    story.tell(Event::BudgetWaited {
        task: "b".into(),
        turn: 1,
        tokens: 9,
        micro_usd: None,
    });
    story.hand_over("v", "commit").hand_over("h", "commit");
    story.report("m");
    story.tell(failed("f", FailureCause::Check, ""));
    let ids = |names: &[&str]| names.iter().map(|name| TaskId::from(*name)).collect();
    let table = [
        ("w", Working),
        ("a", BlockedOn(Blocker::Agents(ids(&["w", "d"])))),
        ("q", WaitingHuman),
        ("k", WaitingHuman),
        ("m", IdleDone),
        ("v", BlockedOn(Blocker::Merge)),
        ("f", IdleDone),
        ("o", BlockedOn(Blocker::Model)),
        ("b", BlockedOn(Blocker::Budget)),
        ("h", BlockedOn(Blocker::Reviewers(ids(&["r"])))),
        ("p", BlockedOn(Blocker::Dependencies(ids(&["d", "w"])))),
    ];
    for (task, expected) in table {
        assert_eq!(story.liveness(task, true), expected, "{task}");
        let lost = ["w", "o", "b"].contains(&task);
        assert_eq!(
            story.liveness(task, false),
            if lost { Lost } else { expected },
            "{task}"
        );
    }
    story.tell(ready("r"));
    assert_eq!(story.liveness("r", true), BlockedOn(Blocker::Slot));
    story.tell(message_to("r"));
    let active: Vec<String> = story
        .0
        .active_agents(true)
        .iter()
        .map(|info| info.agent_id.to_string())
        .collect();
    assert_eq!(active.join(" "), "w d a q v o b h k p r");

    let shown =
        serde_json::to_value(story.0.agent_info(story.0.task(&"a".into()).unwrap(), true)).unwrap();
    assert_eq!(
        (&shown["liveness"], &shown["blocked_on"]["agents"][1]),
        (&"blocked-on".into(), &"d".into())
    );
    let reviewing = RunSettings {
        merge: MergeMode::Review,
        ..RunSettings::default()
    };
    let mut story = with(reviewing, vec![(task("a", &[]), None)]);
    story.hand_over("a", "commit");
    assert_eq!(story.liveness("a", true), WaitingHuman);
    story.tell(review_requested("a"));
    assert_eq!(story.liveness("a", true), WaitingHuman);
    let kept = RunSettings {
        merge: MergeMode::None,
        ..RunSettings::default()
    };
    let mut story = with(kept, vec![(task("a", &[]), None)]);
    story.hand_over("a", "commit");
    assert_eq!(story.liveness("a", true), IdleDone);
}

#[test]
fn a_long_report_is_cut() {
    let mut story = at_work(vec![task("a", &[])]);
    let summary = Some("é".repeat(2_007));
    story.tell(Event::TaskMerged {
        task: "a".into(),
        commit: None,
        target: None,
        summary,
    });
    let status = story
        .0
        .agent_status(story.0.task(&"a".into()).unwrap(), true);
    assert!(status.summary.unwrap().ends_with("é… (7 more characters)"));
}

/// Twenty agents ask three times each: one of their sixty calls is another one, and the others have
/// the same text.
#[test]
fn an_answer_lets_one_of_many_calls_run() {
    let names: Vec<String> = (1..=20).map(|number| format!("a{number}")).collect();
    let settings = RunSettings {
        max_agents: names.len(),
        ..RunSettings::default()
    };
    let mut story = with(
        settings,
        names.iter().map(|name| (task(name, &[]), None)).collect(),
    );
    let decide = |call: &str, allowed| Request::Decide {
        call: call.into(),
        allowed,
        message: None,
    };
    let mut hashes = BTreeSet::new();
    for round in 1..=3 {
        let is_odd = |name: &str| round == 2 && name == "a7";
        for name in &names {
            story.tell(Event::ApprovalRequested {
                task: name.as_str().into(),
                call: format!("{round} of {name}").as_str().into(),
                call_id: "c1".into(),
                tool: "run_shell_command".to_owned(),
                summary: if is_odd(name) {
                    "rm -rf src"
                } else {
                    "npm test"
                }
                .to_owned(),
                arguments: serde_json::Value::Null,
                rule: "ask".to_owned(),
            });
        }
        hashes.extend(
            story
                .0
                .open_approvals()
                .map(|(call, asked)| shown_hash(call, asked)),
        );
        for (answered, name) in names.iter().enumerate() {
            let open: BTreeSet<_> = story
                .0
                .open_approvals()
                .map(|(_, asked)| asked.task.to_string())
                .collect();
            let left: BTreeSet<_> = names.iter().skip(answered).cloned().collect();
            assert_eq!(open, left, "each call has its agent's name");
            assert_eq!(story.0.workable().len(), answered);
            let of_all = story.0.decide(&decide(&round.to_string(), true));
            assert!(
                matches!(of_all, Err(RequestRefused::NoSuchCall { .. })),
                "{of_all:?}"
            );
            let accepted = story
                .0
                .decide(&decide(&format!("{round} of {name}"), !is_odd(name)))
                .unwrap();
            let Decision::Record(facts) = accepted.decision else {
                unreachable!("{name} is not answered")
            };
            story.tell_all(facts);
            // The control: the agent whose call was answered works again, and no other one does.
            assert_eq!(story.state_of(name), TaskState::Running);
        }
    }
    assert_eq!(hashes.len(), 60, "like calls are told apart");
}
