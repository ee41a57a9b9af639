//! Deserializes validated arguments.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::arguments::invalid;
use crate::error::ToolError;

/// Deserializes arguments that have passed the tool's schema. An error means that the schema is
/// less strict than the type.
pub(super) fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, ToolError> {
    serde_json::from_value(arguments).map_err(|error| invalid(&error.to_string()))
}
