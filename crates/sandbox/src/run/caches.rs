//! The caches that tools of a job keep between commands, in a folder of the job's own instead of
//! the home, which is empty for each job.
//!
//! Build caches such as Go's and uv's have to be written to be used. Whoever can write one decides
//! what is built from it, so a folder belongs to one worktree.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use crate::error::SandboxError;
use crate::job::{Job, View};

/// The folders, each with the variable that names it to tools, and its value, in which `{}` stands
/// for the folder.
///
/// Most tools keep their caches in the first one, such as Go, uv, pre-commit, sccache, ccache and
/// golangci-lint.
const CACHES: [(&str, &str, &str); 3] = [
    ("cache", "XDG_CACHE_HOME", "{}"),
    ("gradle", "GRADLE_USER_HOME", "{}"),
    ("maven", "MAVEN_OPTS", REPOSITORY),
];

/// The option of Maven for the repository to which it adds packages.
const REPOSITORY: &str = "-Dmaven.repo.local={}";

/// Says to uv that the worktree cannot share files with its cache, since they are different mounts.
const COPIES: (&str, &str) = ("UV_LINK_MODE", "copy");

/// Lets a job write to a folder of caches, if that exists.
pub(crate) fn show(folder: &Path, job: &mut Job) -> Result<(), SandboxError> {
    if !folder.is_dir() {
        return Ok(());
    }
    for (name, _, _) in CACHES {
        let created = orchestrate_files::create_folder(&folder.join(name));
        created.map_err(SandboxError::io("create a folder for caches"))?;
    }
    let View::Host(view) = &mut job.view;
    view.writable.push(folder.to_owned());
    job.env.extend(missing(folder, &job.env));
    Ok(())
}

/// Returns the variables that a job does not have yet.
fn missing(folder: &Path, given: &BTreeMap<OsString, OsString>) -> Vec<(OsString, OsString)> {
    let mut all: Vec<(OsString, OsString)> = vec![(COPIES.0.into(), COPIES.1.into())];
    for (name, variable, value) in CACHES {
        let path = folder.join(name);
        // A value that is split at spaces cannot hold such a path.
        if let Some(path) = path.to_str()
            && (value == "{}" || !path.contains(char::is_whitespace))
        {
            all.push((variable.into(), value.replace("{}", path).into()));
        }
    }
    all.retain(|(name, _)| !given.contains_key(name));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cache_is_named_to_its_tools_unless_the_user_names_another() {
        let given = BTreeMap::from([("GRADLE_USER_HOME".into(), "/other".into())]);
        let expected = [
            ("UV_LINK_MODE", "copy"),
            ("XDG_CACHE_HOME", "/run/T1/cache"),
            ("MAVEN_OPTS", "-Dmaven.repo.local=/run/T1/maven"),
        ];
        let expected = expected.map(|(name, value)| (name.into(), value.into()));
        assert_eq!(missing(Path::new("/run/T1"), &given), expected);
        // Maven would read the second word as a class.
        let names: Vec<OsString> = missing(Path::new("/a b"), &given)
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert_eq!(names, ["UV_LINK_MODE", "XDG_CACHE_HOME"]);
    }
}
