//! What a tool is: its interface and its description, how a call of it is prepared, and what the
//! call works with while it runs.

pub(crate) mod arguments;
mod context;
mod interface;
pub(crate) mod package_cache;
mod prepared;
mod prompt;
mod properties;

pub use arguments::{check_schema, mistakes};
pub use context::ToolContext;
pub(crate) use context::{Led, StartError, blocking, panicked};
pub(crate) use interface::MAX_NAME;
pub use interface::{Category, Tool, Waits, Wrap, Wrapping, is_name};
pub(crate) use prepared::HandedOn;
pub use prepared::{CallSite, FindPrograms, Look, Prepared, ProgramChoice, Programs};
pub use prompt::{Prompt, PromptFile};
pub use properties::ToolProperties;
