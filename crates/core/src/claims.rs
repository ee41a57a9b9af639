//! What an agent claims in its final report, as types.
//!
//! The contract is small, so that models keep it: a line `Claims:` with `done`, `verified` or `tests pass`, separated
//! by commas, and below a line `Open questions:` one question per line. Prose keeps its meaning without them: a
//! sentence that says plainly that tests or checks pass is a claim as well.

use serde::{Deserialize, Serialize};

use crate::truncation::truncate;

/// The maximum number of characters of a quoted sentence or a question.
const QUOTED_CHARS: usize = 200;
/// The maximum number of open questions.
const MAX_QUESTIONS: usize = 10;

/// Phrases of prose that claim a passing check, in lower case.
const PASSING: [&str; 14] = [
    "tests pass",
    "test passes",
    "tests all pass",
    "tests are passing",
    "tests are green",
    "tests now pass",
    "tests passed",
    "test suite passes",
    "test suite is green",
    "checks pass",
    "check passes",
    "build is green",
    "tests succeed",
    "everything passes",
];
/// Words that make such a sentence something else: a condition, a wish, or its opposite.
const UNDOING: [&str; 27] = [
    "not", "n't", "no", "never", "without", "should", "would", "could", "might", "may", "if", "unless", "until",
    "once", "when", "before", "whether", "unable", "cannot", "ensure", "make", "will", "expect", "expected", "hope",
    "assume", "please",
];

/// What a claim is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimKind {
    /// The work is done.
    Done,
    /// A check of the work has passed.
    Verified,
    /// The tests have passed.
    TestsPass,
}

/// A claim of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Claim {
    /// What it is about.
    pub kind: ClaimKind,
    /// The words of the report.
    pub said: String,
}

/// Returns the claims of a report, each kind once, in the order of the kinds.
pub(crate) fn claims(report: &str) -> Vec<Claim> {
    let mut found: Vec<Claim> = report.lines().flat_map(listed).collect();
    found.extend(sentences(report).filter_map(in_prose));
    found.sort_by_key(|claim| claim.kind);
    found.dedup_by_key(|claim| claim.kind);
    found
}

/// Returns the open questions of a report.
pub(crate) fn open_questions(report: &str) -> Vec<String> {
    let mut lines = report.lines().skip_while(|line| value_of(line, "open questions").is_none());
    let first = lines.next().and_then(|line| value_of(line, "open questions"));
    let below = lines.map(str::trim).skip_while(|line| line.is_empty());
    let below = below.take_while(|line| !line.is_empty() && !line.starts_with('#') && label_of(line).is_none());
    let all = first.into_iter().chain(below).map(|line| plain(line).to_owned());
    let asked =
        all.filter(|line| !matches!(line.to_lowercase().trim_end_matches('.'), "" | "none" | "no" | "-" | "n/a"));
    asked.take(MAX_QUESTIONS).map(|line| truncate(&line, QUOTED_CHARS)).collect()
}

/// Returns the claims of a line `Claims: …`.
fn listed(line: &str) -> Vec<Claim> {
    let value = value_of(line, "claims").unwrap_or_default();
    let kind = |word: &str| match word.trim().trim_end_matches('.').to_lowercase().replace(['-', '_'], " ").as_str() {
        "done" | "complete" | "completed" => Some(ClaimKind::Done),
        "verified" | "checked" => Some(ClaimKind::Verified),
        "tests pass" | "tests passed" | "tested" => Some(ClaimKind::TestsPass),
        _ => None,
    };
    let words = value.split([',', ';']).map(plain);
    words.filter_map(|word| Some(Claim { kind: kind(word)?, said: word.to_owned() })).collect()
}

/// Returns the text after a label such as `Claims:`, which may be marked as a list item, a heading or bold.
fn value_of<'l>(line: &'l str, label: &str) -> Option<&'l str> {
    let (name, value) = label_of(line)?;
    name.eq_ignore_ascii_case(label).then_some(value)
}

/// Returns the label of a line that begins with one, and what follows it.
fn label_of(line: &str) -> Option<(&str, &str)> {
    let (name, value) = plain(line).split_once(':')?;
    let name = name.trim_matches(['*', '_', '`', ' ']);
    let is_label = matches!(name.to_lowercase().as_str(), "claims" | "open questions" | "status" | "done" | "files");
    is_label.then(|| (name, value.trim_matches(['*', '_', ' '])))
}

/// Returns a line without the marks of lists, headings and bold text.
fn plain(line: &str) -> &str {
    line.trim().trim_start_matches(['#', '-', '*', '•', '>', ' ']).trim_end_matches(['*', ' '])
}

fn sentences(report: &str) -> impl Iterator<Item = &str> {
    let parts = report.split(['\n', ';', '!', '?']).flat_map(|line| line.split(". "));
    parts.map(str::trim).filter(|sentence| !sentence.is_empty())
}

/// Returns the claim of a sentence that says plainly that something has passed.
fn in_prose(sentence: &str) -> Option<Claim> {
    let lower = sentence.to_lowercase();
    if label_of(sentence).is_some() {
        return None;
    }
    let words = || lower.split(|c: char| !c.is_alphanumeric() && c != '\'');
    let undone = words().any(|word| UNDOING.contains(&word) || word.ends_with("n't"));
    let spaced = format!(" {} ", words().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "));
    let passes = PASSING.iter().any(|phrase| spaced.contains(&format!(" {phrase} ")));
    let said = || truncate(plain(sentence), QUOTED_CHARS);
    if undone {
        None
    } else if passes {
        Some(Claim { kind: ClaimKind::TestsPass, said: said() })
    } else {
        let first = words().next();
        let verified = lower.contains("verified that") || first == Some("verified") || lower == "verified.";
        verified.then(|| Claim { kind: ClaimKind::Verified, said: said() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_found_in_lines_and_in_prose() {
        use ClaimKind::{Done, TestsPass, Verified};
        let table: [(&str, &[ClaimKind]); 18] = [
            ("Wrote the parser.", &[]),
            ("Claims: done, verified, tests pass", &[Done, Verified, TestsPass]),
            ("- **Claims:** Tests-pass; done.", &[Done, TestsPass]),
            ("## Claims: none", &[]),
            ("Added it. All tests pass.", &[TestsPass]),
            ("The test suite passes", &[TestsPass]),
            ("Tests are green", &[TestsPass]),
            ("The tests do not pass.", &[]),
            ("The tests don't pass yet, tests passed before", &[]),
            ("All tests should pass now.", &[]),
            ("If the tests pass, merge it.", &[]),
            ("Run the check until the tests pass", &[]),
            ("I could not run anything; no tests pass", &[]),
            ("Verified that the page loads.", &[Verified]),
            ("The unverified part is left", &[]),
            ("Verified by hand. The tests pass.", &[Verified, TestsPass]),
            ("It contests passes of the law.", &[]),
            ("", &[]),
        ];
        for (report, expected) in table {
            let kinds: Vec<ClaimKind> = claims(report).iter().map(|claim| claim.kind).collect();
            assert_eq!(kinds, expected, "{report}");
        }
        assert_eq!(claims("Fixed. All tests pass.")[0].said, "All tests pass.");
    }

    #[test]
    fn questions_stand_below_their_line() {
        let table: [(&str, &[&str]); 7] = [
            ("Done.", &[]),
            (
                "Done.\n\nOpen questions:\n- Which port?\n- Who may see it?\n\nThanks.",
                &["Which port?", "Who may see it?"],
            ),
            ("Open questions: which port?", &["which port?"]),
            ("Open questions:\n\nWhich port?", &["Which port?"]),
            ("## Open questions:\n* Which port?\n## Next", &["Which port?"]),
            ("Open questions: none.", &[]),
            ("**Open questions:**\n- one\nClaims: done", &["one"]),
        ];
        for (report, expected) in table {
            assert_eq!(open_questions(report), expected, "{report}");
        }
        let many: String = (0..50).map(|n| format!("- q{n}\n")).collect();
        assert_eq!(open_questions(&format!("Open questions:\n{many}")).len(), MAX_QUESTIONS);
    }
}
