//! What the manifests of packages declare, each by a pure function of its path and its text.

mod cargo;
mod cmake;
mod go;
mod gradle;
mod json_file;
mod maven;
mod model;
mod npm;
mod python;
mod read;
mod requirements;
mod toml_file;

pub(super) use model::{Alias, CargoSettings, Settings};
pub use model::{Dependency, DependencyKind, DependencySource, Ecosystem, Manifest, ManifestError};
pub use read::MAX_MANIFEST_BYTES;
pub use requirements::python_name;
