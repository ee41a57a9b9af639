//! What every driver is, and how its work ends.

use async_trait::async_trait;
use orchestrate_core::event::FailureCause;

use crate::error::CoordinatorError;
use crate::worker::workplace::Workplace;

/// How a stretch of work ended.
#[derive(Debug)]
pub(crate) enum DriverEnd {
    /// The agent says that it is done; the text is its closing report.
    Finished(String),
    /// It cannot be done, and this is why.
    Failed(FailureCause, String),
    /// A call waits for a person; the facts are recorded.
    Parked,
    /// It was interrupted and is taken up again later.
    Interrupted,
}

/// Drives one agent; everything that it does is recorded through the workplace's link.
#[async_trait]
pub(crate) trait AgentDriver: Send {
    /// Works until the agent ends, waits for a person, or is interrupted.
    async fn drive(&mut self, workplace: &Workplace) -> Result<DriverEnd, CoordinatorError>;
}
