//! The part of a graph that a folder or a file is.

use std::collections::HashSet;

use super::model::{DependencyGraph, ImportTarget, Importer, Module};
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
        let (shown, others): (Vec<Module>, Vec<Module>) = self
            .modules
            .into_iter()
            .partition(|module| module.path == module_path || is_within(&module.path, path));
        let paths: HashSet<&str> = shown.iter().map(|module| module.path.as_str()).collect();
        self.importers = importers(&others, &paths);
        self.cycles
            .retain(|cycle| cycle.members.iter().any(|one| paths.contains(one.as_str())));
        let owners: HashSet<&str> = shown
            .iter()
            .filter_map(|module| module.package.as_deref())
            .collect();
        self.packages.retain(|package| {
            let manifest = package.manifest.as_str();
            is_within(manifest, path) || owners.contains(manifest)
        });
        self.package_cycles.retain(|cycle| {
            let mut packages = self.packages.iter();
            packages.any(|package| cycle.manifests.contains(&package.manifest))
        });
        let imported: HashSet<&str> = shown
            .iter()
            .flat_map(|module| &module.imports)
            .filter_map(|import| match &import.to {
                ImportTarget::Package(name) => Some(name.as_str()),
                ImportTarget::Module(_) | ImportTarget::Standard(_) => None,
            })
            .collect();
        self.external.retain(|package| {
            let mut declared = package.declared.iter();
            imported.contains(package.name.as_str())
                || declared.any(|one| is_within(&one.manifest, path))
        });
        self.undeclared
            .retain(|package| imported.contains(package.name.as_str()));
        self.unused.retain(|one| is_within(&one.manifest, path));
        self.unresolved.retain(|one| is_within(&one.file, path));
        self.invalid.retain(|one| is_within(&one.path, path));
        self.modules = shown;
        self
    }
}

/// Returns the imports of modules by others.
fn importers(others: &[Module], shown: &HashSet<&str>) -> Vec<Importer> {
    let mut importers = Vec::new();
    for module in others {
        for import in &module.imports {
            if let ImportTarget::Module(to) = &import.to
                && shown.contains(to.as_str())
            {
                importers.push(Importer {
                    from: import.file.as_ref().unwrap_or(&module.path).clone(),
                    to: to.clone(),
                    line: import.line,
                    kind: import.kind,
                });
            }
        }
    }
    importers
}
