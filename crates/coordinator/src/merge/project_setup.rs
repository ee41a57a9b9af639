//! How a new worktree is prepared, as a run has frozen it: with the project's setup and the outputs
//! of the base.

use std::path::PathBuf;

use orchestrate_core::event::settings::WarmLimit;
use orchestrate_core::policy::setup_hosts::SetupHosts;
use orchestrate_core::{Oid, RunId, RunState};
use orchestrate_git::{GitError, Repo};
use orchestrate_sandbox::Network;
use serde::{Deserialize, Serialize};

use crate::merge::checks::ShellCommand;
use crate::merge::setup_files::changed_for_setup;
use crate::merge::setup_network::setup_hosts;

/// How new worktrees of a run are prepared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Preparation {
    pub(crate) run: RunId,
    /// The commit that the run started from.
    pub(crate) base: Oid,
    /// The command that prepares them, if there is one.
    pub(crate) setup: Option<ProjectSetup>,
    /// How much of the base's outputs may be copied into one.
    pub(crate) warm_limit: WarmLimit,
}

impl Preparation {
    /// Returns how a run prepares its worktrees.
    pub(crate) fn for_run(state: &RunState) -> Self {
        Self {
            run: state.run_id.clone(),
            base: state.base.clone(),
            setup: ProjectSetup::for_run(state),
            warm_limit: state.settings.warm_limit,
        }
    }
}

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
    /// The hosts that settings name for it besides registries.
    #[serde(default)]
    pub(crate) hosts: Vec<String>,
    pub(crate) timeout_ms: u64,
}

impl ProjectSetup {
    /// Returns the setup of a run, if it has one.
    pub(crate) fn for_run(state: &RunState) -> Option<Self> {
        let settings = &state.settings;
        Some(Self {
            run: state.run_id.clone(),
            base: state.base.clone(),
            command: settings.worktree_setup.clone()?,
            has_network: settings.setup_network,
            hosts: settings.setup_hosts.clone(),
            timeout_ms: settings.command_timeout_ms,
        })
    }

    /// Returns the hosts that it reaches, if it has the network.
    pub(crate) fn reaches(&self) -> SetupHosts {
        setup_hosts(&self.hosts)
    }

    /// Returns the command with what it may reach on the base.
    pub(crate) fn on_base(&self) -> ShellCommand<'_> {
        ShellCommand {
            text: &self.command,
            network: if self.has_network {
                Network::Proxy
            } else {
                Network::None
            },
        }
    }

    /// Returns whether a tree is that of the run's base, and which files that the setup reads
    /// differ there.
    pub(crate) fn difference(
        &self,
        repo: &Repo,
        tree: &Oid,
    ) -> Result<(bool, Vec<PathBuf>), GitError> {
        let base = repo.tree_of(&self.base)?;
        if base == *tree {
            return Ok((true, Vec::new()));
        }
        Ok((false, changed_for_setup(repo, &base, tree, &self.command)?))
    }

    /// Reports whether what the setup has made on the base is enough for a tree, if it can be
    /// brought there exactly.
    pub(crate) fn is_brought_to(&self, repo: &Repo, tree: &Oid) -> Result<bool, GitError> {
        let (is_base, changed) = self.difference(repo, tree)?;
        Ok(changed.is_empty() && (is_base || self.has_network))
    }
}
