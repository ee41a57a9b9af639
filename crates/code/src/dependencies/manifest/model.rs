//! What manifests declare.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

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

impl fmt::Display for Ecosystem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
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

impl fmt::Display for DependencyKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
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
    /// The patterns of its members' folders, if it is a workspace; `!` takes back what others name.
    pub(crate) members: Option<Vec<String>>,
    /// What else it says.
    pub(crate) settings: Settings,
}

impl Manifest {
    pub(crate) fn new(ecosystem: Ecosystem, path: &str, settings: Settings) -> Manifest {
        Manifest {
            ecosystem,
            path: path.to_owned(),
            name: None,
            version: None,
            dependencies: Vec::new(),
            members: None,
            settings,
        }
    }

    /// Reports whether it is of a package: others only say where packages and modules are.
    pub(crate) fn is_of_package(&self) -> bool {
        !matches!(self.settings, Settings::Workspace | Settings::TsConfig(_))
    }
}

/// What a manifest says besides its dependencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Settings {
    Cargo(Box<CargoSettings>),
    Npm(NpmSettings),
    TsConfig(TsConfig),
    Go {
        /// The folders that replace modules.
        replaced: BTreeMap<String, String>,
        tools: Vec<String>,
    },
    Python {
        /// Where its modules are.
        folders: Vec<String>,
        /// The names of programs that it configures.
        tools: Vec<String>,
    },
    /// It has members alone.
    Workspace,
    Plain,
}

/// What a `Cargo.toml` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CargoSettings {
    /// The name of the library in code.
    pub(crate) library: Option<String>,
    /// The root of the library, if it names one.
    pub(crate) library_root: Option<String>,
    /// The roots of other targets that it names.
    pub(crate) roots: Vec<String>,
    /// What members may inherit.
    pub(crate) shared: BTreeMap<String, Dependency>,
    pub(crate) shared_version: Option<String>,
    pub(crate) inherits_version: bool,
}

/// What a `package.json` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NpmSettings {
    /// Where its own modules begin, in the order in which they are tried.
    pub(crate) entries: Vec<String>,
    /// Its own names for modules, such as `#db`.
    pub(crate) imports: Vec<Alias>,
    /// The texts that may name a program or a plugin: in scripts, and in what configures tools.
    pub(crate) texts: BTreeSet<String>,
}

/// What a `tsconfig.json` says of the places of modules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TsConfig {
    pub(crate) extends: Vec<String>,
    pub(crate) base: Option<String>,
    pub(crate) paths: Vec<Alias>,
}

/// A pattern with at most one `*`, and what it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Alias {
    pub(crate) pattern: String,
    pub(crate) places: Vec<String>,
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

/// Where the lines of a text begin.
pub(super) struct Lines(Vec<usize>);

impl Lines {
    pub(super) fn from_text(text: &str) -> Lines {
        Lines(text.match_indices('\n').map(|(at, _)| at + 1).collect())
    }

    /// Returns the number of the line of a byte, from 1.
    pub(super) fn at(&self, byte: usize) -> usize {
        self.0.partition_point(|start| *start <= byte) + 1
    }
}
