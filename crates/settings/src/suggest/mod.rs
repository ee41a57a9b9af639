//! Suggests settings for a project from the files of its package managers and build tools.
//!
//! One table ([`ecosystems`]) names, for each ecosystem, its lock files, its manager, the command
//! that installs what the project needs, what else lies in a checkout, and the command that runs
//! the project's tests. Nothing here runs a program: what is known of a project ([`ProjectFiles`])
//! is data, which a few names and small files are read into.

mod ecosystems;
mod manifests;
mod pins;
mod project_files;
mod suggestion;

pub use pins::Pin;
pub use project_files::ProjectFiles;
pub use suggestion::{Found, Suggestion};
