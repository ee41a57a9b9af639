//! Brings the repository into the recorded state before any new work.
//!
//! A run may have been killed between an event and its act: the acts are refs and worktrees, whose
//! names follow from ids, so each is inspected and carried out if it is missing. Branches that were
//! moved from outside are refused.

use std::sync::Arc;

use orchestrate_core::{TaskRecord, WorkStep};
use orchestrate_tools::TEMPORARY_PREFIX;

use crate::error::CoordinatorError;
use crate::merge::integration_branch;
use crate::run::context::RunContext;
use crate::worktree::worktrees;

/// Settles the integration branch and every task's branch; also creates them for a new run. Nothing
/// is recorded: a problem found here may keep the run from being opened again.
pub(crate) async fn settle(context: &Arc<RunContext>) -> Result<(), CoordinatorError> {
    let ours = format!("orchestrate {}", context.run);
    context
        .git(move |repo| {
            repo.worktrees()
                .reconcile(&|reason| reason.starts_with(&ours))
                .map(|_| ())
        })
        .await?;
    integration_branch::bring(context).await?;
    let state = context.state();
    for record in state.tasks() {
        if let (Some(branch), Some(tip), true) =
            (record.branch(), record.tip(), record.needs_branch())
        {
            worktrees::settle_branch(context, &record.task.id, branch.to_owned(), tip.clone())
                .await?;
        }
        if matches!(
            record.next_work(),
            Some(WorkStep::BringFiles { .. } | WorkStep::MergeInto { .. } | WorkStep::Drive)
        ) {
            sweep(context, record).await?;
        }
    }
    Ok(())
}

/// Removes the half-written files that a killed write left in an agent's worktree: they would be
/// committed with its work. The worker handles a worktree that is gone or unusable.
async fn sweep(context: &RunContext, record: &TaskRecord) -> Result<(), CoordinatorError> {
    if worktrees::restore(&context.host, &context.run, record)
        .await
        .is_err()
    {
        return Ok(());
    }
    let path = context
        .host
        .site
        .layout
        .worktree(&context.run, &record.task.id);
    context
        .git(move |repo| match repo.worktrees().open(&path) {
            Ok(worktree) => repo
                .worktrees()
                .remove_leftovers(&worktree, TEMPORARY_PREFIX),
            Err(_) => Ok(()),
        })
        .await
}
