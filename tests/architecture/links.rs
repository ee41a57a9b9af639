//! A worker reaches its run through its link only, and its files through its workspace: its code
//! names nothing that stays with the coordinator, and only its workspace and its host name the
//! repository.

use std::path::Path;

use libtest_mimic::Failed;
use proc_macro2::{TokenStream, TokenTree};

use super::source::tokens;
use super::{Violation, read, require_exactly, require_none, root, rust_files};
use crate::support::Outcome;

/// The worker's files and folders, below the coordinator's sources.
const WORKER: [&str; 8] = [
    "link",
    "checks/check.rs",
    "run/assignment.rs",
    "worker/driver",
    "worker/failing.rs",
    "worker/faulty_work.rs",
    "worker/work.rs",
    "worker/workplace.rs",
];

/// Those of them that work on the repository of its machine.
const WORKSPACE: [&str; 15] = [
    "run/host.rs",
    "worktree/aggregate.rs",
    "worktree/attempt.rs",
    "worktree/before_command.rs",
    "worktree/branch.rs",
    "worktree/checkout.rs",
    "worktree/childrens_work.rs",
    "worktree/commit.rs",
    "worktree/compare.rs",
    "worktree/merge.rs",
    "worktree/rehearsal.rs",
    "worktree/selection.rs",
    "worktree/stash.rs",
    "worktree/status.rs",
    "worktree/workspace.rs",
];

/// Names of what stays with the coordinator, and is not available to a worker on another machine.
const KEPT: [&str; 5] = [
    "Journal",
    "Store",
    "RunContext",
    "RunState",
    "orchestrate_journal",
];

/// Names of what only the workspace uses.
const REPOSITORY: [&str; 4] = ["Repo", "Worktree", "Layout", "orchestrate_git"];

/// Checks the worker's files.
pub(super) fn workspace_holds() -> Outcome {
    let sources = Path::new("crates/coordinator/src");
    for part in WORKER.iter().chain(&WORKSPACE) {
        if !root().join(sources).join(part).exists() {
            return Err(Failed::from(format!(
                "there is no {part}: name what a worker is made of"
            )));
        }
    }
    let is_in = |file: &Path, parts: &[&str]| {
        parts
            .iter()
            .any(|part| file.starts_with(sources.join(part)))
    };
    let mut found = Vec::new();
    for file in rust_files()? {
        let (is_worker, is_workspace) = (is_in(&file, &WORKER), is_in(&file, &WORKSPACE));
        if is_worker || is_workspace {
            let names = if is_workspace {
                KEPT.to_vec()
            } else {
                [&KEPT[..], &REPOSITORY].concat()
            };
            found.extend(violations(
                &file.display().to_string(),
                &read(&root().join(&file))?,
                &names,
            )?);
        }
    }
    require_none(&found)
}

fn violations(file: &str, text: &str, names: &[&str]) -> Result<Vec<Violation>, Failed> {
    let stream = tokens(file, text)?;
    let mut found = Vec::new();
    collect((file, names), stream, &mut found);
    Ok(found)
}

fn collect((file, names): (&str, &[&str]), stream: TokenStream, found: &mut Vec<Violation>) {
    for token in stream {
        match token {
            TokenTree::Group(group) => collect((file, names), group.stream(), found),
            TokenTree::Ident(ident) if names.iter().any(|name| ident == name) => {
                found.push(format!(
                    "{file}:{}: a worker names `{ident}`",
                    ident.span().start().line
                ));
            }
            _ => {}
        }
    }
}

/// Shows the check an example that it must catch, and one that it must leave alone.
pub(super) fn examples_are_caught() -> Outcome {
    let bad =
        "//! Docs.\nuse orchestrate_journal::{Blob, Journal};\nfn f(context: &RunContext) {}\n";
    let expected = [
        "worker.rs:2: a worker names `orchestrate_journal`",
        "worker.rs:2: a worker names `Journal`",
        "worker.rs:3: a worker names `RunContext`",
    ];
    require_exactly(&violations("worker.rs", bad, &KEPT)?, &expected)?;
    require_none(&violations(
        "worker.rs",
        "//! The Journal.\nfn f(link: &WorkerLink) { link.record(vec![]); }\n",
        &KEPT,
    )?)
}
