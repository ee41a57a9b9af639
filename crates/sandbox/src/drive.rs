//! Drives one job.
use crate::{Cancel, Finished, Job, Sandbox, SandboxError};
pub(crate) fn run(_sandbox: &Sandbox, _job: &Job, _cancels: &[&Cancel]) -> Result<Finished, SandboxError> {
    Err(SandboxError::Setup {
        detail: "not built yet".to_owned(),
    })
}
