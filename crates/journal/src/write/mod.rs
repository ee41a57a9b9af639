//! Records facts: the sequencer, what it decides on, and what it is given.

pub(crate) mod batch;
pub(crate) mod scratch;
pub(crate) mod writer;
