//! Dispatches a run: decides with the board, carries out requests, recovers after a crash.

pub(crate) mod approving;
pub(crate) mod board;
pub(crate) mod dispatcher;
pub(crate) mod recovery;
pub(crate) mod requests;
