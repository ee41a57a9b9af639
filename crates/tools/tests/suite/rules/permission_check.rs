//! Tests that a call is decided without a run as the executor decides it.

use std::os::unix::fs::symlink;
use std::sync::Arc;

use orchestrate_core::ToolSettings;
use orchestrate_core::event::settings::ToolFile;
use orchestrate_core::policy::RuleDecision::{Ask, Deny};
use orchestrate_core::policy::{Decision, Policy, RuleDecision};
use orchestrate_tool_testing::harness::ToolHarness;
use orchestrate_tools::{
    Answered, CallOutcome, ErrorKind, PermissionCheck, ToolRegistry, add_tool_files, plain_tools,
};
use serde_json::{Value, json};

use crate::support::{policy, said};

/// A rule, or settings of tools as JSON; the tool; the words that are asked about; the arguments of
/// the same call; and what both have to answer: the check, and the executor if that is not the
/// same.
type Row = (
    Rules,
    &'static str,
    &'static [&'static str],
    Value,
    &'static [&'static str],
);

enum Rules {
    None,
    One(RuleDecision, &'static str),
    Settings(&'static str),
}

const SAY: &str = "Says it.\n\n@title Say\n@name say\n@wrapped Bash\n@command echo good {arguments}\n@param arguments {array<string>} [required]\n";
const KINDS: &str = r#"{"file_operations": {"allowed_extensions": [".py", ".md"]}}"#;
const FORBIDDEN: &str = r#"{"file_operations": {"forbidden_paths": ["docs"]}}"#;

fn rows() -> Vec<Row> {
    use Rules::{None, One, Settings};
    let writes = |path: &str| json!({"path": path, "content": "x"});
    let path = |path: &str| json!({ "path": path });
    let url = |url: &str| json!({ "url": url });
    let copy = || json!({"src": "docs/b.md", "dst": "x.md"});
    let no_docs = || One(Deny, "Write(/docs/**)");
    let echo_only = || Settings(r#"{"code_execution": {"allowed_commands": ["echo"]}}"#);
    vec![
        (
            One(Deny, "Bash(echo good:*)"),
            "say",
            &["hi"],
            json!({"arguments": ["hi"]}),
            &["deny"],
        ),
        (
            echo_only(),
            "say",
            &["hi"],
            json!({"arguments": ["hi"]}),
            &["allow"],
        ),
        (
            echo_only(),
            "Bash",
            &["id"],
            json!({"command": "id"}),
            &["deny"],
        ),
        (
            echo_only(),
            "Bash",
            &["echo a; id"],
            json!({"command": "echo a; id"}),
            &["ask"],
        ),
        (
            Settings(KINDS),
            "list_directory",
            &["src"],
            path("src"),
            &["allow"],
        ),
        (
            Settings(KINDS),
            "create_directory",
            &["newdir"],
            path("newdir"),
            &["allow"],
        ),
        (
            Settings(KINDS),
            "grep",
            &["src"],
            json!({"pattern": "x", "path": "src"}),
            &["allow"],
        ),
        (
            Settings(KINDS),
            "write_file",
            &["a.rs"],
            writes("a.rs"),
            &["deny"],
        ),
        (
            no_docs(),
            "write_file",
            &["src/link/b.md"],
            writes("src/link/b.md"),
            &["deny"],
        ),
        (
            no_docs(),
            "write_file",
            &["src/link/new/c.md"],
            writes("src/link/new/c.md"),
            &["deny"],
        ),
        (
            no_docs(),
            "write_file",
            &["src/c.md"],
            writes("src/c.md"),
            &["allow"],
        ),
        (
            no_docs(),
            "read_file",
            &["src/link/b.md"],
            path("src/link/b.md"),
            &["allow"],
        ),
        (
            no_docs(),
            "write_file",
            &["../c.md"],
            writes("../c.md"),
            &["deny"],
        ),
        (
            One(Ask, "Write(/docs/**)"),
            "write_file",
            &["docs/c.md"],
            writes("docs/c.md"),
            &["ask"],
        ),
        (
            One(Ask, "Write(/docs/**)"),
            "write_file",
            &["src/link/b.md"],
            writes("src/link/b.md"),
            &["deny"],
        ),
        (
            One(Deny, "Read(/docs/**)"),
            "copy_file",
            &["docs/b.md", "x.md"],
            copy(),
            &["deny"],
        ),
        (
            One(Deny, "Read(/docs/**)"),
            "move_file",
            &["docs/b.md", "x.md"],
            copy(),
            &["deny"],
        ),
        (
            One(Deny, "Read(/docs/**)"),
            "grep",
            &["-r", "b", "docs"],
            json!({"arguments": ["-r", "b", "docs"]}),
            &["allow"],
        ),
        (
            Settings(FORBIDDEN),
            "list_directory",
            &["src/link"],
            path("src/link"),
            &["deny"],
        ),
        (
            Settings(FORBIDDEN),
            "Bash",
            &[r#"{"command": "pwd", "cwd": "src/link"}"#],
            json!({"command": "pwd", "cwd": "src/link"}),
            &["deny"],
        ),
        (
            One(Deny, "Bash(python3:*)"),
            "run_python",
            &[],
            json!({"code": "1"}),
            &["deny"],
        ),
        (None, "run_python", &["1"], json!({"code": "1"}), &["allow"]),
        (
            One(Deny, "Bash(pytest:*)"),
            "run_tests",
            &[],
            json!({}),
            &["deny"],
        ),
        (
            One(Deny, "Bash(python3 -m pytest:*)"),
            "run_tests",
            &[],
            json!({}),
            &["deny"],
        ),
        (
            One(Ask, "Bash(python3:*)"),
            "run_tests",
            &[],
            json!({}),
            &["deny"],
        ),
        (
            One(Deny, "Bash(cargo:*)"),
            "run_tests",
            &[],
            json!({}),
            &["allow"],
        ),
        (
            One(Deny, "Bash(git push:*)"),
            "run_tests",
            &[],
            json!({}),
            &["allow"],
        ),
        (
            One(Deny, "Bash(ruff:*)"),
            "run_linter",
            &[],
            json!({}),
            &["deny"],
        ),
        (
            One(Deny, "Bash(git push:*)"),
            "run_formatter",
            &["src/a.py"],
            json!({"files": ["src/a.py"]}),
            &["allow"],
        ),
        (
            Settings(r#"{"code_execution": {"allowed_commands": ["pytest"]}}"#),
            "run_tests",
            &[],
            json!({}),
            &["deny"],
        ),
        (
            One(Deny, "Bash(git push:*)"),
            "run_python",
            &["1"],
            json!({"code": "1"}),
            &["allow"],
        ),
        (None, "run_tests", &[], json!({}), &["allow"]),
        (
            One(Ask, "fetch_url"),
            "fetch_url",
            &["https://a.example:25/"],
            url("https://a.example:25/"),
            &["deny"],
        ),
        (
            One(Ask, "fetch_url"),
            "fetch_url",
            &["http://localhost/"],
            url("http://localhost/"),
            &["deny"],
        ),
        (
            One(Ask, "fetch_url"),
            "fetch_url",
            &["https://a.example/"],
            url("https://a.example/"),
            &["ask"],
        ),
        // What the tool itself does not take, no rule decides about.
        (
            None,
            "fetch_url",
            &["https://me:pw@a.example/"],
            url("https://me:pw@a.example/"),
            &["refused"],
        ),
        (
            None,
            "fetch_url",
            &[r#"{"url": "https://me:pw@a.example/"}"#],
            url("https://me:pw@a.example/"),
            &["refused"],
        ),
        (
            One(Deny, "fetch_url"),
            "WebFetch",
            &["not a url"],
            url("not a url"),
            &["refused"],
        ),
        (
            None,
            "WebFetch",
            &["not a url", "text"],
            json!({"arguments": ["not a url", "text"]}),
            &["refused"],
        ),
    ]
}

fn registry() -> ToolRegistry {
    let mut registry = plain_tools().unwrap();
    let file = ToolFile {
        path: "say.tool".to_owned(),
        text: SAY.to_owned(),
    };
    assert_eq!(add_tool_files(&mut registry, &[file]), []);
    registry
}

/// Creates a worktree under these rules, in which `src/link` leads to `docs`.
fn harness(of: &ToolHarness, rules: &Rules) -> ToolHarness {
    let mut harness = ToolHarness::new(registry(), (*of.scope.sandbox).clone()).unwrap();
    harness.put("docs/b.md", "b\n").unwrap();
    harness.put("src/a.py", "a = 1\n").unwrap();
    harness
        .put("test_a.py", "def test_a():\n    pass\n")
        .unwrap();
    harness
        .put("pyproject.toml", "[tool.pytest.ini_options]\n")
        .unwrap();
    symlink("../docs", harness.path().join("src/link")).unwrap();
    harness.scope.ask_parks = true;
    harness.scope.policy = Arc::new(Policy::default());
    match rules {
        Rules::None => {}
        Rules::One(decision, rule) => harness.scope.policy = policy(&[(*decision, rule)]),
        Rules::Settings(settings) => {
            harness.limit(&serde_json::from_str::<ToolSettings>(settings).unwrap())
        }
    }
    harness
}

pub(crate) async fn a_call_is_decided_as_by_the_executor(any: ToolHarness) {
    for (rules, tool, words, arguments, expected) in rows() {
        let harness = harness(&any, &rules);
        let scope = &harness.scope;
        let (policy, grant) = (Arc::clone(&scope.policy), Arc::clone(&scope.grant));
        let check = PermissionCheck::new(registry(), policy, grant, harness.path()).unwrap();
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let what = format!("{tool} {words:?}");
        let (answer, reason) = match check.decide(tool, &words).unwrap().unwrap() {
            Answered::Decided(Decision::Allow { .. }) => ("allow", String::new()),
            Answered::Decided(Decision::Ask { rule }) => ("ask", rule),
            Answered::Decided(Decision::Deny { reason, .. }) => ("deny", reason),
            Answered::Refused { reason } => ("refused", reason),
            Answered::Unknown { reason } => ("unknown", reason),
        };
        assert_eq!(answer, expected[0], "{what}: {reason}");
        let (executed, message) = match harness.outcome(tool, arguments).await {
            CallOutcome::NeedsApproval { rule, .. } => ("ask", rule),
            CallOutcome::Done(output) if output.error_kind == Some(ErrorKind::Denied) => {
                ("deny", said(&output))
            }
            CallOutcome::Done(output)
                if answer == "refused" && output.error_kind == Some(ErrorKind::Retry) =>
            {
                ("refused", said(&output))
            }
            CallOutcome::Done(output) => ("allow", said(&output)),
            CallOutcome::Waits => ("allow", "it waits".to_owned()),
        };
        assert_eq!(executed, expected[expected.len() - 1], "{what}: {message}");
        assert!(
            answer != executed || answer == "allow" || message.contains(&reason),
            "{what}: {reason} | {message}"
        );
    }
}

pub(crate) async fn a_choice_that_rules_judge_differently_is_not_known(mut harness: ToolHarness) {
    harness.scope.policy = policy(&[(Deny, "Bash(python3 -m unittest:*)")]);
    let asked = |harness: &ToolHarness| {
        let scope = &harness.scope;
        let (policy, grant) = (Arc::clone(&scope.policy), Arc::clone(&scope.grant));
        let check = PermissionCheck::new(registry(), policy, grant, harness.path()).unwrap();
        match check.decide("run_tests", &[]).unwrap().unwrap() {
            Answered::Unknown { reason } => reason,
            other => unreachable!("{other:?}"),
        }
    };
    let reason = asked(&harness);
    assert!(
        reason.starts_with("`run_tests` finds nothing to run in this checkout; "),
        "{reason}"
    );
    harness.put("test_a.py", "").unwrap();
    let reason = asked(&harness);
    let expected = "`run_tests` may run `pytest -q --junit-xml=/proc/self/fd/2` if that is installed; otherwise: ";
    assert!(
        reason.starts_with(expected) && reason.contains("deny:Bash(python3 -m unittest:*)"),
        "{reason}"
    );
}

pub(crate) async fn words_that_a_tool_does_not_take_are_explained(harness: ToolHarness) {
    let scope = &harness.scope;
    let (policy, grant) = (Arc::clone(&scope.policy), Arc::clone(&scope.grant));
    let check = PermissionCheck::new(registry(), policy, grant, harness.path()).unwrap();
    let table: [(&str, &[&str], &str); 3] = [
        (
            "read_file",
            &["a", "b"],
            "`read_file` has no use for `b`; write its arguments as JSON",
        ),
        (
            "read_file",
            &[r#"{"pth": "a"}"#],
            "`path` is required but missing",
        ),
        ("say", &[], "`arguments` is required but missing"),
    ];
    for (tool, words, expected) in table {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let error = check.decide(tool, &words).unwrap_err().to_string();
        assert!(error.contains(expected), "{tool} {words:?}: {error}");
    }
    assert_eq!(check.decide("raed_file", &[]).unwrap(), None);
}
