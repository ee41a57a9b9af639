//! Tests of what happens after a call has failed: another try, another tool, or a class of tools
//! out of order.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use orchestrate_core::event::Recovery;
use orchestrate_core::policy::RuleDecision::{Ask, Deny};
use orchestrate_tool_testing::harness::{Recorded, ToolHarness};
use orchestrate_tools::{
    Answer, Approval, CallOutcome, Category, GitChange, Tool, ToolError, ToolRegistry,
};
use serde_json::{Value, json};

use crate::probe::probe;
use crate::support::{calls, policy, said, starting, unconfined};

fn network() -> ToolError {
    ToolError::Network("no route".to_owned())
}

fn busy(seconds: u64) -> ToolError {
    ToolError::Busy {
        reason: "slow down".to_owned(),
        wait: Duration::from_secs(seconds),
    }
}

fn timeout(seconds: u64) -> ToolError {
    ToolError::Timeout {
        seconds,
        partial: "so far".to_owned(),
        notes: String::new(),
    }
}

fn unavailable() -> ToolError {
    ToolError::Unavailable("failed to start the sandbox".to_owned())
}

fn absent() -> ToolError {
    ToolError::Absent("it is not installed".to_owned())
}

/// A tool that fails with these errors, one after another, and then answers with the factor of its
/// time.
macro_rules! failing_probe {
    ($errors:expr, $tries:expr) => {{
        let (errors, tries): (Vec<ToolError>, Arc<AtomicUsize>) = ($errors, Arc::clone($tries));
        probe(move |context| {
            let number = tries.fetch_add(1, Ordering::SeqCst);
            let factor = context.limits().time_factor;
            let error = errors.get(number).cloned();
            Box::pin(async move {
                error.map_or_else(|| Ok(Answer::new(format!("x{factor}"), json!(null))), Err)
            })
        })
    }};
}

fn harness_of(tools: Vec<Arc<dyn Tool>>) -> ToolHarness {
    let mut registry = ToolRegistry::new();
    for tool in tools {
        registry.register(tool, Category::MEMORY).unwrap();
    }
    let mut harness = ToolHarness::new(registry, unconfined()).unwrap();
    harness.scope.limits.longest_retry_wait = Duration::ZERO;
    harness
}

/// Returns what was done about failures, as it is recorded.
fn recovered(harness: &ToolHarness) -> Vec<Recovery> {
    let end = harness
        .recorder
        .records()
        .into_iter()
        .rev()
        .find_map(|record| match record {
            Recorded::Ended(end) => Some(end),
            Recorded::Started(_) => None,
        });
    end.unwrap().recovered
}

pub(crate) async fn each_class_of_failure_is_handled_by_its_strategy(_: ToolHarness) {
    let longer = "ok: [it ran out of 60 s, and was run once more with a longer limit]\nx2";
    let (again, twice) = ("[it was tried again]", "[it was tried again 2 times]");
    let denied = ToolError::Denied {
        reason: "no".to_owned(),
        rule: "r".to_owned(),
    };
    let file = ToolError::File {
        path: "a".to_owned(),
        reason: "permission denied".to_owned(),
    };
    let table: [(Vec<ToolError>, bool, usize, String); 15] = [
        (vec![timeout(60)], true, 2, longer.to_owned()),
        (
            vec![timeout(60), timeout(120)],
            true,
            2,
            "Timeout: timed out after 120 s".to_owned(),
        ),
        (
            vec![timeout(600)],
            true,
            1,
            "Timeout: timed out after 600 s".to_owned(),
        ),
        (
            vec![timeout(60)],
            false,
            1,
            "Timeout: timed out after 60 s".to_owned(),
        ),
        (vec![network()], true, 2, format!("ok: {again}\nx1")),
        (
            vec![network(), network(), network()],
            true,
            3,
            format!("Network: no route\n{twice}"),
        ),
        (vec![network()], false, 1, "Network: no route".to_owned()),
        (vec![busy(0)], true, 2, format!("ok: {again}\nx1")),
        // No try comes before the time that the server asks for.
        (vec![busy(1)], true, 1, "Network: slow down".to_owned()),
        (
            vec![unavailable(), unavailable()],
            false,
            3,
            format!("ok: {twice}\nx1"),
        ),
        (
            vec![absent()],
            true,
            1,
            "Execution: it is not installed".to_owned(),
        ),
        (
            vec![ToolError::Execution("broken".to_owned())],
            true,
            1,
            "Execution: broken".to_owned(),
        ),
        (
            vec![ToolError::Retry("no such file".to_owned())],
            true,
            1,
            "Retry: no such file".to_owned(),
        ),
        (
            vec![denied],
            true,
            1,
            "Denied: Security validation failed: no".to_owned(),
        ),
        (vec![file], true, 1, "File: permission denied: a".to_owned()),
    ];
    for (errors, is_repeatable, expected, words) in table {
        let tries = Arc::new(AtomicUsize::new(0));
        let tool = failing_probe!(errors.clone(), &tries).repeatable(is_repeatable);
        let harness = harness_of(vec![Arc::new(tool)]);
        let output = harness.call("probe", json!({})).await;
        assert!(
            said(&output).starts_with(&words),
            "{errors:?}: {}",
            said(&output)
        );
        assert_eq!(tries.load(Ordering::SeqCst), expected, "{errors:?}");
        assert_eq!(recovered(&harness).len(), expected - 1, "{errors:?}");
    }
}

pub(crate) async fn another_tool_answers_for_one_that_cannot(_: ToolHarness) {
    let tables: [(Vec<ToolError>, &str); 4] = [
        (vec![timeout(60), timeout(120)], "timed out after 120 s"),
        (vec![network(), network(), network()], "no route"),
        (
            vec![ToolError::Denied {
                reason: "no".to_owned(),
                rule: "r".to_owned(),
            }],
            "Security validation failed: no",
        ),
        (vec![absent()], "it is not installed"),
    ];
    for (errors, why) in tables {
        let [tries, own] = [(), ()].map(|()| Arc::new(AtomicUsize::new(0)));
        let other = failing_probe!(Vec::new(), &tries).named("other");
        let broken = failing_probe!(errors, &own).repeatable(true).or(&["other"]);
        let mut harness = harness_of(vec![Arc::new(broken), Arc::new(other)]);
        calls! { harness;
            probe {"text": "a"}
                => format!("ok: [`probe` failed: {why}; `other` answered instead]\nx1");
        }
        let expected = Recovery::Alternative {
            tool: "other".to_owned(),
            rule: "default".to_owned(),
        };
        assert_eq!(recovered(&harness).last(), Some(&expected));
        assert_eq!(tries.load(Ordering::SeqCst), 1);
        // What a rule denies is no alternative.
        harness.scope.policy = policy(&[(Deny, "other")]);
        own.store(0, Ordering::SeqCst);
        let refused = said(&harness.call("probe", json!({"text": "a"})).await);
        assert!(
            refused.contains(why) && tries.load(Ordering::SeqCst) == 1,
            "{refused}"
        );
    }
}

pub(crate) async fn a_configured_tool_answers_for_one_that_cannot(_: ToolHarness) {
    let tries = Arc::new(AtomicUsize::new(0));
    let errors = [Arc::new(AtomicUsize::new(0)), Arc::clone(&tries)];
    let tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(failing_probe!(vec![absent()], &errors[0])),
        Arc::new(failing_probe!(vec![absent()], &tries).named("other")),
    ];
    let mut harness = harness_of(tools);
    let alternative = |name: &str| Arc::new([("probe".to_owned(), name.to_owned())].into());
    harness.scope.alternatives = alternative("other");
    let output = harness.call("probe", json!({})).await;
    let expected = "Execution: it is not installed\n[`other` instead: it is not installed]";
    assert_eq!(said(&output), expected, "neither can");
    harness.scope.alternatives = alternative("absent");
    errors[0].store(0, Ordering::SeqCst);
    // That it cannot answer is said, not passed over.
    let expected = "Execution: it is not installed\n[`absent` instead: Tool 'absent' not found; similar tools: `other`, `probe`]";
    assert_eq!(said(&harness.call("probe", json!({})).await), expected);
}

/// A call that another tool would answer once it is approved is not refused because its own tool is
/// known to fail.
pub(crate) async fn a_call_that_another_tool_would_answer_is_asked_about(_: ToolHarness) {
    let [own, tries] = [(), ()].map(|()| Arc::new(AtomicUsize::new(0)));
    let tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(failing_probe!(vec![absent()], &own).foreseeing(absent())),
        Arc::new(failing_probe!(Vec::new(), &tries).named("other")),
    ];
    let mut harness = harness_of(tools);
    harness.scope.policy = policy(&[(Ask, "probe")]);
    harness.scope.ask_parks = true;
    let call = harness.make_call("probe", json!({}));
    let CallOutcome::Done(refused) = harness.executor.call(&call, &harness.scope).await else {
        unreachable!("nobody could help");
    };
    assert_eq!(said(&refused), "Execution: it is not installed");
    harness.scope.alternatives = Arc::new([("probe".to_owned(), "other".to_owned())].into());
    let CallOutcome::NeedsApproval { call: hash, .. } =
        harness.executor.call(&call, &harness.scope).await
    else {
        unreachable!("it does not park");
    };
    harness.scope.approvals = Arc::new([(hash, Approval::Approved)].into());
    let CallOutcome::Done(output) = harness.executor.call(&call, &harness.scope).await else {
        unreachable!("it was approved");
    };
    let expected = "ok: [`probe` failed: it is not installed; `other` answered instead]\nx1";
    assert_eq!(said(&output), expected);
}

pub(crate) async fn a_class_out_of_order_is_refused_until_a_call_succeeds(_: ToolHarness) {
    let (tries, broken) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(true)));
    let (count, is_broken) = (Arc::clone(&tries), Arc::clone(&broken));
    let tool = probe(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        let result = if *is_broken.lock().unwrap() {
            Err(unavailable())
        } else {
            Ok(Answer::new("works", Value::Null))
        };
        Box::pin(async move { result })
    });
    let mut harness = harness_of(vec![Arc::new(tool)]);
    for _ in 0..3 {
        assert!(
            said(&harness.call("probe", json!({})).await)
                .starts_with("Execution: failed to start the sandbox")
        );
    }
    assert_eq!(
        tries.swap(0, Ordering::SeqCst),
        9,
        "three calls of three tries"
    );
    let refused = said(&harness.call("probe", json!({})).await);
    let words = "Execution: the tools of the category `memory` are out of order: failed to start the sandbox; their calls \
                 are refused until one that tries again succeeds, which may be in 30 s";
    assert!(refused.starts_with(words), "{refused}");
    assert_eq!(tries.load(Ordering::SeqCst), 0, "nothing ran");
    // One that tries and fails changes nothing, and one that succeeds ends it.
    harness.scope.limits.probe_after = Duration::ZERO;
    harness.call("probe", json!({})).await;
    assert_eq!(tries.swap(0, Ordering::SeqCst), 3);
    *broken.lock().unwrap() = false;
    assert_eq!(said(&harness.call("probe", json!({})).await), "ok: works");
    harness.scope.limits.probe_after = Duration::from_secs(30);
    assert_eq!(said(&harness.call("probe", json!({})).await), "ok: works");
}

pub(crate) async fn a_program_that_is_absent_is_replaced(harness: ToolHarness) {
    let mut harness = crate::registered::wrapped::with_files(&harness);
    harness.put("b/c.txt", "1\n").unwrap();
    harness.scope.alternatives = Arc::new([("gone".to_owned(), "ls".to_owned())].into());
    let output = harness.call("gone", json!({"arguments": ["b"]})).await;
    let text = output.text();
    let words = "[`gone` failed: failed to find the program \"no-such-program\" inside the sandbox; `ls` answered instead]";
    assert!(
        output.success && text.starts_with(words) && text.contains("\nc.txt\n"),
        "{text}"
    );
}

pub(crate) async fn a_command_that_changed_nothing_gets_more_time(mut harness: ToolHarness) {
    harness.scope.limits.command_timeout = Duration::from_secs(1);
    let command = "if [ -e tried ]; then echo done; else touch tried; sleep 60; fi";
    let output = harness
        .call("run_shell_command", json!({"command": command}))
        .await;
    let text = output.text();
    assert!(
        text.starts_with("[it ran out of 1 s, and was run once more with a longer limit]\ndone\n"),
        "{text}"
    );
    assert_eq!(recovered(&harness), [Recovery::RanLonger { seconds: 1 }]);
    // An agent's own limit is not changed.
    std::fs::remove_file(harness.path().join("tried")).unwrap();
    calls! { harness;
        run_shell_command {"command": command, "timeout": 1}
            => starting("Timeout: timed out after 1 s");
    }
}

pub(crate) async fn a_command_ended_in_the_middle_names_what_it_changed(mut harness: ToolHarness) {
    harness.scope.limits.command_timeout = Duration::from_secs(1);
    let change = |path: &str| GitChange {
        status: 'M',
        path: path.to_owned(),
    };
    *harness.git.changes.lock() = vec![change("a.txt"), change("b.txt")];
    let output = harness
        .call(
            "run_shell_command",
            json!({"command": "echo half; sleep 60"}),
        )
        .await;
    let text = output.text();
    let words = "[it was ended in the middle, after changes of a.txt, b.txt; `git_checkout` with `0123456789ab` and these \
                 paths brings them back as they were before it]";
    assert!(
        text.contains(words) && recovered(&harness).is_empty(),
        "{text}"
    );
    // What ran to its end is not undone.
    let output = harness
        .call("run_shell_command", json!({"command": "exit 3"}))
        .await;
    assert!(
        !output.text().contains("in the middle"),
        "{}",
        output.text()
    );
}
