//! The parts of this machine and of its user's environment that a job gets: the system, programs
//! and toolchains, settings for the network.

pub(crate) mod around;
pub(crate) mod host;
pub(crate) mod interpreters;
pub(crate) mod network;
pub(crate) mod programs;
pub(crate) mod registries;
pub(crate) mod secrets;
pub(crate) mod seen;
pub(crate) mod toolchains;
