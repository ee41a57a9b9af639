//! What an agent claims in its final report, as types.
//!
//! The contract is small, so that models keep it: a line `Claims:` with `done`, `verified` or
//! `tests pass`, separated by commas, and below a line `Open questions:` one question per line.
//! Prose keeps its meaning without them: a sentence that says plainly that tests or checks pass is
//! a claim as well.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::truncate;

/// The maximum number of characters of a quoted sentence or a question.
const QUOTED_CHARS: usize = 200;
/// The maximum number of open questions.
const MAX_QUESTIONS: usize = 10;

/// What a sentence says has passed.
const SUBJECTS: [&str; 14] = [
    "test",
    "tests",
    "suite",
    "check",
    "checks",
    "build",
    "lint",
    "linter",
    "clippy",
    "pytest",
    "everything",
    "they",
    "all",
    "it",
];
/// Subjects that alone say too little: the sentence must name a test or a check as well.
const PRONOUNS: [&str; 3] = ["they", "all", "it"];
/// Words that say that it has passed.
const PASSING: [&str; 9] = [
    "pass",
    "passes",
    "passed",
    "passing",
    "green",
    "succeed",
    "succeeds",
    "succeeded",
    "clean",
];
/// Words that may not stand between the two: "tests for passing values" claims nothing.
const PREPOSITIONS: [&str; 7] = ["for", "of", "that", "with", "on", "to", "from"];
/// The maximum number of words between the two.
const WORDS_BETWEEN: usize = 2;
/// Words that make such a sentence something else: a condition, a wish, or its opposite.
const UNDOING: [&str; 34] = [
    "not", "n't", "no", "none", "never", "without", "should", "would", "could", "might", "may",
    "must", "need", "needs", "if", "unless", "until", "once", "when", "before", "whether",
    "unable", "cannot", "ensure", "make", "will", "expect", "expected", "hope", "assume", "please",
    "goal", "want", "wants",
];

/// What a claim is about.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
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
    /// Whether it stands in the line `Claims:`, so that it is no reading of prose.
    pub listed: bool,
}

/// Returns the claims of a report, each kind once, in the order of the kinds; one that is listed
/// counts before prose.
pub(crate) fn claims(report: &str) -> Vec<Claim> {
    let mut found: Vec<Claim> = report.lines().flat_map(listed).collect();
    found.extend(sentences(report).filter_map(in_prose));
    // The order of equal ones is kept, and listed ones come first.
    found.sort_by_key(|claim| claim.kind);
    found.dedup_by_key(|claim| claim.kind);
    found
}

/// Reports whether a report has a line `Claims:` with something in it, such as `none`.
pub(crate) fn has_claims_line(report: &str) -> bool {
    report
        .lines()
        .filter_map(|line| value_of(line, "claims"))
        .any(|value| !value.is_empty())
}

/// Returns the open questions of a report.
pub(crate) fn open_questions(report: &str) -> Vec<String> {
    let mut lines = report
        .lines()
        .skip_while(|line| value_of(line, "open questions").is_none());
    let first = lines
        .next()
        .and_then(|line| value_of(line, "open questions"));
    let below = lines.map(str::trim).skip_while(|line| line.is_empty());
    let below = below
        .take_while(|line| !line.is_empty() && !line.starts_with('#') && label_of(line).is_none());
    let all = first
        .into_iter()
        .chain(below)
        .map(|line| plain(line).to_owned());
    let asked = all.filter(|line| {
        !matches!(
            line.to_lowercase().trim_end_matches('.'),
            "" | "none" | "no" | "-" | "n/a"
        )
    });
    asked
        .take(MAX_QUESTIONS)
        .map(|line| truncate(&line, QUOTED_CHARS))
        .collect()
}

/// Returns the claims of a line `Claims: …`.
fn listed(line: &str) -> Vec<Claim> {
    let value = value_of(line, "claims").unwrap_or_default();
    let words = value.split([',', ';']).map(plain);
    words
        .filter_map(|word| {
            Some(Claim {
                kind: kind_of(word)?,
                said: word.to_owned(),
                listed: true,
            })
        })
        .collect()
}

fn kind_of(word: &str) -> Option<ClaimKind> {
    match word
        .trim()
        .trim_end_matches('.')
        .to_lowercase()
        .replace(['-', '_'], " ")
        .as_str()
    {
        "done" | "complete" | "completed" => Some(ClaimKind::Done),
        "verified" | "checked" => Some(ClaimKind::Verified),
        "tests pass" | "tests passed" | "tested" => Some(ClaimKind::TestsPass),
        _ => None,
    }
}

/// Returns the text after a label such as `Claims:`, which may be marked as a list item, a heading
/// or bold.
fn value_of<'l>(line: &'l str, label: &str) -> Option<&'l str> {
    let (name, value) = label_of(line)?;
    name.eq_ignore_ascii_case(label).then_some(value)
}

/// Returns the label of a line that begins with one, and what follows it.
fn label_of(line: &str) -> Option<(&str, &str)> {
    let (name, value) = plain(line).split_once(':')?;
    let name = name.trim_matches(['*', '_', '`', ' ']);
    let is_label = matches!(
        name.to_lowercase().as_str(),
        "claims" | "open questions" | "status" | "done" | "files"
    );
    is_label.then(|| (name, value.trim_matches(['*', '_', ' '])))
}

/// Returns a line without the marks of lists, headings and bold text.
fn plain(line: &str) -> &str {
    line.trim()
        .trim_start_matches(['#', '-', '*', '•', '>', ' '])
        .trim_end_matches(['*', ' '])
}

fn sentences(report: &str) -> impl Iterator<Item = &str> {
    let parts = report
        .split(['\n', ';', '!', '?'])
        .flat_map(|line| line.split(". "));
    parts.map(str::trim).filter(|sentence| !sentence.is_empty())
}

/// Returns the claim of a sentence that says plainly that something has passed.
fn in_prose(sentence: &str) -> Option<Claim> {
    if label_of(sentence).is_some() {
        return None;
    }
    let lower = without_code(&sentence.to_lowercase());
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '_'))
        .filter(|word| !word.is_empty())
        .collect();
    let kind = if words
        .iter()
        .any(|word| UNDOING.contains(word) || word.ends_with("n't"))
    {
        None
    } else if says_passing(&words) {
        Some(ClaimKind::TestsPass)
    } else {
        let is_verified = words.first() == Some(&"verified") || lower.contains("verified that");
        is_verified.then_some(ClaimKind::Verified)
    };
    Some(Claim {
        kind: kind?,
        said: truncate(plain(sentence), QUOTED_CHARS),
        listed: false,
    })
}

/// Reports whether a sentence of these words says that something passes: `tests … pass`, `12
/// passed` or `exits 0`.
fn says_passing(words: &[&str]) -> bool {
    let counted = words.windows(2).any(|pair| match pair {
        [number, "passed" | "passing"] => is_number(number) && *number != "0",
        ["exits" | "exited", code] => *code == "0",
        ["with" | "status" | "code", code] => {
            *code == "0" && words.iter().any(|word| word.starts_with("exit"))
        }
        _ => false,
    });
    let names_check = words
        .iter()
        .any(|word| SUBJECTS.contains(word) && !PRONOUNS.contains(word));
    let stated = words.iter().enumerate().any(|(at, word)| {
        let between = words
            .iter()
            .skip(at + 1)
            .take_while(|word| !PASSING.contains(word))
            .take(WORDS_BETWEEN + 1);
        let between: Vec<&&str> = between.collect();
        let passes = words
            .get(at + 1 + between.len())
            .is_some_and(|word| PASSING.contains(word));
        SUBJECTS.contains(word)
            && passes
            && between.len() <= WORDS_BETWEEN
            && between.iter().all(|word| !PREPOSITIONS.contains(word))
            && (names_check || *word == "everything")
    });
    counted || stated
}

fn is_number(word: &&str) -> bool {
    word.chars().all(|digit| digit.is_ascii_digit())
}

/// Returns a sentence without what stands between backticks: names of code claim nothing.
fn without_code(sentence: &str) -> String {
    sentence.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_found_in_lines_and_in_prose() {
        use ClaimKind::{Done, TestsPass, Verified};
        let table: [(&str, &[ClaimKind]); 42] = [
            ("Wrote the parser.", &[]),
            (
                "Claims: done, verified, tests pass",
                &[Done, Verified, TestsPass],
            ),
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
            ("I ran the tests and they pass.", &[TestsPass]),
            ("cargo test: 12 passed, 0 failed", &[TestsPass]),
            ("Ran pytest: 5 passed.", &[TestsPass]),
            ("✅ All 12 tests passing", &[TestsPass]),
            ("`sh check.sh` exits 0.", &[TestsPass]),
            ("`make` exited with code 0", &[TestsPass]),
            (
                "Everything works as expected; the build is clean.",
                &[TestsPass],
            ),
            (
                "I changed src/x and checked that the suite still succeeds.",
                &[TestsPass],
            ),
            ("- Tests: passing\n- Lint: clean", &[TestsPass]),
            ("Verified with `cargo test`.", &[Verified]),
            ("The test suite is now green", &[TestsPass]),
            ("Everything passes.", &[TestsPass]),
            ("Added a function `all_tests_pass()`.", &[]),
            ("Added a function all_tests_pass().", &[]),
            ("CI must check that tests pass.", &[]),
            ("All tests pass was the goal, but I ran none.", &[]),
            ("Added tests for passing values.", &[]),
            ("I passed the path to the check.", &[]),
            ("It is clean.", &[]),
            ("0 passed", &[]),
            ("I wrote a helper named `verified`.", &[]),
            (
                "Open questions:\n- Should all tests pass before landing?",
                &[],
            ),
            ("Claims: none", &[]),
            ("Claims: tests pass\nAll tests pass.", &[TestsPass]),
            ("", &[]),
        ];
        for (report, expected) in table {
            let kinds: Vec<ClaimKind> = claims(report).iter().map(|claim| claim.kind).collect();
            assert_eq!(kinds, expected, "{report}");
        }
        assert_eq!(claims("Fixed. All tests pass.")[0].said, "All tests pass.");
        let both = claims("All tests pass.\nClaims: tests pass");
        assert!(both.len() == 1 && both[0].listed);
        let lines = [
            ("Claims: none", true),
            ("- **Claims:** done", true),
            ("Claims:", false),
            ("I claim: done", false),
        ];
        for (report, expected) in lines {
            assert_eq!(has_claims_line(report), expected, "{report}");
        }
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
            (
                "## Open questions:\n* Which port?\n## Next",
                &["Which port?"],
            ),
            ("Open questions: none.", &[]),
            ("**Open questions:**\n- one\nClaims: done", &["one"]),
        ];
        for (report, expected) in table {
            assert_eq!(open_questions(report), expected, "{report}");
        }
        let many: String = (0..50).map(|n| format!("- q{n}\n")).collect();
        assert_eq!(
            open_questions(&format!("Open questions:\n{many}")).len(),
            MAX_QUESTIONS
        );
    }
}
