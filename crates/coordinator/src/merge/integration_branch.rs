//! The integration branch of a run in progress, which follows the recorded events.

use std::path::PathBuf;

use orchestrate_core::event::{Event, HeldIntegration};
use orchestrate_landing::integration_branch::{Position, follow};

use crate::error::CoordinatorError;
use crate::run::context::RunContext;

/// Moves the integration branch of a run in progress to its result, and records a checkout that
/// prevents this.
pub(crate) async fn settle(context: &RunContext) -> Result<(), CoordinatorError> {
    let commit = context.state().integration.clone();
    let Some(checkout) = bring(context).await? else {
        return Ok(());
    };
    let checkout = checkout.display().to_string();
    context
        .record(vec![Event::IntegrationHeld(HeldIntegration {
            checkout,
            commit,
        })])
        .await
}

/// Moves the integration branch of a run to its recorded position; fails if it was moved from
/// outside. If it is checked out, it stays, and the checkout is returned: the events and one of our
/// refs hold the result.
pub(crate) async fn bring(context: &RunContext) -> Result<Option<PathBuf>, CoordinatorError> {
    let state = context.state();
    let commit = state.integration.clone();
    match context.git(move |repo| follow(repo, &state)).await? {
        Position::AtResult => Ok(None),
        Position::CheckedOut(checkout) => Ok(Some(checkout)),
        Position::Elsewhere { found, checkout } => Err(CoordinatorError::BranchMoved {
            run: context.run.clone(),
            branch: context.run.integration_branch(),
            expected: commit.to_string(),
            found: found.to_string(),
            checkout,
        }),
    }
}
