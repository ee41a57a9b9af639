//! The public interface of the library: opens projects and runs, spawns children, and diagnoses
//! problems.

pub(crate) mod children;
pub(crate) mod coordinator;
pub(crate) mod doctor;
pub(crate) mod from_environment;
mod new_run;
pub(crate) mod permissions;
pub(crate) mod preflight;
pub(crate) mod programs;
pub(crate) mod project;
pub(crate) mod run_events;
pub(crate) mod sample;
pub(crate) mod seen_programs;
pub(crate) mod session;
pub(crate) mod surroundings;
pub(crate) mod vendors;
pub(crate) mod web_search;
