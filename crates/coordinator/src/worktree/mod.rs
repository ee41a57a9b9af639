//! Creates, commits and replaces the worktrees of tasks, and carries out what their agents ask of
//! git.

pub(crate) mod aggregate;
pub(crate) mod attempt;
pub(crate) mod before_command;
pub(crate) mod branch;
pub(crate) mod checkout;
mod childrens_work;
pub(crate) mod commit;
pub(crate) mod compare;
pub(crate) mod contents;
pub(crate) mod merge;
mod rehearsal;
pub(crate) mod release;
pub(crate) mod remote;
pub(crate) mod selection;
pub(crate) mod stash;
pub(crate) mod status;
pub(crate) mod workspace;
pub(crate) mod worktrees;
