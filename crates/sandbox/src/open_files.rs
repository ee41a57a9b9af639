//! How many files this process may have open: each agent's worktree, pipes and database take some.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Lets this process, and those that it starts, have so many files open at once, as far as its user may say; gives how
/// many they may have.
pub fn allow_open_files(wanted: u64) -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let (current, most) = (current.unwrap_or(u64::MAX), maximum.unwrap_or(u64::MAX).min(wanted));
    let raised = || setrlimit(Resource::Nofile, Rlimit { current: Some(most), maximum });
    if current < most && raised().is_ok() { most } else { current }
}
