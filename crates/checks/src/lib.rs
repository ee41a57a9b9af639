//! How a project's own commands are run: its setup and its checks, confined, in worktrees in which
//! no agent works.
//!
//! What they leave is found by the [`Layout`] of the state folder: worktrees, caches, and the notes
//! by which a later process knows what has passed. When something is checked is decided above.

pub mod caches;
mod check;
mod checks_error;
mod confinement;
mod layout;
mod running_checks;
mod setup_network;
mod setups;
mod shutdown;
mod state_folder;

pub use check::{
    Check, CheckResult, ShellCommand, Verification, place_of, run_check, run_check_blocking,
};
pub use checks_error::{ChecksError, blocking};
pub use confinement::{ConfinementChoice, SandboxSettings, default_memory_mib, with_interpreters};
pub use layout::Layout;
pub use running_checks::{RunningCheck, RunningChecks, Shown, noted_by};
pub use setup_network::setup_hosts;
pub use setups::base_setup::{BaseSetup, OnBase, on_base_blocking};
pub use setups::project_setup::{Preparation, ProjectSetup, explained, sandbox_of};
pub use setups::setup::Unprepared;
pub use setups::site::{KnownBase, Site, Warm};
pub use setups::verifier::{CheckedTree, conditions};
pub use setups::warm::prepare;
pub use setups::{verifier, warm};
pub use shutdown::{Shutdown, ShutdownLevel};
pub use state_folder::{anchor, require_own_state};
