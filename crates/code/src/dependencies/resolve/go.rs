//! Packages of Go, each of which is a folder.

use std::collections::HashSet;

use super::super::imports::Import;
use super::super::manifest::{Ecosystem, Settings};
use super::super::place::{folder_of, is_within, join};
use super::super::project::{Index, folder};
use super::super::standard;
use super::model::Found;
use crate::language::Language;

/// The packages of the project.
pub(super) struct Packages<'p> {
    index: &'p Index<'p>,
    folders: HashSet<&'p str>,
    modules: Vec<Module<'p>>,
}

/// A module of the project, with its folder.
struct Module<'p> {
    name: &'p str,
    folder: String,
}

impl<'p> Packages<'p> {
    pub(super) fn new(index: &'p Index<'p>) -> Packages<'p> {
        let mut modules = Vec::new();
        for manifest in &index.project.manifests {
            let Settings::Go { replaced, .. } = &manifest.settings else {
                continue;
            };
            let own = folder(manifest);
            if let Some(name) = &manifest.name {
                let folder = own.to_owned();
                modules.push(Module { name, folder });
            }
            for (name, place) in replaced {
                if let Some(folder) = join(own, place) {
                    modules.push(Module { name, folder });
                }
            }
        }
        // The longest name decides.
        modules.sort_by_key(|module| std::cmp::Reverse(module.name.len()));
        let code = index.project.code.iter();
        let code = code.filter(|(_, imports)| imports.language == Language::Go);
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
        let own = self.index.package_of(Ecosystem::Go, file);
        let own = own.and_then(|number| self.index.manifest(number)?.name.as_deref());
        let around = |module: &&Module<'_>| is_within(target, module.name);
        for Module { name, folder } in self.modules.iter().filter(around) {
            let rest = target.get(name.len()..).unwrap_or("");
            match join(folder, rest) {
                Some(place) if self.folders.contains(place.as_str()) => {
                    return Found::Module(module(&place));
                }
                _ if own == Some(*name) => return Found::Missing,
                _ => {}
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
