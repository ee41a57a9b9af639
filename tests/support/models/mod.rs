//! Models whose replies a test decides.

pub(super) mod model;
pub(super) mod script;
pub(super) mod server;
