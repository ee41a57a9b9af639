//! How commands are confined, as the settings require it.

use std::path::{Path, PathBuf};

use orchestrate_sandbox::{
    Additions, Bounds, Confinement, Helper, Sandbox, helper_installed, interpreters_of_project,
    memory_bytes,
};

use crate::checks_error::ChecksError;

/// The bytes of a mebibyte.
const MIB: u64 = 1 << 20;
/// The default share of the machine's memory for one command: two such commands can exhaust the
/// memory, in which case the kernel kills commands first, but a single one cannot.
const SHARE_OF_MEMORY: u64 = 2;

/// How commands are confined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConfinementChoice {
    /// The strongest tier that works here; none at all is an error.
    #[default]
    Strongest,
    /// Exactly this tier.
    Exactly(Confinement),
}

/// What the user requires of the sandbox.
#[derive(Clone, Debug)]
pub struct SandboxSettings {
    /// A program that starts the helper first in `main`; `None` means this program.
    pub helper: Option<PathBuf>,
    /// How commands are confined.
    pub confinement: ConfinementChoice,
    /// What demands exactly that, for messages.
    pub demanded_by: Option<String>,
    /// What the user adds to what commands see.
    pub additions: Additions,
    /// The memory that a command may use, in MiB; `None` means the default share of the machine's.
    pub memory_mib: Option<u64>,
    /// What a command may write into its worktree, in MiB.
    pub disk_mib: u64,
    /// How many files it may create there.
    pub disk_files: u64,
    /// Called with what the user has to know.
    pub warn: fn(&str),
}

impl SandboxSettings {
    /// Returns what runs the user's own commands, with the user's rights.
    ///
    /// # Errors
    /// Fails if the helper is missing, or cannot be started.
    pub fn unconfined(&self) -> Result<Sandbox, ChecksError> {
        let settings = Self {
            confinement: ConfinementChoice::Exactly(Confinement::Unconfined),
            demanded_by: None,
            additions: Additions::default(),
            ..self.clone()
        };
        settings.sandbox(None)
    }

    /// Determines how processes can be confined, for the project in a folder.
    ///
    /// # Errors
    /// Fails if the helper is missing, or if no tier that is allowed can be started.
    pub fn sandbox(&self, workdir: Option<&Path>) -> Result<Sandbox, ChecksError> {
        let helper = match &self.helper {
            Some(program) => Helper::new(program),
            None if helper_installed() => Helper::default(),
            None => return Err(ChecksError::NoHelper),
        };
        let sandbox = match self.confinement {
            ConfinementChoice::Strongest => Sandbox::strongest(helper)?,
            ConfinementChoice::Exactly(confinement) => {
                Sandbox::with(confinement, helper).map_err(|source| match &self.demanded_by {
                    Some(by) => ChecksError::DemandedTier {
                        by: by.clone(),
                        source,
                    },
                    None => source.into(),
                })?
            }
        };
        let allowed = self.memory_mib.map(|mib| mib.saturating_mul(MIB));
        let sandbox = sandbox
            .adding(with_interpreters(self.additions.clone(), workdir))
            .warning(self.warn);
        Ok(sandbox.within(Bounds {
            cpu: None,
            memory_bytes: allowed.or_else(default_memory),
            disk_bytes: Some(self.disk_mib.saturating_mul(MIB)),
            disk_files: Some(self.disk_files),
        }))
    }
}

/// Adds the interpreters that a project's environments use.
pub fn with_interpreters(mut additions: Additions, workdir: Option<&Path>) -> Additions {
    let interpreters = workdir.into_iter().flat_map(interpreters_of_project);
    additions.read_only.extend(interpreters);
    additions
}

/// Returns the memory that a command may use unless a setting says otherwise, in MiB; `None` if the
/// machine's is not known.
pub fn default_memory_mib() -> Option<u64> {
    default_memory().map(|bytes| bytes / MIB)
}

fn default_memory() -> Option<u64> {
    Some(memory_bytes()? / SHARE_OF_MEMORY)
}
