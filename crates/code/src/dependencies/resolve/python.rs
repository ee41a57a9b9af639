//! Modules of Python.

use std::collections::{HashMap, HashSet};

use super::super::imports::Import;
use super::super::manifest::{Ecosystem, Settings};
use super::super::place::{folder_of, join, name_of, parent, upwards};
use super::super::project::{Index, folder};
use super::super::standard;
use super::model::Found;
use crate::language::Language;

/// The endings of what modules of Python are built from, or built to.
const BUILT: [&str; 8] = [".c", ".cc", ".cpp", ".cu", ".pyd", ".pyx", ".rs", ".so"];

/// The modules of the project.
pub(super) struct Modules<'p> {
    index: &'p Index<'p>,
    /// The folders that have files of Python somewhere below them.
    folders: HashSet<&'p str>,
    /// The folders in which a name is a module.
    homes: HashMap<&'p str, HashSet<&'p str>>,
    /// Where the modules of the project's packages are.
    packages: Vec<String>,
}

/// What a path without its ending is.
enum Module {
    File(String),
    /// A package without a file of its own.
    Folder,
}

impl<'p> Modules<'p> {
    pub(super) fn new(index: &'p Index<'p>) -> Modules<'p> {
        let mut modules = Modules {
            index,
            folders: HashSet::new(),
            homes: HashMap::new(),
            packages: Vec::new(),
        };
        for (path, imports) in &index.project.code {
            if imports.language != Language::Python {
                continue;
            }
            let name = name_of(path);
            let name = name.split_once('.').map_or(name, |(stem, _)| stem);
            modules
                .homes
                .entry(name)
                .or_default()
                .insert(folder_of(path));
            for folder in upwards(folder_of(path)) {
                let Some(above) = parent(folder).filter(|_| modules.folders.insert(folder)) else {
                    break;
                };
                let homes = modules.homes.entry(name_of(folder)).or_default();
                homes.insert(above);
            }
        }
        for number in 0..index.project.manifests.len() {
            let named = index.manifest(number).filter(|one| one.name.is_some());
            if named.is_some_and(|one| one.ecosystem == Ecosystem::Python) {
                let places = modules.places(number);
                modules.packages.extend(places);
            }
        }
        modules
    }

    /// Returns what an import leads to: its module, or each of the names that are modules.
    pub(super) fn resolve(&self, file: &str, import: &Import) -> Vec<Found> {
        let target = import.target.as_str();
        let rest = target.trim_start_matches('.');
        let dots = target.len() - rest.len();
        if dots > 0 {
            return match upwards(folder_of(file)).nth(dots - 1) {
                Some(home) => self.below(home, rest, import),
                None => vec![Found::Missing],
            };
        }
        let top = target.split('.').next().unwrap_or(target);
        let roots = match self.homes.get(top) {
            Some(homes) => {
                let mut roots = self.roots(file);
                roots.retain(|root| homes.contains(root.as_str()));
                roots
            }
            None => Vec::new(),
        };
        // Python looks beside the outermost package of a file first; a mere folder there hides no
        // other module.
        let beside = self.beside(file);
        let is_own = join(beside, top).is_some_and(|base| self.file(&base).is_some());
        if standard::is_of_python(top) && !is_own {
            return vec![Found::Standard(top.to_owned())];
        }
        // Where the module is not in the first place, another one may have it.
        let whole = roots.iter().find(|root| {
            let path = join(root, &target.replace('.', "/"));
            path.is_some_and(|path| self.module(&path).is_some())
        });
        if let Some(home) = whole.or(roots.first()) {
            return self.below(home, target, import);
        }
        // What is imported from a shared package, such as `google.cloud`, tells of which
        // distribution it is.
        let path = match import.names.first() {
            Some(name) if name != "*" => format!("{target}.{name}"),
            _ => target.to_owned(),
        };
        vec![Found::Package(path)]
    }

    /// Returns what a path below a folder is: a module, and those of the names that are modules.
    fn below(&self, home: &str, target: &str, import: &Import) -> Vec<Found> {
        let mut place = home.to_owned();
        let mut last = self.module(home);
        for name in target.split('.').filter(|name| !name.is_empty()) {
            let inner = format!("{place}/{name}");
            let inner = inner.trim_start_matches('/');
            let Some(module) = self.module(inner) else {
                // A file may have the rest itself, and a build may make modules of a package.
                return match last {
                    Some(Module::File(path))
                        if !import.target.starts_with('.')
                            && (!path.contains("__init__.py") || self.is_built(inner)) =>
                    {
                        vec![Found::Module(path)]
                    }
                    _ => vec![Found::Missing],
                };
            };
            place = inner.to_owned();
            last = Some(module);
        }
        let mut found = Vec::new();
        let mut needs_module = import.names.is_empty();
        for name in &import.names {
            match join(&place, name).and_then(|inner| self.module(&inner)) {
                Some(Module::File(path)) => found.push(Found::Module(path)),
                Some(Module::Folder) => {}
                None => needs_module = true,
            }
        }
        match last {
            _ if !needs_module => {}
            Some(Module::File(path)) => found.push(Found::Module(path)),
            _ if import.names.is_empty() || import.names == ["*"] => {}
            // A folder without a file has nothing but modules.
            _ => found.push(Found::Missing),
        }
        found
    }

    /// Reports whether a module without a file of Python may be built: it has other sources, or a
    /// name that such have.
    fn is_built(&self, base: &str) -> bool {
        let name = name_of(base);
        let is_named = name.starts_with('_') || name.contains("version") || name.contains("_pb2");
        is_named
            || BUILT
                .iter()
                .any(|ending| self.index.has(&format!("{base}{ending}")))
    }

    fn module(&self, base: &str) -> Option<Module> {
        match self.file(base) {
            Some(path) => Some(Module::File(path)),
            None if self.folders.contains(base) => Some(Module::Folder),
            None => None,
        }
    }

    /// Returns the file of a module, by its path without its ending.
    fn file(&self, base: &str) -> Option<String> {
        ["/__init__.py", ".py", ".pyi", "/__init__.pyi"]
            .iter()
            .map(|ending| format!("{base}{ending}").trim_start_matches('/').to_owned())
            .find(|path| self.index.code(path).is_some())
    }

    /// Returns the folder beside the outermost package of a file.
    fn beside<'f>(&self, file: &'f str) -> &'f str {
        let mut packages = upwards(folder_of(file));
        let outside = packages.find(|folder| {
            let package = join(folder, "__init__.py");
            !package.is_some_and(|path| self.index.has(&path))
        });
        outside.unwrap_or("")
    }

    /// Returns the folders in which Python looks for modules that a file imports.
    fn roots(&self, file: &str) -> Vec<String> {
        let mut roots = vec![self.beside(file).to_owned()];
        for number in self.index.manifests_above(Ecosystem::Python, file) {
            roots.extend(self.places(number));
        }
        roots.extend(["".to_owned(), "src".to_owned()]);
        roots.extend(self.packages.iter().cloned());
        roots
    }

    /// Returns the folders in which the modules of a package may be.
    fn places(&self, manifest: usize) -> Vec<String> {
        let Some(manifest) = self.index.manifest(manifest) else {
            return Vec::new();
        };
        let own = folder(manifest);
        let mut places = Vec::new();
        if let Settings::Python { folders, .. } = &manifest.settings {
            places.extend(folders.iter().filter_map(|inner| join(own, inner)));
        }
        places.push(own.to_owned());
        places.extend(join(own, "src"));
        places
    }
}
