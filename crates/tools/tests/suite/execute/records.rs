//! Tests of the records of calls, for every outcome.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use orchestrate_core::policy::Decision;
use orchestrate_core::{CallId, Redactor, Secret, TaskId};
use orchestrate_tool_testing::harness::{Recorded, ToolHarness};
use orchestrate_tools::{Answer, Category, ErrorKind, Executor, ToolOutput, ToolRegistry};
use serde_json::json;
use tokio::sync::Notify;
use tracing::field::{Field, Visit};
use tracing::span;

use crate::probe::probe;
use crate::support::{begins, calls, harness_of, said, says};

pub(crate) async fn a_start_is_recorded_before_the_effect(_: ToolHarness) {
    let recorder = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&recorder);
    let harness = harness_of(probe(move |_| {
        let recorder: Option<Arc<orchestrate_tool_testing::harness::FakeRecorder>> =
            seen.lock().unwrap().clone();
        Box::pin(async move {
            Ok(Answer::new(
                format!("{} recorded", recorder.unwrap().records().len()),
                json!(null),
            ))
        })
    }));
    *recorder.lock().unwrap() = Some(Arc::clone(&harness.recorder));
    // The control: nothing is recorded before the call, so the one record that the tool sees is
    // that of its start.
    assert_eq!(harness.recorder.records().len(), 0);
    calls! { harness; probe {} => "ok: 1 recorded"; }
    let records = harness.recorder.records();
    assert!(
        matches!(
            records.as_slice(),
            [Recorded::Started(_), Recorded::Ended(_)]
        ),
        "{} records",
        records.len()
    );
}

pub(crate) async fn aliases_are_recorded_under_their_own_names(harness: ToolHarness) {
    harness.put("a.txt", "x\n").unwrap();
    let worktree = harness.path().join("a.txt");
    let output = harness
        .call("Read", json!({"file_path": worktree.to_str().unwrap()}))
        .await;
    let mut records = harness.recorder.records();
    let Recorded::Started(start) = records.remove(0) else {
        unreachable!("{records:?}")
    };
    let default = Decision::Allow {
        rule: "default".to_owned(),
    };
    assert_eq!(
        (start.tool.as_str(), start.arguments, start.decision),
        ("read_file", json!({"path": "a.txt"}), Some(default))
    );
    let Recorded::Ended(end) = records.remove(0) else {
        unreachable!("{records:?}")
    };
    let expected = ToolOutput {
        success: true,
        data: json!({
            "path": "a.txt", "size": 2, "first_line": 1, "last_line": 1, "total_lines": 1, "content": "x\n",
        }),
        body: "     1\tx".to_owned(),
        seen: vec![orchestrate_tools::SeenFile::holding("a.txt", b"x\n")],
        execution_time: end.execution_time,
        resource_usage: output.resource_usage,
        ..ToolOutput::empty(&CallId::new("call-1"))
    };
    assert_eq!((&end, &output), (&expected, &expected));
    let read: ToolOutput = serde_json::from_value(serde_json::to_value(&end).unwrap()).unwrap();
    assert_eq!(read.to_answer(), output.to_answer());
}

pub(crate) async fn a_dropped_caller_leaves_no_call_open(_: ToolHarness) {
    let (entered, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (inside, gate) = (Arc::clone(&entered), Arc::clone(&go_on));
    let harness = harness_of(probe(move |_| {
        let (inside, gate) = (Arc::clone(&inside), Arc::clone(&gate));
        Box::pin(async move {
            inside.notify_one();
            gate.notified().await;
            Ok(Answer::new("done all the same", json!(null)))
        })
    }));
    {
        let call = harness.call("probe", json!({}));
        tokio::select! {
            _ = call => unreachable!("it waits for the gate"),
            () = entered.notified() => {}
        }
    }
    assert!(harness.recorder.ends().is_empty());
    go_on.notify_one();
    harness.recorder.wait_for_ends(1).await;
    harness.executor.drained().await;
    assert_eq!(harness.recorder.ends()[0].text(), "done all the same");
}

pub(crate) async fn a_runtime_that_ends_records_interrupted(_: ToolHarness) {
    let (sender, entered) = tokio::sync::mpsc::channel(1);
    let harness = harness_of(probe(move |_| {
        let sender = sender.clone();
        Box::pin(async move {
            sender.send(()).await.unwrap();
            std::future::pending().await
        })
    }));
    let recorder = Arc::clone(&harness.recorder);
    let ended = std::thread::spawn(move || {
        let mut entered = entered;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        let call = harness.make_call("probe", json!({}));
        let (executor, scope) = (Arc::clone(&harness.executor), harness.scope.clone());
        runtime.spawn(async move { executor.call(&call, &scope).await });
        entered.blocking_recv().unwrap();
        drop(runtime);
    });
    ended.join().unwrap();
    let ends = recorder.ends();
    let kinds: Vec<_> = ends
        .iter()
        .map(|end| (end.error_kind, end.success))
        .collect();
    assert_eq!(kinds, [(Some(ErrorKind::Interrupted), false)]);
}

pub(crate) async fn a_long_result_is_cut_and_kept(harness: ToolHarness) {
    let lines: String = (1..=1500)
        .map(|n| format!("line {n} of a listing\n"))
        .collect();
    let harness = {
        let text = lines.clone();
        let mut with_files = harness_of(probe(move |_| {
            let text = text.clone();
            Box::pin(async move {
                Ok(Answer {
                    footer: Some("[the end]".to_owned()),
                    ..Answer::new(text, json!(null))
                })
            })
        }));
        with_files.scope.services = harness.scope.services.clone();
        with_files.scope.result_tokens = 200;
        let output = with_files.call("probe", json!({})).await;
        assert!(output.text().len() < 800, "{}", output.text().len());
        begins(&output, "line 1 of a listing\n");
        assert!(
            output.text().ends_with("line 1500 of a listing\n[the end]"),
            "{}",
            output.text()
        );
        says(
            &output,
            "left out; full text: read_file with path `artifact:a1` …]",
        );
        harness
    };
    let page = harness
        .call(
            "read_file",
            json!({"path": "artifact:a1", "offset": 700, "limit": 2}),
        )
        .await;
    let expected = "ok:    700\tline 700 of a listing\n   701\tline 701 of a listing\n[lines 700-701 of 1500; continue with offset 702]";
    assert_eq!(said(&page), expected);
    calls! { harness; read_file {"path": "artifact:a9"} => "Retry: there is no artifact `a9`"; }
}

pub(crate) async fn data_is_shaped_like_a_text_and_recorded_where_it_is_short(_: ToolHarness) {
    for (length, is_recorded) in [(10, true), (100_000, false)] {
        let data = json!({ "value": "x".repeat(length) });
        let answer = data.clone();
        let mut harness = harness_of(probe(move |_| {
            let answer = answer.clone();
            Box::pin(async move { Ok(Answer::new("", answer)) })
        }));
        harness.scope.result_tokens = 200;
        let output = harness.call("probe", json!({})).await;
        assert!(
            output.text().starts_with(r#"{"value":"xxxxx"#) && output.text().len() < 800,
            "{}",
            output.text().len()
        );
        assert_eq!(output.data, data);
        let recorded = if is_recorded { data } else { json!(null) };
        assert_eq!(
            harness.recorder.ends()[0],
            ToolOutput {
                data: recorded,
                ..output
            }
        );
    }
}

pub(crate) async fn calls_are_logged_without_secrets(_: ToolHarness) {
    let tool = || probe(|_| Box::pin(async { Ok(Answer::new("x", json!(null))) }));
    let mut harness = harness_of(tool());
    let mut registry = ToolRegistry::new();
    registry
        .register(Arc::new(tool()), Category::MEMORY)
        .unwrap();
    let secret = Secret::new("KEY", "the-key-0a1b2c3d4e");
    harness.executor = Arc::new(Executor::redacting(registry, Redactor::new([secret])).unwrap());
    harness
        .call(
            "probe",
            json!({"text": "as it is logged", "api_key": "x the-key-0a1b2c3d4e"}),
        )
        .await;
    let lines: Vec<String> = LOG
        .lock()
        .unwrap()
        .iter()
        .filter(|line| line.contains("as it is logged"))
        .cloned()
        .collect();
    assert_eq!(
        lines,
        [r#"probe(text: "as it is logged", api_key: "x [redacted:KEY]")"#]
    );
}

pub(crate) async fn what_a_panic_says_is_redacted(_: ToolHarness) {
    let tool = || {
        probe(|context| {
            Box::pin(async move {
                assert!(context.result_bytes() == 0, "given the-key-0a1b2c3d4e");
                Ok(Answer::default())
            })
        })
    };
    // The control: where the key is nobody's secret, the text of the panic arrives as it is.
    for (secret, shown) in [
        ("the-key-0a1b2c3d4e", "[redacted:KEY]"),
        ("another-5f6a7b8c9d", "the-key-0a1b2c3d4e"),
    ] {
        let mut harness = harness_of(tool());
        let mut registry = ToolRegistry::new();
        registry
            .register(Arc::new(tool()), Category::MEMORY)
            .unwrap();
        let redactor = Redactor::new([Secret::new("KEY", secret)]);
        harness.executor = Arc::new(Executor::redacting(registry, redactor).unwrap());
        let output = harness.call("probe", json!({})).await;
        assert_eq!(
            said(&output),
            format!("Execution: the tool panicked: given {shown}")
        );
        assert_eq!(harness.recorder.ends()[0].error, output.error);
    }
}

static LOG: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Collects the messages of events. It is installed globally, since tracing caches per call site
/// whether an event is enabled.
pub(crate) struct Log;

impl tracing::Subscriber for Log {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("orchestrate_tools")
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut Message);
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

struct Message;

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            LOG.lock().unwrap().push(format!("{value:?}"));
        }
    }
}

pub(crate) async fn what_files_a_call_read_and_wrote_is_recorded(harness: ToolHarness) {
    for (name, size) in [("a", 1_000), ("b", 2_000)] {
        harness.put(name, "x\n".repeat(size / 2)).unwrap();
    }
    let table = [
        ("read_file", json!({"path": "a"}), (1_000, 0)),
        ("grep", json!({"pattern": "y"}), (3_000, 0)),
        (
            "write_file",
            json!({"path": "c", "content": "12345"}),
            (0, 5),
        ),
        (
            "append_file",
            json!({"path": "c", "content": "678"}),
            (5, 3),
        ),
        ("list_directory", json!({"path": "."}), (0, 0)),
    ];
    for (tool, arguments, expected) in table {
        let output = harness.call(tool, arguments).await;
        let used = output.resource_usage;
        assert_eq!(
            (used.read_bytes, used.written_bytes),
            expected,
            "{tool}: {}",
            output.text()
        );
        assert_eq!((used.processes, used.peak_memory_bytes), (0, 0), "{tool}");
        assert_eq!(
            harness.recorder.ends().pop().unwrap().resource_usage,
            used,
            "{tool}"
        );
    }
}

/// Work counts on whichever thread the tool does it.
pub(crate) async fn the_processor_time_of_a_tool_is_recorded(_: ToolHarness) {
    let compute = || {
        let until = Instant::now() + Duration::from_millis(40);
        while Instant::now() < until {}
    };
    let harness = harness_of(probe(move |context| {
        Box::pin(async move {
            compute();
            let compute_there = move |_: &_, _: &_| {
                compute();
                Ok(Answer::default())
            };
            context.blocking(compute_there).await
        })
    }));
    let used = harness.call("probe", json!({})).await.resource_usage;
    // Other programs may have had the processor for a part of that time.
    assert!(
        used.cpu_ms > 0 && used.cpu_ms <= used.wall_ms && used.wall_ms >= 80,
        "{used:?}"
    );
}

pub(crate) async fn figures_are_kept_for_each_tool(harness: ToolHarness) {
    harness.put("a", "x").unwrap();
    assert!(harness.executor.metrics().is_empty());
    for path in ["a", "missing", "a", "missing"] {
        harness.call("read_file", json!({"path": path})).await;
    }
    let metrics = harness.executor.metrics();
    let figures = &metrics["read_file"];
    assert_eq!((figures.usage_count, figures.success_rate), (4, 0.5));
    assert!(figures.p50 <= figures.p95 && metrics.len() == 1);
}

pub(crate) async fn one_tool_serves_many_agents(_: ToolHarness) {
    let harness = harness_of(probe(|context| {
        let agent = context.agent().to_string();
        Box::pin(async move {
            tokio::task::yield_now().await;
            Ok(Answer::new(agent, json!(null)))
        })
    }));
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..20 {
        let call = harness.make_call("probe", json!({}));
        let mut scope = harness.scope.clone();
        scope.agent = TaskId::new(format!("T{number}"));
        let executor = Arc::clone(&harness.executor);
        calls.spawn(async move { (scope.agent.to_string(), executor.call(&call, &scope).await) });
    }
    while let Some(done) = calls.join_next().await {
        let (agent, outcome) = done.unwrap();
        let orchestrate_tools::CallOutcome::Done(output) = outcome else {
            unreachable!("nothing asks")
        };
        assert_eq!(output.text(), agent);
    }
}
