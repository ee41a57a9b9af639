//! What the manifests of packages declare, each by a pure function of its path and its text.

mod cargo;
mod cmake;
mod go;
mod gradle;
mod json_file;
mod lines;
mod maven;
mod model;
mod npm;
mod pnpm;
mod python;
mod read;
mod setup_py;
mod toml_file;
mod yaml_file;

pub use model::{Dependency, DependencyKind, DependencySource, Ecosystem, Manifest, ManifestError};
pub(super) use model::{GradleCatalog, NpmSettings, PnpmSettings, Settings, TsConfig};
pub(super) use npm::specified;
pub(super) use python::normalized;
pub use read::MAX_MANIFEST_BYTES;
