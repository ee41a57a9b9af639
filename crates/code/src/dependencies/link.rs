//! Joins the manifests of a project: what members inherit of their workspace, and which
//! dependencies are packages of the same project.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::manifest::{
    Dependency, DependencySource, Ecosystem, GradleCatalog, Manifest, PnpmSettings, Settings,
    normalized, specified,
};
use super::place::{folder_of, is_within, join, matches, parent};
use super::project::folder;
use crate::error::CodeError;
use crate::source::Stop;

/// Maximum number of dependencies that stand in Gradle's catalogs: each script may name the same
/// large bundle.
const MAX_FROM_CATALOGS: usize = 100_000;

/// Completes manifests, and returns for each the workspace that it is a member of.
///
/// # Errors
/// [`CodeError::Stopped`] if `stop` said so.
pub(super) fn link(
    manifests: &mut [Manifest],
    stop: Stop<'_>,
) -> Result<Vec<Option<String>>, CodeError> {
    let go_on = || {
        if stop() {
            Err(CodeError::Stopped)
        } else {
            Ok(())
        }
    };
    manifests.sort_by(|left, right| left.path.cmp(&right.path));
    inherit(manifests);
    Catalogs::from_manifests(manifests).look_up(manifests);
    let packages = Packages::from_manifests(manifests);
    for manifest in manifests.iter_mut() {
        let Manifest {
            path,
            ecosystem,
            dependencies,
            ..
        } = manifest;
        let (path, ecosystem) = (path.clone(), *ecosystem);
        dependencies.sort_by_key(|dependency| dependency.line);
        for dependency in dependencies {
            go_on()?;
            // A package may test itself by its own path, but not be what a registry has under its
            // name.
            let by_path = matches!(dependency.source, DependencySource::Path(_));
            let own = packages
                .find(&path, ecosystem, dependency)
                .filter(|own| by_path || *own != path);
            dependency.own = own.map(str::to_owned);
        }
    }
    let workspaces: Vec<Workspace> = manifests
        .iter()
        .filter_map(Workspace::from_manifest)
        .collect();
    let member = |manifest: &Manifest| -> Result<Option<String>, CodeError> {
        go_on()?;
        let mut around = workspaces
            .iter()
            .filter(|workspace| workspace.has(manifest))
            .map(|one| one.path.clone());
        Ok(manifest.name.as_ref().and_then(|_| around.next_back()))
    };
    manifests.iter().map(member).collect()
}

/// Replaces what packages of cargo take from their workspace, and makes the paths of dependencies
/// begin at the root.
fn inherit(manifests: &mut [Manifest]) {
    let roots: HashMap<String, Manifest> = manifests
        .iter()
        .filter(|manifest| matches!(&manifest.settings, Settings::Cargo(settings) if settings.is_workspace))
        .map(|manifest| (folder(manifest).to_owned(), manifest.clone()))
        .collect();
    for manifest in manifests {
        let own = folder(manifest).to_owned();
        let root = nearest(&roots, &own);
        if let (Settings::Cargo(settings), Some((_, root))) = (&manifest.settings, root)
            && settings.inherits_version
            && let Settings::Cargo(shared) = &root.settings
        {
            manifest.version = shared.shared_version.clone();
        }
        for dependency in &mut manifest.dependencies {
            let mut from = own.as_str();
            if manifest.ecosystem == Ecosystem::Cargo
                && dependency.source == DependencySource::Workspace
                && let Some((
                    folder,
                    Manifest {
                        settings: Settings::Cargo(shared),
                        ..
                    },
                )) = root
                && let Some(shared) = shared.shared.get(dependency.known_as())
            {
                from = folder;
                take(dependency, shared);
            }
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
    let added = shared
        .features
        .iter()
        .filter(|feature| !dependency.features.contains(feature));
    let added: Vec<String> = added.cloned().collect();
    dependency.features.extend(added);
}

/// Returns what belongs to a folder or to the nearest one around it.
fn nearest<'m, T>(roots: &'m HashMap<String, T>, folder: &str) -> Option<(&'m str, &'m T)> {
    let mut place = Some(folder);
    while let Some(folder) = place {
        if let Some((folder, manifest)) = roots.get_key_value(folder) {
            return Some((folder, manifest));
        }
        place = parent(folder);
    }
    None
}

/// The versions that packages of a workspace share by their names.
struct Catalogs {
    /// By the folder of the workspace.
    npm: HashMap<String, PnpmSettings>,
    /// By the folder of the project whose scripts know them.
    gradle: HashMap<String, Vec<GradleCatalog>>,
    /// The folders that replace modules, by the folder of the workspace.
    go: HashMap<String, BTreeMap<String, String>>,
}

impl Catalogs {
    fn from_manifests(manifests: &[Manifest]) -> Catalogs {
        let mut catalogs = Catalogs {
            npm: HashMap::new(),
            gradle: HashMap::new(),
            go: HashMap::new(),
        };
        for manifest in manifests {
            let own = folder(manifest);
            match &manifest.settings {
                Settings::Pnpm(settings) => {
                    drop(catalogs.npm.insert(own.to_owned(), settings.clone()))
                }
                Settings::GoWork { replaced, .. } => {
                    drop(catalogs.go.insert(own.to_owned(), replaced.clone()))
                }
                Settings::Gradle(catalog) => {
                    // Gradle looks for them in the folder of its own files.
                    let project = if own.rsplit('/').next() == Some("gradle") {
                        folder_of(own)
                    } else {
                        own
                    };
                    catalogs
                        .gradle
                        .entry(project.to_owned())
                        .or_default()
                        .push(catalog.clone());
                }
                _ => {}
            }
        }
        catalogs
    }

    /// Replaces what dependencies take from catalogs; what is in none is no plain declaration, and
    /// left out.
    fn look_up(&self, manifests: &mut [Manifest]) {
        let mut room = MAX_FROM_CATALOGS;
        for manifest in manifests {
            let own = folder(manifest).to_owned();
            match manifest.ecosystem {
                Ecosystem::Npm => {
                    if let Some((_, settings)) = nearest(&self.npm, &own) {
                        manifest
                            .dependencies
                            .iter_mut()
                            .for_each(|dependency| take_pnpm(dependency, settings));
                    }
                }
                Ecosystem::Gradle => {
                    let catalogs =
                        nearest(&self.gradle, &own).map(|(_, catalogs)| catalogs.as_slice());
                    for one in std::mem::take(&mut manifest.dependencies) {
                        if one.source == DependencySource::Workspace {
                            let before = manifest.dependencies.len();
                            manifest
                                .dependencies
                                .extend(of_gradle(&one, catalogs.unwrap_or_default()).take(room));
                            room -= manifest.dependencies.len() - before;
                        } else {
                            manifest.dependencies.push(one);
                        }
                    }
                }
                Ecosystem::Go => {
                    let Some((root, replaced)) = nearest(&self.go, &own) else {
                        continue;
                    };
                    for dependency in &mut manifest.dependencies {
                        if let Some(place) = replaced
                            .get(&dependency.name)
                            .and_then(|place| join(root, place))
                        {
                            dependency.source = DependencySource::Path(place);
                        }
                    }
                }
                Ecosystem::Cargo | Ecosystem::CMake | Ecosystem::Maven | Ecosystem::Python => {}
            }
        }
    }
}

fn take_pnpm(dependency: &mut Dependency, settings: &PnpmSettings) {
    let requirement = dependency.requirement.as_deref().unwrap_or_default();
    if let Some(requirement) = settings.requirement(&dependency.name, requirement) {
        let found = specified(
            &dependency.name,
            requirement,
            dependency.kind,
            dependency.line,
        );
        *dependency = Dependency {
            optional: dependency.optional,
            ..found
        };
    }
}

/// Returns the dependencies that a declaration of Gradle stands for.
fn of_gradle(
    declared: &Dependency,
    catalogs: &[GradleCatalog],
) -> impl Iterator<Item = Dependency> {
    let libraries = catalogs
        .iter()
        .flat_map(|catalog| catalog.libraries(&declared.name));
    libraries.map(|(name, requirement)| Dependency {
        requirement: requirement.clone(),
        ..Dependency::new(name.clone(), declared.kind, declared.line)
    })
}

/// The packages of the project.
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
            let path = manifest.path.clone();
            let key = (manifest.ecosystem, comparable(manifest.ecosystem, name));
            packages.by_name.entry(key).or_insert_with(|| path.clone());
            packages
                .by_folder
                .entry((manifest.ecosystem, folder(manifest).to_owned()))
                .or_insert(path);
        }
        packages
    }

    /// Returns the manifest of the package that a dependency of the manifest at `from` is.
    fn find(&self, from: &str, ecosystem: Ecosystem, dependency: &Dependency) -> Option<&str> {
        let named = || {
            self.by_name
                .get(&(ecosystem, comparable(ecosystem, &dependency.name)))
        };
        let found = match &dependency.source {
            DependencySource::Path(path) if ecosystem == Ecosystem::Gradle => {
                self.of_gradle(from, path)
            }
            DependencySource::Path(path) => self
                .by_folder
                .get(&(ecosystem, path.clone()))
                .or_else(named),
            DependencySource::Workspace => named(),
            // A registry may have another package of the same name, except where the names are
            // those of the project.
            DependencySource::Registry if ecosystem != Ecosystem::Cargo => named(),
            DependencySource::Registry | DependencySource::Git(_) | DependencySource::Url(_) => {
                None
            }
        };
        found.map(String::as_str)
    }

    /// Returns the manifest of the project of Gradle with a path. Its root is not known, since only
    /// code says it, so of several builds the one that has most folders in common with the manifest
    /// at `from` is meant.
    fn of_gradle(&self, from: &str, path: &str) -> Option<&String> {
        let ending = format!("/{path}");
        let is_place = |folder: &str| folder == path || folder.ends_with(&ending);
        let common = |folder: &str| {
            folder
                .split('/')
                .zip(from.split('/'))
                .take_while(|(one, other)| one == other)
                .count()
        };
        let places = self
            .by_folder
            .iter()
            .filter(|((other, folder), _)| *other == Ecosystem::Gradle && is_place(folder));
        let nearest = places.min_by(|((_, left), _), ((_, right), _)| {
            (Reverse(common(left)), left.len(), left).cmp(&(
                Reverse(common(right)),
                right.len(),
                right,
            ))
        });
        nearest.map(|(_, manifest)| manifest)
    }
}

fn comparable(ecosystem: Ecosystem, name: &str) -> String {
    if ecosystem == Ecosystem::Python {
        normalized(name)
    } else {
        name.to_owned()
    }
}

/// A manifest that lists members.
struct Workspace {
    path: String,
    ecosystem: Ecosystem,
    members: Vec<String>,
    excluded: Vec<String>,
    /// The packages that it depends on by their folders, which are members as well.
    linked: Vec<String>,
}

impl Workspace {
    fn from_manifest(manifest: &Manifest) -> Option<Workspace> {
        let (members, excluded) = match &manifest.settings {
            Settings::Cargo(settings) if settings.is_workspace => {
                (&settings.members, settings.excluded.clone())
            }
            Settings::Npm(settings) if !settings.workspaces.is_empty() => {
                (&settings.workspaces, Vec::new())
            }
            Settings::Pnpm(settings) => (&settings.members, Vec::new()),
            Settings::Python(settings) if !settings.members.is_empty() => {
                (&settings.members, Vec::new())
            }
            Settings::GoWork { members, .. } => (members, Vec::new()),
            _ => return None,
        };
        // A pattern of npm may take back what others name.
        let taken_back = members
            .iter()
            .filter_map(|member| member.strip_prefix('!').map(str::to_owned));
        let excluded = excluded.into_iter().chain(taken_back).collect();
        let linked = manifest
            .dependencies
            .iter()
            .filter(|one| matches!(one.source, DependencySource::Path(_)));
        Some(Workspace {
            path: manifest.path.clone(),
            ecosystem: manifest.ecosystem,
            members: members.clone(),
            excluded,
            linked: linked.filter_map(|one| one.own.clone()).collect(),
        })
    }

    fn has(&self, manifest: &Manifest) -> bool {
        let (root, folder) = (folder_of(&self.path), folder(manifest));
        if manifest.ecosystem != self.ecosystem || !is_within(folder, root) {
            return false;
        }
        let inner = folder
            .strip_prefix(root)
            .unwrap_or(folder)
            .trim_start_matches('/');
        let is_named = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, inner));
        // A module of go in the folder of its workspace is a member only if that is said.
        let is_root = inner.is_empty() && self.ecosystem != Ecosystem::Go;
        let is_member = is_root || is_named(&self.members) || self.linked.contains(&manifest.path);
        is_member && !is_named(&self.excluded)
    }
}
