//! What people, agents and programs are shown of a run: the report, the review, the markers, the
//! audit log. All of it follows from the events or from the run's state.
//!
//! Hides how what was recorded is put together; nothing below depends on how it is shown.

mod actions;
mod agent_status;
pub mod aggregated;
pub mod audit;
mod cautions;
mod hand_back;
mod hand_backs;
pub mod marker;
pub mod report;
pub mod review;
mod run_markers;
mod tool_metrics;

pub use actions::Action;
pub use agent_status::{AgentInfo, AgentStatus, Blocker, Liveness};
pub use cautions::{Caution, CautionAbout};
pub use hand_back::{AfterClaims, ChildOutcome, Doubt, HandBack, Outcome, UnverifiedClaim, UsedUp};
pub use hand_backs::{HandBacks, HandedBack};
pub use run_markers::RunMarkers;
pub use tool_metrics::{ToolCalls, ToolMetrics};
