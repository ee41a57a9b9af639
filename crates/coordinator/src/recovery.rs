//! Brings the repository to what the facts say, before anything new is done.
//!
//! A run may have been killed between a fact and its act: the acts are refs and worktrees, whose names follow from
//! ids, so each is looked at and carried out if it is missing. What somebody else has moved is refused.

use std::sync::Arc;

use orchestrate_core::{Oid, TaskRecord, TaskState};
use orchestrate_tools::TEMPORARY_PREFIX;

use crate::error::CoordinatorError;
use crate::integration;
use crate::run_context::RunContext;
use crate::worktrees;

/// Settles the integration branch and every task's branch; also makes them for a run that begins.
pub(crate) async fn settle(context: &Arc<RunContext>) -> Result<(), CoordinatorError> {
    let ours = format!("orchestrate {}", context.run);
    context.git(move |repo| repo.reconcile(&|reason| reason.starts_with(&ours)).map(|_| ())).await?;
    integration::settle(context).await?;
    let state = context.state();
    for record in state.tasks() {
        // A worktree that is still to be prepared takes its branch along, which may have to leave earlier work; an attempt
        // that failed before that has left the branch where it was.
        let stands = record.prepared || record.state.is_handed_over();
        if let (Some(branch), Some(tip), true) = (&record.branch, &record.tip, stands) {
            settle_branch(context, format!("refs/heads/{branch}"), tip.clone()).await?;
        }
        if record.state == TaskState::Running && record.prepared {
            sweep(context, record).await?;
        }
    }
    Ok(())
}

/// Removes the half-written files that a killed write left in an agent's worktree: they would be committed with its
/// work. A worktree that is gone or cannot be used is the worker's to judge.
async fn sweep(context: &RunContext, record: &TaskRecord) -> Result<(), CoordinatorError> {
    if worktrees::restore(context, record).await.is_err() {
        return Ok(());
    }
    let path = context.layout.worktree(&context.run, &record.task.id);
    context
        .git(move |repo| match repo.open_worktree(&path) {
            Ok(worktree) => repo.remove_leftovers(&worktree, TEMPORARY_PREFIX),
            Err(_) => Ok(()),
        })
        .await
}

/// Moves a branch of ours to where the facts say it is, if it only has to follow.
async fn settle_branch(context: &RunContext, reference: String, tip: Oid) -> Result<(), CoordinatorError> {
    let (run, name, to) = (context.run.clone(), reference.clone(), tip.clone());
    let found = context.git(move |repo| {
        let Some(found) = repo.read_ref(&name)? else { return Ok(None) };
        let follows = found == to || repo.contains(&to, &found)?;
        if follows && found != to {
            repo.advance(&name, Some(&found), &to)?;
        }
        Ok((!follows).then_some(found))
    });
    match found.await? {
        None => Ok(()),
        Some(found) => {
            let branch = reference.strip_prefix("refs/heads/").unwrap_or(&reference).to_owned();
            Err(CoordinatorError::BranchMoved { run, branch, expected: tip.to_string(), found: found.to_string() })
        }
    }
}
