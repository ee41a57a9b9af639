//! Loads the texts that an agent is created from: prompts, roles, models and the project's
//! instructions.

pub(crate) mod failed_checks;
pub(crate) mod instructions;
pub(crate) mod map_parts;
pub(crate) mod models;
pub(crate) mod never_replayed;
pub(crate) mod project_texts;
pub(crate) mod prompts;
pub(crate) mod repository_map;
pub(crate) mod roles;
pub(crate) mod skills;
pub(crate) mod task_message;
pub(crate) mod tool_files;
