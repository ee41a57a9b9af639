//! Tells a command that nothing marks as one from prose, by a table of programs. Whether a program
//! is installed does not count.

use crate::fields::closing;
use crate::lines::text::is_one_of;
use orchestrate_core::text::parts::Parts;

/// The maximum length of such a command: a longer one is written between backticks.
const MAX_BYTES: usize = 2 * 1024;

/// The programs that a command may begin with and that no sentence begins with.
const PROGRAMS: &str = "actionlint ansible-playbook awk bazel bunx cabal cargo clang clang-format \
    clang-tidy cmake ctest curl docker-compose dotnet eslint false flake8 g++ gcc gh gofmt \
    golangci-lint gradle gradlew grep isort jest jq kubectl ls meson mvn mvnw mypy nix nox npm npx \
    phpstan phpunit pip pip3 pnpm podman pre-commit psql pylint pyright pytest rg rspec rubocop \
    ruff rustc rustfmt sbt sed semgrep shellcheck sqlite3 tox true tsc tsx uv uvx vitest wget \
    xcodebuild yarn zig";

/// Those whose names are words of prose: an option or a path follows.
const WORDS: &str = "bash black cat diff find julia mocha node perl prettier \
    python python3 ruby sh sort zsh";

/// The same, which a subcommand may follow as well.
const WITH_SUBCOMMANDS: &[(&str, &str)] = &[
    ("buf", "breaking build generate lint"),
    ("bun", "build install run test x"),
    ("bundle", "check exec install"),
    ("composer", "install run test validate"),
    ("cypress", "open run"),
    ("dart", "analyze format pub run test"),
    ("deno", "check fmt lint run task test"),
    ("docker", "build compose exec images logs ps pull run"),
    ("dune", "build exec runtest test"),
    ("flutter", "analyze build pub run test"),
    (
        "git",
        "diff grep log ls-files merge-base rev-parse show status",
    ),
    ("go", "build fmt generate install mod run test tool vet"),
    ("helm", "dependency install lint template test upgrade"),
    ("mix", "compile credo deps.get format test"),
    ("php", "artisan"),
    ("playwright", "install test"),
    ("poetry", "build check install run"),
    ("rails", "db:migrate routes runner test"),
    ("stack", "build exec test"),
    ("swift", "build package run test"),
    ("terraform", "apply fmt init plan validate"),
    ("test", "!"),
];

/// Those that take the name of a target, with which the command ends.
const RUNNERS: &[&str] = &["just", "make", "ninja", "rake"];

/// The extensions of scripts: a path with one of them may begin a command.
const SCRIPTS: &[&str] = &[
    "sh", "bash", "zsh", "py", "js", "mjs", "ts", "rb", "pl", "php", "ps1",
];

/// Words that a command hardly has outside quotes, unlike a sentence about one.
const PROSE: &[&str] = &[
    "after", "again", "an", "and", "are", "as", "before", "but", "by", "for", "if", "in", "is",
    "it", "manually", "must", "no", "on", "once", "or", "pass", "passes", "prints", "returns",
    "runs", "should", "shows", "succeeds", "that", "the", "then", "there", "to", "until", "when",
    "which", "while", "with", "without", "works", "your",
];

/// What joins the commands of a line.
const OPERATORS: &[&str] = &["&&", "||", "|", ";", "&"];

/// Reports whether a text without any marks is a shell command: it begins with a known program, and
/// does not read like prose.
pub(crate) fn is_command(text: &str) -> bool {
    // Each line but the last goes on in the next one.
    let mut lines = text.match_indices('\n');
    if text.len() > MAX_BYTES || !lines.all(|(at, _)| closing::goes_on(text.head(at))) {
        return false;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    begins_with_program(&words) && !is_prose(text)
}

fn begins_with_program(words: &[&str]) -> bool {
    match words {
        [first, rest @ ..] if is_assignment(first) => begins_with_program(rest),
        ["cd", _, operator, rest @ ..] if OPERATORS.contains(operator) => begins_with_program(rest),
        [first, rest @ ..] => is_program(first, rest),
        [] => false,
    }
}

fn is_program(first: &str, rest: &[&str]) -> bool {
    let name = first.rsplit('/').next().unwrap_or(first);
    if name.len() < first.len() {
        let extension = name.rsplit_once('.').map(|(_, extension)| extension);
        if first.starts_with("./") || extension.is_some_and(|text| SCRIPTS.contains(&text)) {
            return true;
        }
    }
    if RUNNERS.contains(&name) {
        return match rest {
            [] | [_] => true,
            [next, after, ..] => is_argument(next) || OPERATORS.contains(after),
        };
    }
    let mut known = WITH_SUBCOMMANDS.iter().filter(|(word, _)| *word == name);
    let subcommands = match known.next() {
        Some((_, subcommands)) => subcommands,
        None if has(WORDS, name) => "",
        None => return has(PROGRAMS, name),
    };
    let next = rest.first();
    next.is_some_and(|next| is_argument(next) || has(subcommands, next))
}

fn has(list: &str, word: &str) -> bool {
    list.split(' ').any(|known| known == word)
}

/// Reports whether a word assigns a variable (`CI=1`).
fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

/// Reports whether a word is an option, a path, or quoted, as no word of prose after a verb is.
fn is_argument(word: &str) -> bool {
    let is_path = word.trim_end_matches('.').contains(['/', '.', '*']) || word == ".";
    is_path || word.starts_with(['-', '"', '\'', '$', '<', '{'])
}

/// Reports whether a text reads like a sentence about a command: a quote in it is not closed, or it
/// has words outside quotes that no command has, punctuation after a word, or a remark.
fn is_prose(text: &str) -> bool {
    let mut bare = String::with_capacity(text.len());
    let mut open = None;
    for c in text.chars() {
        match open {
            Some(quote) if quote == c => open = None,
            Some(_) => {}
            None if matches!(c, '"' | '\'' | '`') => open = Some(c),
            None => bare.push(c),
        }
    }
    let mut before = "&&";
    for word in bare.split_whitespace() {
        if is_of_prose(word) || (word.starts_with('(') && !OPERATORS.contains(&before)) {
            return true;
        }
        before = word;
    }
    open.is_some()
}

fn is_of_prose(word: &str) -> bool {
    let stem = word.strip_suffix('.').unwrap_or_default();
    word.ends_with([',', '!', '?'])
        || (word.ends_with(':') && !word.ends_with("::"))
        || stem.ends_with(char::is_alphanumeric)
        || !word.is_ascii()
        || is_one_of(word, PROSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_prose() {
        for text in [
            "cargo test",
            "npm run build",
            "CI=1 RUST_LOG=debug cargo test -p x && cargo clippy",
            "cd server && npm test",
            "go test ./...",
            "make",
            "make check",
            "make -C docs html",
            "make check && make docs",
            "just ci",
            "test -f made.txt",
            "find . -name '*.rs' -and -newer a",
            "sort -u words",
            "python -m pytest",
            ".venv/bin/python -m unittest discover -s tests",
            "./gradlew test",
            "scripts/check.sh all",
            "sh -c 'run the tests and look'",
            "docker compose run --rm app test",
            "true",
            "cargo build &&\nmake",
            "cargo test && (make docs)",
            "git diff --exit-code",
        ] {
            assert!(is_command(text), "{text}");
        }
        for text in [
            "",
            "make sure the tests pass",
            "make sure tests pass",
            "go to the page",
            "go through every page",
            "test it by hand",
            "test everything",
            "find regressions",
            "just look at it",
            "sort by name",
            "npm test and look at the output",
            "npm test, then look",
            "npm test (all green)",
            "npm test.",
            "cargo test passes",
            "cargo test doesn't fail",
            "cargo test\nlook",
            "git history stays linear",
            "docker image builds",
            "python tests pass",
            "open the page and check that it is drawn",
            "src/page.rs compiles",
            "the app",
            "npm test и посмотреть",
            "app",
        ] {
            assert!(!is_command(text), "{text}");
        }
    }
}
