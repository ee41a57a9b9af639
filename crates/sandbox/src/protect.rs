//! Hides the coordinator's own memory.

use rustix::process::{DumpableBehavior, Resource, Rlimit};

use crate::error::SandboxError;

/// Hides the memory and environment of this process from other processes of the same user, and from
/// core files.
///
/// # Errors
/// Fails if the kernel refuses.
pub fn protect_process() -> Result<(), SandboxError> {
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .and_then(|()| {
            rustix::process::setrlimit(
                Resource::Core,
                Rlimit {
                    current: Some(0),
                    maximum: Some(0),
                },
            )
        })
        .map_err(SandboxError::errno("hide the memory of this process"))
}
