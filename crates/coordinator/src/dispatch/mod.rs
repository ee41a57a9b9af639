//! Dispatches a run: carries out what the board decides, answers requests, recovers after a crash.

pub(crate) mod call_approver;
pub(crate) mod dispatcher;
pub(crate) mod recovery;
pub(crate) mod requests;
