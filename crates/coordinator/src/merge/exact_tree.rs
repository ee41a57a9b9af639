//! Checks the exact tree of a commit: of a merge in the run's verifier, and of the base where its
//! outputs are kept.

use orchestrate_checks::warm::Place;
use orchestrate_checks::{
    Check, CheckResult, CheckedTree, Preparation, ShellCommand, Shutdown, Unprepared, Warm,
    blocking, prepare, run_check, verifier, warm,
};
use orchestrate_core::{BlobId, Oid};
use orchestrate_git::{Repo, Worktree};

use crate::error::CoordinatorError;
use crate::run::context::RunContext;

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

/// Runs the project's setup and the check on a tree, and remembers the tree if it passes; returns
/// `None` if the check was interrupted.
pub(crate) async fn check(
    context: &RunContext,
    of: ExactTree,
    command: &str,
    shutdown: &Shutdown,
) -> Result<Option<Checked>, CoordinatorError> {
    // Before the check: if an included file changes meanwhile, the result does not count for the
    // new one.
    let remembered = remembered(context, of.tree.clone(), command).await?;
    let state = context.state();
    let preparation = Preparation::for_run(&state);
    // Also before the check, for the same reason.
    let conditions = conditions(context, command).await?;
    let place = match state.base_check() {
        Some(_) if of.commit == state.base => {
            warm::place(&context.host.site, &preparation, shutdown).await?
        }
        _ => Place::Verifier,
    };
    let result = match place {
        Place::Unprepared(failed) => {
            let setup = preparation.setup.map(|setup| setup.command);
            Checked {
                command: setup.unwrap_or_default(),
                result: failed,
            }
        }
        Place::Own(worktree) => {
            let result = check_in(context, &worktree, command, shutdown).await?;
            if result.passed {
                let warm =
                    warm::passed(&context.host.site, &preparation, worktree, conditions).await?;
                tell(context, &warm);
            }
            Checked {
                command: command.to_owned(),
                result,
            }
        }
        Place::Verifier => in_verifier(context, &preparation, of, command, shutdown).await?,
    };
    if result.result.passed {
        let note = move || {
            remembered.note_green();
            Ok::<_, CoordinatorError>(())
        };
        blocking("a note of a tree", note).await?;
    }
    Ok(if result.result.cancelled {
        None
    } else {
        Some(result)
    })
}

/// Runs the project's setup and the check in the run's verifier.
async fn in_verifier(
    context: &RunContext,
    preparation: &Preparation,
    of: ExactTree,
    command: &str,
    shutdown: &Shutdown,
) -> Result<Checked, CoordinatorError> {
    let layout = context.host.site.layout.clone();
    let run = context.run.clone();
    let commit = of.commit;
    let setup = preparation.setup.clone();
    let bring = move |repo: &Repo| verifier::bring(repo, &layout, &run, setup.as_ref(), &commit);
    let verifier = context.git(bring).await?;
    let worktree = verifier.worktree();
    let unprepared = Unprepared {
        path: worktree.path(),
        seen: &worktree.seen(),
        tree: of.tree,
    };
    let prepared = prepare(&context.host.site, preparation, unprepared, shutdown).await?;
    if let Some(failed) = prepared.filter(|result| !result.passed) {
        let setup = preparation
            .setup
            .as_ref()
            .map(|setup| setup.command.clone());
        return Ok(Checked {
            command: setup.unwrap_or_default(),
            result: failed,
        });
    }
    let result = check_in(context, worktree, command, shutdown).await?;
    if result.passed {
        context.git(move |_| verifier.note_passed()).await?;
    }
    Ok(Checked {
        command: command.to_owned(),
        result,
    })
}

/// Runs the check in a worktree.
async fn check_in(
    context: &RunContext,
    worktree: &Worktree,
    command: &str,
    shutdown: &Shutdown,
) -> Result<CheckResult, CoordinatorError> {
    let timeout_ms = context.state().settings.command_timeout_ms;
    let check = Check {
        command: ShellCommand::offline(command),
        worktree: &worktree.seen(),
        timeout_ms,
    };
    let sandbox = context.host.site.sandbox_in(worktree.path());
    let result = run_check(&sandbox, &context.host.site.running, check, shutdown).await?;
    Ok(result
        .explaining_missing(context.host.site.repo.workdir())
        .redacted(&context.host.site.redactor))
}

/// Tells the user what new worktrees have to make again, and notes what they start with.
fn tell(context: &RunContext, warm: &Warm) {
    let Some(told) = warm.told() else { return };
    if warm.lacks_something() {
        (context.warn)(&told);
    } else {
        tracing::info!("{told}");
    }
}

/// Returns a digest of what decides, beside the tree, what this check leaves.
pub(crate) async fn conditions(
    context: &RunContext,
    command: &str,
) -> Result<BlobId, CoordinatorError> {
    let state = context.state();
    let sandbox = context.host.site.sandbox.clone();
    let command = command.to_owned();
    context
        .git(move |repo| orchestrate_checks::conditions(repo, &sandbox, &state.settings, &command))
        .await
}

/// Returns the entry of a tree for this check among those that have passed.
pub(crate) async fn remembered(
    context: &RunContext,
    tree: Oid,
    command: &str,
) -> Result<CheckedTree, CoordinatorError> {
    let (state, command) = (context.state(), command.to_owned());
    let sandbox = context.host.site.sandbox.clone();
    let key = context.git(move |repo| CheckedTree::key(repo, &sandbox, &state, &tree, &command));
    Ok(CheckedTree::new(&context.host.site.layout, key.await?))
}
