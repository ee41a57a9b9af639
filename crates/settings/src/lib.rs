//! Reads settings from where they come from: flags, the plan, the environment, files, and the
//! user's consent.
//!
//! Sources are read once ([`Inputs::load`]) and never again during a run. One table ([`KEYS`])
//! defines all settings, their types and who may set them; [`Resolved`] decides which of several
//! values applies. Nothing here prompts the user: commands that need consent are returned to the
//! caller, and so is what a project's own files suggest ([`Suggestion`]).

mod additions;
mod config_file;
pub mod consent;
mod environment;
mod forbidden;
mod hooks;
mod keys;
mod layer;
mod load;
mod merge;
mod secrets;
mod suggest;
mod values;
#[cfg(test)]
mod who_may_set;
mod worktree_folder;

pub use additions::Additions;
pub use config_file::{ConfigFile, parse};
pub use environment::{Directories, SandboxDemand, Switches, project_root, switches_not_given};
pub use keys::{Class, KEYS, Key, named};
pub use layer::{Excerpt, Given, Layer, Location, Problem, ProblemCode, Source};
pub use load::{Inputs, Loaded, PROJECT_FILES, rule_problems};
pub use merge::{Chosen, Resolved};
pub use suggest::{Found, Pin, ProjectFiles, Suggestion};
pub use values::{Expected, GivenRule, Kind, Names, Value};
