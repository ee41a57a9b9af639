//! A run's integration branch, which follows the recorded events: they define the result, and the branch is moved
//! there.

use std::path::PathBuf;

use orchestrate_core::event::Event;
use orchestrate_core::{Oid, RunId};
use orchestrate_git::{GitError, Repo};

use crate::error::CoordinatorError;
use crate::run::context::RunContext;

/// Where an integration branch is after [`follow`].
pub(crate) enum Position {
    /// At the result.
    AtResult,
    /// Behind it: it is checked out here, and the files of that checkout would not follow.
    CheckedOut(PathBuf),
    /// At a commit that the result does not contain: it was moved from outside, and may be checked out there.
    Elsewhere { found: Oid, checkout: Option<PathBuf> },
}

/// Returns the commit that a run's integration branch was moved to from outside: one that the result does not
/// contain.
pub(crate) fn strange_tip(repo: &Repo, run: &RunId, result: &Oid) -> Result<Option<Oid>, GitError> {
    match repo.read_ref(&run.integration_ref())? {
        Some(found) if !repo.contains(result, &found)? => Ok(Some(found)),
        _ => Ok(None),
    }
}

/// Moves a run's integration branch to its result, unless that would lose commits or affect a checkout.
pub(crate) fn follow(repo: &Repo, run: &RunId, result: &Oid) -> Result<Position, GitError> {
    let reference = run.integration_ref();
    let found = repo.read_ref(&reference)?;
    match &found {
        Some(found) if found == result => return Ok(Position::AtResult),
        _ => {}
    }
    let checkout = repo.landing().checkout_of(&run.integration_branch())?;
    if let Some(found) = strange_tip(repo, run, result)? {
        return Ok(Position::Elsewhere { found, checkout });
    }
    if let Some(checkout) = checkout {
        return Ok(Position::CheckedOut(checkout));
    }
    repo.advance(&reference, found.as_ref(), result)?;
    Ok(Position::AtResult)
}

/// Moves the integration branch of a run in progress to its result, and records a checkout that prevents this.
pub(crate) async fn settle(context: &RunContext) -> Result<(), CoordinatorError> {
    let commit = context.state().integration.clone();
    let Some(checkout) = bring(context).await? else { return Ok(()) };
    let checkout = checkout.display().to_string();
    context.record(vec![Event::IntegrationHeld { checkout, commit }]).await
}

/// Moves the integration branch of a run to its recorded position; fails if it was moved from outside. If it is
/// checked out, it stays, and the checkout is returned: the events and one of our refs hold the result.
pub(crate) async fn bring(context: &RunContext) -> Result<Option<PathBuf>, CoordinatorError> {
    let (run, result) = (context.run.clone(), context.state().integration.clone());
    let commit = result.clone();
    match context.git(move |repo| follow(repo, &run, &result)).await? {
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
