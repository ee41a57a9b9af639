//! The lines of a check's output that describe a failure.

/// The maximum number of lines shown with a failure; the whole output is stored.
const MOST_LINES: usize = 6;

/// The maximum length of a shown line, in characters.
const MOST_CHARS: usize = 160;

/// How much of a check's output, or of a list of files, is returned to an agent: enough to fix the
/// failure, within a context of 16,000 tokens.
pub const EVIDENCE_BYTES: usize = 6 * 1024;

/// The beginning of a line that names a connection which the proxy of a setup has refused.
pub const CONNECTION_REFUSED: &str = "refused: ";
/// The beginning of a line that names a server which the proxy of a setup has not reached.
pub const NOT_REACHED: &str = "not reached: ";

/// Words that mark a line as describing a failure, in lower case.
const TELLING: &[&str] = &[
    "error",
    "fail",
    "panicked",
    "assert",
    "exception",
    "not found",
    "no such",
    "cannot",
    "denied",
    "undefined",
];

/// Words that mark a line as counting successes only.
const COUNTING: &[&str] = &["0 failed", "0 errors", "0 failures"];

/// Returns the lines that describe a failure, or the last ones if there are none. What a setup
/// could not reach comes first, since what its programs say of that is only that a proxy failed.
pub fn failing_lines(output: &str) -> Vec<String> {
    let lines: Vec<&str> = output
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.trim().is_empty())
        .collect();
    let (of_proxy, others): (Vec<&str>, Vec<&str>) =
        lines.iter().partition(|line| is_of_proxy(line));
    let telling = others.into_iter().filter(|line| tells(line));
    let telling: Vec<&str> = of_proxy
        .into_iter()
        .chain(telling)
        .take(MOST_LINES)
        .collect();
    let chosen = if telling.is_empty() {
        lines.split_at(lines.len().saturating_sub(MOST_LINES)).1
    } else {
        &telling
    };
    chosen.iter().map(|line| shortened(line)).collect()
}

fn is_of_proxy(line: &str) -> bool {
    line.starts_with(CONNECTION_REFUSED) || line.starts_with(NOT_REACHED)
}

fn tells(line: &str) -> bool {
    let line = line.to_lowercase();
    TELLING.iter().any(|word| line.contains(word)) && !counts_none(&line)
}

/// Reports whether a line counts zero failures; `10 failed` does not.
fn counts_none(line: &str) -> bool {
    let mut found = COUNTING.iter().flat_map(|words| line.match_indices(words));
    found.any(|(at, _)| {
        !line
            .get(..at)
            .is_some_and(|before| before.ends_with(|last: char| last.is_ascii_digit()))
    })
}

fn shortened(line: &str) -> String {
    let mut text: String = line.chars().take(MOST_CHARS).collect();
    if text.len() < line.len() {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_failures_are_not_none() {
        let failed = "test result: FAILED. 3 passed; 10 failed";
        assert_eq!(
            failing_lines(&format!("{failed}\ntest result: ok. 9 passed; 0 failed\n")),
            [failed]
        );
    }

    #[test]
    fn what_a_setup_could_not_reach_comes_before_all_that_its_programs_say_of_it() {
        let said = "npm error 403 failed\n".repeat(10);
        let refused = "refused: npm.example:443 (rule x): no host of the setup";
        let lines = failing_lines(&format!("{said}{refused}\nthe setup had the network\n"));
        assert_eq!(lines.len(), MOST_LINES);
        assert_eq!([&lines[0], &lines[1]], [refused, "npm error 403 failed"]);
    }

    #[test]
    fn the_lines_that_tell_of_a_failure_come_first() {
        let output = "running 2 tests\ntest a ... ok\ntest b ... FAILED\n\n  left: 1\nassertion \
                      `left == right` failed\n";
        assert_eq!(
            failing_lines(output),
            ["test b ... FAILED", "assertion `left == right` failed"]
        );
        let counted: String = (1..=20).map(|n| format!("line {n}\n")).collect();
        assert_eq!(
            failing_lines(&counted),
            [
                "line 15", "line 16", "line 17", "line 18", "line 19", "line 20"
            ]
        );
        assert_eq!(
            failing_lines("12 passed; 0 failed\nbye"),
            ["12 passed; 0 failed", "bye"]
        );
        assert_eq!(
            failing_lines(&format!("error: {}", "x".repeat(500)))[0]
                .chars()
                .count(),
            MOST_CHARS + 1
        );
        assert!(failing_lines(" \n").is_empty());
    }
}
