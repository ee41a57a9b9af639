//! What surrounds one call: its scope, its permit, and what its commands may use.

mod agent_cpu;
mod command;
mod effect;
mod guard;
mod meter;
pub(crate) mod permit;
mod scope;

pub use agent_cpu::AgentCpu;
pub(crate) use agent_cpu::CpuTurn;
pub use command::Command;
pub use effect::{AnswersFrom, Effect, Foreseen};
pub(crate) use guard::{HostGuard, PathGuard, WalkGuard};
pub use meter::command_usage;
pub(crate) use meter::{Meter, milliseconds};
pub use permit::Permit;
pub(crate) use permit::{
    Authorization, FirstForm, Request, Wrapper, authorize, canonical_json, decide,
};
pub use scope::{Approval, CallLimits, CallScope, SharedValues, ViewSource, WorktreeScope};
