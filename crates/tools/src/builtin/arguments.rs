//! Validated arguments as the type that a tool takes.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::arguments::invalid;
use crate::error::ToolError;

/// Reads arguments that have passed the tool's schema; a mismatch is a mistake that only the schema let through.
pub(super) fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, ToolError> {
    serde_json::from_value(arguments).map_err(|error| invalid(&error.to_string()))
}
