//! Runs tools: one permissioned, sandboxed executor and the built-in tools.
//!
//! [`Executor::call`] runs one call within a [`CallScope`]. A [`Tool`] receives a [`ToolContext`],
//! which holds the [`Permit`] that only the executor can create, and reaches everything outside its
//! worktree through [`Services`]. Nothing here reads configuration or decides what is allowed; the
//! rules are in `orchestrate_core::policy`.

mod answer;
mod builtin;
mod call;
mod code_files;
mod execute;
mod files;
mod patch;
mod plugin;
mod registry;
mod repository_map;
mod services;
mod template;
mod tool;
mod wrapped;

pub use answer::{
    APIDocumentation, Answer, Artifact, CallOutcome, CodeBlock, Diagnostic, Documentation,
    ErrorKind, ExecutionResult, FileContents, FileStamp, FormatResults, GitHubResult,
    InstallResults, LintResults, MIN_RESULT_TOKENS, Note, NoteKind, Notes, PackageChange, PageLink,
    ProgramRun, ReadLedger, SeenFile, ServiceError, StackOverflowResult, TestError, TestErrorKind,
    TestFailure, TestResults, ToolError, ToolOutput, ToolsError, TypeCheckResults, WebContent,
    allowed_bytes,
};
pub use builtin::{Overrides, builtin_tools, plain_tools, unknown_parameters};
pub use call::{
    AgentCpu, AnswersFrom, Approval, CallLimits, CallScope, Command, Effect, Foreseen, Permit,
    SharedValues, ViewSource, WorktreeScope, command_usage,
};
pub use execute::{Answered, Executor, Hook, HookPlace, Hooks, PermissionCheck, undo_advice};
pub use files::path::normalize as normalize_path;
pub use files::{
    Decoded, Encoding, Entry, EntryKind, Expect, FileReader, Files, Flow, Metadata, OpenFile,
    TEMPORARY_PREFIX, WalkLimits, WalkSummary, Written,
};
pub use orchestrate_code::{MapIndex, MapTask, Stop};
pub use orchestrate_core::agent::model_search::SearchResult;
pub use orchestrate_html::Heading;
pub use plugin::{Extensions, Plugin, PluginError, ToolPlugin};
pub use registry::{PluginId, ToolRegistry, limits_of, tools_reference};
pub use repository_map::{MapLines, StoredFile, makes_maps, map_index};
pub use services::{
    AgentOperation, AgentService, AgentsWait, ArtifactPage, ArtifactStore, BranchAction,
    CallRecord, CallRecorder, ChildRequest, ConflictHunk, DecidedHosts, EgressService, EndSlot,
    EndedAgentsWait, FoundByModel, GitBranch, GitBranchResult, GitChange, GitCheckoutResult,
    GitCommit, GitOperation, GitPullResult, GitPushResult, GitService, GitStash, GitStashResult,
    GitStatus, MergeConflict, MergeResult, MergedWork, NoReplay, OutgoingMessage, PageRange,
    PlanService, ProxiedProgram, PullPlan, PushPlan, PushState, RemoteTerms, ReplayService,
    Replayable, ReviewService, Search, SearchService, Services, ShownDiff, ShowsPath, SkillService,
    StashAction, UsersCommits, WebService,
};
pub use template::CommandTemplate;
pub use tool::{
    CallSite, Category, FindPrograms, Look, Prepared, ProgramChoice, Programs, Prompt, PromptFile,
    Tool, ToolContext, ToolProperties, Waits, Wrap, Wrapping, check_schema, is_name, mistakes,
};
pub use wrapped::{MAX_TOOL_FILE_BYTES, Severity, ToolFileProblem, add_tool_files};
