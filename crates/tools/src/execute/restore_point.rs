//! The state of an agent's files before a call that runs programs, and how to get back to it if
//! that call is ended in the middle.

use orchestrate_core::Oid;
use orchestrate_core::policy::Permission;
use orchestrate_core::text::invisible::shown;

use crate::services::GitChange;
use crate::tool::{Tool, ToolContext};

/// The maximum number of changed files to name.
const SHOWN_CHANGES: usize = 10;
/// How many digits of a commit's id are shown.
const COMMIT_DIGITS: usize = 12;

/// The files of a worktree before a call.
pub(crate) struct RestorePoint {
    /// `None` if the tool runs no programs, or git cannot store the files now: then there is
    /// nothing to go back to.
    commit: Option<Oid>,
}

impl RestorePoint {
    /// Stores the files before a call, if its tool runs programs.
    pub(crate) async fn create(tool: &dyn Tool, context: &ToolContext) -> RestorePoint {
        if tool.permission() != Permission::CodeExecution {
            return RestorePoint { commit: None };
        }
        let stored = context.services().git.keep_before().await;
        RestorePoint {
            commit: stored.ok(),
        }
    }

    /// Returns what has changed since; `None` if that is not known.
    pub(crate) async fn changes(&self, context: &ToolContext) -> Option<Vec<GitChange>> {
        let commit = self.commit.as_ref()?;
        context.services().git.changes_since(commit).await.ok()
    }

    /// Returns how to undo these changes; `None` if there are none.
    pub(crate) fn undo_advice(&self, changes: &[GitChange]) -> Option<String> {
        let commit = self.commit.as_ref()?;
        if changes.is_empty() {
            return None;
        }
        Some(undo_advice(commit, changes))
    }
}

/// Returns a text on what a call had changed when it was ended, and how to undo it.
pub fn undo_advice(before: &Oid, changes: &[GitChange]) -> String {
    let mut paths = Vec::new();
    for change in changes.iter().take(SHOWN_CHANGES) {
        paths.push(shown(&change.path));
    }
    let more = match changes.len().saturating_sub(SHOWN_CHANGES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let commit: String = before.as_str().chars().take(COMMIT_DIGITS).collect();
    format!(
        "[it was ended in the middle, after changes of {}{more}; `git_checkout` with `{commit}` \
         and these paths brings them back as they were before it]",
        paths.join(", ")
    )
}
