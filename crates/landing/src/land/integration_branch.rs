//! A run's integration branch, which follows the recorded events: they define the result, and the
//! branch is moved there.

use std::path::PathBuf;

use orchestrate_core::{Oid, RunState};
use orchestrate_git::{GitError, Repo};

/// Where an integration branch is after [`follow`].
pub enum Position {
    /// At the result.
    AtResult,
    /// Behind it: it is checked out here, and the files of that checkout would not follow.
    CheckedOut(PathBuf),
    /// At a commit that the result does not contain: it was moved from outside, and may be checked
    /// out there.
    Elsewhere {
        /// The commit.
        found: Oid,
        /// The checkout.
        checkout: Option<PathBuf>,
    },
}

/// Returns the commit that a run's integration branch was moved to from outside: one that neither
/// the result contains, nor an earlier result that was replaced.
pub fn strange_tip(repo: &Repo, state: &RunState) -> Result<Option<Oid>, GitError> {
    let Some(found) = repo.read_ref(&state.run_id.integration_ref())? else {
        return Ok(None);
    };
    for result in std::iter::once(&state.integration).chain(&state.replaced) {
        if repo.contains(result, &found)? {
            return Ok(None);
        }
    }
    Ok(Some(found))
}

/// Moves a run's integration branch to its result, unless that would lose commits or affect a
/// checkout.
pub fn follow(repo: &Repo, state: &RunState) -> Result<Position, GitError> {
    let (run, result) = (&state.run_id, &state.integration);
    let reference = run.integration_ref();
    let found = repo.read_ref(&reference)?;
    match &found {
        Some(found) if found == result => return Ok(Position::AtResult),
        _ => {}
    }
    let checkout = repo.landing().checkout_of(&run.integration_branch())?;
    if let Some(found) = strange_tip(repo, state)? {
        return Ok(Position::Elsewhere { found, checkout });
    }
    if let Some(checkout) = checkout {
        return Ok(Position::CheckedOut(checkout));
    }
    repo.advance(&reference, found.as_ref(), result)?;
    Ok(Position::AtResult)
}
