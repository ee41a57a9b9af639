//! Runs tools: one permissioned, sandboxed executor and the built-in tools.
//!
//! [`Executor::call`] runs one call within a [`CallScope`]. A [`Tool`] receives a [`ToolContext`],
//! which holds the [`Permit`] that only the executor can create, and reaches everything outside its
//! worktree through [`Services`]. Nothing here reads configuration or decides what is allowed; the
//! rules are in `orchestrate_core::policy`.

mod arguments;
mod builtin;
mod command;
#[cfg(feature = "harness")]
pub mod conformance;
mod contents;
mod context;
mod effect;
mod error;
mod executor;
mod failures;
mod files;
mod guard;
#[cfg(feature = "harness")]
pub mod harness;
mod isolated;
mod ledger;
mod meter;
mod notes;
mod output;
mod patch;
mod path;
mod permission_check;
mod permit;
mod plugin;
mod prompt;
mod record;
mod redact;
mod reference;
mod registry;
mod replay;
mod resolver;
mod results;
mod scope;
mod services;
mod shape;
mod shared;
mod template;
mod tool;
mod wrapped;

pub use builtin::{Overrides, builtin_tools, unknown_parameters};
pub use command::Command;
pub use contents::{FileContents, FileStamp};
pub use context::ToolContext;
pub use effect::{AnswersFrom, Effect};
pub use error::{ErrorKind, ServiceError, ToolError, ToolsError};
pub use executor::Executor;
pub use failures::undo_advice;
pub use files::{
    Decoded, Encoding, Entry, EntryKind, Expect, FileReader, Files, Flow, Metadata, OpenFile, TEMPORARY_PREFIX,
    WalkLimits, WalkSummary, Written,
};
pub use ledger::{ReadLedger, SeenFile};
pub use meter::command_usage;
pub use notes::{Note, NoteKind, Notes};
pub use output::{Answer, Artifact, CallOutcome, ToolOutput};
pub use path::normalize as normalize_path;
pub use permission_check::{Answered, PermissionCheck};
pub use permit::Permit;
pub use plugin::{Extensions, Plugin, PluginError, ToolPlugin};
pub use prompt::{Prompt, PromptFile};
pub use reference::tools_reference;
pub use registry::{PluginId, ToolRegistry};
pub use results::{
    Diagnostic, ExecutionResult, FormatResults, LintResults, ProgramRun, TestError, TestErrorKind, TestFailure,
    TestResults, TypeCheckResults,
};
pub use scope::{Approval, CallLimits, CallScope, WorktreeScope};
pub use services::{
    AgentService, AgentsWait, ArtifactPage, ArtifactStore, BranchAction, CallRecord, CallRecorder, ChildRequest,
    ConflictHunk, EndSlot, EndedAgentsWait, GitBranch, GitBranchResult, GitChange, GitCheckoutResult, GitCommit,
    GitService, GitStash, GitStashResult, GitStatus, MergeConflict, MergeResult, MergedWork, NoReplay, OutgoingMessage,
    PageRange, PlanService, ReplayService, Replayable, ReviewService, Services, ShownDiff, ShowsPath, SkillService,
    StashAction,
};
pub use shared::SharedValues;
pub use template::CommandTemplate;
pub use tool::{Category, ProgramChoice, Programs, Tool, Waits, Wrap, Wrapping};
pub use wrapped::{MAX_TOOL_FILE_BYTES, Severity, ToolFileProblem, add_tool_files};
