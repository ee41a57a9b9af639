//! One file for each command, named after it.

pub(crate) mod agents;
pub(crate) mod approve;
pub(crate) mod audit;
pub(crate) mod cache;
pub(crate) mod check;
pub(crate) mod clean;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod drop;
pub(crate) mod init;
pub(crate) mod land;
pub(crate) mod log;
pub(crate) mod message;
pub(crate) mod recover;
pub(crate) mod reject;
pub(crate) mod resume;
pub(crate) mod retry;
pub(crate) mod review;
pub(crate) mod run;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod tool;
pub(crate) mod tools;
