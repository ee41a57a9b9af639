//! Runs work on files beside the work that waits.

use crate::checks_error::ChecksError;

/// Runs a function on a blocking thread.
pub(crate) async fn blocking<T: Send + 'static>(
    what: &'static str,
    work: impl FnOnce() -> Result<T, ChecksError> + Send + 'static,
) -> Result<T, ChecksError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or(Err(ChecksError::Panicked { what }))
}
