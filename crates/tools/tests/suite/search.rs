//! Tests of listing and searching.

use std::fs::File;
use std::time::{Duration, SystemTime};

use orchestrate_core::settings::RuleDecision::Deny;
use orchestrate_tools::harness::ToolHarness;
use serde_json::json;

use crate::support::{policy, said};

fn project(harness: &ToolHarness) {
    for (path, content) in [
        (".gitignore", "target/\n*.log\n!keep.log\n"),
        ("src/main.rs", "fn main() {\n    let answer = 42;\n}\n"),
        ("src/lib.rs", "pub fn answer() -> u8 {\n    42\n}\n"),
        ("src/.ignore", "generated.rs\n"),
        ("src/generated.rs", "answer\n"),
        ("target/debug/answer.rs", "answer\n"),
        ("build.log", "answer\n"),
        ("keep.log", "the answer\n"),
        (".git/config", "answer\n"),
    ] {
        harness.put(path, content).unwrap();
    }
}

pub(crate) async fn a_listing_honours_ignore_files_and_says_so(harness: ToolHarness) {
    project(&harness);
    let output = harness.call("list_directory", json!({"path": "."})).await;
    assert_eq!(said(&output), "ok: .gitignore  24 B\nkeep.log  11 B\nsrc/\n[left out: 2 ignored (build.log, target)]");
    assert_eq!(output.data, json!({"entries": [".gitignore", "keep.log", "src"], "ignored": 2, "complete": true}));
    let output = harness.call("LS", json!({"path": "src", "recursive": true})).await;
    let expected = "ok: .ignore  13 B\nlib.rs  33 B\nmain.rs  35 B\n[left out: 1 ignored (src/generated.rs)]";
    assert_eq!(said(&output), expected);
    assert_eq!(output.data["entries"], json!(["src/.ignore", "src/lib.rs", "src/main.rs"]));
    let output = harness.call("list_directory", json!({"path": "src/main.rs"})).await;
    assert_eq!(said(&output), "Retry: not a directory: src/main.rs");
    harness.put("empty/.ignore", "*\n").unwrap();
    let output = harness.call("list_directory", json!({"path": "empty"})).await;
    assert_eq!(said(&output), "ok: [left out: 1 ignored (empty/.ignore)]");
}

pub(crate) async fn files_are_found_by_glob_newest_first(harness: ToolHarness) {
    project(&harness);
    let age = |path: &str, seconds: u64| {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + seconds);
        File::options().write(true).open(harness.path().join(path)).unwrap().set_modified(time).unwrap();
    };
    age("src/main.rs", 1);
    age("src/lib.rs", 2);
    let output = harness.call("Glob", json!({"pattern": "*.rs"})).await;
    assert_eq!(output.data, json!({"files": ["src/lib.rs", "src/main.rs"], "total": 2}));
    let output = harness.call("search_files", json!({"pattern": "**/main.*", "path": "src"})).await;
    assert_eq!(output.data["files"], json!(["src/main.rs"]));
    let output = harness.call("search_files", json!({"pattern": "src/*.py"})).await;
    assert!(output.text().starts_with("no file matches below ."), "{}", output.text());
    let output = harness.call("search_files", json!({"pattern": "a{b"})).await;
    assert!(said(&output).starts_with("Retry: Invalid parameters: the glob `a{b`"), "{}", said(&output));
}

pub(crate) async fn text_is_found_with_its_lines(harness: ToolHarness) {
    project(&harness);
    harness.put("binary", b"answer\0").unwrap();
    let note = "[left out: 3 ignored (build.log, target, src/generated.rs)]";
    let output = harness.call("grep", json!({"pattern": "answer|42"})).await;
    let lines = "keep.log:1:the answer\nsrc/lib.rs:1:pub fn answer() -> u8 {\nsrc/lib.rs:2:    42\n\
        src/main.rs:2:    let answer = 42;";
    assert_eq!(said(&output), format!("ok: {lines}\n{note}"));
    let output = harness.call("grep", json!({"pattern": "answer", "mode": "count", "glob": "*.rs"})).await;
    assert_eq!(said(&output), format!("ok: src/lib.rs: 1\nsrc/main.rs: 1\n{note}"));
    let output = harness.call("grep", json!({"pattern": "let", "path": "src/main.rs", "context": 1})).await;
    assert_eq!(said(&output), "ok: src/main.rs-1-fn main() {\nsrc/main.rs:2:    let answer = 42;\nsrc/main.rs-3-}");
    let output = harness.call("grep", json!({"pattern": "x(", "path": "src"})).await;
    assert!(said(&output).starts_with("Retry: Invalid parameters: `pattern`: "), "{}", said(&output));
    let output = harness.call("grep", json!({"pattern": "x", "path": "nowhere"})).await;
    assert_eq!(said(&output), "Retry: file not found: nowhere; list_directory shows which files exist");
}

pub(crate) async fn a_search_that_is_too_broad_says_so(mut harness: ToolHarness) {
    harness.put("many", "a\n".repeat(20_000)).unwrap();
    let output = harness.call("grep", json!({"pattern": "a"})).await;
    let expected = "Execution: more than 10000 matches in 1 files; narrow the pattern, the path or the glob";
    assert_eq!(said(&output), expected);
    harness.put("many", "a\n".repeat(300)).unwrap();
    let output = harness.call("grep", json!({"pattern": "a"})).await;
    let last = "\n[the first 200 of 300 matches in 1 files; mode `count` shows where]";
    assert!(output.success && output.text().ends_with(last), "{}", output.text());
    // Takes exponential time in a backtracking engine; this one is linear.
    harness.put("nested", format!("{}b", "a".repeat(1 << 20))).unwrap();
    assert_eq!(said(&harness.call("grep", json!({"pattern": "^(a+)+$", "path": "nested"})).await), "ok: no matches");
    harness.scope.limits.search_timeout = Duration::ZERO;
    let output = harness.call("grep", json!({"pattern": "b"})).await;
    assert!(said(&output).starts_with("Execution: the search ran into its"), "{}", said(&output));
    let output = harness.call("search_files", json!({"pattern": "**/**/**"})).await;
    assert!(said(&output).starts_with("Execution: the search ran into its"), "{}", said(&output));
}

pub(crate) async fn what_a_rule_denies_is_not_shown(mut harness: ToolHarness) {
    harness.put("secret/key", "answer\n").unwrap();
    harness.put("open", "answer\n").unwrap();
    harness.scope.policy = policy(&[(Deny, "Read(/secret)")]);
    let output = harness.call("grep", json!({"pattern": "answer"})).await;
    assert_eq!(said(&output), "ok: open:1:answer\n[left out: 1 denied by rules]");
    let output = harness.call("list_directory", json!({"recursive": true})).await;
    assert_eq!(said(&output), "ok: open  7 B\n[left out: 1 denied by rules]");
    let output = harness.call("search_files", json!({"pattern": "*"})).await;
    assert_eq!(said(&output), "ok: open\n[left out: 1 denied by rules]");
}

pub(crate) async fn a_cancelled_search_ends(harness: ToolHarness) {
    harness.put("first", "line\n").unwrap();
    let cancel = harness.scope.cancel.clone();
    let call = harness.call("grep", json!({"pattern": "x"}));
    let stop = async {
        tokio::task::yield_now().await;
        cancel.cancel();
    };
    let (output, ()) = tokio::join!(call, stop);
    let said = said(&output);
    assert!(said.starts_with("Interrupted: interrupted: ") || said == "ok: no matches", "{said}");
}
