//! What is known of a project: which files it has, and what its manifests say.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::time::Duration;

use orchestrate_sandbox::Cancel;

use super::rust_edition::edition_of;
use crate::answer::ToolError;
use crate::files::{EntryKind, Files, Flow, WalkLimits};

/// Maximum time to list the folders that are looked at.
const LISTING_TIME: Duration = Duration::from_secs(10);
/// Number of bytes of a manifest that are read.
const MANIFEST_BYTES: u64 = 1 << 18;
/// How the name of a Rust file ends.
const OF_RUST: &str = ".rs";
/// The folders whose entries are listed, as far as git does not ignore them.
const LISTED: &[&str] = &[
    "",
    "src",
    "test",
    "tests",
    "__tests__",
    "build",
    "requirements",
];
/// Files that git may ignore, and those in folders that are not listed.
const MARKS: &str = ".yarn/cache .config/nextest.toml build/CTestTestfile.cmake \
    .ctest-build/CTestTestfile.cmake .venv/bin/python .venv/bin/ruff .venv/bin/mypy \
    .venv/bin/black .venv/bin/pyright venv/bin/python venv/bin/ruff venv/bin/mypy venv/bin/black \
    venv/bin/pyright node_modules/.bin/eslint node_modules/.bin/jest node_modules/.bin/prettier \
    node_modules/.bin/pyright node_modules/.bin/tsc node_modules/.bin/vitest";
/// Files whose text says which programs are used.
const MANIFESTS: &str = "Cargo.toml go.mod package.json pyproject.toml requirements.txt \
    requirements-dev.txt setup.cfg tox.ini Makefile makefile GNUmakefile";

/// A kind of project, by what builds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Language {
    Rust,
    Go,
    Python,
    JavaScript,
    Maven,
    Gradle,
    CMake,
    Make,
}

/// The files that show which programs a project uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Project {
    present: BTreeSet<String>,
    texts: BTreeMap<String, String>,
    /// The Rust files that a call names, itself or by a folder.
    rust_files: Vec<RustFile>,
}

/// A Rust file that a call names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RustFile {
    /// Its path.
    pub(super) path: String,
    /// The edition of its package, or why that is not known.
    pub(super) edition: Result<String, String>,
}

impl Project {
    /// Looks at a worktree. What is absent, unreadable or hidden by a rule is not part of the
    /// project.
    ///
    /// # Errors
    /// `Interrupted` if cancelled, `TooBroad` if a folder has too many entries.
    pub(super) fn look(files: &Files, cancel: &Cancel) -> Result<Project, ToolError> {
        let mut project = Project::default();
        let limits = WalkLimits {
            recursive: false,
            ..WalkLimits::within(LISTING_TIME, cancel)
        };
        for folder in LISTED {
            let walked = files.walk(folder, &limits, &mut |entry| {
                project.present.insert(entry.path.clone());
                Ok(Flow::Continue)
            });
            if let Err(error @ (ToolError::Interrupted(_) | ToolError::TooBroad(_))) = walked {
                return Err(error);
            }
        }
        let marks = MARKS.split(' ').filter(|path| files.metadata(path).is_ok());
        project.present.extend(marks.map(str::to_owned));
        for path in MANIFESTS.split(' ') {
            if project.has(path) {
                project.texts.insert(path.to_owned(), text(files, path));
            }
        }
        Ok(project)
    }

    /// Looks at a worktree for a call that names these files and folders.
    ///
    /// # Errors
    /// As [`Project::look`].
    pub(super) fn look_for(
        files: &Files,
        cancel: &Cancel,
        named: &[String],
    ) -> Result<Project, ToolError> {
        let mut project = Project::look(files, cancel)?;
        let limits = WalkLimits::within(LISTING_TIME, cancel);
        for path in named {
            if path.ends_with(OF_RUST) {
                project.rust_files.push(rust_file(files, path));
            } else if let Ok(folder) = files.directory(path) {
                files.walk(&folder, &limits, &mut |entry| {
                    if entry.kind == EntryKind::File && entry.path.ends_with(OF_RUST) {
                        project.rust_files.push(rust_file(files, &entry.path));
                    }
                    Ok(Flow::Continue)
                })?;
            }
        }
        Ok(project)
    }

    /// Returns the Rust files that the call names, itself or by a folder.
    pub(super) fn rust_files(&self) -> &[RustFile] {
        &self.rust_files
    }

    /// Reports whether it has a file or a folder.
    pub(super) fn has(&self, path: &str) -> bool {
        self.present.contains(path)
    }

    /// Returns the first of these that it has.
    pub(super) fn first<'a>(&self, paths: &[&'a str]) -> Option<&'a str> {
        paths.iter().copied().find(|path| self.has(path))
    }

    /// Returns the text of a manifest; empty if it has none.
    pub(super) fn text(&self, path: &str) -> &str {
        self.texts.get(path).map_or("", String::as_str)
    }

    /// Reports whether one of these manifests contains a text.
    pub(super) fn mentions(&self, paths: &[&str], words: &str) -> bool {
        paths.iter().any(|path| self.text(path).contains(words))
    }

    /// Reports whether a folder has an entry with such a name.
    pub(super) fn any_in(&self, folder: &str, is_one: fn(&str) -> bool) -> bool {
        self.present.iter().any(|path| {
            let (parent, name) = crate::files::path::split(path);
            parent == folder && is_one(name)
        })
    }

    /// Returns the entries of a folder that is listed.
    pub(super) fn entries<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a str> {
        self.present
            .iter()
            .map(String::as_str)
            .filter(move |path| crate::files::path::split(path).0 == folder)
    }

    /// Returns the kinds of project that it is, the one whose programs come first before the
    /// others.
    pub(super) fn languages(&self) -> Vec<Language> {
        let table = [
            (Language::Rust, self.has("Cargo.toml")),
            (Language::Go, self.has("go.mod")),
            (Language::Python, self.is_python()),
            (Language::JavaScript, self.has("package.json")),
            (Language::Maven, self.has("pom.xml")),
            (
                Language::Gradle,
                self.first(&[
                    "build.gradle",
                    "build.gradle.kts",
                    "settings.gradle",
                    "settings.gradle.kts",
                ])
                .is_some(),
            ),
            (Language::CMake, self.has("CMakeLists.txt")),
            (Language::Make, self.makefile().is_some()),
        ];
        table
            .into_iter()
            .filter(|(_, is_one)| *is_one)
            .map(|(language, _)| language)
            .collect()
    }

    /// Returns the makefile that make reads.
    pub(super) fn makefile(&self) -> Option<&'static str> {
        self.first(&["GNUmakefile", "makefile", "Makefile"])
    }

    /// Returns the interpreter of its own virtual environment, else the one that is installed.
    pub(super) fn python(&self) -> &'static str {
        self.first(&[".venv/bin/python", "venv/bin/python"])
            .unwrap_or("python3")
    }

    fn is_python(&self) -> bool {
        const MANIFESTS: &[&str] = &[
            "pyproject.toml",
            "setup.py",
            "setup.cfg",
            "pytest.ini",
            "tox.ini",
            "requirements.txt",
        ];
        self.first(MANIFESTS).is_some()
            || ["", "test", "tests"]
                .iter()
                .any(|folder| self.any_in(folder, is_module))
    }

    /// Creates a project of these files.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Project {
        Project {
            present: files.iter().map(|(path, _)| (*path).to_owned()).collect(),
            texts: files
                .iter()
                .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
                .collect(),
            rust_files: Vec::new(),
        }
    }

    /// Adds the Rust files that a call names.
    #[cfg(test)]
    pub(super) fn naming(mut self, named: &[&str]) -> Project {
        let text_of = |path: &str| self.texts.get(path).cloned();
        let files = named.iter().filter(|path| path.ends_with(OF_RUST));
        self.rust_files = files
            .map(|path| RustFile {
                path: (*path).to_owned(),
                edition: edition_of(&text_of, path),
            })
            .collect();
        self
    }
}

fn is_module(name: &str) -> bool {
    name.ends_with(".py")
}

/// Returns a Rust file with its edition.
fn rust_file(files: &Files, path: &str) -> RustFile {
    let text_of = |manifest: &str| {
        files
            .metadata(manifest)
            .is_ok()
            .then(|| text(files, manifest))
    };
    RustFile {
        path: path.to_owned(),
        edition: edition_of(&text_of, path),
    }
}

fn text(files: &Files, path: &str) -> String {
    let mut bytes = Vec::new();
    let read = files
        .open(path)
        .map(|opened| opened.file.take(MANIFEST_BYTES).read_to_end(&mut bytes));
    match read {
        Ok(Ok(_)) => String::from_utf8_lossy(&bytes).into_owned(),
        _ => String::new(),
    }
}
