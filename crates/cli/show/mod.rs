//! Shows results on the terminal: tables, next steps, errors, and the only way to standard output.

pub(crate) mod aside;
pub(crate) mod columns;
pub(crate) mod failure;
pub(crate) mod next;
pub(crate) mod output;
pub(crate) mod parked_call;
pub(crate) mod plain;
pub(crate) mod progress;
pub(crate) mod project_command;
pub(crate) mod run_argument;
pub(crate) mod table;
pub(crate) mod terminal;
pub(crate) mod tool_files;
pub(crate) mod tree;
