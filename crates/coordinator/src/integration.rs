//! A run's integration branch, which follows the facts: they say what the result is, and the branch is brought there.

use std::path::PathBuf;

use orchestrate_core::event::Event;
use orchestrate_core::{Oid, RunId};
use orchestrate_git::{GitError, Repo};

use crate::error::CoordinatorError;
use crate::run_context::RunContext;

/// Where an integration branch is after [`follow`].
pub(crate) enum Position {
    /// At the result.
    AtResult,
    /// Behind it: a person has it checked out here, and the files of that checkout would stay behind.
    CheckedOut(PathBuf),
    /// At a commit that the result does not have: somebody else has moved it.
    Elsewhere(Oid),
}

/// Brings a run's integration branch to its result, unless that would take something away from somebody.
pub(crate) fn follow(repo: &Repo, run: &RunId, result: &Oid) -> Result<Position, GitError> {
    let reference = run.integration_ref();
    let found = repo.read_ref(&reference)?;
    match &found {
        Some(found) if found == result => return Ok(Position::AtResult),
        Some(found) if !repo.contains(result, found)? => return Ok(Position::Elsewhere(found.clone())),
        _ => {}
    }
    if let Some(checkout) = repo.checkout_of(&run.integration_branch())? {
        return Ok(Position::CheckedOut(checkout));
    }
    repo.advance(&reference, found.as_ref(), result)?;
    Ok(Position::AtResult)
}

/// Brings the integration branch of a run in progress to where the facts say it is; refuses if somebody else moved it.
/// Where a person has it checked out it stays: the facts and a ref of ours have the result.
pub(crate) async fn settle(context: &RunContext) -> Result<(), CoordinatorError> {
    let (run, result) = (context.run.clone(), context.state().integration.clone());
    let commit = result.clone();
    match context.git(move |repo| follow(repo, &run, &result)).await? {
        Position::AtResult => Ok(()),
        Position::CheckedOut(checkout) => {
            let checkout = checkout.display().to_string();
            context.record(vec![Event::IntegrationHeld { checkout, commit }]).await
        }
        Position::Elsewhere(found) => Err(CoordinatorError::BranchMoved {
            run: context.run.clone(),
            branch: context.run.integration_branch(),
            expected: commit.to_string(),
            found: found.to_string(),
        }),
    }
}
