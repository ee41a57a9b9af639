//! What is said of work whose check has failed: to its agent, and to the user once it is given up.

use orchestrate_core::checks::EVIDENCE_BYTES;
use orchestrate_core::text::cut;
use orchestrate_core::{TaskRecord, VerifyResult, failing_lines, with_hint};

/// Returns how the last of these tries ended.
pub(crate) fn last_exit(tries: &[VerifyResult]) -> &str {
    tries.last().map_or("", |tried| tried.exit.as_str())
}

/// Returns the outputs of the first and the last of these tries, or one of them if they are equal.
pub(crate) fn shown_tries(tries: &[VerifyResult], outputs: &[String]) -> String {
    let first = outputs.first().map_or("", |text| text.trim());
    let last = outputs.last().map_or("", |text| text.trim());
    if outputs.len() < 2 {
        return cut(last, EVIDENCE_BYTES);
    }
    let count = outputs.len();
    if first == last {
        let text = cut(last, EVIDENCE_BYTES);
        return format!(
            "{text}\n[it was run {count} times on the same tree, with this same output]"
        );
    }
    let first = cut(first, EVIDENCE_BYTES / 2);
    let last = cut(last, EVIDENCE_BYTES / 2);
    let exit = tries.first().map_or("", |tried| tried.exit.as_str());
    format!(
        "[run 1 of {count} on the same tree: {exit}]\n{first}\n\n[run {count} of {count}: {}]\n\
         {last}",
        last_exit(tries)
    )
}

/// Appends to a message the lines of an output that describe a failure, and what to type if its
/// cause is known.
pub(crate) fn with_failing_lines(text: String, output: &str) -> String {
    let lines = std::iter::once(text)
        .chain(failing_lines(output))
        .collect::<Vec<_>>()
        .join("\n");
    with_hint(lines, output)
}

/// Describes how often work was returned to its agent, or its command rerun; empty if it never was.
pub(crate) fn after_rounds(record: &TaskRecord) -> String {
    match record.rounds() {
        0 => String::new(),
        _ if record.is_command() => {
            ", again after its command was rerun on the newer result; it has no agent to fix it"
                .to_owned()
        }
        1 => ", again after it was returned to its agent once".to_owned(),
        rounds => format!(", again after it was returned to its agent {rounds} times"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_outputs_of_a_check_are_shown_unless_they_are_equal() {
        let result = |exit: &str| VerifyResult {
            passed: false,
            exit: exit.to_owned(),
            output: "".into(),
        };
        let shown = |tries: &[(&str, &str)]| {
            let results: Vec<VerifyResult> = tries.iter().map(|(exit, _)| result(exit)).collect();
            let outputs: Vec<String> = tries
                .iter()
                .map(|(_, output)| (*output).to_owned())
                .collect();
            shown_tries(&results, &outputs)
        };
        assert_eq!(shown(&[("exit code 1", "red\n")]), "red");
        let twice = shown(&[("exit code 1", "red\n"), ("exit code 1", "red\n")]);
        assert_eq!(
            twice,
            "red\n[it was run 2 times on the same tree, with this same output]"
        );
        let both = shown(&[
            ("exit code 1", "a"),
            ("timed out", "b"),
            ("exit code 2", "c"),
        ]);
        assert_eq!(
            both,
            "[run 1 of 3 on the same tree: exit code 1]\na\n\n[run 3 of 3: exit code 2]\nc"
        );
        let long = "x".repeat(EVIDENCE_BYTES);
        let cut = shown(&[("exit code 1", &long), ("exit code 1", &format!("{long}y"))]);
        assert!(cut.len() < EVIDENCE_BYTES + 300, "{}", cut.len());
    }
}
