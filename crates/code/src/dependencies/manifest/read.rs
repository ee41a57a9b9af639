//! Which files are manifests, and how each is read.

use super::model::{Manifest, ManifestError};
use super::{cargo, cmake, go, gradle, maven, npm, pnpm, python, setup_py};

/// Maximum size of a manifest in bytes: of a crafted one, the parser of TOML makes eighty times as
/// much.
pub const MAX_MANIFEST_BYTES: usize = 512 << 10;

/// Maximum number of lines of a manifest, each of which may name a dependency.
const MAX_LINES: usize = 50_000;

impl Manifest {
    /// Reports whether a path is that of a manifest, which may be code as well.
    pub fn is_named(path: &str) -> bool {
        reader(path).is_some()
    }

    /// Reads a manifest, whose path says its kind; other paths are read as requirements of Python.
    ///
    /// # Errors
    /// [`ManifestError`] with the line that is not valid.
    pub fn read(path: &str, text: &str) -> Result<Manifest, ManifestError> {
        if text.len() > MAX_MANIFEST_BYTES {
            return Err(ManifestError {
                line: 1,
                message: format!("larger than {} kB", MAX_MANIFEST_BYTES >> 10),
            });
        }
        if text.bytes().filter(|byte| *byte == b'\n').count() > MAX_LINES {
            return Err(ManifestError {
                line: MAX_LINES,
                message: format!("more than {MAX_LINES} lines"),
            });
        }
        match reader(path) {
            Some(Reader::Strict(read)) => read(path, text),
            Some(Reader::Lenient(read)) => Ok(read(path, text)),
            None => Ok(python::read_requirements(path, text)),
        }
    }
}

enum Reader {
    Strict(fn(&str, &str) -> Result<Manifest, ManifestError>),
    /// Formats in which whatever is not understood is something else.
    Lenient(fn(&str, &str) -> Manifest),
}

fn reader(path: &str) -> Option<Reader> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    Some(match name {
        "Cargo.toml" => Reader::Strict(cargo::read),
        "package.json" => Reader::Strict(npm::read),
        "pyproject.toml" => Reader::Strict(python::read_project),
        "setup.cfg" => Reader::Lenient(python::read_setup),
        // Without a grammar, nothing can be read from it.
        "setup.py" if cfg!(feature = "grammars") => Reader::Strict(setup_py::read),
        "go.mod" => Reader::Strict(go::read),
        "go.work" => Reader::Strict(go::read_workspace),
        "pnpm-workspace.yaml" => Reader::Strict(pnpm::read),
        "pom.xml" => Reader::Strict(maven::read),
        "build.gradle" | "build.gradle.kts" => Reader::Lenient(gradle::read_script),
        _ if gradle::is_catalog(name) => Reader::Strict(gradle::read_catalog),
        "CMakeLists.txt" => Reader::Lenient(cmake::read),
        _ if is_config(name) => Reader::Strict(npm::read_config),
        _ if name.ends_with(".txt") && is_requirements(folder, name) => {
            Reader::Lenient(python::read_requirements)
        }
        _ => return None,
    })
}

fn is_config(name: &str) -> bool {
    (name.starts_with("tsconfig") || name.starts_with("jsconfig")) && name.ends_with(".json")
}

fn is_requirements(folder: &str, name: &str) -> bool {
    let in_folder = folder == "requirements" || folder.ends_with("/requirements");
    in_folder || name.starts_with("requirements") || name.ends_with("-requirements.txt")
}
