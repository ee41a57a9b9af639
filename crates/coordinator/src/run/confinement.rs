//! How commands are confined, as the settings require it.

use std::path::Path;

use orchestrate_sandbox::{
    Bounds, Helper, Sandbox, helper_installed, interpreters_of_project, memory_bytes,
};
use orchestrate_settings::Additions;

use crate::error::CoordinatorError;
use crate::run::settings::{ConfinementChoice, Settings};

pub(crate) const MIB: u64 = 1 << 20;
/// The default share of the machine's memory for one command: two such commands can exhaust the
/// memory, in which case the kernel kills commands first, but a single one cannot.
const SHARE_OF_MEMORY: u64 = 2;

/// Checks that processes can be confined as the settings require.
///
/// # Errors
///
/// See [`Coordinator::open`](crate::Coordinator::open).
pub fn require_confinement(settings: &Settings) -> Result<(), CoordinatorError> {
    sandbox(settings, None).map(drop)
}

/// Determines how processes can be confined.
pub(crate) fn sandbox(
    settings: &Settings,
    workdir: Option<&Path>,
) -> Result<Sandbox, CoordinatorError> {
    let helper = match &settings.helper {
        Some(program) => Helper::new(program),
        None if helper_installed() => Helper::default(),
        None => return Err(CoordinatorError::NoHelper),
    };
    let sandbox = match settings.confinement {
        ConfinementChoice::Strongest => Sandbox::strongest(helper)?,
        ConfinementChoice::Exactly(confinement) => {
            Sandbox::with(confinement, helper).map_err(|source| match &settings.demanded_by {
                Some(by) => CoordinatorError::DemandedTier {
                    by: by.clone(),
                    source,
                },
                None => source.into(),
            })?
        }
    };
    let allowed = settings
        .run
        .command_memory_mib
        .map(|mib| mib.saturating_mul(MIB));
    let sandbox = sandbox
        .adding(additions_of(&settings.additions, workdir))
        .warning(settings.warn);
    Ok(sandbox.within(Bounds {
        cpu: None,
        memory_bytes: allowed.or_else(default_memory),
        disk_bytes: Some(settings.run.worktree_mib.saturating_mul(MIB)),
        disk_files: Some(settings.run.worktree_files),
    }))
}

/// Returns the memory that a command may use unless a setting says otherwise, in bytes; `None` if
/// the machine's is not known.
pub(crate) fn default_memory() -> Option<u64> {
    Some(memory_bytes()? / SHARE_OF_MEMORY)
}

/// Converts the user's additions for the sandbox, and adds the interpreters that a project's
/// environments use.
pub(crate) fn additions_of(
    additions: &Additions,
    workdir: Option<&Path>,
) -> orchestrate_sandbox::Additions {
    let variables = additions.variables.iter();
    let mut read_only = additions.read.clone();
    read_only.extend(workdir.into_iter().flat_map(interpreters_of_project));
    orchestrate_sandbox::Additions {
        read_only,
        env: variables
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
    }
}
