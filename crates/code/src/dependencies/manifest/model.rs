//! What manifests declare.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::super::place::{folder_of, join};

/// A world of packages with one kind of manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ecosystem {
    /// Rust.
    Cargo,
    /// C and C++.
    CMake,
    /// Go.
    Go,
    /// Java, by Gradle.
    Gradle,
    /// Java, by Maven.
    Maven,
    /// JavaScript and TypeScript.
    Npm,
    /// Python.
    Python,
}

impl Ecosystem {
    /// Returns the name for users.
    pub fn name(self) -> &'static str {
        match self {
            Ecosystem::Cargo => "cargo",
            Ecosystem::CMake => "cmake",
            Ecosystem::Go => "go",
            Ecosystem::Gradle => "gradle",
            Ecosystem::Maven => "maven",
            Ecosystem::Npm => "npm",
            Ecosystem::Python => "python",
        }
    }
}

/// What a dependency is needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DependencyKind {
    /// To run.
    Runtime,
    /// To develop and test.
    Dev,
    /// To build.
    Build,
    /// For a feature or an extra that may be left out.
    Optional,
    /// Brought by whoever uses the package.
    Peer,
    /// By another dependency.
    Indirect,
}

impl DependencyKind {
    /// Returns the name for users.
    pub fn name(self) -> &'static str {
        match self {
            DependencyKind::Runtime => "runtime",
            DependencyKind::Dev => "dev",
            DependencyKind::Build => "build",
            DependencyKind::Optional => "optional",
            DependencyKind::Peer => "peer",
            DependencyKind::Indirect => "indirect",
        }
    }
}

/// Where a dependency comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DependencySource {
    /// The registry of its ecosystem.
    #[default]
    Registry,
    /// A folder, relative to that of the manifest.
    Path(String),
    /// A git repository.
    Git(String),
    /// An archive.
    Url(String),
    /// The workspace, by its name.
    Workspace,
}

/// A dependency that a manifest declares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dependency {
    /// The name of the package.
    pub name: String,
    /// The name by which the code knows it, if it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// The versions that it may have, as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirement: Option<String>,
    /// What it is needed for.
    pub kind: DependencyKind,
    /// Whether it may be left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// The group or extra that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The platform that alone needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Where it comes from.
    pub source: DependencySource,
    /// The number of its line in the manifest, from 1.
    pub line: usize,
    /// The features that are asked of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<String>,
    /// The manifest of the package of the same project that it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<String>,
    /// How many modules import it.
    #[serde(default)]
    pub imported_by: usize,
}

impl Dependency {
    pub(crate) fn new(name: impl Into<String>, kind: DependencyKind, line: usize) -> Dependency {
        Dependency {
            name: name.into(),
            alias: None,
            requirement: None,
            kind,
            optional: kind == DependencyKind::Optional,
            group: None,
            target: None,
            source: DependencySource::Registry,
            line,
            features: Vec::new(),
            own: None,
            imported_by: 0,
        }
    }

    /// Returns the name by which the code knows it.
    pub fn known_as(&self) -> &str {
        self.alias.as_deref().unwrap_or(&self.name)
    }
}

/// What a manifest declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Its ecosystem.
    pub ecosystem: Ecosystem,
    /// Its path.
    pub path: String,
    /// The name of the package, if it is one.
    pub name: Option<String>,
    /// The version of the package.
    pub version: Option<String>,
    /// What the package depends on.
    pub dependencies: Vec<Dependency>,
    /// What else it says.
    pub(crate) settings: Settings,
}

impl Manifest {
    pub(crate) fn new(ecosystem: Ecosystem, path: &str, settings: Settings) -> Manifest {
        let (name, version, dependencies) = (None, None, Vec::new());
        Manifest {
            ecosystem,
            path: path.to_owned(),
            name,
            version,
            dependencies,
            settings,
        }
    }

    /// Returns the paths of other files that it includes, as requirements do.
    pub fn includes(&self) -> Vec<String> {
        let Settings::Requirements { includes } = &self.settings else {
            return Vec::new();
        };
        includes
            .iter()
            .filter_map(|included| join(folder_of(&self.path), included))
            .collect()
    }
}

/// What a manifest says besides its dependencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Settings {
    Cargo(Box<CargoSettings>),
    Npm(NpmSettings),
    Pnpm(PnpmSettings),
    TsConfig(TsConfig),
    Go {
        replaced: BTreeMap<String, String>,
        tools: Vec<String>,
    },
    GoWork {
        members: Vec<String>,
        replaced: BTreeMap<String, String>,
    },
    Gradle(GradleCatalog),
    Python(PythonSettings),
    Requirements {
        includes: Vec<String>,
    },
    Plain,
}

impl Settings {
    /// Reports whether they are of a package: others only say where packages and their dependencies
    /// are.
    pub(crate) fn are_of_package(&self) -> bool {
        match self {
            Settings::Pnpm(_)
            | Settings::TsConfig(_)
            | Settings::GoWork { .. }
            | Settings::Gradle(_) => false,
            Settings::Cargo(_)
            | Settings::Npm(_)
            | Settings::Go { .. }
            | Settings::Python(_)
            | Settings::Requirements { .. }
            | Settings::Plain => true,
        }
    }
}

/// What a `Cargo.toml` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CargoSettings {
    /// The name of the library in code.
    pub(crate) library: Option<String>,
    /// The root of the library, if it names one.
    pub(crate) library_root: Option<String>,
    pub(crate) is_2015: bool,
    /// The roots of other targets that it names.
    pub(crate) roots: Vec<String>,
    pub(crate) build: Option<String>,
    pub(crate) is_workspace: bool,
    pub(crate) members: Vec<String>,
    pub(crate) excluded: Vec<String>,
    pub(crate) shared: BTreeMap<String, Dependency>,
    pub(crate) shared_version: Option<String>,
    pub(crate) inherits_version: bool,
    /// The dependencies of which its features select features.
    pub(crate) forwarded: Vec<String>,
}

/// What a `package.json` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NpmSettings {
    pub(crate) workspaces: Vec<String>,
    /// Where its own modules begin, in the order in which they are tried.
    pub(crate) entries: Vec<String>,
    /// Its subpaths that others may import, without patterns.
    pub(crate) exports: BTreeMap<String, String>,
    /// Its own names for modules, such as `#db`.
    pub(crate) imports: BTreeMap<String, String>,
    /// The words of its scripts.
    pub(crate) script_words: Vec<String>,
    /// All other texts, such as the plugins of tools that are configured in it.
    pub(crate) texts: Vec<String>,
}

/// What a `pnpm-workspace.yaml` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PnpmSettings {
    pub(crate) members: Vec<String>,
    /// The versions of packages that members may refer to, by the names of catalogs and of
    /// packages.
    pub(crate) catalogs: BTreeMap<String, BTreeMap<String, String>>,
}

/// What a version catalog of Gradle says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GradleCatalog {
    /// The name by which scripts know it.
    pub(crate) name: String,
    /// The coordinates and the version of each alias, with dots between its parts.
    pub(crate) libraries: BTreeMap<String, (String, Option<String>)>,
    /// The aliases that others stand for.
    pub(crate) bundles: BTreeMap<String, Vec<String>>,
}

/// What a file of a Python project says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PythonSettings {
    pub(crate) members: Vec<String>,
    /// Where its modules are.
    pub(crate) folders: Vec<String>,
    /// The names of programs that it configures.
    pub(crate) used_elsewhere: Vec<String>,
    /// Whether code computes what it depends on.
    pub(crate) is_computed: bool,
}

/// What a `tsconfig.json` says of the places of modules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TsConfig {
    pub(crate) extends: Vec<String>,
    pub(crate) base: Option<String>,
    /// Patterns with at most one `*`, and what they stand for.
    pub(crate) paths: Vec<(String, Vec<String>)>,
}

/// Why a manifest cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ManifestError {
    /// The number of the line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}
