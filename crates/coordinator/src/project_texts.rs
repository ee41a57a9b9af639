//! What a run takes from its project beside the plan: roles, the words of prompts and tools, and instructions.
//!
//! All of it is read from the run's base commit, so that no agent can change what its siblings are told, and before the
//! run begins: a text that is there and cannot be read would silently be another run than the one that was meant.

use std::collections::BTreeMap;
use std::path::Path;

use orchestrate_core::Oid;
use orchestrate_git::Repo;
use orchestrate_tools::{ToolRegistry, builtin_names, builtin_tools};

use crate::error::CoordinatorError;
use crate::prompts::{Prompts, project_text};
use crate::roles::Roles;

/// What a run takes from its project.
pub(crate) struct ProjectTexts {
    pub(crate) roles: Roles,
    pub(crate) prompts: Prompts,
    /// The tools, in the project's words.
    pub(crate) tools: ToolRegistry,
}

impl ProjectTexts {
    /// Reads everything at a commit, and the roles of the user's folder.
    ///
    /// # Errors
    ///
    /// Fails with the first file that cannot be read.
    pub(crate) fn load(repo: &Repo, base: &Oid, user_folder: Option<&Path>) -> Result<Self, CoordinatorError> {
        let mut words = BTreeMap::new();
        for name in builtin_names() {
            if let Some(text) = project_text(repo, base, Path::new(&format!(".orchestrate/prompts/tools/{name}.xml")))?
            {
                words.insert(name.to_owned(), text);
            }
        }
        Ok(Self {
            roles: Roles::load(repo, base, user_folder)?,
            prompts: Prompts::of_project(|path| project_text(repo, base, Path::new(path)))?,
            tools: builtin_tools(&|name| words.get(name).cloned())?,
        })
    }
}
