//! One file for each command, named after it.

pub(crate) mod agents;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod init;
pub(crate) mod log;
pub(crate) mod message;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod status;
pub(crate) mod stop;
