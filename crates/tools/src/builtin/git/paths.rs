//! Arguments that are lists of paths.

use std::path::Path;

use serde_json::Value;

use crate::error::ToolError;
use crate::path;

/// Rewrites the paths of an argument relative to the worktree.
///
/// # Errors
/// As [`path::normalize`].
pub(super) fn normalize(
    field: &str,
    arguments: &mut Value,
    worktree: &Path,
) -> Result<(), ToolError> {
    let paths = arguments.get_mut(field).and_then(Value::as_array_mut);
    for value in paths.into_iter().flatten() {
        if let Some(text) = value.as_str() {
            *value = Value::String(path::normalize(text, worktree)?);
        }
    }
    Ok(())
}

/// Returns the paths of an argument.
pub(super) fn in_argument(field: &str, arguments: &Value) -> Vec<String> {
    let paths = arguments.get(field).and_then(Value::as_array);
    paths
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}
