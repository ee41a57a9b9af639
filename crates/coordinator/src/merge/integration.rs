//! A run's integration branch, which follows the facts: they say what the result is, and the branch is brought there.

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
    /// Behind it: a person has it checked out here, and the files of that checkout would stay behind.
    CheckedOut(PathBuf),
    /// At a commit that the result does not have: somebody else has moved it, who may be on it in a checkout.
    Elsewhere { found: Oid, checkout: Option<PathBuf> },
}

/// Returns the commit that somebody else has moved a run's integration branch to: one that the result does not have.
pub(crate) fn strange_tip(repo: &Repo, run: &RunId, result: &Oid) -> Result<Option<Oid>, GitError> {
    match repo.read_ref(&run.integration_ref())? {
        Some(found) if !repo.contains(result, &found)? => Ok(Some(found)),
        _ => Ok(None),
    }
}

/// Brings a run's integration branch to its result, unless that would take something away from somebody.
pub(crate) fn follow(repo: &Repo, run: &RunId, result: &Oid) -> Result<Position, GitError> {
    let reference = run.integration_ref();
    let found = repo.read_ref(&reference)?;
    match &found {
        Some(found) if found == result => return Ok(Position::AtResult),
        _ => {}
    }
    let checkout = repo.checkout_of(&run.integration_branch())?;
    if let Some(found) = strange_tip(repo, run, result)? {
        return Ok(Position::Elsewhere { found, checkout });
    }
    if let Some(checkout) = checkout {
        return Ok(Position::CheckedOut(checkout));
    }
    repo.advance(&reference, found.as_ref(), result)?;
    Ok(Position::AtResult)
}

/// Brings the integration branch of a run in progress to its result, and records where a person keeps it from
/// following.
pub(crate) async fn settle(context: &RunContext) -> Result<(), CoordinatorError> {
    let commit = context.state().integration.clone();
    let Some(checkout) = bring(context).await? else { return Ok(()) };
    let checkout = checkout.display().to_string();
    context.record(vec![Event::IntegrationHeld { checkout, commit }]).await
}

/// Brings the integration branch of a run to where the facts say it is; refuses if somebody else moved it. Where a
/// person has it checked out, which is given, it stays: the facts and a ref of ours have the result.
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
