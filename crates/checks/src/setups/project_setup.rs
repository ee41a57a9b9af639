//! How a new worktree is prepared, as a run has frozen it: with the project's setup and the outputs
//! of the base.

use std::path::PathBuf;
use std::sync::Arc;

use orchestrate_core::checks::hint::{BASE_ALONE_HAS_NETWORK, RESULT_STAYS};
use orchestrate_core::event::settings::WarmLimit;
use orchestrate_core::policy::setup_hosts::SetupHosts;
use orchestrate_core::text::git_path::shown_path;
use orchestrate_core::{Oid, RunId, RunState};
use orchestrate_git::{GitError, Repo};
use orchestrate_sandbox::{Confinement, Network, Sandbox};
use serde::{Deserialize, Serialize};

use crate::check::{CheckResult, ShellCommand};
use crate::layout::Layout;
use crate::setup_network::setup_hosts;
use crate::setups::setup_files::changed_for_setup;

/// How many changed files a message names.
const MOST_NAMED: usize = 3;

/// How new worktrees of a run are prepared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preparation {
    /// The run.
    pub run: RunId,
    /// The commit that the run started from.
    pub base: Oid,
    /// The command that prepares them, if there is one.
    pub setup: Option<ProjectSetup>,
    /// How much of the base's outputs may be copied into one.
    pub warm_limit: WarmLimit,
}

impl Preparation {
    /// Returns how a run prepares its worktrees.
    pub fn for_run(state: &RunState) -> Self {
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
pub struct ProjectSetup {
    /// The run.
    pub run: RunId,
    /// The commit that the run started from.
    pub base: Oid,
    /// The shell command.
    pub command: String,
    /// Whether it may use the network on the base.
    pub has_network: bool,
    /// The hosts that settings name for it besides registries.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Its time limit in milliseconds.
    pub timeout_ms: u64,
}

impl ProjectSetup {
    /// Returns the setup of a run, if it has one.
    pub fn for_run(state: &RunState) -> Option<Self> {
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

    /// Reports whether it runs with a proxy on the base: without a sandbox, nothing leads it there.
    pub(crate) fn has_proxy(&self, sandbox: &Sandbox) -> bool {
        self.has_network && sandbox.confinement() != Confinement::Unconfined
    }

    /// Returns whether a tree is that of the run's base, and which files that the setup reads
    /// differ there.
    ///
    /// # Errors
    /// If git fails.
    pub fn difference(&self, repo: &Repo, tree: &Oid) -> Result<(bool, Vec<PathBuf>), GitError> {
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

/// Adds to a failure of a setup that ran without the network why it had none.
pub fn explained(result: CheckResult, changed: &[PathBuf]) -> CheckResult {
    if result.passed || result.cancelled {
        return result;
    }
    let why = if changed.is_empty() {
        RESULT_STAYS.to_owned()
    } else {
        let named: Vec<String> = changed
            .iter()
            .take(MOST_NAMED)
            .map(|path| shown_path(path))
            .collect();
        let more = if changed.len() > MOST_NAMED {
            ", …"
        } else {
            ""
        };
        format!(
            "{BASE_ALONE_HAS_NETWORK}; this tree changes {}{more}",
            named.join(", ")
        )
    };
    result.with_line(&why)
}

/// Returns the sandbox of a run, whose commands read what its setup and its agents' installations
/// have downloaded.
pub fn sandbox_of(sandbox: &Arc<Sandbox>, layout: &Layout, state: &RunState) -> Arc<Sandbox> {
    Arc::new(
        sandbox
            .as_ref()
            .clone()
            .with_packages(layout.packages(&state.run_id)),
    )
}
