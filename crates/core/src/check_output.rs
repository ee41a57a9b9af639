//! The lines of a check's output that describe a failure.

/// The maximum number of lines shown with a failure; the whole output is stored.
const MOST_LINES: usize = 6;

/// The maximum length of a shown line, in characters.
const MOST_CHARS: usize = 160;

/// Words that mark a line as describing a failure, in lower case.
const TELLING: &[&str] =
    &["error", "fail", "panicked", "assert", "exception", "not found", "no such", "cannot", "denied", "undefined"];

/// Words that mark a line as counting successes only.
const COUNTING: &[&str] = &["0 failed", "0 errors", "0 failures"];

/// Returns the lines that describe a failure, or the last ones if there are none.
pub fn failing_lines(output: &str) -> Vec<String> {
    let lines: Vec<&str> = output.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()).collect();
    let telling: Vec<&str> = lines.iter().copied().filter(|line| tells(line)).take(MOST_LINES).collect();
    let chosen = if telling.is_empty() { lines.split_at(lines.len().saturating_sub(MOST_LINES)).1 } else { &telling };
    chosen.iter().map(|line| shortened(line)).collect()
}

fn tells(line: &str) -> bool {
    let line = line.to_lowercase();
    TELLING.iter().any(|word| line.contains(word)) && !counts_none(&line)
}

/// Reports whether a line counts zero failures; `10 failed` does not.
fn counts_none(line: &str) -> bool {
    let mut found = COUNTING.iter().flat_map(|words| line.match_indices(words));
    found.any(|(at, _)| !line.get(..at).is_some_and(|before| before.ends_with(|last: char| last.is_ascii_digit())))
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(MOST_CHARS) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_failures_are_not_none() {
        let failed = "test result: FAILED. 3 passed; 10 failed";
        assert_eq!(failing_lines(&format!("{failed}\ntest result: ok. 9 passed; 0 failed\n")), [failed]);
    }

    #[test]
    fn the_lines_that_tell_of_a_failure_come_first() {
        let output =
            "running 2 tests\ntest a ... ok\ntest b ... FAILED\n\n  left: 1\nassertion `left == right` failed\n";
        assert_eq!(failing_lines(output), ["test b ... FAILED", "assertion `left == right` failed"]);
        let counted: String = (1..=20).map(|n| format!("line {n}\n")).collect();
        assert_eq!(failing_lines(&counted), ["line 15", "line 16", "line 17", "line 18", "line 19", "line 20"]);
        assert_eq!(failing_lines("12 passed; 0 failed\nbye"), ["12 passed; 0 failed", "bye"]);
        assert_eq!(failing_lines(&format!("error: {}", "x".repeat(500)))[0].chars().count(), MOST_CHARS + 1);
        assert!(failing_lines(" \n").is_empty());
    }
}
