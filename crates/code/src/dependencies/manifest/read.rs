//! Which files are manifests, and how each is read.
//!
//! Nothing here is recursive, and libraries bound what they parse: `toml` refuses values deeper
//! than 80 levels, `jsonc-parser` than 512 and `serde-saphyr` than 64, which has a budget for
//! aliases as well; `roxmltree` parses without recursion, and entities to a depth of 10.

use super::model::{Manifest, ManifestError};
use super::{cargo, cmake, go, gradle, maven, npm, python, requirements};

/// Maximum size of a manifest in bytes: of a crafted one, the parser of TOML makes eighty times as
/// much.
pub const MAX_MANIFEST_BYTES: usize = 512 << 10;

/// Maximum number of lines of a manifest, each of which may name a dependency.
const MAX_LINES: usize = 50_000;

impl Manifest {
    /// Reports whether a path is that of a manifest.
    pub fn is_named(path: &str) -> bool {
        reader(path).is_some()
    }

    /// Reads a manifest, whose path says its kind.
    ///
    /// # Errors
    /// [`ManifestError`] with the line that is not valid.
    pub fn read(path: &str, text: &str) -> Result<Manifest, ManifestError> {
        if text.len() > MAX_MANIFEST_BYTES {
            let message = format!("larger than {} kB", MAX_MANIFEST_BYTES >> 10);
            return Err(ManifestError { line: 1, message });
        }
        if text.bytes().filter(|byte| *byte == b'\n').count() > MAX_LINES {
            let message = format!("more than {MAX_LINES} lines");
            return Err(ManifestError {
                line: MAX_LINES,
                message,
            });
        }
        let Some(read) = reader(path) else {
            let message = "not called like a manifest".to_owned();
            return Err(ManifestError { line: 1, message });
        };
        read(path, text)
    }
}

/// What reads a manifest, by its path and its text.
type Reader = fn(&str, &str) -> Result<Manifest, ManifestError>;

fn reader(path: &str) -> Option<Reader> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    Some(match name {
        "Cargo.toml" => cargo::read,
        "package.json" => npm::read,
        "pyproject.toml" => python::read_project,
        "setup.cfg" => |path, text| Ok(python::read_setup(path, text)),
        "go.mod" => go::read,
        "go.work" => go::read_workspace,
        "pnpm-workspace.yaml" => npm::read_pnpm,
        "pom.xml" => maven::read,
        "build.gradle" | "build.gradle.kts" => |path, text| Ok(gradle::read(path, text)),
        "CMakeLists.txt" => |path, text| Ok(cmake::read(path, text)),
        _ if is_config(name) => npm::read_config,
        _ if name.ends_with(".txt") && is_requirements(folder, name) => {
            |path, text| Ok(requirements::read(path, text))
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
