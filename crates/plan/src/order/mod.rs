//! Orders tasks: what depends on what, which files overlap, what never starts.

pub(crate) mod assign;
pub(crate) mod bare_ids;
pub(crate) mod blocks;
pub(crate) mod edges;
pub(crate) mod overlap;
mod prose;
pub(crate) mod reach;
pub(crate) mod reason;
pub(crate) mod reference;
pub(crate) mod sequence;
pub(crate) mod stuck;
