//! How commands are confined, as the settings require it.

use orchestrate_checks::SandboxSettings;
use orchestrate_settings::Additions;

use crate::error::CoordinatorError;
use crate::run::program::settings::Settings;

/// Checks that processes can be confined as the settings require.
///
/// # Errors
///
/// See [`Coordinator::open`](crate::Coordinator::open).
pub fn require_confinement(settings: &Settings) -> Result<(), CoordinatorError> {
    settings.of_sandbox().sandbox(None)?;
    Ok(())
}

impl Settings {
    /// Returns what is required of the sandbox.
    pub(crate) fn of_sandbox(&self) -> SandboxSettings {
        SandboxSettings {
            helper: self.helper.clone(),
            confinement: self.confinement,
            demanded_by: self.demanded_by.clone(),
            additions: additions_of(&self.additions),
            memory_mib: self.run.command_memory_mib,
            disk_mib: self.run.worktree_mib,
            disk_files: self.run.worktree_files,
            warn: self.warn,
        }
    }
}

/// Converts the user's additions for the sandbox.
pub(crate) fn additions_of(additions: &Additions) -> orchestrate_sandbox::Additions {
    let variables = additions.variables.iter();
    orchestrate_sandbox::Additions {
        read_only: additions.read.clone(),
        env: variables
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
    }
}
