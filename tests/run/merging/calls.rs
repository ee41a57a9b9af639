//! The calls that an agent of a test makes one after another, and what each of them answers.

use serde_json::{Value, json};

use crate::support::{Rule, Script, done, on};

/// A tool, and its arguments.
pub(super) type Call = (&'static str, Value);

/// How many tools these tests call in one turn.
const MANY_CALLS: usize = 30;

pub(super) fn put(path: &str, content: &str) -> Call {
    ("write_file", json!({"path": path, "content": content}))
}

pub(super) fn commit(message: &str) -> Call {
    ("git_commit", json!({ "message": message }))
}

pub(super) fn shell(command: &str) -> Call {
    ("run_shell_command", json!({ "command": command }))
}

/// Returns a rule that makes these calls in one turn.
pub(super) fn in_one_turn(rule: Rule, calls: &[Call]) -> Rule {
    let mut rule = rule;
    for (name, arguments) in calls {
        rule = rule.call(name, arguments);
    }
    rule
}

/// Returns a script in which an agent calls these tools, many in one turn, and then ends.
pub(super) fn calls(task: &str, calls: &[Call]) -> Script {
    let mut script = Script::default();
    for (turn, calls) in (1..).zip(calls.chunks(MANY_CALLS)) {
        script = script.rule(in_one_turn(on(task, turn), calls));
    }
    script.rule(done(task))
}

/// Asserts that each answer contains its text.
pub(super) fn assert_answers(answers: &[String], expected: &[(usize, &str)]) {
    for (at, text) in expected {
        let is_said = answers.get(*at).is_some_and(|answer| answer.contains(text));
        assert!(is_said, "answer {at} has no {text:?}:\n{answers:#?}");
    }
}
