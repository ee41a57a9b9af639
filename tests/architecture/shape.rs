//! The shape of source files: not too long, no comment too wide, facades without logic, and no lint
//! silenced without a reason that is checked.
//!
//! Clippy checks the length and the number of parameters of functions.

use std::path::Path;

use libtest_mimic::Failed;
use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::source::tokens;
use super::{Violation, read, require_exactly, require_none, root, rust_files};
use crate::support::Outcome;

/// Maximum number of lines of a file; a longer one has more than one subject.
const MAX_LINES: usize = 1_250;

/// Maximum number of columns of a comment, which rustfmt does not wrap.
const MAX_COLUMNS: usize = 100;

/// Checks every file of the repository.
pub(super) fn workspace_holds() -> Outcome {
    let mut found = Vec::new();
    for file in rust_files()? {
        found.extend(violations(&file, &read(&root().join(&file))?)?);
    }
    require_none(&found)
}

fn violations(file: &Path, text: &str) -> Result<Vec<Violation>, Failed> {
    let name = file.display();
    let mut found = Vec::new();
    let lines = text.lines().count();
    if lines > MAX_LINES {
        found.push(format!("{name} has {lines} lines, more than {MAX_LINES}"));
    }
    let is_wide =
        |line: &str| line.trim_start().starts_with("//") && line.chars().count() > MAX_COLUMNS;
    found.extend(
        (1..)
            .zip(text.lines())
            .filter(|(_, line)| is_wide(line))
            .map(|(number, _)| {
                format!("{name}:{number}: a comment is wider than {MAX_COLUMNS} columns")
            }),
    );
    let mut silenced = Vec::new();
    // To read all files as tokens takes seconds.
    if is_facade(file) || text.contains("allow") {
        let stream = tokens(&name.to_string(), text)?;
        if is_facade(file) {
            found.extend(
                logic(stream.clone())
                    .map(|line| format!("{name}:{line}: a facade holds docs and re-exports only")),
            );
        }
        find_allow(stream, &mut silenced);
    }
    found.extend(
        silenced
            .into_iter()
            .map(|line| format!("{name}:{line}: `allow` instead of `expect` with a reason")),
    );
    // A file of unit tests belongs to the module that declares it, so it needs no purpose of its
    // own.
    if !text.starts_with("//!") && file.file_name().is_some_and(|name| name != "tests.rs") {
        found.push(format!("{name} does not open with its purpose"));
    }
    Ok(found)
}

fn is_facade(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default();
    // An attribute can be defined only in the root of its crate.
    let is_of_attributes = file.starts_with("crates/macros");
    (name == "lib.rs" || name == "mod.rs") && file.starts_with("crates") && !is_of_attributes
}

/// Returns the line of the first top-level item that is neither `mod name;` nor `use …;` nor an
/// attribute.
fn logic(stream: TokenStream) -> Option<usize> {
    let mut statement: Vec<TokenTree> = Vec::new();
    for token in stream {
        let ends = match &token {
            TokenTree::Punct(punct) => punct.as_char() == ';',
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace && !is_use(&statement),
            _ => false,
        };
        let is_block = matches!(token, TokenTree::Group(_));
        statement.push(token);
        if ends {
            let words: Vec<String> = items(&statement);
            let listed = words
                .first()
                .is_some_and(|word| ["mod", "use", "extern"].contains(&word.as_str()));
            let of_tests = statement
                .iter()
                .any(|token| token.to_string().replace(' ', "").starts_with("[cfg(test"));
            if !(of_tests || listed && !is_block) {
                return statement
                    .iter()
                    .map(|token| token.span().start().line)
                    .max();
            }
            statement.clear();
        }
    }
    None
}

fn is_use(statement: &[TokenTree]) -> bool {
    items(statement).first().is_some_and(|word| word == "use")
}

/// Returns the words of a statement without its visibility.
fn items(statement: &[TokenTree]) -> Vec<String> {
    let words = statement
        .iter()
        .filter(|token| matches!(token, TokenTree::Ident(_)))
        .map(ToString::to_string);
    words.skip_while(|word| word == "pub").collect()
}

/// Collects the lines of attributes that silence a lint, also inside `cfg_attr` and macros.
fn find_allow(stream: TokenStream, lines: &mut Vec<usize>) {
    let mut after_hash = false;
    for token in stream {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => after_hash = true,
            TokenTree::Punct(punct) if punct.as_char() == '!' && after_hash => {}
            TokenTree::Group(group) => {
                if after_hash && group.delimiter() == Delimiter::Bracket && silences(group.stream())
                {
                    lines.push(group.span_open().start().line);
                } else {
                    find_allow(group.stream(), lines);
                }
                after_hash = false;
            }
            _ => after_hash = false,
        }
    }
}

/// Reports whether an attribute is `allow(…)` or a `cfg_attr` with one.
fn silences(attribute: TokenStream) -> bool {
    let mut word = String::new();
    for token in attribute {
        match token {
            TokenTree::Group(_) if word == "allow" => return true,
            TokenTree::Group(group) if word == "cfg_attr" && silences(group.stream()) => {
                return true;
            }
            other => word = other.to_string(),
        }
    }
    false
}

/// Shows the check examples that it must catch, and some that it must leave alone.
pub(super) fn examples_are_caught() -> Outcome {
    let check = |file: &str, text: &str| violations(Path::new(file), text);
    let long = format!("//! Long.\n{}", "\n".repeat(MAX_LINES));
    require_exactly(
        &check("crates/x/src/a.rs", &long)?,
        &["crates/x/src/a.rs has 1251 lines, more than 1250"],
    )?;
    let wide = format!(
        "//! Docs.\nfn f() {{}}\n    /// {}\n",
        "x".repeat(MAX_COLUMNS - 7)
    );
    require_exactly(
        &check("crates/x/src/a.rs", &wide)?,
        &["crates/x/src/a.rs:3: a comment is wider than 100 columns"],
    )?;
    let logic = "//! Docs.\nmod a;\npub use a::{A, B};\npub fn f() {}\n";
    let expected = ["crates/x/src/lib.rs:4: a facade holds docs and re-exports only"];
    require_exactly(&check("crates/x/src/lib.rs", logic)?, &expected)?;
    require_none(&check("crates/x/src/a.rs", logic)?)?;
    let constant = "//! Docs.\nconst A: u8 = 1;\n";
    let expected = ["crates/x/src/a/mod.rs:2: a facade holds docs and re-exports only"];
    require_exactly(&check("crates/x/src/a/mod.rs", constant)?, &expected)?;
    let facade = "//! Docs.\n#![expect(x, reason = \"y\")]\npub(crate) mod a;\npub use a::{A, b::C};\n\
                  #[cfg(test)]\nmod tests { fn f() {} }\n#[cfg(feature = \"x\")]\npub mod c;\n";
    require_none(&check("crates/x/src/lib.rs", facade)?)?;
    for silent in [
        "#[allow(dead_code)]",
        "#![allow(dead_code)]",
        "#[cfg_attr(unix, allow(dead_code))]",
    ] {
        let text = format!("//! Docs.\nmod a {{ {silent} fn f() {{}} }}\n");
        let expected = ["crates/x/src/a.rs:2: `allow` instead of `expect` with a reason"];
        require_exactly(&check("crates/x/src/a.rs", &text)?, &expected)?;
    }
    require_none(&check(
        "crates/x/src/a.rs",
        "//! `#[allow(x)]`\nfn allow(x: u8) { allow(x) } // #[allow(x)]\n",
    )?)?;
    let mute = "fn f() {}\n";
    require_exactly(
        &check("tests/a.rs", mute)?,
        &["tests/a.rs does not open with its purpose"],
    )
}
