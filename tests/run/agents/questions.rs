//! Questions that wait for their answers, of agents to each other and to the user, and addresses of
//! several agents.

use libtest_mimic::Failed;
use orchestrate_core::TaskState::{Merged, Pending, Waiting};
use orchestrate_core::event::{Event, ToolOutcome};
use orchestrate_core::messages::MAILBOX_CAPACITY;
use serde_json::{Value, json};

use super::waits::{parking, world};
use crate::support::{
    Case, Outcome, Played, Rule, Script, World, after, at, case, done, fail, on, says, writes,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(one_agent_at_a_time_asks_and_answers),
        case!(the_run_says_why_there_is_no_answer),
        case!(a_question_that_nobody_reads_expires),
        case!(a_question_to_the_user_expires),
        case!(what_an_agent_tells_the_user_is_in_the_status),
        case!(the_user_answers_from_the_shell),
        case!(the_user_may_answer_with_an_object_or_ask_to_finish),
        case!(everybody_is_told),
        case!(who_may_not_be_written_to_is_not),
        case!(a_flood_is_bounded),
    ]
}

fn send(rule: Rule, arguments: &Value) -> Rule {
    rule.call("send_message_to_agent", arguments)
}

fn asks(rule: Rule, to: &str) -> Rule {
    send(
        rule,
        &json!({"agent_id": to, "message": "which port?", "wait": true}),
    )
}

fn position(played: &Played, of: &str, fits: impl Fn(&Event) -> bool) -> Result<u64, Failed> {
    played.first(|event| event.task().is_some_and(|task| task.as_str() == of) && fits(event))
}

fn one_agent_at_a_time_asks_and_answers() -> Outcome {
    let answer =
        json!({"agent_id": "T1", "message": {"port": 4711, "host": "local"}, "reply_to": 1});
    let script = Script::default()
        .rule(asks(on("T1", 1), "T2"))
        .rule(writes(after("T1", "4711"), "one.txt"))
        .rule(done("T1"))
        .rule(send(after("T2", "which port?"), &answer))
        .rule(writes(after("T2", "is queued"), "two.txt"))
        .rule(done("T2"));
    let plan = "- [ ] T1 ask\n- [ ] T2 answer\n";
    let played = World::plain()?.play(plan, &script, |settings| settings.run.max_agents = 1)?;
    played.require_merged(&["T1", "T2"])?;
    played.require_told(
        "T2",
        &[
            "Message 1 from agent T1 (question; answer it with `reply_to` 1):",
            "which port?",
        ],
    )?;
    let answer = "Message 1 from agent T2 (answer to your question 1):\n<data-";
    let object = "{\n  \"host\": \"local\",\n  \"port\": 4711\n}";
    played.require_told(
        "T1",
        &[
            "question 1 is queued for T2\nit is answered; the answer follows",
            answer,
            object,
        ],
    )?;
    let order = [
        position(&played, "T2", |event| {
            matches!(event, Event::MessageSent { .. })
        })?,
        position(&played, "T1", |event| {
            matches!(event, Event::AgentWaiting { .. })
        })?,
        position(&played, "T2", |event| {
            matches!(event, Event::AgentSpawned { .. })
        })?,
        position(&played, "T2", |event| {
            matches!(event, Event::MessageDelivered { .. })
        })?,
        position(&played, "T1", |event| {
            matches!(event, Event::MessageSent { .. })
        })?,
        position(&played, "T1", |event| {
            matches!(event, Event::AgentWoken { .. })
        })?,
        position(&played, "T1", |event| {
            matches!(event, Event::ToolFinished { .. })
        })?,
        position(&played, "T1", |event| {
            matches!(event, Event::MessageDelivered { .. })
        })?,
    ];
    let sent = played.pick(|event| matches!(event, Event::MessageSent { .. }).then_some(()));
    assert!(order.is_sorted() && sent.len() == 2, "{order:?}\n{played}");
    Ok(())
}

fn the_run_says_why_there_is_no_answer() -> Outcome {
    let script = Script::default()
        .rule(asks(on("T1", 1), "T2"))
        .rule(asks(on("T1", 2), "T3"))
        .rule(writes(on("T1", 3), "one.txt"))
        .rule(done("T1"))
        .writes("T2", "two.txt", "2\n");
    let plan = "- [ ] T1 ask\n- [ ] T2 be silent\n- [ ] T3 follow (depends: T1) (run: true)\n- [ ] T4 follow (depends: T1)\n";
    let played = World::plain()?.play(plan, &script.rule(done("T4")), |settings| {
        settings.run.max_agents = 1
    })?;
    let told = [
        "it will not be answered; the message that follows says why",
        "Message 1 from the run (error_report):",
        "Agent T2 has ended without an answer to your question 1.",
        "T3 is a command and has no agent to read messages",
    ];
    let merged = played
        .report
        .tasks
        .iter()
        .filter(|task| task.state == Merged)
        .count();
    assert!(merged >= 2, "{played}");
    played.require_told("T1", &told)
}

/// T2 cannot begin before a person has decided about T3, so the question expires; everything else
/// goes on.
fn a_question_that_nobody_reads_expires() -> Outcome {
    let question = json!({"agent_id": "T3", "message": "which port?", "wait": true, "deadline": 1});
    let (script, parks) = parking(send(on("T1", 1), &question));
    let script = Script::default()
        .rule(writes(after("T1", "before its deadline"), "one.txt"))
        .then(script)
        .rule(done("T3"));
    let plan = "- [ ] T1 ask\n- [ ] T2 publish\n- [ ] T3 follow (depends: T2)\n";
    let played = world()?.play(plan, &script, parks)?;
    played.require(3, &[("T1", Merged), ("T2", Waiting), ("T3", Pending)])?;
    played.require_told(
        "T1",
        &["Agent T3 did not read your question 1 before its deadline."],
    )?;
    let expired = played.pick(|event| matches!(event, Event::MessageExpired(_)).then_some(()));
    assert_eq!(expired.len(), 1, "{played}");
    Ok(())
}

fn a_question_to_the_user_expires() -> Outcome {
    let question =
        json!({"agent_id": "user", "message": "which port?", "wait": true, "deadline": 1});
    let script = Script::default()
        .rule(writes(
            after("T1", "The user did not answer your question 1"),
            "one.txt",
        ))
        .rule(send(on("T1", 1), &question))
        .rule(done("T1"));
    let played = World::plain()?.play("- [ ] T1 ask\n", &script, |_| {})?;
    played.require_merged(&["T1"])?;
    played.require_told(
        "T1",
        &["it will not be answered; the message that follows says why"],
    )?;
    let expired = played.pick(|event| match event {
        Event::MessageExpired(expired) => Some(expired.to.as_str()),
        _ => None,
    });
    assert_eq!(expired, ["user"], "{played}");
    Ok(())
}

fn what_an_agent_tells_the_user_is_in_the_status() -> Outcome {
    let world = World::with_plan("- [ ] T1 tell\n")?;
    let script = Script::default()
        .rule(send(
            on("T1", 1),
            &json!({"agent_id": "user", "message": "the port is 4711"}),
        ))
        .rule(writes(on("T1", 2), "one.txt"))
        .rule(done("T1"));
    let model = world.script(&script)?;
    world.types(&["run", "plan.md", "--model", &model], 0)?;
    says(
        &world.types(&["status"], 0)?,
        &["T1 tells you: the port is 4711\n"],
    )?;
    let status = world.types(&["status", "--json"], 0)?.json()?;
    assert_eq!(
        at(&status, "/messages_to_user/0/body")?,
        "the port is 4711",
        "{status}"
    );
    Ok(())
}

/// Returns a world with a plan whose only agent asks the user, and the option that chooses its
/// model.
fn asking_the_user() -> Result<(World, String), Failed> {
    let world = World::with_plan("- [ ] T1 ask\n")?;
    let script = Script::default()
        .rule(asks(on("T1", 1), "user"))
        .rule(writes(after("T1", "4711"), "one.txt"))
        .rule(writes(after("T1", "begin nothing new"), "rest.txt"))
        .rule(done("T1"));
    let model = world.script(&script)?;
    Ok((world, model))
}

fn the_user_answers_from_the_shell() -> Outcome {
    let (world, model) = asking_the_user()?;
    let ran = world.types(&["run", "plan.md", "--model", &model], 3)?;
    let run = world.types(&["status", "--json"], 0)?.json()?;
    let id = at(&run, "/run_id")?.as_str().unwrap_or_default().to_owned();
    let answer = format!("`orchestrate message T1 TEXT --reply-to 1 --run {id}`");
    assert!(
        ran.stderr
            .contains(&format!("T1 asks: which port?: {answer}")),
        "{ran:?}"
    );
    assert_eq!(at(&run, "/tasks/0/liveness")?, "waiting-human", "{run}");
    assert_eq!(at(&run, "/questions/0/body")?, "which port?", "{run}");
    let shown = [
        "T1 waits for your answer to its question 1:\n  | which port?\n",
        "orchestrate message T1 TEXT --reply-to 1",
    ];
    for command in [&["status"][..], &["review"], &["review", "T1"]] {
        let said = world.types(command, 0)?.stdout;
        assert!(
            shown.iter().all(|text| said.contains(text)),
            "{command:?}: {said}"
        );
    }
    let entries = world.types(&["review", "--json"], 0)?.json()?;
    assert_eq!(
        at(&entries, "/items/0/questions/0/sequence")?,
        1,
        "{entries}"
    );
    says(
        &world.types(&["message", "T1", "4711", "--reply-to", "7"], 2)?,
        &["its open questions: 1"],
    )?;
    let ended = world.types(&["message", "T1", "4711", "--reply-to", "1", "--follow"], 0)?;
    assert!(
        ended.stderr.contains("answer 1 is queued for T1"),
        "{ended:?}"
    );
    let log = world.types(&["log", "--messages"], 0)?.stdout;
    let lines = [
        "T1 asks: which port?",
        "T1: message from you (answer): 4711",
    ];
    assert!(lines.iter().all(|line| log.contains(line)), "{log}");
    Ok(())
}

fn the_user_may_answer_with_an_object_or_ask_to_finish() -> Outcome {
    let (world, model) = asking_the_user()?;
    world.types(&["run", "plan.md", "--model", &model], 3)?;
    says(
        &world.types(&["message", "T1", "[4711]", "--object"], 2)?,
        &["the message is JSON, but no object"],
    )?;
    says(
        &world.types(&["message", "nobody", "hello"], 2)?,
        &[
            "there is no agent 'nobody' in this run; the agents are: T1",
            "` shows what each of them does",
        ],
    )?;
    says(
        &world.types(&["message", "T2", "hello"], 2)?,
        &["did you mean `T1`?"],
    )?;
    says(
        &world.types(&["message", "T1", " "], 2)?,
        &[
            "the message is empty",
            "`orchestrate message TASK TEXT --run r-",
        ],
    )?;
    let object = [
        "message",
        "T1",
        r#"{"reason": "time is up"}"#,
        "--object",
        "--kind",
        "shutdown",
        "--deadline",
        "1h",
        "--follow",
    ];
    world.types(&object, 0)?;
    let heard = world.types(&["log", "T1", "--transcript"], 0)?.stdout;
    let told = [
        "another message has come first, and follows; the question stays open",
        "(shutdown: begin nothing new",
        "\"reason\": \"time is up\"",
    ];
    says(
        &world.types(&["message", "T1", "hello"], 2)?,
        &[
            "agent 'T1' is merged and reads no more messages",
            "`orchestrate reject T1 -m TEXT --run r-",
        ],
    )?;
    let files = world.types(&["review", "T1", "--json"], 0)?.json()?;
    assert!(
        told.iter().all(|text| heard.contains(text)) && at(&files, "/files/0/path")? == "rest.txt",
        "{heard}\n{files:#}"
    );
    Ok(())
}

fn everybody_is_told() -> Outcome {
    let hello = json!({"agent_id": "all", "message": "the port is 4711", "kind": "status_update"});
    let script = Script::default()
        .rule(send(on("T1", 1), &hello))
        .rule(writes(on("T1", 2), "one.txt"))
        .rule(done("T1"))
        .writes("T2", "two.txt", "2\n")
        .writes("T3", "three.txt", "3\n");
    let plan = "- [ ] T1 tell\n- [ ] T2 listen (depends: T1)\n- [ ] T3 listen (depends: T1)\n";
    let played = World::plain()?.play(plan, &script, |_| {})?;
    played.require_merged(&["T1", "T2", "T3"])?;
    played.require_told(
        "T1",
        &["status_update 1 is queued for T2\nstatus_update 1 is queued for T3"],
    )?;
    for task in ["T2", "T3"] {
        played.require_told(
            task,
            &[
                "Message 1 from agent T1 (status_update):",
                "the port is 4711",
            ],
        )?;
    }
    Ok(())
}

/// A role's channels hold for its agents, nobody but a parent stops an agent, and no agent chooses
/// its own name.
fn who_may_not_be_written_to_is_not() -> Outcome {
    let world = World::plain()?;
    let shy = "---\nname: lead\ndescription: Leads.\nchannels: [user]\n---\nYou lead.\n";
    world.commit(".orchestrate/agents/lead.md", shy)?;
    let to = |to: &str| json!({"agent_id": to, "message": "hello"});
    let forged = json!({"agent_id": "T3", "message": "stop", "from": "user"});
    let stop = json!({"agent_id": "T3", "message": "stop", "kind": "shutdown"});
    let script = Script::default()
        .rule(send(send(on("T1", 1), &to("T3")), &to("user")))
        .rule(writes(on("T1", 2), "one.txt"))
        .rule(done("T1"))
        .rule(send(send(on("T2", 1), &forged), &stop))
        .rule(writes(on("T2", 2), "two.txt"))
        .rule(done("T2"))
        .writes("T3", "three.txt", "3\n");
    let plan = "- [ ] T1 tell (agent: lead)\n- [ ] T2 forge\n- [ ] T3 listen (depends: T1, T2)\n";
    let played = world.play(plan, &script, |_| {})?;
    played.require_merged(&["T1", "T2", "T3"])?;
    let refused = "your role may not send messages to 'T3', only to: user";
    played.require_told("T1", &[refused, "message 1 is shown to the user"])?;
    played.require_told(
        "T2",
        &[
            "Invalid parameters",
            "only a parent or the user may ask 'T3' to finish",
        ],
    )?;
    let to_agents = played.pick(|event| match event {
        Event::MessageSent { envelope } => envelope.to.agent(),
        _ => None,
    });
    assert!(to_agents.is_empty(), "{played}");
    Ok(())
}

fn a_flood_is_bounded() -> Outcome {
    // As many as one reply may call.
    let many = |turn| {
        (0..MAILBOX_CAPACITY / 2).fold(on("T1", turn), |rule, number| {
            send(
                rule,
                &json!({"agent_id": "T2", "message": format!("{turn}, {number}")}),
            )
        })
    };
    let large = json!({"agent_id": "T2", "message": "x".repeat(1 << 20)});
    let script = Script::default()
        .rule(many(1))
        .rule(many(2))
        .rule(send(
            send(on("T1", 3), &large),
            &json!({"agent_id": "T2", "message": "one more"}),
        ))
        .rule(writes(on("T1", 4), "one.txt"))
        .rule(done("T1"))
        .writes("T2", "two.txt", "2\n");
    let played = World::plain()?.play(
        "- [ ] T1 tell\n- [ ] T2 listen (depends: T1)\n",
        &script,
        |_| {},
    )?;
    played.require_merged(&["T1", "T2"])?;
    let outcomes = played.pick(|event| match event {
        Event::ToolFinished { tool, outcome, .. } if tool == "send_message_to_agent" => {
            Some(*outcome)
        }
        _ => None,
    });
    let failed = outcomes
        .iter()
        .filter(|outcome| **outcome == ToolOutcome::Failed)
        .count();
    // The control: as many of the same messages as the mailbox holds are read.
    let delivered =
        played.pick(|event| matches!(event, Event::MessageDelivered { .. }).then_some(()));
    if (failed, delivered.len()) != (2, MAILBOX_CAPACITY) {
        return fail(format!("{failed} failed, {} delivered", delivered.len()));
    }
    let told = [
        "the mailbox of agent 'T2' is full (64 messages); wait until it has read some",
        "expected at most 8192 bytes, got 1048576",
    ];
    let results = played.results("T1")?.join("\n");
    assert!(told.iter().all(|text| results.contains(text)), "{results}");
    Ok(())
}
