//! The limit on this process's open files, and the number that a run's agents need.

use std::sync::OnceLock;

use orchestrate_sandbox::allow_open_files;
use orchestrate_web::ProxyConnections;

use crate::error::CoordinatorError;

/// Open files of a run besides those of its agents: the journal, git's handles, its own pipes, and
/// the files that are copied into the view of the one command that is being started.
const OPEN_FILES: u64 = 72;
/// Maximum open files of an agent: 10 were measured while its command runs, and more while it
/// starts. A command that uses the network has a socket, two connections, and one that waits, when
/// it has started.
const OPEN_FILES_PER_AGENT: u64 = 16;
/// Open files of a connection of a program: to the program, and to the server.
const OPEN_FILES_PER_CONNECTION: u64 = 2;
/// Open files that all programs' further connections can make use of; a run does without them.
const OPEN_FILES_OF_CONNECTIONS: u64 = OPEN_FILES_PER_CONNECTION * ProxyConnections::MOST as u64;

/// Raises the soft limit on open files, as far as allowed, to what reviewing or landing a run
/// needs, including one command at a time.
///
/// With too few, the error would blame something else: git, or a sandbox tier that cannot be
/// tested.
pub fn raise_open_files() {
    allow_open_files(OPEN_FILES + OPEN_FILES_PER_AGENT);
}

/// The open files of this process, compared with the needs of a run.
pub(crate) struct OpenFiles {
    /// The maximum that the run needs.
    pub(crate) needed: u64,
    /// The number allowed.
    pub(crate) allowed: u64,
}

impl OpenFiles {
    /// Determines whether this many agents have enough open files, after raising the soft limit as
    /// far as allowed.
    pub(crate) fn of_agents(agents: usize) -> Self {
        let needed = OPEN_FILES
            + OPEN_FILES_PER_AGENT.saturating_mul(u64::try_from(agents).unwrap_or(u64::MAX));
        Self {
            needed,
            allowed: allow_open_files(needed.saturating_add(OPEN_FILES_OF_CONNECTIONS)),
        }
    }

    /// Returns the number of connections for which the limit leaves files.
    fn connections(&self) -> usize {
        let left = self.allowed.saturating_sub(self.needed) / OPEN_FILES_PER_CONNECTION;
        usize::try_from(left).unwrap_or(usize::MAX)
    }

    /// Reports whether the limit suffices for all agents.
    pub(crate) fn are_enough(&self) -> bool {
        self.allowed >= self.needed
    }

    /// Returns the number of agents for which the limit suffices.
    pub(crate) fn agents(&self) -> u64 {
        self.allowed.saturating_sub(OPEN_FILES) / OPEN_FILES_PER_AGENT
    }
}

/// Returns the connections of the programs of all runs of this process, which has one limit: as
/// many as the first run's agents leave files for.
pub(crate) fn proxy_connections(agents: usize) -> ProxyConnections {
    static SHARED: OnceLock<ProxyConnections> = OnceLock::new();
    SHARED
        .get_or_init(|| ProxyConnections::new(OpenFiles::of_agents(agents).connections()))
        .clone()
}

/// Requires enough open files for this many agents.
///
/// # Errors
///
/// [`CoordinatorError::FewFiles`] if the hard limit is too low.
pub fn require_open_files(agents: usize) -> Result<(), CoordinatorError> {
    let files = OpenFiles::of_agents(agents);
    let OpenFiles { needed, allowed } = files;
    if files.are_enough() {
        Ok(())
    } else {
        Err(CoordinatorError::FewFiles {
            agents,
            needed,
            allowed,
        })
    }
}
