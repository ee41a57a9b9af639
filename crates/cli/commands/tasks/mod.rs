//! The commands about the tasks of a run: their work is shown, decided about and changed.

pub(crate) mod adopt;
pub(crate) mod approve;
pub(crate) mod diff;
pub(crate) mod drop;
pub(crate) mod message;
pub(crate) mod open;
pub(crate) mod pager;
pub(crate) mod patch;
pub(crate) mod reject;
pub(crate) mod retry;
pub(crate) mod review;
