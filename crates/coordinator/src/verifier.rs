//! The verifier: the worktree of a run in which exact trees are checked, of a merge as of a landing.
//!
//! A check there finds what it would find in any other worktree of the run: the files that the project wants in each,
//! and what its setup makes. Nobody works in it, so it is brought to another commit for each check.

use orchestrate_core::{Oid, RunId, RunSettings};
use orchestrate_git::{GitError, Repo, Worktree, WorktreeSpec};

use crate::layout::Layout;

/// Brings a run's verifier to a commit; makes it if it is not there, and anew if it cannot be used as it is.
pub(crate) fn bring(repo: &Repo, layout: &Layout, run: &RunId, commit: &Oid) -> Result<Worktree, GitError> {
    let spec = WorktreeSpec {
        path: layout.verifier(run),
        branch: None,
        base: commit.clone(),
        lock_reason: format!("orchestrate {run} verifier"),
    };
    filled(repo, &spec).or_else(|error| {
        tracing::warn!(%error, "the verifier is made anew");
        repo.discard_worktree(&spec.path, &layout.trash())?.delete()?;
        filled(repo, &spec)
    })
}

fn filled(repo: &Repo, spec: &WorktreeSpec) -> Result<Worktree, GitError> {
    let worktree = repo.add_worktree(spec)?;
    repo.checkout_detached(&worktree, &spec.base)?;
    repo.copy_included(&worktree)?;
    Ok(worktree)
}

/// Gives the commands of a check of an exact tree, in their order; the tree is good if all of them pass.
///
/// The project's setup comes first each time: what it makes need not be ignored by git, so it may be gone since the
/// last check, or belong to another tree.
pub(crate) fn commands<'a>(settings: &'a RunSettings, check: &'a str) -> impl Iterator<Item = &'a str> {
    settings.worktree_setup.as_deref().into_iter().chain([check])
}
