//! Calls that a user decides about, in whole runs: parked, answered from elsewhere, carried out or
//! refused.

use std::sync::{Arc, Barrier};
use std::time::Duration;

use libtest_mimic::Failed;
use orchestrate_coordinator::Settings;
use orchestrate_core::CallHash;
use orchestrate_core::TaskState::{Failed as FailedTask, Merged, Waiting};
use orchestrate_core::event::{Event, ToolOutcome};
use orchestrate_core::policy::{RuleDecision, RuleText};
use orchestrate_core::run::request::{Request, RequestRefused};
use serde_json::json;

use crate::support::{
    Case, Need, Outcome, Played, Rule, Script, World, after, at, case, done, fail, on, plan_input,
    put, reads, runtime, says, shell, write,
};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!(an_approved_call_runs_once_it_is_resumed),
        case!(an_answer_that_is_carried_out_as_the_run_ends_is_obeyed),
        case!(a_rejected_call_is_told_to_the_model),
        case!(a_live_run_takes_the_answer),
        case!(each_of_two_like_calls_is_asked_about),
        case!(a_pause_changes_no_result),
        case!(a_decided_call_is_not_decided_again),
        case!(a_program_without_a_terminal_parks_if_it_is_told_to),
        case!(what_is_approved_is_what_was_shown),
        case!(no_word_of_a_call_is_kept_from_whoever_approves_it),
        case!(what_nobody_is_shown_is_not_approved),
        case!(a_terminal_shows_the_whole_call_and_asks).needs(Need::TERMINAL),
        case!(work_that_nobody_has_looked_at_is_asked_about).needs(Need::TERMINAL),
        case!(a_denied_call_that_the_agent_gets_over_fails_nothing),
        case!(asking_nobody_fails_with_a_code_of_its_own),
    ]
}

/// How long an answer may take on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(120);

const PLAN: &str = "- [ ] T1 publish\n- [ ] T2 write\n";

fn ask(settings: &mut Settings, parks: bool) {
    let rule = "run_shell_command(touch*)".to_owned();
    settings.run.rules = vec![RuleText::new(RuleDecision::Ask, rule, "--ask")];
    settings.run.ask_parks = parks;
}

fn script() -> Script {
    Script::default()
        .rule(shell(on("T1", 1), "touch published.txt"))
        .rule(put(after("T1", "not today"), "no.txt", "no\n"))
        .rule(done("T1"))
        .writes("T2", "two.txt", "2\n")
}

fn open_call(played: &Played) -> Result<CallHash, Failed> {
    let state = played.coordinator.store().state(&played.report.run_id)?;
    let open: Vec<_> = state
        .open_approvals()
        .map(|(call, _)| call.clone())
        .collect();
    match open.as_slice() {
        [call] => Ok(call.clone()),
        other => fail(format!("{} open calls\n{}", other.len(), played.story())),
    }
}

fn parked(world: &World) -> Result<(Played, CallHash), Failed> {
    let played = world.play(PLAN, &script(), |settings| ask(settings, true))?;
    played.require(3, &[("T1", Waiting), ("T2", Merged)])?;
    let call = open_call(&played)?;
    Ok((played, call))
}

/// Queues an answer as another terminal does, while no coordinator is alive, and resumes the run.
fn answer(world: &World, allowed: bool, message: Option<&str>) -> Result<Played, Failed> {
    let (played, call) = parked(world)?;
    let (run, store) = (
        played.report.run_id.clone(),
        played.coordinator.store().clone(),
    );
    drop(played);
    let sent = store.send(
        &run,
        &Request::Decide {
            call,
            allowed,
            message: message.map(str::to_owned),
        },
    )?;
    let resumed = world.resume(&run, &script(), |settings| ask(settings, true))?;
    match store.answer(sent)? {
        Some(Ok(_)) => Ok(resumed),
        other => fail(format!("{other:?}\n{}", resumed.story())),
    }
}

fn an_approved_call_runs_once_it_is_resumed() -> Outcome {
    let world = World::lived_in()?;
    let resumed = answer(&world, true, None)?;
    resumed.require_merged(&["T1", "T2"])?;
    let commands = resumed.pick(|event| match event {
        Event::ToolStarted {
            task, arguments, ..
        } if task.as_str() == "T1" => Some(arguments["command"].clone()),
        _ => None,
    });
    assert_eq!(commands, [json!("touch published.txt")]);
    let rules = resumed.pick(|event| match event {
        Event::ApprovalRequested { rule, .. } => Some(rule.as_str()),
        _ => None,
    });
    let is_start =
        |event: &Event| matches!(event, Event::ToolStarted { task, .. } if task.as_str() == "T1");
    let decided = resumed.first(|event| matches!(event, Event::ApprovalDecided { .. }))?;
    assert_eq!(rules, ["ask:run_shell_command(touch*)"], "{resumed}");
    assert!(resumed.first(is_start)? >= decided, "{resumed}");
    // The reply that asked for it is not requested again.
    let turns = resumed.report.tasks[0].turns;
    assert!(
        turns == 2 && world.merged(&resumed.report, "published.txt").is_ok(),
        "{resumed}"
    );
    Ok(())
}

/// The run only waits, so it is about to end while the answer is carried out. It has to continue,
/// whatever it looked up before.
///
/// All blocking work shares one thread here. As soon as the run has looked for the answer once,
/// that thread waits for the answer to be recorded, so the run's next lookup comes after that,
/// whatever the timing is.
fn an_answer_that_is_carried_out_as_the_run_ends_is_obeyed() -> Outcome {
    let world = World::lived_in()?;
    let (played, call) = parked(&world)?;
    let (run, store) = (
        played.report.run_id.clone(),
        played.coordinator.store().clone(),
    );
    drop(played);
    let sent = store.send(
        &run,
        &Request::Decide {
            call,
            allowed: true,
            message: None,
        },
    )?;
    let coordinator = world.coordinator(&script(), |settings| ask(settings, true))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(1)
        .enable_all()
        .build()?;
    let report = runtime.block_on(async {
        let resumed = coordinator.resume(&run).await?;
        let begin = Arc::new(Barrier::new(2));
        let held = Arc::clone(&begin);
        let holding = tokio::task::spawn_blocking(move || held.wait());
        tokio::task::yield_now().await;
        let answered = tokio::task::spawn_blocking(move || store.wait_for_answer(sent, PATIENCE));
        begin.wait();
        holding.await?;
        let report = resumed.wait().await?;
        match answered.await?? {
            Some(Ok(_)) => Ok::<_, Failed>(report),
            other => fail(format!("{other:?}")),
        }
    })?;
    Played::of(coordinator, report)?.require_merged(&["T1", "T2"])
}

fn a_rejected_call_is_told_to_the_model() -> Outcome {
    let world = World::lived_in()?;
    let resumed = answer(&world, false, Some("not today"))?;
    resumed.require_merged(&["T1", "T2"])?;
    let refused = resumed.pick(|event| match event {
        Event::ToolFinished { task, outcome, .. } if task.as_str() == "T1" => Some(*outcome),
        _ => None,
    });
    assert_eq!(refused.first(), Some(&ToolOutcome::Denied), "{resumed}");
    assert!(
        world.merged(&resumed.report, "published.txt").is_err(),
        "{resumed}"
    );
    assert_eq!(world.merged(&resumed.report, "no.txt")?, "no", "{resumed}");
    Ok(())
}

fn a_live_run_takes_the_answer() -> Outcome {
    let world = World::lived_in()?;
    // T2 keeps working until the call has been answered, so the run is alive when the answer
    // arrives.
    let script = (1..=200).fold(script_of_t1(), |script, turn| {
        let look = json!({"command": format!("sleep 0.02; echo look {turn}")});
        script.rule(on("T2", turn).call("run_shell_command", &look))
    });
    let coordinator = world.coordinator(&script, |settings| {
        ask(settings, true);
        settings.run.max_turns = 300;
    })?;
    let report = runtime()?.block_on(async {
        let run = coordinator.start(plan_input(PLAN)?).await?;
        let mut state = run.watch();
        let asks = state
            .wait_for(|state| state.open_approvals().next().is_some())
            .await?;
        let call = asks.open_approvals().map(|(call, _)| call.clone()).next();
        drop(asks);
        let Some(call) = call else {
            return fail("no call asks");
        };
        run.store().send(
            run.id(),
            &Request::Decide {
                call,
                allowed: true,
                message: None,
            },
        )?;
        Ok::<_, Failed>(run.wait().await?)
    })?;
    Played::of(coordinator, report)?.require_merged(&["T1", "T2"])
}

/// Two identical calls of one turn are two calls: each has its own answer.
fn each_of_two_like_calls_is_asked_about() -> Outcome {
    let world = World::lived_in()?;
    let touch = json!({"command": "touch published.txt"});
    let twice = on("T1", 1)
        .call("run_shell_command", &touch)
        .call("run_shell_command", &touch);
    let script = Script::default().rule(twice).rule(done("T1"));
    let parks = |settings: &mut Settings| ask(settings, true);
    let first = world.play("- [ ] T1 publish\n", &script, parks)?;
    let run = first.report.run_id.clone();
    let (one, store) = (open_call(&first)?, first.coordinator.store().clone());
    drop(first);
    store.send(
        &run,
        &Request::Decide {
            call: one.clone(),
            allowed: true,
            message: None,
        },
    )?;
    let second = world.resume(&run, &script, parks)?;
    second.require(3, &[("T1", Waiting)])?;
    let other = open_call(&second)?;
    drop(second);
    store.send(
        &run,
        &Request::Decide {
            call: other.clone(),
            allowed: false,
            message: None,
        },
    )?;
    let ended = world.resume(&run, &script, parks)?;
    ended.require_merged(&["T1"])?;
    let outcomes = ended.pick(|event| match event {
        Event::ToolFinished { outcome, .. } => Some(*outcome),
        _ => None,
    });
    let each = outcomes == [ToolOutcome::Ok, ToolOutcome::Denied];
    // The control: the one that was allowed runs, and its file is in the result.
    world.merged(&ended.report, "published.txt")?;
    assert!(each && one != other, "{ended}");
    Ok(())
}

/// How much a call may show depends on the calls of its turn, not on how many of them came before a
/// pause.
fn a_pause_changes_no_result() -> Outcome {
    let world = World::lived_in()?;
    let long: String = (1000..3000)
        .map(|line| format!("line {line} of a long file\n"))
        .collect();
    for name in ["a.txt", "b.txt"] {
        world.repository.write(name, &long)?;
    }
    world.repository.commit_all("Add long files")?;
    let turn = reads(
        shell(reads(on("T1", 1), "a.txt"), "touch published.txt"),
        "b.txt",
    );
    let script = Script::default().rule(turn).rule(done("T1"));
    let parks = |settings: &mut Settings| ask(settings, true);
    let first = world.play("- [ ] T1 publish\n", &script, parks)?;
    let (run, call) = (first.report.run_id.clone(), open_call(&first)?);
    let store = first.coordinator.store().clone();
    drop(first);
    store.send(
        &run,
        &Request::Decide {
            call,
            allowed: true,
            message: None,
        },
    )?;
    let resumed = world.resume(&run, &script, parks)?;
    resumed.require_merged(&["T1"])?;
    // A result records how long its call took, which its agent is not told, so only the bodies are
    // compared.
    let text = |result: &String| Ok(at(&serde_json::from_str(result)?, "/body")?.clone());
    let texts = resumed
        .results("T1")?
        .iter()
        .map(text)
        .collect::<Result<Vec<_>, Failed>>()?;
    match texts.as_slice() {
        [before, _, after]
            if before.to_string().contains("continue with offset") && before == after =>
        {
            Ok(())
        }
        other => fail(format!("{other:?}")),
    }
}

/// The first answer counts, however many others come right after it.
fn a_decided_call_is_not_decided_again() -> Outcome {
    const LATER: usize = 20;
    let world = World::lived_in()?;
    let (played, call) = parked(&world)?;
    let (run, store) = (
        played.report.run_id.clone(),
        played.coordinator.store().clone(),
    );
    drop(played);
    let decide = |allowed| {
        store.send(
            &run,
            &Request::Decide {
                call: call.clone(),
                allowed,
                message: None,
            },
        )
    };
    let first = decide(true)?;
    let later = std::iter::repeat_with(|| decide(false))
        .take(LATER)
        .collect::<Result<Vec<_>, _>>()?;
    let resumed = world.resume(&run, &script(), |settings| ask(settings, true))?;
    resumed.require_merged(&["T1", "T2"])?;
    let refused = Some(Err(RequestRefused::NoSuchCall { call: call.clone() }));
    let answers = later
        .into_iter()
        .map(|sent| store.answer(sent))
        .collect::<Result<Vec<_>, _>>()?;
    assert!(
        store.answer(first)? == Some(Ok(format!("call {call} is approved")))
            && answers == vec![refused; LATER],
        "{answers:?}"
    );
    assert!(
        world.merged(&resumed.report, "published.txt").is_ok(),
        "{resumed}"
    );
    Ok(())
}

/// Returns a script in which T1 publishes as in [`script`] and then tells T2, which waits for that.
fn script_of_t1() -> Script {
    Script::default()
        .rule(shell(on("T1", 1), "touch published.txt"))
        .rule(on("T1", 2).call(
            "send_message_to_agent",
            &json!({"agent_id": "T2", "message": "it is published"}),
        ))
        .rule(done("T1"))
        .rule(put(after("T2", "it is published"), "two.txt", "2\n"))
        .rule(after("T2", "two.txt").text("Done."))
}

fn a_program_without_a_terminal_parks_if_it_is_told_to() -> Outcome {
    for (said, code) in [(Some("park"), 3), (Some("deny"), 5), (None, 5)] {
        let world = World::lived_in()?;
        let before = world.repository.fingerprint()?;
        let file = |name: &str| world.home.path().join(name).display().to_string();
        std::fs::write(file("plan.md"), PLAN)?;
        script().write_to(&world.home.path().join("model.jsonl"))?;
        let (plan, model) = (file("plan.md"), format!("script:{}", file("model.jsonl")));
        let run = [
            "run",
            &plan,
            "--model",
            &model,
            "--ask",
            "run_shell_command(touch*)",
        ];
        let invocation = world.orchestrate(&run);
        match said {
            Some(said) => invocation.env("ORCHESTRATE_ASK", said),
            None => invocation,
        }
        .run()?
        .exits(code)?;
        let type_in = |arguments: &[&str], code| world.types(arguments, code);
        let status = type_in(&["status", "--json"], 0)?.json()?;
        let waiting = status["approvals"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        match (said, waiting) {
            (Some("park"), [call]) => {
                let of = |field: &str| {
                    Ok::<_, Failed>(at(call, field)?.as_str().unwrap_or_default().to_owned())
                };
                let (call, hash) = (of("/call")?, of("/hash")?);
                type_in(&["approve", &call, "--hash", &hash, "--follow"], 0)?;
                let again = type_in(&["approve", &call], 2)?;
                require_contains(
                    &again.stderr,
                    &format!("call {call} has been answered already"),
                )?;
                type_in(&["diff", "T1"], 0)
                    .and_then(|ran| require_contains(&ran.stdout, "published.txt"))?;
            }
            (Some("park"), other) => return fail(format!("{other:#?}")),
            (_, []) => {}
            (_, other) => return fail(format!("{other:#?}")),
        }
        before.require_same(&world.repository.fingerprint()?)?;
    }
    Ok(())
}

fn require_contains(text: &str, part: &str) -> Outcome {
    assert!(text.contains(part), "{text}");
    Ok(())
}

fn a_denied_call_that_the_agent_gets_over_fails_nothing() -> Outcome {
    let script = Script::default()
        .rule(shell(on("T1", 1), "touch published.txt"))
        .rule(write("T1", "other.txt", "1\n").turn(2))
        .rule(done("T1"))
        .writes("T2", "two.txt", "2\n");
    let played = World::lived_in()?.play(PLAN, &script, |settings| ask(settings, false))?;
    played.require_merged(&["T1", "T2"])
}

fn asking_nobody_fails_with_a_code_of_its_own() -> Outcome {
    let script = Script::default()
        .rule(shell(on("T1", 1), "touch published.txt"))
        .rule(Rule::task("T1").text("I cannot."));
    let (nobody, somebody) = (World::lived_in()?, World::lived_in()?);
    let play = |world: &World, parks| {
        world.play("- [ ] T1 publish\n", &script, |settings| {
            ask(settings, parks)
        })
    };
    let refused = play(&nobody, false)?;
    refused.require(5, &[("T1", FailedTask)])?;
    refused.require_told("T1", &["needs approval, which nobody can give in this run"])?;
    // The control: where somebody answers later, the same call waits, and the run says so by its
    // code.
    play(&somebody, true)?.require(3, &[("T1", Waiting)])
}

/// Returns a command whose tail no list shows: it comes after many letters, and after what a
/// terminal would hide.
fn hiding() -> String {
    format!(
        "touch {} published.txt\n\u{1b}[8mtouch hidden\u{202e}.txt",
        "a".repeat(100).repeat(3).replace("aaa", "aa ")
    )
}

/// Creates a world whose run waits for an answer about such a call; also returns the beginning of
/// the call's id.
fn parked_at_a_desk() -> Result<(World, String), Failed> {
    let world = World::with_plan("- [ ] T1 publish\n")?;
    let asks = on("T1", 1).call("run_shell_command", &json!({ "command": hiding() }));
    let model = world.script(
        &Script::default()
            .rule(asks)
            .rule(write("T1", "one.txt", "1\n").turn(2))
            .rule(done("T1")),
    )?;
    let run = [
        "run",
        "plan.md",
        "--model",
        &model,
        "--ask",
        "run_shell_command(touch*)",
    ];
    let ran = world
        .orchestrate(&run)
        .env("ORCHESTRATE_ASK", "park")
        .run()?
        .exits(3)?;
    // Its one-line summary says that it is not complete.
    says(
        &ran,
        &[
            "more characters): `orchestrate approve",
            "shows it in full and asks",
        ],
    )?;
    let call = world.types(&["status", "--json"], 0)?.json()?;
    let call = at(&call, "/approvals/0/call")?
        .as_str()
        .unwrap_or_default()
        .get(..8)
        .unwrap_or_default()
        .to_owned();
    Ok((world, call))
}

/// The part of the whole call that no list shows, as it is displayed in full.
const TAIL: &str = "\\u{1b}[8mtouch hidden\\u{202e}.txt";

fn what_is_approved_is_what_was_shown() -> Outcome {
    let (world, call) = parked_at_a_desk()?;
    says(&world.types(&["log", "--tools"], 0)?, &[TAIL])?;
    let unseen = world.types(&["approve", &call], 2)?;
    says(
        &unseen,
        &["command (2 lines, ", TAIL, "nothing was decided"],
    )?;
    let hash = unseen
        .stdout
        .rsplit("hash ")
        .next()
        .unwrap_or_default()
        .trim()
        .to_owned();
    for wrong in ["0123456789ab", "", &hash[..4], &format!("{hash}0")] {
        says(
            &world.types(&["approve", &call, "--hash", wrong], 2)?,
            &["nothing was decided"],
        )?;
    }
    says(
        &world.types(&["approve", &call, "--tree", &hash], 2)?,
        &["use --hash for a call"],
    )?;
    let waits = world.types(&["status", "--json"], 0)?.json()?;
    assert!(
        *at(&waits, "/approvals/0/hash")? == json!(hash)
            && *at(&waits, "/approvals/0/arguments/command")? == json!(hiding()),
        "{waits}"
    );
    // The control: with the hash that was shown, the same call runs, and the file that it makes is
    // in the result.
    says(
        &world.types(&["approve", &call, "--hash", &hash, "--follow"], 0)?,
        &["T1    merged"],
    )?;
    require_published(&world)
}

/// Requires that the file that the call makes is in the result of the only run.
fn require_published(world: &World) -> Outcome {
    let result =
        world.git("for-each-ref --format=%(refname) refs/heads/orchestrate/*/integration")?;
    world.repository.show(&result, "published.txt").map(drop)
}

/// Words that an agent chose and that look like keys.
const WORDS_LIKE_KEYS: &str = "touch sk-published-to.attacker.example.com eyJhbGciOi.of.an.agent; \
    : AKIAIOSFODNN7EXAMPLE AIzaSyA0123456789 ghp_0123456789abcdefgh";

/// Creates a world whose run waits for an answer about this command; also returns the beginning of
/// the call's id.
fn parked_with(command: &str) -> Result<(World, String), Failed> {
    let world = World::with_plan("- [ ] T1 publish\n")?;
    let asks = on("T1", 1).call(
        "run_shell_command",
        &json!({"command": command, "timeout": 9}),
    );
    let model = world.script(&Script::default().rule(asks).rule(done("T1")))?;
    let run = [
        "run",
        "plan.md",
        "--model",
        &model,
        "--ask",
        "run_shell_command(touch*)",
    ];
    world
        .orchestrate(&run)
        .env("ORCHESTRATE_ASK", "park")
        .run()?
        .exits(3)?;
    let status = world.types(&["status", "--json"], 0)?.json()?;
    let call = at(&status, "/approvals/0/call")?
        .as_str()
        .unwrap_or_default()
        .get(..8)
        .unwrap_or_default()
        .to_owned();
    Ok((world, call))
}

fn no_word_of_a_call_is_kept_from_whoever_approves_it() -> Outcome {
    let (world, call) = parked_with(WORDS_LIKE_KEYS)?;
    let shown = world.types(&["approve", &call], 2)?;
    says(&shown, &[WORDS_LIKE_KEYS])?;
    let status = world.types(&["status", "--json"], 0)?.json()?;
    if *at(&status, "/approvals/0/arguments/command")? != json!(WORDS_LIKE_KEYS) {
        return fail(status);
    }
    let hash = shown
        .stdout
        .rsplit("hash ")
        .next()
        .unwrap_or_default()
        .trim();
    says(
        &world.types(&["approve", &call, "--hash", hash, "--follow"], 0)?,
        &["T1    merged"],
    )?;
    says(
        &world.types(&["diff", "T1"], 0)?,
        &["sk-published-to.attacker.example.com"],
    )?;
    says(&world.types(&["log", "--tools"], 0)?, &[WORDS_LIKE_KEYS])
}

/// A call with the mark of a redacted secret, and a call with a secret that only the approving
/// user's environment has.
fn what_nobody_is_shown_is_not_approved() -> Outcome {
    let key = ("OPENAI_API_KEY", "key-of-a-person-0123456789");
    for (word, is_recorded) in [("[redacted:SOMETHING]", true), (key.1, false)] {
        let command = format!("touch '{word}'");
        let (world, call) = parked_with(&command)?;
        let types = |arguments: &[&str]| world.orchestrate(arguments).env(key.0, key.1).run();
        let status = types(&["status", "--json"])?.exits(0)?.json()?;
        assert!(at(&status, "/approvals/0/hash")?.is_null(), "{status}");
        for arguments in [
            ["approve", &call].as_slice(),
            &["approve", &call, "--hash", "0123456789ab"],
        ] {
            says(
                &types(arguments)?.exits(2)?,
                &["cannot be shown", "redacted", "orchestrate reject"],
            )?;
        }
        if is_recorded {
            refuses_to_approve(&world)?;
        } else {
            // The control: without that secret in the environment, the whole call is shown.
            says(&world.types(&["approve", &call], 2)?, &[&command, "hash "])?;
        }
    }
    Ok(())
}

/// Requires that a run refuses an approval of its call, whatever sent it.
fn refuses_to_approve(world: &World) -> Outcome {
    let store = world.archive()?.store().clone();
    let run = store
        .latest_run()?
        .ok_or_else(|| Failed::from("there is no run"))?;
    let open = store
        .state(&run)?
        .open_approvals()
        .map(|(call, _)| call.clone())
        .next();
    let Some(call) = open else {
        return fail("no call asks");
    };
    let sent = store.send(
        &run,
        &Request::Decide {
            call,
            allowed: true,
            message: None,
        },
    )?;
    world.types(&["resume"], 3)?;
    match store.answer(sent)? {
        Some(Err(RequestRefused::HiddenCall { .. })) => Ok(()),
        other => fail(format!("{other:?}")),
    }
}

fn a_terminal_shows_the_whole_call_and_asks() -> Outcome {
    let (world, call) = parked_at_a_desk()?;
    let approve = || {
        world
            .orchestrate(&["approve", &call, "--follow"])
            .start_in_terminal()
    };
    for (keys, code, is_decided) in [("n\n", 3, false), ("\n", 3, false), ("y\n", 0, true)] {
        let terminal = approve()?;
        terminal.shows("Let it run? [y/N]")?;
        terminal.types(keys)?;
        let ran = terminal.end()?.exits(code)?;
        says(&ran, &["task T1 requests run_shell_command", TAIL])?;
        if ran.stdout.contains("nothing was decided") == is_decided {
            return fail(ran.stdout);
        }
    }
    // The control: after a typed `y`, the call runs, and the file that it makes is in the result.
    require_published(&world)
}

fn work_that_nobody_has_looked_at_is_asked_about() -> Outcome {
    let world = World::with_plan("- [ ] T1 Make it (run: touch made)\n")?;
    world.types(&["run", "plan.md", "--merge", "review"], 3)?;
    let approve = || {
        world
            .orchestrate(&["approve", "T1", "--follow"])
            .start_in_terminal()
    };
    let terminal = approve()?;
    terminal.shows("Approve it unseen? [y/N]")?;
    terminal.types("\n")?;
    says(&terminal.end()?.exits(3)?, &["T1 still waits"])?;
    world.types(&["diff", "T1"], 0)?;
    says(&approve()?.end()?.exits(0)?, &["T1    merged"])?;
    // Without a terminal nothing is asked, and the output says what was approved.
    let other = World::with_plan("- [ ] T1 Make it (run: touch made)\n")?;
    other.types(&["run", "plan.md", "--merge", "review"], 3)?;
    let tree = other.repository.git(&[
        "for-each-ref",
        "--format=%(tree)",
        "refs/heads/orchestrate/*/T1",
    ])?;
    says(
        &other.types(&["approve", "T1", "--follow"], 0)?,
        &[&format!("approved unseen, as tree {tree}")],
    )?;
    // Nothing is said of an approval that is refused.
    let refused = other.types(&["approve", "T1"], 2)?;
    assert!(
        !refused.stderr.contains("approved unseen"),
        "{}",
        refused.stderr
    );
    Ok(())
}
