//! No text below the terminal names one of its command lines: errors carry what is missing, and
//! `show/hints.rs` says what to type.

use std::path::Path;

use libtest_mimic::Failed;
use proc_macro2::{TokenStream, TokenTree};

use super::source::{Outline, tokens, without_tests};
use super::{Violation, read, require_exactly, require_none, root, rust_files};
use crate::support::Outcome;

/// The terminal's crate.
const TERMINAL: &str = "crates/cli";

/// How our command lines begin in a text, and options that no other program has.
const COMMAND_LINES: [&str; 9] = [
    "`orchestrate ",
    "--base-url",
    "--budget-tokens",
    "--context-tokens",
    "--max-agents",
    "--max-children-per-agent",
    "--max-depth",
    "--no-sandbox",
    "--output-format",
];

/// Checks every crate below the terminal.
pub(super) fn workspace_holds() -> Outcome {
    let is_below = |file: &Path| {
        file.starts_with("crates")
            && !file.starts_with(TERMINAL)
            && file.components().any(|part| part.as_os_str() == "src")
    };
    let mut found = Vec::new();
    for file in rust_files()?.iter().filter(|file| is_below(file)) {
        let is_test = file.file_stem().is_some_and(|name| name == "tests");
        if !is_test {
            found.extend(violations(&file.display().to_string(), &read(&root().join(file))?)?);
        }
    }
    require_none(&found)
}

fn violations(file: &str, text: &str) -> Result<Vec<Violation>, Failed> {
    let mut found = Vec::new();
    collect(file, without_tests(tokens(file, text)?, &mut Outline::default()), &mut found);
    Ok(found)
}

fn collect(file: &str, stream: impl IntoIterator<Item = TokenTree>, found: &mut Vec<Violation>) {
    let mut is_attribute = false;
    for token in stream {
        match &token {
            TokenTree::Group(group) if is_attribute && is_doc(group.stream()) => {}
            TokenTree::Group(group) => collect(file, group.stream(), found),
            TokenTree::Literal(literal) => {
                let (text, line) = (literal.to_string(), literal.span().start().line);
                let named = COMMAND_LINES.iter().filter(|command| text.contains(*command));
                found.extend(
                    named.map(|command| format!("{file}:{line}: a text names `{}`", command.trim_matches(['`', ' ']))),
                );
            }
            _ => {}
        }
        is_attribute = matches!(&token, TokenTree::Punct(punct) if matches!(punct.as_char(), '#' | '!'));
    }
}

fn is_doc(attribute: TokenStream) -> bool {
    attribute.into_iter().next().is_some_and(|first| first.to_string() == "doc")
}

/// Shows the check examples that it must catch.
pub(super) fn examples_are_caught() -> Outcome {
    let bad = "//! `orchestrate run`\n#[error(\"find it: `orchestrate status` lists it\")]\nstruct E;\n\
               fn f() { g(\"set --base-url\"); }\n";
    require_exactly(
        &violations("a.rs", bad)?,
        &["a.rs:2: a text names `orchestrate`", "a.rs:4: a text names `--base-url`"],
    )?;
    let good = "/// `orchestrate run --base-url`\n#[error(\"find it in orchestrate's journal\")]\nstruct E;\n\
                #[cfg(test)]\nmod tests { const T: &str = \"`orchestrate run`\"; }\n";
    require_none(&violations("a.rs", good)?)
}
