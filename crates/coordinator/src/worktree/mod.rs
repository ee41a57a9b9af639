//! Creates and replaces the worktrees of tasks, and carries out what their agents ask of git.

pub(crate) mod aggregate;
pub(crate) mod attempt;
pub(crate) mod before_command;
mod childrens_work;
pub(crate) mod compare;
pub(crate) mod contents;
pub(crate) mod git_tools;
pub(crate) mod release;
pub(crate) mod workspace;
pub(crate) mod worktrees;
