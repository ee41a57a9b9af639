//! What is known of a project's folder without running anything: names, the texts of manifests, and
//! which managers there are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use orchestrate_files::{Links, read_plain};

/// The folders of a project whose entries are listed too, besides its own.
const LISTED: [&str; 9] = [
    ".venv",
    ".venv/bin",
    "venv",
    "venv/bin",
    "vendor",
    "vendor/bin",
    "tests",
    "test",
    "spec",
];
/// The files whose texts are read, if they exist.
const READ: [&str; 14] = [
    ".venv/pyvenv.cfg",
    "Cargo.lock",
    "Cargo.toml",
    "GNUmakefile",
    "Makefile",
    "composer.json",
    "makefile",
    "package.json",
    "pyproject.toml",
    "requirements-dev.txt",
    "requirements-test.txt",
    "requirements.txt",
    "test-requirements.txt",
    "venv/pyvenv.cfg",
];
/// The maximum number of entries of one folder; a larger one has no manifests that people keep.
const MAX_ENTRIES: usize = 10_000;
/// The maximum number of folders of a project that are looked into, if nothing is found at its top.
const MAX_FOLDERS: usize = 50;
/// The maximum size of a manifest: the largest lock files of cargo have a megabyte.
const MAX_BYTES: u64 = 8 << 20;

/// What is known of a project's folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectFiles {
    /// The files and folders that exist, relative to the folder, with `/`.
    pub paths: BTreeSet<String>,
    /// The texts of manifests, by path.
    pub texts: BTreeMap<String, String>,
    /// The package managers and build tools that commands find.
    pub programs: BTreeSet<String>,
}

impl ProjectFiles {
    /// Reads what is known of a folder, and takes note of those `programs` that commands find.
    pub(crate) fn read(folder: &Path, programs: &BTreeSet<String>) -> ProjectFiles {
        let mut files = ProjectFiles::default();
        files.list(folder, "");
        for name in LISTED {
            if files.paths.contains(name) {
                files.list(folder, name);
            }
        }
        for name in READ.iter().filter(|name| files.paths.contains(**name)) {
            let read = read_plain(&folder.join(name), Links::Below(folder), MAX_BYTES);
            // A manifest that cannot be read suggests nothing, like one that is empty.
            if let Ok(bytes) = read {
                files.texts.insert(
                    (*name).to_owned(),
                    String::from_utf8_lossy(&bytes).into_owned(),
                );
            }
        }
        files.programs.clone_from(programs);
        files
    }

    /// Reads what is known of each visible folder of a project that is a folder itself.
    pub(crate) fn read_below(
        folder: &Path,
        programs: &BTreeSet<String>,
    ) -> Vec<(String, ProjectFiles)> {
        let is_folder = |name: &String| {
            folder
                .join(name)
                .symlink_metadata()
                .is_ok_and(|found| found.is_dir())
        };
        let names = entries(folder)
            .into_iter()
            .filter(|name| !name.starts_with('.') && is_folder(name));
        let read = |name: String| {
            let files = ProjectFiles::read(&folder.join(&name), programs);
            (name, files)
        };
        names.take(MAX_FOLDERS).map(read).collect()
    }

    fn list(&mut self, folder: &Path, below: &str) {
        for name in entries(&folder.join(below)) {
            self.paths.insert(if below.is_empty() {
                name
            } else {
                format!("{below}/{name}")
            });
        }
    }

    /// Reports whether a file or folder exists.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.paths.contains(path)
    }

    /// Reports whether a name at the top fits: a whole name, or `*` with its end.
    pub(crate) fn shows(&self, mark: &str) -> Option<&str> {
        let fits = |path: &&String| match mark.strip_prefix('*') {
            Some(end) => path.ends_with(end) && !path.contains('/'),
            None => path.as_str() == mark,
        };
        self.paths.iter().find(fits).map(String::as_str)
    }

    /// Reports whether a folder has a file whose name begins and ends so.
    pub(crate) fn has_below(&self, folder: &str, start: &str, end: &str) -> bool {
        let names = self
            .paths
            .iter()
            .filter_map(|path| path.strip_prefix(folder)?.strip_prefix('/'));
        names
            .into_iter()
            .any(|name| name.starts_with(start) && name.ends_with(end))
    }

    /// Returns the text of a manifest; empty if there is none.
    pub(crate) fn text(&self, path: &str) -> &str {
        self.texts.get(path).map_or("", String::as_str)
    }

    /// Reports whether commands find a program.
    pub(crate) fn finds(&self, program: &str) -> bool {
        self.programs.contains(program)
    }
}

/// Lists the names in a folder, in order; none if it cannot be read.
fn entries(folder: &Path) -> Vec<String> {
    let Ok(listed) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let names = listed
        .take(MAX_ENTRIES)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}
