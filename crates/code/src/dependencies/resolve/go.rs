//! Packages of Go, each of which is a folder.

use std::collections::HashSet;

use super::super::imports::Import;
use super::super::manifest::{Ecosystem, Settings};
use super::super::place::{folder_of, join};
use super::super::project::{Index, folder};
use super::super::standard;
use super::model::Found;
use crate::language::Language;

/// The packages of the project.
pub(super) struct Packages<'p> {
    index: &'p Index<'p>,
    folders: HashSet<&'p str>,
    /// The modules of the project, those with the longest names first.
    modules: Vec<(&'p str, String)>,
}

impl<'p> Packages<'p> {
    pub(super) fn new(index: &'p Index<'p>) -> Packages<'p> {
        let code = index
            .project
            .code
            .iter()
            .filter(|(_, imports)| imports.language == Language::Go);
        let mut modules = Vec::new();
        for manifest in &index.project.manifests {
            let (Settings::Go { replaced, .. } | Settings::GoWork { replaced, .. }) =
                &manifest.settings
            else {
                continue;
            };
            let folder = folder(manifest);
            modules.extend(
                manifest
                    .name
                    .as_deref()
                    .map(|name| (name, folder.to_owned())),
            );
            let replaced = replaced
                .iter()
                .filter_map(|(name, place)| Some((name.as_str(), join(folder, place)?)));
            modules.extend(replaced);
        }
        modules.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        Packages {
            index,
            folders: code.map(|(path, _)| folder_of(path)).collect(),
            modules,
        }
    }

    /// Returns what an import leads to.
    pub(super) fn resolve(&self, file: &str, import: &Import) -> Found {
        let target = import.target.as_str();
        if target == "C" {
            return Found::Nothing;
        }
        let rest = |name: &str| {
            let rest = target.strip_prefix(name)?;
            if rest.is_empty() || rest.starts_with('/') {
                Some(rest)
            } else {
                None
            }
        };
        for (name, folder) in &self.modules {
            let Some(place) = rest(name).and_then(|rest| join(folder, rest)) else {
                continue;
            };
            if self.folders.contains(place.as_str()) {
                return Found::Module(module(&place));
            }
            let own = self
                .index
                .package_of(Ecosystem::Go, file)
                .and_then(|number| self.index.manifest(number));
            if own.is_some_and(|own| own.name.as_deref() == Some(name)) {
                return Found::Missing;
            }
        }
        if standard::is_of_go(target) {
            return Found::Standard(target.to_owned());
        }
        Found::Package(target.to_owned())
    }
}

/// Returns the name of the module that a folder is.
pub(super) fn module(folder: &str) -> String {
    if folder.is_empty() {
        ".".to_owned()
    } else {
        folder.to_owned()
    }
}
