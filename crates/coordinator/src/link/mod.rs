//! What passes between a worker and the coordinator: requests and replies as data, and the worker's
//! end of it.
//!
//! The coordinator's end is [`crate::worker::link_server`].

pub(crate) mod blobs;
pub(crate) mod requests;
pub(crate) mod worker_link;
