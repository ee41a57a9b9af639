//! Messages between agents, and from users and programs to agents, in whole runs.

use libtest_mimic::Failed;
use orchestrate_core::event::settings::MergeMode;
use orchestrate_core::event::{Event, ToolOutcome};
use orchestrate_core::messages::{Envelope, MAILBOX_CAPACITY, Sender};
use orchestrate_core::run::request::Request;
use orchestrate_core::{Message, ModelRequest, RunState, ToolCall};
use orchestrate_journal::Journal;
use rustix::process::Signal;
use serde_json::json;
use tokio::sync::watch;

use crate::support::{
    Case, GRACE, Outcome, Played, Rule, Script, World, after, answering, at, case, done, fail, on,
    plan_input, put, runtime, sandboxed, says, shell, there_is, until, write, write_or_end, writes,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(a_message_arrives_between_results_and_request),
        case!(an_unknown_recipient_is_the_senders_error),
        case!(a_message_reopens_an_agent_that_has_just_ended),
        case!(a_message_costs_finished_work_no_turn),
        case!(what_nobody_would_read_is_refused),
        case!(nobody_reads_while_a_check_runs),
        case!(what_nobody_has_read_is_told),
        case!(a_thousand_at_once_are_bounded_and_answered),
        sandboxed!(what_is_void_is_not_shown),
        sandboxed!(a_transcript_has_what_was_heard),
    ]
}

fn send(rule: Rule, to: &str, message: &str) -> Rule {
    rule.call(
        "send_message_to_agent",
        &json!({"agent_id": to, "message": message}),
    )
}

/// Returns a script in which T2 keeps working until it has received T1's messages, so that the test
/// needs no clock.
fn two_agents() -> Script {
    let script = Script::default()
        .rule(send(
            send(on("T1", 1), "T2", "the port is 4711"),
            "T2",
            "and the host is local",
        ))
        .rule(writes(on("T1", 2), "one.txt"))
        .rule(done("T1"))
        .rule(put(
            after("T2", "and the host is local"),
            "two.txt",
            "4711\n",
        ))
        .rule(after("T2", "two.txt").text("Done."));
    // Each call differs from the others, so that they do not count as a loop.
    (1..=90).fold(script, |script, turn| {
        let look = json!({"command": format!("sleep 0.02; echo look {turn}")});
        script.rule(on("T2", turn).call("run_shell_command", &look))
    })
}

fn play() -> Result<Played, Failed> {
    let world = World::lived_in()?;
    let played = world.play(
        "- [ ] T1 tell\n- [ ] T2 listen\n",
        &two_agents(),
        |settings| settings.run.max_turns = 300,
    )?;
    played.require_merged(&["T1", "T2"])?;
    Ok(played)
}

fn hears(request: &ModelRequest) -> bool {
    request
        .messages
        .iter()
        .any(|message| matches!(message, Message::User { text } if text.contains("the port is")))
}

fn a_message_arrives_between_results_and_request() -> Outcome {
    let played = play()?;
    let requests = played.requests()?;
    let heard = requests
        .iter()
        .find(|request| request.origin.task.as_str() == "T2" && hears(request));
    let Some(heard) = heard else {
        return fail(played.story());
    };
    let tail = match heard.messages.as_slice() {
        [
            ..,
            Message::Assistant { tool_calls, .. },
            Message::Tool { results },
            Message::User { text },
        ] => (tool_calls.len() == results.len()).then_some(text),
        // The message arrived before the agent's first request.
        [Message::User { text }] => Some(text),
        _ => None,
    };
    match tail {
        Some(text)
            if in_order(
                text,
                &[
                    "Message 1 from agent T1:\n<data-",
                    ">\nthe port is 4711\n</data-",
                ],
            ) => {}
        _ => return fail(format!("{:#?}", heard.messages)),
    }
    // The journal records that they were sent and delivered, and in which order.
    let sent = played.pick(|event| match event {
        Event::MessageSent { envelope } => Some((
            envelope.from.clone(),
            envelope.to.as_str().to_owned(),
            envelope.sequence,
        )),
        _ => None,
    });
    let delivered = played.pick(|event| match event {
        Event::MessageDelivered {
            from,
            to,
            sequence,
            expired: false,
        } => Some((from.clone(), to.to_string(), *sequence)),
        _ => None,
    });
    let from = Sender::Agent("T1".into());
    let expected = vec![
        (from.clone(), "T2".to_owned(), 1),
        (from, "T2".to_owned(), 2),
    ];
    assert!(sent == expected && delivered == expected, "{played}");
    Ok(())
}

/// Reports whether a text contains these parts, in this order.
fn in_order(text: &str, parts: &[&str]) -> bool {
    let mut rest = text;
    parts.iter().all(|part| match rest.split_once(part) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}

fn a_transcript_has_what_was_heard() -> Outcome {
    let world = World::plain()?;
    let script = Script::default()
        .rule(send(on("T1", 1), "T2", "the port is 4711"))
        .rule(writes(on("T1", 2), "one.txt"))
        .rule(write("T2", "two.txt", "2\n"))
        .rule(done("T1"))
        .rule(done("T2"));
    let model = script.write_to(&world.home.path().join("model.jsonl"))?;
    world
        .repository
        .write("plan.md", "- [ ] T1 tell\n- [ ] T2 listen (depends: T1)\n")?;
    world.types(&["run", "plan.md", "--model", &model], 0)?;
    let transcript = |typed: &[&str]| -> Result<String, Failed> {
        let typed = [&["log", "T2", "--transcript"], typed].concat();
        Ok(world.types(&typed, 0)?.stdout)
    };
    let (said, facts) = (transcript(&[])?, transcript(&["--json"])?);
    let heard = [
        "< message:\n  | Message 1 from agent T1:\n  | <data-",
        ">\n  | the port is 4711\n  | </data-",
    ];
    let told = [
        r#""content":"Message 1 from agent T1:\n<data-"#,
        r">\nthe port is 4711\n</data-",
    ];
    assert!(in_order(&said, &heard), "{said}\n{facts}");
    assert!(in_order(&facts, &told), "{said}\n{facts}");
    Ok(())
}

fn an_unknown_recipient_is_the_senders_error() -> Outcome {
    let script = Script::default()
        .rule(send(
            send(send(on("T1", 1), "T9", "hello"), "r-0123456789/T2", "hello"),
            "T2",
            "hello",
        ))
        .rule(writes(on("T1", 2), "one.txt"))
        .rule(done("T1"))
        .writes("T2", "two.txt", "2\n");
    let plan = "- [ ] T1 tell\n- [ ] T2 listen (depends: T1)\n";
    let played = World::lived_in()?.play(plan, &script, |_| {})?;
    played.require_merged(&["T1", "T2"])?;
    let outcomes = played.pick(|event| match event {
        Event::ToolFinished { tool, outcome, .. } if tool == "send_message_to_agent" => {
            Some(*outcome)
        }
        _ => None,
    });
    let sent = played.pick(|event| match event {
        Event::MessageSent { envelope } => Some(envelope.to.as_str().to_owned()),
        _ => None,
    });
    // The control: the same message to an agent of this run is sent, and read.
    assert!(
        outcomes == [ToolOutcome::Failed, ToolOutcome::Failed, ToolOutcome::Ok] && sent == ["T2"],
        "{played}"
    );
    played.require_told(
        "T2",
        &["Message 1 from agent T1:\n<data-", ">\nhello\n</data-"],
    )?;
    assert!(stage_lists_agents(&played)?, "{played}");
    Ok(())
}

/// Reports whether the error names the unknown agent and the existing one.
fn stage_lists_agents(played: &Played) -> Result<bool, Failed> {
    Ok(played
        .results("T1")?
        .iter()
        .any(|text| text.contains("T9") && text.contains("T1")))
}

/// Plays a task with this maximum number of turns. The message is sent before the agent says that
/// it is done, and is delivered after that.
fn told_when_done(world: &World, turns: u32, message: &str) -> Result<Played, Failed> {
    let ((release, may), (asked, mut is_asked)) = (watch::channel(false), watch::channel(false));
    // In its second turn the agent says that it is done, as soon as it may; in its third it acts on
    // the message.
    let model = answering(move |request| {
        let (asked, mut may) = (asked.clone(), may.clone());
        async move {
            let mut reply = write_or_end(&request);
            match (request.origin.turn, request.messages.last()) {
                (2, _) => {
                    asked.send_replace(true);
                    // The sender is dropped once the test has ended.
                    drop(may.wait_for(|may| *may).await);
                }
                (3, Some(Message::User { text })) if text.contains("remember the tests") => {
                    let arguments = json!({"path": "tests.txt", "content": "1\n"});
                    reply.tool_calls = vec![ToolCall {
                        id: "c2".into(),
                        name: "write_file".to_owned(),
                        arguments,
                    }];
                }
                _ => {}
            }
            reply
        }
    });
    let coordinator = world.coordinator(&Script::default(), |settings| {
        settings.model = Some(model);
        settings.run.max_turns = turns;
    })?;
    let report = runtime()?.block_on(async {
        let run = coordinator.start(plan_input("- [ ] T1 work\n")?).await?;
        let mut state = run.watch();
        is_asked.wait_for(|asked| *asked).await?;
        run.store()
            .send(run.id(), &Request::message("T1", message))?;
        state
            .wait_for(|state| state.unread().next().is_some())
            .await?;
        release.send_replace(true);
        Ok::<_, Failed>(run.wait().await?)
    })?;
    let played = Played::of(coordinator, report)?;
    played.require_merged(&["T1"])?;
    let said_done = played.first(|event| matches!(event, Event::ModelReplied { turn: 2, .. }))?;
    let heard = played.first(|event| matches!(event, Event::MessageDelivered { .. }))?;
    if said_done < heard {
        Ok(played)
    } else {
        fail(played.story())
    }
}

fn a_message_reopens_an_agent_that_has_just_ended() -> Outcome {
    let world = World::lived_in()?;
    let played = told_when_done(&world, 9, "remember the tests")?;
    let mended = played.tools("T1") == ["write_file", "write_file"];
    assert!(mended, "{played}");
    assert_eq!(world.merged(&played.report, "tests.txt")?, "1", "{played}");
    Ok(())
}

/// An agent that says in the last of its turns that it is done, and then receives a message, is
/// still done.
fn a_message_costs_finished_work_no_turn() -> Outcome {
    let played = told_when_done(&World::lived_in()?, 2, "thank you")?;
    let turns = played.report.tasks[0].turns;
    assert_eq!(turns, 3, "{turns} turns\n{played}");
    Ok(())
}

/// An agent that starts after a message's deadline is not shown that message; it is shown one that
/// is still in time.
fn what_is_void_is_not_shown() -> Outcome {
    let lasting = json!({"agent_id": "T2", "message": "the port is 2", "deadline": 600});
    let script = Script::default()
        .rule(on("T1", 1).call("send_message_to_agent", &lasting))
        .rule(writes(on("T1", 2), "one.txt"))
        .rule(done("T1"))
        .writes("T2", "two.txt", "2\n");
    let world = World::lived_in()?;
    let plan = "- [ ] T1 tell\n- [ ] T2 hear (depends: T1)\n";
    let first = world.play(plan, &script, |settings| {
        settings.run.merge = MergeMode::Review
    })?;
    let is_600_seconds = |deadline: u64| {
        first
            .facts
            .iter()
            .any(|fact| fact.ts_ms + 600_000 == deadline)
    };
    let deadlines = first.pick(|event| match event {
        Event::MessageSent { envelope } => envelope.deadline,
        _ => None,
    });
    assert_eq!(deadlines.len(), 1, "{first}");
    assert!(deadlines.into_iter().all(is_600_seconds), "{first}");
    let (run, store) = (
        first.report.run_id.clone(),
        first.coordinator.store().clone(),
    );
    drop(first);
    let journal = Journal::resume(&store, &run)?;
    let deadline = Some(journal.state().updated_ms - 1);
    let envelope = Envelope {
        deadline,
        ..Envelope::note(1, Sender::User, "T2", "the port is 1")
    };
    journal.append_blocking(Event::MessageSent { envelope })?;
    let tree = journal
        .state()
        .task(&"T1".into())
        .and_then(|record| record.tree().cloned());
    drop(journal);
    let tree = tree.ok_or_else(|| Failed::from("T1 has no work"))?;
    store.send(
        &run,
        &Request::Approve {
            task: "T1".into(),
            tree,
        },
    )?;
    let played = world.resume(&run, &script, |_| {})?;
    let shown: Vec<bool> = played.pick(|event| match event {
        Event::MessageDelivered { .. } => Some(true),
        Event::MessageExpired(_) => Some(false),
        _ => None,
    });
    let heard = played
        .requests()?
        .into_iter()
        .filter(|request| request.origin.task.as_str() == "T2");
    let texts = heard
        .map(|request| format!("{:?}", request.messages))
        .collect::<String>();
    assert_eq!(shown, [false, true], "{played}");
    assert!(texts.contains("the port is 2"), "{played}");
    assert!(!texts.contains("the port is 1"), "{played}");
    Ok(())
}

/// A message is accepted only if an agent will read it; otherwise its sender is told why.
fn what_nobody_would_read_is_refused() -> Outcome {
    let script = Script::default()
        .rule(send(send(on("T1", 1), "T2", "hello"), "T3", " \n"))
        .rule(writes(on("T1", 2), "one.txt"))
        .rule(done("T1"))
        .rule(Rule::task("T3").text("Nothing to do."));
    let plan = "- [ ] T1 tell\n- [ ] T2 make (run: touch two.txt) (depends: T1)\n- [ ] T3 listen (depends: T1)\n";
    let world = World::lived_in()?;
    let played = world.play(plan, &script, |_| {})?;
    let told = played.results("T1")?.join("\n");
    for why in ["T2 is a command and has no agent", "the message is empty"] {
        assert!(told.contains(why), "{why}\n{told}");
    }
    let (run, store) = (
        played.report.run_id.clone(),
        played.coordinator.store().clone(),
    );
    drop(played);
    let sent = [
        ("T1", "hello"),
        ("T2", "hello"),
        ("T3", "hello"),
        ("T3", ""),
    ]
    .map(|(to, body)| Ok::<_, Failed>((store.send(&run, &Request::message(to, body))?, to, body)));
    let resumed = world.resume(&run, &script, |_| {})?;
    let reads_no_more =
        |agent: &str, state: &str| format!("agent '{agent}' is {state} and reads no more messages");
    let expected = [
        reads_no_more("T1", "merged"),
        "T2 is a command and has no agent to read messages".to_owned(),
        reads_no_more("T3", "failed"),
        "the message is empty".to_owned(),
    ];
    for (sent, expected) in sent.into_iter().zip(expected) {
        let (id, to, body) = sent?;
        match store.answer(id)? {
            Some(Err(why)) if why.to_string() == expected => {}
            other => return fail(format!("to {to}: {body:?}: {other:?}")),
        }
    }
    let accepted = resumed.pick(|event| matches!(event, Event::MessageSent { .. }).then_some(()));
    assert!(accepted.is_empty(), "{resumed}");
    Ok(())
}

/// A message is refused while a check runs, whether or not a process works on the run. The check
/// ends at once on the base, which has no `one.txt`, and if the file `go` exists.
fn nobody_reads_while_a_check_runs() -> Outcome {
    let check = concat!("test ! -e one.txt || ", there_is!("go"), " || sleep 60");
    let of_task = (
        format!("- [ ] T1 make (verify: {check})\n"),
        &[][..],
        "agent 'T1' is committed and reads no more messages",
    );
    let of_run = (
        "- [ ] T1 make\n".to_owned(),
        &["--verify", check][..],
        "reads no messages while its work is being merged",
    );
    for (plan, options, words) in [of_task, of_run] {
        let world = World::with_plan(&plan)?;
        let model = world.script(&Script::default().writes("T1", "one.txt", "1\n"))?;
        let typed = [
            &[
                "run",
                "plan.md",
                "--model",
                &model,
                "--output-format",
                "stream-json",
            ],
            options,
        ]
        .concat();
        let running = world.orchestrate(&typed).start()?;
        running.line(|line| line.contains("\"verify.started\""))?;
        let live = world.types(&["message", "T1", "hello"], 2)?;
        running.signal(Signal::KILL)?;
        running.end()?.exits(137)?;
        let dead = world.types(&["message", "T1", "hello"], 2)?;
        for refused in [live, dead] {
            says(&refused, &[words, "`orchestrate resume r-"])?;
            if refused.stderr.contains("orchestrate reject") {
                return fail(refused.stderr);
            }
        }
        world.repository.write(".git/objects/go", "")?;
        world.types(&["resume"], 0)?;
        says(
            &world.types(&["message", "T1", "hello"], 2)?,
            &["`orchestrate reject T1 -m TEXT"],
        )?;
    }
    Ok(())
}

/// A message that was accepted but never read is reported at the end, and by `status` and `log`.
fn what_nobody_has_read_is_told() -> Outcome {
    let world = World::plain()?;
    let script = Script::default()
        .rule(send(on("T1", 1), "T2", "the port is 4711"))
        .rule(Rule::task("T1").text("I give up."));
    script.write_to(&world.home.path().join("model.jsonl"))?;
    world
        .repository
        .write("plan.md", "- [ ] T1 tell\n- [ ] T2 listen (depends: T1)\n")?;
    let model = format!("script:{}", world.home.path().join("model.jsonl").display());
    let typed: [(&[&str], i32); 3] = [
        (&["run", "plan.md", "--model", &model], 1),
        (&["status"], 0),
        (&["log", "--messages"], 0),
    ];
    for (arguments, code) in typed {
        let ran = world.types(arguments, code)?;
        assert!(
            ran.stdout
                .contains("T2 has not read message 1 from T1: the port is 4711"),
            "{arguments:?}: {ran:?}"
        );
    }
    let status = world.types(&["status", "--json"], 0)?.json()?;
    assert_eq!(
        at(&status, "/unread_messages/0/body")?,
        "the port is 4711",
        "{status}"
    );
    Ok(())
}

/// Each of a thousand messages that come while an agent works is answered: as many are accepted as
/// its mailbox holds, and a megabyte is not. It reads what was accepted, in order.
fn a_thousand_at_once_are_bounded_and_answered() -> Outcome {
    let waits = concat!("until ", there_is!("go"), "; do sleep 0.05; done");
    let script = Script::default()
        .rule(shell(on("T1", 1), waits))
        .rule(writes(on("T1", 2), "one.txt"))
        .rule(done("T1"));
    let world = World::plain()?;
    let coordinator = world.coordinator(&script, |_| {})?;
    let (report, answers) = runtime()?.block_on(async {
        let run = coordinator.start(plan_input("- [ ] T1 listen\n")?).await?;
        let is_at_work = |state: &RunState| {
            state
                .task(&"T1".into())
                .is_some_and(|record| record.open_calls().len() == 1)
        };
        run.watch().wait_for(|state| is_at_work(state)).await?;
        let texts = std::iter::once("x".repeat(1 << 20))
            .chain((1..=1_000).map(|number| format!("message {number}")));
        let sent = texts.map(|text| run.store().send(run.id(), &Request::message("T1", text)));
        let sent = sent.collect::<Result<Vec<_>, _>>()?;
        let mut answers = Vec::new();
        for id in sent {
            answers.push(until(GRACE, || Ok(run.store().answer(id)?))?);
        }
        world.repository.write(".git/objects/go", "")?;
        Ok::<_, Failed>((run.wait().await?, answers))
    })?;
    let played = Played::of(coordinator, report)?;
    played.require_merged(&["T1"])?;
    let refused: Vec<String> = answers
        .iter()
        .filter_map(|answer| answer.as_ref().err())
        .map(ToString::to_string)
        .collect();
    let is_full = |why: &String| why.contains("the mailbox of agent 'T1' is full (64 messages)");
    let too_long = refused
        .first()
        .is_some_and(|why| why.contains("the message has 1048576 bytes, at most 8192 are allowed"));
    if refused.len() != 1_001 - MAILBOX_CAPACITY
        || !too_long
        || !refused.iter().skip(1).all(is_full)
    {
        return fail(format!("{} refused: {:?}", refused.len(), refused.get(..3)));
    }
    // The control: as many of the same messages as the mailbox holds are read.
    let read = played.pick(|event| match event {
        Event::MessageDelivered { sequence, .. } => Some(*sequence),
        _ => None,
    });
    let heard = played.told("T1")?;
    let is_in_order = in_order(
        &heard,
        &["\nmessage 1\n", "\nmessage 2\n", "\nmessage 64\n"],
    );
    assert!(read.into_iter().eq(1..=64) && is_in_order, "{played}");
    Ok(())
}
