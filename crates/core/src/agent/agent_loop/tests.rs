//! Tests of the loop: facts in, steps out.

use super::*;
use crate::agent::context::ByteBound;
use crate::agent::conversation::{SameAgain, ToolSpec, Usage};
use serde_json::json;

fn agent() -> AgentLoop {
    let spec = AgentSpec {
        task: "T1".into(),
        model: "script:x".to_owned(),
        fallbacks: Vec::new(),
        system: "system".to_owned(),
        tools: [].into(),
        instruction: "do it".to_owned(),
        context_tokens: 16_000,
        max_output_tokens: 100,
        max_turns: 3,
        answers: None,
        refuses_repeats: true,
    };
    AgentLoop::new(spec, &ToolNames::default())
}

fn call(id: &str) -> ToolCall {
    ToolCall {
        id: id.into(),
        name: "read_file".to_owned(),
        arguments: json!({"path": id}),
    }
}

fn reply(text: &str, calls: &[&str], stop: StopReason) -> AgentFact {
    let tool_calls = calls.iter().map(|id| call(id)).collect();
    AgentFact::Replied {
        reply: ModelReply {
            text: text.to_owned(),
            tool_calls,
            stop,
            usage: Usage::default(),
            raw: None,
        },
    }
}

fn ended(id: &str) -> AgentFact {
    AgentFact::ToolEnded {
        answer: ToolAnswer {
            call_id: id.into(),
            text: format!("result of {id}"),
            note: String::new(),
            is_error: false,
            same_again: SameAgain::Repeats,
        },
    }
}

fn returned(cause: ReturnCause, text: &str) -> AgentFact {
    AgentFact::Returned {
        cause,
        text: text.to_owned(),
    }
}

fn after(facts: Vec<AgentFact>) -> AgentLoop {
    let mut agent = agent();
    for fact in facts {
        agent.apply(fact).unwrap();
    }
    agent
}

#[test]
fn results_are_in_the_order_of_the_calls_whatever_order_they_end_in() {
    let agent = after(vec![
        reply("", &["a", "b"], StopReason::ToolCalls),
        ended("b"),
        ended("a"),
    ]);
    let Some(Message::Tool { results }) = agent.transcript().last() else {
        panic!("no results")
    };
    let order: Vec<&str> = results
        .iter()
        .map(|result| result.call_id.as_str())
        .collect();
    assert_eq!(order, ["a", "b"]);
}

#[test]
fn calls_decide_and_not_the_stop_reason() {
    let agent = after(vec![reply("", &["a"], StopReason::EndTurn)]);
    assert_eq!(
        agent.next_step(&ByteBound),
        Step::CallTools(vec![call("a")])
    );
}

#[test]
fn replies_that_are_only_ever_cut_off_end_the_agent() {
    let cut = || reply("word", &[], StopReason::MaxTokens);
    let agent = after(vec![cut(), cut()]);
    assert!(matches!(agent.next_step(&ByteBound), Step::CallModel(_)));
    let agent = after(vec![cut(), cut(), cut()]);
    assert_eq!(agent.next_step(&ByteBound), Step::Finish(Finish::CutOff));
}

#[test]
fn a_reply_whose_tokens_all_went_into_reasoning_was_cut_off_and_not_empty() {
    let cut = || reply("", &[], StopReason::MaxTokens);
    let agent = after(vec![cut(), cut()]);
    let Step::CallModel(request) = agent.next_step(&ByteBound) else {
        panic!("it ended")
    };
    let Some(Message::User { text }) = request.messages.last() else {
        panic!("it was told nothing")
    };
    assert!(text.contains("cut off"), "{text}");
    let agent = after(vec![cut(), cut(), cut()]);
    assert_eq!(agent.next_step(&ByteBound), Step::Finish(Finish::CutOff));
}

#[test]
fn the_calls_of_a_reply_are_counted_until_the_last_is_answered() {
    let mut agent = after(vec![
        reply("", &["a", "b"], StopReason::ToolCalls),
        ended("b"),
    ]);
    assert_eq!(agent.calls_of_reply(), 2);
    agent.apply(ended("a")).unwrap();
    assert_eq!(agent.calls_of_reply(), 0);
}

#[test]
fn a_cut_off_call_is_not_run() {
    let agent = after(vec![reply("", &["a", "b"], StopReason::MaxTokens)]);
    assert_eq!(
        agent.next_step(&ByteBound),
        Step::CallTools(vec![call("a")])
    );
}

#[test]
fn no_call_of_a_reply_that_was_withheld_is_run() {
    let mut agent = after(vec![reply("I will", &["a", "b"], StopReason::Refusal)]);
    assert_eq!(
        agent.next_step(&ByteBound),
        Step::Finish(Finish::Refused("I will".to_owned()))
    );
    // Its calls are answered, so the conversation can continue if the task is retried.
    let Some(Message::Tool { results }) = agent.transcript().last() else {
        panic!("no results")
    };
    assert!(results.len() == 2 && results.iter().all(|result| result.is_error));
    agent
        .apply(returned(ReturnCause::Retried, "once more"))
        .unwrap();
    assert!(matches!(agent.next_step(&ByteBound), Step::CallModel(_)));
}

#[test]
fn a_pause_is_no_end() {
    let agent = after(vec![reply("so far", &[], StopReason::Pause)]);
    let Step::CallModel(request) = agent.next_step(&ByteBound) else {
        panic!("it ended")
    };
    assert!(
        matches!(request.messages.last(), Some(Message::Assistant { text, .. }) if text == "so far")
    );
}

#[test]
fn a_text_alone_finishes_and_a_return_reopens() {
    let mut agent = after(vec![reply("done", &[], StopReason::EndTurn)]);
    assert_eq!(
        agent.next_step(&ByteBound),
        Step::Finish(Finish::Done("done".to_owned()))
    );
    agent
        .apply(returned(ReturnCause::TaskCheck, "the check is red"))
        .unwrap();
    assert!(matches!(agent.next_step(&ByteBound), Step::CallModel(_)));
}

#[test]
fn the_first_request_after_a_return_names_its_cause() {
    let named = |agent: &AgentLoop| match agent.next_step(&ByteBound) {
        Step::CallModel(request) => request.origin.returned,
        step => panic!("{step:?}"),
    };
    let mut agent = agent();
    assert_eq!(named(&agent), None);
    agent
        .apply(reply("done", &[], StopReason::EndTurn))
        .unwrap();
    agent
        .apply(returned(ReturnCause::Conflict, "mend it"))
        .unwrap();
    // A message delivered in between takes nothing from it, and neither does another process.
    agent
        .apply(AgentFact::Delivered {
            text: "hurry".to_owned(),
        })
        .unwrap();
    let mut agent: AgentLoop =
        serde_json::from_str(&serde_json::to_string(&agent).unwrap()).unwrap();
    assert_eq!(named(&agent), Some(ReturnCause::Conflict));
    for fact in [reply("", &["a"], StopReason::ToolCalls), ended("a")] {
        agent.apply(fact).unwrap();
    }
    assert_eq!(named(&agent), None);
}

#[test]
fn turns_are_limited_for_each_attempt() {
    let mut facts = Vec::new();
    for id in ["a", "b", "c"] {
        facts.push(reply("", &[id], StopReason::ToolCalls));
        facts.push(ended(id));
    }
    let mut agent = after(facts);
    assert_eq!(
        agent.next_step(&ByteBound),
        Step::Finish(Finish::OutOfTurns)
    );
    agent.apply(AgentFact::AttemptStarted).unwrap();
    assert!(
        matches!(agent.next_step(&ByteBound), Step::CallModel(request) if request.origin.turn == 4)
    );
}

#[test]
fn news_for_an_agent_that_is_done_is_heard_in_a_turn_of_its_own() {
    is_heard_in_a_turn_of_its_own(|| AgentFact::Delivered {
        text: "thank you".to_owned(),
    });
    is_heard_in_a_turn_of_its_own(|| returned(ReturnCause::ChildrenEnded, "they are done"));
}

fn is_heard_in_a_turn_of_its_own(told: fn() -> AgentFact) {
    let done = || reply("done", &[], StopReason::EndTurn);
    let mut facts = Vec::new();
    for id in ["a", "b"] {
        facts.extend([reply("", &[id], StopReason::ToolCalls), ended(id)]);
    }
    facts.extend([done(), told(), told()]);
    let mut agent = after(facts);
    assert!(
        matches!(agent.next_step(&ByteBound), Step::CallModel(request) if request.origin.turn == 4)
    );
    let mut at_work = agent.clone();
    agent.apply(done()).unwrap();
    assert_eq!(
        agent.next_step(&ByteBound),
        Step::Finish(Finish::Done("done".to_owned()))
    );
    for fact in [reply("", &["c"], StopReason::ToolCalls), ended("c"), told()] {
        at_work.apply(fact).unwrap();
    }
    assert_eq!(
        at_work.next_step(&ByteBound),
        Step::Finish(Finish::OutOfTurns)
    );
}

#[test]
fn silence_twice_is_the_end() {
    let agent = after(vec![
        reply(" ", &[], StopReason::EndTurn),
        reply("", &[], StopReason::EndTurn),
    ]);
    assert_eq!(agent.next_step(&ByteBound), Step::Finish(Finish::Silent));
}

/// Returns an agent that has made the same call again and again, while these facts came during and
/// after each turn.
fn repeating(
    turns: usize,
    same_again: SameAgain,
    in_turn: Option<&AgentFact>,
    after_turn: Option<&AgentFact>,
) -> AgentLoop {
    let mut agent = agent();
    agent.spec.max_turns = 100;
    let answer = ToolAnswer {
        same_again,
        ..ToolAnswer::failed(&"a".into(), "the same")
    };
    for _ in 0..turns {
        let facts = [
            Some(reply("", &["a"], StopReason::ToolCalls)),
            in_turn.cloned(),
        ];
        facts
            .into_iter()
            .flatten()
            .for_each(|fact| agent.apply(fact).unwrap());
        // A call that is refused is answered already.
        if agent.calls_of_reply() > 0 {
            agent
                .apply(AgentFact::ToolEnded {
                    answer: answer.clone(),
                })
                .unwrap();
        }
        after_turn
            .cloned()
            .into_iter()
            .for_each(|fact| agent.apply(fact).unwrap());
    }
    agent
}

#[test]
fn waiting_and_hearing_are_no_loop() {
    let heard = || AgentFact::Delivered {
        text: "note".to_owned(),
    };
    let table = [
        ("looping", SameAgain::Repeats, None, None, true),
        (
            "woken by a message",
            SameAgain::Repeats,
            None,
            Some(heard()),
            false,
        ),
        (
            "its time was over",
            SameAgain::Repeats,
            Some(AgentFact::Waits),
            None,
            false,
        ),
        ("stopped and resumed", SameAgain::Stopped, None, None, false),
        ("polling", SameAgain::GoesOn, None, None, false),
    ];
    // The control: the first agent makes the same calls without news in between, and is ended.
    for (name, same_again, in_turn, after_turn, loops) in table {
        // An agent that has ended gets no more replies.
        let step = repeating(
            if loops { 8 } else { 20 },
            same_again,
            in_turn.as_ref(),
            after_turn.as_ref(),
        )
        .next_step(&ByteBound);
        assert_eq!(
            matches!(step, Step::Finish(Finish::Looping)),
            loops,
            "{name}: {step:?}"
        );
    }
    // Two agents that answer each other for ever use up their turns.
    let answering = repeating(100, SameAgain::Repeats, None, Some(&heard()));
    assert_eq!(
        answering.next_step(&ByteBound),
        Step::Finish(Finish::OutOfTurns)
    );
}

/// An agent of an older journal goes on as it began: its recorded calls were all run.
#[test]
fn only_agents_of_older_journals_may_repeat_a_call_more_than_five_times() {
    for (refuses_repeats, expected) in [(true, 0), (false, 1)] {
        let mut agent = repeating(5, SameAgain::Repeats, None, None);
        agent.spec.refuses_repeats = refuses_repeats;
        let Some(Message::User { text }) = agent.transcript().last().copied() else {
            panic!("it was told nothing")
        };
        assert!(
            text.contains("The repeated call of `read_file` is not run any more"),
            "{text}"
        );
        agent
            .apply(reply("", &["a"], StopReason::ToolCalls))
            .unwrap();
        assert_eq!(agent.calls_of_reply(), expected);
    }
}

#[test]
fn an_agent_that_polls_is_told_to_wait() {
    let said = |agent: &AgentLoop| match agent.transcript().last() {
        Some(Message::User { text }) => text.clone(),
        other => panic!("{other:?}"),
    };
    let mut agent = repeating(3, SameAgain::GoesOn, None, None);
    assert!(said(&agent).contains("Do other work meanwhile"));
    let tool = |name: &str| ToolSpec {
        name: name.to_owned(),
        description: String::new(),
        parameters: json!({}),
    };
    agent.spec.tools = [tool("read_file"), tool("wait_for_agents")].into();
    agent
        .apply(reply("", &["a"], StopReason::ToolCalls))
        .unwrap();
    let answer = ToolAnswer {
        same_again: SameAgain::GoesOn,
        ..ToolAnswer::failed(&"a".into(), "the same")
    };
    agent.apply(AgentFact::ToolEnded { answer }).unwrap();
    assert!(said(&agent).contains("Wait for it with `wait_for_agents`"));
}

#[test]
fn facts_out_of_order_are_refused() {
    assert!(agent().apply(ended("a")).is_err());
    let mut running = after(vec![reply("", &["a"], StopReason::ToolCalls)]);
    assert!(
        running
            .clone()
            .apply(reply("x", &[], StopReason::EndTurn))
            .is_err()
    );
    assert!(
        running
            .clone()
            .apply(AgentFact::Delivered {
                text: "hi".to_owned()
            })
            .is_err()
    );
    running.apply(ended("a")).unwrap();
    assert!(running.apply(ended("a")).is_err());
}

fn limit(cause: FailureCause) -> ReachedLimit {
    ReachedLimit {
        cause,
        message: "no more".to_owned(),
        tokens: 16_000,
    }
}

#[test]
fn an_agent_at_a_limit_makes_one_last_request_without_tools() {
    let due = AgentFact::ReportDue {
        limit: limit(FailureCause::Turns),
    };
    for before in [
        vec![],
        vec![reply("", &["a", "b"], StopReason::ToolCalls), ended("b")],
    ] {
        let mut agent = after(before);
        agent.apply(due.clone()).unwrap();
        let Step::Report(request) = agent.next_step(&ByteBound) else {
            panic!("no report")
        };
        assert!(request.tools.is_empty() && !agent.can_hear());
        agent.apply(AgentFact::ReportAsked).unwrap();
        assert!(agent.clone().apply(AgentFact::ReportAsked).is_err());
        // Nothing else is asked, whether the reply is lost or comes, and whatever it says.
        let end = |report: Option<&str>| {
            let (limit, report) = (limit(FailureCause::Turns), report.map(str::to_owned));
            Step::Finish(Finish::AtLimit { limit, report })
        };
        assert_eq!(agent.next_step(&ByteBound), end(None));
        for (said, expected) in [
            (reply("half", &["c"], StopReason::ToolCalls), Some("half")),
            (reply("half", &[], StopReason::MaxTokens), Some("half")),
            (reply(" ", &[], StopReason::EndTurn), None),
        ] {
            let mut agent = agent.clone();
            agent.apply(said).unwrap();
            assert_eq!(agent.next_step(&ByteBound), end(expected));
            // Another attempt goes on from there.
            agent.apply(AgentFact::AttemptStarted).unwrap();
            agent
                .apply(returned(ReturnCause::Retried, "once more"))
                .unwrap();
            assert!(matches!(agent.next_step(&ByteBound), Step::CallModel(_)));
        }
    }
}

#[test]
fn an_agent_without_tokens_for_a_report_makes_no_request() {
    let none = ReachedLimit {
        tokens: 0,
        ..limit(FailureCause::Budget)
    };
    let mut agent = after(vec![AgentFact::ReportDue {
        limit: none.clone(),
    }]);
    let Step::AwaitCounter = agent.next_step(&ByteBound) else {
        panic!("an upper bound decides nothing")
    };
    assert!(agent.apply(reply("x", &[], StopReason::EndTurn)).is_err());
    assert_eq!(
        Finish::AtLimit {
            limit: none,
            report: None
        }
        .failure_cause(),
        Some(FailureCause::Budget)
    );
}

#[test]
fn a_serialized_loop_goes_on_where_it_was() {
    let agent = after(vec![
        reply("", &["a", "b"], StopReason::ToolCalls),
        ended("b"),
    ]);
    let text = serde_json::to_string(&agent).unwrap();
    let copy: AgentLoop = serde_json::from_str(&text).unwrap();
    assert_eq!(copy.next_step(&ByteBound), agent.next_step(&ByteBound));
}
