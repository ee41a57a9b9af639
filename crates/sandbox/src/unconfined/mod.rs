//! Starts the processes that nothing confines: the git program, commands of the user's own, and
//! removals in the background.

pub(crate) mod passthrough;
pub(crate) mod removal;
pub(crate) mod trusted;
