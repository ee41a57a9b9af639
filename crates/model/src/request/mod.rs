//! Sends a request to an endpoint: one attempt, its repetitions and delays, and the redaction of
//! its reply.

pub(crate) mod account;
pub(crate) mod rate_gate;
pub(crate) mod redacting;
pub(crate) mod retry;
pub(crate) mod transport;
