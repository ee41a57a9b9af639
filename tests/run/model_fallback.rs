//! Fall-back models: another model takes over while the endpoint of an agent's model is out.

use std::sync::atomic::{AtomicUsize, Ordering};

use libtest_mimic::Failed;
use orchestrate_coordinator::Settings;
use orchestrate_core::TaskState::{Failed as FailedTask, Waiting};
use orchestrate_core::event::Event;
use orchestrate_core::task::FailureCause;
use serde_json::json;

use super::models::{reach, replies_in};
use crate::support::{Case, ModelServer, Outcome, Played, Reply, Script, World, case, fail};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(another_model_takes_over_in_an_outage),
        case!(another_model_takes_over_if_the_key_is_rejected),
        case!(an_agent_waits_if_no_model_takes_its_key),
        case!(a_role_names_its_own_fall_backs),
        case!(a_smaller_context_is_compacted),
        case!(a_fall_back_that_is_too_small_is_passed_over),
        case!(the_first_that_answers_is_waited_for),
        case!(the_task_fails_if_no_model_answers),
        case!(a_resumed_agent_keeps_its_fall_back),
        case!(a_later_attempt_starts_with_the_first_model),
        case!(a_fall_back_without_a_key_is_refused_at_the_start),
    ]
}

const PLAN: &str = "- [ ] T1 write the first file (model: openai/test)\n";

fn is_chat(path: &str) -> bool {
    path.contains("chat")
}

/// An outage that lasts long enough at once.
fn overloaded() -> Reply {
    Reply::error(503, "overloaded").header("retry-after", "5")
}

fn write_then_end(body: &serde_json::Value) -> Reply {
    match replies_in(body) {
        0 => Reply::text("Writing.").call(
            "write_file",
            json!({"path": "first.txt", "content": "first\n"}),
        ),
        _ => Reply::text("Done."),
    }
}

/// Starts a server that refuses Chat Completions, and answers Messages.
fn without_chat(
    refusal: impl Fn() -> Reply + Send + Sync + 'static,
) -> Result<ModelServer, Failed> {
    ModelServer::answering(move |request, _| {
        if is_chat(&request.path) {
            refusal()
        } else {
            write_then_end(&request.body)
        }
    })
}

fn settings_of(server: &ModelServer) -> impl Fn(&mut Settings) {
    let (openai, anthropic) = (server.openai_base(), server.anthropic_base());
    move |settings| {
        reach(settings, &openai, &anthropic);
        settings.run.default_fallback_models = vec!["anthropic/test".to_owned()];
    }
}

/// Returns who took over from whom, and in which turn.
fn take_overs(played: &Played) -> Vec<(&str, &str, u32)> {
    played.pick(|event| match event {
        Event::ModelSwitched { from, to, turn, .. } => Some((from.as_str(), to.as_str(), *turn)),
        _ => None,
    })
}

fn waits(played: &Played) -> usize {
    played
        .pick(|event| matches!(event, Event::ModelWaiting { .. }).then_some(()))
        .len()
}

fn asked(server: &ModelServer) -> Vec<&'static str> {
    server
        .requests()
        .iter()
        .map(|request| {
            if is_chat(&request.path) {
                "chat"
            } else {
                "messages"
            }
        })
        .collect()
}

const TO_SECOND: (&str, &str, u32) = ("openai/test", "anthropic/test", 1);

fn another_model_takes_over_in_an_outage() -> Outcome {
    let (world, server) = (World::lived_in()?, without_chat(overloaded)?);
    let played = world.play(PLAN, &Script::default(), settings_of(&server))?;
    played.require_merged(&["T1"])?;
    let models = played
        .requests()?
        .into_iter()
        .map(|request| request.model)
        .collect::<Vec<_>>();
    let told = &played.report.tasks[0];
    let told = (
        told.model.as_deref(),
        told.take_over
            .as_ref()
            .map(|by| by.error.contains("HTTP 503")),
    );
    let found = (take_overs(&played), waits(&played), asked(&server), told);
    // It answers the first request, and gets the second one, too.
    assert!(
        found
            == (
                vec![TO_SECOND],
                0,
                vec!["chat", "messages", "messages"],
                (Some("anthropic/test"), Some(true))
            )
            && models == ["openai/test", "anthropic/test", "anthropic/test"],
        "{found:?} {models:?}\n{played}"
    );
    Ok(())
}

fn another_model_takes_over_if_the_key_is_rejected() -> Outcome {
    let (world, server) = (
        World::lived_in()?,
        without_chat(|| Reply::error(401, "incorrect key"))?,
    );
    let plan = "---\nparallel: sequential\n---\n- [ ] T1 write it (model: openai/test)\n\
                - [ ] T2 write it again (model: openai/other)\n";
    let played = world.play(plan, &Script::default(), |settings| {
        settings_of(&server)(settings);
        settings.run.verify = None;
    })?;
    let expected = vec![TO_SECOND, ("openai/other", "anthropic/test", 1)];
    // The second agent does not ask with the key that was just rejected.
    let chats = asked(&server)
        .into_iter()
        .filter(|what| *what == "chat")
        .count();
    assert!(take_overs(&played) == expected && chats == 1, "{played}");
    Ok(())
}

fn an_agent_waits_if_no_model_takes_its_key() -> Outcome {
    let refused = AtomicUsize::new(0);
    let server =
        ModelServer::answering(
            move |request, _| match refused.fetch_add(1, Ordering::SeqCst) {
                0 => Reply::error(401, "incorrect key"),
                1 => Reply::error(402, "no credit"),
                _ => write_then_end(&request.body),
            },
        )?;
    let world = World::lived_in()?;
    let played = world.play(PLAN, &Script::default(), settings_of(&server))?;
    played.require(3, &[("T1", Waiting)])?;
    let named = &played.report.rejecting_endpoints;
    // The agent's own model comes first.
    assert!(
        named.len() == 1
            && named[0].endpoint == server.openai_base()
            && take_overs(&played) == [TO_SECOND],
        "{named:?}\n{played}"
    );
    let run = played.report.run_id.clone();
    drop(played);
    let resumed = world.resume(&run, &Script::default(), settings_of(&server))?;
    resumed.require_merged(&["T1"])?;
    let found = asked(&server);
    assert_eq!(found, ["chat", "messages", "messages", "messages"]);
    Ok(())
}

fn a_role_names_its_own_fall_backs() -> Outcome {
    let (world, server) = (World::plain()?, without_chat(overloaded)?);
    let role = "---\nname: implementer\ndescription: Writes.\nmodel: openai/test\nfallback: [openai/second, anthropic/own]\n---\nYou write.\n";
    world.commit(".orchestrate/agents/implementer.md", role)?;
    let played = world.play(
        "- [ ] T1 write it\n",
        &Script::default(),
        settings_of(&server),
    )?;
    played.require_merged(&["T1"])?;
    let expected = [
        ("openai/test", "openai/second", 1),
        ("openai/second", "anthropic/own", 1),
    ];
    assert_eq!(take_overs(&played), expected, "{played}");
    Ok(())
}

/// Reads until there is more in the context than the fall-back takes.
fn reads_until(turns: usize) -> Result<ModelServer, Failed> {
    ModelServer::answering(move |request, _| {
        let turn = replies_in(&request.body);
        match (is_chat(&request.path), turn) {
            (true, turn) if turn < turns => Reply::text("Reading.").call(
                "read_file",
                json!({"path": "long.txt", "offset": turn * 100 + 1, "limit": 100}),
            ),
            (true, _) => overloaded(),
            (false, _) if request.body.to_string().contains("second.txt") => Reply::text("Done."),
            (false, _) => Reply::text("Writing.").call(
                "write_file",
                json!({"path": "second.txt", "content": "2\n"}),
            ),
        }
    })
}

fn with_limit(server: &ModelServer, tokens: u64) -> impl Fn(&mut Settings) {
    let reach = settings_of(server);
    move |settings| {
        reach(settings);
        settings.run.context_limits = [("anthropic/test".to_owned(), tokens)].into();
    }
}

fn with_long_file() -> Result<World, Failed> {
    let world = World::plain()?;
    let lines: String = (0..600)
        .map(|line| format!("line {line} of a file that is longer than others\n"))
        .collect();
    world.commit("long.txt", &lines)?;
    Ok(world)
}

fn a_smaller_context_is_compacted() -> Outcome {
    let (world, server) = (with_long_file()?, reads_until(4)?);
    let played = world.play(PLAN, &Script::default(), with_limit(&server, 6_000))?;
    played.require_merged(&["T1"])?;
    let switched = played.first(|event| matches!(event, Event::ModelSwitched { turn: 5, .. }))?;
    let compacted = played.first(|event| matches!(event, Event::ContextCompacted { .. }))?;
    assert!(compacted > switched, "{played}");
    Ok(())
}

fn a_fall_back_that_is_too_small_is_passed_over() -> Outcome {
    let server = ModelServer::answering(|request, number| match number {
        0 => overloaded(),
        _ => write_then_end(&request.body),
    })?;
    let world = World::lived_in()?;
    let played = world.play(PLAN, &Script::default(), with_limit(&server, 100))?;
    played.require_merged(&["T1"])?;
    let expected = [TO_SECOND, ("anthropic/test", "openai/test", 1)];
    let chats = asked(&server);
    assert_eq!(take_overs(&played), expected, "{played}");
    assert_eq!(chats, ["chat"; 3], "{played}");
    Ok(())
}

fn the_first_that_answers_is_waited_for() -> Outcome {
    let server = ModelServer::answering(|request, number| match number {
        0 => Reply::error(503, "overloaded").header("retry-after", "60"),
        1 => overloaded(),
        _ => write_then_end(&request.body),
    })?;
    let world = World::lived_in()?;
    // The wait is longer than the attempt may take.
    let plan = "- [ ] T1 write the first file (model: openai/test) (timeout: 4s)\n";
    let played = world.play(plan, &Script::default(), settings_of(&server))?;
    played.require_merged(&["T1"])?;
    let found = (take_overs(&played), waits(&played), asked(&server));
    assert_eq!(
        found,
        (
            vec![TO_SECOND],
            1,
            vec!["chat", "messages", "messages", "messages"]
        ),
        "{played}"
    );
    Ok(())
}

fn the_task_fails_if_no_model_answers() -> Outcome {
    let server = ModelServer::answering(|_, _| Reply::error(503, "overloaded"))?;
    let world = World::lived_in()?;
    let played = world.play(PLAN, &Script::default(), |settings| {
        settings_of(&server)(settings);
        settings.run.outage_patience_ms = 1;
    })?;
    played.require(1, &[("T1", FailedTask)])?;
    played.require_failure("T1", FailureCause::Endpoint, "anthropic/test")?;
    assert_eq!(take_overs(&played), [TO_SECOND], "{played}");
    Ok(())
}

/// Prepares to type a command for a run whose models this server answers.
fn types(
    world: &World,
    server: &ModelServer,
    arguments: &[&str],
    code: i32,
) -> Result<crate::support::Ran, Failed> {
    let typed = world
        .orchestrate(arguments)
        .env("OPENAI_API_KEY", "k")
        .env("OPENAI_BASE_URL", server.openai_base());
    let typed = typed
        .env("ANTHROPIC_API_KEY", "k")
        .env("ANTHROPIC_BASE_URL", server.anthropic_base());
    typed.env("ORCHESTRATE_ASK", "park").run()?.exits(code)
}

fn a_resumed_agent_keeps_its_fall_back() -> Outcome {
    let (world, server) = (World::lived_in()?, without_chat(overloaded)?);
    world.repository.write("plan.md", PLAN)?;
    let run = [
        "run",
        "plan.md",
        "--fallback-models",
        "anthropic/test",
        "--ask",
        "write_file",
        "--no-write-back",
    ];
    let ran = types(&world, &server, &run, 3)?;
    let line = "T1: anthropic/test takes over from openai/test in turn 1: failed to get an answer from openai/test";
    assert!(ran.stderr.contains(line), "{}", ran.stderr);
    let status = types(&world, &server, &["status", "--json"], 0)?.json()?;
    let told = types(&world, &server, &["status"], 0)?.stdout;
    if !told.contains(
        "T1: anthropic/test took over from openai/test in turn 1: failed to get an answer",
    ) {
        return fail(told);
    }
    let [call, hash] = ["call", "hash"].map(|key| {
        status["approvals"][0][key]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    });
    types(
        &world,
        &server,
        &["approve", &call, "--hash", &hash, "--follow"],
        0,
    )?;
    let found = asked(&server);
    assert_eq!(found, ["chat", "messages", "messages"]);
    Ok(())
}

fn a_later_attempt_starts_with_the_first_model() -> Outcome {
    let server = ModelServer::answering(|request, number| match number {
        0 => overloaded(),
        _ => write_then_end(&request.body),
    })?;
    let world = World::lived_in()?;
    world.repository.write("plan.md", PLAN)?;
    let run = [
        "run",
        "plan.md",
        "--fallback-models",
        "anthropic/test",
        "--merge",
        "review",
        "--no-write-back",
    ];
    types(&world, &server, &run, 3)?;
    types(
        &world,
        &server,
        &["reject", "T1", "-m", "Write more.", "--follow"],
        1,
    )?;
    let found = asked(&server);
    assert!(
        found.starts_with(&["chat", "messages", "messages", "chat"]),
        "{found:?}"
    );
    Ok(())
}

fn a_fall_back_without_a_key_is_refused_at_the_start() -> Outcome {
    let world = World::lived_in()?;
    world.repository.write("plan.md", PLAN)?;
    let arguments = ["run", "plan.md", "--fallback-models", "gemini/test"];
    // The plan chooses a provider that the user allows.
    let run = world
        .orchestrate(&arguments)
        .env("OPENAI_API_KEY", "k")
        .env("ORCHESTRATE_ALLOWED_PROVIDERS", "openai");
    let ran = run.run()?.exits(2)?;
    assert!(ran.stderr.contains("GEMINI_API_KEY"), "{}", ran.stderr);
    Ok(())
}
