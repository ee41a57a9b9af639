//! The lists of tools whose results are never replayed: the shipped one, the user's, and the
//! project's.

use std::path::Path;

use orchestrate_core::Oid;
use orchestrate_core::policy::cache::{CachedCall, NonCacheable};
use orchestrate_core::policy::tool_names::ToolNames;
use orchestrate_files::{Links, if_there, read_plain};
use orchestrate_git::Repo;

use crate::error::CoordinatorError;

/// The name of a list.
const LIST: &str = "non_cacheable_tools.txt";
/// A project's list.
const OF_PROJECT: &str = ".orchestrate/non_cacheable_tools.txt";
/// The maximum size of a list.
const MOST_BYTES: usize = 1 << 20;

/// Returns the tools that a list names. The project's list is read from its commit; outside a
/// repository there is none.
///
/// # Errors
///
/// Fails if a list exists and cannot be read.
pub(crate) fn never_replayed(
    project: Option<(&Repo, &Oid)>,
    user_folder: Option<&Path>,
    names: &ToolNames,
) -> Result<Vec<String>, CoordinatorError> {
    let mut lists = NonCacheable::shipped();
    if let Some(path) = user_folder.map(|folder| folder.join(LIST)) {
        let read = if_there(read_plain(&path, Links::Anywhere, MOST_BYTES as u64));
        if let Some(bytes) = read.map_err(CoordinatorError::at(path))? {
            lists.add(&String::from_utf8_lossy(&bytes));
        }
    }
    let read = |(repo, base): (&Repo, &Oid)| {
        repo.store()
            .read_file_within(base, Path::new(OF_PROJECT), MOST_BYTES)
    };
    if let Some(bytes) = project.map(read).transpose()?.flatten() {
        // Its exceptions have no effect on tools, which no key names.
        lists.add_of_project(&String::from_utf8_lossy(&bytes));
    }
    let is_listed = |tool: &&str| {
        lists
            .entry_for(CachedCall {
                tool,
                command: "",
                is_keyed: false,
            })
            .is_some()
    };
    Ok(names.names().filter(is_listed).map(str::to_owned).collect())
}
