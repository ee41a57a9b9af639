//! What one agent does: its conversation with a model, step by step, and what its requests may
//! cost.
//!
//! Hides how a conversation is kept within its limit, and how a budget is divided among agents.

pub mod agent_loop;
pub mod budget;
pub mod context;
pub mod conversation;
mod map_budget;
pub mod model_fallback;
pub mod model_search;
pub mod price;
mod reached_limit;
mod request_parts;
mod spec;

pub use map_budget::{MAP_TOKENS, MAP_WAIT_MS, MapChoice};
pub use reached_limit::{MAX_REPORT_TOKENS, ReachedLimit, ReportDue, ReportGiven};
pub use request_parts::RequestParts;
pub use spec::{AgentSpec, Fallback};
