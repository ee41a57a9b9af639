//! `install_package`: the project's package manager, in the sandbox, with its registries as the
//! only way out.
//!
//! What may be installed is a name and a version by the grammar of the registry; which manager and
//! which command follows from the project's files; which hosts are reached is the policy's
//! decision, asked for each connection.

mod answer;
mod destinations;
mod grammar;
mod indexes;
mod listing;
mod login;
mod managers;
mod running;
mod sharing;
mod tool;
mod user_settings;

pub(in super::super) use tool::InstallPackage;
