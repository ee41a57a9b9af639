//! The files that a graph is made of.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::imports::FileImports;
use super::manifest::{Ecosystem, Manifest, ManifestError};
use super::place::{folder_of, upwards};

/// The files of a project.
#[derive(Clone, Debug, Default)]
pub struct ProjectFiles {
    /// The paths of all files.
    pub paths: Vec<String>,
    /// What could be read of the manifests.
    pub manifests: Vec<Manifest>,
    /// The paths of the other manifests, and what is wrong with them.
    pub invalid: Vec<(String, ManifestError)>,
    /// The files of code.
    pub code: Vec<(String, Arc<FileImports>)>,
}

/// Where the files of a project are found.
pub(super) struct Index<'p> {
    pub(super) project: &'p ProjectFiles,
    paths: HashSet<&'p str>,
    code: HashMap<&'p str, usize>,
    /// The manifests of each folder, by their place in the project.
    manifests: HashMap<(Ecosystem, String), Vec<usize>>,
    by_path: HashMap<&'p str, usize>,
}

impl<'p> Index<'p> {
    pub(super) fn new(project: &'p ProjectFiles) -> Index<'p> {
        let mut index = Index {
            project,
            paths: project.paths.iter().map(String::as_str).collect(),
            code: HashMap::new(),
            manifests: HashMap::new(),
            by_path: HashMap::new(),
        };
        for ((path, _), number) in project.code.iter().zip(0..) {
            index.code.insert(path, number);
        }
        for (manifest, number) in project.manifests.iter().zip(0..) {
            index.by_path.insert(&manifest.path, number);
            let key = (manifest.ecosystem, folder(manifest).to_owned());
            index.manifests.entry(key).or_default().push(number);
        }
        index
    }

    /// Reports whether there is a file.
    pub(super) fn has(&self, path: &str) -> bool {
        self.paths.contains(path)
    }

    /// Returns the number of a file of code.
    pub(super) fn code(&self, path: &str) -> Option<usize> {
        self.code.get(path).copied()
    }

    /// Returns a file of code by its number.
    pub(super) fn file(&self, number: usize) -> Option<(&'p str, &'p FileImports)> {
        let (path, imports) = self.project.code.get(number)?;
        Some((path, imports))
    }

    /// Returns a manifest by its number.
    pub(super) fn manifest(&self, number: usize) -> Option<&'p Manifest> {
        self.project.manifests.get(number)
    }

    /// Returns the number of the manifest with a path.
    pub(super) fn manifest_at(&self, path: &str) -> Option<usize> {
        self.by_path.get(path).copied()
    }

    /// Returns the manifests of the folders around a file, the nearest first.
    pub(super) fn manifests_above(
        &self,
        ecosystem: Ecosystem,
        path: &str,
    ) -> impl Iterator<Item = usize> {
        upwards(folder_of(path))
            .filter_map(move |folder| self.manifests.get(&(ecosystem, folder.to_owned())))
            .flatten()
            .copied()
    }

    /// Returns the package that a file is in: the nearest manifest with a name.
    pub(super) fn package_of(&self, ecosystem: Ecosystem, path: &str) -> Option<usize> {
        self.manifests_above(ecosystem, path).find(|number| {
            self.manifest(*number)
                .is_some_and(|manifest| manifest.name.is_some())
        })
    }
}

/// Returns the folder that a manifest describes: requirements may be in a folder of their own.
pub(super) fn folder(manifest: &Manifest) -> &str {
    let folder = folder_of(&manifest.path);
    match folder.rsplit_once('/').unwrap_or(("", folder)) {
        (above, "requirements") if manifest.ecosystem == Ecosystem::Python => above,
        _ => folder,
    }
}
