//! What drives an agent from its start to the end of a stretch of work.

mod agent_driver;
mod agent_services;
mod call_end;
mod loop_driver;
mod replay;
mod run_driver;

pub(crate) use agent_driver::{AgentDriver, DriverEnd};
pub(crate) use loop_driver::LoopDriver;
pub(crate) use run_driver::RunDriver;
