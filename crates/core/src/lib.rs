//! Every decision of orchestrate as a pure value: nothing outside itself, so no async, no IO and no
//! clock.
//!
//! Four pure machines carry the system, and all of them are folds over recorded facts:
//! [`RunState`] (one run), [`AgentLoop`] (one agent), [`MergeQueue`] (what to merge, verify,
//! advance or return) and `policy` (what a tool call may do). The crates above carry out what
//! these decide and record what happened; they decide nothing.

pub mod agent;
pub mod checks;
pub mod collections;
pub mod event;
pub mod ids;
pub mod messages;
pub mod policy;
pub mod projections;
pub mod record;
pub mod run;
pub mod secrecy;
pub mod task;
pub mod text;

pub use agent::agent_loop::{AgentFact, AgentLoop, Finish, Step};
pub use agent::context::{ByteBound, Context, TokenCounter};
pub use agent::conversation::{
    Message, ModelReply, ModelRequest, Origin, RawBlocks, SameAgain, StopReason, ToolAnswer,
    ToolCall, ToolResult, ToolSpec, Usage,
};
pub use agent::price::{Cost, Price};
pub use agent::{
    AgentSpec, Fallback, MAP_TOKENS, MAP_WAIT_MS, MAX_REPORT_TOKENS, MapChoice, ReachedLimit,
    ReportDue, ReportGiven, RequestParts,
};
pub use checks::flaky::{FlakyCheck, VerifyResult};
pub use checks::hint::{check_hint, lies_in_checkout, missing_program, split_hint, with_hint};
pub use checks::{CONNECTION_REFUSED, NOT_REACHED, failing_lines};
pub use event::settings::RunSettings;
pub use event::{
    DividedRequest, DroppedTasks, EndedWait, Event, Illegal, IllegalEvent, MergeTarget, Part,
    Recorded, RejectingEndpoint, RequestChain, SpawnRecord, StopRequest, Underivable, Wait,
    WaitRefused,
};
pub use ids::{AgentId, BlobId, CallHash, CallId, CallOfTurn, Oid, RequestHash, RunId, TaskId};
pub use messages::{Address, Body, Envelope, MessageKind, Outgoing};
pub use policy::tool_settings::ToolSettings;
pub use policy::{AgentLimits, Authority, Sending, WithheldFile};
pub use projections::report::Report;
pub use projections::{
    Action, AgentInfo, AgentStatus, Blocker, Caution, CautionAbout, ChildOutcome, Doubt, HandBack,
    Liveness, Outcome, RunMarkers, ToolCalls, ToolMetrics, UnverifiedClaim, UsedUp,
};
pub use record::{
    AfterFault, AfterReview, CheckReceipt, CheckVerdict, CheckedBy, GivenUp, LandingConcern,
    ReviewEnd, TaskRecord, VerdictEnd, WithoutChanges, WorkStep,
};
pub use run::child::AgentHandle;
pub use run::merge_queue::{Evidence, MergeQueue, MergeStep};
pub use run::request::{Allowance, Request, RequestRefused};
pub use run::{RunState, ShutdownLevel, is_whole, shown_hash, stream_json_with_hash};
pub use secrecy::{RedactedStream, RedactionError, Redactor, Secret};
pub use task::kept_out::CommitRules;
pub use task::schedule::{Progress, Schedule, ScheduleError};
pub use task::verdict::{
    RequestedChange, ReviewVerdict, VerdictGiven, VerdictKind, VerdictRefused,
};
pub use task::{
    ChangedPath, ClaimKind, CommitSettings, ComparedWork, LeftAside, MAX_CHANGED_PATHS, Reopening,
    ReviewMode, ScratchFile, Task, TaskState, WorkCompared,
};
pub use text::{block, hex, shell_word, truncate};
