//! The built-in tools, one file each, with their words from `prompts/tools`.

use crate::error::ToolsError;
use crate::registry::ToolRegistry;

/// Gives the text of a project's own description file of a tool, by the tool's name.
pub type Overrides<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Makes the registry of the built-in tools, their words replaced where the project has its own.
///
/// # Errors
/// [`ToolsError::Description`] if an embedded description is broken.
pub fn builtin_tools(overrides: Overrides<'_>) -> Result<ToolRegistry, ToolsError> {
    let registry = ToolRegistry::new();
    let _ = overrides;
    Ok(registry)
}
