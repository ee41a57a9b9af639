//! Paths of Rust: the tree of modules of each crate, and what names in it are imported from
//! elsewhere.

use std::collections::{HashMap, HashSet};

use super::super::imports::{Form, Import, ModuleDeclaration};
use super::super::manifest::{Dependency, Ecosystem, Manifest, Settings};
use super::super::place::{folder_of, join};
use super::super::project::{Index, folder};
use super::super::standard;
use super::model::Found;
use crate::error::CodeError;
use crate::language::Language;
use crate::source::Stop;

/// Maximum number of imports that are followed from one to the next.
const MAX_HOPS: usize = 8;
/// The number of these that a `*` costs, since each of several may have the name.
const GLOB_HOPS: usize = 4;
/// The folders in which cargo looks for targets.
const TARGETS: [&str; 4] = ["src/bin", "tests", "examples", "benches"];
/// Packages from elsewhere with the names of their libraries, where these are others.
const LIBRARIES: [(&str, &str); 14] = [
    ("Inflector", "inflector"),
    ("cairo-rs", "cairo"),
    ("freetype-rs", "freetype"),
    ("lmdb-rkv", "lmdb"),
    ("md-5", "md5"),
    ("new_debug_unreachable", "debug_unreachable"),
    ("rust-argon2", "argon2"),
    ("rust-crypto", "crypto"),
    ("rust-ini", "ini"),
    ("rust-lzma", "lzma"),
    ("rust-s3", "s3"),
    ("rustls-webpki", "webpki"),
    ("sha-1", "sha1"),
    ("xml-rs", "xml"),
];

/// All crates.
pub(super) struct Crates<'p> {
    index: &'p Index<'p>,
    crates: Vec<Crate>,
    /// The library of each manifest.
    libraries: HashMap<usize, usize>,
    modules: HashMap<(usize, String), Spot>,
    /// The crate and the module of each file.
    places: HashMap<usize, Place>,
    /// The modules with a file, or perhaps one outside of the project, by the file and their place
    /// in its declarations.
    located: HashSet<(usize, usize)>,
    /// The modules that each file declares.
    inner: HashMap<usize, HashSet<String>>,
    names: HashMap<(usize, &'p str, &'p str), &'p Import>,
    /// What each part of a file imports by `*`, each once.
    globs: HashMap<(usize, &'p str), Vec<&'p str>>,
    /// The modules that these lead to, by the module that imports them, each once.
    opened: HashMap<Place, Vec<Place>>,
    declared: HashMap<usize, HashSet<&'p str>>,
    /// The dependencies of each manifest, by their name in code.
    dependencies: HashMap<usize, HashMap<String, Option<String>>>,
    stop: Stop<'p>,
}

struct Crate {
    manifest: usize,
    root: usize,
}

/// Where a module is: a file, or a part of one.
#[derive(Clone)]
struct Spot {
    file: usize,
    scope: String,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Place {
    owner: usize,
    module: String,
}

/// What a path leads to.
enum Lead {
    Module(Place),
    /// Something that a module has, or should have.
    Member(Place),
    Outside(Found),
}

const NOWHERE: Lead = Lead::Outside(Found::Nothing);

impl<'p> Crates<'p> {
    /// Finds all crates.
    ///
    /// # Errors
    /// [`CodeError::Stopped`] if `stop` said so.
    pub(super) fn new(index: &'p Index<'p>, stop: Stop<'p>) -> Result<Crates<'p>, CodeError> {
        let mut crates = Crates {
            index,
            crates: Vec::new(),
            libraries: HashMap::new(),
            modules: HashMap::new(),
            places: HashMap::new(),
            located: HashSet::new(),
            inner: HashMap::new(),
            names: HashMap::new(),
            globs: HashMap::new(),
            opened: HashMap::new(),
            declared: HashMap::new(),
            dependencies: HashMap::new(),
            stop,
        };
        crates.add_files()?;
        crates.add_roots()?;
        for number in 0..crates.crates.len() {
            crates.add_modules(number)?;
        }
        crates.open_globs()?;
        Ok(crates)
    }

    fn go_on(&self) -> Result<(), CodeError> {
        if (self.stop)() {
            Err(CodeError::Stopped)
        } else {
            Ok(())
        }
    }

    fn add_files(&mut self) -> Result<(), CodeError> {
        for ((_, imports), file) in self.index.project.code.iter().zip(0..) {
            if imports.language != Language::Rust {
                continue;
            }
            self.go_on()?;
            let mut globs = HashSet::new();
            self.declared
                .insert(file, imports.declared.iter().map(String::as_str).collect());
            self.inner.insert(
                file,
                imports
                    .modules
                    .iter()
                    .map(|one| below(&one.scope, &one.name))
                    .collect(),
            );
            for import in imports
                .imports
                .iter()
                .filter(|import| import.form == Form::Statement)
            {
                match import.names.first().map(String::as_str) {
                    Some("*") => {
                        let known = self.globs.entry((file, &import.scope)).or_default();
                        if globs.insert((&import.scope, &import.target)) {
                            known.push(&import.target);
                        }
                    }
                    Some(name) => {
                        self.names
                            .entry((file, &import.scope, name))
                            .or_insert(import);
                    }
                    None => {}
                }
            }
        }
        Ok(())
    }

    fn add_roots(&mut self) -> Result<(), CodeError> {
        let mut roots: Vec<(usize, String, bool)> = Vec::new();
        for (manifest, number) in self.index.project.manifests.iter().zip(0..) {
            let Settings::Cargo(settings) = &manifest.settings else {
                continue;
            };
            let names = |one: &Dependency| {
                let own = one.own.clone();
                self.names_of(one)
                    .into_iter()
                    .map(move |name| (name, own.clone()))
            };
            let dependencies: HashMap<String, Option<String>> =
                manifest.dependencies.iter().flat_map(names).collect();
            self.dependencies.insert(number, dependencies);
            let folder = folder(manifest);
            let library = settings.library_root.as_deref().unwrap_or("src/lib.rs");
            let others = settings
                .build
                .iter()
                .chain(&settings.roots)
                .map(|path| (path.as_str(), false));
            let usual = [(library, true), ("src/main.rs", false), ("build.rs", false)];
            for (named, is_library) in usual.into_iter().chain(others) {
                roots.extend(join(folder, named).map(|path| (number, path, is_library)));
            }
        }
        for (path, _) in &self.index.project.code {
            if let Some(number) = self.index.package_of(Ecosystem::Cargo, path)
                && self
                    .index
                    .manifest(number)
                    .is_some_and(|manifest| is_target(path, folder(manifest)))
            {
                roots.push((number, path.clone(), false));
            }
        }
        for (manifest, path, is_library) in roots {
            self.go_on()?;
            let Some(root) = self.index.code(&path) else {
                continue;
            };
            if self
                .crates
                .iter()
                .any(|one| one.root == root && one.manifest == manifest)
            {
                continue;
            }
            if is_library {
                self.libraries.entry(manifest).or_insert(self.crates.len());
            }
            self.crates.push(Crate { manifest, root });
        }
        Ok(())
    }

    /// Returns the names that code may have for a dependency.
    fn names_of(&self, dependency: &Dependency) -> Vec<String> {
        let own = dependency
            .own
            .as_deref()
            .filter(|_| dependency.alias.is_none());
        let library =
            own.and_then(|own| library_name(self.index.manifest(self.index.manifest_at(own)?)?));
        library.map_or_else(
            || library_names(dependency.known_as()),
            |library| vec![library],
        )
    }

    fn add_modules(&mut self, number: usize) -> Result<(), CodeError> {
        let Some(root) = self.crates.get(number).map(|one| one.root) else {
            return Ok(());
        };
        let mut seen = HashSet::from([root]);
        // Each with whether the files of its modules are beside it.
        let mut pending = vec![(String::new(), root, true)];
        while let Some((module, file, is_beside)) = pending.pop() {
            self.go_on()?;
            let spot = Spot {
                file,
                scope: String::new(),
            };
            self.modules.insert((number, module.clone()), spot);
            self.places.entry(file).or_insert(Place {
                owner: number,
                module: module.clone(),
            });
            let Some((path, imports)) = self.index.file(file) else {
                continue;
            };
            for (declared, at) in imports.modules.iter().zip(0..) {
                let scope = below(&declared.scope, &declared.name);
                let inner = below(&module, &scope);
                if declared.is_inline {
                    self.modules.insert((number, inner), Spot { file, scope });
                    continue;
                }
                let named = candidates(path, is_beside, declared);
                if named.is_empty() || named.iter().any(|path| self.index.has(path)) {
                    self.located.insert((file, at));
                }
                let child = named.into_iter().find_map(|path| self.index.code(&path));
                // A file that includes itself has modules without end.
                if let Some(child) = child.filter(|child| seen.insert(*child)) {
                    // What a path leads to is like a `mod.rs`.
                    pending.push((inner, child, declared.path.is_some()));
                }
            }
        }
        Ok(())
    }

    /// Finds the modules of which others import everything.
    fn open_globs(&mut self) -> Result<(), CodeError> {
        let mut opened = HashMap::new();
        for ((owner, module), spot) in &self.modules {
            let Some(globs) = self.globs.get(&(spot.file, spot.scope.as_str())) else {
                continue;
            };
            let from = Place {
                owner: *owner,
                module: module.clone(),
            };
            let (mut found, mut seen) = (Vec::new(), HashSet::new());
            for target in globs {
                self.go_on()?;
                if let Lead::Module(to) = self.locate(&from, target, Form::Mention, GLOB_HOPS)
                    && seen.insert(to.clone())
                {
                    found.push(to);
                }
            }
            opened.insert(from, found);
        }
        self.opened = opened;
        Ok(())
    }

    /// Returns the parts of a file, each with the line that declares it and whether it is for
    /// tests.
    pub(super) fn parts(&self, file: usize) -> Vec<(String, usize, bool)> {
        let Some(Place { owner, module }) = self.places.get(&file) else {
            return Vec::new();
        };
        let Some((_, imports)) = self.index.file(file) else {
            return Vec::new();
        };
        let parts = imports
            .modules
            .iter()
            .filter(|declared| !declared.is_inline)
            .filter_map(|declared| {
                let inner = below(module, &below(&declared.scope, &declared.name));
                let spot = self.modules.get(&(*owner, inner))?;
                let (path, _) = self.index.file(spot.file)?;
                Some((path.to_owned(), declared.line, declared.is_test))
            });
        parts.collect()
    }

    /// Returns the modules that a file declares, as written, and that certainly have no file, each
    /// with its line.
    pub(super) fn missing(&self, file: usize) -> Vec<(String, usize)> {
        // Where the modules of a file are that is in no crate is not known.
        let imports = self
            .index
            .file(file)
            .filter(|_| self.places.contains_key(&file))
            .map(|(_, imports)| imports);
        let Some(imports) = imports else {
            return Vec::new();
        };
        let is_odd = imports
            .modules
            .iter()
            .any(|one| one.is_inline && (one.is_conditional || one.path.is_some()));
        let missing = imports.modules.iter().zip(0..).filter(|(declared, at)| {
            let is_certain = !declared.is_conditional && (declared.scope.is_empty() || !is_odd);
            !declared.is_inline && is_certain && !self.located.contains(&(file, *at))
        });
        missing
            .map(|(declared, _)| (written(declared), declared.line))
            .collect()
    }

    /// Reports whether a file's module is an outer one of another file's.
    pub(super) fn is_outer(&self, outer: &str, inner: &str) -> bool {
        let place = |path: &str| self.places.get(&self.index.code(path)?);
        match (place(outer), place(inner)) {
            (Some(outer), Some(inner)) => {
                outer.owner == inner.owner
                    && (outer.module.is_empty()
                        || inner.module.starts_with(&format!("{}::", outer.module)))
            }
            _ => false,
        }
    }

    /// Returns what a path leads to.
    ///
    /// # Errors
    /// [`CodeError::Stopped`] if `stop` said so.
    pub(super) fn resolve(&self, file: usize, import: &Import) -> Result<Found, CodeError> {
        let place = self.places.get(&file).cloned();
        let Some(place) = place else {
            return Ok(self.outside_of_crates(file, import));
        };
        let from = Place {
            module: below(&place.module, &import.scope),
            ..place
        };
        if import.form == Form::Statement && self.is_nowhere(&from, import) {
            return Ok(Found::Missing);
        }
        let lead = self.locate(&from, &import.target, import.form, MAX_HOPS);
        // What was stopped may be wrong.
        self.go_on()?;
        Ok(match lead {
            Lead::Outside(found) => found,
            Lead::Module(place) | Lead::Member(place) => match self.spot(&place) {
                // The last name of a statement may itself be imported by the module that it leads
                // to.
                Some(spot) if spot.file == file => Found::Nothing,
                Some(spot) => self
                    .index
                    .file(spot.file)
                    .map_or(Found::Nothing, |(path, _)| Found::Module(path.to_owned())),
                None => Found::Nothing,
            },
        })
    }

    /// Reports whether a path leads through a module that its crate certainly does not have at its
    /// root.
    fn is_nowhere(&self, from: &Place, import: &Import) -> bool {
        let Some(path) = import.target.strip_prefix("crate::") else {
            return false;
        };
        let name = path.split("::").next().unwrap_or_default();
        let is_through = path.contains("::") || import.names == ["*"];
        // Macros make types more often than modules.
        if !is_through
            || !name.starts_with(|c: char| c.is_lowercase())
            || standard::is_of_rust(name)
        {
            return false;
        }
        let root = Place {
            owner: from.owner,
            module: String::new(),
        };
        let Some(file) = self.spot(&root).map(|spot| spot.file) else {
            return false;
        };
        let is_open = self
            .index
            .file(file)
            .is_none_or(|(_, imports)| imports.is_open);
        let is_known = self.names.contains_key(&(file, "", name))
            || self
                .inner
                .get(&file)
                .is_some_and(|modules| modules.contains(name))
            || self.declares(&root, name);
        !is_open && !is_known && !self.globs.contains_key(&(file, ""))
    }

    /// Returns what a path leads to in a file that no crate includes, in which only packages are
    /// known.
    fn outside_of_crates(&self, file: usize, import: &Import) -> Found {
        let first = import
            .target
            .trim_start_matches("::")
            .split("::")
            .next()
            .unwrap_or_default();
        let Some((path, _)) = self.index.file(file) else {
            return Found::Nothing;
        };
        let package = self.index.package_of(Ecosystem::Cargo, path);
        let known = package.and_then(|package| self.dependencies.get(&package));
        match known {
            _ if standard::is_of_rust(first) => Found::Standard(first.to_owned()),
            Some(known) if known.contains_key(first) => Found::Package(first.to_owned()),
            _ => Found::Nothing,
        }
    }

    fn locate(&self, from: &Place, target: &str, form: Form, hops: usize) -> Lead {
        if hops == 0 {
            return NOWHERE;
        }
        let parts: Vec<&str> = target.split("::").collect();
        let Some((first, rest)) = parts.split_first() else {
            return NOWHERE;
        };
        match *first {
            "" => match rest.split_first() {
                Some((name, rest)) => self.elsewhere(from, name, rest, hops).unwrap_or(NOWHERE),
                None => NOWHERE,
            },
            "crate" => self.descend(
                Place {
                    module: String::new(),
                    ..from.clone()
                },
                rest,
                hops,
            ),
            "self" => self.descend(from.clone(), rest, hops),
            "super" => {
                let count = parts.iter().take_while(|part| **part == "super").count();
                let mut module = from.module.as_str();
                for _ in 0..count {
                    module = module.rsplit_once("::").map_or("", |(outer, _)| outer);
                }
                let rest = parts.get(count..).unwrap_or_default();
                self.descend(
                    Place {
                        module: module.to_owned(),
                        ..from.clone()
                    },
                    rest,
                    hops,
                )
            }
            _ => self.named(from, &parts, form, hops),
        }
    }

    /// Returns what a path leads to that begins with a name: of a module, of a package, or of
    /// something imported.
    fn named(&self, from: &Place, path: &[&str], form: Form, hops: usize) -> Lead {
        let Some((name, rest)) = path.split_first() else {
            return NOWHERE;
        };
        let inner = Place {
            module: below(&from.module, name),
            ..from.clone()
        };
        if self.spot(&inner).is_some() {
            return self.descend(inner, rest, hops);
        }
        let outer = Place {
            module: (*name).to_owned(),
            ..from.clone()
        };
        if form == Form::Statement && self.is_2015(from) && self.spot(&outer).is_some() {
            return self.descend(outer, rest, hops);
        }
        if let Some(found) = self.elsewhere(from, name, rest, hops) {
            return found;
        }
        let Some(spot) = self.spot(from) else {
            return NOWHERE;
        };
        let known = below(&spot.scope, name);
        let is_declared = self
            .declared
            .get(&spot.file)
            .is_some_and(|names| names.contains(known.as_str()));
        let is_imported = self
            .names
            .get(&(spot.file, spot.scope.as_str(), *name))
            .filter(|import| {
                import.target != *name && !import.target.starts_with(&format!("{name}::"))
            });
        let has_globs = self.globs.contains_key(&(spot.file, spot.scope.as_str()));
        let is_name = name.starts_with(|c: char| c.is_lowercase() || c == '_');
        if is_declared || is_imported.is_some() || has_globs || form != Form::Statement || !is_name
        {
            NOWHERE
        } else {
            Lead::Outside(Found::Package((*name).to_owned()))
        }
    }

    /// Returns what a path leads to that begins with the name of a crate; `None` if there is no
    /// such crate.
    fn elsewhere(&self, from: &Place, name: &str, rest: &[&str], hops: usize) -> Option<Lead> {
        if standard::is_of_rust(name) {
            return Some(Lead::Outside(Found::Standard(name.to_owned())));
        }
        let manifest = self.crates.get(from.owner)?.manifest;
        if let Some(own) = self.dependencies.get(&manifest)?.get(name) {
            let Some(own) = own else {
                return Some(Lead::Outside(Found::Package(name.to_owned())));
            };
            let package = self.index.manifest_at(own)?;
            return Some(match self.libraries.get(&package) {
                Some(library) => self.descend(
                    Place {
                        owner: *library,
                        module: String::new(),
                    },
                    rest,
                    hops,
                ),
                None => Lead::Outside(Found::Own(package)),
            });
        }
        if let Some(found) = self.renamed(from, name, rest, hops) {
            return Some(found);
        }
        let library = self
            .libraries
            .get(&manifest)
            .filter(|library| **library != from.owner)?;
        if library_name(self.index.manifest(manifest)?)? != name {
            return None;
        }
        Some(self.descend(
            Place {
                owner: *library,
                module: String::new(),
            },
            rest,
            hops,
        ))
    }

    /// Returns what a path leads to that begins with a name of a crate which `extern crate … as`
    /// gives it.
    fn renamed(&self, from: &Place, name: &str, rest: &[&str], hops: usize) -> Option<Lead> {
        let root = Place {
            owner: from.owner,
            module: String::new(),
        };
        let import = self.names.get(&(self.spot(&root)?.file, "", name))?;
        let target = import
            .target
            .strip_prefix("::")
            .filter(|target| *target != name && !target.contains("::"))?;
        let hops = hops.checked_sub(1).filter(|hops| *hops > 0)?;
        if target == "self" {
            Some(self.descend(root, rest, hops))
        } else {
            self.elsewhere(&root, target, rest, hops)
        }
    }

    /// Follows names from a module on.
    fn descend(&self, from: Place, rest: &[&str], hops: usize) -> Lead {
        let mut place = from;
        for (name, at) in rest.iter().zip(1..) {
            let inner = Place {
                module: below(&place.module, name),
                ..place.clone()
            };
            if self.spot(&inner).is_some() {
                place = inner;
                continue;
            }
            let after = rest.get(at..).unwrap_or_default();
            return self
                .imported(&place, name, after, hops)
                .unwrap_or(Lead::Member(place));
        }
        Lead::Module(place)
    }

    /// Returns what a name leads to that a module imports from elsewhere.
    fn imported(&self, place: &Place, name: &str, after: &[&str], hops: usize) -> Option<Lead> {
        let spot = self.spot(place)?;
        if let Some(import) = self.names.get(&(spot.file, spot.scope.as_str(), name)) {
            let target = after.iter().fold(import.target.clone(), |path, part| {
                format!("{path}::{part}")
            });
            return match self.locate(place, &target, Form::Mention, hops - 1) {
                Lead::Outside(Found::Nothing) => None,
                lead => Some(lead),
            };
        }
        let hops = hops.checked_sub(GLOB_HOPS).filter(|hops| *hops > 0)?;
        self.opened
            .get(place)?
            .iter()
            .take_while(|_| !(self.stop)())
            .find_map(|opened| {
                match self.descend(opened.clone(), &[name], hops) {
                    // Only if that module has the name; what it imports itself was followed.
                    Lead::Module(to) | Lead::Member(to) if self.declares(&to, name) => {
                        Some(Lead::Member(to))
                    }
                    _ => None,
                }
            })
    }

    fn declares(&self, place: &Place, name: &str) -> bool {
        let names = self
            .spot(place)
            .and_then(|spot| self.declared.get(&spot.file));
        names.is_some_and(|names| names.contains(name))
    }

    fn spot(&self, place: &Place) -> Option<&Spot> {
        self.modules.get(&(place.owner, place.module.clone()))
    }

    fn is_2015(&self, place: &Place) -> bool {
        let manifest = self
            .crates
            .get(place.owner)
            .and_then(|one| self.index.manifest(one.manifest));
        matches!(manifest.map(|manifest| &manifest.settings), Some(Settings::Cargo(settings)) if settings.is_2015)
    }
}

/// Returns the names that code may have for a package from elsewhere.
pub(in super::super) fn library_names(package: &str) -> Vec<String> {
    let known = LIBRARIES
        .iter()
        .filter(|(known, _)| *known == package)
        .map(|(_, library)| (*library).to_owned());
    std::iter::once(ident(package)).chain(known).collect()
}

/// Returns a name as it is in code.
fn ident(name: &str) -> String {
    name.replace('-', "_")
}

/// Returns the name of a package's library in code.
fn library_name(manifest: &Manifest) -> Option<String> {
    let named = match &manifest.settings {
        Settings::Cargo(settings) => settings.library.clone(),
        _ => None,
    };
    named.or_else(|| manifest.name.as_deref().map(ident))
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
    let Some(inner) = path
        .strip_prefix(folder)
        .map(|rest| rest.trim_start_matches('/'))
    else {
        return false;
    };
    TARGETS.iter().any(|target| {
        let rest = inner
            .strip_prefix(target)
            .and_then(|rest| rest.strip_prefix('/'));
        rest.is_some_and(|rest| match rest.split_once('/') {
            None => rest.ends_with(".rs"),
            Some((_, file)) => file == "main.rs",
        })
    })
}

/// Returns the files that a module may be, the likely ones first; none if it is outside of the
/// project. `is_beside` says whether they are in the folder of the file that declares it.
fn candidates(file: &str, is_beside: bool, declared: &ModuleDeclaration) -> Vec<String> {
    let folder = folder_of(file);
    let file_name = file.rsplit('/').next().unwrap_or_default();
    let stem = file_name.strip_suffix(".rs").unwrap_or(file_name);
    let base = if is_beside || file_name == "mod.rs" {
        join(folder, "")
    } else {
        join(folder, stem)
    };
    let inside = base
        .and_then(|base| join(&base, &declared.scope.replace("::", "/")))
        .unwrap_or_default();
    let (name, path) = (&declared.name, &declared.path);
    match path {
        Some(path) if path.starts_with('/') || path.contains('\\') => Vec::new(),
        Some(path) if declared.scope.is_empty() => join(folder, path).into_iter().collect(),
        Some(path) => join(&inside, path).into_iter().collect(),
        None => [format!("{name}.rs"), format!("{name}/mod.rs")]
            .iter()
            .filter_map(|name| join(&inside, name))
            .collect(),
    }
}

/// Returns a declaration as it is in code.
fn written(declared: &ModuleDeclaration) -> String {
    let name = &declared.name;
    declared.path.as_ref().map_or_else(
        || format!("mod {name}"),
        |path| format!("#[path = \"{path}\"] mod {name}"),
    )
}
