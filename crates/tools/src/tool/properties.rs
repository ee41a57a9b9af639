//! What is constant of a tool.

use orchestrate_core::policy::Permission;

use crate::call::AnswersFrom;

/// What is constant of a tool. Most of it is as [`ToolProperties::new`] has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolProperties {
    /// The permission that the caller's role must grant.
    pub permission: Permission,
    /// Whether roles that list no tools have it. Each tool more makes every request longer, so what
    /// few agents need is listed by their roles.
    pub is_default: bool,
    /// Whether a call can change files of the worktree; a role with no such tool is read-only.
    pub changes_files: bool,
    /// Whether a call can delete a file whatever its content, for example one in conflict.
    pub deletes_files: bool,
    /// Whether the newest result, such as the agent's list of steps, is never left out of the
    /// agent's context.
    pub stays_in_view: bool,
    /// The names of arguments that are paths in the worktree; they are rewritten relative to its
    /// root.
    pub path_fields: &'static [&'static str],
    /// Whether its path arguments may name folders; limits on the names of files then hold only for
    /// the files that it opens.
    pub names_folders: bool,
    /// Whether it needs a remote repository: it is then out of order apart from the other tools of
    /// its category.
    pub reaches_remotes: bool,
    /// What the answer of a call follows from, besides its arguments, the rules and the limits.
    /// Only an answer that follows from files can be replayed.
    pub answers_from: AnswersFrom,
    /// Whether a call that is run twice has the effect of one that is run once, though its answer
    /// does not follow from files.
    pub is_repeatable: bool,
    /// The names of tools that take the same arguments, and that may answer if this one cannot.
    pub alternatives: &'static [&'static str],
}

impl ToolProperties {
    /// Returns those of a default tool with a permission, which says whether it can change and
    /// delete files.
    pub const fn new(permission: Permission) -> ToolProperties {
        use Permission::{AgentSpawn, CodeExecution, FileModify, FileWrite};
        ToolProperties {
            permission,
            is_default: true,
            changes_files: matches!(
                permission,
                FileWrite | FileModify | CodeExecution | AgentSpawn
            ),
            deletes_files: matches!(permission, CodeExecution),
            stays_in_view: false,
            path_fields: &[],
            names_folders: false,
            reaches_remotes: false,
            answers_from: AnswersFrom::Anything,
            is_repeatable: false,
            alternatives: &[],
        }
    }

    /// Reports whether a call that is run twice has the effect of one that is run once.
    pub(crate) fn may_be_repeated(&self) -> bool {
        self.is_repeatable || self.answers_from != AnswersFrom::Anything
    }
}
