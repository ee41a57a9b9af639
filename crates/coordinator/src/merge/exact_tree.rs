//! Checks the exact tree of a commit in the run's verifier: of a merge, and of the base.

use orchestrate_core::Oid;
use orchestrate_git::Repo;

use crate::error::CoordinatorError;
use crate::merge::checks::{Check, CheckResult, ShellCommand, run_check};
use crate::merge::green::CheckedTree;
use crate::merge::project_setup::ProjectSetup;
use crate::merge::setup::{self, Unprepared};
use crate::merge::verifier;
use crate::run::blocking::blocking;
use crate::run::context::RunContext;
use crate::run::shutdown::Shutdown;

/// A commit and its tree.
#[derive(Clone)]
pub(crate) struct ExactTree {
    pub(crate) commit: Oid,
    pub(crate) tree: Oid,
}

/// A check that has run to its end.
pub(crate) struct Checked {
    /// The last command that ran: the check, or the setup if that failed.
    pub(crate) command: String,
    /// Its result.
    pub(crate) result: CheckResult,
}

/// Runs the project's setup and the check on a tree, and remembers the tree if it passes; returns `None` if the check
/// was interrupted.
pub(crate) async fn check(
    context: &RunContext,
    of: ExactTree,
    command: &str,
    shutdown: &Shutdown,
) -> Result<Option<Checked>, CoordinatorError> {
    // Before the check: if an included file changes meanwhile, the result does not count for the new one.
    let tree = of.tree.clone();
    let remembered = remembered(context, of.tree, command).await?;
    let state = context.state();
    let (setup, timeout_ms) = (ProjectSetup::of(&state), state.settings.command_timeout_ms);
    let (layout, run, commit, for_setup) = (context.host.layout.clone(), context.run.clone(), of.commit, setup.clone());
    let bring = move |repo: &Repo| verifier::bring(repo, &layout, &run, for_setup.as_ref(), &commit);
    let verifier = context.git(bring).await?;
    let seen = verifier.worktree().seen();
    let unprepared = Unprepared { path: verifier.worktree().path(), seen: &seen, tree };
    let prepared = match &setup {
        Some(setup) => setup::prepare(&context.host, setup, unprepared, shutdown).await?,
        None => None,
    };
    let result = match prepared.filter(|result| !result.passed) {
        Some(failed) => Checked { command: setup.map(|setup| setup.command).unwrap_or_default(), result: failed },
        None => {
            let check = Check { command: ShellCommand::offline(command), worktree: &seen, timeout_ms };
            let result = run_check(&context.host.sandbox, &context.host.running, check, shutdown).await?;
            let result = result.explaining_missing(context.host.repo.workdir()).redacted(&context.host.redactor);
            Checked { command: command.to_owned(), result }
        }
    };
    if result.result.passed {
        context.git(move |_| verifier.note_passed()).await?;
        let note = move || {
            remembered.note_green();
            Ok(())
        };
        blocking("a note of a tree", note).await?;
    }
    Ok(if result.result.cancelled { None } else { Some(result) })
}

/// Returns the entry of a tree for this check among those that have passed.
pub(crate) async fn remembered(
    context: &RunContext,
    tree: Oid,
    command: &str,
) -> Result<CheckedTree, CoordinatorError> {
    let (layout, state, command) = (context.host.layout.clone(), context.state(), command.to_owned());
    let sandbox = context.host.sandbox.clone();
    let entry = context.git(move |repo| CheckedTree::new((repo, &layout), &sandbox, &state, (&tree, &command)));
    entry.await
}
