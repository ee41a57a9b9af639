//! Tests of rules and approvals: which calls are refused or parked, and what a decision is bound
//! to.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use orchestrate_core::policy::Decision;
use orchestrate_core::policy::RuleDecision::{Allow, Ask, Deny};
use orchestrate_core::policy::web::WebServiceName;
use orchestrate_core::{CallHash, ToolCall, ToolSettings};
use orchestrate_tool_testing::harness::{Recorded, ToolHarness};
use orchestrate_tools::{Answer, Approval, CallOutcome, ToolError, ToolOutput};
use serde_json::{Value, json};

use crate::probe::probe;
use crate::support::{Call, calls, harness_of, listed_calls, policy, said, starting};

fn decided(hash: &CallHash, approval: Approval) -> Arc<BTreeMap<CallHash, Approval>> {
    Arc::new(BTreeMap::from([(hash.clone(), approval)]))
}

async fn parked(harness: &ToolHarness, tool: &str, arguments: Value) -> CallHash {
    parked_again(harness, &harness.make_call(tool, arguments)).await
}

async fn parked_again(harness: &ToolHarness, call: &ToolCall) -> CallHash {
    match harness.executor.call(call, &harness.scope).await {
        CallOutcome::NeedsApproval { call, rule, .. } => {
            assert!(rule.starts_with("ask:"), "{rule} does not ask");
            call
        }
        CallOutcome::Done(output) => unreachable!("it ran: {output:?}"),
        CallOutcome::Waits => unreachable!("it waits for agents"),
    }
}

/// Repeats a call after it was decided, and returns its output.
async fn done(harness: &ToolHarness, call: &ToolCall) -> ToolOutput {
    match harness.executor.call(call, &harness.scope).await {
        CallOutcome::Done(output) => output,
        parked => unreachable!("it parks: {parked:?}"),
    }
}

pub(crate) async fn deny_goes_before_everything(mut harness: ToolHarness) {
    harness.scope.policy = policy(&[
        (Allow, "write_file"),
        (Ask, "write_file"),
        (Deny, "Edit(/secret/**)"),
    ]);
    harness.scope.ask_parks = true;
    let output = harness
        .call("write_file", json!({"path": "secret/key", "content": "x"}))
        .await;
    let reason = "the rule `deny:Edit(/secret/**)` of the test denies it";
    assert_eq!(
        said(&output),
        format!("Denied: Security validation failed: {reason}")
    );
    assert!(!harness.path().join("secret").exists());
    let records = harness.recorder.records();
    let Recorded::Started(start) = &records[0] else {
        unreachable!("{records:?}")
    };
    let expected = Decision::Deny {
        rule: "deny:Edit(/secret/**)".to_owned(),
        reason: reason.to_owned(),
    };
    assert_eq!((start.decision.clone(), records.len()), (Some(expected), 2));
}

pub(crate) async fn asking_parks_until_a_person_decides(mut harness: ToolHarness) {
    harness.scope.policy = policy(&[(Ask, "write_file")]);
    harness.scope.ask_parks = true;
    let call = harness.make_call("Write", json!({"path": "a", "content": "x"}));
    let hash = parked_again(&harness, &call).await;
    assert!(harness.recorder.records().is_empty() && !harness.path().join("a").exists());

    harness.scope.approvals = decided(
        &hash,
        Approval::Rejected {
            reason: "not there".to_owned(),
        },
    );
    let output = done(&harness, &call).await;
    let expected = "Denied: Security validation failed: the user rejected the call: not there";
    assert_eq!(said(&output), expected);
    assert!(!harness.path().join("a").exists());

    harness.scope.approvals = decided(&hash, Approval::Approved);
    let output = done(&harness, &call).await;
    assert_eq!(
        (said(&output), harness.content("a").unwrap()),
        ("ok: created a (1 B)".to_owned(), "x".to_owned())
    );

    // Nobody is asked about a call whose result has no place.
    harness.scope.result_tokens = 3;
    calls! { harness;
        write_file {"path": "b", "content": "x"}
            => starting("Retry: Resource limits exceeded: the context");
    }
}

pub(crate) async fn a_call_that_the_system_forbids_waits_for_a_person_the_second_time(
    _: ToolHarness,
) {
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&tries);
    let forbidden = ToolError::File {
        path: "a".to_owned(),
        reason: "permission denied".to_owned(),
    };
    let foreseen = forbidden.clone();
    let tool = probe(move |_| {
        let is_first = counted.fetch_add(1, Ordering::SeqCst) == 0;
        let forbidden = forbidden.clone();
        Box::pin(async move {
            if is_first {
                Err(forbidden)
            } else {
                Ok(Answer::new("done", Value::Null))
            }
        })
    });
    // What is found before is what the person is asked about.
    let mut harness = harness_of(tool.foreseeing(foreseen));
    harness.scope.ask_parks = true;
    let told = said(&harness.call("probe", json!({"text": "x"})).await);
    assert!(
        told.starts_with("File: permission denied: a\n[")
            && told.contains("make the same call again"),
        "{told}"
    );
    harness.scope.turn += 1;
    let call = harness.make_call("probe", json!({"text": "x"}));
    let CallOutcome::NeedsApproval {
        call: hash, rule, ..
    } = harness.executor.call(&call, &harness.scope).await
    else {
        unreachable!("it does not park");
    };
    assert_eq!(
        (rule.as_str(), tries.load(Ordering::SeqCst)),
        ("built-in:operating-system", 1)
    );
    harness.scope.approvals = decided(
        &hash,
        Approval::Rejected {
            reason: "leave it".to_owned(),
        },
    );
    let rejected = "Denied: Security validation failed: the user rejected the call: leave it";
    assert_eq!(said(&done(&harness, &call).await), rejected);
    harness.scope.approvals = decided(&hash, Approval::Approved);
    assert_eq!(said(&done(&harness, &call).await), "ok: done");
    // What works is not asked about again, and where no person can be asked, nothing parks.
    harness.scope.approvals = Arc::default();
    calls! { harness; probe {"text": "x"} => "ok: done"; }
    tries.store(0, Ordering::SeqCst);
    harness.scope.ask_parks = false;
    calls! { harness;
        probe {} => "File: permission denied: a";
        probe {} => "ok: done";
    }
}

/// What the system forbids is no reason to never ask about a call that a rule asks about: a person
/// can change it.
pub(crate) async fn a_call_that_is_asked_about_tells_first_that_the_system_forbids_it(
    _: ToolHarness,
) {
    let tool = probe(|_| Box::pin(async { Ok(Answer::new("done", Value::Null)) }));
    let forbidden = ToolError::File {
        path: "a".to_owned(),
        reason: "permission denied".to_owned(),
    };
    let mut harness = harness_of(tool.foreseeing(forbidden));
    harness.scope.policy = policy(&[(Ask, "probe")]);
    harness.scope.ask_parks = true;
    for text in ["x", "y"] {
        let told = said(&harness.call("probe", json!({"text": text})).await);
        assert!(
            told.starts_with("File: permission denied: a\n[")
                && told.contains("make the same call again"),
            "{told}"
        );
    }
    harness.scope.turn += 1;
    let call = harness.make_call("probe", json!({"text": "x"}));
    let hash = parked_again(&harness, &call).await;
    harness.scope.approvals = decided(&hash, Approval::Approved);
    assert_eq!(said(&done(&harness, &call).await), "ok: done");
    // It works now, so that the next time the agent is told again.
    let told = said(&harness.call("probe", json!({"text": "x"})).await);
    assert!(told.contains("make the same call again"), "{told}");
}

/// Changes that cannot be made, each with what is said of it.
const CHANGES: &str = r#"
update_file {"path": "a.txt", "old": "two", "new": "three"}
    Retry: `old` was not found in a.txt
update_file {"path": "a.txt", "old": "one", "new": "three"}
    Retry: `old` occurs 2 times in a.txt
update_file {"path": "a.txt", "old": "three", "new": "three"}
    nothing would change
update_file {"path": "b.txt", "old": "one", "new": "three"}
    Retry: file not found: b.txt
update_file {"path": "a.txt", "old": "", "new": "three"}
    Retry: `old` is empty, which creates a new file, but a.txt exists
apply_patch {"patch": "*** Begin Patch\n*** Delete File: b.txt\n*** End Patch"}
    Retry: file not found: b.txt
apply_patch {"patch": "*** Begin Patch\n*** Add File: a.txt/c\n+x\n*** End Patch"}
    Retry: not a directory: a.txt
delete_file {"path": "b.txt"}
    Retry: file not found: b.txt
delete_file {"path": "there"}
    File: is a directory: there
copy_file {"src": "b.txt", "dst": "c.txt"}
    Retry: file not found: b.txt
copy_file {"src": "there", "dst": "c"}
    File: is a directory: there
copy_file {"src": "a.txt", "dst": "there/b.txt"}
    Retry: exists already: there/b.txt
copy_file {"src": "a.txt", "dst": "there"}
    Retry: there is a directory; name the new file in it
copy_file {"src": "a.txt", "dst": "a.txt/c"}
    Retry: not a directory: a.txt
move_file {"src": "b.txt", "dst": "c.txt"}
    Retry: file not found: b.txt
move_file {"src": "there", "dst": "c"}
    File: is a directory: there
move_file {"src": "a.txt", "dst": "there/b.txt"}
    Retry: exists already: there/b.txt
move_file {"src": "a.txt", "dst": "there"}
    Retry: there is a directory; name the new file in it
move_file {"src": "a.txt", "dst": "a.txt"}
    Retry: exists already: a.txt
write_file {"path": "there", "content": "x"}
    File: is a directory: there
write_file {"path": "a.txt/new/c", "content": "x"}
    Retry: not a directory: a.txt
write_file {"path": "c", "content": "x", "encoding": "none"}
    `encoding`: expected a label
append_file {"path": "there", "content": "x"}
    File: is a directory: there
append_file {"path": "a.txt/c", "content": "x"}
    Retry: not a directory: a.txt
create_directory {"path": "a.txt"}
    Retry: a file with that name exists: a.txt
create_directory {"path": "a.txt/new"}
    Retry: not a directory: a.txt
create_directory {"path": "x/y", "parents": false}
    Retry: file not found: x
"#;

/// Nobody is asked about a change that would fail whatever the answer is.
pub(crate) async fn a_change_that_cannot_be_made_is_not_asked_about(mut harness: ToolHarness) {
    harness.put("a.txt", "one\none\n").unwrap();
    harness.put("there/b.txt", "two\n").unwrap();
    harness.scope.policy = policy(&[(Ask, "Edit"), (Ask, "create_directory")]);
    harness.scope.ask_parks = true;
    let pair = |src: &str, dst: &str| json!({"src": src, "dst": dst});
    let text = |path: &str| json!({"path": path, "content": "x"});
    let edit = |path: &str, old: &str| json!({"path": path, "old": old, "new": "three"});
    let patch =
        |changes: &str| json!({"patch": format!("*** Begin Patch\n*** {changes}\n*** End Patch")});
    for Call {
        tool,
        arguments,
        expected,
    } in listed_calls(CHANGES)
    {
        let told = said(&harness.call(tool, arguments.clone()).await);
        assert!(
            told.contains(expected) && !told.starts_with("Denied"),
            "{tool} {arguments}: {told}"
        );
    }
    for (tool, arguments) in [
        ("update_file", edit("a.txt", "one\none")),
        ("apply_patch", patch("Delete File: a.txt")),
        (
            "apply_patch",
            patch("Delete File: a.txt\n*** Add File: a.txt/c\n+x"),
        ),
        ("update_file", edit("new/c.txt", "")),
        ("delete_file", json!({"path": "a.txt"})),
        ("copy_file", pair("a.txt", "new/c.txt")),
        ("move_file", pair("a.txt", "new/c.txt")),
        ("write_file", text("new/c.txt")),
        ("append_file", text("new/c.txt")),
        ("create_directory", json!({"path": "new/c"})),
    ] {
        parked(&harness, tool, arguments).await;
    }
    assert_eq!(harness.content("a.txt").unwrap(), "one\none\n");
    assert!(
        !harness.path().join("new").exists(),
        "looking has made a folder"
    );
}

/// What a rule denies is denied, whether it is there or not, also behind a link that the rules do
/// not know.
pub(crate) async fn what_is_denied_is_not_looked_for(mut harness: ToolHarness) {
    harness.put("a.txt", "one\n").unwrap();
    harness.put("secret/there", "two\n").unwrap();
    std::os::unix::fs::symlink("secret", harness.path().join("link")).unwrap();
    let denied = [
        "Edit(/secret/**)",
        "Read(/secret/**)",
        "create_directory(/secret/**)",
    ]
    .map(|rule| (Deny, rule));
    let [edit, read, create] = denied;
    harness.scope.policy = policy(&[(Ask, "Edit"), (Ask, "create_directory"), edit, read, create]);
    harness.scope.ask_parks = true;
    for path in ["secret/there", "secret/none", "link/there"] {
        for (tool, arguments) in [
            ("copy_file", json!({"src": "a.txt", "dst": path})),
            ("copy_file", json!({"src": path, "dst": "new"})),
            ("move_file", json!({"src": "a.txt", "dst": path})),
            ("move_file", json!({"src": path, "dst": "new"})),
            ("write_file", json!({"path": path, "content": "x"})),
            ("append_file", json!({"path": path, "content": "x"})),
            ("delete_file", json!({"path": path})),
        ] {
            let told = said(&harness.call(tool, arguments.clone()).await);
            assert!(
                told.starts_with("Denied: ") && told.contains("(/secret/**)"),
                "{tool} {arguments}: {told}"
            );
        }
    }
    for (tool, arguments) in [
        ("copy_file", json!({"src": "a.txt", "dst": "link/none"})),
        ("move_file", json!({"src": "a.txt", "dst": "link/none"})),
        ("write_file", json!({"path": "link/none", "content": "x"})),
        (
            "write_file",
            json!({"path": "link/there/none", "content": "x"}),
        ),
        ("create_directory", json!({"path": "secret/new"})),
        ("create_directory", json!({"path": "link/new"})),
    ] {
        let told = said(&harness.call(tool, arguments.clone()).await);
        assert!(
            told.starts_with("Denied: ") && told.contains("(/secret/**)"),
            "{tool} {arguments}: {told}"
        );
    }
}

/// What is told of an edit says what is in its file, which an agent that may not read the file has
/// to ask for.
pub(crate) async fn what_must_not_be_read_is_not_told_of_a_change(mut harness: ToolHarness) {
    harness
        .put("secret/key", "password = 1\npassword = 2\n")
        .unwrap();
    let edit = |old: &str| json!({"path": "secret/key", "old": old, "new": "x"});
    let begin = "*** Begin Patch\n*** Update File: secret/key\n@@";
    let hunk = |old: &str| json!({"patch": format!("{begin}\n-{old}\n+x\n*** End Patch")});
    harness.scope.ask_parks = true;
    for read in [
        (Deny, "Read(/secret/**)"),
        (Ask, "Read(/secret/**)"),
        (Deny, "file_read(/secret/**)"),
    ] {
        harness.scope.policy = policy(&[(Ask, "Edit"), read]);
        for (tool, arguments) in [
            ("update_file", edit("password = 3")),
            ("update_file", edit("password")),
            ("update_file", edit("password = 1")),
            ("apply_patch", hunk("password = 3")),
            ("apply_patch", hunk("password = 1")),
        ] {
            parked(&harness, tool, arguments).await;
        }
        let none = said(
            &harness
                .call(
                    "update_file",
                    json!({"path": "secret/none", "old": "a", "new": "b"}),
                )
                .await,
        );
        assert!(
            none.starts_with("Retry: file not found: secret/none"),
            "{none}"
        );
        // Nor by one that nobody is asked about.
        harness.scope.policy = policy(&[read]);
        for old in ["password = 3", "password"] {
            let told = said(&harness.call("update_file", edit(old)).await);
            assert_eq!(
                told,
                "Retry: `old` does not occur once in secret/key, which you may not read"
            );
        }
    }
    harness
        .put("secret/a.json", "{\"a\": 1,\n\"password\": 2}\n")
        .unwrap();
    let breaks = json!({"path": "secret/a.json", "old": "1,", "new": "1"});
    let told = said(&harness.call("update_file", breaks).await);
    assert!(
        told.starts_with("ok: updated secret/a.json") && !told.contains("password"),
        "{told}"
    );
}

/// Returns what a call is told under a rule that asks about its tool; `None` if the user is asked.
async fn told(harness: &mut ToolHarness, tool: &str, arguments: &Value) -> Option<String> {
    harness.scope.policy = policy(&[(Ask, tool)]);
    match harness.outcome(tool, arguments.clone()).await {
        CallOutcome::NeedsApproval { .. } => None,
        CallOutcome::Done(output) => Some(said(&output)),
        CallOutcome::Waits => unreachable!("{tool} {arguments} waits for agents"),
    }
}

/// Nobody is asked about running what cannot run.
pub(crate) async fn what_cannot_run_is_not_asked_about(mut harness: ToolHarness) {
    harness.put("a.txt", "one\n").unwrap();
    std::os::unix::fs::symlink("..", harness.path().join("out")).unwrap();
    harness.scope.ask_parks = true;
    let within = |cwd: &str| json!({"command": "true", "cwd": cwd});
    for (tool, arguments, expected) in [
        (
            "run_shell_command",
            within("none"),
            "Retry: file not found: none",
        ),
        (
            "run_shell_command",
            within("a.txt"),
            "Retry: not a directory: a.txt",
        ),
        (
            "run_shell_command",
            within(".."),
            "`..` is outside the worktree",
        ),
        (
            "run_shell_command",
            within("out"),
            "`out` leads through a link out of the worktree",
        ),
        (
            "run_tests",
            json!({}),
            "Retry: found no tests that this can run",
        ),
        (
            "run_linter",
            json!({"files": ["none.rs"]}),
            "Retry: file not found: none.rs",
        ),
        (
            "run_linter",
            json!({"files": ["a.txt"]}),
            "Retry: found no linter for a.txt",
        ),
        (
            "run_type_checker",
            json!({"files": ["a.txt"]}),
            "Retry: found no type checker for a.txt",
        ),
        (
            "run_formatter",
            json!({}),
            "Retry: found no formatter for this project",
        ),
        (
            "create_virtual_environment",
            json!({"path": "a.txt"}),
            "Retry: exists already: a.txt",
        ),
    ] {
        let told = told(&mut harness, tool, &arguments)
            .await
            .unwrap_or_default();
        assert!(told.contains(expected), "{tool} {arguments}: {told}");
    }
    harness.put("Makefile", "test:\n\ttrue\n").unwrap();
    let part = json!({"test_pattern": "one"});
    let refusal = told(&mut harness, "run_tests", &part)
        .await
        .unwrap_or_default();
    assert!(
        refusal.contains("`make` runs all tests or none; leave `test_pattern` out"),
        "{refusal}"
    );
    harness.put("b.py", "").unwrap();
    for (tool, arguments) in [
        ("run_shell_command", within(".")),
        ("run_tests", json!({})),
        ("run_linter", json!({"files": ["b.py"]})),
        ("run_type_checker", json!({})),
        ("run_formatter", json!({})),
        ("create_virtual_environment", json!({"path": ".venv"})),
    ] {
        assert_eq!(
            told(&mut harness, tool, &arguments).await,
            None,
            "{tool} {arguments}"
        );
    }
}

/// Calls that cannot find what they look for, each with what is said of it.
const LOOKS: &str = r#"
read_file {"path": "none"}
    Retry: file not found: none
read_file {"path": "there"}
    File: is a directory: there
read_file {"path": "artifact:a1"}
    there is no artifact `a1`
read_file {"path": "there/a.txt", "encoding": "none"}
    `encoding`: expected a label
get_file_info {"path": "none"}
    Retry: file not found: none
list_directory {"path": "none"}
    Retry: file not found: none
list_directory {"path": "there/a.txt"}
    Retry: not a directory: there/a.txt
search_files {"pattern": "a{b", "path": "there"}
    the glob `a{b`
search_files {"pattern": "*", "path": "none"}
    Retry: file not found: none
grep {"pattern": "(", "path": "there", "glob": "*"}
    `pattern`: 
grep {"pattern": "a", "path": "there", "glob": "a{b"}
    the glob `a{b`
grep {"pattern": "a", "path": "none", "glob": "*"}
    Retry: file not found: none
find_code_patterns {"pattern": "$X.a()", "language": "latin", "path": "there"}
    `language`: expected one of
find_code_patterns {"pattern": "fn (", "language": "rust", "path": "there"}
    `pattern`: the pattern is not rust code
find_code_patterns {"pattern": "$X.a()", "language": "rust", "path": "none"}
    Retry: file not found: none
find_similar_code {"code_snippet": "a + b"}
    `code_snippet`: the snippet cannot be compared
find_similar_code {"code_snippet": "fn a(b: u32) -> u32 {\n    let c = b + 1;\n    let d = c * 2;\n    println!(\"{c} {d}\");\n    c + d\n}\n", "path": "none"}
    Retry: file not found: none
analyze_code_structure {"path": "none"}
    Retry: file not found: none
measure_code_complexity {"files": ["none"]}
    Retry: file not found: none
measure_code_complexity {"files": ["none", "nowhere"]}
    exist; file not found: nowhere
analyze_dependencies {"path": "none"}
    Retry: file not found: none
analyze_dependencies {"path": "there/a.txt"}
    neither a manifest nor code
analyze_performance {"path": "none"}
    Retry: file not found: none
analyze_performance {}
    expected either `profiling_data` or `path`
"#;

/// Nobody is asked about looking for what cannot be found.
pub(crate) async fn what_cannot_be_read_is_not_asked_about(mut harness: ToolHarness) {
    harness.put("there/a.txt", "one\n").unwrap();
    harness.put("there/a.rs", "fn main() {}\n").unwrap();
    harness.scope.ask_parks = true;
    let at = |path: &str| json!({"path": path});
    let grep = |pattern: &str, path: &str, glob: &str| json!({"pattern": pattern, "path": path, "glob": glob});
    let pattern = |pattern: &str, language: &str, path: &str| json!({"pattern": pattern, "language": language, "path": path});
    let snippet = "fn a(b: u32) -> u32 {\n    let c = b + 1;\n    let d = c * 2;\n    println!(\"{c} {d}\");\n    c + d\n}\n";
    let similar = |path: &str| json!({"code_snippet": snippet, "path": path});
    for Call {
        tool,
        arguments,
        expected,
    } in listed_calls(LOOKS)
    {
        let told = told(&mut harness, tool, &arguments)
            .await
            .unwrap_or_default();
        assert!(told.contains(expected), "{tool} {arguments}: {told}");
    }
    for (tool, arguments) in [
        ("read_file", at("there/a.txt")),
        ("get_file_info", at("there")),
        ("list_directory", at("there")),
        ("search_files", json!({"pattern": "*"})),
        ("grep", grep("a", "there", "*")),
        ("grep", grep("a", "there/a.txt", "*")),
        ("find_code_patterns", pattern("$X.a()", "rust", "there")),
        ("find_similar_code", similar("there")),
        ("analyze_code_structure", at("there/a.rs")),
        ("measure_code_complexity", json!({})),
        // What is there is measured without the other one.
        (
            "measure_code_complexity",
            json!({"files": ["none", "there"]}),
        ),
        ("analyze_dependencies", at("there")),
        ("analyze_performance", at("there/a.txt")),
    ] {
        assert_eq!(
            told(&mut harness, tool, &arguments).await,
            None,
            "{tool} {arguments}"
        );
    }
}

/// Calls of services that cannot be carried out, each with what is said of it.
const SERVICES: &str = r#"
read_skill {"name": "none"}
    there is no skill `none`
git_add {"files": ["nowhere"]}
    there is no file `nowhere`
git_commit {"message": "nothing"}
    nothing to commit
git_branch {"action": "delete", "branch_name": "nowhere"}
    there is no branch `nowhere`
git_checkout {"branch_or_commit": "nowhere"}
    there is no commit `nowhere`
git_merge {"branch": "nowhere"}
    there is no branch `nowhere`
git_stash {"action": "pop"}
    the stash is empty
send_message_to_agent {"agent_id": "T9", "message": "x"}
    there is no agent `T9`
get_agent_status {"agent_id": "T9"}
    there is no agent `T9`
spawn_child_agent {"task": "x", "role": "nobody"}
    there is no role `nobody`
terminate_agent {"agent_id": "T9"}
    there is no agent `T9`
wait_for_agents {"agent_ids": ["T2", "T9"]}
    there is no agent `T9`
wait_for_agents {"agent_ids": ["T3"], "timeout": 31536001}
    31536001 s are too long to wait
aggregate_agent_results {"agent_ids": ["T9"]}
    there is no agent `T9`
"#;

/// Nobody is asked about what no service can do.
pub(crate) async fn what_no_service_can_do_is_not_asked_about(mut harness: ToolHarness) {
    harness.scope.ask_parks = true;
    for Call {
        tool,
        arguments,
        expected,
    } in listed_calls(SERVICES)
    {
        let told = told(&mut harness, tool, &arguments)
            .await
            .unwrap_or_default();
        assert!(
            told.starts_with("Retry: ") && told.contains(expected),
            "{tool} {arguments}: {told}"
        );
    }
    for (tool, arguments) in [
        ("read_plan", json!({"section": "Goal"})),
        // A refusal would tell which sections there are.
        ("read_plan", json!({"section": "None"})),
        ("read_skill", json!({"name": "release"})),
        ("web_search", json!({"query": "rust"})),
        ("git_add", json!({"files": ["a.txt"]})),
        ("git_commit", json!({"message": "Add it"})),
        ("git_branch", json!({"action": "list"})),
        ("git_checkout", json!({"branch_or_commit": "HEAD"})),
        ("git_merge", json!({"branch": "T2"})),
        ("git_stash", json!({})),
        (
            "send_message_to_agent",
            json!({"agent_id": "T2", "message": "x"}),
        ),
        ("get_agent_status", json!({"agent_id": "T2"})),
        ("spawn_child_agent", json!({"task": "x"})),
        ("terminate_agent", json!({"agent_id": "T3"})),
        ("wait_for_agents", json!({"agent_ids": ["T3"]})),
        ("aggregate_agent_results", json!({"agent_ids": ["T2"]})),
    ] {
        assert_eq!(
            told(&mut harness, tool, &arguments).await,
            None,
            "{tool} {arguments}"
        );
    }
    let agents = &harness.agents;
    assert!(agents.sent().is_empty() && agents.children().is_empty() && agents.waits().is_empty());
    // As shipped, no service is chosen; one of these has no address, and the other one needs a key.
    harness.web.lack_keys();
    for (service, expected) in [
        (None, "no search service is chosen"),
        (
            Some(WebServiceName::Searxng),
            "`searxng` has no address of its own",
        ),
        (
            Some(WebServiceName::Brave),
            "api.search.brave.com: it requires a key in the variable BRAVE_API_KEY",
        ),
    ] {
        let mut settings = ToolSettings::default();
        settings.web_requests.search_service = service;
        harness.limit(&settings);
        let refusal = told(&mut harness, "web_search", &json!({"query": "rust"}))
            .await
            .unwrap_or_default();
        assert!(refusal.contains(expected), "{refusal}");
    }
}

pub(crate) async fn asking_is_refusing_without_a_person(mut harness: ToolHarness) {
    harness.scope.policy = policy(&[(Ask, "Bash(git push:*)")]);
    let output = harness.call("Bash", json!({"command": "git push"})).await;
    let expected = "Denied: Security validation failed: the rule `ask:Bash(git push:*)` needs approval, which nobody can give in this run; do without the call";
    assert_eq!(said(&output), expected);
    // The control: where somebody can be asked, the same call waits for the answer.
    harness.scope.ask_parks = true;
    parked(&harness, "Bash", json!({"command": "git push"})).await;
}

pub(crate) async fn an_approval_fits_one_call_only(mut harness: ToolHarness) {
    harness.scope.policy = policy(&[(Ask, "write_file")]);
    harness.scope.ask_parks = true;
    let hash = parked(&harness, "write_file", json!({"path": "a", "content": "x"})).await;
    let same = parked(
        &harness,
        "write_file",
        json!({"content": "x", "file_path": "./a"}),
    )
    .await;
    assert_eq!(hash, same, "the same call, written otherwise");
    harness.scope.approvals = decided(&hash, Approval::Approved);
    let twin = ToolCall {
        id: "twin".into(),
        ..harness.make_call("write_file", json!({"path": "a", "content": "x"}))
    };
    assert_ne!(
        hash,
        parked_again(&harness, &twin).await,
        "the same call once more in one turn"
    );
    let other = parked(&harness, "write_file", json!({"path": "a", "content": "y"})).await;
    harness.scope.turn += 1;
    let later = parked(&harness, "write_file", json!({"path": "a", "content": "x"})).await;
    assert!(hash != other && hash != later && other != later);
    assert!(!harness.path().join("a").exists());
    // The control: the very call that was approved runs.
    harness.scope.turn -= 1;
    let approved = harness.make_call("write_file", json!({"path": "a", "content": "x"}));
    assert_eq!(
        said(&done(&harness, &approved).await),
        "ok: created a (1 B)"
    );
    assert_eq!(harness.content("a").unwrap(), "x");
}

/// Whoever allows a command for all time has seen its words, and the file that it runs may change.
pub(crate) async fn an_allowed_command_is_confined_whatever_its_file_says(
    mut harness: ToolHarness,
) {
    harness.scope.policy = policy(&[(Allow, "run_shell_command(sh check.sh)")]);
    let canary = harness.outside().join("canary");
    let changed = format!("echo checked > second; echo out > '{}'", canary.display());
    for (script, made) in [
        ("echo checked > first", "first"),
        (changed.as_str(), "second"),
    ] {
        harness.put("check.sh", script).unwrap();
        let output = harness
            .call("run_shell_command", json!({"command": "sh check.sh"}))
            .await;
        assert_eq!(
            harness.content(made).unwrap_or_default(),
            "checked\n",
            "{}",
            output.text()
        );
    }
    assert!(!canary.exists(), "it left the sandbox");
    let records = harness.recorder.records();
    let allowed = records.iter().filter_map(|record| match record {
        Recorded::Started(start) => Some(matches!(start.decision, Some(Decision::Allow { .. }))),
        Recorded::Ended(_) => None,
    });
    assert_eq!(allowed.collect::<Vec<_>>(), [true, true], "{records:?}");
    // The control: without the sandbox, the same file writes there.
    let status = std::process::Command::new("sh")
        .arg("check.sh")
        .current_dir(harness.path())
        .status()
        .unwrap();
    assert!(status.success() && canary.exists());
}
