//! What a run needs of its machine: a sandbox, folders, open files, ways to other hosts.

pub(crate) mod command_hooks;
pub(crate) mod confinement;
pub(crate) mod host;
pub(crate) mod logs;
pub(crate) mod open_files;
pub(crate) mod results;
pub(crate) mod secrets;
pub(crate) mod web;
pub(crate) mod worktree_folder;
