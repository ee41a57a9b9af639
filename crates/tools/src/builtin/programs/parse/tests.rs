use super::*;
use crate::answer::Diagnostic;

macro_rules! recorded {
    ($name:literal) => {
        include_str!(concat!("recorded/", $name))
    };
}

/// Reads the report that a program printed.
fn printed(text: &str) -> Tally {
    junit(text, "it", "/w").unwrap()
}

/// Shows a tally with the first line of each message.
fn shown(tally: &Tally) -> String {
    let mut lines = vec![format!(
        "{} passed, {} failed, {} skipped",
        tally.passed, tally.failed, tally.skipped
    )];
    let told = |file: &Option<String>, line: Option<u32>, name: &str, message: &str| {
        let place = match (file, line) {
            (Some(file), Some(line)) => format!("{file}:{line}"),
            _ => "-".to_owned(),
        };
        format!(
            "{place} {name}: {}",
            message.lines().next().unwrap_or_default()
        )
    };
    let failures = tally.failures.iter();
    lines.extend(
        failures.map(|failure| told(&failure.file, failure.line, &failure.name, &failure.message)),
    );
    lines.extend(tally.errors.iter().map(|error| {
        format!(
            "{:?} {}",
            error.kind,
            told(&error.file, error.line, &error.name, &error.message)
        )
    }));
    lines.join("\n")
}

#[test]
fn each_runners_report_is_read() {
    let table = [
        (
            libtest(recorded!("cargo-test.txt"), "", "/w"),
            "2 passed, 2 failed, 1 skipped\n\
            - tests::fails_with_an_error: Error: \"no number\"\n\
            src/lib.rs:24 tests::adds_wrongly: about to add",
        ),
        (
            nextest(recorded!("nextest.jsonl"), "/w"),
            "1 passed, 2 failed, 1 skipped\n\
            - sums::sums tests::fails_with_an_error: Error: \"no number\"\n\
            src/lib.rs:24 sums::sums tests::adds_wrongly: about to add",
        ),
        (
            unittest(recorded!("unittest.txt"), "/w"),
            "1 passed, 2 failed, 2 skipped\n\
            test_sums.py:21 test_sums.Sums.test_breaks: Traceback (most recent call last):\n\
            test_sums.py:14 test_sums.Sums.test_adds_wrongly: Traceback (most recent call last):",
        ),
        (
            printed(recorded!("pytest.xml")),
            "1 passed, 2 failed, 2 skipped\n\
            test_sums.py:14 test_sums.Sums.test_adds_wrongly: self = <test_sums.Sums testMethod=test_adds_wrongly>\n\
            test_sums.py:21 test_sums.Sums.test_breaks: self = <test_sums.Sums testMethod=test_breaks>",
        ),
        (
            printed(recorded!("node.xml")),
            "1 passed, 2 failed, 1 skipped\n\
            sums.test.js:7 sums > adds wrongly: Error [ERR_TEST_FAILURE]: sum of one and two\n\
            sums.test.js:10 sums > breaks: [Error [ERR_TEST_FAILURE]: no number] {",
        ),
        (
            junit_file(recorded!("surefire.xml"), "a.xml", "/w"),
            "1 passed, 1 failed, 1 skipped\n\
            SumsTest.java:14 org.sums.SumsTest.addsWrongly: org.opentest4j.AssertionFailedError: sum of one and two ==> \
            expected: <4> but was: <3>",
        ),
        (
            junit_file(recorded!("ctest.xml"), "a.xml", "/w"),
            "1 passed, 1 failed, 1 skipped\n\
            - adds_wrongly: CMake Error: nowhere.txt: no such file or directory (ignoring)",
        ),
        (
            jest(recorded!("jest.json"), "/w").unwrap(),
            "1 passed, 2 failed, 1 skipped\n\
            sums.test.js:4 sums adds wrongly: Error: expect(received).toBe(expected) // Object.is equality\n\
            sums.test.js:7 sums breaks: TypeError: no number",
        ),
        (
            jest(recorded!("vitest.json"), "/w").unwrap(),
            "1 passed, 2 failed, 1 skipped\n\
            sums.test.js:5 sums adds wrongly: AssertionError: sum of one and two: expected 3 to be 4 // Object.is \
            equality\n\
            sums.test.js:8 sums breaks: TypeError: no number",
        ),
        (
            go(recorded!("go-test.jsonl"), "example.test/sums"),
            "1 passed, 1 failed, 1 skipped\n\
            sums_test.go:15 example.test/sums.TestAddsWrongly/inner:     sums_test.go:15: sum of one and two: got 3",
        ),
    ];
    for (tally, expected) in table {
        assert_eq!(shown(&tally), expected);
    }
}

#[test]
fn a_message_has_what_the_test_printed_and_no_stack() {
    let tally = libtest(recorded!("cargo-test.txt"), "", "/w");
    let expected = "about to add\n\nthread 'tests::adds_wrongly' (14200) panicked at src/lib.rs:24:9:\n\
        assertion `left == right` failed: sum of one and two\n  left: 3\n right: 4";
    assert_eq!(tally.failures[1].message, expected);
    let long = tally::shortened(&"long line\n".repeat(1_000));
    assert!(
        long.len() < 5_000 && long.contains("\n[…]\n"),
        "{}",
        long.len()
    );
}

#[test]
fn reports_are_found_among_other_lines() {
    let around = format!("a warning\n{}\nmore\n", recorded!("pytest.xml"));
    assert_eq!(printed(&around).total(), 5);
    // What a test printed comes before.
    let before = format!(
        "<?xml version=\"1.0\"?><testsuites><testcase/></testsuites>{}",
        recorded!("pytest.xml")
    );
    assert_eq!(printed(&before).total(), 5);
    let (declaration, root) = recorded!("pytest.xml").split_once("?>").unwrap();
    let (inner, _) = root.trim_end().rsplit_once("</testsuite>").unwrap();
    let suite = inner.split_once("<testsuite ").unwrap().1;
    let begin = "<?xml version=\"1.0\"?>\n<testsuites>";
    for noisy in [
        format!("{declaration}?>{root}\nunexpected </testsuites>\n"),
        format!("{declaration}?>\n(node:1) Warning: <slow>\n{root}"),
        format!(
            "{declaration}?><testsuite {suite}</testsuite>\nException ignored in: <thread 1>\n"
        ),
        format!("a warning\n{}\nmore\n", root.trim()),
        format!("{begin}<testcase>\n{declaration}?>{root}"),
        format!("{begin}\n{declaration}?>{root}\n</testsuites>"),
        format!(
            "{declaration}?>{}<!-- {begin} --></testsuites>",
            root.trim_end().trim_end_matches("</testsuites>")
        ),
    ] {
        assert_eq!(printed(&noisy).total(), 5, "{noisy}");
    }
    let around = format!(
        "{{\"testResults\":[]}}\n{{not json}}\n{}\nbye",
        recorded!("jest.json")
    );
    assert_eq!(jest(&around, "/w").unwrap().total(), 4);
    for nothing in [
        "",
        "{",
        "{}",
        "<testsuite",
        "<testsuites><a></testsuites>",
        "test result: FAILED",
        "Ran many tests",
    ] {
        assert_eq!(
            [junit(nothing, "it", ""), jest(nothing, "")],
            [None, None],
            "{nothing}"
        );
        let found = [
            go(nothing, ""),
            nextest(nothing, ""),
            libtest(nothing, "", ""),
            unittest(nothing, ""),
        ];
        assert_eq!(found, [0; 4].map(|_| Tally::default()), "{nothing}");
    }
}

/// Each of these would take minutes if it was read again from each place at which something may
/// begin.
#[test]
fn a_report_is_read_in_time_of_its_length() {
    let many = 50_000;
    let (open, close) = ("{\"a\":".repeat(many), "}".repeat(many));
    for text in [format!("{open}1{close}"), open] {
        assert!(jest(&text, "/w").is_none());
    }
    assert_eq!(
        junit(&"<?xml?><testsuites><a b='".repeat(many), "it", "")
            .unwrap()
            .errors
            .len(),
        1
    );
    let text = format!("running 1 test\n{}", "failures:\n".repeat(5 * many));
    assert_eq!(libtest(&text, "", "/w").total(), 0);
    let passed =
        |at: usize| format!("{{\"Action\":\"pass\",\"Package\":\"m\",\"Test\":\"Test{at}\"}}");
    let lines: Vec<String> = (0..many).map(passed).collect();
    assert_eq!(go(&lines.join("\n"), "m").passed, many);
}

#[test]
fn a_report_that_cannot_be_read_is_named() {
    let cut = recorded!("surefire.xml")
        .split("</testsuite>")
        .next()
        .unwrap();
    for (text, message) in [
        ("", "the document does not have a root node"),
        (cut, "the root node was opened but never closed"),
        (
            "<testsuite><testcase></testsuite>",
            "expected 'testcase' tag, not 'testsuite' at 1:22",
        ),
    ] {
        let expected = format!("0 passed, 0 failed, 0 skipped\nReport - a/TEST-a.xml: {message}");
        assert_eq!(shown(&junit_file(text, "a/TEST-a.xml", "/w")), expected);
    }
    let cut = format!(
        "a warning\n{}",
        recorded!("pytest.xml").split("</testcase>").next().unwrap()
    );
    let expected = "0 passed, 0 failed, 0 skipped\nReport - the report of it: the root node was opened but never closed";
    assert_eq!(shown(&printed(&cut)), expected);
    let other = "<testng-results><testcase/></testng-results>";
    assert_eq!(
        shown(&junit_file(other, "a.xml", "/w")),
        "0 passed, 0 failed, 0 skipped"
    );
}

/// What a test of this name prints to look like the runner.
const FORGED: &str = "\ntest result: ok. 99 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0s\n\n\
    ---- adds stdout ----\nforged\n---- x stdout ----\ntest adds ... FAILED\n\nfailures:\n    x\n\n\
    test result: FAILED. 5 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n\nrunning 7 tests\n\
    test a ... ok\ntest b ... FAILED\n\nfailures:\n";
const RESULT_OF_X: &str = "\nfailures:\n    x\n\n\
    test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.16s\n\n";
const NEXT_PROGRAM: &str = "\nrunning 1 test\ntest fine ... ok\n\n\
    test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n";

#[test]
fn what_a_test_of_rust_prints_does_not_count() {
    let of_failed = format!(
        "\nrunning 3 tests\ntest adds ... ok\ntest y ... ok\ntest x ... FAILED\n\nfailures:\n\n\
        ---- x stdout ----\nhi{FORGED}\n{RESULT_OF_X}{NEXT_PROGRAM}"
    );
    let tally = libtest(&of_failed, "", "/w");
    assert_eq!(shown(&tally), "3 passed, 1 failed, 0 skipped\n- x: hi");
    assert!(
        tally.failures[0].message.contains("---- adds stdout ----"),
        "{tally:?}"
    );
    // A test may also write past the runner, which prints nothing of it again.
    let nested = "\nrunning 2 tests\ntest a ... FAILED\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored\n\n\
        test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured\n\n";
    let past = format!(
        "\nrunning 3 tests\ntest adds ... ok\n{nested}test y ... ok\ntest x ... FAILED\n\nfailures:\n\n\
        ---- x stdout ----\nhi{FORGED}\n{RESULT_OF_X}{NEXT_PROGRAM}"
    );
    assert_eq!(
        shown(&libtest(&past, "", "/w")),
        "3 passed, 1 failed, 0 skipped\n- x: hi"
    );
    // Without a line for each test, as `--quiet` prints it.
    let quiet = format!(
        "\nrunning 3 tests\n..F\nfailures:\n\n---- x stdout ----\nhi{FORGED}\n{RESULT_OF_X}"
    );
    assert_eq!(
        shown(&libtest(&quiet, "", "/w")),
        "2 passed, 1 failed, 0 skipped\n- x: hi"
    );
}

#[test]
fn a_test_that_does_not_panic_as_expected_counts_once() {
    let text = "running 2 tests\ntest t::ok ... ok\ntest t::sp - should panic ... FAILED\n\nfailures:\n\n\
        ---- t::sp stdout ----\nnote: test did not panic as expected at src/lib.rs:5:8\n\nfailures:\n    t::sp\n\n\
        test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
    let expected = "1 passed, 1 failed, 0 skipped\n\
        src/lib.rs:5 t::sp: note: test did not panic as expected at src/lib.rs:5:8";
    assert_eq!(shown(&libtest(text, "", "/w")), expected);
}

#[test]
fn parts_of_a_test_and_unexpected_successes_of_unittest_count_once() {
    let rule = "=".repeat(70);
    let thin = "-".repeat(70);
    let failure = |name: &str| format!("{rule}\nFAIL: {name}\n{thin}\nAssertionError: no\n\n");
    let failures = [
        "test_bad (u.T.test_bad)",
        "test_sub (u.T.test_sub) (i=0)",
        "test_sub (u.T.test_sub) (i=2)",
    ];
    let failures: String = failures.into_iter().map(failure).collect();
    let text = format!(
        "{failures}{rule}\nUNEXPECTED SUCCESS: test_x (u.T.test_x)\nUNEXPECTED SUCCESS: test_y (u.T.test_y)\n{thin}\n\
        Ran 7 tests in 0.003s\n\nFAILED (failures=3, skipped=1, expected failures=1, unexpected successes=2)\n"
    );
    let expected = "1 passed, 4 failed, 2 skipped\n- u.T.test_bad: AssertionError: no\n\
        - u.T.test_sub (i=0): AssertionError: no\n- u.T.test_sub (i=2): AssertionError: no\n\
        - u.T.test_x: unexpected success\n- u.T.test_y: unexpected success";
    assert_eq!(shown(&unittest(&text, "/w")), expected);
    let text = format!(
        "{rule}\nERROR: setUpClass (u.T)\n{thin}\nKeyError: 1\n\n{thin}\nRan 1 test in 0s\n\nFAILED (errors=1)\n"
    );
    assert!(shown(&unittest(&text, "/w")).starts_with("1 passed, 1 failed, 0 skipped\n"));
}

#[test]
fn what_is_to_do_is_no_failure_and_no_name_hides_a_report() {
    let text = "<testsuites><testcase name=\"todo\" classname=\"test\"><skipped type=\"todo\" message=\"true\"/>\
        <failure message=\"x\">x</failure></testcase><testcase name=\"a \u{1} b\" classname=\"test\"/>\
        <testcase name=\"c &#1; &#x1B; &#65;\" classname=\"test\"><failure>]]></failure></testcase></testsuites>";
    let expected = "1 passed, 1 failed, 1 skipped\n- c \u{fffd} \u{fffd} A: ]]>";
    assert_eq!(shown(&junit_file(text, "a.xml", "/w")), expected);
}

#[test]
fn tests_that_the_pattern_leaves_out_do_not_count_as_skipped() {
    let text = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<testsuites>\n\t\
        <testcase name=\"adds\" time=\"0.001606\" classname=\"test\">\n\t\t\
        <skipped type=\"skipped\" message=\"test name does not match pattern\"/>\n\t</testcase>\n\t\
        <testcase name=\"b\" classname=\"test\"><skipped type=\"skipped\" message=\"true\"/></testcase>\n</testsuites>\n";
    assert_eq!(shown(&printed(text)), "0 passed, 0 failed, 1 skipped");
}

#[test]
fn a_test_program_that_crashed_is_named() {
    let stdout = "\nrunning 2 tests\ntest ok ... ok\ntest dies ... \nrunning 1 test\n\nrunning 1 test\ntest fine ... ok\n\n\
        test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n";
    let stderr = "   Compiling sums v0.1.0 (/w)\n     Running tests/crash.rs (target/debug/deps/crash-0b)\n\
        thread 'dies' has overflowed its stack\nerror: test failed, to rerun pass `--test crash`\n\nCaused by:\n  \
        process didn't exit successfully: `/w/target/debug/deps/crash-0b` (signal: 6, SIGABRT: process abort signal)\n     \
        Running tests/exits.rs (target/debug/deps/exits-dc)\nerror: test failed, to rerun pass `--test exits`\n\n\
        Caused by:\n  process didn't exit successfully: `/w/target/debug/deps/exits-dc` (exit status: 3)\n     \
        Running tests/zfine.rs (target/debug/deps/zfine-05)\nerror: 2 targets failed:\n    `--test crash`\n";
    let expected = "2 passed, 0 failed, 0 skipped\n\
        Crash - cargo test --test crash: thread 'dies' has overflowed its stack\n\
        Crash - cargo test --test exits: error: test failed, to rerun pass `--test exits`";
    let tally = libtest(stdout, stderr, "/w");
    assert_eq!(shown(&tally), expected);
    assert!(
        tally.errors[0]
            .message
            .ends_with("(signal: 6, SIGABRT: process abort signal)"),
        "{tally:?}"
    );
    let cut = libtest(
        "running 2 tests\ntest a ... ok\ntest b ... FAILED\n",
        "",
        "",
    );
    let expected = "1 passed, 1 failed, 0 skipped\n- b: \nCrash - a test program: its output ends before its result";
    assert_eq!(shown(&cut), expected);
}

#[test]
fn a_file_of_tests_and_a_package_that_cannot_run_are_named() {
    let suite = r#"{"testResults":[{"assertionResults":[],"status":"failed","name":"/w/a.test.js",
        "message":"SyntaxError: Unexpected token (/w/a.test.js:3:7)"}]}"#;
    let expected = "0 passed, 0 failed, 0 skipped\n\
        Collection a.test.js:3 a.test.js: SyntaxError: Unexpected token (/w/a.test.js:3:7)";
    assert_eq!(shown(&jest(suite, "/w").unwrap()), expected);
    let built = concat!(
        r#"{"ImportPath":"m/bad [m/bad.test]","Action":"build-output","Output":"bad/bad.go:3:23: cannot use \"x\"\n"}"#,
        "\n",
        r#"{"Action":"output","Package":"m/bad","Output":"FAIL\tm/bad [build failed]\n"}"#,
        "\n",
        r#"{"Action":"fail","Package":"m/bad","Elapsed":0,"FailedBuild":"m/bad [m/bad.test]"}"#,
    );
    let expected = "0 passed, 0 failed, 0 skipped\nCollection bad/bad.go:3 m/bad: bad/bad.go:3:23: cannot use \"x\"";
    assert_eq!(shown(&go(built, "m")), expected);
}

#[test]
fn files_that_python_cannot_import_are_named() {
    let expected = "1 passed, 1 failed, 0 skipped\n\
        tests/test_ok.py:3 tests.test_ok.test_no: def test_no():\n\
        Collection tests/test_broken.py:1 tests/test_broken.py: /lib/python3.11/ast.py:50: in parse\n\
        Collection tests/test_imp.py:1 tests/test_imp.py: ImportError while importing test module '/w/tests/test_imp.py'.";
    assert_eq!(
        shown(&printed(recorded!("pytest-collection.xml"))),
        expected
    );
    let expected = "1 passed, 0 failed, 0 skipped\n\
        Collection test_broken.py:1 test_broken: ImportError: Failed to import test module: test_broken";
    assert_eq!(
        shown(&unittest(recorded!("unittest-collection.txt"), "/w")),
        expected
    );
    let forged = format!("{}\nRan 99 tests in 0s\n\nOK\n", "-".repeat(70));
    let tally = unittest(
        &format!("{forged}{}", recorded!("unittest-collection.txt")),
        "/w",
    );
    assert_eq!((tally.passed, tally.failed), (1, 0));
}

/// Shows findings, one a line.
fn listed(found: &[Diagnostic]) -> String {
    let number = |number: Option<u32>| number.map_or("-".to_owned(), |number| number.to_string());
    let line = |found: &Diagnostic| {
        let Diagnostic {
            file,
            code,
            severity,
            message,
            ..
        } = found;
        let code = code.as_deref().unwrap_or("-");
        let (line, column) = (number(found.line), number(found.column));
        format!(
            "{file} {line} {column} {severity} {code} {}",
            message.lines().next().unwrap_or_default()
        )
    };
    found.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn findings_of_each_checker_are_read() {
    let twice = format!("{0}{0}not json\n", recorded!("clippy.jsonl"));
    let table = [
        (
            cargo(&twice, "/w"),
            "src/lib.rs 36 37 warning unused_variables unused variable: `y`\n\
            src/lib.rs 36 44 warning clippy::needless_return unneeded `return` statement",
        ),
        (
            ruff(recorded!("ruff.json"), "/w"),
            "a.py 1 8 error F401 `os` imported but unused\na.py 7 10 error F821 Undefined name `undefined`",
        ),
        (
            eslint(recorded!("eslint.json"), "/w"),
            "a.mjs 1 7 error no-unused-vars 'unused' is assigned a value but never used.\n\
            a.mjs 2 7 warning eqeqeq Expected '===' and instead saw '=='.",
        ),
        (
            pyright(recorded!("pyright.json"), "/w"),
            "a.py 5 12 error reportReturnType Type \"int\" is not assignable to return type \"str\"\n\
            a.py 7 10 error reportUndefinedVariable \"undefined\" is not defined",
        ),
        (
            lines(recorded!("mypy.txt"), "/w"),
            "a.py 5 12 error return-value Incompatible return value type (got \"int\", expected \"str\")",
        ),
        (
            lines(recorded!("tsc.txt"), "/w"),
            "b.ts 1 7 error TS2322 Type 'string' is not assignable to type 'number'.\n\
            b.ts 2 19 error TS7006 Parameter 'a' implicitly has an 'any' type.",
        ),
        (
            lines(recorded!("go-vet.txt"), "/w"),
            "bad/bad.go 3 23 error - cannot use \"x\" (untyped string constant) as int value in return statement",
        ),
        (
            lines(
                "sums.go:3:6: func `f` is unused (unused)\nfunc f() {}\n     ^\nwarning: 12:30 is late\n",
                "/w",
            ),
            "sums.go 3 6 error unused func `f` is unused",
        ),
        (ruff("not json", "/w"), ""),
    ];
    for (found, expected) in table {
        assert_eq!(listed(&found), expected);
    }
}
