use super::*;
use crate::results::Diagnostic;

macro_rules! recorded {
    ($name:literal) => {
        include_str!(concat!("recorded/", $name))
    };
}

/// Shows a tally with the first line of each message.
fn shown(tally: &Tally) -> String {
    let mut lines = vec![format!("{} passed, {} failed, {} skipped", tally.passed, tally.failed, tally.skipped)];
    lines.extend(tally.failures.iter().map(|failure| {
        let place = match (&failure.file, failure.line) {
            (Some(file), Some(line)) => format!("{file}:{line}"),
            _ => "-".to_owned(),
        };
        format!("{place} {}: {}", failure.name, failure.message.lines().next().unwrap_or_default())
    }));
    lines.join("\n")
}

#[test]
fn each_runners_report_is_read() {
    let table = [
        (
            libtest(recorded!("cargo-test.txt"), "/w"),
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
            junit(recorded!("pytest.xml"), "/w"),
            "1 passed, 2 failed, 2 skipped\n\
            test_sums.py:14 test_sums.Sums.test_adds_wrongly: self = <test_sums.Sums testMethod=test_adds_wrongly>\n\
            test_sums.py:21 test_sums.Sums.test_breaks: self = <test_sums.Sums testMethod=test_breaks>",
        ),
        (
            junit(recorded!("node.xml"), "/w"),
            "1 passed, 2 failed, 1 skipped\n\
            sums.test.js:7 sums > adds wrongly: Error [ERR_TEST_FAILURE]: sum of one and two\n\
            sums.test.js:10 sums > breaks: [Error [ERR_TEST_FAILURE]: no number] {",
        ),
        (
            junit(recorded!("surefire.xml"), "/w"),
            "1 passed, 1 failed, 1 skipped\n\
            SumsTest.java:14 org.sums.SumsTest.addsWrongly: org.opentest4j.AssertionFailedError: sum of one and two ==> \
            expected: <4> but was: <3>",
        ),
        (
            junit(recorded!("ctest.xml"), "/w"),
            "1 passed, 1 failed, 1 skipped\n\
            - adds_wrongly: CMake Error: nowhere.txt: no such file or directory (ignoring)",
        ),
        (
            jest(recorded!("jest.json"), "/w"),
            "1 passed, 2 failed, 1 skipped\n\
            sums.test.js:4 sums adds wrongly: Error: expect(received).toBe(expected) // Object.is equality\n\
            sums.test.js:7 sums breaks: TypeError: no number",
        ),
        (
            jest(recorded!("vitest.json"), "/w"),
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
    let tally = libtest(recorded!("cargo-test.txt"), "/w");
    let expected = "about to add\n\nthread 'tests::adds_wrongly' (14200) panicked at src/lib.rs:24:9:\n\
        assertion `left == right` failed: sum of one and two\n  left: 3\n right: 4";
    assert_eq!(tally.failures[1].message, expected);
    let long = tally::shortened(&"long line\n".repeat(1_000));
    assert!(long.len() < 5_000 && long.contains("\n[…]\n"), "{}", long.len());
}

#[test]
fn reports_are_found_among_other_lines_and_broken_ones_are_nothing() {
    let around = format!("a warning\n{}\nmore\n", recorded!("pytest.xml"));
    assert_eq!(junit(&around, "/w").total(), 5);
    let twice = format!("{0}\n{0}", recorded!("pytest.xml"));
    assert_eq!(junit(&twice, "/w").total(), 10);
    let around = format!("{{not json}}\n{}\nbye", recorded!("jest.json"));
    assert_eq!(jest(&around, "/w").total(), 4);
    for broken in ["", "{", "<testsuite", "<testsuites><a></testsuites>", "test result: FAILED", "Ran many tests"] {
        let nothing = Tally::default();
        assert_eq!(
            [junit(broken, ""), jest(broken, ""), go(broken, ""), nextest(broken, "")],
            [0; 4].map(|_| nothing.clone())
        );
        assert_eq!([libtest(broken, ""), unittest(broken, "")], [0; 2].map(|_| nothing.clone()), "{broken}");
    }
}

#[test]
fn a_test_that_does_not_panic_as_expected_counts_once() {
    let text = "running 2 tests\ntest t::ok ... ok\ntest t::sp - should panic ... FAILED\n\nfailures:\n\n\
        ---- t::sp stdout ----\nnote: test did not panic as expected at src/lib.rs:5:8\n\nfailures:\n    t::sp\n\n\
        test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
    let expected = "1 passed, 1 failed, 0 skipped\n\
        src/lib.rs:5 t::sp: note: test did not panic as expected at src/lib.rs:5:8";
    assert_eq!(shown(&libtest(text, "/w")), expected);
}

#[test]
fn parts_of_a_test_and_unexpected_successes_of_unittest_count_once() {
    let rule = "=".repeat(70);
    let thin = "-".repeat(70);
    let failure = |name: &str| format!("{rule}\nFAIL: {name}\n{thin}\nAssertionError: no\n\n");
    let failures = ["test_bad (u.T.test_bad)", "test_sub (u.T.test_sub) (i=0)", "test_sub (u.T.test_sub) (i=2)"];
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
        <failure message=\"x\">x</failure></testcase><testcase name=\"a \u{1} b\" classname=\"test\"/></testsuites>";
    assert_eq!(shown(&junit(text, "/w")), "1 passed, 0 failed, 1 skipped");
}

#[test]
fn a_test_program_that_crashed_has_no_result() {
    let tally = libtest("running 2 tests\ntest a ... ok\ntest b ... FAILED\n", "");
    assert_eq!(shown(&tally), "0 passed, 1 failed, 0 skipped\n- b: ");
}

#[test]
fn a_file_of_tests_and_a_package_that_cannot_run_count_as_failures() {
    let suite = r#"{"testResults":[{"assertionResults":[],"status":"failed","name":"/w/a.test.js",
        "message":"SyntaxError: Unexpected token (/w/a.test.js:3:7)"}]}"#;
    let expected = "0 passed, 1 failed, 0 skipped\n\
        a.test.js:3 a.test.js: SyntaxError: Unexpected token (/w/a.test.js:3:7)";
    assert_eq!(shown(&jest(suite, "/w")), expected);
    let built = concat!(
        r#"{"ImportPath":"m/bad [m/bad.test]","Action":"build-output","Output":"bad/bad.go:3:23: cannot use \"x\"\n"}"#,
        "\n",
        r#"{"Action":"output","Package":"m/bad","Output":"FAIL\tm/bad [build failed]\n"}"#,
        "\n",
        r#"{"Action":"fail","Package":"m/bad","Elapsed":0,"FailedBuild":"m/bad [m/bad.test]"}"#,
    );
    let expected = "0 passed, 1 failed, 0 skipped\nbad/bad.go:3 m/bad: bad/bad.go:3:23: cannot use \"x\"";
    assert_eq!(shown(&go(built, "m")), expected);
}

/// Shows findings, one a line.
fn listed(found: &[Diagnostic]) -> String {
    let number = |number: Option<u32>| number.map_or("-".to_owned(), |number| number.to_string());
    let line = |found: &Diagnostic| {
        let Diagnostic { file, code, severity, message, .. } = found;
        let code = code.as_deref().unwrap_or("-");
        let (line, column) = (number(found.line), number(found.column));
        format!("{file} {line} {column} {severity} {code} {}", message.lines().next().unwrap_or_default())
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
            lines("sums.go:3:6: func `f` is unused (unused)\nfunc f() {}\n     ^\nwarning: 12:30 is late\n", "/w"),
            "sums.go 3 6 error unused func `f` is unused",
        ),
        (ruff("not json", "/w"), ""),
    ];
    for (found, expected) in table {
        assert_eq!(listed(&found), expected);
    }
}
