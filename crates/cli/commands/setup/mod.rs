//! The commands about the project and the machine: settings, roles, permissions, completions and
//! manual pages.

pub(crate) mod agents;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod doctor;
pub(crate) mod init;
pub(crate) mod manual;
pub(crate) mod permissions;
pub(crate) mod schema;
