//! The part of a graph that a folder or a file is.

use std::collections::{BTreeSet, HashSet};

use super::model::{DependencyGraph, ImportTarget, Importer, Module, Package};
use super::place::{folder_of, is_within};

impl DependencyGraph {
    /// Returns the part of the graph that concerns a folder or a file, with what imports it from
    /// outside.
    #[must_use]
    pub fn within(mut self, path: &str) -> DependencyGraph {
        if path.is_empty() {
            return self;
        }
        // In Go, a file belongs to the module that its folder is.
        let module_path = match folder_of(path) {
            _ if !path.ends_with(".go") => path,
            "" => ".",
            folder => folder,
        };
        let is_shown = |module: &str| module == module_path || is_within(module, path);
        let shown: HashSet<String> = self
            .modules
            .iter()
            .filter(|module| is_shown(&module.path))
            .map(|module| module.path.clone())
            .collect();
        self.importers = importers(&self.modules, &shown);
        self.modules.retain(|module| shown.contains(&module.path));
        self.cycles
            .retain(|cycle| cycle.members.iter().any(|member| shown.contains(member)));
        self.packages = packages(&self, path);
        let manifests: HashSet<&str> = self
            .packages
            .iter()
            .map(|package| package.manifest.as_str())
            .collect();
        self.unused
            .retain(|unused| is_within(&unused.manifest, path));
        self.package_cycles.retain(|cycle| {
            cycle
                .manifests
                .iter()
                .any(|one| manifests.contains(one.as_str()))
        });
        let imported: BTreeSet<&str> = self
            .modules
            .iter()
            .flat_map(|module| &module.imports)
            .filter_map(|import| match &import.to {
                ImportTarget::Package(name) => Some(name.as_str()),
                _ => None,
            })
            .collect();
        self.external.retain(|package| {
            imported.contains(package.name.as_str())
                || package
                    .declared
                    .iter()
                    .any(|one| is_within(&one.manifest, path))
        });
        self.undeclared
            .retain(|package| imported.contains(package.name.as_str()));
        self.unresolved
            .retain(|import| is_within(&import.file, path));
        self.invalid
            .retain(|manifest| is_within(&manifest.path, path));
        self
    }
}

fn importers(modules: &[Module], shown: &HashSet<String>) -> Vec<Importer> {
    let mut importers = Vec::new();
    for module in modules
        .iter()
        .filter(|module| !shown.contains(&module.path))
    {
        for import in &module.imports {
            let ImportTarget::Module(to) = &import.to else {
                continue;
            };
            if shown.contains(to) {
                let from = import.file.clone().unwrap_or_else(|| module.path.clone());
                importers.push(Importer {
                    from,
                    to: to.clone(),
                    line: import.line,
                    kind: import.kind,
                });
            }
        }
    }
    importers
}

/// Returns the packages of a folder, or those that its files belong to.
fn packages(graph: &DependencyGraph, path: &str) -> Vec<Package> {
    let belongs: HashSet<&str> = graph
        .modules
        .iter()
        .filter_map(|module| module.package.as_deref())
        .collect();
    let is_shown = |package: &&Package| {
        is_within(&package.manifest, path) || belongs.contains(package.manifest.as_str())
    };
    graph.packages.iter().filter(is_shown).cloned().collect()
}
