//! The limit of open files: each agent's worktree, pipes and database need some.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit of open files of this process, and of those that it starts, to `wanted` or to
/// the maximum of its user; returns the resulting limit.
pub fn allow_open_files(wanted: u64) -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let (current, most) = (
        current.unwrap_or(u64::MAX),
        maximum.unwrap_or(u64::MAX).min(wanted),
    );
    let raised = Rlimit {
        current: Some(most),
        maximum,
    };
    if current < most && setrlimit(Resource::Nofile, raised).is_ok() {
        most
    } else {
        current
    }
}
