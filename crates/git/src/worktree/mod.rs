//! The worktrees of agents, and code that reads the user's checkout.

pub(crate) mod checkout;
pub(crate) mod copies;
pub(crate) mod entries;
pub(crate) mod exchange;
pub(crate) mod filling;
pub(crate) mod include;
pub(crate) mod kept;
pub(crate) mod lfs_files;
pub(crate) mod links_back;
pub(crate) mod made;
pub(crate) mod moved;
pub(crate) mod outputs;
pub(crate) mod reconcile;
pub(crate) mod reset;
pub(crate) mod rewrite;
pub(crate) mod source_times;
pub(crate) mod submodules;
pub(crate) mod uncommitted;
pub(crate) mod unfinished;
pub(crate) mod view;
pub(crate) mod worktrees;
