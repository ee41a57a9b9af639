//! What a command of an agent says about its work: whether it runs a check, whether its exit code is the check's, and
//! whether it can have changed a file.
//!
//! This is a reading of plain lines, for what is shown of an agent's claims; it is no boundary. Where a line's meaning
//! is not certain, it counts as one that may have changed files and that proves nothing.

/// The programs that run tests, with the words after them, of the usual ecosystems.
const RUNNERS: [&[&str]; 44] = [
    &["cargo", "test"],
    &["cargo", "nextest"],
    &["pytest"],
    &["py.test"],
    &["python", "-m", "pytest"],
    &["python3", "-m", "pytest"],
    &["python", "-m", "unittest"],
    &["python3", "-m", "unittest"],
    &["tox"],
    &["nox"],
    &["npm", "test"],
    &["npm", "t"],
    &["npm", "run", "test"],
    &["npx", "jest"],
    &["npx", "vitest"],
    &["yarn", "test"],
    &["pnpm", "test"],
    &["bun", "test"],
    &["deno", "test"],
    &["jest"],
    &["vitest"],
    &["go", "test"],
    &["mvn", "test"],
    &["mvn", "verify"],
    &["./mvnw", "test"],
    &["./mvnw", "verify"],
    &["gradle", "test"],
    &["./gradlew", "test"],
    &["gradle", "check"],
    &["./gradlew", "check"],
    &["sbt", "test"],
    &["ctest"],
    &["make", "test"],
    &["make", "check"],
    &["just", "test"],
    &["rspec"],
    &["bundle", "exec", "rspec"],
    &["phpunit"],
    &["vendor/bin/phpunit"],
    &["dotnet", "test"],
    &["swift", "test"],
    &["mix", "test"],
    &["prove"],
    &["bats"],
];
/// Programs that only read.
const READING: [&str; 22] = [
    "cat", "cd", "diff", "du", "echo", "file", "grep", "head", "hexdump", "ls", "nl", "pwd", "rg", "sleep", "stat",
    "tail", "test", "tree", "true", "type", "wc", "which",
];
/// Subcommands of git that only read.
const GIT_READING: [&str; 8] = ["blame", "diff", "grep", "log", "ls-files", "rev-parse", "show", "status"];

/// What is known of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// It runs a check.
    Check {
        /// Whether its exit code is 0 only if the check passes.
        is_exact: bool,
    },
    /// It reads files, and changes none.
    Reads,
    /// It may change files.
    MayChange,
}

/// Reads a command line; `checks` are the checks of the task and of the run.
pub(crate) fn read(line: &str, checks: &[&str]) -> Reading {
    let line = line.trim();
    if checks.iter().any(|check| line == check.trim()) {
        return Reading::Check { is_exact: true };
    }
    let parts = parts(line);
    let of_run = |part: &str| checks.iter().any(|check| part == check.trim());
    let is_check = |part: &Part| of_run(&part.text) || is_runner(&part.text);
    if let Some(at) = parts.iter().position(is_check) {
        // What follows it may replace its exit code, except `&&`, and what precedes it does not.
        let followed = parts.get(at..).unwrap_or_default();
        let is_exact = followed.iter().all(|part| matches!(part.end, End::And | End::Line));
        return Reading::Check { is_exact };
    }
    let writes = line.contains(['>', '`']) || line.contains("$(");
    let reads = parts.iter().all(|part| only_reads(&part.text));
    if reads && !writes { Reading::Reads } else { Reading::MayChange }
}

/// A part of a line, and what separates it from the next one.
struct Part {
    text: String,
    end: End,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    And,
    Other,
    Line,
}

/// Divides a line at its operators; those in quotes are none, and neither is that of a redirection such as `2>&1`.
fn parts(line: &str) -> Vec<Part> {
    let (mut parts, mut text, mut quote, mut before) = (Vec::new(), String::new(), None, ' ');
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        let end = match c {
            '\'' | '"' if quote.is_none() => {
                quote = Some(c);
                None
            }
            c if quote == Some(c) => {
                quote = None;
                None
            }
            _ if quote.is_some() => None,
            '&' if rest.peek() == Some(&'&') => rest.next().map(|_| End::And),
            '&' if before == '>' || rest.peek() == Some(&'>') => None,
            '|' if rest.peek() == Some(&'|') => rest.next().map(|_| End::Other),
            '|' | ';' | '&' | '\n' => Some(End::Other),
            _ => None,
        };
        match end {
            Some(end) => parts.push(Part { text: std::mem::take(&mut text).trim().to_owned(), end }),
            None => text.push(c),
        }
        before = c;
    }
    parts.push(Part { text: text.trim().to_owned(), end: End::Line });
    parts.retain(|part| !part.text.is_empty());
    parts
}

/// Returns the words of a command after variables that are set for it.
fn words(text: &str) -> Vec<&str> {
    let is_setting = |word: &&str| word.split_once('=').is_some_and(|(name, _)| !name.contains(['/', '-']));
    text.split_whitespace().skip_while(is_setting).collect()
}

fn is_runner(text: &str) -> bool {
    let words = words(text);
    RUNNERS.iter().any(|runner| words.starts_with(runner))
}

fn only_reads(text: &str) -> bool {
    match words(text).as_slice() {
        ["git", sub, ..] => GIT_READING.contains(sub),
        ["find", rest @ ..] => !rest.iter().any(|word| {
            word.starts_with("-exec")
                || word.starts_with("-delete")
                || word.starts_with("-ok")
                || word.starts_with("-fprint")
                || word.starts_with("-fls")
        }),
        [program, ..] => READING.contains(program),
        [] => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_a_check_a_look_or_a_possible_change() {
        let (exact, masked) = (Reading::Check { is_exact: true }, Reading::Check { is_exact: false });
        let table = [
            ("cargo test", exact),
            ("cargo test -p core 2>&1", exact),
            ("RUST_BACKTRACE=1 cargo test && cargo clippy", exact),
            ("cd web && npm test", exact),
            ("cargo test | tail -20", masked),
            ("cargo test 2>&1 | tail", masked),
            ("cargo test || true", masked),
            ("cargo test; echo done", masked),
            ("./check.sh", exact),
            ("true && ./check.sh", exact),
            ("./check.sh; true", masked),
            ("grep 'cargo test' -r .", Reading::Reads),
            ("cat a.txt | head -3", Reading::Reads),
            ("git log --oneline && git status", Reading::Reads),
            ("find . -name '*.rs'", Reading::Reads),
            ("find . -name '*.o' -delete", Reading::MayChange),
            ("echo 1 > one.txt", Reading::MayChange),
            ("cat $(touch a)", Reading::MayChange),
            ("sed -i s/a/b/ a.txt", Reading::MayChange),
            ("git checkout .", Reading::MayChange),
            ("cargo fmt", Reading::MayChange),
        ];
        for (line, expected) in table {
            assert_eq!(read(line, &["./check.sh"]), expected, "{line}");
        }
    }
}
