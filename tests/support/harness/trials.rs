//! Tests of the test support itself: needs, fingerprints, scripts, programs and the model server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use libtest_mimic::{Completion, Failed};
use orchestrate_core::task::ReturnCause;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{
    Case, Home, ModelServer, Need, Outcome, Place, Reply, Repository, Rule, Script, at, case, fail,
    lines, until,
};

const ABSENT: Need = Need::new("a tool that nobody has", "nowhere", || false);

/// Returns the tests of the support.
pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!("support", absent_tool_is_ignored_with_the_reason),
        case!("support", absent_tool_fails_when_required),
        case!("support", only_tests_that_depend_on_a_place_run_there),
        case!("support", fingerprint_is_stable),
        case!("support", fingerprint_sees_each_change),
        case!("support", lived_in_repository_has_everything),
        case!("support", script_is_json_lines),
        case!("support", program_sees_only_the_listed_environment),
        case!("support", program_is_the_built_one),
        case!("support", bubblewrap_confines_where_it_is_present).needs(Need::BUBBLEWRAP),
        case!("support", server_streams_chat_completions),
        case!("support", server_streams_anthropic_messages),
        case!("support", server_cuts_off_and_refuses),
    ]
}

fn absent_tool_is_ignored_with_the_reason() -> Outcome {
    let ignored = case("x", || fail("ran")).needs(ABSENT).decide(false)?;
    let Completion::Ignored {
        reason: Some(reason),
    } = ignored
    else {
        return fail("it ran");
    };
    assert_eq!(reason, "not run: needs a tool that nobody has (nowhere)");
    Ok(())
}

fn absent_tool_fails_when_required() -> Outcome {
    let required = case("x", || Ok(())).needs(ABSENT).decide(true);
    assert!(required.is_err());
    Ok(())
}

fn only_tests_that_depend_on_a_place_run_there() -> Outcome {
    let dependent = case("x", || Ok(())).depends_on(&[Place::Root, Place::OldestGit]);
    let runs = [None, Some(Place::Root), Some(Place::WithoutBubblewrap)]
        .map(|place| dependent.runs_in(place));
    assert_eq!(runs, [true, true, false]);
    assert!(Place::named("root").is_ok() && Place::named("roof").is_err());
    Ok(())
}

fn fingerprint_is_stable() -> Outcome {
    let repository = Repository::lived_in()?;
    let before = repository.fingerprint()?;
    repository.git(&["branch", "orchestrate/r-abcdef/T1"])?;
    repository.git(&["update-ref", "refs/orchestrate/keep/r-abcdef/1", "HEAD"])?;
    before.require_same(&repository.fingerprint()?)
}

fn fingerprint_sees_each_change() -> Outcome {
    type Change = fn(&Repository) -> Outcome;
    let changes: [(&str, Change); 9] = [
        ("index", |r| r.git(&["add", "src/lib.txt"]).map(drop)),
        ("stash", |r| r.git(&["stash", "drop", "-q"]).map(drop)),
        ("branch", |r| r.git(&["branch", "new"]).map(drop)),
        ("head", |r| {
            r.git(&["symbolic-ref", "HEAD", "refs/heads/other"])
                .map(drop)
        }),
        ("configuration", |r| {
            r.git(&["config", "core.pager", "true"]).map(drop)
        }),
        ("hook", |r| {
            r.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n")
        }),
        ("ignored file", |r| r.write("debug.log", "other\n")),
        ("untracked file", |r| r.write("untracked/another", "")),
        ("deleted file", |r| {
            Ok(std::fs::remove_file(r.path().join("staged.txt"))?)
        }),
    ];
    for (what, change) in changes {
        let repository = Repository::lived_in()?;
        let before = repository.fingerprint()?;
        change(&repository)?;
        assert!(
            before.require_same(&repository.fingerprint()?).is_err(),
            "a changed {what} is not seen"
        );
    }
    Ok(())
}

fn lived_in_repository_has_everything() -> Outcome {
    let repository = Repository::lived_in()?;
    let status = repository.git(&["status", "--porcelain", "--ignored"])?;
    assert_eq!(
        status,
        " M src/lib.txt\nAM staged.txt\n?? untracked/\n!! debug.log"
    );
    assert_eq!(
        repository.git(&["stash", "list"])?,
        "stash@{0}: On main: half an idea"
    );
    assert_eq!(repository.read("kept.txt")?, "kept\n");
    assert_eq!(repository.show("HEAD", "kept.txt")?, "kept");
    Ok(())
}

fn script_is_json_lines() -> Outcome {
    let script = Script::default()
        .rule(
            Rule::task("T1")
                .turn(2)
                .last_contains("FAILED")
                .times(1)
                .call("grep", &json!({ "pattern": "x" })),
        )
        .rule(Rule::any().returned(ReturnCause::TaskCheck).text("mended"))
        .rule(
            Rule::any()
                .text("done")
                .usage(json!({ "output_tokens": 1 })),
        );
    let expected = [
        json!({ "task": "T1", "times": 1, "when": { "turn": 2, "last_contains": "FAILED" },
                "reply": { "text": "", "tool_calls": [{ "name": "grep", "arguments": { "pattern": "x" } }] } }),
        json!({ "when": { "returned": "task_check" }, "reply": { "text": "mended" } }),
        json!({ "reply": { "text": "done", "usage": { "output_tokens": 1 } } }),
    ];
    assert_eq!(lines(&script.to_text())?, expected);
    let home = Home::new()?;
    let path = home.path().join("model.jsonl");
    let model = script.write_to(&path)?;
    assert_eq!(model, format!("script:{}", path.display()));
    assert_eq!(std::fs::read_to_string(path)?, script.to_text());
    Ok(())
}

fn program_sees_only_the_listed_environment() -> Outcome {
    let home = Home::new()?;
    let shown = home
        .command("env", home.path(), &[])
        .env("ADDED", "1")
        .with_toolchain()
        .run()?
        .exits(0)?;
    let mut names: Vec<_> = shown
        .stdout
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|pair| pair.0)
        .collect();
    names.sort_unstable();
    let expected = [
        "ADDED",
        "CARGO_HOME",
        "GIT_CONFIG_NOSYSTEM",
        "HOME",
        "LC_ALL",
        "PATH",
        "RUSTUP_HOME",
        "TERM",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_RUNTIME_DIR",
        "XDG_STATE_HOME",
    ];
    assert_eq!(names, expected);
    let echoed = home
        .command("cat", home.path(), &[])
        .stdin("{\"a\":1}")
        .run()?
        .exits(0)?
        .json()?;
    assert_eq!(&echoed, &json!({ "a": 1 }));
    let endless = home.command(
        "sh",
        home.path(),
        &["-c", "echo ready; exec cat /dev/zero >/dev/null"],
    );
    let running = endless.patience(Duration::from_secs(30)).start()?;
    assert_eq!(running.line(|line| line.contains("ready"))?, "ready\n");
    running.signal(Signal::KILL)?;
    let process = std::path::PathBuf::from(format!("/proc/{}", running.pid()));
    running.end()?.exits(137)?;
    until(Duration::from_secs(60), || {
        Ok((!process.exists()).then_some(()))
    })
}

fn program_is_the_built_one() -> Outcome {
    let (home, repository) = (Home::new()?, Repository::lived_in()?);
    let before = repository.fingerprint()?;
    home.orchestrate(repository.path(), &["--version"])
        .run()?
        .exits(0)?;
    before.require_same(&repository.fingerprint()?)?;
    assert!(!home.state().exists());
    Ok(())
}

fn bubblewrap_confines_where_it_is_present() -> Outcome {
    let home = Home::new()?;
    let write = ["sh", "-c", "echo x > written"];
    let confined = ["--ro-bind", "/", "/", "--unshare-all"]
        .into_iter()
        .chain(write);
    let confined: Vec<_> = confined.collect();
    let ran = home.command("bwrap", home.path(), &confined).run()?;
    assert!(ran.code != 0 && !home.path().join("written").exists());
    home.command("sh", home.path(), &write[1..])
        .run()?
        .exits(0)?;
    assert!(home.path().join("written").exists());
    Ok(())
}

/// Sends one request as a client does and returns the whole answer.
fn post(base: &str, path: &str, body: &Value) -> Result<String, Failed> {
    let (host, prefix) = base
        .trim_start_matches("http://")
        .split_once('/')
        .unwrap_or((&base[7..], ""));
    let mut stream = TcpStream::connect(host)?;
    let body = body.to_string();
    let prefix = if prefix.is_empty() {
        String::new()
    } else {
        format!("/{prefix}")
    };
    let head = format!(
        "POST {prefix}{path} HTTP/1.1\r\nHost: {host}\r\nX-Test: 1\r\nContent-Length: {}",
        body.len()
    );
    stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes())?;
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// Returns the events of an answer: the JSON after each `data:`, without the closing `[DONE]`.
fn data_of(answer: &str) -> Result<Vec<Value>, Failed> {
    let data = BufReader::new(answer.as_bytes())
        .lines()
        .map_while(Result::ok);
    let data = data.filter_map(|line| line.strip_prefix("data: ").map(str::to_owned));
    data.filter(|line| line != "[DONE]")
        .map(|line| Ok(serde_json::from_str(&line)?))
        .collect()
}

fn two_calls() -> Reply {
    Reply::text("Looking.")
        .call("read_file", json!({ "path": "a" }))
        .call("read_file", json!({ "path": "b" }))
}

fn server_streams_chat_completions() -> Outcome {
    let server = ModelServer::scripted(vec![two_calls()])?;
    let answer = post(
        &server.openai_base(),
        "/chat/completions",
        &json!({ "model": "m", "stream": true }),
    )?;
    let events = data_of(&answer)?;
    let arguments = |index: u64| -> String {
        let calls = events
            .iter()
            .filter_map(|event| event.pointer("/choices/0/delta/tool_calls/0"));
        let ours = calls.filter(|call| call["index"] == json!(index));
        ours.filter_map(|call| call["function"]["arguments"].as_str().map(str::to_owned))
            .collect()
    };
    assert_eq!(
        [arguments(0), arguments(1)],
        [r#"{"path":"a"}"#, r#"{"path":"b"}"#]
    );
    assert_eq!(
        at(&events[events.len() - 2], "/choices/0/finish_reason")?,
        "tool_calls"
    );
    assert!(answer.contains("data: [DONE]\n\n\r\n0\r\n\r\n"));
    let [(began, gone)] = until(Duration::from_secs(60), || {
        Ok(server.answered().try_into().ok())
    })?;
    assert!(began <= gone);
    let asked = &server.requests()[0];
    assert_eq!(asked.path, "/v1/chat/completions");
    assert_eq!(asked.headers["x-test"], "1");
    assert_eq!(&asked.body, &json!({ "model": "m", "stream": true }));
    Ok(())
}

fn server_streams_anthropic_messages() -> Outcome {
    let server = ModelServer::scripted(vec![two_calls()])?;
    let answer = post(
        &server.anthropic_base(),
        "/v1/messages",
        &json!({ "model": "m" }),
    )?;
    let events = data_of(&answer)?;
    let types: Vec<_> = events.iter().map(|event| event["type"].clone()).collect();
    let blocks = [1, 2, 2].map(|deltas| {
        let deltas = ["content_block_delta"].repeat(deltas);
        [
            &["content_block_start"],
            &deltas[..],
            &["content_block_stop"],
        ]
        .concat()
    });
    let ends = ["message_delta", "message_stop"];
    assert_eq!(
        types,
        [&["message_start"], &blocks.concat()[..], &ends].concat()
    );
    let pieces = events.iter().filter(|event| event["index"] == json!(2));
    let pieces =
        pieces.filter_map(|event| event.pointer("/delta/partial_json").and_then(Value::as_str));
    assert_eq!(pieces.collect::<String>(), r#"{"path":"b"}"#);
    Ok(())
}

fn server_cuts_off_and_refuses() -> Outcome {
    let refusal = Reply::error(429, "slow down").header("retry-after", "1");
    let server = ModelServer::scripted(vec![refusal, two_calls().cut_off()])?;
    let refused = post(&server.openai_base(), "/chat/completions", &Value::Null)?;
    let head: Vec<_> = refused.lines().take(3).collect();
    assert_eq!(
        head,
        [
            "HTTP/1.1 429 Test",
            "content-type: application/json",
            "retry-after: 1"
        ]
    );
    let cut = post(&server.openai_base(), "/chat/completions", &Value::Null)?;
    assert!(!cut.contains("[DONE]") && !cut.ends_with("0\r\n\r\n"));
    let over = post(&server.openai_base(), "/chat/completions", &Value::Null)?;
    assert!(over.starts_with("HTTP/1.1 500"), "{over}");
    assert_eq!(server.requests().len(), 3);
    Ok(())
}
