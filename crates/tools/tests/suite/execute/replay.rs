//! Tests of answers that are replayed: only while nothing that they follow from has changed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use orchestrate_core::policy::RuleDecision::Deny;
use orchestrate_core::{Redactor, Secret};
use orchestrate_tool_testing::harness::{FakeReplay, Recorded, ToolHarness};
use orchestrate_tools::{Executor, NoReplay, ToolOutput, plain_tools};
use serde_json::{Value, json};

use crate::support::{policy, says};

fn project(harness: &mut ToolHarness) {
    let files = [
        (".gitignore", "target/\n*.log\n"),
        ("src/main.rs", "fn main() {\n    let answer = 42;\n}\n"),
        ("src/lib.rs", "pub fn answer() -> u8 {\n    42\n}\n"),
        ("target/answer.rs", "answer\n"),
        ("build.log", "answer\n"),
        ("docs/answer.md", "the answer\n"),
    ];
    for ((path, content), seconds) in files.into_iter().zip(1_000_000..) {
        harness.put(path, content).unwrap();
        age(&harness.path().join(path), seconds);
    }
    harness.scope.services.replay = Arc::new(FakeReplay::default());
}

fn age(file: &Path, seconds: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    fs::File::options()
        .write(true)
        .open(file)
        .unwrap()
        .set_modified(time)
        .unwrap();
}

/// Returns whether the last call was answered from the cache.
fn is_replayed(harness: &ToolHarness) -> bool {
    let start = harness
        .recorder
        .records()
        .into_iter()
        .rev()
        .find_map(|record| match record {
            Recorded::Started(start) => Some(start),
            Recorded::Ended(_) => None,
        });
    start.unwrap().cache.is_some_and(|lookup| lookup.hit)
}

/// Calls a tool, requires that it answers as without a cache, and returns whether the answer was
/// replayed.
async fn replays(harness: &mut ToolHarness, tool: &str, arguments: &Value, when: &str) -> bool {
    let output = harness.call(tool, arguments.clone()).await;
    let is_replayed = is_replayed(harness);
    let cache = std::mem::replace(&mut harness.scope.services.replay, Arc::new(NoReplay));
    let fresh = harness.call(tool, arguments.clone()).await;
    harness.scope.services.replay = cache;
    let whole = |output: &ToolOutput| {
        (
            output.text(),
            output.data.clone(),
            output.success,
            output.error_kind,
        )
    };
    assert_eq!(whole(&output), whole(&fresh), "{tool}{arguments} {when}");
    is_replayed
}

/// A change of the files, and which of the searches are answered from the cache afterwards.
type Step = (&'static str, fn(&Path), [bool; 4]);

const STEPS: &[Step] = &[
    ("at first", |_| {}, [false, false, false, false]),
    ("after nothing", |_| {}, [true, true, true, true]),
    (
        "after a change of the same length",
        |at| put(at, "src/lib.rs", "pub fn answer() -> u8 {\n    43\n}\n"),
        [false, false, false, true],
    ),
    (
        "after a new file that is ignored",
        |at| put(at, "target/more.rs", "answer\n"),
        [true, true, true, true],
    ),
    (
        "after a new file",
        |at| put(at, "new.txt", "an answer\n"),
        [false, true, false, true],
    ),
    (
        "after an empty folder",
        |at| fs::create_dir(at.join("empty")).unwrap(),
        [false, true, false, true],
    ),
    (
        "after another rule",
        |at| put(at, ".ignore", "docs/\n"),
        [false, true, false, true],
    ),
    (
        "after that rule went",
        |at| fs::remove_file(at.join(".ignore")).unwrap(),
        [true, true, true, true],
    ),
    (
        "after a link",
        |at| symlink("../new.txt", at.join("src/link.rs")).unwrap(),
        [false, false, false, true],
    ),
    (
        "after a file was made newer",
        |at| age(&at.join("docs/answer.md"), 9_000_000_000),
        [true, true, false, true],
    ),
    (
        "after a file was renamed",
        |at| fs::rename(at.join("docs/answer.md"), at.join("docs/b.md")).unwrap(),
        [false, true, false, false],
    ),
    (
        "after it was renamed back",
        |at| fs::rename(at.join("docs/b.md"), at.join("docs/answer.md")).unwrap(),
        [true, true, true, true],
    ),
    (
        "after it became a folder",
        become_folder,
        [false, true, false, false],
    ),
];

fn put(at: &Path, path: &str, content: &str) {
    fs::write(at.join(path), content).unwrap();
}

fn become_folder(at: &Path) {
    fs::remove_file(at.join("docs/answer.md")).unwrap();
    fs::create_dir(at.join("docs/answer.md")).unwrap();
}

pub(crate) async fn an_answer_is_replayed_while_nothing_that_it_follows_from_changes(
    mut harness: ToolHarness,
) {
    project(&mut harness);
    let searches = [
        ("grep", json!({"pattern": "answer"})),
        (
            "grep",
            json!({"pattern": "answer", "path": "src", "mode": "count"}),
        ),
        ("search_files", json!({"pattern": "*"})),
        (
            "grep",
            json!({"pattern": "answer", "path": "docs/answer.md"}),
        ),
    ];
    let root = harness.path().to_owned();
    for (when, change, expected) in STEPS {
        change(&root);
        let mut found = [false; 4];
        for ((tool, arguments), found) in searches.iter().zip(&mut found) {
            *found = replays(&mut harness, tool, arguments, when).await;
        }
        assert_eq!(found, *expected, "{when}");
    }
}

pub(crate) async fn an_analysis_is_replayed_until_a_file_changes(mut harness: ToolHarness) {
    project(&mut harness);
    let root = harness.path().to_owned();
    for (tool, arguments) in [
        ("analyze_code_structure", json!({"path": "src"})),
        // What imports the named folder may be outside of it.
        ("analyze_dependencies", json!({"path": "docs"})),
        (
            "find_code_patterns",
            json!({"pattern": "fn $F() -> $T { $$$ }"}),
        ),
        ("measure_code_complexity", json!({"files": ["src/lib.rs"]})),
    ] {
        put(
            &root,
            "src/lib.rs",
            &format!("pub fn {tool}() -> u8 {{\n    42\n}}\n"),
        );
        let first = replays(&mut harness, tool, &arguments, "first").await;
        let again = replays(&mut harness, tool, &arguments, "again").await;
        put(&root, "src/lib.rs", "pub fn changed() -> u8 {\n    42\n}\n");
        let changed = replays(&mut harness, tool, &arguments, "changed").await;
        assert_eq!((first, again, changed), (false, true, false), "{tool}");
    }
}

pub(crate) async fn another_rule_limit_or_argument_is_another_call(mut harness: ToolHarness) {
    project(&mut harness);
    let (tool, all) = ("grep", json!({"pattern": "answer"}));
    assert!(!replays(&mut harness, tool, &all, "at first").await);
    assert!(replays(&mut harness, "Grep", &all, "under another name").await);
    assert!(
        !replays(
            &mut harness,
            tool,
            &json!({"pattern": "answer", "context": 1}),
            "another argument"
        )
        .await
    );
    let policies = [policy(&[]), policy(&[(Deny, "grep(docs/**)")])];
    harness.scope.policy = Arc::clone(&policies[1]);
    assert!(!replays(&mut harness, tool, &all, "with a hidden folder").await);
    harness.scope.policy = Arc::clone(&policies[0]);
    assert!(replays(&mut harness, tool, &all, "with the rules of before").await);
    harness.scope.limits.search_timeout += Duration::from_secs(1);
    assert!(!replays(&mut harness, tool, &all, "with another limit").await);
}

pub(crate) async fn only_answers_that_follow_from_files_are_replayed(mut harness: ToolHarness) {
    project(&mut harness);
    let calls = [
        ("read_file", json!({"path": "src/lib.rs"})),
        ("list_directory", json!({})),
        ("get_file_info", json!({"path": "src/lib.rs"})),
        ("write_file", json!({"path": "a.txt", "content": "1\n"})),
        // Those that failed are not, either.
        ("grep", json!({"pattern": "answer", "path": "absent"})),
        ("grep", json!({"pattern": "("})),
    ];
    for (tool, arguments) in calls {
        for _ in 0..2 {
            harness.call(tool, arguments.clone()).await;
            assert!(!is_replayed(&harness), "{tool}{arguments}");
        }
    }
}

pub(crate) async fn a_result_with_a_secret_is_not_stored(mut harness: ToolHarness) {
    project(&mut harness);
    let secret = Secret::new("TOKEN", "hunter2hunter2");
    let tools = plain_tools().unwrap();
    harness.executor = Arc::new(Executor::redacting(tools, Redactor::new([secret])).unwrap());
    harness
        .put("src/key.rs", "let key = \"hunter2hunter2\";\n")
        .unwrap();
    for _ in 0..2 {
        let output = harness.call("grep", json!({"pattern": "key"})).await;
        says(&output, "[redacted:TOKEN]");
        assert!(!is_replayed(&harness));
    }
    for expected in [false, true] {
        assert_eq!(
            replays(&mut harness, "grep", &json!({"pattern": "answer"}), "").await,
            expected
        );
    }
}
