//! Runs tools: one permissioned, sandboxed executor and the built-in tools.
//!
//! [`Executor::call`] runs one call within a [`CallScope`]. A [`Tool`] receives a [`ToolContext`],
//! which holds the [`Permit`] that only the executor can create, and reaches everything outside its
//! worktree through [`Services`]. Nothing here reads configuration or decides what is allowed; the
//! rules are in `orchestrate_core::policy`.

mod agent_cpu;
mod alternatives;
mod arguments;
mod builtin;
mod circuit_breaker;
mod code_files;
mod command;
mod contents;
mod context;
mod counted;
mod decided_hosts;
mod effect;
mod error;
mod executor;
mod failures;
mod files;
mod foreign_calls;
mod guard;
mod isolated;
mod ledger;
mod meter;
mod notes;
mod operations;
mod output;
mod package_cache;
mod patch;
mod path;
mod permission_check;
mod permit;
mod plugin;
mod prepared;
mod prompt;
mod properties;
mod record;
mod redact;
mod reference;
mod registry;
mod replay;
mod repository_map;
mod resolver;
mod restore_point;
mod result_types;
mod results;
mod scope;
mod search_service;
mod services;
mod shape;
mod shared;
mod template;
mod tool;
mod tool_limits;
mod web_results;
mod wrapped;

pub use agent_cpu::AgentCpu;
pub use arguments::check_schema;
pub use builtin::{Overrides, builtin_tools, plain_tools, unknown_parameters};
pub use command::Command;
pub use contents::{FileContents, FileStamp};
pub use context::ToolContext;
pub use decided_hosts::DecidedHosts;
pub use effect::{AnswersFrom, Effect, Foreseen};
pub use error::{ErrorKind, ServiceError, ToolError, ToolsError};
pub use executor::Executor;
pub use files::{
    Decoded, Encoding, Entry, EntryKind, Expect, FileReader, Files, Flow, Metadata, OpenFile,
    TEMPORARY_PREFIX, WalkLimits, WalkSummary, Written,
};
pub use ledger::{ReadLedger, SeenFile};
pub use meter::command_usage;
pub use notes::{Note, NoteKind, Notes};
pub use operations::{AgentOperation, BranchAction, ChildRequest, GitOperation, StashAction};
pub use orchestrate_code::{MapIndex, MapTask, Stop};
pub use orchestrate_core::agent::model_search::SearchResult;
pub use orchestrate_html::Heading;
pub use output::{Answer, Artifact, CallOutcome, ToolOutput};
pub use path::normalize as normalize_path;
pub use permission_check::{Answered, PermissionCheck};
pub use permit::Permit;
pub use plugin::{Extensions, Plugin, PluginError, ToolPlugin};
pub use prepared::{CallSite, FindPrograms, Look, Prepared, ProgramChoice, Programs};
pub use prompt::{Prompt, PromptFile};
pub use properties::ToolProperties;
pub use reference::tools_reference;
pub use registry::{PluginId, ToolRegistry};
pub use repository_map::{MapLines, StoredFile, makes_maps, map_index};
pub use restore_point::undo_advice;
pub use results::{
    Diagnostic, ExecutionResult, FormatResults, InstallResults, LintResults, PackageChange,
    ProgramRun, TestError, TestErrorKind, TestFailure, TestResults, TypeCheckResults,
};
pub use scope::{Approval, CallLimits, CallScope, ViewSource, WorktreeScope};
pub use search_service::{FoundByModel, Search, SearchService};
pub use services::{
    AgentService, AgentsWait, ArtifactPage, ArtifactStore, CallRecord, CallRecorder, ConflictHunk,
    EgressService, EndSlot, EndedAgentsWait, GitBranch, GitBranchResult, GitChange,
    GitCheckoutResult, GitCommit, GitPullResult, GitPushResult, GitService, GitStash,
    GitStashResult, GitStatus, MergeConflict, MergeResult, MergedWork, NoReplay, OutgoingMessage,
    PageRange, PlanService, ProxiedProgram, PullPlan, PushPlan, PushState, RemoteTerms,
    ReplayService, Replayable, ReviewService, Services, ShownDiff, ShowsPath, SkillService,
    UsersCommits, WebService,
};
pub use shape::{MIN_RESULT_TOKENS, allowed_bytes};
pub use shared::SharedValues;
pub use template::CommandTemplate;
pub use tool::{Category, Tool, Waits, Wrap, Wrapping, is_name};
pub use tool_limits::limits_of;
pub use web_results::{
    APIDocumentation, CodeBlock, Documentation, GitHubResult, PageLink, StackOverflowResult,
    WebContent,
};
pub use wrapped::{MAX_TOOL_FILE_BYTES, Severity, ToolFileProblem, add_tool_files};
