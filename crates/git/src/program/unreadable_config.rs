//! Finds the file that keeps git from reading its configuration to the end: a pipe or a device
//! where a file should be.
//!
//! Git is asked what each file includes, one file at a time and without following includes, and
//! only after reading the whole configuration has timed out.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::files::openat::path_of;
use crate::program::run::Program;

/// The maximum number of files that are examined; real configurations have fewer. Files that
/// include each other in a circle are examined once.
const MOST_FILES: usize = 100;
/// Git reads this as an empty file, and people configure it to disable a file.
const NOTHING: &str = "/dev/null";

/// Finds the first configuration file that is not a regular file, or returns `None` if all are, as
/// on a slow system.
pub(crate) fn find(program: &Program, git_dir: &Path) -> Option<PathBuf> {
    let mut left = own_files(git_dir);
    left.extend(program.users_configuration());
    let mut seen = BTreeSet::new();
    while let Some(file) = left.pop() {
        if file == Path::new(NOTHING) || seen.len() >= MOST_FILES || !seen.insert(file.clone()) {
            continue;
        }
        match std::fs::metadata(&file) {
            Ok(found) if found.is_file() => left.extend(included(program, &file)),
            Ok(found) if !found.is_dir() => return Some(file),
            // Git ignores a missing file, and reports a folder at once.
            _ => {}
        }
    }
    None
}

/// Lists the files of a repository's own configuration.
fn own_files(git_dir: &Path) -> Vec<PathBuf> {
    let common = std::fs::read_to_string(git_dir.join("commondir")).unwrap_or_default();
    let common = git_dir.join(common.trim_end());
    vec![common.join("config"), git_dir.join("config.worktree")]
}

/// Lists the files that a configuration file includes, under any condition.
fn included(program: &Program, file: &Path) -> Vec<PathBuf> {
    let listed = program.list_file(file).unwrap_or_default();
    let mut found = Vec::new();
    for setting in listed.split(|byte| *byte == 0) {
        let Some(end) = setting.iter().position(|byte| *byte == b'\n') else {
            continue;
        };
        let (key, value) = setting.split_at(end);
        if !is_include(key) || !key.ends_with(b".path") {
            continue;
        }
        let path = path_of(value.trim_ascii_start());
        let folder = file.parent().unwrap_or(Path::new("/"));
        found.push(match path.strip_prefix("~") {
            Ok(below) => program.home().unwrap_or_default().join(below),
            Err(_) => folder.join(path),
        });
    }
    found
}

fn is_include(key: &[u8]) -> bool {
    key.starts_with(b"include.") || key.starts_with(b"includeif.")
}
