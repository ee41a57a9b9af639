//! How many files this process may have open, and how many the agents of a run take.

use orchestrate_sandbox::allow_open_files;

use crate::error::CoordinatorError;

/// How many files a run has open besides those of its agents: the journal, git's handles, pipes of its own.
const OPEN_FILES: u64 = 48;
/// How many files an agent has open at most: measured are 10 while its command runs, and more while it starts.
const OPEN_FILES_PER_AGENT: u64 = 16;

/// Makes sure that so many agents at once will not run out of open files in the middle of their work; raises what this
/// process may have as far as its user may.
///
/// # Errors
///
/// [`CoordinatorError::FewFiles`] if that is not enough.
pub(crate) fn require_open_files(agents: usize) -> Result<(), CoordinatorError> {
    let needed = OPEN_FILES + OPEN_FILES_PER_AGENT.saturating_mul(u64::try_from(agents).unwrap_or(u64::MAX));
    let allowed = allow_open_files(needed);
    if allowed < needed { Err(CoordinatorError::FewFiles { agents, needed, allowed }) } else { Ok(()) }
}
