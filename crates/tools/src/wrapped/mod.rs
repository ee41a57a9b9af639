//! Tools that `.tool` files define: other names of tools, and wrappers around them.

mod annotations;
mod build;
mod definition;
mod parameter;
mod shipped;
mod wrapper;

pub use build::{Severity, ToolFileProblem, add_tool_files};
pub use definition::MAX_BYTES as MAX_TOOL_FILE_BYTES;
pub(crate) use shipped::add_shipped;
