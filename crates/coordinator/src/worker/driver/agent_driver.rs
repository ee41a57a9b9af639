//! The interface of drivers, and how their work ends.

use async_trait::async_trait;
use orchestrate_core::ReachedLimit;
use orchestrate_core::task::FailureCause;

use crate::error::CoordinatorError;
use crate::worker::workplace::Workplace;

/// How a driver's work ended.
#[derive(Debug)]
pub(crate) enum DriverEnd {
    /// The agent declared the task done; the text is its final report.
    Finished(String),
    /// The task failed for this reason.
    Failed(FailureCause, String),
    /// The agent has reached a limit.
    AtLimit {
        /// The limit.
        limit: ReachedLimit,
        /// Its report, if there is one.
        report: Option<String>,
    },
    /// A call waits, for the user or for other agents, or its model for another key; the events are
    /// recorded.
    Parked,
    /// It was interrupted and will be resumed later.
    Interrupted,
}

/// Drives one agent; every action is recorded through the workplace's link.
#[async_trait]
pub(crate) trait AgentDriver: Send {
    /// Works until the agent ends, waits, or is interrupted.
    async fn drive(&mut self, workplace: &Workplace) -> Result<DriverEnd, CoordinatorError>;
}
