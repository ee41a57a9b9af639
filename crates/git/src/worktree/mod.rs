//! The worktrees of agents, and code that reads the user's checkout.

pub(crate) mod checkout;
pub(crate) mod entries;
pub(crate) mod ignored;
pub(crate) mod kept;
pub(crate) mod moved;
pub mod own_refs;
pub(crate) mod private;
pub(crate) mod reconcile;
pub(crate) mod tracked;
pub(crate) mod uncommitted;
pub(crate) mod unfinished;
pub(crate) mod view;
pub(crate) mod worktrees;
