//! The library as programs use it: the face of the package, not of the engine below it.

mod following;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use libtest_mimic::Failed;
use orchestrate::{
    Builder, Child, Error, Event, Fact, Land, Message, Model, Reply, Request, Result, Role, Sent,
    Session, tool_fn,
};
use rustix::process::Signal;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{
    Case, Invocation, ModelServer, Outcome, Ran, Recorded, Reply as ServedReply, Running, World,
    fail, runtime, sandboxed, workspace_cargo,
};

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = following::cases();
    cases.extend([
        sandboxed!(its_example_runs),
        sandboxed!(its_example_runs_with_a_models_server),
        sandboxed!(a_killed_program_goes_on_and_pays_nothing_twice),
        sandboxed!(an_answer_of_another_form_is_asked_for_once_more),
        sandboxed!(a_child_is_found_again_by_its_id_and_its_words),
        sandboxed!(a_closed_question_is_no_error),
        sandboxed!(a_failed_child_goes_on),
        sandboxed!(a_plan_is_a_session_that_is_found_again),
        sandboxed!(what_could_not_be_spawned_does_not_count),
        sandboxed!(a_cancelled_child_has_ended),
        sandboxed!(what_a_stream_has_given_and_what_follows_are_everything),
        sandboxed!(a_model_is_asked_again_where_that_can_help),
        sandboxed!(calls_wait_for_the_program),
        sandboxed!(a_hook_denies_and_changes_calls),
        sandboxed!(hooks_look_at_results_ends_and_events),
        sandboxed!(a_projects_command_needs_consent),
        sandboxed!(what_cannot_be_is_an_error_before_anything_starts),
    ]);
    cases
}

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
struct Facts {
    colour: String,
}

/// A model that is a function of the request.
struct Answers<F>(F);

impl<F: Fn(&Request) -> Result<Reply> + Send + Sync + 'static> Model for Answers<F> {
    async fn reply(&self, request: Request) -> Result<Reply> {
        (self.0)(&request)
    }
}

/// Begins a session in the home of a world, with a model that is a function.
fn open<F>(world: &World, model: F) -> Result<Builder>
where
    F: Fn(&Request) -> Result<Reply> + Send + Sync + 'static,
{
    let home = world.home.path().display().to_string();
    let variables = BTreeMap::from([("HOME".to_owned(), home)]);
    let builder = Session::open_with(world.repository.path(), variables)?;
    Ok(builder.state_dir(world.home.state()).model(Answers(model)))
}

/// Reads a session's events until it is at rest.
async fn until_rest(session: &Session) -> Result<Vec<Event>> {
    let mut events = session.events();
    let mut seen = Vec::new();
    while let Some(event) = events.next().await {
        let event = event?;
        if matches!(event, Event::AtRest) {
            break;
        }
        seen.push(event);
    }
    Ok(seen)
}

fn writes(request: &Request) -> Result<Reply> {
    let path = format!("{}.txt", request.child);
    Ok(match request.turn {
        1 => Reply::text("").call("write_file", json!({"path": path, "content": "x\n"})),
        _ => Reply::text("I wrote it."),
    })
}

/// Starts the example in a world.
fn example(world: &World) -> std::result::Result<Running, Failed> {
    prepared_example(world, &[])?.start()
}

/// Builds the example, and prepares to start it.
fn prepared_example(world: &World, arguments: &[&str]) -> std::result::Result<Invocation, Failed> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let built = workspace_cargo(&[
        "build",
        "-q",
        "--offline",
        "--manifest-path",
        manifest,
        "--example",
        "release_notes",
    ])
    .output()?;
    if !built.status.success() {
        return fail(String::from_utf8_lossy(&built.stderr));
    }
    let program = std::env::current_exe()?;
    let folder = program
        .ancestors()
        .nth(2)
        .ok_or("the tests have no folder")?;
    let example = folder.join("examples/release_notes");
    Ok(world.home.command(
        &example.display().to_string(),
        world.repository.path(),
        arguments,
    ))
}

fn its_example_runs() -> Outcome {
    let world = World::plain()?;
    let ran = example(&world)?.end()?.exits(0)?;
    notes_have_landed(&world, &ran)
}

/// Requires what the example leaves in the user's branch.
fn notes_have_landed(world: &World, ran: &Ran) -> Outcome {
    assert!(ran.stdout.starts_with("blue []\n"), "{ran:?}");
    let files = world.git("ls-tree -r --name-only HEAD notes")?;
    assert_eq!(files, "notes/b_two.md\nnotes/one.md", "{ran:?}");
    assert!(
        world
            .repository
            .show("HEAD", "notes/one.md")?
            .contains("ONE")
    );
    Ok(())
}

/// Answers as the example's own model does, by Chat Completions.
fn served_reply(asked: &Recorded) -> ServedReply {
    let conversation = asked.body["messages"].to_string();
    let heard = asked.body["messages"]
        .as_array()
        .and_then(|messages| messages.iter().rfind(|message| message["role"] == "tool"))
        .and_then(|result| result["content"].as_str());
    let ask =
        json!({"agent_id": "user", "message": "Which one?", "kind": "question", "wait": true});
    let children = ["one", "b_two", "c_three", "d_four"];
    let asks = |child: &&&str| conversation.contains(&format!("Task {child}: "));
    let Some(child) = children.iter().find(asks) else {
        return match heard {
            None => ServedReply::text("").call("send_message_to_agent", ask),
            Some(_) => ServedReply::text(r#"{"colour": "blue"}"#),
        };
    };
    let file = format!("notes/{child}.md");
    match heard {
        None => ServedReply::text("").call("shout", json!({"text": child})),
        Some(text) if text.contains(&child.to_uppercase()) => {
            ServedReply::text("").call("write_file", json!({"path": file, "content": text}))
        }
        Some(_) => ServedReply::text("I wrote it down."),
    }
}

fn its_example_runs_with_a_models_server() -> Outcome {
    let world = World::plain()?;
    let server = ModelServer::answering(|asked, _| served_reply(asked))?;
    let ran = prepared_example(&world, &["openai/gpt-5.6"])?
        .env("OPENAI_API_KEY", "k")
        .env("OPENAI_BASE_URL", server.openai_base())
        .run()?
        .exits(0)?;
    notes_have_landed(&world, &ran)?;
    assert_eq!(server.requests().len(), 14, "{ran:?}");
    Ok(())
}

fn a_killed_program_goes_on_and_pays_nothing_twice() -> Outcome {
    let world = World::plain()?;
    let first = example(&world)?;
    first.says("I wrote it down.")?;
    first.signal(Signal::KILL)?;
    first.end()?;
    let ran = example(&world)?.end()?.exits(0)?;
    assert!(ran.stdout.starts_with("blue []\n"), "{ran:?}");
    let status = world.types(&["status", "--json"], 0)?.json()?;
    let tasks = status["tasks"].as_array().cloned().unwrap_or_default();
    assert_eq!(tasks.len(), 5, "{status}");
    // Each has asked for its three or two replies, and for none of them twice.
    for task in &tasks {
        let most = if task["id"] == "which_colour" { 2 } else { 3 };
        assert!(task["turns"].as_u64() <= Some(most), "{task}");
    }
    assert_eq!(world.archive()?.store().runs()?.len(), 1, "{status}");
    Ok(())
}

fn an_answer_of_another_form_is_asked_for_once_more() -> Outcome {
    let world = World::plain()?;
    let model = |request: &Request| {
        let schema = request.answers.as_ref();
        assert!(schema.is_some_and(|schema| schema["properties"]["colour"]["type"] == "string"));
        let text = match (request.child.as_str(), request.turn) {
            ("stubborn", _) | (_, 1) => "It is blue.",
            _ => "```json\n{\"colour\": \"blue\"}\n```",
        };
        Ok(Reply::text(text))
    };
    runtime()?.block_on(async {
        let session = open(&world, model)?.start("answers").await?;
        let spawn = |id: &str| session.spawn(Child::new("Which?").id(id).answers::<Facts>());
        let (scout, stubborn) = (spawn("scout").await?, spawn("stubborn").await?);
        let facts: Facts = scout.output().await?;
        assert_eq!(facts.colour, "blue");
        let refused = stubborn.output::<Facts>().await;
        let error = refused
            .err()
            .ok_or("an answer without the form was taken")?;
        assert!(
            error.is_answer() && error.to_string().contains("asked for"),
            "{error}"
        );
        session.finish().await?;
        Ok(())
    })
}

fn a_child_is_found_again_by_its_id_and_its_words() -> Outcome {
    let world = World::plain()?;
    let asked = std::sync::Arc::new(AtomicU32::new(0));
    let count = std::sync::Arc::clone(&asked);
    let model = move |request: &Request| {
        count.fetch_add(1, Ordering::Relaxed);
        writes(request)
    };
    runtime()?.block_on(async {
        let session = open(&world, model)?.start("same").await?;
        let first = session.spawn(Child::new("Write it").id("one")).await?;
        first.wait().await?;
        let again = session.spawn(Child::new("Write it").id("one")).await?;
        assert_eq!(
            (again.id(), again.wait().await?.state),
            ("one", first.wait().await?.state)
        );
        assert_eq!(asked.load(Ordering::Relaxed), 2);
        let other = session
            .spawn(Child::new("Write something else").id("one"))
            .await;
        let error = other
            .err()
            .ok_or("another child has the same id")?
            .to_string();
        assert!(
            error.contains("Write it") && error.contains("Write something else"),
            "{error}"
        );
        // Equal texts without ids are several children, the same ones each time.
        let twins = session
            .spawn_all([Child::new("Do it"), Child::new("Do it")])
            .await?;
        let ids: Vec<&str> = twins.iter().map(|twin| twin.id()).collect();
        assert_eq!(ids, ["do", "do_2"]);
        let all = session.children();
        let all: Vec<&str> = all.iter().map(|child| child.id()).collect();
        assert_eq!(all, ["one", "do", "do_2"]);
        assert!(!session.is_resumed());
        assert!(session.child("do_2").is_some() && session.child("do_3").is_none());
        session.finish().await?;
        Ok(())
    })
}

fn a_closed_question_is_no_error() -> Outcome {
    let world = World::plain()?;
    let model = |request: &Request| {
        let ask =
            json!({"agent_id": "user", "message": "Which?", "kind": "question", "wait": true});
        Ok(match request.turn {
            1 => Reply::text("").call("send_message_to_agent", ask),
            _ => Reply::text("Thanks."),
        })
    };
    runtime()?.block_on(async {
        let session = open(&world, model)?.start("asks").await?;
        session.spawn(Child::new("Ask")).await?;
        let mut question = None;
        for event in until_rest(&session).await? {
            if let Event::Question(asked) = event {
                question = Some(asked);
            }
        }
        let question = question.ok_or("no question came")?;
        assert_eq!((question.child(), question.text()), ("ask", "Which?"));
        let open: Vec<String> = session.questions().iter().map(|open| open.id()).collect();
        assert_eq!(open, [question.id()]);
        // Two that answer at once: one is told that the other was quicker.
        let (one, other) = tokio::join!(question.try_answer("This"), question.try_answer("That"));
        let mut sent = [one?, other?];
        sent.sort_by_key(|sent| *sent != Sent::Taken);
        assert_eq!(sent, [Sent::Taken, Sent::AlreadyAnswered]);
        assert_eq!(question.try_answer("That").await?, Sent::AlreadyAnswered);
        question.answer("That").await?;
        // Who comes afterwards is not asked.
        let late = until_rest(&session).await?;
        assert!(
            !late.iter().any(|event| matches!(event, Event::Question(_))),
            "{late:?}"
        );
        // What was asked is recorded all the same: no number is missing.
        let numbers = numbers(&late);
        let all: Vec<u64> = (1..=numbers.last().copied().unwrap_or(0)).collect();
        assert_eq!(numbers, all);
        session.finish().await?;
        Ok(())
    })
}

/// What it did is no answer, and what it is told reaches it.
fn a_failed_child_goes_on() -> Outcome {
    let world = World::plain()?;
    let is_up = std::sync::Arc::new(AtomicU32::new(0));
    let up = std::sync::Arc::clone(&is_up);
    let model = move |request: &Request| {
        if up.load(Ordering::Relaxed) == 0 {
            return Err(Error::new("there is no such deployment"));
        }
        let last = request.messages.last();
        assert!(
            format!("{last:?}").contains("it is deployed"),
            "{request:?}"
        );
        Ok(Reply::text("Done."))
    };
    runtime()?.block_on(async {
        let session = open(&world, model)?.start("retried").await?;
        let child = session.spawn(Child::new("Look")).await?;
        let failed = child.wait().await?;
        assert!(
            failed.has_failed() && failed.answer.is_none(),
            "an answer was made up: {failed:?}"
        );
        is_up.store(1, Ordering::Relaxed);
        child.retry("it is deployed").await?;
        let ended = child.wait().await?;
        assert!(ended.has_answered(), "{ended:?}");
        assert_eq!(ended.answer.as_deref(), Some("Done."));
        let again = child.retry("once more").await;
        assert!(again.is_err(), "work that has succeeded was retried");
        session.finish().await?;
        Ok(())
    })
}

/// Asks in its first turn, and then says what it was answered.
fn asks_first(request: &Request) -> Result<Reply> {
    let ask = json!({"agent_id": "user", "message": "Which?", "kind": "question", "wait": true});
    Ok(match request.turn {
        1 => Reply::text("").call("send_message_to_agent", ask),
        2 => Reply::text("").call("write_file", json!({"path": "a.txt", "content": "x\n"})),
        _ => Reply::text("I wrote it."),
    })
}

/// Its front matter counts, and what is asked in it can be answered, also by another process.
fn a_plan_is_a_session_that_is_found_again() -> Outcome {
    let world = World::plain()?;
    let plan = "---\nverify: test -e a.txt\n---\n\n# A plan\n\n- [ ] T1 Write it\n";
    runtime()?.block_on(async {
        let red = open(&world, asks_first)?.start("red").await?;
        let run = red.run_plan(plan).await?;
        let refused = run.finish().await.err().ok_or("its check was not run")?;
        assert!(refused.to_string().contains("test -e a.txt"), "{refused}");

        let plan = plan.replace("test -e a.txt", "test ! -e b.txt");
        let session = open(&world, asks_first)?.start("plan").await?;
        let run = session.run_plan(plan.as_str()).await?;
        until_rest(&run).await?;
        let asked: Vec<String> = run.questions().iter().map(|open| open.id()).collect();
        assert_eq!(asked.len(), 1, "{asked:?}");
        let begun = run.run_id().to_owned();
        drop((run, session));

        let session = open(&world, asks_first)?.start("plan").await?;
        let run = session.run_plan(plan.as_str()).await?;
        assert!(run.is_resumed());
        assert_eq!(run.run_id(), begun);
        for question in run.questions() {
            assert_eq!([question.id()], asked[..]);
            question.answer("This").await?;
        }
        until_rest(&run).await?;
        let report = run.finish().await?;
        assert!(
            report.children.iter().all(|end| end.is_merged()),
            "{report:?}"
        );
        run.land(Land::merge()).await?;
        assert_eq!(world.repository.show("main", "a.txt")?, "x");
        Ok(())
    })
}

fn what_could_not_be_spawned_does_not_count() -> Outcome {
    let world = World::plain()?;
    runtime()?.block_on(async {
        let session = open(&world, writes)?.start("ordinals").await?;
        let refused = session
            .spawn(Child::new("Write notes").role("nobody"))
            .await;
        assert!(refused.is_err(), "there is no such role");
        let child = session.spawn(Child::new("Write notes")).await?;
        assert_eq!(child.id(), "write_notes");
        session.finish().await?;
        Ok(())
    })
}

fn a_cancelled_child_has_ended() -> Outcome {
    let world = World::plain()?;
    runtime()?.block_on(async {
        let session = open(&world, asks_first)?.start("cancelled").await?;
        let child = session.spawn(Child::new("Ask")).await?;
        until_rest(&session).await?;
        assert_eq!(child.wait().await?.state, "waiting");
        child.cancel().await?;
        assert_eq!(child.wait().await?.state, "cancelled");
        assert!(session.questions().is_empty());
        session.finish().await?;
        Ok(())
    })
}

fn numbers(events: &[Event]) -> Vec<u64> {
    events
        .iter()
        .filter_map(fact)
        .map(|fact| fact.number)
        .collect()
}

fn fact(event: &Event) -> Option<&Fact> {
    match event {
        Event::Fact(fact) => Some(fact),
        _ => None,
    }
}

fn what_a_stream_has_given_and_what_follows_are_everything() -> Outcome {
    let world = World::plain()?;
    runtime()?.block_on(async {
        let session = open(&world, writes)?.start("follow").await?;
        let child = session.spawn(Child::new("Write").id("one")).await?;
        let first = until_rest(&session).await?;
        let seen = numbers(&first);
        let last = seen.last().copied().ok_or("nothing has happened")?;
        let mut rest = session.events_after(last);
        // It is at its place from its first event on.
        assert!(matches!(rest.next().await, Some(Ok(Event::CaughtUp))));
        let texts: Vec<_> = first
            .iter()
            .filter(|event| matches!(event, Event::Text { .. }))
            .collect();
        assert_eq!(texts.len(), 1, "{first:?}");
        session.merge(&[child]).await?;
        session.finish().await?;
        let mut following = Vec::new();
        while let Some(event) = rest.next().await {
            following.push(event?);
        }
        let both: Vec<u64> = seen.iter().copied().chain(numbers(&following)).collect();
        let dense: Vec<u64> = (1..=both.len() as u64).collect();
        assert_eq!(both, dense);
        let end = following
            .iter()
            .filter_map(fact)
            .next_back()
            .ok_or("nothing follows")?;
        assert_eq!(end.kind, "run.finished");
        Ok(())
    })
}

fn a_model_is_asked_again_where_that_can_help() -> Outcome {
    let world = World::plain()?;
    let failures = AtomicU32::new(0);
    let model = move |request: &Request| {
        if request.child == "broken" {
            return Err(Error::new("no such deployment"));
        }
        match failures.fetch_add(1, Ordering::Relaxed) {
            0 => Err(Error::transient("busy")),
            _ => Ok(Reply::text("Here I am.")),
        }
    };
    runtime()?.block_on(async {
        let session = open(&world, model)?.start("again").await?;
        let patient = session.spawn(Child::new("Answer").id("patient")).await?;
        assert_eq!(patient.wait().await?.answer.as_deref(), Some("Here I am."));
        let broken = session.spawn(Child::new("Answer").id("broken")).await?;
        let error = broken.wait().await?.error.unwrap_or_default();
        assert!(error.contains("no such deployment"), "{error}");
        session.finish().await?;
        Ok(())
    })
}

fn calls_wait_for_the_program() -> Outcome {
    let world = World::plain()?;
    let heard = std::sync::Arc::new(Mutex::new(Vec::new()));
    let results = std::sync::Arc::clone(&heard);
    let model = move |request: &Request| {
        let last = request.messages.last();
        if let Some(Message::ToolResult { text, .. }) = last
            && let Ok(mut results) = results.lock()
        {
            results.push(text.clone());
        }
        Ok(match request.turn {
            1 => Reply::text("").call("shout", json!({"colour": "blue"})),
            2 => Reply::text("").call("write_file", json!({"path": "a.txt", "content": "a"})),
            _ => Reply::text("Done."),
        })
    };
    runtime()?.block_on(async {
        let shout = tool_fn("shout", "Shouts.", |cx, facts: Facts| async move {
            cx.progress("warming up");
            Ok(facts.colour.to_uppercase())
        });
        let role = Role::new("shouter")
            .prompt("Shout.")
            .tools(["shout", "write_file"]);
        let builder = open(&world, model)?
            .tool(shout)
            .role(role)
            .ask("write_file");
        let session = builder.start("calls").await?;
        let child = session.spawn(Child::new("Shout").role("shouter")).await?;
        let (mut said, mut denied) = (Vec::new(), 0);
        let mut events = session.events();
        while let Some(event) = events.next().await {
            match event? {
                Event::Progress { text, .. } => said.push(text),
                Event::Approval(call) => {
                    assert_eq!(call.tool(), "write_file");
                    assert_eq!(call.arguments()["path"], Value::from("a.txt"));
                    call.deny("not here").await?;
                    assert_eq!(call.try_decide(true, None).await?, Sent::AlreadyAnswered);
                    denied += 1;
                }
                Event::AtRest if denied > 0 => break,
                _ => {}
            }
        }
        assert_eq!((said, denied), (vec!["warming up".to_owned()], 1));
        assert!(child.wait().await?.has_failed());
        let heard = heard.lock().map_err(|_| "poisoned")?.clone();
        assert!(heard.iter().any(|text| text.contains("BLUE")), "{heard:?}");
        assert!(
            heard.iter().any(|text| text.contains("not here")),
            "{heard:?}"
        );
        session.finish().await?;
        Ok(())
    })
}

fn a_hook_denies_and_changes_calls() -> Outcome {
    let world = World::plain()?;
    let model = |request: &Request| {
        let write = |path: &str| json!({"path": path, "content": "x\n"});
        Ok(match request.turn {
            1 => Reply::text("").call("write_file", write("secret.txt")),
            2 => Reply::text("").call("write_file", write("draft.txt")),
            3 => Reply::text("").call("write_file", write("other.txt")),
            _ => Reply::text("I wrote it."),
        })
    };
    runtime()?.block_on(async {
        let builder = open(&world, model)?.before_tool(|call| async move {
            let path = call.arguments()["path"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            match path.as_str() {
                "secret.txt" => call.deny("that file is not for you"),
                "draft.txt" => call.change(json!({"path": "final.txt", "content": "y\n"})),
                _ => call.allow(),
            }
        });
        // What another hook makes of a call is asked about again.
        let builder = builder.before_tool(|call| async move {
            match call.arguments()["path"].as_str() {
                Some("other.txt") => call.change(json!({"path": "secret.txt", "content": "x"})),
                _ => call.allow(),
            }
        });
        let session = builder.start("hook").await?;
        let child = session.spawn(Child::new("Write")).await?;
        let outcome = session.merge(&[child]).await?;
        let commit = outcome[0].commit.clone().ok_or("nothing was committed")?;
        let files = world.git(&format!("ls-tree --name-only {commit}"))?;
        assert!(
            files.contains("final.txt") && !files.contains("draft.txt"),
            "{files}"
        );
        assert!(
            !files.contains("secret.txt") && !files.contains("other.txt"),
            "{files}"
        );
        let events = until_rest(&session).await?;
        let refused = events.iter().filter_map(fact).filter(|fact| {
            fact.kind == "tool.finished" && fact.json.to_string().contains("not for you")
        });
        assert_eq!(refused.count(), 2, "{events:#?}");
        session.finish().await?;
        Ok(())
    })
}

fn hooks_look_at_results_ends_and_events() -> Outcome {
    let world = World::plain()?;
    let heard = std::sync::Arc::new(Mutex::new(String::new()));
    let told = std::sync::Arc::clone(&heard);
    let model = move |request: &Request| {
        if let Ok(mut told) = told.lock() {
            told.push_str(&format!("{:?}\n", request.messages.last()));
        }
        writes(request)
    };
    let kinds = std::sync::Arc::new(Mutex::new(Vec::new()));
    let seen = std::sync::Arc::clone(&kinds);
    let ends = std::sync::Arc::new(AtomicU32::new(0));
    let asked = std::sync::Arc::clone(&ends);
    runtime()?.block_on(async {
        let builder = open(&world, model)?
            .after_tool(|result| async move {
                match result.call().tool() {
                    "write_file" => result
                        .refuse("it has no heading")
                        .context("see docs/style.md"),
                    _ => result.accept(),
                }
            })
            .before_finish(move |work| {
                let number = asked.fetch_add(1, Ordering::Relaxed);
                async move {
                    match number {
                        0 => work.send_back("the linter found a long line"),
                        _ => work.accept(),
                    }
                }
            })
            .on_event(move |fact| {
                if let Ok(mut kinds) = kinds.lock() {
                    kinds.push(fact.kind);
                }
            });
        let session = builder.start("looks").await?;
        let child = session.spawn(Child::new("Write")).await?;
        assert!(session.merge(&[child]).await?[0].is_merged());
        session.finish().await?;
        Ok::<(), Failed>(())
    })?;
    let heard = heard.lock().map_err(|_| "poisoned")?.clone();
    for words in [
        "it has no heading",
        "see docs/style.md",
        "found a long line",
    ] {
        assert!(heard.contains(words), "{words}: {heard}");
    }
    assert_eq!(ends.load(Ordering::Relaxed), 2);
    let seen = seen.lock().map_err(|_| "poisoned")?.clone();
    assert_eq!(
        seen.last().map(String::as_str),
        Some("run.finished"),
        "{seen:?}"
    );
    Ok(())
}

fn a_projects_command_needs_consent() -> Outcome {
    let world = World::plain()?;
    world.commit("orchestrate.toml", "verify = \"touch planted\"\n")?;
    runtime()?.block_on(async {
        let refused = open(&world, writes)?.start("planted").await;
        let error = refused.err().ok_or("a planted check is taken")?.to_string();
        assert!(
            error.contains("touch planted") && error.contains("config trust"),
            "{error}"
        );
        // What the program sets itself takes its place.
        let session = open(&world, writes)?.verify("true").start("own").await?;
        let child = session.spawn(Child::new("Write")).await?;
        assert!(session.merge(&[child]).await?[0].is_merged());
        session.finish().await?;
        Ok(())
    })
}

fn what_cannot_be_is_an_error_before_anything_starts() -> Outcome {
    let world = World::plain()?;
    runtime()?.block_on(async {
        let refused = [
            (open(&world, writes)?.budget_usd(1.0), "price"),
            (open(&world, writes)?.budget_usd(-1.0), "budget"),
            (
                open(&world, writes)?.ask("Bash(rm"),
                "parenthesis is not closed",
            ),
            (open(&world, writes)?.ask("Nope(rm:*)"), "Nope"),
            (
                open(&world, writes)?.role(Role::new("Big Name").prompt("x")),
                "Big Name",
            ),
            (open(&world, writes)?.role(Role::new("empty")), "no prompt"),
            (
                open(&world, writes)?.role(Role::new("r").prompt("x").tools(["nope"])),
                "nope",
            ),
        ];
        let home = world.home.path().display().to_string();
        let variables = BTreeMap::from([("HOME".to_owned(), home)]);
        let keyless = Session::open_with(world.repository.path(), variables)?;
        let keyless = keyless.state_dir(world.home.state()).model("openai/gpt-5");
        let error = keyless
            .start("no key")
            .await
            .err()
            .ok_or("there is no key")?;
        assert!(error.to_string().contains("OPENAI_API_KEY"), "{error}");
        for (builder, words) in refused {
            let error = builder.start("no").await.err().ok_or(words)?.to_string();
            assert!(error.contains(words), "{words}: {error}");
        }
        let named = open(&world, writes)?.start("named").await?;
        let other = named.spawn(Child::new("Write").model("openai/gpt-5")).await;
        let error = other.err().ok_or("the model is ignored")?.to_string();
        assert!(error.contains("openai/gpt-5"), "{error}");
        named.finish().await?;
        let (one, other) = (open(&world, writes)?, open(&world, writes)?);
        let (one, other) = tokio::join!(one.start("at once"), other.start("at once"));
        assert!(
            one.is_ok() != other.is_ok(),
            "{:?}",
            (one.err(), other.err())
        );
        let session = open(&world, writes)?
            .ask("Bash(rm:*)")
            .start("rules")
            .await?;
        session.spawn(Child::new("Write")).await?.wait().await?;
        session.finish().await?;
        drop(session);
        let other = open(&world, writes)?.ask("Bash(ls:*)").start("rules").await;
        let error = other
            .err()
            .ok_or("other rules are without effect")?
            .to_string();
        assert!(error.contains("another list of rules"), "{error}");
        let session = open(&world, writes)?.start("lands once").await?;
        let child = session.spawn(Child::new("Write")).await?;
        session.merge(&[child]).await?;
        let landed = session.land(Land::merge()).await?;
        assert_ne!(landed.from, landed.to);
        let late = session.spawn(Child::new("Late")).await;
        assert!(late.is_err());
        Ok(())
    })
}
