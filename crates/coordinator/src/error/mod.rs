//! Why the coordinator cannot continue, why an operation is refused, and what a worker is told.

mod coordinator_error;
mod link_error;
mod result_refusal;

pub use coordinator_error::{BaseFailure, CoordinatorError, PlanPlace};
pub use link_error::LinkError;
pub use result_refusal::ResultRefusal;
