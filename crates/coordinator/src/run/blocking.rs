//! Runs blocking work, such as git's and the journal's, beside the others.

use crate::error::CoordinatorError;

/// Runs a function on a blocking thread.
pub(crate) async fn blocking<T: Send + 'static>(
    what: &'static str,
    work: impl FnOnce() -> Result<T, CoordinatorError> + Send + 'static,
) -> Result<T, CoordinatorError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or(Err(CoordinatorError::Panicked { what }))
}
