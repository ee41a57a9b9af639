//! Hides tasks and channels: dispatches agents, routes messages, merges their work.
//!
//! [`Coordinator`] is the face of the library. It decides nothing: what is ready, what a call may do, what is merged
//! and how a run ends are pure functions of the recorded facts in `orchestrate-core`, and everything here carries them
//! out.

mod asking;
mod assigning;
mod assignment;
mod checks;
mod children;
mod cleaning;
mod commands;
mod committing;
pub mod consent;
mod coordinator;
mod diagnosis;
mod dispatcher;
mod driver;
mod error;
mod git_link;
mod host;
mod integration;
mod landing;
mod layout;
mod merging;
mod models;
mod open_files;
mod plan_file;
mod preflight;
mod programs;
mod project;
mod project_texts;
mod prompts;
mod recorded;
mod recovery;
mod refusal;
mod retries;
mod reviewing;
mod roles;
mod run;
mod run_context;
mod run_handle;
mod runs;
mod sample;
mod secrets;
pub mod settings;
mod shutdown;
mod verifier;
mod worker;
mod worker_link;
mod workplace;
mod worktrees;

pub use asking::shown_hash;
pub use children::{ChildEvents, ChildHandle, ChildSpec};
pub use cleaning::{CleanOptions, Cleaned, KeptCommit, KeptWorktree};
pub use commands::Allowance;
pub use coordinator::{ConfinementChoice, Coordinator, PlanInput, Settings};
pub use diagnosis::{Check, CheckStatus, Diagnosis};
pub use error::CoordinatorError;
pub use landing::{LandOptions, Landed};
pub use layout::Layout;
pub use open_files::raise_open_files;
pub use orchestrate_sandbox::{Cancel, Confinement, protect_process, run_helper_if_asked};
pub use plan_file::Boxes;
pub use preflight::{MissingPrograms, missing_programs, require_model, settings_of};
pub use programs::may_find;
pub use project::{Project, known_names};
pub use recorded::text_of_result;
pub use refusal::Refusal;
pub use retries::Retry;
pub use roles::{FoundRole, Roles};
pub use run::{Run, Takeover};
pub use runs::Runs;
pub use sample::lay_out_sample;
pub use secrets::redactor_of;
pub use shutdown::{Shutdown, ShutdownLevel};
