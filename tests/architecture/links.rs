//! A worker reaches its run through its link only, and its files through its workspace: its code
//! names nothing that stays with the coordinator, and only its workspace and its host name the
//! repository.

use std::path::Path;

use libtest_mimic::Failed;
use proc_macro2::{TokenStream, TokenTree};

use super::source::tokens;
use super::{Violation, read, require_exactly, require_none, root, rust_files};
use crate::support::Outcome;

/// The worker's files and folders, in the folder of all crates.
const WORKER: [&str; 8] = [
    "checks/src/check.rs",
    "coordinator/src/link",
    "coordinator/src/run/assignment.rs",
    "coordinator/src/worker/driver",
    "coordinator/src/worker/failing.rs",
    "coordinator/src/worker/faulty_work.rs",
    "coordinator/src/worker/work.rs",
    "coordinator/src/worker/workplace.rs",
];

/// Those of them that work on the repository of its machine.
const WORKSPACE: [&str; 15] = [
    "coordinator/src/run/machine/host.rs",
    "coordinator/src/worktree/aggregate.rs",
    "coordinator/src/worktree/attempt.rs",
    "coordinator/src/worktree/before_command.rs",
    "coordinator/src/worktree/git_tools/branch.rs",
    "coordinator/src/worktree/git_tools/checkout.rs",
    "coordinator/src/worktree/childrens_work.rs",
    "coordinator/src/worktree/git_tools/commit.rs",
    "coordinator/src/worktree/compare.rs",
    "coordinator/src/worktree/git_tools/merge.rs",
    "coordinator/src/worktree/git_tools/rehearsal.rs",
    "coordinator/src/worktree/git_tools/selection.rs",
    "coordinator/src/worktree/git_tools/stash.rs",
    "coordinator/src/worktree/git_tools/status.rs",
    "coordinator/src/worktree/workspace.rs",
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
    let sources = Path::new("crates");
    for part in WORKER.iter().chain(&WORKSPACE) {
        assert!(
            root().join(sources).join(part).exists(),
            "there is no {part}: name what a worker is made of"
        );
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
