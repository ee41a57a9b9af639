//! The shared parts of one run: its context and handle, its machine, and the program that runs it.

pub(crate) mod assignment;
pub(crate) mod authority;
pub(crate) mod codec;
pub(crate) mod context;
pub(crate) mod handle;
pub(crate) mod machine;
pub(crate) mod new_child;
pub(crate) mod program;
pub(crate) mod recorded_requests;
pub(crate) mod red_base;
pub(crate) mod tool_lists;
pub(crate) mod until_due;

pub(crate) use orchestrate_journal::unix_seconds;
