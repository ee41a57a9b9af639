//! Runs tools: one permissioned, sandboxed executor and the built-in tools.
//!
//! [`Executor::call`] runs one call within a [`CallScope`]. A [`Tool`] receives a [`ToolContext`],
//! which holds the [`Permit`] that only the executor can create, and reaches everything outside its
//! worktree through [`Services`]. Nothing here reads configuration or decides what is allowed; the
//! rules are in `orchestrate_core::policy`.

mod arguments;
mod builtin;
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
mod ledger;
mod output;
mod patch;
mod path;
mod permit;
mod prompt;
mod record;
mod redact;
mod registry;
mod replay;
mod results;
mod scope;
mod services;
mod shape;
mod template;
mod tool;
mod wrapped;

pub use builtin::{Overrides, builtin_tools, unknown_parameters};
pub use contents::{FileContents, FileStamp};
pub use context::ToolContext;
pub use effect::{AnswersFrom, Effect};
pub use error::{ErrorKind, ServiceError, ToolError, ToolsError};
pub use executor::Executor;
pub use failures::undo_advice;
pub use files::{
    Decoded, Encoding, Entry, EntryKind, Expect, Files, Flow, Metadata, OpenFile, TEMPORARY_PREFIX, WalkLimits,
    WalkSummary, Written,
};
pub use ledger::{ReadLedger, SeenFile};
pub use output::{Answer, Artifact, CallOutcome, ToolOutput};
pub use path::normalize as normalize_path;
pub use permit::Permit;
pub use prompt::{Prompt, PromptFile};
pub use registry::ToolRegistry;
pub use results::{
    Diagnostic, ExecutionResult, FormatResults, LintResults, ProgramRun, TestFailure, TestResults, TypeCheckResults,
};
pub use scope::{Approval, CallLimits, CallScope, WorktreeScope};
pub use services::{
    AgentService, ArtifactPage, ArtifactStore, BranchAction, CallRecord, CallRecorder, ConflictHunk, EndSlot,
    GitBranch, GitBranchResult, GitChange, GitCheckoutResult, GitCommit, GitService, GitStash, GitStashResult,
    GitStatus, MergeConflict, MergeResult, NoReplay, OutgoingMessage, PageRange, PlanService, ReplayService,
    Replayable, ReviewService, Services, SkillService, StashAction,
};
pub use template::CommandTemplate;
pub use tool::{Category, Tool, Wrap, Wrapping};
pub use wrapped::{MAX_TOOL_FILE_BYTES, Severity, ToolFileProblem, add_tool_files};
