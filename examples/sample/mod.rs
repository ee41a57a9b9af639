//! The sample project that the examples work on: a git repository with one commit.

use std::error::Error;
use std::path::Path;
use std::process::Command;

/// Creates a repository with `files`, each a path and its content, in one commit.
pub(crate) fn make(project: &Path, files: &[(&str, &str)]) -> Result<(), Box<dyn Error>> {
    for (path, content) in files {
        let path = project.join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(project))?;
        std::fs::write(path, content)?;
    }
    let steps: [&[&str]; 5] = [
        &["init", "-q", "-b", "main"],
        &["config", "user.name", "Example"],
        &["config", "user.email", "example@example.invalid"],
        &["add", "."],
        &["commit", "-q", "-m", "Start"],
    ];
    for step in steps {
        git(project, step)?;
    }
    Ok(())
}

/// Runs git in the project and returns its output.
pub(crate) fn git(project: &Path, arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(project)
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(String::from_utf8(output.stdout)?)
}
