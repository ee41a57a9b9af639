//! Settings of this process itself: its limit of open files, and the privacy of its memory.

use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, setrlimit};

use crate::error::SandboxError;

/// Raises the limit of open files of this process, and of those that it starts, to `wanted` or to
/// the maximum of its user; returns the resulting limit. Each agent's worktree, pipes and database
/// need some.
pub fn allow_open_files(wanted: u64) -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let current = current.unwrap_or(u64::MAX);
    let most = maximum.unwrap_or(u64::MAX).min(wanted);
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

/// Hides the memory and environment of this process from other processes of the same user, and from
/// core files.
///
/// # Errors
/// Fails if the kernel refuses.
pub fn protect_process() -> Result<(), SandboxError> {
    let refused = "hide the memory of this process";
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(SandboxError::errno(refused))?;
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    setrlimit(Resource::Core, none).map_err(SandboxError::errno(refused))
}
