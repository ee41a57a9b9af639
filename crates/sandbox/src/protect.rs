//! Hides the coordinator's own memory.

use rustix::process::{DumpableBehavior, Resource, Rlimit};

use crate::error::SandboxError;

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
    rustix::process::setrlimit(Resource::Core, none).map_err(SandboxError::errno(refused))
}
