//! Whether a runner found no test that matches the pattern of a call. Each says so in its own way:
//! with an exit code of its own, with a sentence, or not at all.
//!
//! The project's tests are not at fault then, so this is told apart from tests that do not end
//! well.

use super::candidate::Ran;
use super::parse::Tally;
use super::runners::Report;

/// What nextest exits with if it has no test to run.
const NEXTEST_NONE: i32 = 4;
/// What pytest, and unittest since Python 3.12, exit with if they have no test to run.
const PYTHON_NONE: i32 = 5;
/// What pytest says of a place that does not exist, on a line of its own.
const PYTEST_NO_PLACE: &[&str] = &["ERROR: not found: ", "ERROR: file or directory not found: "];
/// What jest and vitest say if no file has tests of the pattern.
const JEST_NONE: &[&str] = &["No tests found", "No test files found"];
/// What Maven, Gradle and CTest say.
const BUILD_NONE: &[&str] = &[
    "No tests matching pattern",
    "No tests were executed",
    "No tests found for given includes",
    "No tests were found!!!",
];

/// Reports whether no test ran because none matches the pattern that the runner got.
pub(super) fn is_unmatched(ran: &Ran, tally: &Tally, report: &Report) -> bool {
    if tally.passed + tally.failed > 0 || !tally.errors.is_empty() {
        return false;
    }
    let (code, is_empty) = (ran.run.exit_code, tally.total() == 0);
    let exited_well = code == Some(0);
    let says = |marks: &[&str]| {
        marks
            .iter()
            .any(|mark| ran.stdout.contains(mark) || ran.stderr.contains(mark))
    };
    match report {
        Report::Libtest | Report::Junit | Report::Go { .. } => exited_well && is_empty,
        Report::Nextest => is_empty && (exited_well || code == Some(NEXTEST_NONE)),
        Report::Unittest => is_empty && (exited_well || code == Some(PYTHON_NONE)),
        Report::JunitBeside => {
            is_empty
                && (exited_well || code == Some(PYTHON_NONE) || ran.stderr.lines().any(is_line))
        }
        // They count tests that do not match as skipped.
        Report::Jest => exited_well || (is_empty && says(JEST_NONE)),
        Report::JunitFiles(_) => is_empty && says(BUILD_NONE),
        Report::ExitCode => false,
    }
}

fn is_line(line: &str) -> bool {
    PYTEST_NO_PLACE.iter().any(|begin| line.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::Report::{
        ExitCode, Go, Jest, Junit, JunitBeside, JunitFiles, Libtest, Nextest, Unittest,
    };
    use super::*;
    use crate::answer::ProgramRun;

    fn ran(exit_code: i32, stdout: &str, stderr: &str) -> Ran {
        Ran {
            run: ProgramRun {
                exit_code: Some(exit_code),
                ..ProgramRun::default()
            },
            how: format!("exit code {exit_code}"),
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
        }
    }

    #[test]
    fn each_runner_says_in_its_own_way_that_no_test_matches() {
        let go = || Go {
            module: "m".to_owned(),
        };
        let files = || JunitFiles(&["build"]);
        let no_place =
            "ERROR: not found: /w/test_a.py::nope\n(no match in any of [<Module test_a.py>])\n";
        let maven = "[ERROR] No tests matching pattern \"zzz\" were executed! (Set …)\n";
        let gradle = "> No tests found for given includes: [zzz](--tests filter)\n";
        let none = Tally::default;
        let some = |passed, skipped| Tally {
            passed,
            skipped,
            ..Tally::default()
        };
        let table = [
            (Libtest, ran(0, "running 0 tests\n", ""), none(), true),
            (
                Libtest,
                ran(101, "", "error: could not compile `a`\n"),
                none(),
                false,
            ),
            (Libtest, ran(0, "", ""), some(0, 2), false),
            (Libtest, ran(0, "", ""), some(1, 0), false),
            (
                Nextest,
                ran(4, "", "error: no tests to run\n"),
                none(),
                true,
            ),
            (Nextest, ran(100, "", ""), none(), false),
            (
                JunitBeside,
                ran(5, "1 deselected in 0.00s\n", ""),
                none(),
                true,
            ),
            (JunitBeside, ran(4, "", no_place), none(), true),
            (
                JunitBeside,
                ran(4, "", "ERROR: usage: pytest [options]\n"),
                none(),
                false,
            ),
            (
                Unittest,
                ran(0, "", "Ran 0 tests in 0.000s\n\nOK\n"),
                none(),
                true,
            ),
            (Unittest, ran(5, "", "NO TESTS RAN\n"), none(), true),
            (Junit, ran(0, "<testsuites/>", ""), none(), true),
            (Junit, ran(1, "", "SyntaxError\n"), none(), false),
            (Jest, ran(0, "", ""), some(0, 2), true),
            (
                Jest,
                ran(1, "No tests found, exiting with code 1\n", ""),
                none(),
                true,
            ),
            (
                Jest,
                ran(1, "", "No test files found, exiting with code 1\n"),
                none(),
                true,
            ),
            (Jest, ran(1, "", ""), some(0, 2), false),
            (go(), ran(0, "", ""), none(), true),
            (
                go(),
                ran(1, "", "testing: invalid regexp for -test.run\n"),
                none(),
                false,
            ),
            (files(), ran(1, maven, ""), none(), true),
            (files(), ran(1, "", gradle), none(), true),
            (
                files(),
                ran(0, "", "No tests were found!!!\n"),
                none(),
                true,
            ),
            (files(), ran(1, "", "broken build\n"), none(), false),
            (ExitCode, ran(0, "", ""), none(), false),
        ];
        for (report, ran, tally, expected) in table {
            assert_eq!(
                is_unmatched(&ran, &tally, &report),
                expected,
                "{report:?} {ran:?} {tally:?}"
            );
        }
    }
}
