//! Tests of the tools that understand code.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use orchestrate_core::Oid;
use orchestrate_core::policy::CacheMode;
use orchestrate_core::policy::RuleDecision::Deny;
use orchestrate_tool_testing::harness::ToolHarness;
use orchestrate_tools::{
    FileContents, FileStamp, NoReplay, ReplayService, Replayable, SharedValues, ToolOutput,
    plain_tools,
};
use serde_json::{Value, json};

use crate::support::{calls, holding, policy, said, starting};

const RUST: &str = "/// Adds.\npub fn add(a: u8, b: u8) -> u8 {\n    if a > 1 { a.checked_add(b).unwrap() } else { b }\n}\n\
    struct Hidden;\n";
const PYTHON: &str =
    "class A:\n    \"\"\"An A.\"\"\"\n    def f(self):\n        print(self.g(1))\n";

fn project(harness: &ToolHarness) {
    for (path, content) in [
        (".gitignore", "target/\n"),
        ("target/generated.rs", "fn generated() { a.unwrap() }\n"),
        ("src/lib.rs", RUST),
        ("src/a.py", PYTHON),
        ("run", "#!/bin/sh\nbuild() {\n  cc a.c && ./a.out\n}\n"),
        ("notes.md", "a.unwrap()\n"),
        ("data.json", "{}\n"),
    ] {
        harness.put(path, content).unwrap();
    }
}

const LEFT_OUT: &str = "[left out: 1 ignored (target)]";

pub(crate) async fn a_file_and_a_folder_are_outlined(harness: ToolHarness) {
    project(&harness);
    let output = harness
        .call("analyze_code_structure", json!({"path": "src/lib.rs"}))
        .await;
    let outline = "src/lib.rs (rust, 5 lines, 2 items)\n2-4  pub fn add(a: u8, b: u8) -> u8  // Adds.\n5-5  struct Hidden";
    assert_eq!(said(&output), format!("ok: {outline}"));
    let add = json!({"kind": "function", "name": "add", "line": 2, "end_line": 4, "visibility": "public",
        "signature": "pub fn add(a: u8, b: u8) -> u8", "doc": "Adds."});
    let structure = &output.data["files"][0]["structure"];
    assert_eq!(
        (&structure["language"], &structure["items"][0]),
        (&json!("rust"), &add)
    );
    let output = harness
        .call("analyze_code_structure", json!({"path": "."}))
        .await;
    let script = "run (shell, 4 lines, 1 item)\n2-4  build()";
    let python = "src/a.py (python, 4 lines, 2 items)\n1-4  class A  // An A.\n3-4    def f(self)";
    assert_eq!(
        said(&output),
        format!("ok: {script}\n{python}\n{outline}\n{LEFT_OUT}")
    );
    harness.put("src/lib.rs", "fn f( {\n").unwrap();
    calls! { harness;
        analyze_code_structure {"path": "src/lib.rs"} => holding("1 syntax error, in line 1");
    }
    // A file of many items is cut, and a folder leaves out files that have no room.
    harness
        .put("src/lib.rs", "fn f() {}\n".repeat(1_500))
        .unwrap();
    let output = harness
        .call("analyze_code_structure", json!({"path": "src/lib.rs"}))
        .await;
    let cut = "[the first 1000 of 1500 items; read the file for the rest]";
    assert!(said(&output).ends_with(cut), "{}", said(&output));
    let output = harness
        .call("analyze_code_structure", json!({"path": "src"}))
        .await;
    assert!(
        said(&output)
            .ends_with("[2 of 1502 items in 2 files; name a folder or a file for the rest]")
    );
}

/// Where the signature does not say it, the outline says who may use an item.
pub(crate) async fn an_outline_says_what_is_public(harness: ToolHarness) {
    let classes = "class A {\npublic:\n    int f();\nprivate:\n    int g();\n};\n";
    harness.put("a.cpp", classes).unwrap();
    harness
        .put("a.ts", "export function f() {}\nfunction g() {}\n")
        .unwrap();
    let output = harness
        .call("analyze_code_structure", json!({"path": "."}))
        .await;
    let outline = "a.cpp (c++, 6 lines, 3 items)\n1-6  class A  [public]\n3-3    int f()  [public]\n\
        5-5    int g()  [private]\na.ts (typescript, 2 lines, 2 items)\n1-1  function f()  [public]\n\
        2-2  function g()  [private]";
    assert_eq!(said(&output), format!("ok: {outline}"));
}

pub(crate) async fn code_is_found_by_its_structure(harness: ToolHarness) {
    project(&harness);
    let output = harness
        .call("find_code_patterns", json!({"pattern": "$X.unwrap()"}))
        .await;
    let line = "src/lib.rs:3:16: a.checked_add(b).unwrap()  [$X = a.checked_add(b)]";
    let read_as = "[the pattern was read as python, rust; it is no code in shell, in which there are files, too]";
    assert_eq!(said(&output), format!("ok: {line}\n{read_as}\n{LEFT_OUT}"));
    assert_eq!(output.data["languages"], json!(["python", "rust"]));
    let capture = json!([{"name": "X", "text": "a.checked_add(b)"}]);
    assert_eq!(output.data["matches"][0]["match"]["captures"], capture);
    assert_eq!(output.data["total"], 1);
    let arguments = json!({"pattern": "print($$$ARGS)", "path": "src", "language": "py"});
    calls! { harness;
        find_code_patterns (arguments) => "ok: src/a.py:4:9: print(self.g(1))  [$ARGS = self.g(1)]";
        find_code_patterns {"pattern": "absent($X)", "language": "rust"}
            => format!("ok: no matches (the pattern was read as rust)\n{LEFT_OUT}");
    }
    // What was not found was looked for in the languages that the files have.
    let nothing = [
        (
            json!({"pattern": "absent($X)", "path": "src"}),
            "the pattern was read as python, rust",
        ),
        (
            json!({"pattern": "absent($X)", "path": "src", "language": "go"}),
            "no file in go was searched",
        ),
        (
            json!({"pattern": "absent($X)", "path": "empty"}),
            "no file was searched",
        ),
    ];
    harness.put("empty/notes.md", "absent(1)\n").unwrap();
    for (arguments, expected) in nothing {
        let output = harness.call("find_code_patterns", arguments).await;
        assert_eq!(said(&output), format!("ok: no matches ({expected})"));
    }
    harness
        .put(
            "src/many.rs",
            format!("fn f() {{ {} }}", "g(1); ".repeat(300)),
        )
        .unwrap();
    let output = harness
        .call(
            "find_code_patterns",
            json!({"pattern": "g($A)", "path": "src/many.rs"}),
        )
        .await;
    let cut = "[the first 200 of 300 matches in one file; narrow the pattern]";
    assert!(said(&output).ends_with(cut), "{}", said(&output));
    let table = [
        (
            json!({"pattern": "$X"}),
            "`pattern` has to be one whole expression, statement or declaration",
        ),
        (
            json!({"pattern": "fn (", "language": "rust"}),
            "`pattern`: the pattern is not rust code",
        ),
        // As shell, which no file there is, it would match nothing.
        (
            json!({"pattern": "rm -rf $X", "path": "src"}),
            "`pattern` is no code in python, rust, the languages of these files, but only in ",
        ),
        (
            json!({"pattern": "f()", "language": "cobol"}),
            "`language`: expected one of c, c++, go, java",
        ),
    ];
    for (arguments, expected) in table {
        let output = harness.call("find_code_patterns", arguments).await;
        let expected = format!("Retry: Invalid parameters: {expected}");
        assert!(said(&output).starts_with(&expected), "{}", said(&output));
    }
}

pub(crate) async fn functions_are_measured_the_hardest_first(harness: ToolHarness) {
    project(&harness);
    let output = harness.call("measure_code_complexity", json!({})).await;
    let table = "cognitive  cyclomatic  nesting  lines of code  parameters  function\n\
        \x20       2           2        1              3           2  src/lib.rs:2 add\n\
        \x20       1           2        0              3           0  run:2 build\n\
        \x20       0           1        0              2           1  src/a.py:3 f";
    assert_eq!(
        said(&output),
        format!("ok: 3 functions in 3 files\n{table}\n{LEFT_OUT}")
    );
    let totals = json!({"files": 3, "functions": 3, "code_lines": 8, "cyclomatic": 5, "cognitive": 3,
        "max_cyclomatic": 2, "max_cognitive": 2, "max_nesting": 1});
    assert_eq!(output.data["totals"], totals);
    let output = harness
        .call(
            "measure_code_complexity",
            json!({"files": ["src/a.py", "src/lib.rs", "src"]}),
        )
        .await;
    assert_eq!(
        output.data["totals"]["functions"], 2,
        "a file that is named twice is measured once"
    );
    // Of several, what was found in the others is not lost.
    harness.put("image.rs", b"\x89PNG\0").unwrap();
    let files = ["image.rs", "src/a.py", "nowhere", "notes.md", "image.rs"];
    let output = harness
        .call("measure_code_complexity", json!({ "files": files }))
        .await;
    let unread = "is not text but a PNG image of 5 B: image.rs; file not found: nowhere; list_directory shows which \
                  files exist";
    let beside = format!(
        "[3 of the named paths not analysed: {unread}; notes.md: not in a language that is understood: c,"
    );
    assert!(
        said(&output).starts_with("ok: 1 function in 1 file\n"),
        "{}",
        said(&output)
    );
    assert!(said(&output).contains(&beside), "{}", said(&output));
    calls! { harness;
        measure_code_complexity {"files": ["image.rs", "nowhere"]} => format!("Retry: {unread}");
        measure_code_complexity {"files": ["image.rs", "image.rs"]}
            => starting("File: is not text but a PNG image of 5 B: image.rs");
    }
    harness
        .put("src/many.rs", "fn f() {}\n".repeat(60))
        .unwrap();
    let output = harness
        .call("measure_code_complexity", json!({"files": ["src/many.rs"]}))
        .await;
    assert!(
        said(&output).ends_with("[the hardest 50 of 60; name files for others]"),
        "{}",
        said(&output)
    );
}

pub(crate) async fn code_that_resembles_a_snippet_is_found(harness: ToolHarness) {
    project(&harness);
    let snippet =
        "pub fn sum(x: u8, y: u8) -> u8 { if x > 9 { x.checked_add(y).unwrap() } else { y } }";
    let output = harness
        .call("find_similar_code", json!({"code_snippet": snippet}))
        .await;
    assert_eq!(
        said(&output),
        format!("ok: src/lib.rs:2-4: structure 100 %, names 50 %\n{LEFT_OUT}")
    );
    let region = json!({"line": 2, "end_line": 4, "similarity": 100, "names": 50});
    assert_eq!(
        output.data,
        json!({"similar": [{"path": "src/lib.rs", "region": region}], "total": 1})
    );
    calls! { harness;
        find_similar_code {"code_snippet": snippet, "path": "src/a.py"} => "ok: no similar code";
    }
    let output = harness
        .call("find_similar_code", json!({"code_snippet": "a + b"}))
        .await;
    let expected = "Retry: Invalid parameters: `code_snippet`: the snippet cannot be compared: it has 3 tokens";
    assert!(said(&output).starts_with(expected), "{}", said(&output));
    harness.put("src/many.rs", RUST.repeat(60)).unwrap();
    calls! { harness; find_similar_code {"code_snippet": snippet} => holding("structure 100 %"); }
}

pub(crate) async fn what_is_not_understood_is_said(harness: ToolHarness) {
    project(&harness);
    harness.put("broken.rs", b"\xff\xfe\x00binary\0").unwrap();
    harness.put("zero.rs", b"fn f() {}\0\0\0").unwrap();
    let unknown = "Retry: notes.md: not in a language that is understood: c, c++, go, java, javascript, python, rust, \
        shell, tsx, typescript";
    for tool in [
        "analyze_code_structure",
        "find_code_patterns",
        "measure_code_complexity",
    ] {
        let arguments = |path: &str| match tool {
            "measure_code_complexity" => json!({"files": [path]}),
            "find_code_patterns" => json!({"pattern": "f($X)", "path": path}),
            _ => json!({"path": path}),
        };
        assert_eq!(
            said(&harness.call(tool, arguments("notes.md")).await),
            unknown,
            "{tool}"
        );
        let output = harness.call(tool, arguments("nowhere")).await;
        assert!(
            said(&output).starts_with("Retry: file not found: nowhere"),
            "{tool}: {}",
            said(&output)
        );
        let output = harness.call(tool, arguments("zero.rs")).await;
        assert!(!output.success, "{tool}: {}", said(&output));
        let output = harness.call(tool, arguments(".")).await;
        assert!(
            output.success && said(&output).contains(" not analysed: "),
            "{tool}: {}",
            said(&output)
        );
        let output = harness.call(tool, arguments("data.json")).await;
        assert!(
            said(&output).starts_with("Retry: data.json: not in"),
            "{tool}: {}",
            said(&output)
        );
    }
}

/// Sizes, times and cancellation.
pub(crate) async fn an_analysis_has_limits(mut harness: ToolHarness) {
    harness.put("src/lib.rs", RUST.repeat(2_000)).unwrap();
    harness.scope.limits.file_bytes = 10_000;
    let output = harness
        .call("analyze_code_structure", json!({"path": "src/lib.rs"}))
        .await;
    assert!(
        said(&output).starts_with("Retry: src/lib.rs has 2"),
        "{}",
        said(&output)
    );
    assert!(
        said(&output).contains("more than the limit of 9 kB"),
        "{}",
        said(&output)
    );
    calls! { harness;
        analyze_code_structure {"path": "src"}
            => holding("[1 file not analysed: src/lib.rs: larger than 9 kB");
    }
    harness.scope.limits.file_bytes = 10_000_000;
    harness.scope.limits.search_timeout = Duration::ZERO;
    for (tool, arguments) in [
        ("analyze_code_structure", json!({"path": "src/lib.rs"})),
        (
            "find_code_patterns",
            json!({"pattern": "f($X)", "path": "src"}),
        ),
        ("measure_code_complexity", json!({})),
    ] {
        let output = harness.call(tool, arguments).await;
        assert!(
            said(&output).starts_with("Execution: the search ran into its limit"),
            "{tool}: {}",
            said(&output)
        );
    }
    harness.scope.cancel.cancel();
    calls! { harness; measure_code_complexity {} => starting("Interrupted: "); }
}

pub(crate) async fn rules_hold_for_analysed_files(mut harness: ToolHarness) {
    harness
        .put("secret/key.rs", "fn hidden() { f(1) }\n")
        .unwrap();
    harness.put("open.rs", "fn open() { f(1) }\n").unwrap();
    harness.scope.policy = policy(&[(Deny, "Read(/secret)")]);
    for (tool, arguments) in [
        ("analyze_code_structure", json!({"path": "."})),
        ("find_code_patterns", json!({"pattern": "f($X)"})),
        ("measure_code_complexity", json!({})),
    ] {
        let output = harness.call(tool, arguments).await;
        let said = said(&output);
        assert!(
            said.contains("open.rs") && !said.contains("hidden"),
            "{tool}: {said}"
        );
        assert!(
            said.ends_with("[left out: 1 denied by rules]"),
            "{tool}: {said}"
        );
    }
    for (tool, arguments) in [
        ("analyze_code_structure", json!({"path": "secret/key.rs"})),
        (
            "find_code_patterns",
            json!({"pattern": "f($X)", "path": "secret/key.rs"}),
        ),
        (
            "measure_code_complexity",
            json!({"files": ["open.rs", "secret/key.rs"]}),
        ),
    ] {
        let output = harness.call(tool, arguments).await;
        assert!(
            said(&output).starts_with("Denied: "),
            "{tool}: {}",
            said(&output)
        );
    }
}

/// Replays no call, and knows the contents of files: by their bytes, and by their metadata once
/// they were read.
#[derive(Default)]
pub(crate) struct Known {
    contents: Arc<Contents>,
}

#[derive(Default)]
struct Contents {
    by_stamp: Mutex<HashMap<FileStamp, Oid>>,
    /// Whether files are known by their metadata: not if a test changes them within the clock's
    /// resolution.
    remembers: bool,
}

impl FileContents for Contents {
    fn known(&self, _: &str, stamp: &FileStamp) -> Option<Oid> {
        self.by_stamp
            .lock()
            .unwrap()
            .get(stamp)
            .filter(|_| self.remembers)
            .cloned()
    }

    fn read(&self, stamp: &FileStamp, bytes: &[u8]) -> Option<Oid> {
        // Whole contents are ids of their own.
        let id = Oid::new(format!("{bytes:?}"));
        self.by_stamp.lock().unwrap().insert(*stamp, id.clone());
        Some(id)
    }
}

impl ReplayService for Known {
    fn mode(&self, _: &str) -> CacheMode {
        CacheMode::Off
    }

    fn basis(&self) -> &str {
        ""
    }

    fn contents(&self) -> Option<Arc<dyn FileContents>> {
        Some(Arc::clone(&self.contents) as Arc<dyn FileContents>)
    }

    fn key(&self, _: &Replayable) -> String {
        String::new()
    }

    fn find(&self, _: &Replayable) -> Option<Vec<u8>> {
        None
    }

    fn store(&self, _: &Replayable, _: &[u8]) {}
}

pub(crate) fn knowing(remembers: bool) -> Arc<Known> {
    let contents = Arc::new(Contents {
        remembers,
        ..Contents::default()
    });
    Arc::new(Known { contents })
}

/// The calls whose results for each file are kept.
fn cached_calls() -> [(&'static str, Value); 4] {
    [
        ("analyze_code_structure", json!({"path": "."})),
        ("analyze_dependencies", json!({})),
        ("measure_code_complexity", json!({})),
        ("find_similar_code", json!({"code_snippet": RUST})),
    ]
}

/// After each of many random edits, an analysis with the results of all earlier ones answers as one
/// without any.
pub(crate) async fn a_kept_result_is_that_of_the_file(mut harness: ToolHarness) {
    let texts = [
        RUST,
        PYTHON,
        "#!/bin/sh\nrun() {\n  if a; then b; fi\n}\n",
        "class A { public: int f() { return a ? b : c; } };\n",
        "int f(void);\n",
        "fn broken( {\n",
        "zero\0byte",
        "",
        "\u{feff}fn marked() { while a() { b(); } }\n",
    ];
    let paths = [
        "a.rs",
        "b/a.rs",
        "b/c.py",
        "a.h",
        "a.c",
        "script",
        "b/b.ts",
        "b/notes.txt",
        "b/d/a.go",
    ];
    let (mut seed, kept) = (7_u64, SharedValues::default());
    let mut random = |below: usize| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % below
    };
    for round in 0..60 {
        let (path, text) = (paths[random(paths.len())], texts[random(texts.len())]);
        match random(4) {
            0 if harness.path().join(path).exists() => {
                std::fs::remove_file(harness.path().join(path)).unwrap()
            }
            1 => harness.put(path, text.repeat(3)).unwrap(),
            _ => harness.put(path, text).unwrap(),
        }
        for (tool, arguments) in cached_calls() {
            harness.scope.shared = kept.clone();
            harness.scope.services.replay = knowing(false);
            let with_kept = harness.call(tool, arguments.clone()).await;
            harness.scope.shared = SharedValues::default();
            harness.scope.services.replay = Arc::new(NoReplay);
            let cold = harness.call(tool, arguments).await;
            let plain = |output: ToolOutput| (output.body, output.data, output.error);
            let (with_kept, cold) = (plain(with_kept), plain(cold));
            assert_eq!(with_kept, cold, "round {round}, {path}: {tool}");
        }
    }
}

/// What one agent has analysed answers for another one in another worktree, and a file that is
/// known is not read.
pub(crate) async fn agents_share_what_they_analysed(mut harness: ToolHarness) {
    let sandbox = orchestrate_sandbox::Sandbox::clone(&harness.scope.sandbox);
    let registry = plain_tools().unwrap();
    let mut other = ToolHarness::new(registry, sandbox).unwrap();
    other.scope.shared = harness.scope.shared.clone();
    // Whoever knows files by their metadata knows those of all worktrees.
    let known = knowing(true);
    for scope in [&mut harness.scope, &mut other.scope] {
        scope.services.replay = Arc::clone(&known) as Arc<dyn ReplayService>;
    }
    project(&harness);
    project(&other);
    for (tool, arguments) in cached_calls() {
        let first = harness.call(tool, arguments.clone()).await;
        let again = harness.call(tool, arguments.clone()).await;
        let others = other.call(tool, arguments.clone()).await;
        let others_again = other.call(tool, arguments).await;
        for output in [&again, &others, &others_again] {
            assert_eq!(
                (&output.body, &output.data),
                (&first.body, &first.data),
                "{tool}"
            );
        }
        // The ignore rules are read each time, and files that may have a similar place are parsed
        // with the snippet.
        let rules = "target/\n".len();
        let code = if tool == "find_similar_code" {
            RUST.len()
        } else {
            0
        };
        for output in [&again, &others_again] {
            assert_eq!(
                output.resource_usage.read_bytes,
                (rules + code) as u64,
                "{tool}"
            );
        }
    }
}

pub(crate) async fn the_hottest_functions_of_a_profile_are_found(harness: ToolHarness) {
    let profile = "main;work;sort 30\nmain;work 10\nmain;sort 60\n";
    harness.put("out.folded", profile).unwrap();
    let table = "folded stacks: 100 samples (samples) in all\n   self    total        self  function\n \
        90.00%   90.00%  90 samples  sort\n 10.00%   40.00%  10 samples  work\n  0.00%  100.00%   0 samples  main\n\
        hottest paths:\n 60.00%  60 samples  main > sort\n 30.00%  30 samples  main > work > sort\n \
        10.00%  10 samples  main > work";
    for arguments in [
        json!({"profiling_data": profile}),
        json!({"path": "out.folded"}),
    ] {
        let output = harness.call("analyze_performance", arguments).await;
        assert_eq!(said(&output), format!("ok: {table}"));
        assert_eq!(
            (&output.data["format"], &output.data["total"]),
            (&json!("folded"), &json!(100))
        );
        let sort = json!({"name": "sort", "self": 90, "self_share": 9_000, "total": 90, "total_share": 9_000});
        assert_eq!(output.data["functions"][0], sort);
        let path = json!({"frames": ["main", "sort"], "value": 60, "share": 6_000});
        assert_eq!(output.data["paths"][0], path);
    }
    // Binary data is read from a file.
    harness
        .put(
            "cpu.pb.gz",
            include_bytes!("../../../../code/tests/samples/cpu.pb.gz"),
        )
        .unwrap();
    let output = harness
        .call("analyze_performance", json!({"path": "cpu.pb.gz"}))
        .await;
    let expected = "ok: pprof: 360.00 ms (cpu) in all\n   self    total        self  function\n \
        69.44%   80.56%   250.00 ms  main.work\n";
    assert!(said(&output).starts_with(expected), "{}", said(&output));
}

pub(crate) async fn benchmarks_are_found_below_their_folder(harness: ToolHarness) {
    harness.put(".gitignore", "target/\n").unwrap();
    let estimates =
        |time: f64| format!("{{\"mean\":{{\"point_estimate\":{time}}},\"slope\":null}}");
    for (path, content) in [
        ("parse/small/new/estimates.json", estimates(250.5)),
        (
            "parse/small/new/benchmark.json",
            "{\"full_id\":\"parse: small\"}".to_owned(),
        ),
        ("parse/small/base/estimates.json", estimates(1.0)),
        ("parse/small/change/estimates.json", estimates(-0.5)),
        ("parse/large/new/estimates.json", estimates(749.5)),
        ("report/index.html", String::new()),
    ] {
        harness
            .put(&format!("target/criterion/{path}"), content)
            .unwrap();
    }
    let output = harness
        .call("analyze_performance", json!({"path": "target/criterion"}))
        .await;
    let rows =
        " 74.95%   74.95%   749.50 ns  parse/large\n 25.05%   25.05%   250.50 ns  parse: small";
    let heading =
        "criterion: 1.00 µs (time of one iteration) in all\n   self    total        self  function";
    assert_eq!(said(&output), format!("ok: {heading}\n{rows}"));
    let path = "target/criterion/parse/large/new/estimates.json";
    let output = harness
        .call("analyze_performance", json!({"path": path}))
        .await;
    assert!(
        said(&output).ends_with("100.00%  100.00%   749.50 ns  parse/large"),
        "{}",
        said(&output)
    );
}

pub(crate) async fn what_is_no_profile_is_said(mut harness: ToolHarness) {
    harness.put("src/lib.rs", RUST).unwrap();
    harness.put("secret/out.folded", "main 1\n").unwrap();
    for (arguments, expected) in [
        (
            json!({}),
            "Retry: Invalid parameters: expected either `profiling_data` or `path`",
        ),
        (
            json!({"profiling_data": "src/out.folded"}),
            "Retry: this is no profile that is known: folded stacks, perf",
        ),
        (json!({"path": "nowhere"}), "Retry: file not found: nowhere"),
        (
            json!({"path": "src"}),
            "Retry: src: it holds no results of criterion",
        ),
        (
            json!({"profiling_data": format!("main {}\nmain 1\n", u64::MAX)}),
            "Retry: the profile was taken for one of folded stacks and cannot be read: line 2: the values add up to",
        ),
    ] {
        calls! { harness; analyze_performance (arguments) => starting(expected); }
    }
    harness
        .put("large.folded", "main 1\n".repeat(2_000))
        .unwrap();
    let limit = std::mem::replace(&mut harness.scope.limits.file_bytes, 10_000);
    let output = harness
        .call("analyze_performance", json!({"path": "large.folded"}))
        .await;
    let expected = "Retry: large.folded has 13 kB, more than the limit of 9 kB; the user can set another one, \
                    `tools.file_operations.max_file_size_mb`, or record fewer samples";
    assert_eq!(said(&output), expected);
    harness.scope.limits.file_bytes = limit;
    harness.scope.policy = policy(&[(Deny, "Read(/secret)")]);
    calls! { harness; analyze_performance {"path": "secret/out.folded"} => starting("Denied: "); }
    harness.scope.limits.search_timeout = Duration::ZERO;
    calls! { harness;
        analyze_performance {"profiling_data": "main 1\n".repeat(10_000)}
            => starting("Execution: the search ran into its limit");
    }
}
