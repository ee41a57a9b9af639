//! One file for each command, named after it, in the folder of what it is about.

pub(crate) mod calls;
pub(crate) mod results;
pub(crate) mod runs;
pub(crate) mod setup;
pub(crate) mod tasks;
