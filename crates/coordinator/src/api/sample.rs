//! Sample projects: files written into a folder that becomes a git repository.

use std::fs;
use std::path::Path;

use orchestrate_git::{Identity, Repo};

use crate::error::CoordinatorError;

/// Writes files into a folder and turns it into a repository with one commit, made under the
/// sample's own identity.
///
/// # Errors
///
/// Fails, with nothing written, if there is no usable git program; also fails if a file cannot be
/// written, or if there is a repository already.
pub fn lay_out_sample(folder: &Path, files: &[(&str, &str)]) -> Result<(), CoordinatorError> {
    Repo::require_program(folder)?;
    for (name, text) in files {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        let written = fs::create_dir_all(parent).and_then(|()| fs::write(&path, text));
        written.map_err(CoordinatorError::at(path))?;
    }
    let identity = Identity {
        name: "Orchestrate Demo".to_owned(),
        email: "demo@example.invalid".to_owned(),
    };
    Repo::create(folder, &identity, "Start")?;
    Ok(())
}
