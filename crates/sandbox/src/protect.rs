//! Hiding the coordinator's own memory.

use rustix::process::{DumpableBehavior, Resource, Rlimit};

use crate::error::SandboxError;

/// Keeps other processes of the same user, and core files, from the memory and environment of this process.
///
/// # Errors
/// If the kernel refuses.
pub fn protect_process() -> Result<(), SandboxError> {
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .and_then(|()| rustix::process::setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) }))
        .map_err(SandboxError::errno("hide the memory of this process"))
}
