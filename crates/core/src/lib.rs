//! Every decision of orchestrate as a pure value: nothing outside itself, so no async, no IO and no clock.
//!
//! Four pure machines carry the system, and all of them are folds over recorded facts:
//! [`RunState`] (one run), [`AgentLoop`] (one agent), [`MergeQueue`] (what to merge, verify,
//! advance or return) and `policy` (what a tool call may do). The crates above carry out what
//! these decide and record what happened; they decide nothing.

mod actions;
mod admission;
pub mod agent_loop;
mod agent_spec;
mod agent_status;
mod asked_wait;
pub mod audit;
mod authority;
mod base_result;
pub mod budget;
pub mod cache;
mod cache_mode;
pub mod case_folding;
pub mod check_hint;
mod check_output;
pub mod child;
mod child_id;
pub mod context;
pub mod conversation;
pub mod event;
#[cfg(test)]
mod event_schema;
pub mod failure_handling;
pub mod git_path;
mod hex;
pub mod ids;
mod illegal;
pub mod invisible;
pub mod marker;
pub mod merge_queue;
pub mod message;
pub mod message_template;
pub mod model_fallback;
mod parked_call;
mod permission;
pub mod policy;
pub mod price;
mod reached_limit;
mod redact;
pub mod report;
pub mod request;
mod request_parts;
pub mod review;
mod run_markers;
pub mod run_state;
pub mod schedule;
pub mod settings;
mod shell;
pub mod similar;
mod spawn_record;
mod stored_request;
pub mod task;
mod task_failure;
mod task_record;
mod task_state;
pub mod tool_extensions;
mod tool_metrics;
pub mod tool_names;
pub mod tool_settings;
mod truncation;
mod untrusted_text;
pub mod verdict;
mod verdict_end;
mod wait;
mod work_step;

pub use actions::Action;
pub use agent_loop::{AgentFact, AgentLoop, Finish, Step};
pub use agent_spec::{AgentSpec, Fallback};
pub use agent_status::{AgentInfo, AgentStatus, Blocker, Liveness};
pub use authority::{AgentLimits, Authority};
pub use check_hint::{check_hint, split_hint, with_hint};
pub use check_output::failing_lines;
pub use child::AgentHandle;
pub use context::{ByteBound, Context, TokenCounter};
pub use conversation::{
    Message, ModelReply, ModelRequest, Origin, RawBlocks, StopReason, ToolAnswer, ToolCall, ToolResult, ToolSpec, Usage,
};
pub use event::{Event, Recorded};
pub use hex::hex;
pub use ids::{AgentId, BlobId, CallHash, CallId, Oid, RequestHash, RunId, TaskId};
pub use merge_queue::{Evidence, MergeQueue, MergeStep};
pub use message::Envelope;
pub use parked_call::{is_whole, shown_hash};
pub use price::{Cost, Price};
pub use reached_limit::{MAX_REPORT_TOKENS, ReachedLimit};
pub use redact::{RedactedStream, RedactionError, Redactor, Secret};
pub use report::Report;
pub use request::{Allowance, Request, RequestRefused};
pub use request_parts::RequestParts;
pub use run_markers::RunMarkers;
pub use run_state::{Illegal, IllegalEvent, Reopening, RunState, TaskRecord, TaskState};
pub use schedule::{Progress, Schedule, ScheduleError};
pub use settings::RunSettings;
pub use shell::shell_word;
pub use spawn_record::SpawnRecord;
pub use stored_request::{DividedRequest, Part, RequestChain, Underivable};
pub use task::Task;
pub use task_failure::{AfterFault, GivenUp, ReviewEnd, WithoutChanges};
pub use tool_metrics::{ToolCalls, ToolMetrics};
pub use tool_settings::ToolSettings;
pub use truncation::truncate;
pub use untrusted_text::block;
pub use verdict::{RequestedChange, ReviewVerdict, VerdictKind, VerdictRefused};
pub use verdict_end::{AfterReview, VerdictEnd};
pub use wait::{CallOfTurn, EndedWait, RejectingEndpoint, Wait, WaitRefused};
pub use work_step::{LandingConcern, WorkStep};
