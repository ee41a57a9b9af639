//! The tools that there are, found by name, and what listings say of them.

mod limits;
mod reference;
mod result_types;
mod tool_registry;

pub use limits::limits_of;
pub use reference::tools_reference;
pub(crate) use tool_registry::Resolved;
pub use tool_registry::{PluginId, ToolRegistry};
