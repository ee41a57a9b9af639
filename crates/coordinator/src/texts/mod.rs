//! Loads the texts that an agent is made of: prompts, roles, models and what the project says.

pub(crate) mod models;
pub(crate) mod project_texts;
pub(crate) mod prompts;
pub(crate) mod roles;
