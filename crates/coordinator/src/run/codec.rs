//! Serializes values into blobs, which events name, and reads them back for display.

use orchestrate_tools::ToolOutput;
use serde::Serialize;

use crate::error::CoordinatorError;

/// Serializes a value to be recorded.
pub(crate) fn value_bytes<T: Serialize>(
    value: &T,
    what: &'static str,
) -> Result<Vec<u8>, CoordinatorError> {
    serde_json::to_vec(value).map_err(|source| CoordinatorError::Recorded { what, source })
}

/// Returns the text of a recorded result (the blob that a `tool.finished` names), as the model saw
/// it.
///
/// # Errors
/// Fails if the blob is not a recorded result.
pub fn text_of_result(blob: &[u8]) -> Result<String, CoordinatorError> {
    let end: Result<ToolOutput, _> = serde_json::from_slice(blob);
    end.map(|end| end.text())
        .map_err(|source| CoordinatorError::Recorded {
            what: "tool result",
            source,
        })
}
