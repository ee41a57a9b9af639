//! The command that prepares a new worktree, as a run has frozen it.

use orchestrate_core::{Oid, RunId, RunState};
use orchestrate_sandbox::Network;
use serde::{Deserialize, Serialize};

use crate::merge::checks::ShellCommand;

/// The project's setup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProjectSetup {
    pub(crate) run: RunId,
    /// The commit that the run started from.
    pub(crate) base: Oid,
    /// The shell command.
    pub(crate) command: String,
    /// Whether it may use the network on the base.
    pub(crate) has_network: bool,
    pub(crate) timeout_ms: u64,
}

impl ProjectSetup {
    /// Returns the setup of a run, if it has one.
    pub(crate) fn of(state: &RunState) -> Option<Self> {
        let settings = &state.settings;
        Some(Self {
            run: state.run_id.clone(),
            base: state.base.clone(),
            command: settings.worktree_setup.clone()?,
            has_network: settings.setup_network,
            timeout_ms: settings.command_timeout_ms,
        })
    }

    /// Returns the command with what it may reach on the base.
    pub(crate) fn on_base(&self) -> ShellCommand<'_> {
        ShellCommand { text: &self.command, network: if self.has_network { Network::Host } else { Network::None } }
    }
}
