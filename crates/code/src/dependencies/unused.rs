//! Which declared dependencies no file imports, and why they may be needed all the same.

use std::collections::HashSet;

use super::manifest::{Dependency, DependencyKind, Ecosystem, Manifest, Settings, python_name};
use super::model::UnusedDependency;
use super::place::{is_within, name_of};
use super::project::{Index, folder};
use crate::error::CodeError;
use crate::language::Language;
use crate::source::{Stop, go_on};

/// The endings of files with scripts of JavaScript that are not read.
const COMPONENTS: [&str; 4] = [".astro", ".mdx", ".svelte", ".vue"];
const OF_COMPONENTS: &str =
    "imported by a component (Astro, MDX, Svelte, Vue), whose script is not read";

/// What is known of the use of dependencies.
pub(super) struct Usage<'u> {
    pub(super) index: &'u Index<'u>,
    /// The manifests and the numbers of the dependencies that are imported.
    pub(super) used: HashSet<(usize, usize)>,
    /// The manifests whose code imports packages that none declares.
    pub(super) lacking: &'u HashSet<usize>,
}

impl Usage<'_> {
    /// Returns the dependencies that are not used.
    ///
    /// # Errors
    /// [`CodeError::Stopped`] if `stop` said so.
    pub(super) fn unused(&self, stop: Stop<'_>) -> Result<Vec<UnusedDependency>, CodeError> {
        let mut unused = Vec::new();
        for (manifest, number) in self.index.project.manifests.iter().zip(0..) {
            if !self.has_code(manifest) {
                continue;
            }
            let used = self.used_names(number, manifest);
            let has_components = self.has_components(manifest);
            for dependency in &manifest.dependencies {
                go_on(stop)?;
                let is_used = used.contains(dependency.known_as());
                if is_used || needs_no_import(manifest, dependency) {
                    continue;
                }
                let perhaps = match manifest.ecosystem {
                    Ecosystem::Npm if has_components => Some(OF_COMPONENTS),
                    _ => self.perhaps(number, manifest, dependency),
                };
                unused.push(UnusedDependency {
                    manifest: manifest.path.clone(),
                    line: dependency.line,
                    name: dependency.name.clone(),
                    kind: dependency.kind,
                    perhaps: perhaps.map(str::to_owned),
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
        self.index.project.code.iter().any(|(path, imports)| {
            let fits = match imports.language {
                Language::Rust => manifest.ecosystem == Ecosystem::Cargo,
                Language::Go => manifest.ecosystem == Ecosystem::Go,
                Language::JavaScript | Language::TypeScript | Language::Tsx => {
                    manifest.ecosystem == Ecosystem::Npm
                }
                Language::Python => manifest.ecosystem == Ecosystem::Python,
                Language::Java | Language::C | Language::Cpp | Language::Shell => false,
            };
            fits && is_within(path, place)
        })
    }

    /// Reports whether files that are not read may import what a `package.json` declares.
    fn has_components(&self, manifest: &Manifest) -> bool {
        self.index.project.paths.iter().any(|path| {
            COMPONENTS.iter().any(|ending| path.ends_with(ending))
                && is_within(path, folder(manifest))
        })
    }

    /// Returns why a dependency may be needed without being imported.
    fn perhaps(
        &self,
        number: usize,
        manifest: &Manifest,
        dependency: &Dependency,
    ) -> Option<&'static str> {
        let is_for_development = dependency.kind == DependencyKind::Dev;
        match &manifest.settings {
            Settings::Cargo(_) if dependency.name.ends_with("-sys") => {
                Some("a native library, which may only be linked")
            }
            Settings::Cargo(_) if !dependency.features.is_empty() => {
                Some("it may only select features of a package that others use")
            }
            Settings::Cargo(_) if self.lacking.contains(&number) => {
                Some("its library may have another name")
            }
            Settings::Npm(_) if is_for_development => {
                Some("a tool or a plugin, which need no import")
            }
            _ if manifest.ecosystem != Ecosystem::Python => None,
            _ if is_for_development => Some("for development, where a program may use it"),
            _ => Some("its modules may have another name"),
        }
    }
}

/// Reports whether a dependency is there for another one, for the build, for its types, or for a
/// program that the manifest names.
fn needs_no_import(manifest: &Manifest, dependency: &Dependency) -> bool {
    let name = dependency.name.as_str();
    let is_elsewhere = match dependency.kind {
        DependencyKind::Peer | DependencyKind::Indirect => true,
        DependencyKind::Build => manifest.ecosystem == Ecosystem::Python,
        DependencyKind::Runtime | DependencyKind::Dev | DependencyKind::Optional => false,
    };
    let is_named = match &manifest.settings {
        Settings::Npm(settings) => {
            name.starts_with("@types/")
                || settings.texts.contains(name)
                || settings.texts.contains(name_of(name))
        }
        Settings::Go { tools, .. } => tools.iter().any(|tool| is_within(tool, name)),
        Settings::Python { tools, .. } => {
            name.starts_with("types-") || tools.contains(&python_name(name))
        }
        _ => false,
    };
    is_elsewhere || is_named
}
