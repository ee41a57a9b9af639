//! Only core judges a task's state: the other crates and the examples ask named questions and
//! compare no `TaskState`.
//!
//! A comparison elsewhere is a second place for a rule of the task's life, which a new state
//! bypasses silently. Tests may name states, since they say which result is expected.

use std::path::{Path, PathBuf};

use libtest_mimic::Failed;
use proc_macro2::{Spacing, TokenStream, TokenTree};

use super::source::{Outline, child_of, tokens, without_test_files, without_tests};
use super::{Violation, read, require_exactly, require_none, root, rust_files};
use crate::support::Outcome;

/// The type whose values only core may distinguish.
const STATE: &str = "TaskState";

/// Checks the code of all crates except core, without tests.
pub(super) fn workspace_holds() -> Outcome {
    let files: Vec<PathBuf> = rust_files()?
        .into_iter()
        .filter(|file| is_bound(file))
        .collect();
    let mut found = Vec::new();
    for file in without_test_files(&files)? {
        found.extend(violations(
            &file.display().to_string(),
            &read(&root().join(file))?,
        )?);
    }
    require_none(&found)
}

/// Reports whether the rule applies to a file: it is an example, or belongs to a crate other than
/// core and not to its tests.
fn is_bound(file: &Path) -> bool {
    let is_of_tests = file.iter().any(|part| part == "tests" || part == "benches");
    let is_of_crate =
        file.starts_with("crates") && !file.starts_with("crates/core") && !is_of_tests;
    is_of_crate || file.starts_with("examples")
}

fn violations(file: &str, text: &str) -> Result<Vec<Violation>, Failed> {
    let mut found = Vec::new();
    if may_judge(text) {
        collect(file, tokens(file, text)?, &mut found);
    }
    Ok(found)
}

/// Reports whether a text names the type of a state, or compares what is named `state`. Few files
/// do, and to read all as tokens takes seconds.
fn may_judge(text: &str) -> bool {
    let after = text.split("state").skip(1);
    text.contains(STATE) || after.map(str::trim_start).any(begins_comparison)
}

/// Reports whether a comparison may follow, at once or after the arguments of a call.
fn begins_comparison(rest: &str) -> bool {
    let rest = rest.strip_prefix("()").unwrap_or(rest).trim_start();
    ["==", "!=", "(", "[", "{"]
        .iter()
        .any(|next| rest.starts_with(next))
}

fn collect(file: &str, stream: TokenStream, found: &mut Vec<Violation>) {
    let tokens = without_tests(stream, &mut Outline::default());
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => collect(file, group.stream(), found),
            TokenTree::Ident(ident) => {
                let line = ident.span().start().line;
                let rest = &tokens[at + 1..];
                if ident == STATE && (is_joined(rest, "::") || is_word(rest, "as")) {
                    found.push(format!(
                        "{file}:{line}: names a state; ask core what it means"
                    ));
                } else if ident == STATE && at > 0 && is_sign(&tokens[at - 1], '=') {
                    found.push(format!("{file}:{line}: gives `{STATE}` another name"));
                } else if ident == "state" && is_compared(rest) {
                    found.push(format!(
                        "{file}:{line}: compares a state; ask core what it means"
                    ));
                }
            }
            _ => {}
        }
    }
}

/// Reports whether the field or call before these tokens is compared.
fn is_compared(after: &[TokenTree]) -> bool {
    let rest = if matches!(after.first(), Some(TokenTree::Group(_))) {
        &after[1..]
    } else {
        after
    };
    is_joined(rest, "==") || is_joined(rest, "!=")
}

fn is_word(tokens: &[TokenTree], word: &str) -> bool {
    matches!(tokens.first(), Some(TokenTree::Ident(ident)) if ident == word)
}

fn is_sign(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

/// Reports whether the tokens begin with an operator of two characters.
fn is_joined(tokens: &[TokenTree], operator: &str) -> bool {
    let mut signs = operator.chars();
    let (Some(first), Some(second)) = (signs.next(), signs.next()) else {
        return false;
    };
    let is_open = matches!(tokens.first(), Some(TokenTree::Punct(punct)) if punct.spacing() == Spacing::Joint);
    is_open
        && is_sign(&tokens[0], first)
        && tokens.get(1).is_some_and(|token| is_sign(token, second))
}

/// Shows the check examples that it must catch, and some that it must leave alone.
pub(super) fn examples_are_caught() -> Outcome {
    let bad = "//! Docs.\nuse orchestrate_core::TaskState::{self, Merged};\nuse orchestrate_core::TaskState as State;\n\
               type State = TaskState;\nfn f(record: &TaskRecord) -> bool {\n    \
               matches!(record.state(), TaskState::Failed) || record.state() == old.state\n}\n";
    let expected = [
        "a.rs:2: names a state; ask core what it means",
        "a.rs:3: names a state; ask core what it means",
        "a.rs:4: gives `TaskState` another name",
        "a.rs:6: names a state; ask core what it means",
        "a.rs:6: compares a state; ask core what it means",
    ];
    require_exactly(&violations("a.rs", bad)?, &expected)?;
    let good = "//! A `TaskState::Merged`.\nuse orchestrate_core::{Report, TaskState};\n\
                fn f(state: TaskState) -> &'static str { if state.is_merged() { \"\" } else { state.as_str() } }\n\
                #[cfg(test)]\nmod tests { const END: TaskState = TaskState::Merged; }\n";
    require_none(&violations("a.rs", good)?)?;
    let bound = [
        "crates/cli/show/table.rs",
        "examples/review_branches.rs",
        "crates/core/src/projections/report.rs",
        "crates/journal/tests/it.rs",
        "tests/run/end_to_end.rs",
    ];
    let of_test = ["lib.rs", "parse.rs"]
        .map(|file| child_of(&Path::new("crates/plan/src").join(file), "invariants"));
    let children = [
        "crates/plan/src/invariants.rs",
        "crates/plan/src/parse/invariants.rs",
    ]
    .map(PathBuf::from);
    assert!(
        bound.map(|file| is_bound(Path::new(file))) == [true, true, false, false, false]
            && of_test == children,
        "{of_test:?}"
    );
    Ok(())
}
