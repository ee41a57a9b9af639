//! Tests of listing and searching.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use orchestrate_core::Oid;
use orchestrate_core::policy::CacheMode;
use orchestrate_core::policy::RuleDecision::Deny;
use orchestrate_tool_testing::harness::ToolHarness;
use orchestrate_tools::{FileContents, FileStamp, ReplayService, Replayable};
use serde_json::json;

use crate::support::{begins, calls, policy, said, starting};

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
    assert_eq!(
        said(&output),
        "ok: .gitignore  24 B\nkeep.log  11 B\nsrc/\n[left out: 2 ignored (build.log, target)]"
    );
    assert_eq!(
        output.data,
        json!({"entries": [".gitignore", "keep.log", "src"], "ignored": 2, "complete": true})
    );
    let output = harness
        .call("LS", json!({"path": "src", "recursive": true}))
        .await;
    let expected =
        "ok: .ignore  13 B\nlib.rs  33 B\nmain.rs  35 B\n[left out: 1 ignored (src/generated.rs)]";
    assert_eq!(said(&output), expected);
    assert_eq!(
        output.data["entries"],
        json!(["src/.ignore", "src/lib.rs", "src/main.rs"])
    );
    calls! { harness;
        list_directory {"path": "src/main.rs"} => "Retry: not a directory: src/main.rs";
    }
    harness.put("empty/.ignore", "*\n").unwrap();
    calls! { harness;
        list_directory {"path": "empty"} => "ok: [left out: 1 ignored (empty/.ignore)]";
    }
    // Rules after a comment in Latin-1, and behind a byte order mark.
    for (folder, rules) in [
        ("latin", &b"# f\xfcr\nout/\n"[..]),
        ("marked", "\u{feff}out/\n".as_bytes()),
    ] {
        harness.put(&format!("{folder}/.gitignore"), rules).unwrap();
        harness.put(&format!("{folder}/out/a.txt"), "a\n").unwrap();
        let output = harness
            .call("list_directory", json!({"path": folder}))
            .await;
        assert_eq!(output.data["ignored"], 1, "{folder}: {}", said(&output));
    }
}

pub(crate) async fn files_are_found_by_glob_newest_first(harness: ToolHarness) {
    project(&harness);
    let age = |path: &str, seconds: u64| {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 + seconds);
        File::options()
            .write(true)
            .open(harness.path().join(path))
            .unwrap()
            .set_modified(time)
            .unwrap();
    };
    age("src/main.rs", 1);
    age("src/lib.rs", 2);
    let output = harness.call("Glob", json!({"pattern": "*.rs"})).await;
    assert_eq!(
        output.data,
        json!({"files": ["src/lib.rs", "src/main.rs"], "total": 2})
    );
    let output = harness
        .call(
            "search_files",
            json!({"pattern": "**/main.*", "path": "src"}),
        )
        .await;
    assert_eq!(output.data["files"], json!(["src/main.rs"]));
    let output = harness
        .call("search_files", json!({"pattern": "src/*.py"}))
        .await;
    begins(&output, "no file matches below .");
    calls! { harness;
        search_files {"pattern": "a{b"} => starting("Retry: Invalid parameters: the glob `a{b`");
    }
}

pub(crate) async fn text_is_found_with_its_lines(harness: ToolHarness) {
    project(&harness);
    harness.put("binary", b"answer\0").unwrap();
    let note = "[left out: 3 ignored (build.log, target, src/generated.rs)]";
    let output = harness.call("grep", json!({"pattern": "answer|42"})).await;
    let lines = "keep.log:1:the answer\nsrc/lib.rs:1:pub fn answer() -> u8 {\nsrc/lib.rs:2:    42\n\
        src/main.rs:2:    let answer = 42;";
    assert_eq!(said(&output), format!("ok: {lines}\n{note}"));
    calls! { harness;
        grep {"pattern": "answer", "mode": "count", "glob": "*.rs"}
            => format!("ok: src/lib.rs: 1\nsrc/main.rs: 1\n{note}");
        grep {"pattern": "let", "path": "src/main.rs", "context": 1}
            => "ok: src/main.rs-1-fn main() {\nsrc/main.rs:2:    let answer = 42;\nsrc/main.rs-3-}";
        grep {"pattern": "x(", "path": "src"} => starting("Retry: Invalid parameters: `pattern`: ");
        grep {"pattern": "x", "path": "nowhere"}
            => "Retry: file not found: nowhere; list_directory shows which files exist";
    }
}

pub(crate) async fn a_search_that_is_too_broad_says_so(mut harness: ToolHarness) {
    harness.put("many", "a\n".repeat(20_000)).unwrap();
    let output = harness.call("grep", json!({"pattern": "a"})).await;
    let expected = "Execution: more than 10000 matches; narrow the pattern, the path or the glob";
    assert_eq!(said(&output), expected);
    harness.put("many", "a\n".repeat(300)).unwrap();
    let output = harness.call("grep", json!({"pattern": "a"})).await;
    let last = "\n[the first 200 of 300 matches in 1 files; mode `count` shows where]";
    assert!(
        output.success && output.text().ends_with(last),
        "{}",
        output.text()
    );
    // Takes exponential time in a backtracking engine; this one is linear.
    harness
        .put("nested", format!("{}b", "a".repeat(1 << 20)))
        .unwrap();
    assert_eq!(
        said(
            &harness
                .call("grep", json!({"pattern": "^(a+)+$", "path": "nested"}))
                .await
        ),
        "ok: no matches"
    );
    // The control: what such patterns describe is found within the time that searches usually have.
    calls! { harness;
        grep {"pattern": "^(a+)+b$", "path": "nested"} => starting("ok: nested:1:aaa");
    }
    let output = harness
        .call("search_files", json!({"pattern": "**/nes*"}))
        .await;
    assert_eq!(output.data["files"], json!(["nested"]), "{}", said(&output));
    harness.scope.limits.search_timeout = Duration::ZERO;
    calls! { harness;
        grep {"pattern": "b"} => starting("Execution: the search ran into its");
        search_files {"pattern": "**/**/**"} => starting("Execution: the search ran into its");
    }
}

/// Several threads search; the answer is that of one.
pub(crate) async fn many_files_are_answered_in_order(harness: ToolHarness) {
    let mut expected = Vec::new();
    for folder in ["", "a/", "a/b/", "a-b/", "b/"] {
        let mut names: Vec<String> = (0..150)
            .map(|number| format!("{folder}f{number}.txt"))
            .collect();
        names.sort();
        for name in names {
            harness.put(&name, format!("one\nhit {name}\n")).unwrap();
            expected.push(name);
        }
        harness
            .put(&format!("{folder}.gitignore"), "*.log\n")
            .unwrap();
        (0..3).for_each(|number| {
            harness
                .put(&format!("{folder}{number}.log"), "hit\n")
                .unwrap()
        });
    }
    // A directory's files come before those of its subdirectories, and these by their names.
    let lines: Vec<String> = expected
        .iter()
        .take(200)
        .map(|name| format!("{name}:2:hit {name}"))
        .collect();
    let ignored = "0.log, 1.log, 2.log, a/0.log, a/1.log, a/2.log, a/b/0.log, a/b/1.log, …";
    let more = "[the first 200 of 750 matches in 750 files; mode `count` shows where]";
    let whole = format!(
        "ok: {}\n{more}\n[left out: 15 ignored ({ignored})]",
        lines.join("\n")
    );
    let counts: Vec<String> = expected.iter().map(|name| format!("{name}: 1")).collect();
    for _ in 0..20 {
        calls! { harness; grep {"pattern": "hit"} => whole.as_str(); }
        let output = harness
            .call("grep", json!({"pattern": "hit", "mode": "count"}))
            .await;
        begins(&output, &counts[..300].join("\n"));
        assert_eq!(
            output.data["files"].as_array().unwrap().len(),
            expected.len()
        );
        let names = harness
            .call("search_files", json!({"pattern": "a/**/f1?.txt"}))
            .await;
        assert_eq!(names.data["total"], 20);
    }
}

/// The lines of context belong to the hits that are shown.
pub(crate) async fn context_ends_with_the_last_hit_that_is_shown(harness: ToolHarness) {
    for number in 0..3 {
        harness
            .put(&format!("f{number}"), "before\nhit\nafter\n".repeat(90))
            .unwrap();
    }
    let output = harness
        .call("grep", json!({"pattern": "hit", "context": 1}))
        .await;
    let text = output.text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines.iter().filter(|line| line.ends_with(":hit")).count(),
        200
    );
    assert_eq!(lines[lines.len() - 2], "f2:59:hit");
    assert_eq!(
        lines[lines.len() - 1],
        "[the first 200 of 270 matches in 3 files; mode `count` shows where]"
    );
}

/// Files are searched as text however they are read: whole, or in parts if they are large.
pub(crate) async fn encodings_and_binary_files_are_known_in_small_and_large_files(
    harness: ToolHarness,
) {
    let large = "a line of text\n".repeat(10_000);
    let utf16 = |text: &str| -> Vec<u8> {
        [0xfeff]
            .into_iter()
            .chain(text.encode_utf16())
            .flat_map(u16::to_le_bytes)
            .collect()
    };
    for (name, filler) in [("small", ""), ("large", large.as_str())] {
        let text = format!("{filler}hit\n");
        harness.put(&format!("{name}/plain"), &text).unwrap();
        harness
            .put(&format!("{name}/bom"), format!("\u{feff}{text}"))
            .unwrap();
        harness.put(&format!("{name}/utf16"), utf16(&text)).unwrap();
        harness
            .put(&format!("{name}/binary"), format!("hit\n{filler}\0"))
            .unwrap();
        let output = harness
            .call("grep", json!({"pattern": "^hit$", "path": name}))
            .await;
        let line = text.lines().count();
        let expected = ["bom", "plain", "utf16"]
            .map(|file| format!("{name}/{file}:{line}:hit"))
            .join("\n");
        assert_eq!(said(&output), format!("ok: {expected}"));
    }
    // Of exactly the size from which on a file is read in parts, and around it.
    for size in (64 << 10) - 1..=(64 << 10) + 1 {
        harness
            .put(
                "edge",
                format!(
                    "{}\nhit",
                    "x\n".repeat(size / 2 - 2) + &"x".repeat(size % 2)
                ),
            )
            .unwrap();
        let output = harness
            .call(
                "grep",
                json!({"pattern": "hit$", "path": "edge", "mode": "count"}),
            )
            .await;
        assert_eq!(said(&output), "ok: edge: 1", "{size}");
    }
}

pub(crate) async fn what_a_rule_denies_is_not_shown(mut harness: ToolHarness) {
    harness.put("secret/key", "answer\n").unwrap();
    harness.put("open", "answer\n").unwrap();
    harness.scope.policy = policy(&[(Deny, "Read(/secret)")]);
    calls! { harness;
        grep {"pattern": "answer"} => "ok: open:1:answer\n[left out: 1 denied by rules]";
        list_directory {"recursive": true} => "ok: open  7 B\n[left out: 1 denied by rules]";
        search_files {"pattern": "*"} => "ok: open\n[left out: 1 denied by rules]";
    }
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
    assert!(
        said.starts_with("Interrupted: interrupted: ") || said == "ok: no matches",
        "{said}"
    );
}

/// Replays no call, and says that these files have the bytes with these ids.
#[derive(Clone, Default)]
struct Ids(BTreeMap<&'static str, &'static str>);

impl FileContents for Ids {
    fn known(&self, path: &str, _: &FileStamp) -> Option<Oid> {
        self.0.get(path).map(|id| Oid::new(*id))
    }

    fn read(&self, _: &FileStamp, _: &[u8]) -> Option<Oid> {
        None
    }
}

impl ReplayService for Ids {
    fn mode(&self, _: &str) -> CacheMode {
        CacheMode::Off
    }

    fn basis(&self) -> &str {
        ""
    }

    fn contents(&self) -> Option<Arc<dyn FileContents>> {
        Some(Arc::new(self.clone()))
    }

    fn key(&self, _: &Replayable) -> String {
        String::new()
    }

    fn find(&self, _: &Replayable) -> Option<Vec<u8>> {
        None
    }

    fn store(&self, _: &Replayable, _: &[u8]) {}
}

pub(crate) async fn a_second_question_reads_only_what_may_match_or_has_changed(
    mut harness: ToolHarness,
) {
    let long = "a line without the word\n".repeat(6_000);
    for (path, content) in [
        ("a", "apples\n"),
        ("b", "pears\n"),
        ("long", &*format!("{long}plums\n")),
        ("wide", ""),
    ] {
        harness.put(path, content).unwrap();
    }
    std::fs::write(harness.path().join("wide"), b"\xff\xfep\0l\0u\0m\0s\0\n\0").unwrap();
    harness.scope.services.replay =
        Arc::new(Ids(
            [("a", "1"), ("b", "2"), ("long", "3"), ("wide", "4")].into()
        ));
    assert_eq!(files_with(&harness, "apples").await, "ok: a");
    assert_eq!(files_with(&harness, "plums").await, "ok: long\nwide");
    // It is said to be the same, so it is not read again: what was searched before answers.
    harness.put("b", "plums\n").unwrap();
    harness.put("long", "plums plums\n").unwrap();
    assert_eq!(files_with(&harness, "(?i)PLUMS").await, "ok: long\nwide");
    assert_eq!(files_with(&harness, "pl.ms").await, "ok: b\nlong\nwide");
    harness.scope.services.replay = Arc::new(Ids([("a", "1"), ("b", "5"), ("long", "3")].into()));
    assert_eq!(files_with(&harness, "plums").await, "ok: b\nlong\nwide");
    assert_eq!(files_with(&harness, "apples|pears").await, "ok: a");
}

async fn files_with(harness: &ToolHarness, pattern: &str) -> String {
    said(
        &harness
            .call("grep", json!({"pattern": pattern, "mode": "files"}))
            .await,
    )
}
