//! What a project depends on: what its manifests declare, what its files import, and what follows
//! from both: circles, dependencies that nothing imports, and packages that nothing declares.
//!
//! [`FileImports::analyze`] and [`Manifest::read`] are functions of one file alone;
//! [`DependencyGraph::from_project`] joins them. Everything is as written: nothing is downloaded,
//! built or run, so that a name that only a build knows leads nowhere.

mod cycles;
mod declared;
mod graph;
mod imports;
mod link;
mod manifest;
mod model;
mod place;
mod project;
mod resolve;
mod standard;
mod unused;
mod view;

pub use imports::{FileImports, ImportKind};
pub use manifest::{
    Dependency, DependencyKind, DependencySource, Ecosystem, MAX_MANIFEST_BYTES, Manifest,
    ManifestError, python_name,
};
pub use model::{
    Cycle, CycleStep, Declaration, DependencyGraph, ExternalPackage, ImportTarget, Importer,
    InvalidManifest, Module, ModuleImport, Package, PackageCycle, UndeclaredPackage,
    UnresolvedImport, UnusedDependency,
};
pub use project::ProjectFiles;
