//! Makes the graph of the files of a project.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use petgraph::graphmap::DiGraphMap;

use super::cycles::{Component, components};
use super::declared::{Declared, package_name};
use super::imports::{FileImports, ImportKind};
use super::link::link;
use super::manifest::{DependencyKind, Ecosystem, Manifest};
use super::model::{
    Cycle, CycleStep, Declaration, DependencyGraph, ExternalPackage, ImportTarget, InvalidManifest,
    Module, ModuleImport, Package, PackageCycle, UndeclaredPackage, UnresolvedImport,
};
use super::place::{join, name_of};
use super::project::{Index, ProjectFiles, folder};
use super::resolve::{Found, Link, Resolver, module_of};
use super::unused::Usage;
use crate::error::CodeError;
use crate::language::Language;
use crate::source::{Stop, go_on};

impl DependencyGraph {
    /// Makes the graph of a project.
    ///
    /// # Errors
    /// [`CodeError::Stopped`] if `stop` said so.
    pub fn from_project(
        mut project: ProjectFiles,
        stop: Stop<'_>,
    ) -> Result<DependencyGraph, CodeError> {
        project
            .code
            .sort_by(|(left, _), (right, _)| left.cmp(right));
        let workspaces = link(&mut project.manifests, stop)?;
        let index = Index::new(&project);
        let mut builder = Builder::new(&index);
        let resolver = Resolver::new(&index, stop)?;
        for ((path, imports), number) in project.code.iter().zip(0..) {
            go_on(stop)?;
            builder.add_file(path, imports, resolver.links(number, stop)?);
        }
        let packages = packages(&project.manifests, workspaces, &builder.users);
        let mut graph = DependencyGraph {
            package_cycles: package_cycles(&packages, stop)?,
            packages,
            ..builder.finish(stop)?
        };
        for (path, error) in project.invalid {
            graph.invalid.push(InvalidManifest { path, error });
        }
        graph
            .invalid
            .sort_by(|left, right| left.path.cmp(&right.path));
        Ok(graph)
    }
}

/// Returns the ecosystems whose manifests are for a language.
fn ecosystems(language: Language) -> &'static [Ecosystem] {
    match language {
        Language::Rust => &[Ecosystem::Cargo],
        Language::Python => &[Ecosystem::Python],
        Language::JavaScript | Language::TypeScript | Language::Tsx => &[Ecosystem::Npm],
        Language::Go => &[Ecosystem::Go],
        Language::Java => &[Ecosystem::Maven, Ecosystem::Gradle],
        Language::C | Language::Cpp => &[Ecosystem::CMake],
        Language::Shell => &[],
    }
}

/// The file that is looked at.
struct Current<'p> {
    path: &'p str,
    ecosystems: &'static [Ecosystem],
    module: String,
    /// The manifests of the folders around it, by their numbers.
    manifests: Vec<usize>,
}

struct Builder<'p> {
    index: &'p Index<'p>,
    declared: Declared,
    modules: BTreeMap<String, Module>,
    /// The imports so far, so that each is listed once.
    seen: HashSet<(String, ImportTarget, ImportKind)>,
    /// The modules that import each dependency of each manifest.
    users: HashMap<(usize, usize), BTreeSet<String>>,
    /// The modules that import each package from elsewhere.
    external: BTreeMap<(Ecosystem, String), BTreeSet<String>>,
    undeclared: BTreeMap<(Ecosystem, String), UndeclaredPackage>,
    /// The files that were counted for each undeclared package.
    counted: HashSet<(&'p str, String)>,
    unresolved: Vec<UnresolvedImport>,
    /// The manifests whose code imports packages that none declares.
    lacking: HashSet<usize>,
}

impl<'p> Builder<'p> {
    fn new(index: &'p Index<'p>) -> Builder<'p> {
        Builder {
            index,
            declared: Declared::new(&index.project.manifests),
            modules: BTreeMap::new(),
            seen: HashSet::new(),
            users: HashMap::new(),
            external: BTreeMap::new(),
            undeclared: BTreeMap::new(),
            counted: HashSet::new(),
            unresolved: Vec::new(),
            lacking: HashSet::new(),
        }
    }

    fn add_file(&mut self, path: &'p str, imports: &FileImports, links: Vec<Link>) {
        let ecosystems = ecosystems(imports.language);
        if ecosystems.is_empty() {
            return;
        }
        let module = module_of(path, imports.language);
        let package = self.package_of(ecosystems, path);
        self.modules
            .entry(module.clone())
            .or_insert_with(|| Module {
                path: module.clone(),
                language: imports.language,
                package: package.map(|manifest| manifest.path.clone()),
                imports: Vec::new(),
                imported_by: 0,
            });
        let manifests = match package {
            // Cargo knows no dependencies of the folders around a package.
            _ if imports.language == Language::Rust => package
                .and_then(|package| self.index.manifest_at(&package.path))
                .into_iter()
                .collect(),
            _ => ecosystems
                .iter()
                .flat_map(|ecosystem| self.index.manifests_above(*ecosystem, path))
                .collect(),
        };
        let current = Current {
            path,
            ecosystems,
            module,
            manifests,
        };
        for link in links {
            if imports.language == Language::Rust {
                // Whatever a path leads to, its begin names a package.
                let path = link.written.trim_start_matches("::");
                let name = path.split_once("::").map_or(path, |(name, _)| name);
                self.find_declared(&current, name);
            }
            self.add_link(&current, link);
        }
    }

    /// Returns the package that a file is in: the nearest one, which has the longest path.
    fn package_of(&self, ecosystems: &[Ecosystem], path: &str) -> Option<&'p Manifest> {
        ecosystems
            .iter()
            .filter_map(|ecosystem| self.index.package_of(*ecosystem, path))
            .filter_map(|package| self.index.manifest(package))
            .max_by_key(|manifest| manifest.path.len())
    }

    fn add_link(&mut self, current: &Current<'p>, link: Link) {
        let to = match link.to {
            Found::Nothing => return,
            Found::Missing => {
                self.unresolved.push(UnresolvedImport {
                    file: current.path.to_owned(),
                    line: link.line,
                    target: link.written,
                });
                return;
            }
            Found::Standard(name) => ImportTarget::Standard(name),
            Found::Module(path) => {
                // A folder is in the package of the files in it.
                let file = match current.ecosystems {
                    [Ecosystem::Go] => format!("{path}/_"),
                    _ => path.clone(),
                };
                if let Some(package) = self.package_of(current.ecosystems, &file) {
                    self.use_own(current, package);
                }
                ImportTarget::Module(path)
            }
            Found::Own(package) => {
                let Some(manifest) = self.index.manifest(package) else {
                    return;
                };
                self.use_own(current, manifest);
                let name = manifest.name.as_ref().unwrap_or(&manifest.path);
                ImportTarget::Package(name.clone())
            }
            Found::Package(path) => {
                ImportTarget::Package(self.add_external(current, &path, link.line))
            }
        };
        self.add_import(current, to, link.line, link.kind);
    }

    /// Counts a package from elsewhere, and returns its name.
    fn add_external(&mut self, current: &Current<'p>, path: &str, line: usize) -> String {
        let found = self.find_declared(current, path);
        let is_declared = found.is_some();
        let (ecosystem, name) = found.unwrap_or_else(|| {
            let mut around = current.manifests.iter();
            let around = around.find_map(|number| self.index.manifest(*number));
            let usual = current.ecosystems.first().copied();
            let ecosystem = around.map(|manifest| manifest.ecosystem).or(usual);
            let ecosystem = ecosystem.unwrap_or(Ecosystem::CMake);
            (ecosystem, package_name(ecosystem, path))
        });
        let users = self.external.entry((ecosystem, name.clone())).or_default();
        users.insert(current.module.clone());
        if !is_declared && self.counted.insert((current.path, name.clone())) {
            self.add_undeclared(current, ecosystem, &name, line);
        }
        name
    }

    /// Counts an import for the dependencies that it is, and returns the first one's name.
    fn find_declared(&mut self, current: &Current<'p>, path: &str) -> Option<(Ecosystem, String)> {
        let mut found = None;
        for number in &current.manifests {
            let Some(manifest) = self.index.manifest(*number) else {
                continue;
            };
            for dependency in self.declared.find(*number, manifest.ecosystem, path) {
                let users = self.users.entry((*number, *dependency)).or_default();
                users.insert(current.module.clone());
                if let Some(declared) = manifest.dependencies.get(*dependency)
                    && found.is_none()
                {
                    found = Some((manifest.ecosystem, declared.name.clone()));
                }
            }
        }
        found
    }

    /// Counts the dependencies that are a package of the project.
    fn use_own(&mut self, current: &Current<'p>, own: &Manifest) {
        for number in &current.manifests {
            let manifest = self.index.manifest(*number);
            let dependencies = manifest.into_iter().flat_map(|one| &one.dependencies);
            for (dependency, place) in dependencies.zip(0..) {
                if dependency.own.as_ref() == Some(&own.path) {
                    let users = self.users.entry((*number, place)).or_default();
                    users.insert(current.module.clone());
                }
            }
        }
    }

    fn add_import(
        &mut self,
        current: &Current<'p>,
        to: ImportTarget,
        line: usize,
        kind: ImportKind,
    ) {
        let is_own = matches!(&to, ImportTarget::Module(path) if *path == current.module);
        if is_own || !self.seen.insert((current.module.clone(), to.clone(), kind)) {
            return;
        }
        let is_folder = current.path != current.module;
        if let Some(module) = self.modules.get_mut(&current.module) {
            module.imports.push(ModuleImport {
                to,
                file: is_folder.then(|| current.path.to_owned()),
                line,
                kind,
            });
        }
    }

    fn add_undeclared(
        &mut self,
        current: &Current<'p>,
        ecosystem: Ecosystem,
        name: &str,
        line: usize,
    ) {
        let around = current.manifests.iter();
        let around: Vec<&Manifest> = around
            .filter_map(|number| self.index.manifest(*number))
            .filter(|manifest| manifest.is_of_package())
            .collect();
        // Which artifact brings what is only guessed, and what a `setup.py` declares is not read.
        let is_guessed = matches!(
            ecosystem,
            Ecosystem::CMake | Ecosystem::Gradle | Ecosystem::Maven
        );
        let is_computed = name_of(current.path) == "setup.py"
            || around.iter().any(|manifest| {
                let script = join(folder(manifest), "setup.py");
                ecosystem == Ecosystem::Python && script.is_some_and(|path| self.index.has(&path))
            });
        if around.is_empty() || is_guessed || is_computed {
            return;
        }
        self.lacking.extend(&current.manifests);
        let known = self.undeclared.entry((ecosystem, name.to_owned()));
        let package = known.or_insert_with(|| UndeclaredPackage {
            ecosystem,
            name: name.to_owned(),
            file: current.path.to_owned(),
            line,
            files: 0,
        });
        package.files += 1;
    }

    fn finish(self, stop: Stop<'_>) -> Result<DependencyGraph, CodeError> {
        let mut modules: Vec<Module> = self.modules.into_values().collect();
        let cycles = count_importers(&mut modules, stop)?;
        let usage = Usage {
            index: self.index,
            used: self.users.into_keys().collect(),
            lacking: &self.lacking,
        };
        let mut unresolved = self.unresolved;
        unresolved.sort_by(|left, right| (&left.file, left.line).cmp(&(&right.file, right.line)));
        Ok(DependencyGraph {
            modules,
            cycles,
            unused: usage.unused(stop)?,
            external: external(&self.index.project.manifests, &self.external),
            undeclared: self.undeclared.into_values().collect(),
            unresolved,
            ..DependencyGraph::default()
        })
    }
}

/// Counts which modules import each other one, and returns their circles.
fn count_importers(modules: &mut [Module], stop: Stop<'_>) -> Result<Vec<Cycle>, CodeError> {
    let mut importers: HashMap<String, usize> = HashMap::new();
    let mut graph = DiGraphMap::new();
    for module in modules.iter() {
        let mut imported = HashSet::new();
        for import in &module.imports {
            if let ImportTarget::Module(path) = &import.to {
                imported.insert(path);
                if is_of_cycles(import.kind) {
                    graph.add_edge(module.path.as_str(), path.as_str(), ());
                }
            }
        }
        for path in imported {
            *importers.entry(path.clone()).or_default() += 1;
        }
    }
    let components = components(&graph, stop)?;
    let cycles = components.iter().map(|one| cycle(modules, one)).collect();
    for module in modules {
        module.imported_by = importers.remove(&module.path).unwrap_or(0);
    }
    Ok(cycles)
}

/// Reports whether such an import can close a circle: types, tests and parts of a module do not.
fn is_of_cycles(kind: ImportKind) -> bool {
    matches!(kind, ImportKind::Plain | ImportKind::Deferred)
}

fn cycle(modules: &[Module], component: &Component<&str>) -> Cycle {
    let circle = component.shortest.iter();
    let mut steps = Vec::new();
    for (from, to) in circle.clone().zip(circle.cycle().skip(1)) {
        // They are ordered by their paths.
        let module = modules.binary_search_by(|module| module.path.as_str().cmp(from));
        let module = module.ok().and_then(|place| modules.get(place));
        let mut imports = module.into_iter().flat_map(|module| &module.imports);
        let import = imports.find(|import| {
            let leads = matches!(&import.to, ImportTarget::Module(path) if path == to);
            leads && is_of_cycles(import.kind)
        });
        steps.extend(import.map(|import| CycleStep {
            from: (*from).to_owned(),
            file: import.file.clone(),
            line: import.line,
            kind: import.kind,
        }));
    }
    let members = component.members.iter();
    Cycle {
        steps,
        members: members.map(|member| (*member).to_owned()).collect(),
    }
}

/// Returns the packages that others provide: those that manifests declare, and those that code
/// imports.
fn external(
    manifests: &[Manifest],
    imported: &BTreeMap<(Ecosystem, String), BTreeSet<String>>,
) -> Vec<ExternalPackage> {
    let mut declared: BTreeMap<(Ecosystem, String), Vec<Declaration>> = BTreeMap::new();
    for manifest in manifests {
        for one in manifest.dependencies.iter().filter(|one| one.own.is_none()) {
            let key = (manifest.ecosystem, one.name.clone());
            declared.entry(key).or_default().push(Declaration {
                manifest: manifest.path.clone(),
                line: one.line,
                kind: one.kind,
                requirement: one.requirement.clone(),
            });
        }
    }
    for key in imported.keys() {
        declared.entry(key.clone()).or_default();
    }
    let packages = declared.into_iter().map(|(key, declared)| {
        let imported_by = imported.get(&key).map_or(0, BTreeSet::len);
        let (ecosystem, name) = key;
        ExternalPackage {
            ecosystem,
            name,
            declared,
            imported_by,
        }
    });
    packages.collect()
}

fn packages(
    manifests: &[Manifest],
    workspaces: Vec<Option<String>>,
    users: &HashMap<(usize, usize), BTreeSet<String>>,
) -> Vec<Package> {
    let mut packages = Vec::new();
    for ((manifest, workspace), number) in manifests.iter().zip(workspaces).zip(0..) {
        if !manifest.is_of_package() {
            continue;
        }
        let mut dependencies = manifest.dependencies.clone();
        for (dependency, place) in dependencies.iter_mut().zip(0..) {
            dependency.imported_by = users.get(&(number, place)).map_or(0, BTreeSet::len);
        }
        packages.push(Package {
            manifest: manifest.path.clone(),
            ecosystem: manifest.ecosystem,
            name: manifest.name.clone(),
            version: manifest.version.clone(),
            workspace,
            dependencies,
        });
    }
    packages
}

fn package_cycles(packages: &[Package], stop: Stop<'_>) -> Result<Vec<PackageCycle>, CodeError> {
    let mut graph = DiGraphMap::new();
    for package in packages {
        for dependency in &package.dependencies {
            if let Some(own) = &dependency.own
                && dependency.kind != DependencyKind::Dev
            {
                graph.add_edge(package.manifest.as_str(), own.as_str(), ());
            }
        }
    }
    let mut cycles = Vec::new();
    for component in components(&graph, stop)? {
        let circle = component.shortest.into_iter();
        cycles.push(PackageCycle {
            manifests: circle.map(str::to_owned).collect(),
        });
    }
    Ok(cycles)
}
