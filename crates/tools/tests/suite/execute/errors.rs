//! Tests of the errors of the contract, word for word.

use std::sync::Arc;

use orchestrate_core::CallId;
use orchestrate_core::policy::Grant;
use orchestrate_tool_testing::harness::ToolHarness;
use orchestrate_tools::{AgentsWait, Answer, CallOutcome, ToolError};
use serde_json::json;

use crate::probe::probe;
use crate::support::{calls, harness_of, said, starting};

pub(crate) async fn an_unknown_tool_is_answered_with_the_nearest_names(harness: ToolHarness) {
    let output = harness.call("git_comit", json!({})).await;
    let expected =
        "Retry: Tool 'git_comit' not found; similar tools: `git_commit`, `git_log`, `git_add`";
    assert_eq!(said(&output), expected);
    assert_eq!(
        output.text(),
        format!("ERROR: {}", expected.trim_start_matches("Retry: "))
    );
    assert_eq!(harness.recorder.records().len(), 2);
    for name in [String::new(), "n".repeat(1 << 20)] {
        let told = said(&harness.call(&name, json!({})).await);
        assert!(
            told.starts_with("Retry: Tool '") && told.contains("' not found; similar tools: `"),
            "{told:.200}"
        );
        assert!(told.len() < 400, "{} bytes are told", told.len());
    }
    // The control: the same call by the right name gets through to the tool.
    let output = harness
        .call("git_commit", json!({"message": "Begin"}))
        .await;
    assert!(output.success, "{}", said(&output));
}

pub(crate) async fn arguments_that_do_not_fit_are_explained(harness: ToolHarness) {
    let table = [
        ("read_file", json!({}), "`path` is required but missing"),
        (
            "read_file",
            json!({"path": 1}),
            "`path`: expected string, got 1",
        ),
        (
            "grep",
            json!({"pattern": "x", "mode": "all"}),
            "`mode`: expected one of [\"content\",\"files\",\"count\"], got \"all\"",
        ),
        ("grep", json!({"pattern": ""}), "`pattern` is empty"),
        (
            "run_shell_command",
            json!({"command": "x", "shel": 1}),
            "unknown: `shel`",
        ),
        ("git_commit", json!({"message": " "}), "`message` is empty"),
        (
            "todo_write",
            json!("{\"items\": ["),
            "expected a JSON object, got \"{\\\"items\\\": [\"",
        ),
        (
            "update_file",
            json!({"path": "a", "old": "x", "new": "x"}),
            "`new` is the same as `old`: nothing would change",
        ),
    ];
    for (tool, arguments, expected) in table {
        let output = harness.call(tool, arguments).await;
        assert_eq!(
            output.error.as_deref(),
            Some(format!("Invalid parameters: {expected}").as_str()),
            "{tool}"
        );
    }
}

/// A call that fails every check is told about the first one; each is mended in turn.
pub(crate) async fn the_checks_come_in_their_order(mut harness: ToolHarness) {
    harness.put("a", "x").unwrap();
    let grant = Arc::clone(&harness.scope.grant);
    let tokens = harness.scope.result_tokens;
    harness.scope.grant = Arc::new(Grant::of_tools([]));
    harness.scope.result_tokens = 0;
    let table = [
        (
            "no_such_tool",
            json!({"path": 1}),
            "Retry: Tool 'no_such_tool' not found",
        ),
        (
            "read_file",
            json!({"path": 1}),
            "Retry: Invalid parameters: ",
        ),
        (
            "read_file",
            json!({"path": "a"}),
            "Denied: Security validation failed: ",
        ),
    ];
    for (tool, arguments, expected) in table {
        let output = harness.call(tool, arguments).await;
        assert!(said(&output).starts_with(expected), "{}", said(&output));
    }
    harness.scope.grant = grant;
    calls! { harness; read_file {"path": "a"} => starting("Retry: Resource limits exceeded: "); }
    // The control: with the tool granted and room for its result, the same call reads the file.
    harness.scope.result_tokens = tokens;
    assert!(
        harness
            .call("read_file", json!({"path": "a"}))
            .await
            .success
    );
}

pub(crate) async fn every_class_of_failure_passes_unchanged(_: ToolHarness) {
    let denied = ToolError::Denied {
        reason: "no".to_owned(),
        rule: "r".to_owned(),
    };
    let file = ToolError::File {
        path: "p".to_owned(),
        reason: "the disk is full".to_owned(),
    };
    let timeout = ToolError::Timeout {
        seconds: 3,
        partial: "half".to_owned(),
        notes: String::new(),
    };
    let table = [
        (
            ToolError::Retry("again".to_owned()),
            "Retry: again",
            "ERROR: again",
        ),
        (
            ToolError::TooBroad("less".to_owned()),
            "Execution: less",
            "ERROR: less",
        ),
        (
            denied,
            "Denied: Security validation failed: no",
            "ERROR: Security validation failed: no",
        ),
        (
            file,
            "File: the disk is full: p",
            "ERROR: the disk is full: p",
        ),
        (
            timeout,
            "Timeout: timed out after 3 s",
            "ERROR: timed out after 3 s\nIts output until then:\nhalf",
        ),
        (
            ToolError::Network("no route".to_owned()),
            "Network: no route",
            "ERROR: no route",
        ),
        (
            ToolError::Execution("broken".to_owned()),
            "Execution: broken",
            "ERROR: broken",
        ),
        (
            ToolError::Interrupted("stopped".to_owned()),
            // One wording, whatever the cause.
            "Interrupted: interrupted: it was stopped while running and may have had effects; check before you repeat it",
            "ERROR: interrupted: it was stopped while running and may have had effects; check before you repeat it",
        ),
    ];
    for (error, expected, text) in table {
        let harness = harness_of(probe(move |_| {
            let error = error.clone();
            Box::pin(async move { Err(error) })
        }));
        let output = harness.call("probe", json!({})).await;
        assert_eq!(
            (said(&output).as_str(), output.text().as_str()),
            (expected, text)
        );
    }
}

pub(crate) async fn a_panic_is_a_failure_of_the_tool(_: ToolHarness) {
    let at_once = harness_of(probe(|context| {
        Box::pin(async move {
            assert!(context.result_bytes() == 0, "boom");
            Ok(Answer::default())
        })
    }));
    let while_blocking = harness_of(probe(|context| {
        Box::pin(context.blocking(|files, _| {
            assert!(files.max_bytes() == 0, "boom");
            Ok(Answer::default())
        }))
    }));
    let while_answering = harness_of(
        probe(|context| {
            Box::pin(async move {
                assert!(context.result_bytes() == 0, "boom");
                Ok(Answer::default())
            })
        })
        .waiting(),
    );
    for harness in [at_once, while_blocking, while_answering] {
        calls! { harness; probe {} => "Execution: the tool panicked: boom"; }
        assert_eq!(harness.recorder.ends().len(), 1);
        calls! { harness; probe {} => "Execution: the tool panicked: boom"; }
    }
}

pub(crate) async fn no_room_and_too_many_calls_are_refused(_: ToolHarness) {
    let mut harness = harness_of(probe(|_| {
        Box::pin(async { Ok(Answer::new("x", json!(null))) })
    }));
    let tokens = std::mem::replace(&mut harness.scope.result_tokens, 3);
    let expected = "Retry: Resource limits exceeded: the context has no room for a result; finish with what you know";
    assert_eq!(said(&harness.call("probe", json!({})).await), expected);
    harness.scope.result_tokens = tokens;
    for _ in 0..600 {
        assert_eq!(said(&harness.call("probe", json!({})).await), "ok: x");
    }
    let expected =
        "Retry: Resource limits exceeded: too many calls within a minute; do more with each call";
    assert_eq!(said(&harness.call("probe", json!({})).await), expected);
}

pub(crate) async fn a_recorder_that_fails_lets_nothing_run(harness: ToolHarness) {
    // The control: while calls can be recorded, the same call writes its file.
    let written = harness
        .call("write_file", json!({"path": "b", "content": "x"}))
        .await;
    assert!(
        written.success && harness.path().join("b").exists(),
        "{}",
        said(&written)
    );
    harness.recorder.break_down();
    calls! { harness;
        write_file {"path": "a", "content": "x"}
            => "Execution: failed to record the start of the call: the disk is full";
    }
    assert!(!harness.path().join("a").exists());
}

pub(crate) async fn a_message_may_be_an_object(harness: ToolHarness) {
    let message = json!({"done": ["one.txt"], "left": 2});
    let output = harness
        .call(
            "send_message_to_agent",
            json!({"agent_id": "T2", "message": message}),
        )
        .await;
    assert!(output.success, "{}", said(&output));
    assert_eq!(
        harness.agents.sent()[0].message.body.to_string(),
        r#"{"done":["one.txt"],"left":2}"#
    );
    let output = harness
        .call(
            "send_message_to_agent",
            json!({"agent_id": "T2", "message": 7}),
        )
        .await;
    let expected = r#"Retry: Invalid parameters: `message`: 7 is not of types "string", "object""#;
    assert_eq!(said(&output), expected);
    calls! { harness;
        send_message_to_agent {"agent_id": "T9", "message": message}
            => "Retry: there is no agent `T9`; there is `T2`";
    }
}

pub(crate) async fn a_call_that_waits_is_recorded_once_it_is_answered(harness: ToolHarness) {
    let both = json!({"agent_ids": ["T2", "T3"], "timeout": 60});
    assert_eq!(
        harness.outcome("wait_for_agents", both).await,
        CallOutcome::Waits
    );
    let call = CallId::new("call-1");
    let asked = AgentsWait {
        call,
        agents: vec!["T2".into(), "T3".into()],
        timeout_seconds: Some(60),
    };
    assert_eq!(
        (harness.agents.waits(), harness.recorder.records()),
        (vec![asked], Vec::new())
    );
    let output = harness
        .call("wait_for_agents", json!({"agent_ids": ["T2"]}))
        .await;
    let expected = "ok: all of them are done\n\nT2 (Write it): merged, idle-done\nattempt 1, 2 turns, 300 tokens\n\
                    report: It is written.";
    assert_eq!(said(&output), expected);
    assert_eq!(
        (
            &output.data["all_done"],
            &output.data["agents"][0]["liveness"]
        ),
        (&json!(true), &json!("idle-done"))
    );
    assert_eq!(harness.recorder.records().len(), 2);
    calls! { harness;
        wait_for_agents {"agent_ids": ["T9"]}
            => "Retry: there is no agent `T9`; there are `T2` and `T3`";
    }
}
