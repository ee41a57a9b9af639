//! Joins the manifests of a project: what members inherit of their workspace, and which
//! dependencies are packages of the same project.

use std::collections::HashMap;

use globset::GlobSet;

use super::manifest::{
    CargoSettings, Dependency, DependencySource, Ecosystem, Manifest, Settings, python_name,
};
use super::place::{folder_of, is_within, join, patterns, upwards};
use super::project::folder;
use crate::error::CodeError;
use crate::source::{Stop, go_on};

/// Completes manifests, and returns for each the workspace that it is a member of.
///
/// # Errors
/// [`CodeError::Stopped`] if `stop` said so.
pub(super) fn link(
    manifests: &mut [Manifest],
    stop: Stop<'_>,
) -> Result<Vec<Option<String>>, CodeError> {
    manifests.sort_by(|left, right| left.path.cmp(&right.path));
    inherit(manifests);
    let packages = Packages::from_manifests(manifests);
    for manifest in manifests.iter_mut() {
        let mut dependencies = std::mem::take(&mut manifest.dependencies);
        dependencies.sort_by_key(|dependency| dependency.line);
        for dependency in &mut dependencies {
            go_on(stop)?;
            dependency.own = packages.find(manifest, dependency).cloned();
        }
        manifest.dependencies = dependencies;
    }
    let mut workspaces = Vec::new();
    for manifest in manifests.iter() {
        go_on(stop)?;
        workspaces.extend(Workspace::from_manifest(manifest));
    }
    let mut found = Vec::new();
    for manifest in manifests.iter() {
        go_on(stop)?;
        let mut around = workspaces
            .iter()
            .rev()
            .filter(|workspace| manifest.name.is_some() && workspace.has(manifest));
        found.push(around.next().map(|workspace| workspace.path.clone()));
    }
    Ok(found)
}

/// Replaces what packages of cargo take from their workspace, and makes the paths of dependencies
/// begin at the root.
fn inherit(manifests: &mut [Manifest]) {
    let mut roots: HashMap<String, CargoSettings> = HashMap::new();
    for manifest in manifests.iter() {
        if let (Settings::Cargo(settings), Some(_)) = (&manifest.settings, &manifest.members) {
            roots.insert(folder(manifest).to_owned(), CargoSettings::clone(settings));
        }
    }
    for manifest in manifests {
        let own = folder(manifest).to_owned();
        let root = upwards(&own).find_map(|folder| roots.get_key_value(folder));
        if let (Settings::Cargo(settings), Some((_, shared))) = (&manifest.settings, root)
            && settings.inherits_version
        {
            manifest.version.clone_from(&shared.shared_version);
        }
        for dependency in &mut manifest.dependencies {
            let mut from = &own;
            if manifest.ecosystem == Ecosystem::Cargo
                && dependency.source == DependencySource::Workspace
                && let Some((folder, settings)) = root
                && let Some(shared) = settings.shared.get(dependency.known_as())
            {
                from = folder;
                take(dependency, shared);
            }
            // Gradle's paths begin at the root of a build.
            if manifest.ecosystem != Ecosystem::Gradle
                && let DependencySource::Path(path) = &mut dependency.source
                && let Some(whole) = join(from, path)
            {
                *path = whole;
            }
        }
    }
}

fn take(dependency: &mut Dependency, shared: &Dependency) {
    dependency.name.clone_from(&shared.name);
    dependency.alias.clone_from(&shared.alias);
    dependency.requirement.clone_from(&shared.requirement);
    dependency.source.clone_from(&shared.source);
    dependency.features.extend(shared.features.iter().cloned());
}

/// The packages of the project, each with its manifest.
struct Packages {
    by_name: HashMap<(Ecosystem, String), String>,
    by_folder: HashMap<(Ecosystem, String), String>,
}

impl Packages {
    fn from_manifests(manifests: &[Manifest]) -> Packages {
        let mut packages = Packages {
            by_name: HashMap::new(),
            by_folder: HashMap::new(),
        };
        for manifest in manifests {
            let Some(name) = &manifest.name else { continue };
            let (ecosystem, path) = (manifest.ecosystem, &manifest.path);
            packages
                .by_name
                .entry((ecosystem, comparable(ecosystem, name)))
                .or_insert_with(|| path.clone());
            packages
                .by_folder
                .entry((ecosystem, folder(manifest).to_owned()))
                .or_insert_with(|| path.clone());
        }
        packages
    }

    /// Returns the manifest of the package that a dependency of another is.
    fn find(&self, from: &Manifest, dependency: &Dependency) -> Option<&String> {
        let ecosystem = from.ecosystem;
        let name = comparable(ecosystem, &dependency.name);
        // A package is not what a registry has under its name.
        let named = self
            .by_name
            .get(&(ecosystem, name))
            .filter(|own| **own != from.path);
        match &dependency.source {
            DependencySource::Path(path) if ecosystem == Ecosystem::Gradle => {
                // The root of the build is the nearest folder from which the path leads somewhere.
                upwards(folder_of(&from.path))
                    .find_map(|root| self.by_folder.get(&(ecosystem, join(root, path)?)))
            }
            DependencySource::Path(path) => {
                self.by_folder.get(&(ecosystem, path.clone())).or(named)
            }
            DependencySource::Workspace => named,
            // A registry may have another package of the same name, except where the names are
            // those of the project.
            DependencySource::Registry if ecosystem != Ecosystem::Cargo => named,
            DependencySource::Registry | DependencySource::Git(_) | DependencySource::Url(_) => {
                None
            }
        }
    }
}

fn comparable(ecosystem: Ecosystem, name: &str) -> String {
    if ecosystem == Ecosystem::Python {
        python_name(name)
    } else {
        name.to_owned()
    }
}

/// A manifest that lists members.
struct Workspace {
    path: String,
    ecosystem: Ecosystem,
    members: GlobSet,
    excluded: GlobSet,
}

impl Workspace {
    fn from_manifest(manifest: &Manifest) -> Option<Workspace> {
        let members = manifest.members.as_ref()?;
        let excluded = members.iter().filter_map(|one| one.strip_prefix('!'));
        let named = members.iter().filter(|one| !one.starts_with('!'));
        Some(Workspace {
            path: manifest.path.clone(),
            ecosystem: manifest.ecosystem,
            members: patterns(named.map(String::as_str)),
            excluded: patterns(excluded),
        })
    }

    fn has(&self, manifest: &Manifest) -> bool {
        let (root, folder) = (folder_of(&self.path), folder(manifest));
        if manifest.ecosystem != self.ecosystem || !is_within(folder, root) {
            return false;
        }
        let inner = folder.strip_prefix(root).unwrap_or(folder);
        let inner = inner.trim_start_matches('/');
        // A module of go in the folder of its workspace is a member only if that is said.
        let is_root = inner.is_empty() && self.ecosystem != Ecosystem::Go;
        (is_root || self.members.is_match(inner)) && !self.excluded.is_match(inner)
    }
}
