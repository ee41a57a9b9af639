//! Drives an agent from its start until it stops.

mod agent_driver;
mod agent_services;
mod ask_approval;
mod asking;
mod cached_results;
mod call_end;
mod command_driver;
mod last_report;
mod loop_driver;
mod native_search;
mod program_egress;
mod restore_agent;
mod spending;

pub(crate) use agent_driver::{AgentDriver, DriverEnd};
pub(crate) use command_driver::CommandDriver;
pub(crate) use loop_driver::LoopDriver;
