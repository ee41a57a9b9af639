//! The shared parts of one run: its context, handle, layout on disk and level of shutdown.

pub(crate) mod admitted;
pub(crate) mod approver;
pub(crate) mod assignment;
pub(crate) mod authority;
pub(crate) mod callbacks;
pub(crate) mod codec;
pub(crate) mod confinement;
pub(crate) mod context;
pub(crate) mod handle;
pub(crate) mod host;
pub(crate) mod logs;
pub(crate) mod new_child;
pub(crate) mod open_files;
pub(crate) mod recorded_requests;
pub(crate) mod results;
pub(crate) mod retry_notices;
pub(crate) mod secrets;
pub(crate) mod settings;
pub(crate) mod time_limit;
pub(crate) mod web;
pub(crate) mod worktree_folder;
