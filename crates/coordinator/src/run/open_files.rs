//! How many files this process may have open, and how many the agents of a run take.

use orchestrate_sandbox::allow_open_files;

use crate::error::CoordinatorError;

/// How many files a run has open besides those of its agents: the journal, git's handles, pipes of its own.
const OPEN_FILES: u64 = 48;
/// How many files an agent has open at most: measured are 10 while its command runs, and more while it starts.
const OPEN_FILES_PER_AGENT: u64 = 16;

/// Raises how many files this process may have open, as far as its user may, to what looking at a run takes, or landing
/// it: one command at a time is run for that.
///
/// With too few, what needs one more is blamed instead: git, or a tier of the sandbox that cannot be tried.
pub fn raise_open_files() {
    allow_open_files(OPEN_FILES + OPEN_FILES_PER_AGENT);
}

/// The open files of this process, held against what a run takes.
pub(crate) struct OpenFiles {
    /// How many the run takes at most.
    pub(crate) needed: u64,
    /// How many there may be.
    pub(crate) allowed: u64,
}

impl OpenFiles {
    /// Finds out whether so many agents at once have enough; raises what this process may have as far as its user may.
    pub(crate) fn of_agents(agents: usize) -> Self {
        let needed = OPEN_FILES + OPEN_FILES_PER_AGENT.saturating_mul(u64::try_from(agents).unwrap_or(u64::MAX));
        Self { needed, allowed: allow_open_files(needed) }
    }

    /// Reports whether no agent will run out of them in the middle of its work.
    pub(crate) fn are_enough(&self) -> bool {
        self.allowed >= self.needed
    }

    /// Returns how many agents at once have enough of those that are allowed.
    pub(crate) fn agents(&self) -> u64 {
        self.allowed.saturating_sub(OPEN_FILES) / OPEN_FILES_PER_AGENT
    }
}

/// Makes sure that so many agents at once have enough.
///
/// # Errors
///
/// [`CoordinatorError::FewFiles`] if the user may not have as many.
pub fn require_open_files(agents: usize) -> Result<(), CoordinatorError> {
    let files = OpenFiles::of_agents(agents);
    let OpenFiles { needed, allowed } = files;
    if files.are_enough() { Ok(()) } else { Err(CoordinatorError::FewFiles { agents, needed, allowed }) }
}
