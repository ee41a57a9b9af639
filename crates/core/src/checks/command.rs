//! Commands of agents as evidence of their work: whether one runs a check, whether its exit code
//! is the check's, and whether it can have changed a file.
//!
//! This is a reading of plain lines, for what is shown of an agent's claims; it is no boundary.
//! Where a line's meaning is not certain, it counts as one that may have changed files and that
//! proves nothing.

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
/// Options with which a program runs no test, though it ends with 0; `""` stands for every program.
const RUNS_NOTHING: [(&str, &[&str]); 14] = [
    (
        "",
        &[
            "--help",
            "-h",
            "--version",
            "--dry-run",
            "--list",
            "--no-run",
        ],
    ),
    ("bats", &["--count", "-c"]),
    ("ctest", &["-N", "--show-only"]),
    ("dotnet", &["--list-tests", "-t"]),
    ("go", &["-c", "-list", "-n"]),
    ("gradle", &["-m"]),
    ("jest", &["--listTests", "--showConfig"]),
    (
        "make",
        &[
            "-n",
            "--just-print",
            "--recon",
            "-q",
            "--question",
            "-t",
            "--touch",
        ],
    ),
    ("mvn", &["-DskipTests", "-Dmaven.test.skip"]),
    ("npm", &["--if-present"]),
    (
        "phpunit",
        &["--list-tests", "--list-suites", "--list-groups"],
    ),
    (
        "pytest",
        &[
            "--collect-only",
            "--co",
            "--setup-plan",
            "--setup-only",
            "--fixtures",
            "--fixtures-per-test",
            "--markers",
        ],
    ),
    ("nox", &["-l", "--install-only"]),
    (
        "tox",
        &["-l", "-a", "--listenvs", "--notest", "--showconfig"],
    ),
];
/// Subcommands of `cargo nextest` that run no test.
const NEXTEST_RUNS_NOTHING: [&str; 4] = ["list", "archive", "show-config", "self"];
/// Words after which a shell does not come to what follows.
const ENDS_SHELL: [&str; 3] = ["exec", "exit", "return"];
/// Programs that only read.
const READING: [&str; 22] = [
    "cat", "cd", "diff", "du", "echo", "file", "grep", "head", "hexdump", "ls", "nl", "pwd", "rg",
    "sleep", "stat", "tail", "test", "tree", "true", "type", "wc", "which",
];
/// Subcommands of cargo that write only what they build.
const CARGO_READING: [&str; 6] = ["build", "check", "clippy", "doc", "metadata", "tree"];
/// Where what is written is no file of the work.
const NO_FILES: [&str; 3] = ["/dev/null", "/dev/stderr", "/dev/stdout"];
/// Subcommands of git that only read.
const GIT_READING: [&str; 8] = [
    "blame",
    "diff",
    "grep",
    "log",
    "ls-files",
    "rev-parse",
    "show",
    "status",
];

/// The kind of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// It runs a check.
    Check {
        /// Whether its exit code is 0 only if the check has run and passed.
        is_exact: bool,
        /// When the rest of the line may have changed files.
        changes: Changes,
    },
    /// It reads files, and changes none.
    Reads,
    /// It may change files.
    MayChange,
}

/// When a line with a check may have changed files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Changes {
    /// Never.
    Never,
    /// Before its check, which says something about the result.
    Before,
    /// During or after its check.
    After,
}

/// Reads a command line; `checks` are the checks of the task and of the run.
pub(crate) fn read(line: &str, checks: &[&str]) -> Reading {
    let line = line.trim();
    if is_one_of(line, checks) {
        return Reading::Check {
            is_exact: true,
            changes: Changes::Never,
        };
    }
    let parts = parts(line);
    let Some(at) = parts.iter().position(|part| part.is_check(checks)) else {
        return if parts.iter().any(|part| part.may_change_files(checks)) {
            Reading::MayChange
        } else {
            Reading::Reads
        };
    };
    let (before, from) = parts.split_at(at);
    // What follows a check may replace its exit code, except `&&`; what precedes it does not,
    // unless it is left out.
    let is_reached =
        before.last().is_none_or(|part| part.end != End::Or) && !before.iter().any(ends_shell);
    let is_exact = is_reached
        && from.first().is_some_and(|check| check.runs(checks))
        && from
            .iter()
            .all(|part| matches!(part.end, End::And | End::Line));
    let mut changes = Changes::Never;
    for part in before {
        if part.may_change_files(checks) {
            changes = changes.max(match part.end {
                End::And | End::Then | End::Line => Changes::Before,
                End::Or | End::Other => Changes::After,
            });
        }
    }
    if from.iter().any(|part| part.may_change_files(checks)) {
        changes = Changes::After;
    }
    Reading::Check { is_exact, changes }
}

fn is_one_of(line: &str, checks: &[&str]) -> bool {
    checks.iter().any(|check| line == check.trim())
}

/// A part of a line, and what separates it from the next one.
struct Part {
    text: String,
    end: End,
}

impl Part {
    /// Reports whether it is a check: one of these, or a program that runs tests.
    fn is_check(&self, checks: &[&str]) -> bool {
        is_one_of(&self.text, checks) || is_runner(&self.text)
    }

    /// Reports whether a check does run, as one of these always does.
    fn runs(&self, checks: &[&str]) -> bool {
        is_one_of(&self.text, checks) || !runs_nothing(&self.text)
    }

    fn may_change_files(&self, checks: &[&str]) -> bool {
        writes(&self.text) || !(self.is_check(checks) || only_reads(&self.text))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// `&&`
    And,
    /// `||`
    Or,
    /// `;` or the end of a line.
    Then,
    /// A pipe, or the background: both sides run at once.
    Other,
    /// The end of all.
    Line,
}

/// Divides a line at its operators; those in quotes are none, and neither is that of a redirection
/// such as `2>&1`.
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
            '&' if rest.next_if_eq(&'&').is_some() => Some(End::And),
            '&' if before == '>' || rest.peek() == Some(&'>') => None,
            '|' if rest.next_if_eq(&'|').is_some() => Some(End::Or),
            ';' | '\n' => Some(End::Then),
            '|' | '&' => Some(End::Other),
            _ => None,
        };
        match end {
            Some(end) => parts.push(Part {
                text: std::mem::take(&mut text).trim().to_owned(),
                end,
            }),
            None => text.push(c),
        }
        before = c;
    }
    parts.push(Part {
        text: text.trim().to_owned(),
        end: End::Line,
    });
    parts.retain(|part| !part.text.is_empty());
    parts
}

/// Returns the words of a command after variables that are set for it.
fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().skip_while(is_setting).collect()
}

fn is_setting(word: &&str) -> bool {
    match word.split_once('=') {
        Some((name, _)) => !name.contains(['/', '-']),
        None => false,
    }
}

fn is_runner(text: &str) -> bool {
    let words = words(text);
    RUNNERS.iter().any(|runner| words.starts_with(runner))
}

/// Reports whether a program that runs tests runs none, because of its options.
fn runs_nothing(text: &str) -> bool {
    let words = words(text);
    if let ["cargo", "nextest", sub, ..] = words.as_slice()
        && NEXTEST_RUNS_NOTHING.contains(sub)
    {
        return true;
    }
    for (program, options) in RUNS_NOTHING {
        if names_program(&words, program) && options.iter().any(|option| has(&words, option)) {
            return true;
        }
    }
    false
}

fn names_program(words: &[&str], program: &str) -> bool {
    let mut names = words.iter().filter_map(|word| word.rsplit('/').next());
    names.any(|name| is_of(name, program))
}

/// Reports whether an option is among the words, perhaps with a value.
fn has(words: &[&str], option: &str) -> bool {
    for word in words {
        if let Some(rest) = word.strip_prefix(option)
            && (rest.is_empty() || rest.starts_with('='))
        {
            return true;
        }
    }
    false
}

/// Reports whether a name is that of a program, or of its wrapper (`mvnw`).
fn is_of(name: &str, program: &str) -> bool {
    name == program || program.is_empty() || name.strip_suffix('w') == Some(program)
}

fn ends_shell(part: &Part) -> bool {
    match words(&part.text).first() {
        Some(word) => ENDS_SHELL.contains(word),
        None => false,
    }
}

/// Reports whether a part may write a file by a redirection, or by a command within it.
fn writes(text: &str) -> bool {
    let mut targets = text.split('>').skip(1).filter(|target| !target.is_empty());
    text.contains('`') || text.contains("$(") || text.contains("<(") || targets.any(is_file)
}

fn is_file(target: &str) -> bool {
    let target = target.split_whitespace().next().unwrap_or_default();
    let is_stream = match target.strip_prefix('&') {
        Some(to) => to.starts_with(|c: char| c.is_ascii_digit() || c == '-'),
        None => false,
    };
    let is_temporary = target.starts_with("/tmp/") && !target.contains("..");
    !(is_stream || is_temporary || NO_FILES.contains(&target))
}

fn only_reads(text: &str) -> bool {
    match words(text).as_slice() {
        ["cargo", "fmt", rest @ ..] => rest.contains(&"--check"),
        ["cargo", sub, rest @ ..] if CARGO_READING.contains(sub) => !rest.contains(&"--fix"),
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
        let (exact, masked) = (check(true, Changes::Never), check(false, Changes::Never));
        let table = [
            ("cargo test", exact),
            ("cargo test -p core 2>&1", exact),
            ("RUST_BACKTRACE=1 cargo test && cargo clippy", exact),
            ("cd web && npm test", exact),
            ("cargo test > /dev/null 2>&1", exact),
            ("cargo test >/tmp/out 2>&1", exact),
            ("cargo test | tail -20", masked),
            ("cargo test 2>&1 | tail", masked),
            ("cargo test || true", masked),
            ("cargo test; echo done", masked),
            ("true || cargo test", masked),
            ("exit 0; cargo test", check(false, Changes::Before)),
            ("./check.sh", exact),
            ("true && ./check.sh", exact),
            ("./check.sh; true", masked),
            ("grep 'cargo test' -r .", Reading::Reads),
            ("cat a.txt | head -3", Reading::Reads),
            ("cat a.txt 2>/dev/null", Reading::Reads),
            ("git log --oneline && git status", Reading::Reads),
            ("cargo clippy && cargo fmt --check", Reading::Reads),
            ("cargo clippy --fix", Reading::MayChange),
            ("find . -name '*.rs'", Reading::Reads),
            ("find . -name '*.o' -delete", Reading::MayChange),
            ("echo 1 > one.txt", Reading::MayChange),
            ("echo 1 >> /tmp/../one.txt", Reading::MayChange),
            ("echo 1 >&one.txt", Reading::MayChange),
            ("cat $(touch a)", Reading::MayChange),
            ("sed -i s/a/b/ a.txt", Reading::MayChange),
            ("git checkout .", Reading::MayChange),
            ("cargo fmt", Reading::MayChange),
        ];
        for (line, expected) in table {
            assert_eq!(read(line, &["./check.sh"]), expected, "{line}");
        }
    }

    #[test]
    fn the_rest_of_a_line_with_a_check_may_change_files() {
        let table = [
            ("cargo fmt; cargo test", check(true, Changes::Before)),
            ("cargo fmt && ./check.sh", check(true, Changes::Before)),
            (
                "cargo test && sed -i s/a/b/ src/lib.rs",
                check(true, Changes::After),
            ),
            (
                "cargo fmt && cargo test && git checkout .",
                check(true, Changes::After),
            ),
            ("cargo test | tee log", check(false, Changes::After)),
            ("cargo test > src/lib.rs", check(true, Changes::After)),
            ("cargo test -p $(cat name)", check(true, Changes::After)),
            ("cargo fmt & cargo test", check(true, Changes::After)),
            ("cargo fmt || cargo test", check(false, Changes::After)),
            ("cargo test && npm test", check(true, Changes::Never)),
        ];
        for (line, expected) in table {
            assert_eq!(read(line, &["./check.sh"]), expected, "{line}");
        }
    }

    #[test]
    fn options_that_run_no_test_prove_nothing() {
        let lines = [
            "cargo test --no-run",
            "cargo test -p core -- --list",
            "cargo test --help",
            "cargo nextest list",
            "cargo nextest run --no-run",
            "pytest --collect-only -q",
            "python -m pytest --co tests",
            "go test -list=. ./...",
            "go test -c",
            "npx jest --listTests",
            "ctest -N",
            "make -n test",
            "make test -n",
            "./mvnw verify -DskipTests",
            "mvn test -Dmaven.test.skip=true",
            "./gradlew test --dry-run",
            "npm test --if-present",
            "tox --notest",
            "dotnet test --list-tests",
        ];
        for line in lines {
            let proves = matches!(read(line, &[]), Reading::Check { is_exact: true, .. });
            assert!(!proves, "{line}");
        }
        let runs = [
            "pytest -n 4",
            "go test -count=1 ./...",
            "ctest -V",
            "cargo nextest run",
            "make test",
        ];
        for line in runs {
            assert_eq!(read(line, &[]), check(true, Changes::Never), "{line}");
        }
        // The user has chosen this one.
        assert_eq!(
            read("cargo test --no-run", &["cargo test --no-run"]),
            check(true, Changes::Never)
        );
    }

    fn check(is_exact: bool, changes: Changes) -> Reading {
        Reading::Check { is_exact, changes }
    }
}
