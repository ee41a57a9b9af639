//! Prepares a new worktree: with caches of its own, the project's setup, and then the outputs of
//! the base.

use crate::checks::check::CheckResult;
use crate::checks::project_setup::Preparation;
use crate::disk::caches;
use crate::error::CoordinatorError;
use crate::merge::setup::{self, Unprepared};
use crate::merge::warm;
use crate::run::host::Host;
use crate::shutdown::Shutdown;

/// Prepares a worktree. Returns the result of the setup if it ran in this worktree, or failed in
/// its own; `None` if there was nothing to run.
pub(crate) async fn prepare(
    host: &Host,
    preparation: &Preparation,
    unprepared: Unprepared<'_>,
    shutdown: &Shutdown,
) -> Result<Option<CheckResult>, CoordinatorError> {
    let path = unprepared.path;
    caches::prepare(&host.layout, path, preparation.warm_limit).await?;
    let result = setup::set_up(host, preparation, unprepared, shutdown).await?;
    if result.as_ref().is_none_or(|result| result.passed) {
        warm::bring(host, preparation, path).await?;
    }
    Ok(result)
}
