//! What is typed and set before a run starts.

pub(super) mod cli;
pub(super) mod doctor;
pub(super) mod init;
pub(super) mod settings;
pub(super) mod subcommands;
pub(super) mod vendors;
