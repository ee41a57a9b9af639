//! Tests of commands in the strongest sandbox that works on this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use orchestrate_core::policy::{Grant, Permission, RuleDecision};
use orchestrate_sandbox::{Confinement, Sandbox};
use orchestrate_tool_testing::harness::ToolHarness;
use orchestrate_tools::{
    Answer, Category, Command, ExecutionResult, ToolContext, ToolError, ToolRegistry,
};
use serde_json::json;

use crate::probe::probe;
use crate::support::{calls, harness_of, holding, policy, said};

/// Returns the text without the duration at its end, which differs from run to run.
fn without_duration(text: &str) -> &str {
    text.rsplit_once(", ").map_or(text, |(before, _)| before)
}

pub(crate) async fn the_exit_code_comes_last(harness: ToolHarness) {
    harness.put("sub/a", "in sub\n").unwrap();
    let output = harness
        .call(
            "Bash",
            json!({"command": "cat a; echo err >&2; echo made > b", "cwd": "sub"}),
        )
        .await;
    assert!(output.success, "{}", output.text());
    assert_eq!(
        without_duration(&output.text()),
        "in sub\n[standard error]\nerr\n[exit code 0"
    );
    assert_eq!(harness.content("sub/b").unwrap(), "made\n");
    let output = harness
        .call("run_shell_command", json!({"command": "true"}))
        .await;
    assert_eq!(
        without_duration(&output.text()),
        "(no output)\n[exit code 0"
    );
}

pub(crate) async fn a_failing_command_keeps_its_output(harness: ToolHarness) {
    let output = harness
        .call("run_shell_command", json!({"command": "echo why; exit 7"}))
        .await;
    assert_eq!(
        (output.success, output.error.as_deref(), output.error_kind),
        (false, Some("exit code 7"), None)
    );
    assert_eq!(without_duration(&output.text()), "why\n[exit code 7");
    let result: ExecutionResult = serde_json::from_value(output.data).unwrap();
    let expected = ExecutionResult {
        exit_code: Some(7),
        exit: "exit code 7".to_owned(),
        stdout: "why\n".to_owned(),
        stderr: String::new(),
        duration_ms: result.duration_ms,
        egress: Vec::new(),
    };
    assert_eq!(result, expected);
    let ends = harness.recorder.ends();
    assert_eq!((ends[0].exit_code, ends[0].success), (Some(7), false));
}

pub(crate) async fn a_command_out_of_time_shows_what_it_said(harness: ToolHarness) {
    let started = Instant::now();
    let output = harness
        .call(
            "run_shell_command",
            json!({"command": "echo begun; sleep 600", "timeout": 1}),
        )
        .await;
    assert_eq!(said(&output), "Timeout: timed out after 1 s");
    let more = "[ask for more with `timeout`, up to 600 s]";
    assert_eq!(
        output.text(),
        format!("ERROR: timed out after 1 s\n{more}\nIts output until then:\nbegun")
    );
    assert!(
        started.elapsed() < Duration::from_secs(60),
        "{:?}",
        started.elapsed()
    );
}

/// At the longest limit, there is no more to ask for.
pub(crate) async fn a_command_killed_at_the_longest_limit_says_so(mut harness: ToolHarness) {
    harness.scope.limits.max_command_timeout = Duration::from_secs(1);
    let output = harness
        .call(
            "run_shell_command",
            json!({"command": "sleep 600", "timeout": 900}),
        )
        .await;
    let most = "[1 s is the most that a call gets here; do it in smaller parts]";
    assert_eq!(output.text(), format!("ERROR: timed out after 1 s\n{most}"));
}

pub(crate) async fn a_long_output_is_cut_and_kept(harness: ToolHarness) {
    let output = harness
        .call("run_shell_command", json!({"command": "seq 1 20000"}))
        .await;
    assert!(
        output.success && output.text().len() < 12_500,
        "{}",
        output.text().len()
    );
    assert!(
        output.text().starts_with("1\n2\n") && output.text().contains("\n20000\n[exit code 0, "),
        "{}",
        output.text()
    );
    assert_eq!(output.artifacts.len(), 1);
    calls! { harness;
        read_file {"path": "artifact:a1", "offset": 10_000, "limit": 1}
            => "ok:  10000\t10000\n[lines 10000-10000 of 20000; continue with offset 10001]";
    }
}

pub(crate) async fn the_environment_is_not_inherited(harness: ToolHarness) {
    let output = harness
        .call("run_shell_command", json!({"command": "env"}))
        .await;
    assert!(output.success, "{}", output.text());
    let inherited: Vec<String> = std::env::vars()
        .map(|(name, _)| name)
        .filter(|name| {
            name.starts_with("CARGO_PKG") || name.contains("TOKEN") || name.contains("SECRET")
        })
        .collect();
    assert!(!inherited.is_empty(), "cargo sets some of these");
    for name in inherited {
        assert!(!output.text().contains(&format!("{name}=")), "{name}");
    }
    assert!(
        output.text().contains("TERM=dumb") && output.text().contains("PATH="),
        "{}",
        output.text()
    );
    // Neither a file of the repository nor an earlier call sets a variable that loads code.
    harness
        .put(
            ".env",
            "NODE_OPTIONS=--require=./evil.js\nBASH_ENV=./evil.sh\n",
        )
        .unwrap();
    let exported = "export RUSTC_WRAPPER=./evil.sh GIT_EXTERNAL_DIFF=./evil.sh; env";
    let output = harness
        .call("run_shell_command", json!({ "command": exported }))
        .await;
    assert!(
        output.text().contains("RUSTC_WRAPPER=./evil.sh"),
        "the control sets none: {}",
        output.text()
    );
    let output = harness
        .call("run_shell_command", json!({"command": "env"}))
        .await;
    assert!(
        output.success && !output.text().contains("evil"),
        "{}",
        output.text()
    );
}

pub(crate) async fn a_command_starts_inside_the_worktree_only(harness: ToolHarness) {
    std::os::unix::fs::symlink("/", harness.path().join("root")).unwrap();
    for cwd in ["/", "..", "../other-agent", "root", "root/etc"] {
        let output = harness
            .call("run_shell_command", json!({"command": "pwd", "cwd": cwd}))
            .await;
        assert!(
            said(&output).starts_with("Denied: Security validation failed: "),
            "{cwd}: {}",
            said(&output)
        );
    }
    let secret = harness.outside().join("secret");
    fs::write(&secret, "outside").unwrap();
    let reach = format!("cat {0}; echo evil > {0}; true", secret.display());
    let output = harness
        .call("run_shell_command", json!({ "command": reach }))
        .await;
    assert!(!output.text().contains("outside\n"), "{}", output.text());
    assert_eq!(fs::read_to_string(secret).unwrap(), "outside");
}

/// Rules and settings of the user's for the network.
fn with_network(mut harness: ToolHarness) -> ToolHarness {
    let rules = [
        (RuleDecision::Allow, "network_access(*.org)"),
        (RuleDecision::Deny, "network_access(evil.org)"),
    ];
    harness.scope.policy = policy(&rules);
    harness.limit(&orchestrate_core::ToolSettings::default());
    harness
}

pub(crate) async fn the_network_is_asked_for_by_its_hosts(harness: ToolHarness) {
    let harness = with_network(harness);
    let asked = "needs approval for `*.crates.io`, which nobody can give in this run; do without the call; the user can \
                 allow it with a rule such as `network_access(HOST)`";
    let listed = "the rule `tools.web_requests.allowed_domains` needs approval";
    let table = [
        (
            json!({"network": true}),
            "the rule `built-in:network` needs approval for the network without named hosts, which nobody can give in \
             this run; name the hosts in `domains`, since a rule allows some",
        ),
        (json!({"network": true, "domains": ["crates.io"]}), listed),
        // Listed for the tools of the web, which does not say that a program may send there.
        (
            json!({"network": true, "domains": ["docs.python.org", "api.github.com"]}),
            "built-in:network",
        ),
        (
            json!({"network": true, "domains": ["example.org", "*.crates.io"]}),
            asked,
        ),
        (
            json!({"network": true, "domains": ["example.org", "EVIL.org."]}),
            "the rule `deny:network_access(evil.org)`",
        ),
        // No answer opens it.
        (
            json!({"network": true, "domains": ["example.org", "127.0.0.1"]}),
            "which is for this machine",
        ),
        (
            json!({"domains": ["example.org"]}),
            "`domains` has no effect without `network`",
        ),
        (
            json!({"network": true, "domains": ["https://example.org/"]}),
            "`https://example.org/` in `domains` is no host",
        ),
        (
            json!({"network": true, "domains": ["*"]}),
            "`*` in `domains` is no host",
        ),
        (
            json!({"network": true, "domains": [""]}),
            "`` in `domains` is no host",
        ),
        (
            json!({"network": true, "domains": vec!["example.org"; 21]}),
            "`domains` has more than 20 hosts",
        ),
    ];
    for (mut arguments, expected) in table {
        arguments["command"] = json!("touch a");
        let output = harness.call("run_shell_command", arguments.clone()).await;
        assert!(
            said(&output).contains(expected),
            "{arguments}: {}",
            said(&output)
        );
    }
    // Without a rule for any host, naming one is no way.
    let mut harness = harness;
    harness.scope.policy = policy(&[]);
    let output = harness
        .call(
            "run_shell_command",
            json!({"command": "touch a", "network": true}),
        )
        .await;
    let nobody = "the rule `built-in:network` needs approval, which nobody can give in this run; do without the call";
    assert!(said(&output).contains(nobody), "{}", said(&output));
    let role = Grant {
        permissions: [Permission::CodeExecution].into(),
        ..Grant::clone(&harness.scope.grant)
    };
    harness.scope.grant = Arc::new(role);
    let networked = json!({"command": "touch a", "network": true, "domains": ["example.org"]});
    calls! { harness;
        run_shell_command (networked)
            => holding("does not grant `run_shell_command` (network_access)");
    }
    assert!(!harness.path().join("a").exists());
}

pub(crate) async fn only_a_tier_with_sockets_of_its_own_has_a_network(harness: ToolHarness) {
    // The kernel decides that in the fallback tier.
    let has_network = harness.scope.sandbox.require_egress().is_ok();
    let mut harness = with_network(harness);
    let networked = json!({"command": "touch a; echo $https_proxy", "network": true, "domains": ["example.org"]});
    let output = harness.call("run_shell_command", networked).await;
    if !has_network {
        assert!(
            said(&output).contains("give a program the network in the"),
            "{}",
            said(&output)
        );
        assert_eq!(output.denied_by.as_deref(), Some("built-in:no-egress"));
        assert!(!harness.path().join("a").exists());
        // Nobody is asked about a call that cannot succeed.
        harness.scope.ask_parks = true;
        let output = harness
            .call(
                "run_shell_command",
                json!({"command": "touch a", "network": true}),
            )
            .await;
        assert_eq!(
            output.denied_by.as_deref(),
            Some("built-in:no-egress"),
            "{}",
            said(&output)
        );
        return;
    }
    assert!(
        output.success && output.text().starts_with("http://127.0.0.1:3128\n"),
        "{}",
        output.text()
    );
    let refused = "\n[the network refused http://localhost/ (rule built-in:address): `localhost` is this machine, and the user \
        does not name that host]\n[the network refused http://api.github.com/ (rule built-in:network): ";
    assert!(output.text().contains(refused), "{}", output.text());
    let result: ExecutionResult = serde_json::from_value(output.data).unwrap();
    let decided: Vec<(bool, Option<String>)> = result
        .egress
        .into_iter()
        .map(|made| (made.allowed, made.host))
        .collect();
    // The last one is listed for the tools of the web, as shipped, and neither the call nor a rule
    // names it.
    let expected = [
        (true, "example.org"),
        (false, "localhost"),
        (false, "api.github.com"),
    ];
    assert_eq!(
        decided,
        expected.map(|(allowed, host)| (allowed, Some(host.to_owned())))
    );
}

/// What it has sent cannot be taken back, although the worktree is as it was.
pub(crate) async fn a_command_with_a_network_is_not_run_again(harness: ToolHarness) {
    if harness.scope.sandbox.confinement() != Confinement::Full {
        return;
    }
    let mut harness = with_network(harness);
    harness.scope.limits.command_timeout = Duration::from_secs(1);
    let networked = json!({"command": "sleep 600", "network": true, "domains": ["example.org"]});
    let output = harness.call("run_shell_command", networked).await;
    assert_eq!(
        (said(&output).as_str(), output.recovered),
        ("Timeout: timed out after 1 s", Vec::new())
    );
}

pub(crate) async fn a_cancelled_command_is_interrupted(harness: ToolHarness) {
    let cancel = harness.scope.cancel.clone();
    let begun = harness.path().join("begun");
    let call = harness.call(
        "run_shell_command",
        json!({"command": "touch begun; sleep 600"}),
    );
    let stop = async {
        while !begun.exists() {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (output, ()) = tokio::join!(call, stop);
    // The answer is the same as if the program had been killed during the call, before its end was
    // recorded.
    let call = harness.recorder.ends()[0].call.clone();
    assert_eq!(
        output.to_answer(),
        orchestrate_tools::ToolOutput::interrupted(&call).to_answer()
    );
    let end = &harness.recorder.ends()[0];
    assert_eq!(end.to_answer(), output.to_answer());
    assert_eq!(harness.recorder.ends().len(), 1);
}

/// The processes are still there when the program ends, so they are seen however short it runs.
pub(crate) async fn what_a_command_used_is_recorded(harness: ToolHarness) {
    let busy = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
    let command = format!("{busy}; sleep 1000 & sleep 1000 & echo done; exit 3");
    let output = harness
        .call("run_shell_command", json!({"command": command}))
        .await;
    let used = output.resource_usage;
    assert_eq!(
        (output.exit_code, used.processes, used.output_bytes),
        (Some(3), 3, 4),
        "{}",
        output.text()
    );
    assert!(
        used.cpu_ms > 0 && used.wall_ms >= 1 && used.peak_memory_bytes > 1 << 16,
        "{used:?}"
    );
    assert_eq!(
        used.wall_ms,
        u64::try_from(output.execution_time.as_millis()).unwrap()
    );
    assert_eq!(harness.recorder.ends()[0].resource_usage, used);
}

/// A tool of a library runs its commands as the built-in ones do.
pub(crate) async fn a_strangers_tool_runs_a_command(confined: ToolHarness) {
    let mut registry = ToolRegistry::new();
    registry
        .register(
            Arc::new(probe(|context| Box::pin(count_lines(context)))),
            Category::EXEC,
        )
        .unwrap();
    let mut harness = ToolHarness::new(registry, Sandbox::clone(&confined.scope.sandbox)).unwrap();
    harness.put("sub/a", "").unwrap();
    let output = harness.call("probe", json!({})).await;
    assert_eq!(
        output.text(),
        format!("2\nlines\n{}", harness.path().join("sub").display())
    );
    assert_eq!(
        (&output.data, output.resource_usage.processes),
        (&json!({"exit": "exit code 4"}), 2)
    );

    harness.scope.policy = policy(&[(RuleDecision::Deny, "run_shell_command(sh *)")]);
    let denied = said(&harness.call("probe", json!({})).await);
    assert!(
        denied.starts_with("Denied: Security validation failed: ") && denied.contains("sh *"),
        "{denied}"
    );

    harness.scope.policy = policy(&[]);
    harness.scope.grant = Arc::new(Grant {
        permissions: BTreeSet::new(),
        ..Grant::of_tools(["probe"])
    });
    let denied = said(&harness.call("probe", json!({})).await);
    assert!(
        denied.starts_with("Denied: ") && denied.contains("code_execution"),
        "{denied}"
    );
}

async fn count_lines(context: &ToolContext) -> Result<Answer, ToolError> {
    let command = Command {
        stdin: b"one\ntwo\n".to_vec(),
        env: BTreeMap::from([("WORD".to_owned(), "lines".to_owned())]),
        cwd: "sub".to_owned(),
        ..Command::new(["sh", "-c", "wc -l; echo $WORD; pwd; sleep 1000 & exit 4"])
    };
    let finished = context.run(command).await?;
    Ok(Answer::new(
        finished.stdout.text(),
        json!({"exit": finished.exit.to_string()}),
    ))
}

/// How a command of a tool ends badly is an error of its class.
pub(crate) async fn a_strangers_command_that_cannot_end_is_an_error(_: ToolHarness) {
    let run = |command: Command| {
        harness_of(probe(move |context| {
            let command = command.clone();
            Box::pin(async move { context.run(command).await.map(|_| Answer::default()) })
        }))
    };
    let late = Command {
        timeout: Some(Duration::from_millis(50)),
        ..Command::new(["sh", "-c", "echo so far; sleep 1000"])
    };
    let table = [
        (late, "Timeout: timed out after 0 s"),
        (Command::new(["./absent"]), "Execution: failed to "),
        (
            Command {
                cwd: "absent".to_owned(),
                ..Command::new(["true"])
            },
            "Retry: file not found: absent",
        ),
        (
            Command {
                cwd: "../..".to_owned(),
                ..Command::new(["true"])
            },
            "Denied: Security validation failed: ",
        ),
        (Command::new([""; 0]), "Execution: the command is empty"),
    ];
    for (command, expected) in table {
        let argv = command.argv.clone();
        let harness = run(command);
        let output = harness.call("probe", json!({})).await;
        assert!(
            said(&output).starts_with(expected),
            "{argv:?}: {}",
            said(&output)
        );
    }
    let harness = run(Command::new(["true"]));
    harness.scope.cancel.cancel();
    assert!(said(&harness.call("probe", json!({})).await).starts_with("Interrupted: "));
}
