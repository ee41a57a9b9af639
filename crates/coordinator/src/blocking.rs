//! Runs blocking work, such as git's and the journal's, beside the others.

use crate::error::CoordinatorError;

/// Runs a function on a blocking thread.
pub(crate) async fn blocking<T: Send + 'static>(
    what: &'static str,
    work: impl FnOnce() -> Result<T, CoordinatorError> + Send + 'static,
) -> Result<T, CoordinatorError> {
    blocking_with(what, work).await
}

/// Runs a function with errors of its own on a blocking thread.
pub(crate) async fn blocking_with<T: Send + 'static, E: From<CoordinatorError> + Send + 'static>(
    what: &'static str,
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, E> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|_| Err(CoordinatorError::Panicked { what }.into()))
}
