//! The public interface of the library: opens projects and runs, spawns children, and diagnoses
//! problems.

pub(crate) mod children;
pub(crate) mod coordinator;
mod new_run;
pub(crate) mod permissions;
pub(crate) mod project;
pub(crate) mod readiness;
pub(crate) mod run_events;
pub(crate) mod sample;
pub(crate) mod session;
pub(crate) mod surroundings;
pub(crate) mod vendors;
