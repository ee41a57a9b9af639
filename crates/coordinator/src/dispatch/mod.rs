//! Dispatches a run: decides with the board, carries out requests, recovers after a crash.

pub(crate) mod board;
pub(crate) mod call_approver;
pub(crate) mod dispatcher;
pub(crate) mod recovery;
pub(crate) mod requests;
