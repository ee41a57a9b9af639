//! Messages between agents, and from people and programs to agents, in whole runs.

use libtest_mimic::Failed;
use orchestrate_core::TaskState::Merged;
use orchestrate_core::event::{Event, ToolOutcome};
use orchestrate_core::message::Sender;
use orchestrate_core::{Message, ModelRequest};
use serde_json::json;

use crate::run::{Stage, done, write};
use crate::support::{Case, Outcome, Played, Rule, Script, case, fail};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case("messages::a_message_arrives_between_results_and_request", a_message_arrives_between_results_and_request),
        case("messages::sequence_and_acknowledgement_are_facts", sequence_and_acknowledgement_are_facts),
        case("messages::an_unknown_recipient_is_the_senders_error", an_unknown_recipient_is_the_senders_error),
        case("messages::a_message_reopens_an_agent_that_has_just_ended", a_message_reopens_an_agent),
    ]
}

fn send(rule: Rule, to: &str, message: &str) -> Rule {
    rule.call("send_message_to_agent", &json!({"agent_id": to, "message": message}))
}

/// T2 works until it has heard of T1, so that the test needs no clock: it waits for the message by reading on.
fn two_agents() -> Script {
    let script = Script::default()
        .rule(send(send(Rule::task("T1").turn(1), "T2", "the port is 4711"), "T2", "and the host is local"))
        .rule(Rule::task("T1").turn(2).call("write_file", &json!({"path": "one.txt", "content": "1\n"})))
        .rule(done("T1"))
        .rule(
            Rule::task("T2")
                .last_contains("and the host is local")
                .call("write_file", &json!({"path": "two.txt", "content": "4711\n"})),
        )
        .rule(Rule::task("T2").last_contains("two.txt").text("Done."));
    // Each look is another call, so that it is no loop.
    (1..=90).fold(script, |script, turn| {
        let look = json!({"command": format!("sleep 0.02; echo look {turn}")});
        script.rule(Rule::task("T2").turn(turn).call("run_shell_command", &look))
    })
}

fn play() -> Result<Played, Failed> {
    let stage = Stage::new()?;
    let played =
        stage.play("- [ ] T1 tell\n- [ ] T2 listen\n", &two_agents(), |settings| settings.run.max_turns = 300)?;
    played.require(0, &[("T1", Merged), ("T2", Merged)])?;
    Ok(played)
}

fn hears(request: &ModelRequest) -> bool {
    request.messages.iter().any(|message| matches!(message, Message::User { text } if text.contains("the port is")))
}

fn a_message_arrives_between_results_and_request() -> Outcome {
    let played = play()?;
    let requests = played.requests()?;
    let heard = requests.iter().find(|request| request.origin.task.as_str() == "T2" && hears(request));
    let Some(heard) = heard else { return fail(played.story()) };
    let tail = match heard.messages.as_slice() {
        [.., Message::Assistant { tool_calls, .. }, Message::Tool { results }, Message::User { text }] => {
            (tool_calls.len() == results.len()).then_some(text)
        }
        // The message was there before the agent's first request.
        [Message::User { text }] => Some(text),
        _ => None,
    };
    match tail {
        Some(text) if text.contains("Message 1 from agent T1:\nthe port is 4711") => Ok(()),
        _ => fail(format!("{:#?}", heard.messages)),
    }
}

fn sequence_and_acknowledgement_are_facts() -> Outcome {
    let played = play()?;
    let sent = played.pick(|event| match event {
        Event::MessageSent { envelope } => Some((envelope.from.clone(), envelope.to.to_string(), envelope.sequence)),
        _ => None,
    });
    let delivered = played.pick(|event| match event {
        Event::MessageDelivered { from, to, sequence } => Some((from.clone(), to.to_string(), *sequence)),
        _ => None,
    });
    let from = Sender::Agent("T1".into());
    let expected = vec![(from.clone(), "T2".to_owned(), 1), (from, "T2".to_owned(), 2)];
    if sent == expected && delivered == expected { Ok(()) } else { fail(played.story()) }
}

fn an_unknown_recipient_is_the_senders_error() -> Outcome {
    let script = Script::default()
        .rule(send(Rule::task("T1").turn(1), "T9", "hello"))
        .rule(
            Rule::task("T1")
                .last_contains("no agent 'T9'")
                .call("write_file", &json!({"path": "one.txt", "content": "1\n"})),
        )
        .rule(done("T1"));
    let played = Stage::new()?.play("- [ ] T1 tell\n", &script, |_| {})?;
    played.require(0, &[("T1", Merged)])?;
    let outcomes = played.pick(|event| match event {
        Event::ToolFinished { tool, outcome, .. } if tool == "send_message_to_agent" => Some(*outcome),
        _ => None,
    });
    if outcomes != [ToolOutcome::Failed]
        || !played.pick(|event| matches!(event, Event::MessageSent { .. }).then_some(())).is_empty()
    {
        return fail(played.story());
    }
    if stage_lists_agents(&played)? { Ok(()) } else { fail(played.story()) }
}

/// The error names who there is.
fn stage_lists_agents(played: &Played) -> Result<bool, Failed> {
    Ok(played.results("T1")?.iter().any(|text| text.contains("the agents are: T1")))
}

fn a_message_reopens_an_agent() -> Outcome {
    // T1 writes to itself in the turn before its last: what it hears comes with its next request, whatever it said.
    let script = Script::default()
        .rule(send(Rule::task("T1").turn(1), "T1", "remember the tests"))
        .rule(
            Rule::task("T1")
                .last_contains("remember the tests")
                .call("write_file", &json!({"path": "tests.txt", "content": "1\n"})),
        )
        .rule(write("T1", "unused.txt", ""))
        .rule(done("T1"));
    let played = Stage::new()?.play("- [ ] T1 tell\n", &script, |_| {})?;
    played.require(0, &[("T1", Merged)])?;
    if played.tools("T1") == ["send_message_to_agent", "write_file"] { Ok(()) } else { fail(played.story()) }
}
