//! How values are written into blobs, for facts to name.

use serde::Serialize;

use crate::error::CoordinatorError;

/// Writes a value down, to be recorded.
pub(crate) fn value_bytes<T: Serialize>(value: &T, what: &'static str) -> Result<Vec<u8>, CoordinatorError> {
    serde_json::to_vec(value).map_err(|source| CoordinatorError::Recorded { what, source })
}
