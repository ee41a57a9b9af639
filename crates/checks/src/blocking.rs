//! Runs work on files beside the work that waits.

use crate::checks_error::ChecksError;

/// Runs a function with errors of its own on a blocking thread, to its end.
///
/// # Errors
/// The function's, and [`ChecksError::Panicked`].
pub async fn blocking<T: Send + 'static, E: From<ChecksError> + Send + 'static>(
    what: &'static str,
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|_| Err(ChecksError::Panicked { what }.into()))
}
