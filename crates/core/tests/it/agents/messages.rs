//! Messages: whom an address stands for, what a message is for, the wait for an answer, and that
//! each message is read exactly once, whatever is repeated or replayed.

use std::collections::BTreeMap;

use orchestrate_core::event::Event;
use orchestrate_core::messages::{
    Channel, ExpiredMessage, MAX_BODY_BYTES, MessageRefused, Origin, Receiver, Sender,
    UnansweredQuestion,
};
use orchestrate_core::run::{AskedWait, Expiring, QuestionEnd, Routed, WaitDecision, outcome};
use orchestrate_core::task::{FailureCause, Work};
use orchestrate_core::{
    Address, AgentId, Blocker, CallOfTurn, Envelope, IllegalEvent, Liveness, MergeTarget,
    MessageKind, Oid, Outgoing, Recorded, Request, RunSettings, RunState, Task, TaskState, Wait,
    WaitRefused,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;

use crate::facts::{added, committed, failed, recorded, reported, started, task, woken};

/// A run that is fed event by event, one each second.
#[derive(Clone)]
struct Story {
    state: RunState,
    facts: Vec<Recorded>,
}

impl Story {
    fn of(tasks: Vec<(Task, Option<&str>)>) -> Story {
        let started = started(RunSettings::default());
        let first = recorded(1, started);
        let mut story = Story {
            state: RunState::begin(&first).unwrap(),
            facts: vec![first],
        };
        for (task, parent) in tasks {
            story.tell(added(task, parent));
        }
        for due in story.state.due_facts() {
            let task = due.task().unwrap().clone();
            story.tell(due);
            story.tell(Event::AgentSpawned {
                branch: format!("orchestrate/r-abcdef/{task}"),
                agent: role_of(&story.state.task(&task).unwrap().task.work),
                task,
                attempt: 1,
                model: None,
                base: "base".into(),
                spec: None,
                sends: None,
            });
        }
        story
    }

    /// Returns a tree: `p` has the children `a`, `b` and the tester `t`, which comes after `a`; `u`
    /// is beside `p`.
    fn tree() -> Story {
        let tester = Task {
            work: Work::Agent(Some("tester".to_owned())),
            ..task("t", &["a"])
        };
        let command = Task {
            work: Work::Run("make".to_owned()),
            ..task("m", &[])
        };
        let of_p = Some("p");
        Self::of(vec![
            (task("p", &[]), None),
            (task("a", &[]), of_p),
            (task("b", &[]), of_p),
            (tester, of_p),
            (command, of_p),
            (task("u", &[]), None),
        ])
    }

    fn try_tell(&mut self, event: Event) -> Result<(), IllegalEvent> {
        let fact = recorded(self.state.seq + 1, event);
        self.state.apply(&fact)?;
        self.facts.push(fact);
        Ok(())
    }

    fn tell(&mut self, event: Event) {
        self.try_tell(event).unwrap();
    }

    fn send(&mut self, from: &str, message: &Outgoing) -> Result<Routed, MessageRefused> {
        let routed = self
            .state
            .decide_message(&origin(from, &self.state), message)?;
        routed
            .events
            .iter()
            .for_each(|event| self.tell(event.clone()));
        Ok(routed)
    }

    /// Lets an agent ask with a call of turn 1, and wait.
    fn ask(&mut self, from: &str, to: &str, deadline_seconds: Option<u64>) -> Routed {
        let question = Outgoing {
            waits: true,
            deadline_seconds,
            ..Outgoing::new(to, "which port?")
        };
        let routed = self
            .state
            .decide_message(&of_call(from, "c1"), &question)
            .unwrap();
        routed
            .events
            .iter()
            .for_each(|event| self.tell(event.clone()));
        routed
    }

    /// Makes the call again that has asked, once it is woken.
    fn end_of_question(&mut self, from: &str, to: &str) -> QuestionEnd {
        let question = Outgoing {
            waits: true,
            ..Outgoing::new(to, "which port?")
        };
        let routed = self
            .state
            .decide_message(&of_call(from, "c1"), &question)
            .unwrap();
        assert_eq!((routed.waits, routed.events), (false, Vec::new()));
        routed.receipt.question.unwrap()
    }

    fn due(&mut self) -> Vec<Event> {
        let due = self.state.due_facts();
        due.iter().for_each(|event| self.tell(event.clone()));
        due
    }

    fn deliver(&mut self, agent: &str) -> Vec<Envelope> {
        let (events, read) = self.state.decide_delivery(&agent.into());
        events.into_iter().for_each(|event| self.tell(event));
        read
    }

    fn report(&mut self, task: &str) {
        self.tell(reported(task, &format!("{task} is done.")));
    }

    fn liveness(&self, task: &str) -> Liveness {
        self.state
            .liveness(self.state.task(&task.into()).unwrap(), true)
    }
}

fn role_of(work: &Work) -> Option<String> {
    match work {
        Work::Agent(named) => Some(named.clone().unwrap_or_else(|| "implementer".to_owned())),
        Work::Run(_) => None,
    }
}

/// Returns an agent, or the user, who sends with a call of its own.
fn origin(from: &str, state: &RunState) -> Origin {
    match from {
        "user" => Origin::user(),
        agent => of_call(agent, &format!("call-{}", state.seq)),
    }
}

fn of_call(from: &str, call: &str) -> Origin {
    let call = Some(CallOfTurn {
        turn: 1,
        call: call.into(),
    });
    Origin {
        from: Sender::Agent(from.into()),
        call,
        channels: None,
    }
}

fn of_kind(to: &str, kind: MessageKind) -> Outgoing {
    Outgoing {
        kind: Some(kind),
        ..Outgoing::new(to, "text")
    }
}

/// Returns who gets a message, and who does not.
fn reached(routed: &Routed) -> (Vec<&str>, Vec<&str>) {
    let sent = routed
        .receipt
        .sent
        .iter()
        .map(|sent| sent.to.as_str())
        .collect();
    (
        sent,
        routed
            .receipt
            .refused
            .iter()
            .map(|refused| refused.to.as_str())
            .collect(),
    )
}

#[test]
fn an_address_stands_for_those_it_names() {
    type Expected<'a> = Result<(&'a [&'a str], &'a [&'a str]), &'a str>;
    let table: [(&str, &str, Expected<'_>); 19] = [
        ("a", "b", Ok((&["b"], &[]))),
        ("a", "agent:b", Ok((&["b"], &[]))),
        ("a", "u", Ok((&["u"], &[]))),
        ("a", "parent", Ok((&["p"], &[]))),
        ("p", "parent", Ok((&["user"], &[]))),
        ("a", "user", Ok((&["user"], &[]))),
        ("p", "children", Ok((&["a", "b", "t"], &[]))),
        (
            "a",
            "children",
            Err("there is nobody at the address 'children'"),
        ),
        ("a", "siblings", Ok((&["b", "t"], &[]))),
        ("p", "siblings", Ok((&["u"], &[]))),
        ("a", "role:tester", Ok((&["t"], &[]))),
        (
            "t",
            "role:tester",
            Err("there is nobody at the address 'role:tester'"),
        ),
        ("a", "all", Ok((&["p", "b", "t", "u"], &[]))),
        ("user", "all", Ok((&["p", "a", "b", "t", "u"], &[]))),
        ("user", "children", Ok((&["p", "u"], &[]))),
        (
            "user",
            "siblings",
            Err("there is nobody at the address 'siblings'"),
        ),
        (
            "a",
            "m",
            Err("m is a command and has no agent to read messages"),
        ),
        (
            "a",
            "x",
            Err("there is no agent 'x' in this run; the agents are: p, a, b, t, u"),
        ),
        (
            "a",
            "a",
            Err("a message to yourself is read by nobody else; keep it in your notes"),
        ),
    ];
    for (from, to, expected) in table {
        let sent = Story::tree().send(from, &Outgoing::new(to, "hello"));
        let told = sent.as_ref().map(reached).map_err(ToString::to_string);
        let expected = expected
            .map(|(sent, not)| (sent.to_vec(), not.to_vec()))
            .map_err(str::to_owned);
        assert_eq!(told, expected, "{from} to {to}");
    }
}

/// The agent of a goal is also found by the name that the reference gives the root.
#[test]
fn the_root_has_a_name_of_its_own() {
    let goal = Task {
        goal: true,
        ..task("fix_it", &[])
    };
    let send = |story: &Story| {
        let outgoing = Outgoing::new("main_ralph_coordinator", "hello");
        story
            .state
            .decide_message(&Origin::user(), &outgoing)
            .map(|routed| {
                let sent: Vec<String> = routed
                    .receipt
                    .sent
                    .iter()
                    .map(|sent| sent.to.as_str().to_owned())
                    .collect();
                sent
            })
    };
    let story = Story::of(vec![(goal.clone(), None), (task("a", &[]), Some("fix_it"))]);
    assert_eq!(send(&story), Ok(vec!["fix_it".into()]));
    let named = story
        .state
        .named_agents(&["main_ralph_coordinator".into(), "fix_it".into()])
        .unwrap();
    assert_eq!(
        named
            .iter()
            .map(|record| record.task.id.as_str())
            .collect::<Vec<_>>(),
        ["fix_it"]
    );
    let taken = Story::of(vec![
        (goal, None),
        (task("main_ralph_coordinator", &[]), None),
    ]);
    assert_eq!(send(&taken), Ok(vec!["main_ralph_coordinator".into()]));
    assert!(matches!(
        send(&Story::tree()),
        Err(MessageRefused::UnknownRecipient { .. })
    ));
}

#[test]
fn a_group_is_reached_as_far_as_it_reads_and_the_sender_learns_how_far() {
    let mut story = Story::tree();
    story.report("b");
    let routed = story
        .send("p", &Outgoing::new("children", "hello"))
        .unwrap();
    assert_eq!(reached(&routed), (vec!["a", "t"], vec!["b"]));
    let told = "message 1 is queued for a\nmessage 1 is queued for t\n\
                not for b: agent 'b' is merged and reads no more messages";
    assert_eq!(routed.receipt.to_string(), told);
    // All in one step, each with the number of its own channel.
    let sent =
        |event: &Event| matches!(event, Event::MessageSent { envelope } if envelope.sequence == 1);
    assert!(routed.events.len() == 2 && routed.events.iter().all(sent));
    assert_eq!(story.deliver("a").len(), 1);
    let next = story
        .send("p", &Outgoing::new("children", "hello"))
        .unwrap()
        .receipt
        .to_string();
    assert!(next.starts_with("message 2 is queued for a, which has read all before it\nmessage 2 is queued for t, which has read up to 0\n"), "{next}");
    let channel =
        |story: &Story, to: &str| story.state.channel(&Sender::Agent("p".into()), &to.into());
    assert_eq!(
        channel(&story, "a"),
        Channel {
            sent: 2,
            acknowledged: 1
        }
    );
    ["a", "t"]
        .into_iter()
        .for_each(|task| drop(story.deliver(task)));
    ["a"].into_iter().for_each(|task| story.report(task));
    story
        .send("p", &Outgoing::new("role:implementer", "hello"))
        .unwrap();
    story.deliver("u");
    story.report("u");
    let refused = story
        .send("p", &Outgoing::new("siblings", "hello"))
        .unwrap_err();
    assert_eq!(
        refused,
        MessageRefused::ReadsNoMore {
            to: "u".into(),
            state: TaskState::Merged
        }
    );
}

#[test]
fn a_role_sends_only_within_its_channels() {
    let parent = &["parent"][..];
    let table = [
        (parent, "parent", true),
        (parent, "p", true),
        (parent, "b", false),
        (parent, "user", false),
        (&["siblings"], "b", true),
        (&["siblings"], "p", false),
        (&["role:tester"], "t", true),
        (&["role:tester"], "siblings", true),
        (&["user", "u"], "u", true),
        (&["user", "u"], "user", true),
        (&["all"], "u", true),
        (&["all"], "user", false),
        (&[], "b", false),
    ];
    for (channels, to, may) in table {
        let channels = Some(
            channels
                .iter()
                .map(|channel| Address::from(*channel))
                .collect(),
        );
        let origin = Origin {
            channels,
            ..of_call("a", "c1")
        };
        let decided = Story::tree()
            .state
            .decide_message(&origin, &Outgoing::new(to, "hello"));
        assert_eq!(decided.is_ok(), may, "{origin:?} to {to}: {decided:?}");
    }
    let origin = Origin {
        channels: Some(vec![Address::Parent]),
        ..of_call("a", "c1")
    };
    let refused = Story::tree()
        .state
        .decide_message(&origin, &Outgoing::new("b", "hello"))
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "your role may not send messages to 'b', only to: parent"
    );
}

#[test]
fn a_message_says_something_within_its_bound() {
    let table = [
        (Outgoing::new("b", " \n"), Err(MessageRefused::Empty)),
        (Outgoing::new("b", json!({})), Err(MessageRefused::Empty)),
        (
            Outgoing::new("b", "x".repeat(1 << 20)),
            Err(MessageRefused::TooLong { bytes: 1 << 20 }),
        ),
        (Outgoing::new("b", "x".repeat(MAX_BODY_BYTES)), Ok(())),
        (
            Outgoing::new("b", json!({"a": "x".repeat(MAX_BODY_BYTES)})),
            Err(MessageRefused::TooLong {
                bytes: MAX_BODY_BYTES + 8,
            }),
        ),
    ];
    for (message, expected) in table {
        assert_eq!(Story::tree().send("a", &message).map(|_| ()), expected);
    }
}

#[test]
fn an_answer_names_its_question_unless_there_is_only_one() {
    use MessageKind::{Answer, Note, StatusUpdate};
    let none = "'a' has no such open question; its open questions: none";
    let plain = |kind, reply_to| Outgoing {
        kind,
        reply_to,
        ..Outgoing::new("a", "4711")
    };
    // How many questions `a` has asked `b`, and how many of them `b` has read.
    let table = [
        (0, 0, plain(None, None), Ok((Note, None))),
        (0, 0, plain(Some(Answer), None), Err(none)),
        (0, 0, plain(None, Some(1)), Err(none)),
        (1, 0, plain(None, None), Ok((Note, None))),
        (1, 1, plain(None, None), Ok((Answer, Some(1)))),
        (1, 1, plain(Some(Note), None), Ok((Note, None))),
        (
            1,
            1,
            plain(Some(StatusUpdate), Some(1)),
            Err("only an answer names a question"),
        ),
        (2, 2, plain(None, None), Ok((Note, None))),
        (
            2,
            2,
            plain(Some(Answer), None),
            Err("'a' has no such open question; its open questions: 1, 2"),
        ),
        (2, 2, plain(None, Some(2)), Ok((Answer, Some(2)))),
        (
            1,
            1,
            Outgoing {
                to: "siblings".into(),
                ..plain(None, None)
            },
            Ok((Note, None)),
        ),
        (
            1,
            1,
            Outgoing {
                waits: true,
                ..plain(Some(Note), None)
            },
            Err("only a question waits for an answer"),
        ),
        (
            1,
            1,
            Outgoing {
                waits: true,
                to: "all".into(),
                ..plain(None, None)
            },
            Err("a question that waits for its answer goes to one receiver, not to 4"),
        ),
    ];
    for (asked, read, message, expected) in table {
        let mut story = Story::tree();
        for _ in 0..asked {
            story
                .send("a", &of_kind("b", MessageKind::Question))
                .unwrap();
        }
        if read > 0 {
            story.deliver("b");
        }
        let purpose = story
            .send("b", &message)
            .map(|routed| match &routed.events[0] {
                Event::MessageSent { envelope } => (envelope.kind, envelope.reply_to),
                other => unreachable!("{other:?}"),
            });
        assert_eq!(
            purpose.map_err(|why| why.to_string()),
            expected.map_err(str::to_owned),
            "{asked} {message:?}"
        );
    }
}

#[test]
fn a_question_is_answered_once() {
    let mut story = Story::tree();
    story
        .send("a", &of_kind("b", MessageKind::Question))
        .unwrap();
    let answer = Outgoing {
        reply_to: Some(1),
        ..Outgoing::new("a", "4711")
    };
    story.send("b", &answer).unwrap();
    let again = story.send("b", &answer).unwrap_err().to_string();
    assert_eq!(
        again,
        "'a' has no such open question; its open questions: none"
    );
}

#[test]
fn only_a_parent_or_the_user_asks_an_agent_to_finish() {
    for (from, to, may) in [
        ("p", "a", true),
        ("user", "a", true),
        ("b", "a", false),
        ("a", "p", false),
        ("a", "user", false),
    ] {
        let sent = Story::tree().send(from, &of_kind(to, MessageKind::Shutdown));
        assert_eq!(sent.is_ok(), may, "{from} to {to}: {sent:?}");
    }
}

#[test]
fn a_question_waits_without_an_agent_until_it_is_answered() {
    let mut story = Story::tree();
    assert!(story.ask("a", "b", None).waits);
    let wait = Wait::Message {
        to: "b".into(),
        question: 1,
        until_ms: None,
    };
    assert_eq!(story.state.task(&"a".into()).unwrap().wait(), Some(&wait));
    assert_eq!(
        story.liveness("a"),
        Liveness::BlockedOn(Blocker::Agents(vec!["b".into()]))
    );
    assert_eq!(story.due(), []);
    assert_eq!(
        story.deliver("b")[0].render().lines().next().unwrap(),
        "Message 1 from agent a (question; answer it with `reply_to` 1):"
    );
    story.send("b", &Outgoing::new("a", "4711")).unwrap();
    assert_eq!(story.due(), [woken("a", false)]);
    assert_eq!(story.end_of_question("a", "b"), QuestionEnd::Answered);
    assert_eq!(
        story.deliver("a")[0].render().lines().next().unwrap(),
        "Message 1 from agent b (answer to your question 1):"
    );
}

#[test]
fn a_question_ends_with_its_deadline_with_the_agent_or_with_another_message() {
    let passes = |story: &mut Story, of: &dyn Fn(&Expiring) -> bool| {
        let mut clock = story.clone();
        let expiry = std::iter::from_fn(|| {
            let next = clock.state.next_expiry()?;
            clock
                .state
                .decide_expiry(&next)
                .into_iter()
                .for_each(|event| clock.tell(event));
            Some(next)
        })
        .find(|expiry| of(&expiry.of))
        .unwrap();
        story
            .state
            .decide_expiry(&expiry)
            .into_iter()
            .for_each(|event| story.tell(event));
    };
    // Nobody has read it in time: the run says so.
    let mut story = Story::tree();
    story.ask("a", "b", Some(60));
    passes(&mut story, &|of| matches!(of, Expiring::Message { .. }));
    assert_eq!(story.due(), [woken("a", false)]);
    assert_eq!(story.end_of_question("a", "b"), QuestionEnd::Closed);
    let told = story.deliver("a")[0].render();
    assert!(
        told.starts_with("Message 1 from the run (error_report):"),
        "{told}"
    );
    assert!(
        told.contains("Agent b did not read your question 1 before its deadline."),
        "{told}"
    );
    assert_eq!(story.deliver("b"), []);

    // It was read, and not answered in time; an answer is still read later.
    let mut story = Story::tree();
    story.ask("a", "b", Some(60));
    story.deliver("b");
    passes(&mut story, &|of| matches!(of, Expiring::Wait { .. }));
    assert_eq!(story.end_of_question("a", "b"), QuestionEnd::TimedOut);
    assert!(
        story
            .send(
                "b",
                &Outgoing {
                    reply_to: Some(1),
                    ..Outgoing::new("a", "4711")
                }
            )
            .is_ok()
    );

    // The agent ends without an answer.
    let mut story = Story::tree();
    story.ask("a", "b", None);
    story.deliver("b");
    story.report("b");
    let unanswered = Event::QuestionUnanswered(UnansweredQuestion {
        from: "a".into(),
        to: "b".into(),
        sequence: 1,
    });
    assert_eq!(story.due()[0], unanswered);
    assert_eq!(story.due(), [woken("a", false)]);
    assert_eq!(story.end_of_question("a", "b"), QuestionEnd::Closed);
    assert!(
        story.deliver("a")[0]
            .render()
            .contains("Agent b has ended without an answer to your question 1.")
    );

    // Another message comes first.
    let mut story = Story::tree();
    story.ask("a", "b", None);
    story.send("u", &Outgoing::new("a", "stop")).unwrap();
    assert_eq!(story.due(), [woken("a", false)]);
    assert_eq!(story.end_of_question("a", "b"), QuestionEnd::OtherMessage);
    // It came before the question: the same, without a wait.
    let mut story = Story::tree();
    story.send("u", &Outgoing::new("a", "stop")).unwrap();
    let routed = story.ask("a", "b", None);
    assert_eq!(
        (routed.waits, routed.receipt.question),
        (false, Some(QuestionEnd::OtherMessage))
    );
}

#[test]
fn a_cycle_of_questions_ends_since_a_question_wakes_whom_it_goes_to() {
    let mut story = Story::tree();
    story.ask("a", "b", None);
    story.deliver("b");
    assert!(story.ask("b", "a", None).waits);
    assert_eq!(story.due(), [woken("a", false)]);
    assert_eq!(story.end_of_question("a", "b"), QuestionEnd::OtherMessage);
    story.deliver("a");
    // To wait for the end of the one who waits for this answer would never end.
    let of = CallOfTurn {
        turn: 2,
        call: "c1".into(),
    };
    let wait = AskedWait {
        of,
        ids: vec!["b".into()],
        timeout: None,
    };
    let refused = WaitRefused::Asked {
        asker: "b".into(),
        question: 1,
    };
    assert_eq!(story.state.decide_wait(&"a".into(), &wait), Err(refused));
    story
        .send(
            "a",
            &Outgoing {
                reply_to: Some(1),
                ..Outgoing::new("b", "4711")
            },
        )
        .unwrap();
    assert_eq!(story.due(), [woken("b", false)]);
    // The one who has the answer may be waited for.
    let waits = story.state.decide_wait(&"a".into(), &wait);
    assert!(matches!(waits, Ok(WaitDecision::Waits(_))), "{waits:?}");
}

#[test]
fn a_question_to_one_who_waits_for_the_asker_is_closed() {
    let mut story = Story::of(vec![
        (task("p", &[]), None),
        (task("a", &[]), Some("p")),
        (task("b", &[]), Some("a")),
    ]);
    story.ask("b", "p", None);
    assert_eq!(story.deliver("p").len(), 1);
    // As long as the parent works, it can answer.
    assert_eq!(story.due(), []);
    story.tell(Event::HandOverWaiting { task: "p".into() });
    story.tell(Event::HandOverWaiting { task: "a".into() });
    let unanswered = Event::QuestionUnanswered(UnansweredQuestion {
        from: "b".into(),
        to: "p".into(),
        sequence: 1,
    });
    assert_eq!(story.due()[0], unanswered);
    assert_eq!(story.due(), [woken("b", false)]);
    assert_eq!(story.end_of_question("b", "p"), QuestionEnd::Closed);
    let told = story.deliver("b")[0].render();
    assert!(
        told.contains("Agent p cannot go on before you do, so it does not answer your question 1."),
        "{told}"
    );
}

#[test]
fn a_question_to_a_parent_into_whose_branch_a_sibling_is_merged_stays_open() {
    let mut story = Story::of(vec![
        (task("p", &[]), None),
        (task("a", &[]), Some("p")),
        (task("b", &[]), Some("p")),
    ]);
    let wait = Wait::Agents {
        ids: vec!["a".into(), "b".into()],
        until_ms: None,
    };
    story.tell(Event::AgentWaiting {
        task: "p".into(),
        turn: 1,
        call_id: "c1".into(),
        wait,
    });
    let commit = Oid::from("b1");
    let tree = Oid::from("tree");
    let into = MergeTarget::Agent("p".into());
    story.tell(committed("b", commit.clone(), tree));
    story.tell(Event::MergeStarted {
        task: "b".into(),
        into,
        target: "base".into(),
        candidate: commit,
    });
    assert!(story.ask("a", "p", None).waits);
    assert_eq!(story.due(), []);
}

#[test]
fn a_question_to_one_who_begins_after_the_asker_is_closed_once_that_is_known() {
    let mut story = Story::of(vec![
        (task("p", &[]), None),
        (task("a", &[]), Some("p")),
        (task("c", &["p"]), None),
    ]);
    let of = CallOfTurn {
        turn: 1,
        call: "c1".into(),
    };
    let ids = vec!["a".into()];
    let asked = AskedWait {
        of,
        ids,
        timeout: Some(std::time::Duration::from_secs(60)),
    };
    let Ok(WaitDecision::Waits(wait)) = story.state.decide_wait(&"p".into(), &asked) else {
        unreachable!()
    };
    story.tell(*wait);
    // The wait of the parent ends with its deadline, and the parent may end then.
    story.ask("a", "c", None);
    assert_eq!(story.due(), []);
    story.tell(woken("p", true));
    story.tell(Event::HandOverWaiting { task: "p".into() });
    let unanswered = Event::QuestionUnanswered(UnansweredQuestion {
        from: "a".into(),
        to: "c".into(),
        sequence: 1,
    });
    assert_eq!(story.due()[0], unanswered);
}

#[test]
fn an_asker_that_is_cancelled_gets_no_notice() {
    let mut story = Story::of(vec![
        (task("p", &[]), None),
        (task("a", &[]), Some("p")),
        (task("b", &[]), None),
    ]);
    story.ask("a", "b", None);
    assert_eq!(story.deliver("b").len(), 1);
    story.report("b");
    story.tell(failed("p", FailureCause::Check, ""));
    // All of it is recorded in one step, so each event must be valid after those before it.
    let due = story.due();
    assert!(
        matches!(due.as_slice(), [Event::TaskCancelled { .. }]),
        "{due:?}"
    );
}

#[test]
fn nobody_waits_for_one_who_begins_only_later() {
    let mut story = Story::tree();
    let question = |waits| Outgoing {
        waits,
        kind: Some(MessageKind::Question),
        ..Outgoing::new("t", "which?")
    };
    assert_eq!(
        story.send("a", &question(true)),
        Err(MessageRefused::NeverReads { to: "t".into() })
    );
    assert!(story.send("a", &question(false)).is_ok());
    assert!(story.send("u", &question(true)).unwrap().waits);
}

#[test]
fn the_user_answers_in_the_run_or_after_it() {
    let mut story = Story::of(vec![(task("a", &[]), None)]);
    story.ask("a", "user", None);
    assert_eq!(
        (
            story.liveness("a"),
            outcome(&story.state).map(|(_, code)| code)
        ),
        (Liveness::WaitingHuman, Some(3))
    );
    let asked: Vec<_> = story
        .state
        .questions_to_user()
        .map(|(agent, asked)| (agent.as_str(), asked.sequence))
        .collect();
    assert_eq!(asked, [("a", 1)]);
    let accepted = story.state.decide(&Request::message("a", "4711")).unwrap();
    assert_eq!(accepted.answer, "answer 1 is queued for a");
    story.send("user", &Outgoing::new("a", "4711")).unwrap();
    assert_eq!(
        (story.due(), story.state.questions_to_user().count()),
        (vec![woken("a", false)], 0)
    );
    assert_eq!(story.end_of_question("a", "user"), QuestionEnd::Answered);
}

#[test]
fn the_user_is_not_flooded() {
    let mut story = Story::tree();
    for _ in 0..64 {
        story
            .send("a", &of_kind("user", MessageKind::StatusUpdate))
            .unwrap();
    }
    assert_eq!(
        story.send("a", &Outgoing::new("user", "more")),
        Err(MessageRefused::UserHasMany)
    );
    story.send("user", &Outgoing::new("a", "enough")).unwrap();
    assert!(story.send("a", &Outgoing::new("user", "more")).is_ok());
}

#[test]
fn a_journal_that_counts_all_messages_of_a_sender_is_read() {
    let mut story = Story::tree();
    let sent = |sequence, to: &str| Event::MessageSent {
        envelope: Envelope::note(sequence, Sender::Agent("a".into()), to, "hello"),
    };
    for (sequence, to) in [(1, "b"), (2, "p"), (3, "b")] {
        story.tell(sent(sequence, to));
    }
    assert!(story.try_tell(sent(3, "b")).is_err());
    assert!(story.try_tell(sent(5, "p")).is_err());
    story.send("a", &Outgoing::new("p", "hello")).unwrap();
    assert_eq!(
        story
            .state
            .channel(&Sender::Agent("a".into()), &"p".into())
            .sent,
        3
    );
}

const AGENTS: [&str; 5] = ["p", "a", "b", "t", "u"];
const ADDRESSES: [&str; 8] = [
    "p",
    "a",
    "b",
    "parent",
    "siblings",
    "all",
    "user",
    "role:tester",
];

/// A step of a random play: what happens, and the numbers that say to whom.
type Step = (u8, usize, usize);

/// A random play: calls are made again, deliveries and whole journals repeated.
struct Play {
    story: Story,
    turns: u32,
}

impl Play {
    fn step(&mut self, (what, who, whom): Step) -> Result<(), TestCaseError> {
        let agent = AGENTS[who % AGENTS.len()];
        let to = ADDRESSES[whom % ADDRESSES.len()];
        match what {
            0..5 => self.call(agent, to, what)?,
            5..8 => self.read(agent)?,
            8 => drop(self.story.send("user", &Outgoing::new(agent, "well?"))),
            9 => self.expire(),
            10 => {
                let state = RunState::replay(&self.story.facts).unwrap().unwrap();
                prop_assert_eq!(&state, &self.story.state);
                self.story.state = state;
            }
            11 if who == whom
                && self
                    .story
                    .state
                    .messages_for(&agent.into())
                    .next()
                    .is_none() =>
            {
                let summary = Some("Done.".to_owned());
                let ended = Event::TaskMerged {
                    task: agent.into(),
                    commit: None,
                    target: None,
                    summary,
                };
                drop(self.story.try_tell(ended));
            }
            _ => drop(self.story.due()),
        }
        Ok(())
    }

    /// Makes a call, and again, as after a crash.
    fn call(&mut self, agent: &str, to: &str, what: u8) -> Result<(), TestCaseError> {
        if self.story.state.task(&agent.into()).unwrap().state() != TaskState::Running {
            return Ok(());
        }
        self.turns += 1;
        let kind = [
            None,
            Some(MessageKind::Question),
            None,
            Some(MessageKind::Note),
            None,
        ][usize::from(what)];
        let deadline_seconds = (what == 3).then_some(5);
        let message = Outgoing {
            kind,
            deadline_seconds,
            waits: what == 4,
            ..Outgoing::new(to, format!("{}", self.turns))
        };
        let call = Some(CallOfTurn {
            turn: self.turns,
            call: "c1".into(),
        });
        let origin = Origin {
            from: Sender::Agent(agent.into()),
            call,
            channels: None,
        };
        let Ok(routed) = self.story.state.decide_message(&origin, &message) else {
            return Ok(());
        };
        routed
            .events
            .iter()
            .for_each(|event| self.story.tell(event.clone()));
        let again = self.story.state.decide_message(&origin, &message).unwrap();
        let sends = |event: &Event| matches!(event, Event::MessageSent { .. });
        prop_assert!(!again.events.iter().any(sends), "{:?}", again.events);
        prop_assert_eq!(again.receipt.sent.len(), routed.receipt.sent.len());
        Ok(())
    }

    /// Delivers what waits for an agent, and then the same once more.
    fn read(&mut self, agent: &str) -> Result<(), TestCaseError> {
        if self.story.state.task(&agent.into()).unwrap().state() != TaskState::Running {
            return Ok(());
        }
        let (events, _) = self.story.state.decide_delivery(&agent.into());
        events
            .iter()
            .for_each(|event| self.story.tell(event.clone()));
        let before = self.story.state.clone();
        for event in events
            .iter()
            .filter(|event| matches!(event, Event::MessageDelivered { .. }))
        {
            prop_assert!(self.story.try_tell(event.clone()).is_err());
        }
        prop_assert_eq!(&before, &self.story.state);
        Ok(())
    }

    fn expire(&mut self) {
        if let Some(expiry) = self.story.state.next_expiry() {
            self.story
                .state
                .decide_expiry(&expiry)
                .into_iter()
                .for_each(|event| self.story.tell(event));
        }
    }

    /// Lets everybody read what is left, and requires that each message to an agent was read once,
    /// or has expired, in the order in which it was sent.
    fn finish(&mut self) -> Result<(), TestCaseError> {
        for _ in 0..AGENTS.len() {
            self.story.due();
            for agent in AGENTS {
                self.read(agent)?;
            }
        }
        let mut read: BTreeMap<(Sender, AgentId), Vec<u64>> = BTreeMap::new();
        let mut sent: BTreeMap<(Sender, AgentId), Vec<u64>> = BTreeMap::new();
        for fact in &self.story.facts {
            match &fact.event {
                Event::MessageSent { envelope } => {
                    let Receiver::Agent(to) = &envelope.to else {
                        continue;
                    };
                    sent.entry((envelope.from.clone(), to.clone()))
                        .or_default()
                        .push(envelope.sequence);
                }
                Event::MessageDelivered {
                    from, to, sequence, ..
                }
                | Event::MessageExpired(ExpiredMessage {
                    from,
                    to: Receiver::Agent(to),
                    sequence,
                }) => {
                    read.entry((from.clone(), to.clone()))
                        .or_default()
                        .push(*sequence);
                }
                _ => {}
            }
        }
        for ((from, to), numbers) in sent {
            prop_assert_eq!(&numbers, &(1..=numbers.len() as u64).collect::<Vec<_>>());
            let mut read = read.remove(&(from.clone(), to.clone())).unwrap_or_default();
            let waiting = self
                .story
                .state
                .messages_for(&to)
                .filter(|message| message.from == from);
            let waiting: Vec<u64> = waiting.map(|message| message.sequence).collect();
            let reads = self.story.state.task(&to).unwrap().state() == TaskState::Running;
            prop_assert!(
                waiting.is_empty() || !reads,
                "{} has not read {:?}",
                to,
                waiting
            );
            read.extend(waiting);
            read.sort_unstable();
            prop_assert_eq!(&read, &numbers, "{:?} to {}", from, to);
        }
        Ok(())
    }
}

#[test]
fn each_message_is_read_exactly_once_whatever_is_repeated() {
    let config = Config {
        cases: 500,
        failure_persistence: None,
        ..Config::default()
    };
    let rng = proptest::test_runner::TestRng::deterministic_rng(
        proptest::test_runner::RngAlgorithm::ChaCha,
    );
    let steps = prop::collection::vec((0u8..14, 0usize..5, 0usize..8), 1..80);
    let ran = TestRunner::new_with_rng(config, rng).run(&steps, |steps| {
        let mut play = Play {
            story: Story::tree(),
            turns: 0,
        };
        for step in steps {
            play.step(step)?;
        }
        play.finish()
    });
    assert!(
        ran.is_ok(),
        "{}",
        ran.err()
            .map_or_else(String::new, |error| error.to_string())
    );
}
