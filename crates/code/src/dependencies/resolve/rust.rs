//! Paths of Rust: the tree of modules of each crate, and the names that modules have for others.

use std::collections::{HashMap, HashSet};

use super::super::imports::{Form, Import, ImportKind, ModuleDeclaration};
use super::super::manifest::{Ecosystem, Manifest, Settings};
use super::super::place::{folder_of, join, name_of};
use super::super::project::{Index, folder};
use super::super::standard;
use super::model::{Found, Link};
use crate::error::CodeError;
use crate::language::Language;
use crate::source::{Stop, go_on};

/// Maximum number of names that are followed from one to the next.
const MAX_HOPS: usize = 8;
/// The folders in which cargo looks for targets.
const TARGETS: [&str; 4] = ["src/bin", "tests", "examples", "benches"];

/// All crates.
pub(super) struct Crates<'p> {
    index: &'p Index<'p>,
    /// The manifest of each crate.
    crates: Vec<usize>,
    /// The library of each manifest.
    libraries: HashMap<usize, usize>,
    modules: HashMap<Place, Spot>,
    /// The crate and the module of each file.
    places: HashMap<usize, Place>,
    /// The modules that each file declares.
    parts: HashMap<usize, Vec<Link>>,
    /// What a name stands for that a module of a file imports.
    names: HashMap<(usize, &'p str, &'p str), &'p str>,
    /// The packages of the project among the dependencies of each manifest, by their name in code;
    /// `None` for a package from elsewhere.
    dependencies: HashMap<usize, HashMap<String, Option<usize>>>,
}

/// Where a module is: a file, or a part of one.
struct Spot {
    file: usize,
    scope: String,
}

/// A module of a crate.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Place {
    owner: usize,
    module: String,
}

impl Place {
    fn root(owner: usize) -> Place {
        let module = String::new();
        Place { owner, module }
    }

    fn inner(&self, name: &str) -> Place {
        Place {
            owner: self.owner,
            module: below(&self.module, name),
        }
    }
}

impl<'p> Crates<'p> {
    /// Finds all crates.
    ///
    /// # Errors
    /// [`CodeError::Stopped`] if `stop` said so.
    pub(super) fn new(index: &'p Index<'p>, stop: Stop<'_>) -> Result<Crates<'p>, CodeError> {
        let mut crates = Crates {
            index,
            crates: Vec::new(),
            libraries: HashMap::new(),
            modules: HashMap::new(),
            places: HashMap::new(),
            parts: HashMap::new(),
            names: HashMap::new(),
            dependencies: HashMap::new(),
        };
        for ((_, imports), file) in index.project.code.iter().zip(0..) {
            go_on(stop)?;
            let statements = imports.imports.iter();
            let statements = statements.filter(|import| import.form == Form::Statement);
            for import in statements.filter(|_| imports.language == Language::Rust) {
                for name in &import.names {
                    let key = (file, import.scope.as_str(), name.as_str());
                    crates.names.entry(key).or_insert(&import.target);
                }
            }
        }
        for number in 0..index.project.manifests.len() {
            crates.add_package(number, stop)?;
        }
        for (path, imports) in &index.project.code {
            if imports.language == Language::Rust
                && let Some(number) = index.package_of(Ecosystem::Cargo, path)
                && let Some(manifest) = index.manifest(number)
                && is_target(path, folder(manifest))
            {
                crates.add_crate(number, Some(path.clone()), stop)?;
            }
        }
        Ok(crates)
    }

    fn add_package(&mut self, number: usize, stop: Stop<'_>) -> Result<(), CodeError> {
        let Some(manifest) = self.index.manifest(number) else {
            return Ok(());
        };
        let Settings::Cargo(settings) = &manifest.settings else {
            return Ok(());
        };
        let mut dependencies = HashMap::new();
        for one in &manifest.dependencies {
            let own = one
                .own
                .as_deref()
                .and_then(|own| self.index.manifest_at(own));
            let library = own
                .filter(|_| one.alias.is_none())
                .and_then(|own| library_name(self.index.manifest(own)?));
            let name = library.unwrap_or_else(|| one.known_as().replace('-', "_"));
            dependencies.insert(name, own);
        }
        self.dependencies.insert(number, dependencies);
        let folder = folder(manifest);
        let library = settings.library_root.as_deref().unwrap_or("src/lib.rs");
        if let Some(library) = self.add_crate(number, join(folder, library), stop)? {
            self.libraries.insert(number, library);
        }
        let named = settings.roots.iter().map(String::as_str);
        for root in ["src/main.rs", "build.rs"].into_iter().chain(named) {
            self.add_crate(number, join(folder, root), stop)?;
        }
        Ok(())
    }

    /// Adds the crate with a root, and returns its number; `None` if there is no such file, or it
    /// is part of another crate.
    fn add_crate(
        &mut self,
        manifest: usize,
        root: Option<String>,
        stop: Stop<'_>,
    ) -> Result<Option<usize>, CodeError> {
        let root = root.and_then(|root| self.index.code(&root));
        let Some(root) = root.filter(|root| !self.places.contains_key(root)) else {
            return Ok(None);
        };
        let number = self.crates.len();
        self.crates.push(manifest);
        let mut seen = HashSet::from([root]);
        // Each with whether the files of its modules are beside it.
        let mut pending = vec![(Place::root(number), root, true)];
        while let Some((place, file, is_beside)) = pending.pop() {
            go_on(stop)?;
            let scope = String::new();
            self.modules.insert(place.clone(), Spot { file, scope });
            self.places.entry(file).or_insert_with(|| place.clone());
            let Some((path, imports)) = self.index.file(file) else {
                continue;
            };
            let mut parts = Vec::new();
            for declared in &imports.modules {
                let scope = below(&declared.scope, &declared.name);
                let inner = place.inner(&scope);
                if declared.is_inline {
                    self.modules.insert(inner, Spot { file, scope });
                    continue;
                }
                let named = candidates(path, is_beside, declared);
                let child = named.iter().find_map(|path| self.index.code(path));
                // Attributes may leave a module out, and it may be outside of the project.
                let is_missing = declared.scope.is_empty()
                    && !declared.is_conditional
                    && !named.is_empty()
                    && !named.iter().any(|path| self.index.has(path));
                match child.and_then(|child| self.index.file(child)) {
                    Some((path, _)) => {
                        parts.push(part(declared, Found::Module(path.to_owned())));
                    }
                    None if is_missing => parts.push(part(declared, Found::Missing)),
                    None => {}
                }
                // A file that includes itself has modules without end.
                if let Some(child) = child.filter(|child| seen.insert(*child)) {
                    // What a path leads to is like a `mod.rs`.
                    pending.push((inner, child, declared.path.is_some()));
                }
            }
            self.parts.entry(file).or_insert(parts);
        }
        Ok(Some(number))
    }

    /// Returns the modules that a file declares, each with its file, or as missing if it certainly
    /// has none.
    pub(super) fn parts(&self, file: usize) -> Vec<Link> {
        self.parts.get(&file).cloned().unwrap_or_default()
    }

    /// Returns what an import of a file leads to.
    pub(super) fn link(&self, file: usize, import: &Import) -> Link {
        let mut link = Link::new(import, Found::Nothing);
        // A file that no crate includes has no place.
        let Some(place) = self.places.get(&file) else {
            return link;
        };
        let from = place.inner(&import.scope);
        link.to = match self.locate(&from, &import.target, MAX_HOPS) {
            Some(Found::Module(path)) if self.index.code(&path) == Some(file) => Found::Nothing,
            Some(found) => found,
            None => self.unknown(file, import),
        };
        // A module reaches its own parts, as the facade of them.
        if let Found::Module(path) = &link.to
            && import.kind == ImportKind::Plain
            && self.is_outer(place, path)
        {
            link.kind = ImportKind::Part;
        }
        link
    }

    /// Reports whether a module is an outer one of a file's.
    fn is_outer(&self, outer: &Place, path: &str) -> bool {
        let inner = self
            .index
            .code(path)
            .and_then(|file| self.places.get(&file));
        inner.is_some_and(|inner| {
            let rest = inner.module.strip_prefix(&outer.module);
            outer.owner == inner.owner
                && rest.is_some_and(|rest| outer.module.is_empty() || rest.starts_with("::"))
        })
    }

    /// Returns what a path may be that leads to nothing known: a package that nothing declares, if
    /// nothing else can have brought the name.
    fn unknown(&self, file: usize, import: &Import) -> Found {
        let path = import.target.trim_start_matches("::");
        let (name, rest) = split(path);
        let is_known = |known: &str| {
            let target = self.names.get(&(file, import.scope.as_str(), known));
            target.is_some_and(|target| split(target).0 != name)
        };
        let is_package = import.form == Form::Statement
            && !rest.is_empty()
            && !matches!(name, "crate" | "self" | "super")
            && name.starts_with(|c: char| c.is_lowercase() || c == '_');
        if is_package && !is_known(name) && !is_known("*") {
            Found::Package(name.to_owned())
        } else {
            Found::Nothing
        }
    }

    /// Returns what a path leads to that is written in a module.
    fn locate(&self, from: &Place, path: &str, hops: usize) -> Option<Found> {
        let hops = hops.checked_sub(1)?;
        let (name, rest) = split(path);
        let root = Place::root(from.owner);
        match name {
            "" => self.package(from.owner, rest, hops),
            "crate" => self.member(&root, rest, hops),
            "self" => self.member(from, rest, hops),
            "super" => {
                let outer = from.module.rsplit_once("::");
                let mut place = root;
                place.module = outer.map_or(String::new(), |(outer, _)| outer.to_owned());
                if split(rest).0 == "super" {
                    self.locate(&place, rest, hops)
                } else {
                    self.member(&place, rest, hops)
                }
            }
            _ => {
                let found = self.descend(from, path, hops);
                let found = found.or_else(|| self.package(from.owner, path, hops));
                if found.is_some() || *from == root {
                    return found;
                }
                // `extern crate` names a package for all modules, and so does any name in old code.
                self.descend(&root, path, hops)
            }
        }
    }

    /// Returns what a path below a module leads to: the module itself if it has not the first name.
    fn member(&self, place: &Place, path: &str, hops: usize) -> Option<Found> {
        self.descend(place, path, hops).or_else(|| {
            let (path, _) = self.index.file(self.modules.get(place)?.file)?;
            Some(Found::Module(path.to_owned()))
        })
    }

    /// Returns what a path leads to whose first name a module has: a module inside it, or one that
    /// it imports.
    fn descend(&self, place: &Place, path: &str, hops: usize) -> Option<Found> {
        let (name, rest) = split(path);
        let inner = place.inner(name);
        if !name.is_empty() && self.modules.contains_key(&inner) {
            return self.member(&inner, rest, hops);
        }
        let spot = self.modules.get(place)?;
        let target = self.names.get(&(spot.file, spot.scope.as_str(), name))?;
        if split(target).0 == name {
            return None;
        }
        self.locate(place, &below(target, rest), hops)
    }

    /// Returns what a path leads to that begins with the name of a package, as a crate knows it.
    fn package(&self, owner: usize, path: &str, hops: usize) -> Option<Found> {
        let (name, rest) = split(path);
        if standard::is_of_rust(name) {
            return Some(Found::Standard(name.to_owned()));
        }
        let manifest = *self.crates.get(owner)?;
        let own = match self.dependencies.get(&manifest)?.get(name) {
            Some(None) => return Some(Found::Package(name.to_owned())),
            Some(Some(own)) => *own,
            None if library_name(self.index.manifest(manifest)?)? == name => manifest,
            None => return None,
        };
        let Some(library) = self.libraries.get(&own) else {
            return Some(Found::Own(own));
        };
        let root = Place::root(*library);
        // What a library has from other packages is its own for others.
        match self.member(&root, rest, hops) {
            Some(Found::Module(path)) => Some(Found::Module(path)),
            _ => self.member(&root, "", hops),
        }
    }
}

/// Returns a declaration of a module as an import.
fn part(declared: &ModuleDeclaration, to: Found) -> Link {
    let name = &declared.name;
    let written = match &declared.path {
        Some(path) => format!("#[path = \"{path}\"] mod {name}"),
        None => format!("mod {name}"),
    };
    let kind = if declared.is_test {
        ImportKind::Test
    } else {
        ImportKind::Part
    };
    Link {
        to,
        written,
        line: declared.line,
        kind,
    }
}

/// Returns the first name of a path, and the rest.
fn split(path: &str) -> (&str, &str) {
    path.split_once("::").unwrap_or((path, ""))
}

/// Returns the name of a package's library in code.
fn library_name(manifest: &Manifest) -> Option<String> {
    let named = match &manifest.settings {
        Settings::Cargo(settings) => settings.library.clone(),
        _ => None,
    };
    named.or_else(|| Some(manifest.name.as_deref()?.replace('-', "_")))
}

/// Returns the path of a module below another.
fn below(module: &str, name: &str) -> String {
    match (module, name) {
        ("", name) => name.to_owned(),
        (module, "") => module.to_owned(),
        _ => format!("{module}::{name}"),
    }
}

/// Reports whether a file of a package is the root of a target that cargo finds.
fn is_target(path: &str, folder: &str) -> bool {
    let inner = path.strip_prefix(folder).unwrap_or(path);
    TARGETS.iter().any(|target| {
        let rest = inner.trim_start_matches('/').strip_prefix(target);
        let rest = rest.and_then(|rest| rest.strip_prefix('/'));
        rest.is_some_and(|rest| match rest.split_once('/') {
            None => true,
            Some((_, file)) => file == "main.rs",
        })
    })
}

/// Returns the files that a module may be, the likely ones first; none if it is outside of the
/// project. `is_beside` says whether they are in the folder of the file that declares it.
fn candidates(file: &str, is_beside: bool, declared: &ModuleDeclaration) -> Vec<String> {
    let folder = folder_of(file);
    let own = if is_beside || name_of(file) == "mod.rs" {
        folder
    } else {
        file.strip_suffix(".rs").unwrap_or(file)
    };
    let inside = match &declared.path {
        Some(_) if declared.scope.is_empty() => folder.to_owned(),
        _ => format!("{own}/{}", declared.scope.replace("::", "/")),
    };
    let name = &declared.name;
    let names = match &declared.path {
        Some(path) if path.starts_with('/') || path.contains('\\') => return Vec::new(),
        Some(path) => vec![path.clone()],
        None => vec![format!("{name}.rs"), format!("{name}/mod.rs")],
    };
    let paths = names.iter().filter_map(|name| join(&inside, name));
    paths.collect()
}
