//! The files that a graph is made of.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::imports::FileImports;
use super::manifest::{Ecosystem, Manifest, ManifestError};
use super::place::{folder_of, parent};

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
        let mut manifests: HashMap<(Ecosystem, String), Vec<usize>> = HashMap::new();
        for (manifest, number) in project.manifests.iter().zip(0..) {
            manifests
                .entry((manifest.ecosystem, folder(manifest).to_owned()))
                .or_default()
                .push(number);
        }
        Index {
            project,
            paths: project.paths.iter().map(String::as_str).collect(),
            code: project
                .code
                .iter()
                .zip(0..)
                .map(|((path, _), number)| (path.as_str(), number))
                .collect(),
            manifests,
            by_path: project
                .manifests
                .iter()
                .map(|manifest| manifest.path.as_str())
                .zip(0..)
                .collect(),
        }
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
        self.project
            .code
            .get(number)
            .map(|(path, imports)| (path.as_str(), &**imports))
    }

    /// Returns a manifest by its number.
    pub(super) fn manifest(&self, number: usize) -> Option<&'p Manifest> {
        self.project.manifests.get(number)
    }

    /// Returns the number of the manifest with a path.
    pub(super) fn manifest_at(&self, path: &str) -> Option<usize> {
        self.by_path.get(path).copied()
    }

    /// Returns the manifests of a folder.
    pub(super) fn manifests_in(&self, ecosystem: Ecosystem, folder: &str) -> &[usize] {
        self.manifests
            .get(&(ecosystem, folder.to_owned()))
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// Returns the manifests of the folders around a file, the nearest first.
    pub(super) fn manifests_above(&self, ecosystem: Ecosystem, path: &str) -> Vec<usize> {
        let (mut found, mut folder) = (Vec::new(), Some(folder_of(path)));
        while let Some(path) = folder {
            found.extend(self.manifests_in(ecosystem, path));
            folder = parent(path);
        }
        found
    }

    /// Returns the package that a file is in: the nearest manifest with a name.
    pub(super) fn package_of(&self, ecosystem: Ecosystem, path: &str) -> Option<usize> {
        let above = self.manifests_above(ecosystem, path);
        above.into_iter().find(|number| {
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
