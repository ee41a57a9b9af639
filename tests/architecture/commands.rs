//! No text below the terminal names one of its command lines or options: errors carry what is
//! missing, and `show/hints.rs` says what to type.
//!
//! The options are read from the program itself, so a new one is covered as soon as it exists. An
//! option of another program is told apart by standing in a command line of that program, in
//! backquotes, or by being a whole literal, an argument.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use libtest_mimic::Failed;
use proc_macro2::{TokenStream, TokenTree};

use super::source::{Outline, tokens, without_test_files, without_tests};
use super::{Violation, read, require_exactly, require_none, root, rust_files};
use crate::support::{Home, Outcome, fail};

/// The terminal's crate.
const TERMINAL: &str = "crates/cli";

/// The program's name, with which its command lines begin.
const PROGRAM: &str = "orchestrate";

/// Options that every program has, so that a text with one of them names none of ours.
const COMMON: [&str; 2] = ["--help", "--version"];

/// Checks every crate below the terminal.
pub(super) fn workspace_holds() -> Outcome {
    let is_below = |file: &Path| {
        file.starts_with("crates")
            && !file.starts_with(TERMINAL)
            && file.components().any(|part| part.as_os_str() == "src")
    };
    let files: Vec<PathBuf> = rust_files()?
        .into_iter()
        .filter(|file| is_below(file))
        .collect();
    let options = options()?;
    let mut found = Vec::new();
    for file in without_test_files(&files)? {
        found.extend(violations(
            &file.display().to_string(),
            &read(&root().join(file))?,
            &options,
        )?);
    }
    require_none(&found)
}

/// Returns the long options of all subcommands, from their manual pages.
fn options() -> Result<BTreeSet<String>, Failed> {
    let home = Home::new()?;
    let pages = home.path().join("pages");
    std::fs::create_dir(&pages)?;
    home.orchestrate(home.path(), &["manual", "pages"])
        .run()?
        .exits(0)?;
    let mut options = BTreeSet::new();
    for page in std::fs::read_dir(&pages)? {
        let text = std::fs::read_to_string(page?.path())?.replace("\\-", "-");
        let bold = text.split("\\fB").skip(1);
        let named = bold.filter_map(|rest| rest.split("\\fR").next());
        options.extend(
            named
                .filter(|name| name.starts_with("--") && !COMMON.contains(name))
                .map(str::to_owned),
        );
    }
    if ["--budget-usd", "--model", "--no-write-back", "--undo"]
        .iter()
        .all(|option| options.contains(*option))
    {
        Ok(options)
    } else {
        fail(format!(
            "the options of the program were not found: {options:?}"
        ))
    }
}

fn violations(
    file: &str,
    text: &str,
    options: &BTreeSet<String>,
) -> Result<Vec<Violation>, Failed> {
    let mut found = Vec::new();
    if !text.lines().any(may_name) {
        return Ok(found);
    }
    collect(
        file,
        without_tests(tokens(file, text)?, &mut Outline::default()),
        options,
        &mut found,
    );
    Ok(found)
}

/// Reports whether a line other than a comment contains what a literal could name. Few files have
/// one, and to read all as tokens takes seconds.
fn may_name(line: &str) -> bool {
    let names = line.contains("--") || line.contains('`') && line.contains(PROGRAM);
    names && !line.trim_start().starts_with("//")
}

fn collect(
    file: &str,
    stream: impl IntoIterator<Item = TokenTree>,
    options: &BTreeSet<String>,
    found: &mut Vec<Violation>,
) {
    let mut is_attribute = false;
    for token in stream {
        match &token {
            TokenTree::Group(group) if is_attribute && is_doc(group.stream()) => {}
            TokenTree::Group(group) => collect(file, group.stream(), options, found),
            TokenTree::Literal(literal) => {
                let line = literal.span().start().line;
                let named = named_in(&literal.to_string(), options);
                found.extend(
                    named
                        .iter()
                        .map(|name| format!("{file}:{line}: a text names `{name}`")),
                );
            }
            _ => {}
        }
        is_attribute =
            matches!(&token, TokenTree::Punct(punct) if matches!(punct.as_char(), '#' | '!'));
    }
}

/// Returns our command line and our options that a literal names. A literal without a space is an
/// argument.
fn named_in(literal: &str, options: &BTreeSet<String>) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    if !literal.contains(char::is_whitespace) {
        return named;
    }
    for (at, span) in literal.split('`').enumerate() {
        let is_code = at % 2 == 1;
        let program = span.split_whitespace().next().unwrap_or_default();
        if is_code && program == PROGRAM {
            named.insert(PROGRAM.to_owned());
        }
        if !is_code || program == PROGRAM || program.starts_with("--") {
            let words = span.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
            named.extend(
                words
                    .filter(|word| options.contains(*word))
                    .map(str::to_owned),
            );
        }
    }
    named
}

fn is_doc(attribute: TokenStream) -> bool {
    attribute
        .into_iter()
        .next()
        .is_some_and(|first| first.to_string() == "doc")
}

/// Shows the check examples that it must catch.
pub(super) fn examples_are_caught() -> Outcome {
    let bad = "//! `orchestrate run`\n#[error(\"find it: `orchestrate status` lists it\")]\nstruct E;\n\
               fn f() { g(\"set --base-url\"); }\n#[error(\"omit `--merge none`, or name one with --model.\")]\nstruct F;\n\
               const G: &str = \"`orchestrate land --undo RUN` undoes it\";\n";
    let expected = [
        "a.rs:2: a text names `orchestrate`",
        "a.rs:4: a text names `--base-url`",
        "a.rs:5: a text names `--merge`",
        "a.rs:5: a text names `--model`",
        "a.rs:7: a text names `--undo`",
        "a.rs:7: a text names `orchestrate`",
    ];
    let options = options()?;
    require_exactly(&violations("a.rs", bad, &options)?, &expected)?;
    let good = "/// `orchestrate run --base-url`\n#[error(\"find it in orchestrate's journal\")]\nstruct E;\n\
                #[error(\"type `git rebase --merge` there, or --modelling\")]\nstruct F;\n\
                fn f() { git([\"rebase\", \"--merge\"]); ask(\"is `git --version` there, as --version says?\") }\n\
                #[cfg(test)]\nmod tests { const T: &str = \"`orchestrate run --json`\"; }\n";
    require_none(&violations("a.rs", good, &options)?)
}
