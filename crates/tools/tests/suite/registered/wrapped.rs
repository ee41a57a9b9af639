//! Tests of the tools that `.tool` files define, through the executor and in the sandbox.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;

use orchestrate_core::event::settings::ToolFile;
use orchestrate_core::policy::{Grant, RuleDecision};
use orchestrate_tool_testing::conformance::{Specimen, check};
use orchestrate_tool_testing::harness::{Recorded, ToolHarness};
use orchestrate_tools::{CallOutcome, ToolOutput, ToolRegistry, add_tool_files, plain_tools};
use serde_json::{Value, json};

use crate::support::{calls, holding, policy, said, starting};

/// The reference's own `glob.tool`, under another name.
const FIND_VALA: &str = "Find files matching glob patterns using find. The working directory is the project directory \
    by default. Common usage: [\".\", \"-type\", \"f\", \"-name\", \"*.vala\"] to find all .vala files.\n\n\
    @title Glob Pattern Matching\n@name find_vala\n@wrapped run_command\n@command find {arguments} -type f\n\
    @param arguments {array<string>} [required] Array of strings that will be passed to the command\n";
/// A tool of a stranger's, with one value and with none.
const HEAD: &str = "Shows the first lines.\n\n@title Head\n@name first_lines\n@wrapped Bash\n\
    @command head -n {count} -- {path}\n@param path {string} [required] The file\n@param count {integer} [required]\n";
const QUICK: &str =
    "@name quick\n@wrapped run_command\n@param command {string} [required]\n@param cwd {string}\n";
const GONE: &str =
    "Runs nothing.\n\n@title Gone\n@name gone\n@wrapped Bash\n@command no-such-program {ARGS}\n";

fn registry() -> ToolRegistry {
    let file = |text: &str| ToolFile {
        path: "x.tool".to_owned(),
        text: text.to_owned(),
    };
    let mut registry = plain_tools().unwrap();
    let files = [FIND_VALA, HEAD, QUICK, GONE].map(file);
    assert_eq!(add_tool_files(&mut registry, &files), []);
    registry
}

/// Creates a worktree with a few files, whose agent has the tools of these files.
pub(crate) fn with_files(harness: &ToolHarness) -> ToolHarness {
    let harness = ToolHarness::new(registry(), (*harness.scope.sandbox).clone()).unwrap();
    harness.put("a.vala", "one\ntwo\nthree\n").unwrap();
    harness.put("src/b.vala", "$(touch made) ; a  b\n").unwrap();
    harness.put("src/c.c", "int c;\n").unwrap();
    harness
}

/// Returns the lines of a successful command, in order.
fn lines(output: &ToolOutput) -> BTreeSet<String> {
    assert!(output.success, "{}", output.text());
    output.data["stdout"]
        .as_str()
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

fn set(lines: &[&str]) -> BTreeSet<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

pub(crate) async fn the_example_of_the_reference_finds_the_files(harness: ToolHarness) {
    let harness = with_files(&harness);
    let arguments = json!({"arguments": [".", "-type", "f", "-name", "*.vala"]});
    for tool in ["glob", "Glob", "find_vala"] {
        let output = harness.call(tool, arguments.clone()).await;
        assert_eq!(lines(&output), set(&["./a.vala", "./src/b.vala"]), "{tool}");
        assert_eq!(output.exit_code, Some(0));
    }
    let output = harness
        .call("grep", json!({"arguments": ["-rn", "int", "."]}))
        .await;
    assert_eq!(lines(&output), set(&["./src/c.c:1:int c;"]));
    let output = harness
        .call("LS", json!({"arguments": ["-1", "src"]}))
        .await;
    assert_eq!(lines(&output), set(&["b.vala", "c.c"]));
    // What is recorded can be called again as it stands.
    for record in harness.recorder.records() {
        let Recorded::Started(record) = record else {
            continue;
        };
        let again = harness.call(&record.tool, record.arguments.clone()).await;
        assert!(again.success, "{}: {}", record.tool, again.text());
    }
}

pub(crate) async fn a_name_has_two_forms(harness: ToolHarness) {
    let harness = with_files(&harness);
    let built_in = harness.call("glob", json!({"pattern": "**/*.vala"})).await;
    assert!(
        built_in.success && built_in.text().contains("src/b.vala"),
        "{}",
        built_in.text()
    );
    let built_in = harness.call("grep", json!({"pattern": "int c"})).await;
    assert!(
        built_in.success && built_in.text().contains("c.c"),
        "{}",
        built_in.text()
    );
    let tools: Vec<String> = harness
        .recorder
        .records()
        .into_iter()
        .filter_map(|record| match record {
            Recorded::Started(record) => Some(record.tool),
            Recorded::Ended(_) => None,
        })
        .collect();
    assert_eq!(tools, ["search_files", "grep"]);
}

pub(crate) async fn nothing_is_split_or_interpreted(harness: ToolHarness) {
    let harness = with_files(&harness);
    let output = harness
        .call(
            "grep",
            json!({"arguments": ["-rhF", "$(touch made) ; a  b", "src"]}),
        )
        .await;
    assert_eq!(lines(&output), set(&["$(touch made) ; a  b"]));
    let output = harness
        .call(
            "ls",
            json!({"arguments": ["a.vala; touch made", "`touch made`"]}),
        )
        .await;
    assert_eq!((output.success, output.exit_code), (false, Some(2)));
    assert!(!harness.path().join("made").exists());
    // The control: a shell splits and interprets the same words.
    let output = harness
        .call(
            "run_shell_command",
            json!({"command": "ls a.vala; touch made"}),
        )
        .await;
    assert!(
        output.success && harness.path().join("made").exists(),
        "{}",
        output.text()
    );
}

pub(crate) async fn one_value_fills_one_word_and_is_no_option(harness: ToolHarness) {
    let harness = with_files(&harness);
    let output = harness
        .call("first_lines", json!({"count": 2, "path": "a.vala"}))
        .await;
    assert_eq!(lines(&output), set(&["one", "two"]));
    let output = harness
        .call("first_lines", json!({"count": 1, "path": "--version"}))
        .await;
    let expected = "Retry: Invalid parameters: `path`: expected a value that does not begin with `-`, got \"--version\"";
    assert_eq!(said(&output), expected);
}

pub(crate) async fn a_wrapper_without_a_command_calls_the_wrapped_tool(harness: ToolHarness) {
    let harness = with_files(&harness);
    let output = harness
        .call(
            "quick",
            json!({"command": "cat c.c | tr c d", "cwd": "src"}),
        )
        .await;
    assert_eq!(lines(&output), set(&["int d;"]));
    calls! { harness;
        quick {"command": "ls", "cwd": "../x"} => holding("is outside the worktree");
        quick {"command": "ls", "network": true} => "Retry: Invalid parameters: unknown: `network`";
    }
}

pub(crate) async fn a_program_that_is_absent_is_named(harness: ToolHarness) {
    let harness = with_files(&harness);
    let output = harness.call("gone", json!({"arguments": []})).await;
    assert!(
        !output.success && output.text().contains("no-such-program"),
        "{}",
        output.text()
    );
}

pub(crate) async fn arguments_must_be_an_array_of_strings(harness: ToolHarness) {
    let harness = with_files(&harness);
    let required = "Retry: Invalid parameters: `arguments` is required but missing; expected an array of strings";
    let table = [
        ("find_vala", json!({}), required),
        ("find_vala", json!({"arguments": null}), required),
        (
            "find_vala",
            json!({"arguments": "."}),
            "Retry: Invalid parameters: `arguments`: expected array, got \".\"",
        ),
        (
            "glob",
            json!({"arguments": "."}),
            "Retry: Invalid parameters: `arguments`: expected array, got \".\"",
        ),
        (
            "glob",
            json!({"arguments": [".", 3]}),
            "Retry: Invalid parameters: `arguments.1`: expected string, got 3",
        ),
        (
            "glob",
            json!({"arguments": ["a\u{0}b"]}),
            "Retry: Invalid parameters: `arguments` contains a NUL byte",
        ),
        (
            "glob",
            json!({"arguments": ["."], "pattern": "*"}),
            "Retry: Invalid parameters: unknown: `pattern`",
        ),
        (
            "find_vala",
            json!({"arguments": ["."], "argv": ["id"]}),
            "Retry: Invalid parameters: unknown: `argv`",
        ),
        (
            "Bash",
            json!({"command": "ls", "argv": ["id"]}),
            "Retry: Invalid parameters: unknown: `argv`",
        ),
    ];
    for (tool, arguments, expected) in table {
        assert_eq!(
            said(&harness.call(tool, arguments.clone()).await),
            expected,
            "{tool} {arguments}"
        );
    }
}

pub(crate) async fn rules_hold_for_program_and_arguments(harness: ToolHarness) {
    let mut harness = with_files(&harness);
    let find = json!({"arguments": [".", "-name", "x"]});
    let removes = json!({"arguments": [".", "-exec", "rm", "{}", ";"]});
    let denied = [
        ("Bash(find *)", "find_vala", &find),
        ("Bash(find:*)", "glob", &find),
        ("run_shell_command", "find_vala", &find),
        ("code_execution", "glob", &find),
        ("find_vala", "find_vala", &find),
        ("find_vala(find . *)", "find_vala", &find),
        ("Glob", "glob", &find),
        ("search_files", "Glob", &find),
        ("Bash(rm *)", "find_vala", &removes),
        ("Bash(rm *)", "glob", &removes),
    ];
    for (rule, tool, arguments) in denied {
        harness.scope.policy = policy(&[(RuleDecision::Deny, rule)]);
        let output = harness.call(tool, arguments.clone()).await;
        assert!(
            said(&output).starts_with("Denied: Security validation failed: the rule"),
            "{rule}: {}",
            said(&output)
        );
    }
    harness.scope.policy = policy(&[
        (RuleDecision::Deny, "Bash(git push *)"),
        (RuleDecision::Deny, "Bash(grep *)"),
    ]);
    assert!(harness.call("find_vala", find.clone()).await.success);
    harness.scope.policy = policy(&[(RuleDecision::Ask, "Bash(find *)")]);
    harness.scope.ask_parks = true;
    let outcome = harness.outcome("find_vala", find.clone()).await;
    let CallOutcome::NeedsApproval {
        tool, arguments, ..
    } = outcome
    else {
        unreachable!("nobody is asked")
    };
    // The arguments alone do not show what would run.
    let shown =
        json!({"arguments": find["arguments"], "run_shell_command": "find . -name x -type f"});
    assert_eq!((tool.as_str(), arguments), ("find_vala", shown));
    // What the wrapped tool could not do is not asked about.
    harness.scope.policy = policy(&[(RuleDecision::Ask, "run_shell_command")]);
    calls! { harness;
        quick {"command": "true", "cwd": "none"} => starting("Retry: file not found: none");
    }
    assert!(harness.path().join("a.vala").exists());
}

pub(crate) async fn a_role_has_a_wrapper_only_if_it_may_run_it(harness: ToolHarness) {
    let mut harness = with_files(&harness);
    let find = json!({"arguments": ["."]});
    harness.scope.grant = Arc::new(Grant::of_tools(["search_files", "grep", "list_directory"]));
    let expected = "Denied: Security validation failed: `glob` with `arguments` runs a command, and this agent's role \
        does not grant `run_shell_command` (code_execution); call `search_files` with `pattern` instead";
    assert_eq!(said(&harness.call("Glob", find.clone()).await), expected);
    assert!(
        said(&harness.call("find_vala", find.clone()).await).contains("does not grant `find_vala`")
    );
    harness.scope.grant = Arc::new(Grant::of_tools(["run_shell_command"]));
    assert!(
        said(&harness.call("Glob", find.clone()).await).contains("does not grant `search_files`")
    );
    // A role that lists a wrapper need not list what it wraps.
    harness.scope.grant = Arc::new(Grant::of_tools(["find_vala"]));
    assert!(harness.call("find_vala", find.clone()).await.success);
    let mut grant = Grant::of_tools(["find_vala"]);
    grant.permissions.clear();
    harness.scope.grant = Arc::new(grant);
    assert!(
        said(&harness.call("find_vala", find).await)
            .contains("does not grant `find_vala` (code_execution)")
    );
}

pub(crate) async fn shipped_and_strange_wrappers_conform(harness: ToolHarness) {
    let registry = registry();
    let second = |name: &str| Arc::clone(registry.second_form(name).unwrap());
    let own = |name: &str| Arc::clone(registry.tool(name).unwrap());
    let specimens = [
        (second("glob"), json!({"arguments": ["."]})),
        (second("grep"), json!({"arguments": ["-r", "one", "."]})),
        (second("ls"), json!({"arguments": []})),
        (own("find_vala"), json!({"arguments": ["."]})),
        (own("first_lines"), json!({"path": "a.txt", "count": 1})),
        (own("quick"), json!({"command": "true"})),
    ];
    let mut faults = Vec::new();
    for (tool, valid) in specimens {
        let name = tool.name().to_owned();
        let prepare = |harness: &ToolHarness| harness.put("a.txt", "one\n");
        let naming_path: &dyn Fn(&str) -> Vec<Value> = &|_| Vec::new();
        let specimen = Specimen {
            tool,
            valid,
            missing: None,
            naming_path,
            prepare: &prepare,
        };
        let found = check(&specimen, &harness.scope.sandbox).await.unwrap();
        faults.extend(found.into_iter().map(|fault| format!("{name}: {fault}")));
    }
    assert_eq!(faults, Vec::<String>::new());
}

pub(crate) async fn a_wrapper_cannot_leave_the_sandbox(harness: ToolHarness) {
    let harness = with_files(&harness);
    let secret = harness.outside().join("secret");
    fs::write(&secret, "hidden\n").unwrap();
    let output = harness
        .call("grep", json!({"arguments": ["", secret.to_str().unwrap()]}))
        .await;
    assert!(
        !output.success && !output.text().contains("hidden"),
        "{}",
        output.text()
    );
    let outside = harness.outside().join("made");
    let arguments = json!({"arguments": ["a.vala", "-fprint", outside.to_str().unwrap()]});
    // The full tier has a folder for temporary files of its own, in which it may succeed.
    let output = harness.call("glob", arguments).await;
    assert!(!outside.exists(), "{}", output.text());
}
