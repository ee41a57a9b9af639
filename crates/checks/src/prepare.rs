//! Prepares a new worktree: with caches of its own, the project's setup, and then the outputs of
//! the base.

use crate::check::CheckResult;
use crate::checks_error::ChecksError;
use crate::project_setup::Preparation;
use crate::setup::Unprepared;
use crate::shutdown::Shutdown;
use crate::site::Site;
use crate::{caches, setup, warm};

/// Prepares a worktree. Returns the result of the setup if it ran in this worktree, or failed in
/// its own; `None` if there was nothing to run.
///
/// # Errors
/// If git or the sandbox fails, or caches cannot be copied.
pub async fn prepare(
    site: &Site,
    preparation: &Preparation,
    unprepared: Unprepared<'_>,
    shutdown: &Shutdown,
) -> Result<Option<CheckResult>, ChecksError> {
    let path = unprepared.path;
    caches::prepare(&site.layout, path, preparation.warm_limit).await?;
    let result = setup::set_up(site, preparation, unprepared, shutdown).await?;
    if result.as_ref().is_none_or(|result| result.passed) {
        warm::bring(site, preparation, path).await?;
    }
    Ok(result)
}
