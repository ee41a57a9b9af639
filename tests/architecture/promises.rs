//! The tests that the book names for its promises exist.

use std::path::Path;

use libtest_mimic::Failed;

use super::{Violation, read, require_exactly, require_none, root, rust_files};
use crate::support::Outcome;

const PAGE: &str = "docs/promises.md";

/// Checks the tables of promises.
pub(super) fn page_holds() -> Outcome {
    let page = read(&root().join(PAGE))?;
    assert!(
        page.lines()
            .filter(|line| names(line).next().is_some())
            .count()
            > 10
    );
    let found = violations(&page, &sources_below)?;
    require_none(&found)
}

/// Returns the text of every source file below a path of the repository.
fn sources_below(path: &str) -> Result<String, Failed> {
    let files = rust_files()?
        .into_iter()
        .filter(|file| file.starts_with(path));
    files.map(|file| read(&root().join(file))).collect()
}

fn violations(
    page: &str,
    sources: &dyn Fn(&str) -> Result<String, Failed>,
) -> Result<Vec<Violation>, Failed> {
    let mut found = Vec::new();
    for (at, line) in page
        .lines()
        .enumerate()
        .filter(|(_, line)| line.starts_with('|'))
    {
        let proof = line.split('|').nth_back(1).unwrap_or_default();
        let mut texts = String::new();
        for path in quoted(proof).filter(|quoted| is_path(quoted)) {
            let text = sources(path)?;
            if text.is_empty() {
                found.push(format!("{PAGE}:{}: there is no test in {path}", at + 1));
            }
            texts.push_str(&text);
        }
        // A module may prefix the names of its cases with its own, and append a tier.
        let own = |name: &str| {
            name.rsplit("::")
                .next()
                .unwrap_or_default()
                .trim_end_matches('_')
                .to_owned()
        };
        let missing = names(proof).filter(|name| !texts.contains(&own(name)));
        found.extend(missing.map(|name| format!("{PAGE}:{}: there is no test `{name}`", at + 1)));
    }
    Ok(found)
}

/// Returns the names of tests in a cell; a name that ends with `…` is cut to its beginning.
fn names(proof: &str) -> impl Iterator<Item = &str> {
    let words = quoted(proof).map(|word| word.trim_end_matches('…'));
    words.filter(|word| {
        word.contains('_')
            && word
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_:".contains(&byte))
    })
}

/// Returns what is written as code.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Reports whether code is the path of tests.
fn is_path(quoted: &str) -> bool {
    quoted.starts_with("tests/") || quoted.starts_with("crates/")
}

/// Shows that a promise without its test is caught.
pub(super) fn examples_are_caught() -> Outcome {
    let page = "| promise | test |\n|---|---|\n\
                  | kept | `tests/a.rs`: `a::is_kept`, `a::also_…` |\n\
                  | broken | `tests/a.rs`: `a::is_gone`; `tests/b` |\n";
    let sources = |path: &str| {
        let is_there = Path::new(path) == Path::new("tests/a.rs");
        Ok(if is_there {
            "case(\"a::is_kept\", ..), case(\"a::also_kept\", ..)".to_owned()
        } else {
            String::new()
        })
    };
    let expected = [
        "docs/promises.md:4: there is no test in tests/b",
        "docs/promises.md:4: there is no test `a::is_gone`",
    ];
    require_exactly(&violations(page, &sources)?, &expected)
}
