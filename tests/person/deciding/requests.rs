//! Requests to a run that no process works on, and to one that stays open for people.

use std::io::Write as _;
use std::process::ChildStdin;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{
    Case, Outcome, Running, Script, World, after, at, done, fail, on, sandboxed, says, shell, until,
};
use libtest_mimic::Failed;
use rustix::process::Signal;

pub(crate) fn cases() -> Vec<Case> {
    vec![
        sandboxed!(what_is_recorded_is_carried_out_once_in_order),
        sandboxed!(what_is_followed_answers_as_json_too),
        sandboxed!(a_run_that_stays_takes_requests_until_all_is_decided),
        sandboxed!(a_run_that_stays_ends_with_its_input_and_when_it_is_stopped),
        sandboxed!(a_run_that_stays_outlives_its_input_and_ends_by_signals),
        sandboxed!(a_run_that_stays_parks_calls_and_takes_their_answers),
    ]
}

/// Each attempt makes other files: what repeats what was rejected fails.
const PLAN: &str = "- [ ] T1 one (run: od -N8 /dev/urandom > one)\n- [ ] T2 two (run: od -N8 /dev/urandom > two)\n";

const STREAM: [&str; 5] = ["run", "plan.md", "--stay", "--output-format", "stream-json"];

/// Returns how often events of this type were recorded in the newest run.
fn count(world: &World, kind: &str) -> Result<usize, Failed> {
    let log = world.types(&["log", "--json"], 0)?.stdout;
    Ok(log.matches(&format!("\"type\":\"{kind}\"")).count())
}

fn what_is_recorded_is_carried_out_once_in_order() -> Outcome {
    let world = World::with_plan(PLAN)?;
    world.types(&["run", "plan.md", "--merge", "review"], 3)?;
    let run = world.types(&["status", "--json"], 0)?.json()?;
    let run = at(&run, "/run_id")?.as_str().unwrap_or_default().to_owned();
    let recorded = format!("recorded; nobody runs {run}: orchestrate resume {run}");
    let before = world.types(&["log", "--json"], 0)?.stdout;
    let approved = world.types(&["approve", "T1"], 0)?;
    assert_eq!(approved.stdout, format!("{recorded}\n"));
    // The same decision again is the same request.
    let again = world.types(&["approve", "T1", "--json"], 0)?.json()?;
    assert_eq!(
        [at(&again, "/stage")?, at(&again, "/answer")?],
        [&json!("recorded"), &json!(recorded)]
    );
    world.types(&["reject", "T2", "-m", "again"], 0)?;
    // It is decided against the state that it finds.
    world.types(&["approve", "T2"], 0)?;
    for refused in [
        ["approve", "T9"].as_slice(),
        &["adopt", "T1"],
        &["message", "T1", "hello"],
        &["message", "nobody", "hello"],
    ] {
        world.types(refused, 2)?;
    }
    assert_eq!(world.types(&["log", "--json"], 0)?.stdout, before);
    says(
        &world.types(&["land"], 3)?,
        &["still to be carried out", "orchestrate resume"],
    )?;
    let status = world.types(&["status"], 0)?;
    says(&status, &["3 requests are recorded: `orchestrate resume"])?;
    let status = world.types(&["status", "--json"], 0)?.json()?;
    assert_eq!(*at(&status, "/recorded_requests")?, 3, "{status}");
    let resumed = world.types(&["resume"], 3)?;
    says(
        &resumed,
        &[
            "T1 is approved at tree",
            "T2 is returned to its agent for attempt 2",
            "a request is refused: T2 is",
            "T1    merged",
        ],
    )?;
    let kinds = ["review.approved", "task.returned", "task.merged"];
    for kind in kinds {
        assert_eq!(count(&world, kind)?, 1, "{kind}");
    }
    world.types(&["resume"], 3)?;
    for kind in kinds {
        assert_eq!(count(&world, kind)?, 1, "{kind} after another resume");
    }
    // With `--follow`, what was recorded before comes first, and the code is that of the refusal.
    world.types(&["reject", "T2", "-m", "once more"], 0)?;
    let followed = world.types(&["reject", "T2", "-m", "twice", "--follow"], 2)?;
    says(&followed, &["for attempt 3", "a request is refused: T2"])?;
    assert_eq!(count(&world, "task.returned")?, 2);
    Ok(())
}

/// A program that follows a run learns what became of its own request, before the run's report.
fn what_is_followed_answers_as_json_too() -> Outcome {
    let world = World::with_plan(PLAN)?;
    world.types(&["run", "plan.md", "--merge", "review"], 3)?;
    let printed = |typed: &[&str], exit: i32| -> Result<Vec<Value>, Failed> {
        let lines = world.types(typed, exit)?.stdout;
        let lines = lines.lines().map(serde_json::from_str);
        Ok(lines.collect::<Result<_, _>>()?)
    };
    let of_ends = |lines: &[Value]| -> Value {
        let (first, last) = (&lines[0], &lines[lines.len() - 1]);
        json!([
            first["type"],
            first["stage"],
            last["type"],
            last["exit_code"]
        ])
    };
    let stream = ["--follow", "--output-format", "stream-json"];
    let accepted = printed(&[["approve", "T1"].as_slice(), &stream].concat(), 3)?;
    assert_eq!(
        of_ends(&accepted),
        json!(["answer", "done", "run.finished", 3])
    );
    world.types(&["reject", "T2", "-m", "again"], 0)?;
    let again = ["reject", "T2", "-m", "twice"];
    let refused = printed(&[again.as_slice(), &stream].concat(), 2)?;
    assert_eq!(
        of_ends(&refused),
        json!(["answer", "refused", "run.finished", 2])
    );
    let why = refused[0]["answer"].as_str().unwrap_or_default();
    assert!(
        why.contains("T2 ") && why.contains("orchestrate resume"),
        "{why}"
    );
    assert!(refused.len() > 2, "no events: {refused:?}");
    // With `--json` there is one object.
    world.types(&["reject", "T2", "-m", "again"], 0)?;
    let one = printed(&[again.as_slice(), &["--follow", "--json"]].concat(), 2)?;
    assert_eq!((one.len(), &one[0]["exit_code"]), (1, &json!(2)), "{one:?}");
    // What is refused alone is an error.
    let alone = printed(&["retry", "T1", "--json"], 2)?;
    assert_eq!(
        (alone.len(), &alone[0]["type"]),
        (1, &json!("error")),
        "{alone:?}"
    );
    Ok(())
}

/// Writes a line to a run that stays open.
fn say(input: &mut ChildStdin, line: &str) -> Outcome {
    writeln!(input, "{line}").map_err(Failed::from)
}

/// Waits for the answer to a line, and returns it.
fn answer(running: &Running, line: usize) -> Result<Value, Failed> {
    let is_it = |text: &str| {
        text.contains("\"request.answered\"") && text.contains(&format!("\"line\":{line},"))
    };
    Ok(serde_json::from_str(&running.line(is_it)?)?)
}

/// Waits until the work of a task waits for a review.
fn waits(running: &Running, task: &str) -> Outcome {
    let word = format!("\"{task}\"");
    running
        .line(|line| line.contains("\"review.requested\"") && line.contains(&word))
        .map(drop)
}

fn a_run_that_stays_takes_requests_until_all_is_decided() -> Outcome {
    let world = World::with_plan(
        "- [ ] T1 one (run: od -N8 /dev/urandom > one)\n- [ ] T2 two (run: od -N8 /dev/urandom > two) (depends: T1)\n",
    )?;
    let typed = [STREAM.as_slice(), &["--merge", "review"]].concat();
    let (running, mut input) = world.orchestrate(&typed).start_open()?;
    waits(&running, "T1")?;
    let bad = [
        ("nonsense", "a line is a JSON object with a `type`"),
        (r#"{"type":"fly"}"#, "`approve`"),
        (r#"{"type":"approve"}"#, "about a `task` or about a `call`"),
        (
            r#"{"type":"approve","task":"T1","call":"0"}"#,
            "write one of them",
        ),
        (
            r#"{"type":"approve","task":"T1","hash":"0123"}"#,
            "`hash` applies to a call; use `tree` for a task's work",
        ),
        (
            r#"{"type":"approve","task":"T1","tree":"0123","only":["one"]}"#,
            "`tree` names all of a task's work, of which `only` takes a part",
        ),
        (
            r#"{"type":"approve","task":"T1","message":"m"}"#,
            "a message goes with `only`",
        ),
        (
            r#"{"type":"reject","call":"T1","message":"m"}"#,
            "no call 'T1' waits for a decision",
        ),
        (
            r#"{"type":"message","agent":"T1","text":"hi","object":true}"#,
            "`object`: the message is not JSON",
        ),
        (r#"{"type":"approve","task":"T1","colour":1}"#, "`tree`"),
        (r#"{"type":"approve","task":"T9"}"#, "there is no task 'T9'"),
        (r#"{"type":"approve","task":"T2"}"#, "no finished work"),
        (r#"{"type":"reject","task":"T1","message":" "}"#, "empty"),
        (r#"{"type":"answer","agent":"T1","text":"hi"}"#, "T1"),
        (
            r#"{"type":"message","agent":"nobody","text":"hi"}"#,
            "nobody",
        ),
    ];
    for (at_line, (line, words)) in (1..).zip(bad) {
        writeln!(input, "{line}")?;
        let answered = answer(&running, at_line)?;
        let message = answered["message"].as_str().unwrap_or_default();
        let is_said = message.contains(words) && !message.contains(" --");
        if answered["ok"] != false || answered["stage"] != "refused" || !is_said {
            return fail(answered);
        }
        for field in ["v", "run_id", "ts"] {
            assert!(!answered[field].is_null(), "{answered}");
        }
    }
    let status = world.types(&["status", "--json"], 0)?.json()?;
    assert_eq!(*at(&status, "/status")?, "running", "{status}");
    // A blank line is none.
    say(&mut input, "")?;
    say(
        &mut input,
        r#"{"type":"reject","task":"T1","message":"again"}"#,
    )?;
    let answered = answer(&running, bad.len() + 2)?;
    assert_eq!(
        [&answered["ok"], &answered["stage"]],
        [&json!(true), &json!("done")]
    );
    waits(&running, "T1")?;
    // Another terminal decides meanwhile.
    says(
        &world.types(&["approve", "T1"], 0)?,
        &["T1 is approved at tree"],
    )?;
    waits(&running, "T2")?;
    say(&mut input, r#"{"type":"approve","task":"T2"}"#)?;
    let answered = answer(&running, bad.len() + 3)?;
    assert_eq!(answered["ok"], true, "{answered}");
    let ended = running.end()?.exits(0)?;
    drop(input);
    let last = ended.stdout.lines().last().unwrap_or_default();
    let last: Value = serde_json::from_str(last)?;
    assert_eq!(*at(&last, "/status")?, "succeeded", "{last}");
    assert_eq!(count(&world, "task.returned")?, 1);
    Ok(())
}

fn a_run_that_stays_ends_with_its_input_and_when_it_is_stopped() -> Outcome {
    let world = World::with_plan(PLAN)?;
    let from_input = world
        .orchestrate(&["run", "-", "--stay"])
        .stdin("- [ ] T1 one (run: od -N8 /dev/urandom > one)\n")
        .run()?
        .exits(2)?;
    says(&from_input, &["write the plan to a file"])?;
    let typed = [STREAM.as_slice(), &["--merge", "review"]].concat();
    let (running, mut input) = world.orchestrate(&typed).start_open()?;
    waits(&running, "T1")?;
    say(&mut input, r#"{"type":"stop"}"#)?;
    assert_eq!(answer(&running, 1)?["ok"], true);
    running.end()?.exits(130)?;
    // Nothing is written, so it ends as it would without `--stay`.
    world.types(&["resume", "--stay"], 3)?;
    let lines = concat!(
        r#"{"type":"approve","task":"T1"}"#,
        "\n",
        r#"{"type":"approve","task":"T1","tree":"0123"}"#,
        "\n",
        r#"{"type":"approve","task":"T2"}"#
    );
    let resumed = world
        .orchestrate(&["resume", "--stay"])
        .stdin(lines)
        .run()?;
    says(
        &resumed.exits(0)?,
        &[
            "line 1: T1 is approved at tree",
            "line 2: refused: T1",
            "line 3: T2 is approved at tree",
            "T2    merged",
        ],
    )
}

fn a_run_that_stays_outlives_its_input_and_ends_by_signals() -> Outcome {
    let world = World::with_plan(PLAN)?;
    let typed = ["--stay", "--output-format", "stream-json"];
    // The input is closed before the first task has ended: the run goes on without it.
    let run = [["run", "plan.md", "--merge", "review"].as_slice(), &typed].concat();
    let ended = world.orchestrate(&run).stdin("").run()?.exits(3)?;
    let awaited = ended.stdout.matches("\"review.requested\"").count();
    assert_eq!(awaited, 2, "{}", ended.stdout);
    let resume = [["resume"].as_slice(), &typed].concat();
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let (running, mut input) = world.orchestrate(&resume).start_open()?;
        // It has begun to wait for requests.
        say(&mut input, "nonsense")?;
        answer(&running, 1)?;
        running.signal(signal)?;
        let stopped = running.end()?.exits(code)?;
        let last = stopped.stdout.lines().last().unwrap_or_default();
        let last: Value = serde_json::from_str(last)?;
        assert_eq!(
            [at(&last, "/status")?, at(&last, "/exit_code")?],
            [&json!("interrupted"), &json!(code)],
            "{last}"
        );
    }
    // What waited still waits.
    let (running, mut input) = world.orchestrate(&resume).start_open()?;
    for (line, task) in (1..).zip(["T1", "T2"]) {
        say(
            &mut input,
            &json!({"type": "approve", "task": task}).to_string(),
        )?;
        assert_eq!(answer(&running, line)?["ok"], true);
    }
    running.end()?.exits(0).map(drop)
}

fn a_run_that_stays_parks_calls_and_takes_their_answers() -> Outcome {
    let world = World::with_plan("- [ ] T1 publish\n")?;
    let model = world.script(
        &Script::default()
            .rule(shell(on("T1", 1), "touch published.txt"))
            .rule(shell(after("T1", "not today"), "touch later.txt"))
            .rule(done("T1")),
    )?;
    let asks = ["--model", &model, "--ask", "run_shell_command(touch*)"];
    let (running, mut input) = world
        .orchestrate(&[STREAM.as_slice(), &asks].concat())
        .start_open()?;
    running.line(|line| line.contains("\"approval.requested\""))?;
    // Asked of the state: a line of the stream may come before the answer to a request, or after.
    let parked = |before: &str| {
        until(Duration::from_secs(120), || {
            let status = world.types(&["status", "--json"], 0)?.json()?;
            let call = status.pointer("/approvals/0").cloned();
            Ok(call.filter(|call| call["call"] != before))
        })
    };
    let call = parked("")?;
    let first = call["call"].as_str().unwrap_or_default();
    writeln!(input, "{}", json!({"type": "approve", "call": first}))?;
    let unseen = answer(&running, 1)?;
    let message = unseen["message"].as_str().unwrap_or_default();
    assert!(message.contains("requires its hash"), "{unseen}");
    let by_hash = format!(
        r#"{{"type":"approve","call":"{}","hash":"{}"}}"#,
        &first[..8],
        call["hash"].as_str().unwrap_or_default()
    );
    assert!(message.contains(&by_hash), "{unseen}");
    // Who says that it is a task does not deny a call.
    let task = json!({"type": "reject", "task": first, "message": "not today"});
    writeln!(input, "{task}")?;
    let no_task = answer(&running, 2)?;
    let message = no_task["message"].as_str().unwrap_or_default();
    assert!(message.contains("there is no task"), "{no_task}");
    let reject = json!({"type": "reject", "call": first, "message": "not today"});
    writeln!(input, "{reject}")?;
    assert_eq!(answer(&running, 3)?["ok"], true);
    let second = parked(first)?;
    let approve = json!({"type": "approve", "call": second["call"], "hash": second["hash"]});
    writeln!(input, "{approve}")?;
    assert_eq!(answer(&running, 4)?["ok"], true);
    running.end()?.exits(0)?;
    let files = world.git("log --all --format= --name-only")?;
    let made = (files.contains("later.txt"), files.contains("published.txt"));
    assert_eq!(made, (true, false), "{files}");
    Ok(())
}
