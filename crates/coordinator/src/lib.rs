//! Tasks and channels: dispatches agents, routes messages, merges their work.
//!
//! [`Coordinator`] is the entry point of the library. It decides nothing: what is ready, what a
//! call may do, what is merged and how a run ends are pure functions of the recorded events in
//! `orchestrate-core`, and this crate carries them out.

mod api;
mod dispatch;
mod error;
mod link;
mod merge;
mod ruling;
mod run;
mod texts;
mod worker;
mod worktree;

pub use api::children::{ChildEvents, ChildHandle, ChildSpec};
pub use api::coordinator::{Coordinator, PlanInput};
pub use api::permissions::{AgentPermissions, PermissionError};
pub use api::project::{MapFor, Project, TaskMap, WorktreeSize};
pub use api::readiness::doctor::{Check, CheckStatus, Diagnosis, program_warnings};
pub use api::readiness::from_environment::environment_variables;
pub use api::readiness::preflight::{
    MissingPrograms, confinement_of, missing_programs, price_of, require_model, settings_of,
};
pub use api::readiness::programs::may_find;
pub use api::readiness::seen_programs::ProgramSeen;
pub use api::readiness::web_search::SearchService;
pub use api::run_events::RunEvents;
pub use api::sample::lay_out_sample;
pub use api::session::Session;
pub use api::surroundings::Surroundings;
pub use api::vendors::{UnaskedVendor, Vendors, vendor_named, vendors_of};
pub use dispatch::dispatcher::{Closing, Run, Takeover};
pub use error::{BaseFailure, CoordinatorError, LinkError, PlanPlace};
pub use orchestrate_checks::{
    ChecksError, ConfinementChoice, Layout, RunningCheck, RunningChecks, Shutdown, ShutdownLevel,
    setup_hosts,
};
pub use orchestrate_landing::moved::Moved;
pub use orchestrate_landing::{
    Archive, Boxes, Brought, CleanOptions, Cleaned, CleanedBranch, Discarded, Dropped, KeptCommit,
    KeptWorktree, LandOptions, LandStyle, Landed, LandingError, LandingSettings, LostCommit,
    Proposed, Pruned, PrunedRun, ResultDiff, ResultRefusal,
};
pub use orchestrate_model::{Vendor, prices_date};
pub use orchestrate_sandbox::{
    Cancel, Captured, Confinement, Exit, Finished, Interrupts, Passed, SandboxError, Sink,
    kernel_limits, leave_control_groups, pass_through, protect_process, run_helper_if_asked,
};
pub use orchestrate_tools::{
    Answer, Answered, CallLimits, Category, Command, Effect, ErrorKind, Plugin, PluginError,
    PluginId, Severity, SharedValues, Tool, ToolContext, ToolError, ToolFileProblem, ToolOutput,
    ToolPlugin, ToolProperties, ToolRegistry, ToolsError, limits_of, makes_maps, tools_reference,
};
pub use ruling::Ruling;
pub use run::codec::text_of_result;
pub use run::machine::confinement::require_confinement;
pub use run::machine::open_files::{raise_open_files, require_open_files};
pub use run::machine::secrets::redactor_of;
pub use run::program::approver::{Approver, ApproverAnswer, AskedCall};
pub use run::program::callbacks::{OnToolComplete, OnToolStart, ToolComplete, ToolStart};
pub use run::program::live::{LiveItem, Retry};
pub use run::program::settings::Settings;
pub use run::recorded_requests::RequestReader;
pub use texts::repository_map::{MapError, NoMap};
pub use texts::roles::{FoundRole, ProgramRole, Roles, known_names};
pub use texts::tool_files::{FoundTools, tool_names};
