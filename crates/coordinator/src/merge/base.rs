//! Completes the base of a run in a partial clone, and checks it before any agent starts: work on a
//! base whose check fails would be wasted.

use std::time::Duration;

use orchestrate_checks::{Preparation, Shutdown, warm};
use orchestrate_core::event::Event;
use orchestrate_core::{Oid, RunState};
use orchestrate_git::{GitError, Repo, Terms};
use orchestrate_journal::Batch;

use crate::error::CoordinatorError;
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
