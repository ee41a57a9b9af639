//! Looks whether what an agent asks of git could be done, before the user is asked about it.
//! Nothing moves, and no fact is recorded; what is looked at is what the operation itself begins
//! with.

use orchestrate_core::policy::Policy;
use orchestrate_tools::{GitOperation, ServiceError};

use crate::worktree::workspace::Workspace;

impl Workspace {
    /// Looks whether an operation could be carried out; fails as it does, as far as that is known
    /// before.
    pub(crate) async fn rehearse(
        &self,
        operation: &GitOperation,
        policy: &Policy,
    ) -> Result<(), ServiceError> {
        match operation {
            GitOperation::Commit { .. } => self.require_commit().await,
            GitOperation::Add { files } => self.require_known(files).await,
            GitOperation::Branch { action, name } => {
                self.require_branch(*action, name.as_deref().unwrap_or_default())
                    .await
            }
            GitOperation::Checkout { revision, paths } => {
                self.require_checkout(revision, paths, policy).await
            }
            GitOperation::Stash { action } => self.require_stash(*action).await,
            GitOperation::Merge { branch } => self.require_merge(branch).await,
        }
    }
}
