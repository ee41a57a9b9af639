//! Every decision of orchestrate as a pure value: nothing outside itself, so no async, no IO and no clock.
//!
//! Four pure machines carry the system, and all of them are folds over recorded facts:
//! [`RunState`] (one run), [`AgentLoop`] (one agent), [`MergeQueue`] (what to merge, verify,
//! advance or return) and `policy` (what a tool call may do). The crates above carry out what
//! these decide and record what happened; they decide nothing.

pub mod conversation;

pub mod ids;

pub mod message;

pub mod policy;

pub mod settings;
pub mod task;
pub mod tool_names;

pub use conversation::{Message, ModelReply, ModelRequest, StopReason, ToolCall, ToolResult, ToolSpec, Usage};

pub use ids::{AgentId, BlobId, CallHash, CallId, Oid, RunId, TaskId};

pub use message::Envelope;

pub use settings::RunSettings;
pub use task::Task;
