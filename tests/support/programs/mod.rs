//! Programs that a test starts, in a terminal or without one, and what they printed.

pub(super) mod process;
pub(super) mod program;
pub(super) mod session;
pub(super) mod terminal;
pub(super) mod transcript;
