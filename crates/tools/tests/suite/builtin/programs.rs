//! Tests of the tools that choose a project's programs, with real projects in the strongest sandbox
//! that works here.

use std::sync::Arc;
use std::time::Duration;

use orchestrate_core::ToolSettings;
use orchestrate_core::event::ErrorKind;
use orchestrate_core::policy::{Permission, RuleDecision};
use orchestrate_tool_testing::harness::ToolHarness;
use orchestrate_tools::{
    CallOutcome, ExecutionResult, FormatResults, LintResults, TestErrorKind, TestResults,
    ToolOutput, plain_tools,
};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::execute::conformance::{conforms_with, python_specimens};
use crate::support::{Need, begins, calls, fails, policy, said, says, starting};

const fn need(probe: &'static str, program: &'static str) -> Need {
    Need { probe, program }
}

pub(crate) const CARGO: Need = need(
    "cargo clippy --version && rustfmt --version",
    "cargo (rustup.rs, with clippy and rustfmt)",
);
pub(crate) const NEXTEST: Need = need(
    "cargo nextest --version",
    "cargo-nextest (cargo install --locked cargo-nextest)",
);
pub(crate) const PYTHON: Need = need(
    "python3 -c 'import venv, ensurepip'",
    "python3 (apt install python3-venv)",
);
pub(crate) const PYTEST: Need = need(
    "python3 -m pytest --version || pytest --version",
    "pytest (pip install pytest)",
);
pub(crate) const RUFF: Need = need("ruff --version", "ruff (pip install ruff)");
pub(crate) const MYPY: Need = need("mypy --version", "mypy (pip install mypy)");
pub(crate) const NODE: Need = need(
    "node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)'",
    "node (nodejs.org, 20 or newer)",
);
pub(crate) const GO: Need = need("go version", "go (go.dev)");
pub(crate) const CTEST: Need = need("ctest --version", "ctest (apt install cmake)");
pub(crate) const MAKE: Need = need("make --version", "make (apt install make)");

/// Returns the structured result.
fn data<T: DeserializeOwned>(output: &ToolOutput) -> T {
    serde_json::from_value(output.data.clone()).unwrap()
}

/// Shows counts, and the place and name of each failure.
fn told(results: &TestResults) -> (usize, usize, usize, Vec<String>) {
    let failure = |failure: &orchestrate_tools::TestFailure| {
        let place = match (&failure.file, failure.line) {
            (Some(file), Some(line)) => format!("{file}:{line} "),
            _ => String::new(),
        };
        format!("{place}{}", failure.name)
    };
    (
        results.passed,
        results.failed,
        results.skipped,
        results.failures.iter().map(failure).collect(),
    )
}

/// Runs the tests, and compares what is told.
async fn check_tests(
    harness: &ToolHarness,
    expected: (usize, usize, usize, &[&str]),
    program: &str,
) {
    let output = harness.call("run_tests", json!({})).await;
    assert!(output.error_kind.is_none(), "{}", output.text());
    let results: TestResults = data(&output);
    let (passed, failed, skipped, failures) = told(&results);
    let failures: Vec<&str> = failures.iter().map(String::as_str).collect();
    assert_eq!(
        (passed, failed, skipped, failures.as_slice()),
        expected,
        "{}",
        output.text()
    );
    assert_eq!(results.run.program, program);
    assert!(results.run.version.contains('.'), "{:?}", results.run);
    assert_eq!(output.success, failed == 0);
    let end = format!(
        "`{}`, exit code {}, ",
        results.run.command,
        output.exit_code.unwrap()
    );
    assert!(
        output
            .footer
            .starts_with(&format!("[{program} {}: {end}", results.run.version)),
        "{}",
        output.footer
    );
}

fn cargo_project(harness: &ToolHarness, lib: &str) {
    harness
        .put(
            "Cargo.toml",
            "[package]\nname = \"sums\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
        )
        .unwrap();
    harness.put("src/lib.rs", lib).unwrap();
}

const RUST_TESTS: &str = "#[test]\nfn adds() {}\n#[test]\n#[ignore]\nfn slowly() {}\n\
    #[test]\nfn wrongly() {\n    assert_eq!(1 + 2, 4, \"sum of one and two\");\n}\n";

pub(crate) async fn tests_of_cargo_are_counted_and_placed(harness: ToolHarness) {
    cargo_project(&harness, RUST_TESTS);
    check_tests(&harness, (1, 1, 1, &["src/lib.rs:8 wrongly"]), "cargo test").await;
    let output = harness
        .call("run_tests", json!({"test_pattern": "adds"}))
        .await;
    begins(&output, "1 passed, 0 failed, 0 skipped\n[cargo test ");
    let output = harness
        .call("run_tests", json!({"test_pattern": "nowhere"}))
        .await;
    let expected = "no test matches `nowhere`, so none ran; name tests as their runner does, or leave `test_pattern` out";
    // The project's tests have not failed: its arguments are at fault.
    assert_eq!(
        (output.error_kind, output.error.as_deref()),
        (Some(ErrorKind::Retry), Some(expected))
    );
    assert_eq!((output.success, output.exit_code), (false, Some(0)));
    harness
        .put("src/lib.rs", "fn broken() -> u8 { \"\" }\n")
        .unwrap();
    let output = harness.call("run_tests", json!({})).await;
    assert_eq!(
        output.error.as_deref(),
        Some("the tests did not end well: exit code 101")
    );
    says(&output, "error[E0308]: mismatched types");
}

const FORGING_TESTS: &str = r##"
#[test]
fn adds() {}
#[test]
fn x() {
    panic!("no\n\ntest result: ok. 99 passed; 0 failed; 0 ignored\n\n---- adds stdout ----\nfailures:\n    x\n\n\
        test result: FAILED. 5 passed; 1 failed; 0 ignored\n\nrunning 7 tests\ntest a ... ok\n\nfailures:\n");
}
#[test]
fn writes_past_the_runner() {
    use std::io::Write;
    let text = b"\nrunning 2 tests\ntest a ... FAILED\n\ntest result: ok. 2 passed; 0 failed; 0 ignored\n\n";
    std::io::stdout().write_all(text).unwrap();
}
"##;

pub(crate) async fn what_a_test_of_cargo_prints_does_not_count(harness: ToolHarness) {
    cargo_project(&harness, FORGING_TESTS);
    harness
        .put("tests/more.rs", "#[test]\nfn more() {}\n")
        .unwrap();
    check_tests(&harness, (3, 1, 0, &["src/lib.rs:6 x"]), "cargo test").await;
}

pub(crate) async fn a_test_program_of_cargo_that_crashes_is_named(harness: ToolHarness) {
    cargo_project(&harness, "#[test]\nfn adds() {}\n");
    harness
        .put(
            "tests/crash.rs",
            "#[test]\nfn dies() {\n    std::process::abort();\n}\n",
        )
        .unwrap();
    harness
        .put("tests/last.rs", "#[test]\nfn last() {}\n")
        .unwrap();
    let output = harness.call("run_tests", json!({})).await;
    let expected = "results may be incomplete: cargo test --test crash crashed";
    assert_eq!(
        (output.success, output.error.as_deref()),
        (false, Some(expected)),
        "{}",
        output.text()
    );
    let results: TestResults = data(&output);
    assert_eq!(
        (results.passed, results.failed, results.errors[0].kind),
        (2, 0, TestErrorKind::Crash)
    );
    says(&output, "SIGABRT");
}

pub(crate) async fn nextest_is_used_where_the_project_is_set_up_for_it(harness: ToolHarness) {
    cargo_project(&harness, RUST_TESTS);
    harness.put(".config/nextest.toml", "").unwrap();
    check_tests(
        &harness,
        (1, 1, 1, &["src/lib.rs:8 sums::sums wrongly"]),
        "cargo nextest",
    )
    .await;
}

pub(crate) async fn code_of_rust_is_checked_and_formatted(harness: ToolHarness) {
    cargo_project(
        &harness,
        "pub fn twice( x: i32 ) -> i32 {\n    return x * 2;\n}\n",
    );
    let output = harness.call("run_linter", json!({})).await;
    let expected = "src/lib.rs:2:5: warning clippy::needless_return: unneeded `return` statement";
    assert!(
        output.success && output.text().starts_with(expected),
        "{}",
        output.text()
    );
    assert_eq!(data::<LintResults>(&output).warnings, 1);
    let output = harness
        .call("run_linter", json!({"files": ["Cargo.toml"]}))
        .await;
    begins(&output, "nothing found\n[clippy ");
    let output = harness.call("run_formatter", json!({})).await;
    assert_eq!(data::<FormatResults>(&output).changed, ["src/lib.rs"]);
    assert!(
        harness
            .content("src/lib.rs")
            .unwrap()
            .starts_with("pub fn twice(x: i32) -> i32 {\n")
    );
    let output = harness
        .call("run_formatter", json!({"files": ["src/lib.rs"]}))
        .await;
    begins(&output, "nothing to change\n[rustfmt ");
    harness
        .put("src/lib.rs", "pub fn broken() -> u8 {\n    \"\"\n}\n")
        .unwrap();
    let output = harness.call("run_type_checker", json!({})).await;
    fails(&output, "1 error, 0 warnings");
    begins(&output, "src/lib.rs:2:5: error E0308: mismatched types");
}

/// The edition is that of the file's own package, which its workspace may have; the modules of a
/// named file are others.
pub(crate) async fn a_named_file_of_rust_is_formatted_alone_with_its_own_edition(
    harness: ToolHarness,
) {
    let root = "[workspace]\nmembers = [\"member\"]\n[workspace.package]\nedition = \"2021\"\n";
    harness.put("Cargo.toml", root).unwrap();
    harness
        .put(
            "member/Cargo.toml",
            "[package]\nname = \"member\"\nedition.workspace = true\n",
        )
        .unwrap();
    harness
        .put("member/rustfmt.toml", "tab_spaces = 2\n")
        .unwrap();
    harness
        .put(
            "member/src/lib.rs",
            "mod other;\npub async fn  one( ) {\n two( );\n}\n",
        )
        .unwrap();
    harness
        .put("member/src/other.rs", "pub fn  other( ) { }\n")
        .unwrap();
    let output = harness
        .call("run_formatter", json!({"files": ["member/src/lib.rs"]}))
        .await;
    assert_eq!(
        data::<FormatResults>(&output).changed,
        ["member/src/lib.rs"],
        "{}",
        output.text()
    );
    says(&output, "`rustfmt --edition 2021 < member/src/lib.rs`");
    assert_eq!(
        harness.content("member/src/lib.rs").unwrap(),
        "mod other;\npub async fn one() {\n  two();\n}\n"
    );
    assert_eq!(
        harness.content("member/src/other.rs").unwrap(),
        "pub fn  other( ) { }\n"
    );
    // A folder names all files in it.
    let output = harness
        .call("run_formatter", json!({"files": ["member"]}))
        .await;
    assert_eq!(
        data::<FormatResults>(&output).changed,
        ["member/src/other.rs"],
        "{}",
        output.text()
    );
    harness.put("member/src/other.rs", "pub fn {\n").unwrap();
    let output = harness
        .call("run_formatter", json!({"files": ["member/src/other.rs"]}))
        .await;
    assert!(
        !output.success && output.text().contains("--> member/src/other.rs:1"),
        "{}",
        output.text()
    );
    harness.put("Cargo.toml", "[workspace]\n").unwrap();
    let output = harness
        .call("run_formatter", json!({"files": ["member/src/lib.rs"]}))
        .await;
    let expected =
        "member/src/lib.rs: member/Cargo.toml inherits its edition, but no workspace has one";
    assert_eq!(output.error.as_deref(), Some(expected));
}

const PYTHON_TESTS: &str = "import unittest\n\n\nclass Sums(unittest.TestCase):\n    def test_adds(self):\n        pass\n\n    \
    def test_wrongly(self):\n        self.assertEqual(1 + 2, 4)\n\n    \
    @unittest.skip('slow')\n    def test_slowly(self):\n        pass\n";

pub(crate) async fn tests_of_unittest_are_counted_and_placed(harness: ToolHarness) {
    harness.put("tests/test_sums.py", PYTHON_TESTS).unwrap();
    // An environment of its own has no pytest. Installing pip into it would take seconds.
    let command = "python3 -m venv --without-pip .venv";
    let output = harness
        .call("run_shell_command", json!({"command": command}))
        .await;
    assert!(output.success, "{}", output.text());
    check_tests(
        &harness,
        (
            1,
            1,
            1,
            &["tests/test_sums.py:9 test_sums.Sums.test_wrongly"],
        ),
        "unittest",
    )
    .await;
    let output = harness
        .call("run_tests", json!({"test_pattern": "test_adds"}))
        .await;
    begins(&output, "1 passed, 0 failed, 0 skipped\n");
}

pub(crate) async fn tests_of_pytest_are_counted_and_placed(harness: ToolHarness) {
    harness.put("tests/test_sums.py", PYTHON_TESTS).unwrap();
    harness.put("conftest.py", "").unwrap();
    check_tests(
        &harness,
        (
            1,
            1,
            1,
            &["tests/test_sums.py:9 tests.test_sums.Sums.test_wrongly"],
        ),
        "pytest",
    )
    .await;
    harness
        .put("tests/test_broken.py", "def broken(\n")
        .unwrap();
    for pattern in ["tests/test_broken.py", "test_adds"] {
        let output = harness
            .call("run_tests", json!({"test_pattern": pattern}))
            .await;
        let expected = "no test ran: collection error in tests/test_broken.py";
        assert_eq!(
            (output.success, output.error.as_deref()),
            (false, Some(expected)),
            "{}",
            output.text()
        );
        assert!(
            output
                .text()
                .contains("\n\ntests/test_broken.py:1: collection error in tests/test_broken.py\n")
        );
        says(&output, "SyntaxError");
        let results: TestResults = data(&output);
        assert_eq!(
            (told(&results), results.errors[0].kind),
            ((0, 0, 0, Vec::new()), TestErrorKind::Collection)
        );
    }
}

pub(crate) async fn tests_of_node_are_counted_and_placed(harness: ToolHarness) {
    harness
        .put("package.json", r#"{"scripts": {"test": "node --test"}}"#)
        .unwrap();
    let tests = "const { test } = require('node:test');\ntest('adds', () => {});\n\
        test('wrongly', () => {\n  throw new Error('no number');\n});\ntest('slowly', { skip: true }, () => {});\n";
    harness.put("sums.test.js", tests).unwrap();
    check_tests(&harness, (1, 1, 1, &["sums.test.js:4 wrongly"]), "node").await;
    let output = harness
        .call("run_tests", json!({"test_pattern": "adds"}))
        .await;
    assert!(
        output.success && output.text().starts_with("1 passed, 0 failed, "),
        "{}",
        output.text()
    );
    let tests = "const { test } = require('node:test');\ntest('a \\u0001', () => {});\n\
        test('b', () => {\n  throw new Error('no ]]> \\u0002');\n});\n";
    harness.put("sums.test.js", tests).unwrap();
    check_tests(&harness, (1, 1, 0, &["sums.test.js:4 b"]), "node").await;
}

/// A program that ends as Maven or Gradle would, after it has written one report.
fn reporting(path: &str, report: &str, code: i32) -> String {
    format!(
        "case $1 in --version) echo Wrapped 1.0; exit;; esac\nmkdir -p \"$(dirname {path})\"\n\
        cat > {path} <<'END'\n{report}\nEND\nexit {code}\n"
    )
}

/// Projects with the program that builds them, and where the reports of their parts are.
const BUILDS: [(&str, &str, &str); 2] = [
    ("pom.xml", "mvnw", "target/surefire-reports"),
    ("build.gradle", "gradlew", "build/test-results/test"),
];
const PASSED: &str = "<testsuite><testcase classname=\"Sums\" name=\"adds\"/></testsuite>";
const FAILED: &str = "<testsuite><testcase classname=\"Sums\" name=\"adds\"><failure>no</failure></testcase></testsuite>";

pub(crate) async fn reports_of_parts_at_any_depth_are_read(harness: ToolHarness) {
    for (mark, program, folder) in BUILDS {
        harness.put(mark, "").unwrap();
        harness.put(&format!("a/b/{mark}"), "").unwrap();
        for part in ["", "a/", "a/b/", "a/b/c/d/"] {
            harness
                .put(
                    program,
                    reporting(&format!("{part}{folder}/TEST-sums.xml"), PASSED, 0),
                )
                .unwrap();
            let output = harness.call("run_tests", json!({})).await;
            assert!(
                output.text().starts_with("1 passed, 0 failed, 0 skipped\n"),
                "{part}{folder}: {}",
                output.text()
            );
        }
        std::fs::remove_file(harness.path().join(mark)).unwrap();
    }
}

pub(crate) async fn reports_and_exit_code_have_to_agree(harness: ToolHarness) {
    harness.put("pom.xml", "").unwrap();
    let path = "a/target/surefire-reports/TEST-sums.xml";
    for (report, code, expected) in [
        (
            FAILED,
            0,
            "1 of 1 tests failed, although the exit code is 0",
        ),
        (FAILED, 1, "1 of 1 tests failed"),
        (PASSED, 1, "the tests did not end well: exit code 1"),
        (
            "<testsuite><testcase>",
            0,
            "results may be incomplete: cannot read a/target/surefire-reports/TEST-sums.xml",
        ),
        ("<other/>", 0, "no test ran"),
    ] {
        harness.put("mvnw", reporting(path, report, code)).unwrap();
        let output = harness.call("run_tests", json!({})).await;
        let text = output.text();
        assert_eq!(
            (output.success, output.error.as_deref()),
            (false, Some(expected)),
            "{report} {code}: {text}"
        );
    }
}

pub(crate) async fn tests_of_go_are_counted_and_placed(harness: ToolHarness) {
    harness
        .put("go.mod", "module example.test/sums\n\ngo 1.18\n")
        .unwrap();
    harness
        .put(
            "a/sums_test.go",
            "package a\n\nimport \"testing\"\n\nfunc TestAdds(t *testing.T) {}\n\n\
        func TestWrongly(t *testing.T) {\n\tt.Error(\"no number\")\n}\n\nfunc TestSlowly(t *testing.T) { t.Skip() }\n",
        )
        .unwrap();
    let failed = "a/sums_test.go:8 example.test/sums/a.TestWrongly";
    check_tests(&harness, (1, 1, 1, &[failed]), "go test").await;
    let output = harness
        .call("run_tests", json!({"test_pattern": "TestAdds"}))
        .await;
    assert!(
        output.success && output.text().starts_with("1 passed, 0 failed, 0 skipped\n"),
        "{}",
        output.text()
    );
}

pub(crate) async fn tests_of_ctest_are_counted(harness: ToolHarness) {
    let list = "cmake_minimum_required(VERSION 3.20)\nproject(sums NONE)\nenable_testing()\n\
        add_test(NAME adds COMMAND ${CMAKE_COMMAND} -E true)\n\
        add_test(NAME wrongly COMMAND ${CMAKE_COMMAND} -E false)\n";
    harness.put("CMakeLists.txt", list).unwrap();
    check_tests(&harness, (1, 1, 0, &["wrongly"]), "ctest").await;
    // The report of the first run is not taken for that of the second.
    harness.put("CMakeLists.txt", "broken(").unwrap();
    let output = harness.call("run_tests", json!({})).await;
    assert!(
        output
            .error
            .as_deref()
            .is_some_and(|error| error.starts_with("the tests did not end well: "))
    );
}

pub(crate) async fn reports_that_rules_hide_are_named(mut harness: ToolHarness) {
    let list = "cmake_minimum_required(VERSION 3.20)\nproject(sums NONE)\nenable_testing()\n\
        add_test(NAME adds COMMAND ${CMAKE_COMMAND} -E true)\n";
    harness.put("CMakeLists.txt", list).unwrap();
    let mut settings = ToolSettings::default();
    settings.file_operations.allowed_extensions = Some(vec![".txt".to_owned()]);
    harness.limit(&settings);
    let output = harness.call("run_tests", json!({})).await;
    let expected = "results may be incomplete: cannot read build/Testing";
    assert_eq!(
        (output.success, output.error.as_deref()),
        (false, Some(expected)),
        "{}",
        output.text()
    );
}

pub(crate) async fn a_target_of_make_passes_or_fails(harness: ToolHarness) {
    harness.put("Makefile", "test:\n\t@echo checked\n").unwrap();
    let output = harness.call("run_tests", json!({})).await;
    assert!(
        output.success
            && output
                .text()
                .starts_with("the tests passed\n\nchecked\n[make "),
        "{}",
        output.text()
    );
    calls! { harness;
        run_tests {"test_pattern": "a"}
            => "Retry: Invalid parameters: `make` runs all tests or none; leave `test_pattern` out";
    }
    harness
        .put("Makefile", "test:\n\t@echo wrong; exit 3\n")
        .unwrap();
    let output = harness.call("run_tests", json!({})).await;
    assert_eq!(
        output.error.as_deref(),
        Some("the tests did not end well: exit code 2")
    );
    says(&output, "\nwrong\n");
}

pub(crate) async fn ruff_lists_findings_and_formats(harness: ToolHarness) {
    // Which rules are on by default differs between versions.
    harness
        .put("ruff.toml", "[lint]\nselect = [\"F\"]\n")
        .unwrap();
    harness.put("a.py", "import os\nx = { 1 }\n").unwrap();
    let output = harness.call("run_linter", json!({"files": ["a.py"]})).await;
    fails(&output, "1 error, 0 warnings");
    begins(
        &output,
        "a.py:1:8: error F401: `os` imported but unused\n[ruff ",
    );
    let output = harness.call("run_formatter", json!({})).await;
    assert_eq!(
        data::<FormatResults>(&output).changed,
        ["a.py"],
        "{}",
        output.text()
    );
    assert_eq!(harness.content("a.py").unwrap(), "import os\n\nx = {1}\n");
    harness.put("a.py", "def broken(\n").unwrap();
    let output = harness.call("run_formatter", json!({})).await;
    fails(&output, "exit code 2");
}

pub(crate) async fn mypy_lists_findings(harness: ToolHarness) {
    harness
        .put("a.py", "def f(x: int) -> str:\n    return x\n")
        .unwrap();
    let output = harness.call("run_type_checker", json!({})).await;
    let expected = "a.py:2:12: error return-value: Incompatible return value type (got \"int\", expected \"str\")\n[mypy ";
    begins(&output, expected);
    assert_eq!(data::<LintResults>(&output).errors, 1);
    harness.put("a.py", "reveal_type(1)\n").unwrap();
    let output = harness.call("run_type_checker", json!({})).await;
    assert!(
        output.success
            && output
                .text()
                .starts_with("a.py:1:13: note: Revealed type is "),
        "{}",
        output.text()
    );
    let results: LintResults = data(&output);
    assert_eq!((results.errors, results.warnings), (0, 0));
    harness.put("a.py", "x = 1\n").unwrap();
    let output = harness.call("run_type_checker", json!({})).await;
    assert!(
        output.success && output.text().starts_with("nothing found\n"),
        "{}",
        output.text()
    );
}

pub(crate) async fn a_script_runs_isolated_with_its_limits(harness: ToolHarness) {
    harness.put("sums.py", "number = 3\n").unwrap();
    let code = "import sys\nsys.path.insert(0, '.')\nimport sums\nprint(sums.number, sys.flags.isolated)\n";
    let output = harness.call("run_python", json!({"code": code})).await;
    assert!(
        output.success && output.text().starts_with("3 1\n[exit code 0, "),
        "{}",
        output.text()
    );
    let result: ExecutionResult = data(&output);
    assert_eq!(
        (
            result.exit_code,
            result.stdout.as_str(),
            result.stderr.as_str()
        ),
        (Some(0), "3 1\n", "")
    );
    let output = harness
        .call("run_python", json!({"code": "import sums"}))
        .await;
    says(&output, "No module named 'sums'");
    assert_eq!((output.success, output.exit_code), (false, Some(1)));
    calls! { harness;
        run_python {"code": "while True: pass", "timeout": 1} => "Timeout: timed out after 1 s";
        run_python {"code": " "} => "Retry: Invalid parameters: `code` is empty";
    }
}

pub(crate) async fn code_of_python_is_judged_as_in_a_shell(mut harness: ToolHarness) {
    let pushes = "import subprocess\nsubprocess.run(\"git push\", shell=True)\n";
    let also_pushes = "import subprocess\nsubprocess.run([\"git\", \"push\"])\n";
    let commits = "import subprocess\nsubprocess.run([\"git\", \"commit\"])\n";
    let allowed = "";
    let denied = "Denied: Security validation failed: the rule";
    for (decision, rule, code, expected) in [
        (RuleDecision::Deny, "Bash(git push:*)", pushes, denied),
        (RuleDecision::Deny, "Bash(git push:*)", also_pushes, denied),
        (RuleDecision::Deny, "Bash(git push:*)", commits, allowed),
        (RuleDecision::Deny, "Bash(git push:*)", "print(1)", allowed),
        (RuleDecision::Deny, "Bash(python3 -c:*)", "print(1)", denied),
        (RuleDecision::Ask, "Bash(git push:*)", pushes, denied),
    ] {
        harness.scope.policy = policy(&[(decision, rule)]);
        let of_tool = harness.call("run_python", json!({"code": code})).await;
        let command = format!("python3 -c '{code}'");
        let of_shell = harness
            .call("run_shell_command", json!({"command": command}))
            .await;
        let refusal = |output: ToolOutput| {
            if output.success {
                String::new()
            } else {
                said(&output)
            }
        };
        let [of_tool, of_shell] = [of_tool, of_shell].map(refusal);
        assert_eq!(of_tool, of_shell, "{rule} {code}");
        assert!(
            of_tool.starts_with(expected) && of_tool.is_empty() == expected.is_empty(),
            "{rule} {code}: {of_tool}"
        );
    }
    harness.scope.policy = policy(&[(RuleDecision::Ask, "Bash(git push:*)")]);
    harness.scope.ask_parks = true;
    let outcome = harness.outcome("run_python", json!({"code": pushes})).await;
    assert!(matches!(outcome, CallOutcome::NeedsApproval { .. }));
}

pub(crate) async fn a_script_has_the_time_of_the_reference(mut harness: ToolHarness) {
    // A lower limit of the configuration holds for the default, too.
    harness.scope.limits.max_command_timeout = Duration::from_secs(1);
    calls! { harness; run_python {"code": "while True: pass"} => "Timeout: timed out after 1 s"; }
    let tool = plain_tools()
        .unwrap()
        .tool("run_python")
        .unwrap()
        .schema()
        .clone();
    assert_eq!(
        tool["properties"]["timeout"]["description"],
        json!("seconds, default 30")
    );
}

pub(crate) async fn a_script_needs_the_permission_to_run_code(mut harness: ToolHarness) {
    let mut grant = (*harness.scope.grant).clone();
    grant.permissions.remove(&Permission::CodeExecution);
    harness.scope.grant = Arc::new(grant);
    for (tool, arguments) in [
        ("run_python", json!({"code": "1"})),
        ("run_tests", json!({})),
    ] {
        let output = harness.call(tool, arguments).await;
        let expected = format!("this agent's role does not grant `{tool}` (code_execution)");
        assert!(said(&output).contains(&expected), "{}", said(&output));
    }
}

pub(crate) async fn a_virtual_environment_is_made_and_used(harness: ToolHarness) {
    let output = harness
        .call("create_virtual_environment", json!({"path": ".venv"}))
        .await;
    assert!(output.success, "{}", output.text());
    assert_eq!(output.data, json!(true));
    assert!(output.footer.starts_with("[Python 3."), "{}", output.footer);
    assert_eq!(harness.content(".venv/.gitignore").unwrap(), "*\n");
    calls! { harness;
        create_virtual_environment {"path": ".venv"}
            => "Retry: exists already: .venv; name another path";
    }
    let output = harness
        .call(
            "run_python",
            json!({"code": "import sys; print(sys.prefix)"}),
        )
        .await;
    begins(&output, harness.path().join(".venv").to_str().unwrap());
    let output = harness
        .call(
            "run_python",
            json!({"code": "import pip; print(pip.__file__)"}),
        )
        .await;
    begins(&output, harness.path().join(".venv").to_str().unwrap());
}

/// A module that stands before Python's own in the worktree: it makes a virtual environment
/// without pip, whose installation takes seconds for each of the calls that a check makes. That an
/// environment has pip is checked by [`a_virtual_environment_is_made_and_used`].
const VENV_WITHOUT_PIP: &str = "import sys\n\ndel sys.path[0]\nimport venv\n\n\
    venv.main(['--without-pip', *sys.argv[1:]])\n";

pub(crate) async fn the_tools_for_python_conform(harness: ToolHarness) {
    let prepare = |own: &ToolHarness| {
        own.put("venv.py", VENV_WITHOUT_PIP)?;
        own.put("a.txt", "one\ntwo\n")
    };
    conforms_with(&harness, python_specimens(), &prepare).await;
}

pub(crate) async fn a_project_without_tests_is_told_so(harness: ToolHarness) {
    harness.put("README.md", "").unwrap();
    calls! { harness; run_tests {} => starting("Retry: found no tests that this can run: "); }
    for (tool, kind) in [
        ("run_linter", "linter"),
        ("run_type_checker", "type checker"),
        ("run_formatter", "formatter"),
    ] {
        let output = harness.call(tool, json!({})).await;
        assert!(
            said(&output).starts_with(&format!("Retry: found no {kind} for this project: ")),
            "{}",
            said(&output)
        );
    }
}

pub(crate) async fn arguments_that_look_like_options_are_refused(harness: ToolHarness) {
    harness.put("Makefile", "test:\n").unwrap();
    for (pattern, fault) in [
        ("--version", "begins with `-`, like an option"),
        ("", "is empty"),
    ] {
        let output = harness
            .call("run_tests", json!({"test_pattern": pattern}))
            .await;
        let expected = format!("Retry: Invalid parameters: `test_pattern` {fault}");
        assert!(said(&output).starts_with(&expected), "{}", said(&output));
    }
}

pub(crate) async fn what_is_not_installed_is_named(harness: ToolHarness) {
    // No machine has this one: the version of a wrapper that fails is that of no program.
    harness.put("build.gradle", "").unwrap();
    harness.put("gradlew", "exit 1\n").unwrap();
    let output = harness.call("run_tests", json!({})).await;
    let expected = "Execution: nothing that this needs is installed where commands run; install gradle (from gradle.org)";
    assert_eq!(said(&output), expected);
}

pub(crate) async fn a_rule_about_commands_holds_for_programs_that_a_tool_chooses(
    mut harness: ToolHarness,
) {
    harness.put("Makefile", "test:\n\ttouch ran\n").unwrap();
    for (decision, rule, expected) in [
        (
            RuleDecision::Deny,
            "Bash(make *)",
            "the rule `deny:Bash(make *)` of the test denies it",
        ),
        (
            RuleDecision::Deny,
            "run_tests(make test)",
            "the rule `deny:run_tests(make test)` of the test denies it",
        ),
        (
            RuleDecision::Deny,
            "code_execution(make:*)",
            "the rule `deny:code_execution(make:*)` of the test denies it",
        ),
        (
            RuleDecision::Ask,
            "Bash(make *)",
            "the rule `ask:Bash(make *)` needs approval for `make test`; run that command with run_shell_command, which \
            can ask for it",
        ),
    ] {
        harness.scope.policy = policy(&[(decision, rule)]);
        calls! { harness;
            run_tests {} => format!("Denied: Security validation failed: {expected}");
        }
    }
    harness.scope.policy = policy(&[(RuleDecision::Deny, "Bash(python3 *)")]);
    calls! { harness;
        run_python {"code": "open('ran', 'w')"}
            => starting("Denied: Security validation failed: the rule `deny:Bash(python3 *)`");
    }
    assert!(!harness.path().join("ran").exists());
}

pub(crate) async fn files_outside_are_refused_and_absent_ones_named(harness: ToolHarness) {
    harness.put("a.py", "").unwrap();
    for tool in ["run_linter", "run_type_checker", "run_formatter"] {
        let output = harness
            .call(tool, json!({"files": ["a.py", "../b.py"]}))
            .await;
        assert!(
            said(&output).starts_with("Denied: Security validation failed: `../b.py` is outside"),
            "{tool}"
        );
        let output = harness.call(tool, json!({"files": ["c.py"]})).await;
        assert!(
            said(&output).starts_with("Retry: file not found: c.py"),
            "{}",
            said(&output)
        );
    }
}
