//! Why the coordinator cannot continue, and what a worker is told.

mod coordinator_error;
mod link_error;

pub use coordinator_error::{BaseFailure, CoordinatorError, PlanPlace};
pub use link_error::LinkError;
