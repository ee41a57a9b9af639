//! Whole runs with models over the wire: both protocols, streamed, and everything that can go wrong
//! with a provider.

use libtest_mimic::Failed;
use orchestrate_coordinator::Settings;
use orchestrate_core::TaskId;
use orchestrate_core::TaskState::{Failed as FailedTask, Merged, Pending, Skipped, Waiting};
use orchestrate_core::event::Event;
use orchestrate_core::task::FailureCause;
use serde_json::{Value, json};

use crate::support::{
    Case, ModelServer, Outcome, Played, Reply, Script, World, case, fail, require_words, sandboxed,
};

/// A key that must never be written anywhere.
const KEY: &str = "sk-test-0123456789-never-written-down";

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(one_plan_over_both_protocols),
        case!(parallel_calls_are_all_answered),
        case!(a_rate_limit_is_waited_out),
        case!(a_used_up_rate_is_waited_out),
        case!(a_stream_without_its_end_runs_no_tool),
        case!(a_stream_that_never_ends_fails_the_task),
        case!(what_a_server_teaches_is_learnt_once_for_all_turns),
        case!(a_wrong_key_parks_the_task),
        case!(a_wrong_key_parks_all_tasks_of_its_endpoint_at_once),
        case!(a_used_up_quota_parks_the_task),
        sandboxed!(a_new_key_lets_the_agent_go_on),
        case!(an_outage_is_waited_out_and_costs_no_attempt),
        case!(a_resumed_run_retries_what_an_outage_stopped),
        case!(an_unknown_model_is_the_tasks_failure),
        case!(an_absent_endpoint_is_the_tasks_failure),
        case!(a_missing_key_parks_the_task),
        case!(a_key_in_a_base_url_is_kept_nowhere),
    ]
}

pub(crate) fn reach(settings: &mut Settings, openai: &str, anthropic: &str) {
    let variables = [
        ("OPENAI_BASE_URL", openai),
        ("OPENAI_API_KEY", KEY),
        ("ANTHROPIC_BASE_URL", anthropic),
        ("ANTHROPIC_API_KEY", KEY),
    ];
    settings.environment = variables
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    settings.run.model = None;
}

pub(crate) fn play(world: &World, plan: &str, server: &ModelServer) -> Result<Played, Failed> {
    world.play(plan, &Script::default(), |settings| {
        reach(settings, &server.openai_base(), &server.anthropic_base())
    })
}

/// Returns how many messages of the conversation are the model's own.
pub(super) fn replies_in(body: &Value) -> usize {
    body["messages"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|message| message["role"] == "assistant")
        .count()
}

/// Answers with a call that writes a file named after the request's task, then with the end of the
/// work.
fn write_then_end(body: &Value) -> Reply {
    // The message also lists the other tasks.
    let text = body.to_string();
    let own = text
        .split_once("Task T")
        .map_or("", |(_, rest)| rest.get(..40).unwrap_or(rest));
    let name = ["first", "second", "third"]
        .into_iter()
        .find(|name| own.contains(&format!("write the {name} file")));
    match (replies_in(body), name) {
        (0, Some(name)) => {
            let path = format!("{name}.txt");
            Reply::text("Writing.").call(
                "write_file",
                json!({"path": path, "content": format!("{name}\n")}),
            )
        }
        _ => Reply::text("Done."),
    }
}

/// Requires that the key is in no file of the state: journal, blobs, worktrees.
fn require_key_unwritten(world: &World) -> Outcome {
    let mut folders = vec![world.home.state()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                folders.push(entry.path());
            } else if entry.file_type()?.is_file() {
                let bytes = std::fs::read(entry.path())?;
                assert!(
                    !bytes
                        .windows(KEY.len())
                        .any(|window| window == KEY.as_bytes()),
                    "the key is in {}",
                    entry.path().display()
                );
            }
        }
    }
    Ok(())
}

fn one_plan_over_both_protocols() -> Outcome {
    let (world, server) = (
        World::lived_in()?,
        ModelServer::answering(|request, _| write_then_end(&request.body))?,
    );
    let plan = "- [ ] T1 write the first file (model: openai/test)\n\
                - [ ] T2 write the second file (model: openai/test)\n\
                - [ ] T3 write the third file (model: anthropic/test)\n";
    let played = play(&world, plan, &server)?;
    played.require_merged(&["T1", "T2", "T3"])?;
    for name in ["first", "second", "third"] {
        if world.merged(&played.report, &format!("{name}.txt"))? != name {
            return fail(format!("{name}.txt is not in the merged result"));
        }
    }
    let requests = server.requests();
    let asked = |path: &str| {
        requests
            .iter()
            .filter(|request| request.path == path)
            .count()
    };
    assert_eq!(
        (asked("/v1/chat/completions"), asked("/v1/messages")),
        (4, 2),
        "{:?}",
        requests
            .iter()
            .map(|request| &request.path)
            .collect::<Vec<_>>()
    );
    assert!(
        !requests
            .iter()
            .any(|request| request.body["stream"] != json!(true)),
        "a request does not ask for a stream"
    );
    let keyed = requests.iter().all(|request| {
        request
            .headers
            .get("x-api-key")
            .is_some_and(|key| key == KEY)
            || request
                .headers
                .get("authorization")
                .is_some_and(|key| key == &format!("Bearer {KEY}"))
    });
    assert!(keyed, "a request carries no key");
    require_key_unwritten(&world)
}

fn a_key_in_a_base_url_is_kept_nowhere() -> Outcome {
    let world = World::lived_in()?;
    let played = world.play(
        "- [ ] T1 make (run: true)\n",
        &Script::default(),
        |settings| {
            settings.base_url = Some(format!("http://127.0.0.1:9/v1?api-version=1&key={KEY}"));
        },
    );
    match played {
        Err(error)
            if error
                .message()
                .is_some_and(|text| text.contains("only `api-version`") && !text.contains(KEY)) =>
        {
            require_key_unwritten(&world)?;
        }
        Err(error) => return fail(format!("{:?}", error.message())),
        Ok(_) => return fail("a base URL with a key was taken"),
    }
    // The control: the same URL without the key is taken, and recorded.
    let (url, world) = ("http://127.0.0.1:9/v1?api-version=1", World::lived_in()?);
    let played = world.play(
        "- [ ] T1 make (run: true)\n",
        &Script::default(),
        |settings| {
            settings.base_url = Some(url.to_owned());
        },
    )?;
    let recorded = played
        .coordinator
        .store()
        .state(&played.report.run_id)?
        .settings;
    assert_eq!(recorded.base_url.as_deref(), Some(url), "{recorded:?}");
    Ok(())
}

fn parallel_calls_are_all_answered() -> Outcome {
    for model in ["openai/test", "anthropic/test"] {
        let server = ModelServer::answering(|request, _| match replies_in(&request.body) {
            0 => Reply::text("")
                .call("write_file", json!({"path": "a.txt", "content": "a\n"}))
                .call("write_file", json!({"path": "b.txt", "content": "b\n"}))
                .call("read_file", json!({"path": "kept.txt"})),
            _ => Reply::text("Done."),
        })?;
        let world = World::lived_in()?;
        let played = play(
            &world,
            &format!("- [ ] T1 write the first file (model: {model})\n"),
            &server,
        )?;
        played.require_merged(&["T1"])?;
        if played.tools("T1") != ["write_file", "write_file", "read_file"] {
            return fail(format!("{model}: {:?}", played.tools("T1")));
        }
        let second = server.requests()[1].body.to_string();
        for number in 0..3 {
            // Once in the calls, once in the results.
            assert_eq!(
                second.matches(&format!("call_0_{number}")).count(),
                2,
                "{model}: call {number} is not answered once in {second}"
            );
        }
        // The control: each call did its work, so what answers it is no refusal of several calls at
        // once.
        let written = [
            world.merged(&played.report, "a.txt")?,
            world.merged(&played.report, "b.txt")?,
        ];
        assert_eq!(written, ["a", "b"], "{model}");
    }
    Ok(())
}

fn a_rate_limit_is_waited_out() -> Outcome {
    let waited = waited_after(|| Reply::error(429, "slow down").header("retry-after", "1"))?;
    assert!(waited >= 1_000, "it asked again after {waited} ms");
    Ok(())
}

/// Returns how many milliseconds a run waits after this refusal of its first request.
fn waited_after(refusal: impl Fn() -> Reply + Send + Sync + 'static) -> Result<u64, Failed> {
    let server = ModelServer::answering(move |request, number| match number {
        0 => refusal(),
        _ => write_then_end(&request.body),
    })?;
    let world = World::lived_in()?;
    let played = play(
        &world,
        "- [ ] T1 write the first file (model: openai/test)\n",
        &server,
    )?;
    played.require_merged(&["T1"])?;
    first_wait(&played)
}

/// Returns the time from the first request to the first reply in milliseconds.
fn first_wait(played: &Played) -> Result<u64, Failed> {
    let requested = played.first(|event| matches!(event, Event::ModelRequested { .. }))?;
    let replied = played.first(|event| matches!(event, Event::ModelReplied { .. }))?;
    let at = |seq: u64| {
        played
            .facts
            .iter()
            .find(|fact| fact.seq == seq)
            .map_or(0, |fact| fact.ts_ms)
    };
    Ok(at(replied).saturating_sub(at(requested)))
}

/// A server that sends no Retry-After sends when a rate that is used up is available again.
fn a_used_up_rate_is_waited_out() -> Outcome {
    let waited = waited_after(|| {
        Reply::error(429, "slow down")
            .header("x-ratelimit-remaining-requests", "0")
            .header("x-ratelimit-reset-requests", "2s")
            .header("x-ratelimit-remaining-tokens", "1000")
            .header("x-ratelimit-reset-tokens", "6m0s")
    })?;
    assert!(
        (2_000..60_000).contains(&waited),
        "it asked again after {waited} ms"
    );
    Ok(())
}

/// Returns a reply that calls tools which have effects.
fn deleting() -> Reply {
    Reply::text("Deleting.")
        .call("delete_file", json!({"path": "kept.txt"}))
        .call("delete_file", json!({"path": "README.md"}))
}

fn a_stream_without_its_end_runs_no_tool() -> Outcome {
    for model in ["openai/test", "anthropic/test"] {
        let server = ModelServer::answering(|request, number| match number {
            0 => deleting().cut_off(),
            _ => write_then_end(&request.body),
        })?;
        let world = World::lived_in()?;
        let played = play(
            &world,
            &format!("- [ ] T1 write the first file (model: {model})\n"),
            &server,
        )?;
        played.require_merged(&["T1"])?;
        if played.tools("T1") != ["write_file"] {
            return fail(format!("{model}: {:?}", played.tools("T1")));
        }
    }
    // The control: the same reply with its end runs both tools.
    let server = ModelServer::answering(|request, number| match number {
        0 => deleting(),
        _ => write_then_end(&request.body),
    })?;
    let world = World::lived_in()?;
    let played = play(
        &world,
        "- [ ] T1 write the first file (model: openai/test)\n",
        &server,
    )?;
    played.require_merged(&["T1"])?;
    let files = world.merged_files(&played.report)?;
    assert!(!files.contains("kept.txt"), "{files}");
    assert!(!files.contains("README.md"), "{files}");
    Ok(())
}

fn a_stream_that_never_ends_fails_the_task() -> Outcome {
    let server = ModelServer::answering(|_, _| {
        Reply::text("Deleting.")
            .call("delete_file", json!({"path": "kept.txt"}))
            .cut_off()
    })?;
    let world = World::lived_in()?;
    let played = play(
        &world,
        "- [ ] T1 write the first file (model: openai/test)\n",
        &server,
    )?;
    played.require(1, &[("T1", FailedTask)])?;
    played.require_failure("T1", FailureCause::Model, "complete reply")?;
    assert!(played.tools("T1").is_empty(), "{played}");
    Ok(())
}

fn a_wrong_key_parks_the_task() -> Outcome {
    let server = ModelServer::answering(|request, _| {
        if request.body["model"] == json!("wrong") {
            Reply::error(401, &format!("incorrect key {KEY}"))
        } else {
            write_then_end(&request.body)
        }
    })?;
    let world = World::lived_in()?;
    let plan = "- [ ] T1 write the first file (model: openai/wrong)\n\
                - [ ] T2 write the second file (model: anthropic/test)\n";
    let played = play(&world, plan, &server)?;
    // The control: the task whose endpoint takes the same key is done.
    played.require(3, &[("T1", Waiting), ("T2", Merged)])?;
    require_rejecting(&played, &["T1"], "check the key in OPENAI_API_KEY")?;
    require_key_unwritten(&world)
}

/// Requires that these tasks, and no others, wait for one endpoint, which rejects them with this
/// text.
fn require_rejecting(played: &Played, tasks: &[&str], text: &str) -> Outcome {
    match played.report.rejecting_endpoints.as_slice() {
        [one]
            if one
                .tasks
                .iter()
                .map(TaskId::as_str)
                .eq(tasks.iter().copied())
                && one.error.contains(text) =>
        {
            Ok(())
        }
        other => fail(format!("{other:?}\n{}", played.story())),
    }
}

/// Twenty agents that each ask with a key that was just rejected would be nineteen too many.
fn a_wrong_key_parks_all_tasks_of_its_endpoint_at_once() -> Outcome {
    let server = ModelServer::answering(|request, _| {
        if request.path.contains("chat") {
            Reply::error(401, "incorrect key")
        } else {
            write_then_end(&request.body)
        }
    })?;
    let world = World::lived_in()?;
    let plan = "---\nparallel: sequential\n---\n\
                - [ ] T1 write the first file (model: openai/test)\n\
                - [ ] T2 write the second file (model: openai/other)\n\
                - [ ] T3 write the third file (model: anthropic/test)\n";
    let played = play(&world, plan, &server)?;
    played.require(3, &[("T1", Waiting), ("T2", Waiting), ("T3", Merged)])?;
    require_rejecting(&played, &["T1", "T2"], "authenticate for openai/")?;
    let asked = server
        .requests()
        .iter()
        .filter(|request| request.path.contains("chat"))
        .count();
    assert_eq!(asked, 1, "{asked} requests with the rejected key");
    Ok(())
}

/// Both words that providers have for it: a status of its own, and a code that looks like a rate
/// limit.
fn a_used_up_quota_parks_the_task() -> Outcome {
    for (status, error_type) in [(402, "test_error"), (429, "insufficient_quota")] {
        let server = ModelServer::answering(move |request, number| match number {
            0 => Reply::error(status, "pay first").of_type(error_type),
            _ => write_then_end(&request.body),
        })?;
        let world = World::lived_in()?;
        let plan = "- [ ] T1 write the first file (model: openai/test)\n\
                    - [ ] T2 write the second file (model: openai/test) (depends: T1)\n";
        let reached = |settings: &mut Settings| {
            reach(settings, &server.openai_base(), &server.anthropic_base())
        };
        let played = world.play(plan, &Script::default(), reached)?;
        played.require(3, &[("T1", Waiting), ("T2", Pending)])?;
        require_rejecting(&played, &["T1"], "has no credit or has reached a limit")?;
        let run = played.report.run_id.clone();
        drop(played);
        let resumed = world.resume(&run, &Script::default(), reached)?;
        resumed.require_merged(&["T1", "T2"])?;
        assert!(
            resumed.report.tasks.iter().all(|task| task.attempt == 1),
            "{resumed}"
        );
    }
    Ok(())
}

/// The old key is rejected once its agent has begun to work; its work and its attempt stay.
fn a_new_key_lets_the_agent_go_on() -> Outcome {
    let server = ModelServer::answering(|request, _| {
        let is_old = request
            .headers
            .get("authorization")
            .is_some_and(|key| key == "Bearer old");
        if is_old && replies_in(&request.body) > 0 {
            return Reply::error(401, "this key has expired");
        }
        write_then_end(&request.body)
    })?;
    let world = World::lived_in()?;
    let plan = "- [ ] T1 write the first file (model: openai/test)\n\
                - [ ] T2 copy it (run: cp first.txt second.txt) (depends: T1)\n\
                - [ ] T3 make it (run: touch made)\n";
    world.repository.write("plan.md", plan)?;
    let base = server.openai_base();
    let types = |arguments: &[&str], key: &str, code: i32| {
        let typed = world
            .orchestrate(arguments)
            .env("OPENAI_API_KEY", key)
            .env("OPENAI_BASE_URL", &base);
        typed.run()?.exits(code)
    };
    let ran = types(&["run", "plan.md", "--no-write-back"], "old", 3)?;
    let named = format!(
        "endpoint {base} rejects the key or the account: 1 task waits for another one (T1): failed to"
    );
    let words = [
        "T1    waiting",
        "T2    pending",
        "T3    merged",
        named.as_str(),
        "this key has expired",
    ];
    require_words(&ran.stdout, &words)?;
    require_words(
        &ran.stdout,
        &[
            "check the key in OPENAI_API_KEY",
            "next:\n  orchestrate resume r-",
        ],
    )?;
    require_words(
        &ran.stderr,
        &["T1: waits until the run is resumed: failed to authenticate for openai/test"],
    )?;
    let status = types(&["status"], "old", 0)?.stdout;
    require_words(&status, &[&named, "next:\n  orchestrate resume r-"])?;
    let told = types(&["status", "--json"], "old", 0)?.json()?;
    let expected = json!([{"endpoint": base, "tasks": ["T1"], "error": told["rejecting_endpoints"][0]["error"]}]);
    assert!(
        told["rejecting_endpoints"] == expected
            && told["tasks"][0]["liveness"] == json!("waiting-human"),
        "{told}"
    );
    // The same key is rejected again; nothing is lost by that.
    types(&["resume"], "old", 3)?;
    let asked = server.requests().len();
    let resumed = types(&["resume", "--output-format", "json"], "new", 0)?.json()?;
    let found = (
        asked,
        server.requests().len(),
        &resumed["tasks"][0]["attempt"],
        &resumed["tasks"][0]["turns"],
    );
    assert_eq!(found, (3, 4, &json!(1), &json!(2)));
    Ok(())
}

fn an_outage_is_waited_out_and_costs_no_attempt() -> Outcome {
    let server = ModelServer::answering(|request, number| match number {
        0 => Reply::error(503, "overloaded").header("retry-after", "5"),
        _ => write_then_end(&request.body),
    })?;
    let world = World::lived_in()?;
    // The wait is longer than the attempt may take, and than the run may.
    let plan = "- [ ] T1 write the first file (model: openai/test) (timeout: 4s)\n";
    let played = world.play(plan, &Script::default(), |settings| {
        reach(settings, &server.openai_base(), &server.anthropic_base());
        settings.run.timeout_ms = Some(4_000);
    })?;
    played.require_merged(&["T1"])?;
    let (worked, waited) = (played.report.duration_ms, played.report.waited_ms);
    assert!(waited >= 4_000, "{worked} ms of work, waited {waited} ms");
    assert!(worked <= 4_000, "{worked} ms of work, waited {waited} ms");
    let said = played.pick(|event| match event {
        Event::ModelWaiting { error, .. } => Some(error.clone()),
        _ => None,
    });
    let attempts = played
        .pick(|event| matches!(event, Event::AgentSpawned { .. }).then_some(()))
        .len();
    match said.as_slice() {
        [error] if error.contains("HTTP 503") && attempts == 1 => Ok(()),
        other => fail(format!("{attempts} attempts, waiting for {other:?}")),
    }
}

fn a_resumed_run_retries_what_an_outage_stopped() -> Outcome {
    // The patience of a millisecond ends with the second request.
    let server = ModelServer::answering(|request, number| match number {
        0 | 1 => Reply::error(503, "overloaded"),
        _ => write_then_end(&request.body),
    })?;
    let world = World::lived_in()?;
    let plan = "- [ ] T1 write the first file (model: openai/test)\n\
                - [ ] T2 write the second file (model: openai/test) (depends: T1)\n";
    let hasty = |settings: &mut Settings| {
        reach(settings, &server.openai_base(), &server.anthropic_base());
        settings.run.outage_patience_ms = 1;
    };
    let played = world.play(plan, &Script::default(), hasty)?;
    played.require(1, &[("T1", FailedTask), ("T2", Skipped)])?;
    played.require_failure("T1", FailureCause::Endpoint, "overloaded")?;
    let run = played.report.run_id.clone();
    drop(played);
    world
        .resume(&run, &Script::default(), hasty)?
        .require_merged(&["T1", "T2"])
}

fn an_unknown_model_is_the_tasks_failure() -> Outcome {
    let server = ModelServer::answering(|_, _| Reply::error(404, "no such model"))?;
    let world = World::lived_in()?;
    let played = play(
        &world,
        "- [ ] T1 write the first file (model: openai/absent)\n",
        &server,
    )?;
    played.require(1, &[("T1", FailedTask)])?;
    played.require_failure("T1", FailureCause::Model, "find the model openai/absent")
}

fn an_absent_endpoint_is_the_tasks_failure() -> Outcome {
    // A server that has just stopped: nothing listens on its port.
    let base = ModelServer::scripted(Vec::new())?.openai_base();
    let world = World::lived_in()?;
    let plan = "- [ ] T1 write the first file (model: openai/test)\n";
    let played = world.play(plan, &Script::default(), |settings| {
        reach(settings, &base, &base);
        settings.run.outage_patience_ms = 1;
    })?;
    played.require(1, &[("T1", FailedTask)])?;
    played.require_failure(
        "T1",
        FailureCause::Endpoint,
        "set OPENAI_BASE_URL to its address",
    )
}

fn a_missing_key_parks_the_task() -> Outcome {
    let world = World::lived_in()?;
    let plan = "- [ ] T1 write the first file (model: anthropic/test)\n- [ ] T2 makes a file (run: echo 1 > made.txt)\n";
    let played = world.play(plan, &Script::default(), |settings| {
        settings.run.model = None
    })?;
    played.require(3, &[("T1", Waiting), ("T2", Merged)])?;
    require_rejecting(&played, &["T1"], "ANTHROPIC_API_KEY")
}

/// A server that requires the newer name for the limit of a reply refuses the first request only;
/// the later ones use that name, whichever task sends them.
fn what_a_server_teaches_is_learnt_once_for_all_turns() -> Outcome {
    let (world, server) = (
        World::lived_in()?,
        ModelServer::answering(|request, _| match request.body.get("max_tokens") {
            Some(_) => Reply::error(
                400,
                "Unsupported parameter: use 'max_completion_tokens' instead.",
            ),
            None => write_then_end(&request.body),
        })?,
    );
    let plan = "- [ ] T1 write the first file (model: openai/test)\n\
                - [ ] T2 write the second file (model: openai/test) (depends: T1)\n";
    let played = play(&world, plan, &server)?;
    played.require_merged(&["T1", "T2"])?;
    let old: Vec<bool> = server
        .requests()
        .iter()
        .map(|request| request.body.get("max_tokens").is_some())
        .collect();
    assert_eq!(old, [true, false, false, false, false]);
    Ok(())
}
