//! The branch that work was merged into, which follows the recorded events.

use orchestrate_core::MergeTarget;

use crate::error::CoordinatorError;
use crate::merge::integration_branch;
use crate::run::context::RunContext;
use crate::worktree::worktrees;

/// Moves a branch to its recorded position after a merge. The files of an agent's worktree follow
/// once its worker begins again.
pub(crate) async fn settle(
    context: &RunContext,
    into: &MergeTarget,
) -> Result<(), CoordinatorError> {
    match into {
        MergeTarget::Integration => integration_branch::settle(context).await,
        MergeTarget::Agent(agent) => {
            let record = context.task(agent)?;
            let (Some(branch), Some(tip)) = (record.branch(), record.tip()) else {
                return Ok(());
            };
            worktrees::settle_branch(context, agent, branch.to_owned(), tip.clone()).await
        }
    }
}
