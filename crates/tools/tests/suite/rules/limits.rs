//! Tests of the settings of tools, through the executor: what they forbid, ask about and cap.

use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::time::{Duration, Instant};

use orchestrate_core::{CallId, ToolCall, ToolSettings};
use orchestrate_sandbox::{Exit, Sandbox};
use orchestrate_tool_testing::harness::ToolHarness;
use orchestrate_tools::{
    AgentCpu, Answer, CallOutcome, Category, Command, ToolContext, ToolError, ToolRegistry,
};
use serde_json::{Value, json};

use crate::probe::probe;
use crate::support::{calls, holding, said, starting};

/// The values of the reference, as it writes them.
const PROFILE: &str = r#"{
    "file_operations": {
        "max_file_size_mb": 10,
        "allowed_extensions": [".py", ".md", ".txt", ".json", ".yaml"],
        "forbidden_paths": ["/etc", "/usr", "/var"]
    },
    "code_execution": {
        "timeout_seconds": 30,
        "memory_limit_mb": 256,
        "allowed_commands": ["python", "pip", "pytest", "black", "mypy"]
    },
    "web_requests": {
        "timeout_seconds": 10,
        "max_response_size_mb": 5,
        "allowed_domains": ["*.github.com", "*.stackoverflow.com", "*.python.org"]
    }
}"#;

fn profile() -> ToolSettings {
    serde_json::from_str(PROFILE).unwrap()
}

fn denied(reason: &str) -> String {
    format!("Denied: Security validation failed: {reason}")
}

const KINDS: &str =
    "has none of the endings that the user allows for files: .py .md .txt .json .yaml";

pub(crate) async fn the_reference_profile_holds(mut harness: ToolHarness) {
    harness.limit(&profile());
    let limits = harness.scope.limits;
    let seconds = [
        limits.command_timeout,
        limits.max_command_timeout,
        limits.max_web_timeout,
    ];
    assert_eq!(seconds.map(|time| time.as_secs()), [30, 30, 10]);
    assert_eq!(
        (limits.file_bytes, limits.command_memory_bytes),
        (10 << 20, Some(256 << 20))
    );
    assert_eq!(limits.web_response_bytes, 5 << 20);
    calls! { harness;
        write_file {"path": "src/a.py", "content": "print(1)\n"} => "ok: created src/a.py (9 B)";
        write_file {"path": "new/a.rs", "content": ""} => denied(&format!("`new/a.rs` {KINDS}"));
    }
    assert!(!harness.path().join("new").exists());
    calls! { harness;
        read_file {"path": "/etc/passwd"}
            => starting(denied("`/etc/passwd` is outside the worktree"));
    }
    let curl = harness
        .call("run_shell_command", json!({"command": "curl https://x"}))
        .await;
    let programs = "is not one of the programs that the user allows: python pip pytest black mypy";
    assert_eq!(said(&curl), denied(&format!("`curl` {programs}")));
    let compound = harness
        .call(
            "run_shell_command",
            json!({"command": "python a.py && curl x"}),
        )
        .await;
    let asks = "the rule `tools.code_execution.allowed_commands` needs approval, which nobody can give in this run; do \
        without the call";
    assert_eq!(said(&compound), denied(asks));
    harness.scope.ask_parks = true;
    let parked = harness
        .outcome(
            "run_shell_command",
            json!({"command": "python a.py > out.txt"}),
        )
        .await;
    let CallOutcome::NeedsApproval { rule, .. } = parked else {
        unreachable!("{parked:?}")
    };
    assert_eq!(rule, "tools.code_execution.allowed_commands");
}

pub(crate) async fn every_tool_that_touches_files_keeps_to_the_allowed_kinds(
    mut harness: ToolHarness,
) {
    for file in ["a.py", "b.rs", "v1.2/c.py", "v1.2/d.rs"] {
        harness.put(file, "needle\n").unwrap();
    }
    harness.put(".gitignore", "ignored.py\n").unwrap();
    harness.put("ignored.py", "needle\n").unwrap();
    symlink("b.rs", harness.path().join("link.py")).unwrap();
    harness.limit(&profile());
    let patch = "*** Begin Patch\n*** Add File: e.rs\n+x\n*** End Patch\n";
    let refused = [
        ("read_file", json!({"path": "b.rs"}), "b.rs"),
        ("read_file", json!({"path": "link.py"}), "b.rs"),
        (
            "append_file",
            json!({"path": "b.rs", "content": "x"}),
            "b.rs",
        ),
        (
            "update_file",
            json!({"path": "b.rs", "old": "needle", "new": "x"}),
            "b.rs",
        ),
        ("apply_patch", json!({"patch": patch}), "e.rs"),
        ("copy_file", json!({"src": "a.py", "dst": "e.rs"}), "e.rs"),
        ("copy_file", json!({"src": "b.rs", "dst": "e.py"}), "b.rs"),
        ("move_file", json!({"src": "b.rs", "dst": "e.py"}), "b.rs"),
        ("delete_file", json!({"path": "b.rs"}), "b.rs"),
        ("get_file_info", json!({"path": "b.rs"}), "b.rs"),
        ("grep", json!({"pattern": "needle", "path": "b.rs"}), "b.rs"),
    ];
    for (tool, arguments, path) in refused {
        let output = harness.call(tool, arguments.clone()).await;
        assert_eq!(
            said(&output),
            denied(&format!("`{path}` {KINDS}")),
            "{tool} {arguments}"
        );
    }
    calls! { harness;
        list_directory {"path": "v1.2"} => "ok: c.py  7 B\n[left out: 1 denied by rules]";
    }
    // What an ignore file says holds although no agent may read it.
    let found = harness.call("search_files", json!({"pattern": "*"})).await;
    assert!(!said(&found).contains("ignored.py\n"), "{}", said(&found));
    let hits = harness
        .call("grep", json!({"pattern": "needle", "mode": "files"}))
        .await;
    assert_eq!(
        hits.data["files"],
        json!([{"path": "a.py", "matches": 1}, {"path": "v1.2/c.py", "matches": 1}]),
        "{hits:?}"
    );
    assert_eq!(harness.content("b.rs").unwrap(), "needle\n");
    let made = harness
        .call("create_directory", json!({"path": "v1.3"}))
        .await;
    assert!(made.success, "{}", said(&made));
}

pub(crate) async fn a_forbidden_path_is_closed_under_every_name(mut harness: ToolHarness) {
    harness.put("secrets/key.md", "k\n").unwrap();
    harness.put("open.md", "o\n").unwrap();
    symlink("secrets", harness.path().join("link")).unwrap();
    let mut settings = ToolSettings::default();
    settings.file_operations.forbidden_paths = vec!["secrets".to_owned()];
    let absolute = harness.path().join("secrets").display().to_string();
    for forbidden in ["secrets".to_owned(), absolute] {
        let mut settings = settings.clone();
        settings.file_operations.forbidden_paths = vec![forbidden];
        harness.limit(&settings);
        let refused = [
            ("read_file", json!({"path": "secrets/key.md"})),
            ("read_file", json!({"path": "link/key.md"})),
            (
                "read_file",
                json!({"path": harness.path().join("secrets/key.md")}),
            ),
            (
                "write_file",
                json!({"path": "secrets/new.md", "content": ""}),
            ),
            ("write_file", json!({"path": "link/new.md", "content": ""})),
            (
                "copy_file",
                json!({"src": "secrets/key.md", "dst": "copy.md"}),
            ),
            (
                "move_file",
                json!({"src": "open.md", "dst": "secrets/open.md"}),
            ),
            ("delete_file", json!({"path": "link/key.md"})),
            ("list_directory", json!({"path": "secrets"})),
            ("list_directory", json!({"path": "link"})),
            ("create_directory", json!({"path": "secrets/new"})),
            ("grep", json!({"pattern": "k", "path": "secrets"})),
            (
                "run_shell_command",
                json!({"command": "true", "cwd": "link"}),
            ),
        ];
        for (tool, arguments) in refused {
            let output = harness.call(tool, arguments.clone()).await;
            let reason = said(&output);
            let expected =
                denied("the user forbids `secrets` and everything below it; do without `secrets");
            assert!(
                reason.starts_with(&expected),
                "{tool} {arguments}: {reason}"
            );
        }
        calls! { harness;
            list_directory {} => "ok: link  link\nopen.md  2 B\n[left out: 1 denied by rules]";
        }
        let read = harness.call("read_file", json!({"path": "open.md"})).await;
        assert!(read.success, "{}", said(&read));
    }
    assert_eq!(harness.content("secrets/key.md").unwrap(), "k\n");
}

pub(crate) async fn a_configured_size_holds_for_every_tool_that_reads_or_writes_content(
    mut harness: ToolHarness,
) {
    let mut settings = ToolSettings::default();
    settings.file_operations.max_file_size_mb = 1;
    harness.limit(&settings);
    let (large, half) = ("x".repeat((1 << 20) + 1), "x".repeat(600 << 10));
    harness.put("large.txt", &large).unwrap();
    harness.put("half.txt", &half).unwrap();
    let patch = format!("*** Begin Patch\n*** Add File: new.txt\n+{large}\n*** End Patch\n");
    let refused = [
        (
            "update_file",
            json!({"path": "large.txt", "old": "y", "new": "z"}),
            "large.txt has",
        ),
        (
            "append_file",
            json!({"path": "half.txt", "content": half}),
            "half.txt would have",
        ),
        (
            "write_file",
            json!({"path": "new.txt", "content": large}),
            "new.txt would have",
        ),
        (
            "copy_file",
            json!({"src": "large.txt", "dst": "new.txt"}),
            "large.txt has",
        ),
        ("apply_patch", json!({"patch": patch}), "new.txt would have"),
    ];
    for (tool, arguments, begins) in refused {
        let output = harness.call(tool, arguments).await;
        let (text, expected) = (said(&output), format!("Retry: {begins}"));
        assert!(
            text.starts_with(&expected) && text.contains("more than the limit of 1 MB"),
            "{tool}: {text}"
        );
    }
    assert!(!harness.path().join("new.txt").exists());
    assert_eq!(harness.content("half.txt").unwrap().len(), half.len());
    // A larger file is read in parts, but not to be changed.
    harness
        .put("log.txt", "a line of a log\n".repeat(100_000))
        .unwrap();
    let page = harness
        .call(
            "read_file",
            json!({"path": "log.txt", "offset": 99_999, "limit": 1}),
        )
        .await;
    let expected = " 99999\ta line of a log\n[lines 99999-99999 of a file of 1 MB; continue with offset 100000]";
    assert_eq!(page.text(), expected);
    let facts = ["total_lines", "content", "size"].map(|fact| page.data[fact].clone());
    assert_eq!(
        facts,
        [Value::Null, json!("a line of a log\n"), json!(1_600_000)]
    );
    let end = harness
        .call("read_file", json!({"path": "log.txt", "offset": 100_000}))
        .await;
    assert_eq!(end.text(), "100000\ta line of a log");
    assert_eq!(end.data["total_lines"], json!(100_000));
    calls! { harness;
        read_file {"path": "log.txt", "offset": 100_001}
            => "Retry: offset 100001 is past the end: log.txt has 100000 lines";
        read_file {"path": "large.txt"}
            => "Retry: line 1 of large.txt has more than 1 MB; read it with run_shell_command";
        read_file {"path": "log.txt", "encoding": "utf-16"}
            => "Retry: log.txt has 1 MB, too much to be read in utf-16le";
    }
}

/// Two processes that never end.
const BUSY: &str = "(while :; do :; done) & while :; do :; done";

pub(crate) async fn a_command_and_an_agent_have_their_processor_time(mut harness: ToolHarness) {
    let busy = json!({"command": BUSY, "timeout": 60});
    harness.scope.limits.command_cpu = Some(Duration::from_millis(300));
    let ended = harness.call("run_shell_command", busy.clone()).await;
    assert!(
        said(&ended).contains("killed: processor time limit; `tools.code_execution.cpu_seconds`"),
        "{ended:?}"
    );
    // What the agent has left counts for all its commands together.
    harness.scope.limits.command_cpu = None;
    harness.scope.agent_cpu = AgentCpu::rest(Duration::from_millis(300));
    let ended = harness.call("run_shell_command", busy).await;
    assert!(
        said(&ended).contains("`tools.code_execution.agent_cpu_seconds` for all of an agent"),
        "{ended:?}"
    );
    harness.scope.agent_cpu = AgentCpu::rest(Duration::ZERO);
    calls! { harness;
        run_shell_command {"command": "true"} => holding("have used all its processor time");
    }
    // The control: what runs no program goes on, and a command runs where there is time.
    assert!(harness.call("list_directory", json!({})).await.success);
    harness.scope.agent_cpu = AgentCpu::rest(Duration::from_secs(60));
    assert!(
        harness
            .call("run_shell_command", json!({"command": "true"}))
            .await
            .success
    );
}

/// Two calls, and a call of two commands: what one has used, the other does not have.
pub(crate) async fn commands_share_the_rest_of_their_agents_processor_time(
    mut harness: ToolHarness,
) {
    let rest = Duration::from_millis(300);
    let busy = json!({"command": BUSY, "timeout": 60});
    harness.scope.agent_cpu = AgentCpu::rest(rest);
    let calls = ["one", "other"].map(|id| ToolCall {
        id: CallId::new(id),
        name: "run_shell_command".to_owned(),
        arguments: busy.clone(),
    });
    let [one, other] = &calls;
    let outcomes: [CallOutcome; 2] = tokio::join!(
        harness.executor.call(one, &harness.scope),
        harness.executor.call(other, &harness.scope)
    )
    .into();
    let ends = outcomes.map(|outcome| match outcome {
        CallOutcome::Done(output) => said(&output),
        other => unreachable!("{other:?}"),
    });
    let count = |words: &str| ends.iter().filter(|end| end.contains(words)).count();
    assert_eq!(
        (
            count("killed: processor time limit"),
            count("have used all its processor time")
        ),
        (1, 1),
        "{ends:?}"
    );

    let mut registry = ToolRegistry::new();
    registry
        .register(
            Arc::new(probe(|context| Box::pin(two_busy_commands(context)))),
            Category::EXEC,
        )
        .unwrap();
    let mut of_two = ToolHarness::new(registry, Sandbox::clone(&harness.scope.sandbox)).unwrap();
    of_two.scope.agent_cpu = AgentCpu::rest(rest);
    let output = of_two.call("probe", json!({})).await;
    assert!(
        said(&output).contains("have used all its processor time"),
        "{output:?}"
    );
    assert!(
        of_two.recorder.ends()[0].resource_usage.cpu_ms >= 300,
        "{output:?}"
    );
}

async fn two_busy_commands(context: &ToolContext) -> Result<Answer, ToolError> {
    let busy = || Command {
        timeout: Some(Duration::from_secs(60)),
        ..Command::new(["sh", "-c", BUSY])
    };
    let first = context.run(busy()).await?;
    assert_eq!(first.exit, Exit::CpuLimit);
    let second = context.run(busy()).await?;
    Ok(Answer::new(second.exit.to_string(), json!({})))
}

pub(crate) async fn a_command_is_cut_off_at_the_configured_time_and_memory(
    mut harness: ToolHarness,
) {
    let mut settings = ToolSettings::default();
    settings.code_execution.timeout_seconds = Some(1);
    settings.code_execution.memory_limit_mb = Some(64);
    harness.limit(&settings);
    let started = Instant::now();
    calls! { harness;
        run_shell_command {"command": "sleep 600", "timeout": 500}
            => "Timeout: timed out after 1 s";
    }
    assert!(
        started.elapsed() < Duration::from_secs(60),
        "{:?}",
        started.elapsed()
    );
    settings.code_execution.timeout_seconds = Some(60);
    harness.limit(&settings);
    let hoard = json!({"command": "head -c 200000000 /dev/zero | tail -c 200000000 | sleep 60"});
    let output = harness.call("run_shell_command", hoard).await;
    let text = said(&output);
    assert!(
        text.contains("`tools.code_execution.memory_limit_mb` sets the limit"),
        "{text}"
    );
}

pub(crate) async fn forbidden_files_are_neither_shown_nor_put_back_by_git(
    mut harness: ToolHarness,
) {
    let shown = harness.call("git_diff", json!({})).await;
    assert!(shown.text().contains("+++ b/a.txt"), "{}", shown.text());
    assert!(
        harness
            .call("git_stash", json!({"action": "push"}))
            .await
            .success
    );
    let forbid = r#"{"file_operations": {"forbidden_paths": ["a.txt"]}}"#;
    harness.limit(&serde_json::from_str::<ToolSettings>(forbid).unwrap());
    calls! { harness;
        git_diff {} => "ok: no differences\n[not shown, as the rules demand: a.txt]";
    }
    let refused = harness.call("git_stash", json!({"action": "push"})).await;
    assert_eq!(
        said(&refused),
        denied("the user forbids `a.txt` and everything below it; do without `a.txt`"),
    );
    assert_eq!(
        refused.denied_by.as_deref(),
        Some("tools.file_operations.forbidden_paths")
    );
}
