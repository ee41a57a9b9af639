//! What an agent hands back: its outcome, and its claims held against what was recorded.

use orchestrate_core::event::Event;
use orchestrate_core::projections::AfterClaims;
use orchestrate_core::task::FailureCause;
use orchestrate_core::{
    ChangedPath, CheckVerdict, ComparedWork, HandBack, Outcome, ReportGiven, RunSettings, Task,
    WorkCompared,
};
use serde_json::json;

use crate::facts::{failed, prepared, recorded, task};
use crate::story::Story;

/// Tells of a parent and its child at work, with this check of each task and of the run.
fn family(verify: Option<&str>, check_of_run: Option<&str>) -> Story {
    let settings = RunSettings {
        verify: check_of_run.map(str::to_owned),
        ..RunSettings::default()
    };
    let tasks = [("a", None), ("b", Some("a"))].map(|(name, parent)| {
        let verify = verify.map(str::to_owned);
        (
            Task {
                verify,
                ..task(name, &[])
            },
            parent,
        )
    });
    let mut story = Story::spawning(settings, tasks.into()).at_work();
    story.tell_all([prepared("a"), prepared("b")]);
    story
}

impl Story {
    fn tell_json(&mut self, event: serde_json::Value) {
        self.tell(serde_json::from_value(event).unwrap());
    }

    /// Tells of a command of b's agent that ended with this code, or of a file that it wrote
    /// (`w:PATH`).
    fn call(&mut self, what: &str, exit_code: i32) {
        let id = format!("c{}", self.0.seq);
        let (tool, arguments, writes) = match what.strip_prefix("w:") {
            Some(path) => ("write_file", json!({ "path": path }), vec![path]),
            None => ("run_shell_command", json!({ "command": what }), Vec::new()),
        };
        self.tell_json(
            json!({"type": "tool.started", "task": "b", "turn": 1, "call_id": id, "tool": tool,
                              "arguments": arguments, "writes": writes, "rule": "r"}),
        );
        let outcome = if exit_code == 0 { "ok" } else { "failed" };
        self.tell_json(json!({"type": "tool.finished", "task": "b", "turn": 1, "call_id": id, "tool": tool,
                              "outcome": outcome, "exit_code": exit_code, "result": "blob", "duration_ms": 1}));
    }

    /// Tells which files b's work changes (`M path`).
    fn changes(&mut self, files: &[&str]) {
        let changed = |file: &&str| ChangedPath {
            status: file.chars().next().unwrap(),
            path: file[2..].to_owned(),
        };
        let work = ComparedWork::new("tree".into(), files.iter().map(changed).collect());
        self.tell(Event::WorkCompared(WorkCompared {
            task: "b".into(),
            work,
        }));
    }

    fn commits(&mut self, summary: &str) {
        self.tell(Event::TaskCommitted {
            task: "b".into(),
            commit: "commit".into(),
            tree: "tree".into(),
            summary: summary.to_owned(),
        });
    }

    fn hand_back(&self) -> HandBack {
        self.0.hand_back(self.record("b"))
    }

    fn unverified(&self) -> Vec<String> {
        self.hand_back()
            .unverified
            .iter()
            .map(ToString::to_string)
            .collect()
    }
}

/// Calls, each with its exit code.
type Calls = &'static [(&'static str, i32)];

#[test]
fn a_claim_that_checks_pass_needs_one_after_the_last_change() {
    let claim = |why: &str| vec![format!("\"All tests pass.\": {why}")];
    let none = Vec::new;
    let table: [(Calls, Vec<String>); 15] = [
        (&[("w:a.txt", 0)], claim("no check ran")),
        (&[("w:a.txt", 0), ("cargo test", 0)], none()),
        (
            &[("cargo test", 0), ("w:a.txt", 0)],
            claim("`cargo test` ran before the last change"),
        ),
        (
            &[("cargo test", 0), ("sed -i s/a/b/ a.txt", 0)],
            claim("`cargo test` ran before the last change"),
        ),
        (&[("cargo test", 0), ("git status && ls", 0)], none()),
        (
            &[("cargo test", 101)],
            claim("`cargo test` ended with exit 101"),
        ),
        (&[("cargo test", 101), ("cargo test", 0)], none()),
        (
            &[("cargo test", 0), ("cargo test -p b", 1)],
            claim("`cargo test -p b` ended with exit 1"),
        ),
        (
            &[("cargo test | tail", 0)],
            claim(
                "the result of `cargo test | tail` is not known: its exit code is not that of a check that ran",
            ),
        ),
        (
            &[("cargo test && sed -i s/a/b/ a.txt", 0)],
            claim("`cargo test && sed -i s/a/b/ a.txt` ran before the last change"),
        ),
        (
            &[("cargo test -p b", 1), ("cargo fmt; cargo test", 0)],
            none(),
        ),
        (
            &[("cargo test", 0), ("cargo fmt; cargo test | tail", 0)],
            claim(
                "the result of `cargo fmt; cargo test | tail` is not known: its exit code is not that of a check that ran",
            ),
        ),
        (
            &[("cargo test --no-run", 0)],
            claim(
                "the result of `cargo test --no-run` is not known: its exit code is not that of a check that ran",
            ),
        ),
        (&[("./verify.sh", 0)], none()),
        (&[("./other.sh", 0)], claim("no check ran")),
    ];
    for (calls, expected) in table {
        let mut story = family(None, Some("./verify.sh"));
        calls
            .iter()
            .for_each(|(what, code)| story.call(what, *code));
        story.changes(&["M a.txt"]);
        story.commits("Fixed it. All tests pass.");
        assert_eq!(story.unverified(), expected, "{calls:?}");
    }
}

/// Calls of one turn may run side by side.
#[test]
fn a_file_that_is_written_while_a_check_runs_is_not_checked() {
    let mut story = family(None, None);
    let started = |id: &str, tool: &str, arguments: serde_json::Value, writes: &[&str]| {
        json!({"type": "tool.started", "task": "b", "turn": 1, "call_id": id, "tool": tool, "arguments": arguments,
               "writes": writes, "rule": "r"})
    };
    story.tell_json(started(
        "1",
        "run_shell_command",
        json!({"command": "cargo test"}),
        &[],
    ));
    story.tell_json(started(
        "2",
        "write_file",
        json!({"path": "a.txt"}),
        &["a.txt"],
    ));
    for (id, tool) in [("2", "write_file"), ("1", "run_shell_command")] {
        story.tell_json(json!({"type": "tool.finished", "task": "b", "turn": 1, "call_id": id, "tool": tool,
                               "outcome": "ok", "exit_code": 0, "result": "blob", "duration_ms": 1}));
    }
    story.changes(&["M a.txt"]);
    story.commits("All tests pass.");
    assert_eq!(
        story.unverified(),
        ["\"All tests pass.\": `cargo test` ran before the last change"]
    );
}

#[test]
fn the_runs_own_check_of_the_work_decides() {
    for (passed, expected) in [
        (true, vec![]),
        (
            false,
            vec!["\"All tests pass.\": `make` ended with exit 2".to_owned()],
        ),
    ] {
        let mut story = family(Some("make"), None);
        story.call("w:a.txt", 0);
        story.changes(&["M a.txt"]);
        // Before it has run, it is waited for.
        let record = story.0.task(&"b".into()).unwrap();
        assert_eq!(record.unverified_claims("All tests pass."), []);
        story.commits("All tests pass.");
        let exit = if passed { "exit 0" } else { "exit 2" };
        story.tell_json(
            json!({"type": "verify.finished", "task": "b", "scope": "task", "tree": "tree", "command": "make",
                               "passed": passed, "exit": exit, "output": "blob", "duration_ms": 1}),
        );
        assert_eq!(story.unverified(), expected);
        let check = story.hand_back().checks.pop().unwrap();
        assert_eq!(
            (check.command.as_str(), check.tree),
            ("make", Some("tree".into()))
        );
    }
}

/// The project's tests have not failed if the agent's pattern matches none of them.
#[test]
fn a_pattern_that_matches_no_test_is_no_failed_check() {
    let not_known = "the result of `run_tests nowhere` is not known: its exit code is not that of a check that ran";
    let table = [
        (
            Some("retry"),
            Some(5),
            vec![(CheckVerdict::Unknown, "no test matched")],
            not_known,
        ),
        // The call was refused before any program ran.
        (Some("retry"), None, vec![], "no check ran"),
        (
            None,
            Some(1),
            vec![(CheckVerdict::Failed, "exit 1")],
            "`run_tests nowhere` ended with exit 1",
        ),
    ];
    for (class, exit_code, checks, doubt) in table {
        let mut story = family(None, None);
        let of_call = |kind: &str| json!({"type": kind, "task": "b", "turn": 1, "call_id": "c", "tool": "run_tests"});
        let mut event = of_call("tool.started");
        event["arguments"] = json!({"test_pattern": "nowhere"});
        event["rule"] = json!("r");
        story.tell_json(event);
        let mut event = of_call("tool.finished");
        (event["outcome"], event["error_class"], event["exit_code"]) =
            (json!("failed"), json!(class), json!(exit_code));
        (event["result"], event["duration_ms"]) = (json!("blob"), json!(1));
        story.tell_json(event);
        story.changes(&["M a.txt"]);
        story.commits("All tests pass.");
        let found = story.hand_back().checks;
        let found: Vec<_> = found
            .iter()
            .map(|check| (check.verdict, check.exit.as_str()))
            .collect();
        assert_eq!(found, checks, "{class:?} {exit_code:?}");
        assert_eq!(
            story.unverified(),
            [format!("\"All tests pass.\": {doubt}")],
            "{class:?} {exit_code:?}"
        );
    }
}

#[test]
fn changed_tests_are_named_in_the_report_or_held_against_it() {
    let undeclared =
        "\"done\": it changed or deleted existing tests that its report does not name: tests/a.rs";
    let table = [
        (&["M src/a.rs", "A tests/b.rs"][..], "Done.", vec![]),
        (&["M src/a.rs", "M tests/a.rs"], "Done.", vec![undeclared]),
        (&["D tests/a.rs"], "Done.", vec![undeclared]),
        (
            &["D tests/a.rs"],
            "Deleted tests/a.rs, which tested what is gone.",
            vec![],
        ),
        (&["M tests/a.rs"], "Claims: done", vec![undeclared]),
    ];
    for (files, report, expected) in table {
        let mut story = family(None, None);
        story.changes(files);
        story.commits(report);
        assert_eq!(story.unverified(), expected, "{files:?} {report}");
        let changed = files.iter().any(|file| file.ends_with("tests/a.rs"));
        assert_eq!(story.hand_back().changed_tests.is_empty(), !changed);
    }
}

#[test]
fn a_strict_role_returns_false_claims_and_then_fails_but_for_a_missing_line() {
    let table = [
        ("Claims: none", "take", "take"),
        ("The tests pass.\nClaims: none", "take", "take"),
        ("Claims: tests pass", "return", "fail"),
        ("It is done.", "return", "take"),
        ("The tests pass.", "return", "fail"),
    ];
    for (report, first, last) in table {
        let mut story = family(None, None);
        story.changes(&["M src/a.rs"]);
        let record = story.0.task(&"b".into()).unwrap();
        for (rounds, expected) in [(1, first), (0, last)] {
            let decided = match record.after_claims(report, rounds) {
                AfterClaims::Take => "take",
                AfterClaims::Return(_) => "return",
                AfterClaims::Fail(_) => "fail",
            };
            assert_eq!(decided, expected, "{report}, {rounds} rounds");
        }
    }
}

#[test]
fn work_that_changes_nothing_cannot_claim_to_be_done() {
    let mut story = family(None, None);
    let summary =
        "Everything is in place.\nClaims: done\nOpen questions:\n- Which port?".to_owned();
    story.tell(Event::NothingToDo {
        task: "b".into(),
        summary,
    });
    assert_eq!(story.unverified(), ["\"done\": its work changes no file"]);
    assert_eq!(story.hand_back().open_questions, ["Which port?"]);
}

#[test]
fn the_outcome_says_what_was_used_up_and_the_report_stands_beside_it() {
    use FailureCause::{Budget, Check, Cost, Timeout, Turns};
    let table = [
        (Turns, Outcome::OutOfTurns, "out of turns"),
        (Budget, Outcome::OutOfTokens, "out of tokens"),
        (Cost, Outcome::OutOfMoney, "out of money"),
        (Timeout, Outcome::OutOfTime, "out of time"),
        (Check, Outcome::Failed, "failed"),
    ];
    for (cause, outcome, words) in table {
        let mut story = family(None, None);
        assert_eq!(story.hand_back().outcome, Outcome::Working);
        assert_eq!(
            story.0.ended_hand_back(story.0.task(&"b".into()).unwrap()),
            None
        );
        story.changes(&["M a.txt"]);
        let due = story.0.decide_report(&"b".into(), cause, "no more");
        assert_eq!(due.is_some(), cause != Check);
        if let Some(due) = due {
            story.tell(due);
            assert_eq!(story.0.decide_report(&"b".into(), cause, "no more"), None);
            let summary = "Half of it. The tests pass.".to_owned();
            story.tell(Event::ReportGiven(ReportGiven {
                task: "b".into(),
                summary,
            }));
        }
        story.tell(failed("b", cause, "no more"));
        let HandBack {
            outcome: ended,
            by_agent,
            summary,
            unverified,
            error,
            ..
        } = story.hand_back();
        assert_eq!(
            (ended, ended.words(), by_agent),
            (outcome, words, cause != Check)
        );
        assert_eq!(error.unwrap().message, "no more");
        // A report at a limit does not claim to be done, and what it claims is held against the
        // facts, too.
        assert_eq!(unverified.len(), usize::from(by_agent), "{unverified:?}");
        let without = "no report: 0 replies, 1 files changed";
        assert_eq!(
            summary,
            if by_agent {
                "Half of it. The tests pass."
            } else {
                without
            }
        );
        let parent = story.0.hand_back(story.0.task(&"a".into()).unwrap());
        assert_eq!(parent.children[0].outcome, outcome);
    }
}

#[test]
fn a_second_last_request_is_no_possible_event() {
    let mut story = family(None, None);
    story.tell(
        story
            .0
            .decide_report(&"b".into(), FailureCause::Turns, "no more")
            .unwrap(),
    );
    let parts = json!({"system": "s", "tools": "t", "max_output_tokens": 1, "add": ["m"]});
    let requested: Event = serde_json::from_value(
        json!({"type": "model.requested", "task": "b", "turn": 1, "model": "m", "request": "h", "parts": parts,
               "reserved_tokens": 10}),
    )
    .unwrap();
    story.tell(requested.clone());
    let again = story.0.apply(&recorded(story.0.seq + 1, requested));
    assert!(again.unwrap_err().to_string().contains("one last request"));
}
