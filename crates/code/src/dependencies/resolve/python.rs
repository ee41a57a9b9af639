//! Modules of Python.

use std::collections::{HashMap, HashSet};

use super::super::imports::Import;
use super::super::manifest::{Ecosystem, Settings};
use super::super::place::{folder_of, join, parent};
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
    homes: HashMap<&'p str, Vec<&'p str>>,
    /// Where the modules of the project's packages are.
    packages: Vec<String>,
}

enum Step {
    File(String),
    /// A package without a file of its own.
    Folder,
}

impl<'p> Modules<'p> {
    pub(super) fn new(index: &'p Index<'p>) -> Modules<'p> {
        let (mut folders, mut homes) = (HashSet::new(), HashMap::<&str, Vec<&str>>::new());
        for (path, imports) in &index.project.code {
            if imports.language != Language::Python {
                continue;
            }
            let name = path.rsplit('/').next().unwrap_or_default();
            let stem = name.split('.').next().unwrap_or_default();
            let home = homes.entry(stem).or_default();
            home.push(folder_of(path));
            let mut folder = folder_of(path);
            while let Some(above) = parent(folder).filter(|_| folders.insert(folder)) {
                let name = folder.rsplit('/').next().unwrap_or_default();
                homes.entry(name).or_default().push(above);
                folder = above;
            }
        }
        let named = index
            .project
            .manifests
            .iter()
            .filter(|one| one.ecosystem == Ecosystem::Python && one.name.is_some());
        let packages = named
            .flat_map(|manifest| places(folder(manifest), &manifest.settings))
            .collect();
        Modules {
            index,
            folders,
            homes,
            packages,
        }
    }

    /// Returns what an import leads to: its module, or each of the names that are modules.
    pub(super) fn resolve(&self, file: &str, import: &Import) -> Vec<Found> {
        let target = import.target.as_str();
        let dots = target.len() - target.trim_start_matches('.').len();
        if dots > 0 {
            let mut home = Some(folder_of(file));
            for _ in 1..dots {
                home = home.and_then(parent);
            }
            let rest = target.get(dots..).unwrap_or_default();
            return match home {
                Some(home) => self.below(home, rest, import, true),
                None => vec![Found::Missing],
            };
        }
        let top = target.split('.').next().unwrap_or_default();
        let homes = self.homes.get(top).map(Vec::as_slice).unwrap_or_default();
        let roots = if homes.is_empty() {
            Vec::new()
        } else {
            self.roots(file)
        };
        // Python looks beside the outermost package of a file first; a mere folder there hides no
        // other module.
        let is_own = roots.first().is_some_and(|root| self.is_file(root, top));
        if standard::is_of_python(top) && !is_own {
            return vec![Found::Standard(top.to_owned())];
        }
        let mut own = roots.iter().filter(|root| homes.contains(&root.as_str()));
        if let Some(first) = own.next() {
            // Where the module is not in the first place, another one may have it.
            let home = std::iter::once(first)
                .chain(own)
                .find(|home| self.has(home, target))
                .unwrap_or(first);
            return self.below(home, target, import, false);
        }
        // What is imported from a shared package, such as `google.cloud`, tells of which
        // distribution it is.
        let mut names = import.names.iter().filter(|name| *name != "*");
        vec![match names.next() {
            Some(name) => Found::Package(format!("{target}.{name}")),
            None => Found::Package(target.to_owned()),
        }]
    }

    fn below(&self, home: &str, target: &str, import: &Import, is_relative: bool) -> Vec<Found> {
        let (mut place, mut last, mut is_whole) = (home.to_owned(), self.step(home), true);
        let mut is_missing = is_relative;
        for name in target.split('.').filter(|name| !name.is_empty()) {
            let inner = join(&place, name).unwrap_or_default();
            let Some(step) = self.step(&inner) else {
                is_whole = false;
                is_missing |= matches!(&last, Some(Step::File(path)) if is_package(path))
                    && !self.is_built(&inner);
                break;
            };
            (place, last) = (inner, Some(step));
        }
        let module = match last {
            Some(Step::File(path)) if is_whole || !is_missing => Some(path),
            _ => None,
        };
        let mut found = Vec::new();
        let mut needs_module = import.names.is_empty();
        for name in import.names.iter().filter(|_| is_whole) {
            match join(&place, name)
                .filter(|_| name != "*")
                .and_then(|inner| self.step(&inner))
            {
                Some(Step::File(path)) => found.push(Found::Module(path)),
                Some(Step::Folder) => {}
                None => needs_module = true,
            }
        }
        match module {
            Some(path) if needs_module || !is_whole => found.push(Found::Module(path)),
            Some(_) => {}
            // A folder without a file has nothing but modules.
            None if !is_whole
                || (needs_module && !import.names.is_empty() && import.names != ["*"]) =>
            {
                found.push(Found::Missing);
            }
            None => {}
        }
        found
    }

    /// Reports whether a folder has each part of a module's path.
    fn has(&self, home: &str, target: &str) -> bool {
        let mut place = home.to_owned();
        target.split('.').all(|name| {
            place = join(&place, name).unwrap_or_default();
            self.step(&place).is_some()
        })
    }

    /// Reports whether a module without a file of Python may be built: it has other sources, or a
    /// name that such have.
    fn is_built(&self, base: &str) -> bool {
        let name = base.rsplit('/').next().unwrap_or_default();
        let is_named = name.starts_with('_') || name.contains("version") || name.contains("_pb2");
        is_named
            || BUILT
                .iter()
                .any(|ending| self.index.has(&format!("{base}{ending}")))
    }

    /// Reports whether a module in a folder has a file.
    fn is_file(&self, folder: &str, name: &str) -> bool {
        matches!(
            join(folder, name).and_then(|base| self.step(&base)),
            Some(Step::File(_))
        )
    }

    /// Returns what a path without its ending is.
    fn step(&self, base: &str) -> Option<Step> {
        let in_folder = |name: &str| {
            if base.is_empty() {
                name.to_owned()
            } else {
                format!("{base}/{name}")
            }
        };
        let files = [
            in_folder("__init__.py"),
            format!("{base}.py"),
            format!("{base}.pyi"),
            in_folder("__init__.pyi"),
        ];
        let file = files
            .into_iter()
            .find(|path| self.index.code(path).is_some());
        match file {
            Some(path) => Some(Step::File(path)),
            None if self.folders.contains(base) => Some(Step::Folder),
            None => None,
        }
    }

    /// Returns the folders in which Python looks for modules that a file imports.
    fn roots(&self, file: &str) -> Vec<String> {
        let mut package = folder_of(file);
        while self
            .index
            .has(&join(package, "__init__.py").unwrap_or_default())
            && let Some(above) = parent(package)
        {
            package = above;
        }
        let mut roots = vec![package.to_owned()];
        for number in self.index.manifests_above(Ecosystem::Python, file) {
            let Some(manifest) = self.index.manifest(number) else {
                continue;
            };
            roots.extend(places(folder(manifest), &manifest.settings));
        }
        roots.extend(["".to_owned(), "src".to_owned()]);
        roots.extend(self.packages.iter().cloned());
        roots
    }
}

/// Reports whether a file is that of a package.
fn is_package(path: &str) -> bool {
    path.ends_with("__init__.py") || path.ends_with("__init__.pyi")
}

/// Returns the folders in which the modules of a package may be.
fn places(folder: &str, settings: &Settings) -> Vec<String> {
    let named = match settings {
        Settings::Python(settings) => settings.folders.as_slice(),
        _ => &[],
    };
    let named = named.iter().filter_map(|inner| join(folder, inner));
    named
        .chain([folder.to_owned()])
        .chain(join(folder, "src"))
        .collect()
}
