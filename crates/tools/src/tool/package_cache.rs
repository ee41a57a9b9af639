//! The folder of a worktree in which package managers keep what they have downloaded, for later
//! commands there.
//!
//! Most put packages into the project. Cargo and Go read them from a cache below the user's home
//! instead, to which no job may write; so what they download for an agent is in a cache of its
//! worktree, which git ignores.

use crate::files::Files;
use crate::files::path::join;

/// The folder.
pub(crate) const FOLDER: &str = ".package-cache";

/// Its parts, each with the variable that names it to its tool, and what is in one that is used.
const PARTS: [(&str, &str, &str); 2] = [
    ("cargo", "CARGO_HOME", "registry"),
    ("go", "GOMODCACHE", "cache"),
];

/// Returns the variables that name all parts, relative to the worktree: for a job that downloads.
pub(crate) fn variables() -> impl Iterator<Item = (&'static str, String)> {
    PARTS
        .into_iter()
        .map(|(part, variable, _)| (variable, join(FOLDER, part)))
}

/// Returns the variables that name the parts that are used.
pub(crate) fn used(files: &Files) -> Vec<(&'static str, String)> {
    let is_used =
        |part: &str, inside: &str| files.metadata(&join(&join(FOLDER, part), inside)).is_ok();
    let used = PARTS
        .into_iter()
        .filter(|(part, _, inside)| is_used(part, inside));
    used.map(|(part, variable, _)| (variable, join(FOLDER, part)))
        .collect()
}
