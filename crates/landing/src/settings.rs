//! The settings with which the runs of a repository are opened.

use std::collections::BTreeMap;
use std::path::PathBuf;

use orchestrate_checks::{SandboxSettings, anchor};
use orchestrate_git::Waiting;

use crate::error::LandingError;

/// The settings with which the runs of a repository are opened.
#[derive(Clone, Debug)]
pub struct LandingSettings {
    /// The folder of journals and worktrees.
    pub state_dir: PathBuf,
    /// Git's variables for the author of commits.
    pub environment: BTreeMap<String, String>,
    /// The file of the audit logs of all runs; `None` means one for each run, in the state folder.
    pub audit_log: Option<PathBuf>,
    /// How checks are confined.
    pub sandbox: SandboxSettings,
    /// Called when another process has held the repository's lock for a while.
    pub waiting: fn(&Waiting),
}

impl LandingSettings {
    /// Makes its paths absolute, since git is started in other folders.
    pub(crate) fn anchored(mut self) -> Result<Self, LandingError> {
        let given = [self.audit_log.as_mut(), self.sandbox.helper.as_mut()];
        anchor(given.into_iter().flatten().chain([&mut self.state_dir]))?;
        Ok(self)
    }
}
