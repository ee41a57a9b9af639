//! Tests of what the documents about tools say of every tool: how it is called, what a model is
//! told of it, and where its work is done.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use orchestrate_core::policy::Grant;
use orchestrate_core::{TaskId, ToolCall};
use orchestrate_tool_testing::harness::ToolHarness;
use orchestrate_tools::{Answer, CallOutcome, ErrorKind, Note, NoteKind, Notes, plain_tools};
use serde_json::{Value, json};

use crate::probe::probe;
use crate::support::{calls, harness_of, said};

pub(crate) async fn tools_are_called_as_the_documents_call_them(harness: ToolHarness) {
    let calls = [
        (
            "write_file",
            json!({"filepath": "src/a.txt", "content": "one\n"}),
            "created src/a.txt",
        ),
        ("read_file", json!({"filepath": "src/a.txt"}), "one"),
        (
            "update_file",
            json!({"filepath": "src/a.txt", "old": "one", "new": "two"}),
            "updated src/a.txt",
        ),
        ("bash", json!({"command": "cat src/a.txt"}), "two"),
        ("glob", json!({"pattern": "**/*.txt"}), "src/a.txt"),
        ("grep", json!({"pattern": "two"}), "src/a.txt:1:two"),
        ("list_dir", json!({"directory": "src"}), "a.txt"),
        (
            "react",
            json!({"action": "think", "note": "it works"}),
            "it works",
        ),
    ];
    for (tool, arguments, expected) in calls {
        let output = harness.call(tool, arguments).await;
        assert!(
            output.success && output.text().contains(expected),
            "{tool}: {}",
            said(&output)
        );
    }
}

pub(crate) async fn a_model_is_told_what_a_tool_says_of_itself(harness: ToolHarness) {
    let registry = plain_tools().unwrap();
    let names = ["git_status", "grep", "read_file"];
    let specs = harness.executor.specs(&Grant::of_tools(names));
    let told: Vec<(&str, &str, &Value)> = specs
        .iter()
        .map(|spec| {
            (
                spec.name.as_str(),
                spec.description.as_str(),
                &spec.parameters,
            )
        })
        .collect();
    let own = names.map(|name| registry.tool(name).unwrap());
    let expected: Vec<_> = own
        .iter()
        .map(|tool| (tool.name(), tool.description(), tool.schema()))
        .collect();
    assert_eq!(told, expected);
    // A tool without parameters declares none.
    assert_eq!(told[0].2["properties"], json!({}));
    assert_eq!(own.map(|tool| tool.to_string()), names);
}

/// The runtime of this test has one thread, which holds what the tools wait for.
pub(crate) async fn file_tools_work_off_the_threads_of_the_runtime(harness: ToolHarness) {
    harness.put("a.txt", "one\n").unwrap();
    let calls = [
        ("read_file", json!({"path": "a.txt"})),
        ("write_file", json!({"path": "b.txt", "content": "x"})),
        ("append_file", json!({"path": "a.txt", "content": "two\n"})),
        (
            "update_file",
            json!({"path": "a.txt", "old": "one", "new": "1"}),
        ),
    ];
    for (tool, arguments) in calls {
        let ledger = harness.scope.ledger.clone();
        let held = ledger.exclusively();
        let before = harness.recorder.records().len();
        let call = harness.call(tool, arguments);
        let look = async {
            while harness.recorder.records().len() == before {
                tokio::task::yield_now().await;
            }
            // The tool waits on another thread, and this one goes on.
            drop(held);
        };
        let (output, ()) = tokio::join!(call, look);
        assert!(output.success, "{tool}: {}", said(&output));
    }
}

pub(crate) async fn the_tools_of_a_run_share_values(_: ToolHarness) {
    let harness = harness_of(probe(|context| {
        let total = context
            .shared()
            .value::<AtomicUsize>()
            .fetch_add(1, Ordering::SeqCst)
            + 1;
        Box::pin(async move { Ok(Answer::new(total.to_string(), json!(null))) })
    }));
    assert_eq!(said(&harness.call("probe", json!({})).await), "ok: 1");
    let mut other = harness.scope.clone();
    other.agent = TaskId::new("T2");
    let call: ToolCall = harness.make_call("probe", json!({}));
    let CallOutcome::Done(output) = harness.executor.call(&call, &other).await else {
        unreachable!("nothing asks")
    };
    assert_eq!(said(&output), "ok: 2");
    // Each type has its own value.
    assert_eq!(harness.scope.shared.value::<String>().as_str(), "");
    assert!(Arc::ptr_eq(
        &harness.scope.shared.value::<String>(),
        &other.shared.value::<String>()
    ));
}

pub(crate) async fn an_agent_keeps_notes(mut harness: ToolHarness) {
    let react = |action: &str, note: Option<&str>| json!({"action": action, "note": note});
    calls! { harness; react (react("get", None)) => "ok: (no notes)"; }
    harness
        .call("react", react("think", Some("the cause is in a.rs")))
        .await;
    let output = harness
        .call("react", react("observe", Some(" a.rs has no lock\n")))
        .await;
    assert_eq!(
        said(&output),
        "ok: thought: the cause is in a.rs\nobservation: a.rs has no lock"
    );
    let observed = Note {
        kind: NoteKind::Observation,
        text: "a.rs has no lock".to_owned(),
    };
    assert_eq!(output.data["notes"][1], json!(observed));

    let mistakes = [
        (
            react("think", None),
            "Retry: Invalid parameters: `note` is empty",
        ),
        (
            react("observe", Some(" ")),
            "Retry: Invalid parameters: `note` is empty",
        ),
        (
            react("clear", Some("x")),
            "Retry: Invalid parameters: `note` is only for the actions `think` and `observe`",
        ),
        (
            react("think", Some(&"x".repeat(6_000))),
            "Retry: the note has 6000 bytes, and your notes have room for 5964 more; clear them, or write less",
        ),
    ];
    for (arguments, expected) in mistakes {
        assert_eq!(said(&harness.call("react", arguments).await), expected);
    }
    let wrong = harness.call("react", react("forget", None)).await;
    assert_eq!(wrong.error_kind, Some(ErrorKind::Retry), "{}", said(&wrong));

    // A resumed agent has the notes of the last recorded call that changed them.
    let resumed = |harness: &ToolHarness| {
        let ends = harness.recorder.ends();
        Notes::restore(ends.iter().filter_map(|end| end.notes.as_deref()))
    };
    harness.scope.notes = resumed(&harness);
    calls! { harness;
        react (react("get", None))
            => "ok: thought: the cause is in a.rs\nobservation: a.rs has no lock";
        react (react("clear", None)) => "ok: (no notes)";
    }
    assert_eq!(resumed(&harness).all(), []);
}
