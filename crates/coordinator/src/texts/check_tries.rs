//! What an agent is shown of a check that has failed several times on the very same tree.

use orchestrate_core::VerifyResult;

use crate::texts::prompts::{EVIDENCE_BYTES, cut};

/// Returns how the last of these tries ended.
pub(crate) fn last_exit(tries: &[VerifyResult]) -> &str {
    tries.last().map_or("", |tried| tried.exit.as_str())
}

/// Returns the outputs of the first and the last of these tries, or one of them if they are equal.
pub(crate) fn shown_tries(tries: &[VerifyResult], outputs: &[String]) -> String {
    let (first, last) = (
        outputs.first().map_or("", |text| text.trim()),
        outputs.last().map_or("", |text| text.trim()),
    );
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
    let (first, last) = (
        cut(first, EVIDENCE_BYTES / 2),
        cut(last, EVIDENCE_BYTES / 2),
    );
    let exit = tries.first().map_or("", |tried| tried.exit.as_str());
    format!(
        "[run 1 of {count} on the same tree: {exit}]\n{first}\n\n[run {count} of {count}: {}]\n{last}",
        last_exit(tries)
    )
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
