//! A worker reaches its run through its link only: its code names nothing that stays with the coordinator.

use std::path::Path;

use libtest_mimic::Failed;
use proc_macro2::{TokenStream, TokenTree};

use super::source::tokens;
use super::{Violation, read, require_exactly, require_none, root, rust_files};
use crate::support::Outcome;

/// The worker's files and folders, below the coordinator's sources.
const WORKER: [&str; 6] =
    ["run/assignment.rs", "worker/work.rs", "worker/workplace.rs", "merge/checks.rs", "run/host.rs", "worker/driver"];

/// Names of what stays with the coordinator, and is not available to a worker on another machine.
const KEPT: [&str; 9] = [
    "Journal",
    "Store",
    "Repo",
    "Worktree",
    "RunContext",
    "RunState",
    "Layout",
    "orchestrate_journal",
    "orchestrate_git",
];

/// Checks the worker's files.
pub(super) fn workspace_holds() -> Outcome {
    let sources = Path::new("crates/coordinator/src");
    for part in WORKER {
        if !root().join(sources).join(part).exists() {
            return Err(Failed::from(format!("there is no {part}: name what a worker is made of")));
        }
    }
    let of_worker = |file: &Path| WORKER.iter().any(|part| file.starts_with(sources.join(part)));
    let mut found = Vec::new();
    for file in rust_files()?.iter().filter(|file| of_worker(file)) {
        found.extend(violations(&file.display().to_string(), &read(&root().join(file))?)?);
    }
    require_none(&found)
}

fn violations(file: &str, text: &str) -> Result<Vec<Violation>, Failed> {
    let stream = tokens(file, text)?;
    let mut found = Vec::new();
    collect(file, stream, &mut found);
    Ok(found)
}

fn collect(file: &str, stream: TokenStream, found: &mut Vec<Violation>) {
    for token in stream {
        match token {
            TokenTree::Group(group) => collect(file, group.stream(), found),
            TokenTree::Ident(ident) if KEPT.iter().any(|kept| ident == kept) => {
                found.push(format!("{file}:{}: a worker names `{ident}`", ident.span().start().line));
            }
            _ => {}
        }
    }
}

/// Shows the check an example that it must catch, and one that it must leave alone.
pub(super) fn examples_are_caught() -> Outcome {
    let bad = "//! Docs.\nuse orchestrate_journal::{Blob, Journal};\nfn f(context: &RunContext) {}\n";
    let expected = [
        "worker.rs:2: a worker names `orchestrate_journal`",
        "worker.rs:2: a worker names `Journal`",
        "worker.rs:3: a worker names `RunContext`",
    ];
    require_exactly(&violations("worker.rs", bad)?, &expected)?;
    require_none(&violations("worker.rs", "//! The Journal.\nfn f(link: &WorkerLink) { link.record(vec![]); }\n")?)
}
