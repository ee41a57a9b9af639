//! Completes the base of a run in a partial clone, and checks it before any agent starts: work on a
//! base whose check fails would be wasted.

use std::time::Duration;

use orchestrate_checks::{Preparation, Shutdown, warm};
use orchestrate_core::checks::hint::{SOCKET_REFUSED, shows_refused_socket};
use orchestrate_core::event::Event;
use orchestrate_core::{Oid, RunState, check_hint, failing_lines};
use orchestrate_git::{GitError, Repo, Terms};
use orchestrate_journal::{Batch, Store};
use orchestrate_sandbox::Confinement;

use crate::error::{BaseFailure, CoordinatorError};
use crate::merge::exact_tree;
use crate::merge::exact_tree::{Checked, ExactTree};
use crate::run::context::RunContext;

/// The time limit: the files of a large repository are gigabytes. A server that sends nothing is
/// given up much earlier.
const FETCH_TIMEOUT: Duration = Duration::from_secs(3_600);

/// Fetches what a commit's files lack. The user started this, and may be asked for a password.
pub(crate) fn complete(repo: &Repo, commit: &Oid) -> Result<(), GitError> {
    repo.remotes().complete(
        commit,
        Terms {
            timeout: FETCH_TIMEOUT,
            is_attended: true,
        },
    )
}

/// Runs the run's check on its base, unless it has passed there before, and records the result. An
/// interrupted check has none.
pub(crate) async fn verify(
    context: &RunContext,
    command: String,
    shutdown: &Shutdown,
) -> Result<(), CoordinatorError> {
    let commit = context.state().base.clone();
    let of = commit.clone();
    let tree = context.git(move |repo| repo.tree_of(&of)).await?;
    if exact_tree::remembered(context, tree.clone(), &command)
        .await?
        .is_green()
    {
        let conditions = exact_tree::conditions(context, &command).await?;
        warm::adopt(
            &context.host.site,
            &Preparation::for_run(&context.state()),
            conditions,
        )
        .await?;
        let exit = "passed before".to_owned();
        let known = Event::BaseVerified {
            tree,
            command,
            passed: true,
            exit,
            output: None,
            duration_ms: 0,
        };
        return context.decide(|state| if_due(state, known)).await;
    }
    context
        .record(vec![Event::BaseVerifying {
            tree: tree.clone(),
            command: command.clone(),
        }])
        .await?;
    let of = ExactTree {
        commit,
        tree: tree.clone(),
    };
    let Some(Checked { command, result }) =
        exact_tree::check(context, of, &command, shutdown).await?
    else {
        return Ok(());
    };
    context
        .record_with(result.output.into_bytes(), |output| Event::BaseVerified {
            tree,
            command,
            passed: result.passed,
            exit: result.exit,
            output: Some(output),
            duration_ms: result.duration_ms,
        })
        .await
}

/// Returns the event, unless a request has made the check unnecessary meanwhile.
fn if_due(state: &RunState, known: Event) -> Batch {
    if state.base_check().is_some() {
        known.into()
    } else {
        Batch::default()
    }
}

/// Returns the error of a run whose base does not pass its check, or `None` for any other run.
pub(crate) fn refusal(
    state: &RunState,
    store: &Store,
    confinement: Confinement,
) -> Result<Option<CoordinatorError>, CoordinatorError> {
    let Some(red) = state.red_base() else {
        return Ok(None);
    };
    let output = match &red.output {
        Some(output) => String::from_utf8_lossy(&store.blob(output)?).into_owned(),
        None => String::new(),
    };
    let failure = BaseFailure {
        run: state.run_id.clone(),
        base: short(&state.base),
        command: red.command.clone(),
        exit: red.exit.clone(),
        lines: failing_lines(&output),
        fix: check_hint(&output).or_else(|| of_tier(&output, confinement)),
    };
    Ok(Some(CoordinatorError::RedBase(Box::new(failure))))
}

/// Returns the hint for a base that failed only because of the tier of the sandbox.
fn of_tier(output: &str, confinement: Confinement) -> Option<&'static str> {
    let is_of_tier = confinement == Confinement::Fallback && shows_refused_socket(output);
    is_of_tier.then_some(SOCKET_REFUSED)
}

/// Returns the first digits of a commit's id, enough to type.
fn short(commit: &Oid) -> String {
    commit.as_str().chars().take(8).collect()
}
