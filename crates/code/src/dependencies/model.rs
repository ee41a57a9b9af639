//! What the files of a project depend on.

use serde::{Deserialize, Serialize};

use super::imports::ImportKind;
use super::manifest::{Dependency, DependencyKind, Ecosystem, ManifestError};
use crate::language::Language;

/// The dependencies of a project, or of a part of it. Everything is ordered by path, or by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DependencyGraph {
    /// The packages that manifests describe.
    pub packages: Vec<Package>,
    /// The files of code; in Go, the folders that have them.
    pub modules: Vec<Module>,
    /// The imports of these modules by others that are not part of this graph.
    pub importers: Vec<Importer>,
    /// The packages that others provide.
    pub external: Vec<ExternalPackage>,
    /// The modules that import each other in a circle, one circle for each group.
    pub cycles: Vec<Cycle>,
    /// The packages that depend on each other in a circle, other than to be tested.
    pub package_cycles: Vec<PackageCycle>,
    /// The dependencies that no file imports.
    pub unused: Vec<UnusedDependency>,
    /// The packages that are imported but that no manifest declares.
    pub undeclared: Vec<UndeclaredPackage>,
    /// The imports that should lead to a file of the project but do not.
    pub unresolved: Vec<UnresolvedImport>,
    /// The manifests that are not valid.
    pub invalid: Vec<InvalidManifest>,
}

/// A package of the project, or what a file of requirements lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    /// The path of its manifest.
    pub manifest: String,
    /// The ecosystem.
    pub ecosystem: Ecosystem,
    /// The name, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The version, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The manifest of the workspace that it is a member of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// What it depends on, in the order of the manifest.
    pub dependencies: Vec<Dependency>,
}

/// A file of code, or a folder of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Module {
    /// Its path.
    pub path: String,
    /// Its language.
    pub language: Language,
    /// The manifest of its package.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub package: Option<String>,
    /// What it imports; what it imports several times, where it does first.
    pub imports: Vec<ModuleImport>,
    /// The number of modules that import it.
    pub imported_by: usize,
}

/// An import of a module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleImport {
    /// What it leads to.
    pub to: ImportTarget,
    /// The file, if the module is a folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The number of its line, from 1.
    pub line: usize,
    /// How it acts.
    pub kind: ImportKind,
}

/// What an import leads to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImportTarget {
    /// A module, by its path.
    Module(String),
    /// A package that others provide, or one of the project if no module of it is named.
    Package(String),
    /// What comes with the language.
    Standard(String),
}

/// An import that leads into the part of a project that a graph shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Importer {
    /// The path of the importing module.
    pub from: String,
    /// The path of the imported one.
    pub to: String,
    /// The number of the line, from 1.
    pub line: usize,
    /// How it acts.
    pub kind: ImportKind,
}

/// A package that others provide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalPackage {
    /// The ecosystem.
    pub ecosystem: Ecosystem,
    /// The name.
    pub name: String,
    /// Where it is declared.
    pub declared: Vec<Declaration>,
    /// The number of modules that import it.
    pub imported_by: usize,
}

/// A place where a package is declared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Declaration {
    /// The path of the manifest.
    pub manifest: String,
    /// The number of the line, from 1.
    pub line: usize,
    /// What it is needed for.
    pub kind: DependencyKind,
    /// The versions that it may have, as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirement: Option<String>,
}

/// Modules that import each other in a circle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cycle {
    /// A shortest circle: each step begins where the one before ends, and the last ends where the
    /// first begins.
    pub steps: Vec<CycleStep>,
    /// All modules of the group, each of which reaches each other one.
    pub members: Vec<String>,
}

/// A step of a circle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CycleStep {
    /// The path of the importing module.
    pub from: String,
    /// The file, if the module is a folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The number of the line, from 1.
    pub line: usize,
    /// How the import acts.
    pub kind: ImportKind,
}

/// Packages that depend on each other in a circle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageCycle {
    /// The manifests of a shortest circle.
    pub manifests: Vec<String>,
}

/// A dependency that no file imports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnusedDependency {
    /// The path of the manifest.
    pub manifest: String,
    /// The number of the line, from 1.
    pub line: usize,
    /// The name of the package.
    pub name: String,
    /// What it is said to be needed for.
    pub kind: DependencyKind,
    /// Why it may be needed without being imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub perhaps: Option<String>,
}

/// A package that is imported but that no manifest declares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndeclaredPackage {
    /// The ecosystem.
    pub ecosystem: Ecosystem,
    /// The name by which it is imported.
    pub name: String,
    /// The first file that imports it.
    pub file: String,
    /// The number of the line, from 1.
    pub line: usize,
    /// The number of files that import it.
    pub files: usize,
}

/// An import that leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnresolvedImport {
    /// The file.
    pub file: String,
    /// The number of the line, from 1.
    pub line: usize,
    /// What it imports, as written.
    pub target: String,
}

/// A manifest that is not valid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InvalidManifest {
    /// The path.
    pub path: String,
    /// What is wrong.
    #[serde(flatten)]
    pub error: ManifestError,
}
