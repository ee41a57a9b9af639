//! Which declared dependencies no file imports, and why they may be needed all the same.

use std::collections::HashSet;

use super::manifest::{
    Dependency, DependencyKind, Ecosystem, Manifest, NpmSettings, Settings, normalized,
};
use super::model::UnusedDependency;
use super::place::is_within;
use super::project::folder;
use crate::error::CodeError;
use crate::language::Language;
use crate::source::Stop;

/// Packages of npm whose programs have another name.
const PROGRAMS: [(&str, &str); 12] = [
    ("typescript", "tsc"),
    ("@angular/cli", "ng"),
    ("@biomejs/biome", "biome"),
    ("@changesets/cli", "changeset"),
    ("@nestjs/cli", "nest"),
    ("@playwright/test", "playwright"),
    ("@vue/cli-service", "vue-cli-service"),
    ("npm-run-all", "run-s"),
    ("npm-run-all", "run-p"),
    ("react-scripts", "react-scripts"),
    ("sass", "sass"),
    ("webpack-cli", "webpack"),
];
/// Distributions of Python that are programs, or that a build needs.
const TOOLS: [&str; 36] = [
    "bandit",
    "black",
    "build",
    "bump2version",
    "commitizen",
    "coverage",
    "cython",
    "flake8",
    "gunicorn",
    "hatch",
    "isort",
    "ipykernel",
    "jupyter",
    "jupyterlab",
    "mkdocs",
    "mypy",
    "nox",
    "pip",
    "pip-tools",
    "poetry",
    "pre-commit",
    "pylint",
    "pyright",
    "pytest",
    "ruff",
    "safety",
    "setuptools",
    "setuptools-scm",
    "sphinx",
    "tox",
    "twine",
    "uvicorn",
    "virtualenv",
    "wheel",
    "uv",
    "yapf",
];
const FEATURES: &str = "it may only select features of a package that others use";
const TOOL: &str = "a tool or a plugin, which need no import";
const TYPES: &str = "types, which need no import";
/// The endings of files with scripts of JavaScript that are not read.
const COMPONENTS: [&str; 4] = [".astro", ".mdx", ".svelte", ".vue"];
const OF_COMPONENTS: &str =
    "imported by a component (Astro, MDX, Svelte, Vue), whose script is not read";

/// What is known of the use of dependencies.
pub(super) struct Usage<'u> {
    pub(super) manifests: &'u [Manifest],
    /// The manifests and the numbers of the dependencies that are imported.
    pub(super) used: &'u HashSet<(usize, usize)>,
    /// The files of code with their languages.
    pub(super) files: Vec<(&'u str, Language)>,
    /// The manifests whose code imports packages that none declares.
    pub(super) lacking: &'u HashSet<usize>,
    /// The paths of all files.
    pub(super) paths: &'u [String],
}

impl Usage<'_> {
    /// Returns the dependencies that are not used.
    ///
    /// # Errors
    /// [`CodeError::Stopped`] if `stop` said so.
    pub(super) fn unused(&self, stop: Stop<'_>) -> Result<Vec<UnusedDependency>, CodeError> {
        let mut unused = Vec::new();
        for (manifest, number) in self.manifests.iter().zip(0..) {
            if !self.has_code(manifest) {
                continue;
            }
            let (used, has_components) = (
                self.used_names(number, manifest),
                self.has_components(manifest),
            );
            let lacks = self.lacking.contains(&number);
            for dependency in &manifest.dependencies {
                if stop() {
                    return Err(CodeError::Stopped);
                }
                let is_used = used.contains(dependency.known_as());
                if is_used
                    || is_elsewhere(manifest, dependency)
                    || self.is_named(manifest, dependency)
                {
                    continue;
                }
                unused.push(UnusedDependency {
                    manifest: manifest.path.clone(),
                    line: dependency.line,
                    name: dependency.name.clone(),
                    kind: dependency.kind,
                    perhaps: perhaps(manifest, dependency, has_components, lacks)
                        .map(str::to_owned),
                });
            }
        }
        Ok(unused)
    }

    /// Returns the names of the dependencies of a manifest that are imported. The same package may
    /// be declared for another platform or purpose as well, which is then used, too.
    fn used_names<'m>(&self, number: usize, manifest: &'m Manifest) -> HashSet<&'m str> {
        let places = manifest.dependencies.iter().zip(0..);
        let used = places.filter(|(_, place)| self.used.contains(&(number, *place)));
        used.map(|(dependency, _)| dependency.known_as()).collect()
    }

    /// Reports whether imports of the files that a manifest is for are known. Which package of Java
    /// brings a type is not, nor which package brings a header of C.
    fn has_code(&self, manifest: &Manifest) -> bool {
        let place = folder(manifest);
        self.files.iter().any(|(path, language)| {
            let fits = match manifest.ecosystem {
                Ecosystem::Cargo => *language == Language::Rust,
                Ecosystem::Go => *language == Language::Go,
                Ecosystem::Npm => matches!(
                    language,
                    Language::JavaScript | Language::TypeScript | Language::Tsx
                ),
                Ecosystem::Python => *language == Language::Python,
                Ecosystem::CMake | Ecosystem::Gradle | Ecosystem::Maven => false,
            };
            fits && is_within(path, place)
        })
    }

    /// Reports whether files that are not read may import what a `package.json` declares.
    fn has_components(&self, manifest: &Manifest) -> bool {
        let mut components = self.paths.iter().filter(|path| is_component(path));
        manifest.ecosystem == Ecosystem::Npm
            && components.any(|path| is_within(path, folder(manifest)))
    }

    /// Reports whether something else than an import names a dependency.
    fn is_named(&self, manifest: &Manifest, dependency: &Dependency) -> bool {
        match &manifest.settings {
            Settings::Npm(settings) => {
                is_program(settings, &dependency.name)
                    || settings.texts.iter().any(|text| text == &dependency.name)
                    || self.has_typed(manifest, &dependency.name)
                    || self.is_extended(manifest, &dependency.name)
            }
            Settings::Go { tools, .. } => {
                tools.iter().any(|tool| is_within(tool, &dependency.name))
            }
            Settings::Python(settings) => settings
                .used_elsewhere
                .iter()
                .any(|tool| normalized(tool) == normalized(&dependency.name)),
            _ => false,
        }
    }

    /// Reports whether types belong to a package that is declared, or to Node.js.
    fn has_typed(&self, manifest: &Manifest, name: &str) -> bool {
        let Some(typed) = name.strip_prefix("@types/") else {
            return false;
        };
        let typed = match typed.split_once("__") {
            Some((scope, name)) => format!("@{scope}/{name}"),
            None => typed.to_owned(),
        };
        let is_declared = |manifest: &Manifest| {
            manifest
                .dependencies
                .iter()
                .any(|other| other.name == typed)
        };
        let around = self.manifests.iter().filter(|other| {
            other.ecosystem == Ecosystem::Npm && is_within(folder(manifest), folder(other))
        });
        typed == "node" || around.into_iter().any(is_declared)
    }

    /// Reports whether a configuration of TypeScript extends a package.
    fn is_extended(&self, manifest: &Manifest, name: &str) -> bool {
        let configs = self
            .manifests
            .iter()
            .filter(|other| is_within(folder(other), folder(manifest)));
        let mut extended = configs.filter_map(|other| match &other.settings {
            Settings::TsConfig(config) => Some(&config.extends),
            _ => None,
        });
        extended.any(|extends| extends.iter().any(|one| is_within(one, name)))
    }
}

fn is_component(path: &str) -> bool {
    COMPONENTS.iter().any(|ending| path.ends_with(ending))
}

/// Reports whether something else decides about a dependency: who uses the package, another
/// dependency, or the build.
fn is_elsewhere(manifest: &Manifest, dependency: &Dependency) -> bool {
    match dependency.kind {
        DependencyKind::Peer | DependencyKind::Indirect => true,
        DependencyKind::Build => manifest.ecosystem == Ecosystem::Python,
        DependencyKind::Runtime | DependencyKind::Dev | DependencyKind::Optional => false,
    }
}

fn is_program(settings: &NpmSettings, name: &str) -> bool {
    let own = name.rsplit('/').next().unwrap_or(name);
    let others = PROGRAMS
        .iter()
        .filter(|(package, _)| *package == name)
        .map(|(_, program)| *program);
    let programs: Vec<&str> = std::iter::once(own).chain(others).collect();
    let is_one = |word: &String| {
        let last = word.rsplit('/').next().unwrap_or(word);
        word == name || programs.contains(&last)
    };
    settings.script_words.iter().any(is_one)
}

/// Returns why a dependency may be needed without being imported; `lacks` says whether code imports
/// what is not declared.
fn perhaps(
    manifest: &Manifest,
    dependency: &Dependency,
    has_components: bool,
    lacks: bool,
) -> Option<&'static str> {
    let of_components = if has_components {
        Some(OF_COMPONENTS)
    } else {
        None
    };
    match &manifest.settings {
        Settings::Cargo(settings) => of_cargo(&settings.forwarded, dependency, lacks),
        Settings::Npm(_) => of_npm(dependency).or(of_components),
        Settings::Python(_) | Settings::Requirements { .. } => of_python(dependency),
        _ => None,
    }
}

fn of_cargo(forwarded: &[String], dependency: &Dependency, lacks: bool) -> Option<&'static str> {
    if dependency.name.ends_with("-sys") {
        Some("a native library, which may only be linked")
    } else if !dependency.features.is_empty()
        || forwarded.iter().any(|name| name == dependency.known_as())
    {
        Some(FEATURES)
    } else if lacks {
        Some("its library may have another name")
    } else {
        None
    }
}

fn of_npm(dependency: &Dependency) -> Option<&'static str> {
    let name = dependency.name.as_str();
    let is_plugin = [
        "plugin", "preset", "loader", "config", "eslint", "babel", "postcss", "polyfill",
    ];
    if name.starts_with("@types/") {
        Some(TYPES)
    } else if dependency.kind == DependencyKind::Dev
        || is_plugin.iter().any(|word| name.contains(word))
    {
        Some(TOOL)
    } else {
        None
    }
}

fn of_python(dependency: &Dependency) -> Option<&'static str> {
    let name = normalized(&dependency.name);
    let is_plugin = [
        "pytest-",
        "flake8-",
        "mkdocs-",
        "sphinx-",
        "sphinxcontrib-",
        "mypy-",
        "hatch-",
    ];
    if name.starts_with("types-") || name.ends_with("-stubs") {
        Some(TYPES)
    } else if TOOLS.contains(&name.as_str())
        || is_plugin.iter().any(|begin| name.starts_with(begin))
    {
        Some(TOOL)
    } else if dependency.kind == DependencyKind::Dev {
        Some("for development, where a program may use it")
    } else {
        Some("its modules may have another name")
    }
}
