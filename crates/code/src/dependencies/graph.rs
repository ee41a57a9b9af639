//! Makes the graph of the files of a project.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::cycles::{Component, components};
use super::declared::{Declared, package_name};
use super::imports::{FileImports, Import, ImportKind};
use super::link::link;
use super::manifest::{DependencyKind, Ecosystem, Manifest, Settings};
use super::model::{
    Cycle, CycleStep, Declaration, DependencyGraph, ExternalPackage, ImportTarget, InvalidManifest,
    Module, ModuleImport, Package, PackageCycle, UndeclaredPackage, UnresolvedImport,
};
use super::project::{Index, ProjectFiles};
use super::resolve::{Found, Resolver, module_of};
use super::unused::Usage;
use crate::error::CodeError;
use crate::language::Language;
use crate::source::Stop;

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
            if stop() {
                return Err(CodeError::Stopped);
            }
            builder.file(&resolver, number, path, imports)?;
        }
        let mut graph = builder.finish(stop)?;
        graph.packages = packages(&project.manifests, workspaces, &builder.users);
        graph.package_cycles = package_cycles(&graph.packages, stop)?;
        let invalid = project
            .invalid
            .iter()
            .map(|(path, error)| (path.clone(), error.clone()));
        graph.invalid = invalid
            .map(|(path, error)| InvalidManifest { path, error })
            .collect();
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
    imports: &'p FileImports,
    module: String,
    /// The manifests of the folders around it.
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

    fn file(
        &mut self,
        resolver: &Resolver<'p>,
        number: usize,
        path: &'p str,
        imports: &'p FileImports,
    ) -> Result<(), CodeError> {
        let Some(first) = ecosystems(imports.language).first() else {
            return Ok(());
        };
        let module = module_of(path, imports.language);
        let packages = ecosystems(imports.language)
            .iter()
            .filter_map(|one| self.index.package_of(*one, path));
        // The nearest one, which has the longest path.
        let package = packages.max_by_key(|package| {
            self.index
                .manifest(*package)
                .map_or(0, |one| one.path.len())
        });
        let package_path = package
            .and_then(|package| self.index.manifest(package))
            .map(|one| one.path.clone());
        self.modules
            .entry(module.clone())
            .or_insert_with(|| Module {
                path: module.clone(),
                language: imports.language,
                package: package_path,
                imports: Vec::new(),
                imported_by: 0,
            });
        let manifests = if *first == Ecosystem::Cargo {
            package.into_iter().collect()
        } else {
            let all = ecosystems(imports.language).iter();
            all.flat_map(|ecosystem| self.index.manifests_above(*ecosystem, path))
                .collect()
        };
        let current = Current {
            path,
            imports,
            module,
            manifests,
        };
        for (part, line, is_test) in resolver.parts(number) {
            let kind = if is_test {
                ImportKind::Test
            } else {
                ImportKind::Part
            };
            self.add(&current, ImportTarget::Module(part), line, kind);
        }
        for (target, line) in resolver.missing_parts(number) {
            self.unresolved.push(UnresolvedImport {
                file: path.to_owned(),
                line,
                target,
            });
        }
        for import in &imports.imports {
            if imports.language == Language::Rust {
                self.use_named(
                    &current,
                    import
                        .target
                        .trim_start_matches("::")
                        .split("::")
                        .next()
                        .unwrap_or_default(),
                );
            }
            for found in resolver.resolve(number, path, imports, import)? {
                self.found(resolver, &current, import, found);
            }
        }
        Ok(())
    }

    fn found(
        &mut self,
        resolver: &Resolver<'p>,
        current: &Current<'p>,
        import: &Import,
        found: Found,
    ) {
        let to = if let Found::Module(path) = &found {
            path.as_str()
        } else {
            ""
        };
        let kind = resolver.kind(current.path, current.imports.language, import, to);
        match found {
            Found::Nothing => {}
            Found::Module(path) => {
                self.use_own(current, &path);
                self.add(current, ImportTarget::Module(path), import.line, kind);
            }
            Found::Own(package) => {
                let Some(manifest) = self.index.manifest(package) else {
                    return;
                };
                self.use_package(current, &manifest.path);
                let name = manifest
                    .name
                    .clone()
                    .unwrap_or_else(|| manifest.path.clone());
                self.add(current, ImportTarget::Package(name), import.line, kind);
            }
            Found::Standard(name) => {
                self.add(current, ImportTarget::Standard(name), import.line, kind)
            }
            Found::Missing => self.unresolved.push(UnresolvedImport {
                file: current.path.to_owned(),
                line: import.line,
                target: import.target.clone(),
            }),
            Found::Package(path) => {
                let (ecosystem, name, is_declared) = self.package(current, &path);
                let users = self.external.entry((ecosystem, name.clone())).or_default();
                users.insert(current.module.clone());
                if !is_declared && self.counted.insert((current.path, name.clone())) {
                    self.add_undeclared(current, ecosystem, &name, import.line);
                }
                self.add(current, ImportTarget::Package(name), import.line, kind);
            }
        }
    }

    /// Returns which package an import is, and whether a manifest declares it, and counts it there.
    fn package(&mut self, current: &Current<'p>, path: &str) -> (Ecosystem, String, bool) {
        let mut found = None;
        for number in &current.manifests {
            let Some(manifest) = self.index.manifest(*number) else {
                continue;
            };
            for dependency in self.declared.find(*number, manifest.ecosystem, path) {
                let users = self.users.entry((*number, *dependency)).or_default();
                users.insert(current.module.clone());
                let declared = manifest.dependencies.get(*dependency);
                found = found.or_else(|| {
                    declared.map(|declared| (manifest.ecosystem, declared.name.clone()))
                });
            }
        }
        if let Some((ecosystem, name)) = found {
            return (ecosystem, name, true);
        }
        let all = ecosystems(current.imports.language);
        let known = current
            .manifests
            .iter()
            .filter_map(|number| self.index.manifest(*number))
            .map(|one| one.ecosystem);
        let ecosystem = known
            .into_iter()
            .next()
            .or(all.first().copied())
            .unwrap_or(Ecosystem::CMake);
        (ecosystem, package_name(ecosystem, path), false)
    }

    /// Counts what a path of Rust names, whatever it leads to.
    fn use_named(&mut self, current: &Current<'p>, name: &str) {
        for number in &current.manifests {
            for dependency in self.declared.find(*number, Ecosystem::Cargo, name) {
                self.users
                    .entry((*number, *dependency))
                    .or_default()
                    .insert(current.module.clone());
            }
        }
    }

    /// Counts the package that a module of the project belongs to.
    fn use_own(&mut self, current: &Current<'p>, module: &str) {
        let all = ecosystems(current.imports.language);
        // A folder is in the package of the files in it.
        let path = if current.imports.language == Language::Go {
            format!("{module}/_")
        } else {
            module.to_owned()
        };
        let package = all
            .iter()
            .find_map(|ecosystem| self.index.package_of(*ecosystem, &path));
        if let Some(manifest) = package.and_then(|package| self.index.manifest(package)) {
            self.use_package(current, &manifest.path);
        }
    }

    fn use_package(&mut self, current: &Current<'p>, own: &str) {
        for number in &current.manifests {
            let Some(manifest) = self.index.manifest(*number) else {
                continue;
            };
            let dependencies = manifest.dependencies.iter().zip(0..);
            for (_, dependency) in dependencies.filter(|(one, _)| one.own.as_deref() == Some(own)) {
                self.users
                    .entry((*number, dependency))
                    .or_default()
                    .insert(current.module.clone());
            }
        }
    }

    fn add(&mut self, current: &Current<'p>, to: ImportTarget, line: usize, kind: ImportKind) {
        let is_own = matches!(&to, ImportTarget::Module(path) if *path == current.module);
        if is_own || !self.seen.insert((current.module.clone(), to.clone(), kind)) {
            return;
        }
        let file = if current.path == current.module {
            None
        } else {
            Some(current.path.to_owned())
        };
        if let Some(module) = self.modules.get_mut(&current.module) {
            module.imports.push(ModuleImport {
                to,
                file,
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
        // What a build script imports is there when a package is built.
        let is_script = current.path.rsplit('/').next() == Some("setup.py");
        let is_judged = !is_script
            && !matches!(
                ecosystem,
                Ecosystem::CMake | Ecosystem::Gradle | Ecosystem::Maven
            );
        let settings = || {
            current
                .manifests
                .iter()
                .filter_map(|number| Some(&self.index.manifest(*number)?.settings))
        };
        let is_computed = |settings: &Settings| matches!(settings, Settings::Python(python) if python.is_computed);
        if is_judged && settings().any(Settings::are_of_package) && !settings().any(is_computed) {
            self.lacking.extend(&current.manifests);
            let file = current.path.to_owned();
            let first = UndeclaredPackage {
                ecosystem,
                name: name.to_owned(),
                file,
                line,
                files: 0,
            };
            self.undeclared
                .entry((ecosystem, name.to_owned()))
                .or_insert(first)
                .files += 1;
        }
    }

    fn finish(&mut self, stop: Stop<'_>) -> Result<DependencyGraph, CodeError> {
        let mut modules: Vec<Module> = std::mem::take(&mut self.modules).into_values().collect();
        let numbers: HashMap<String, usize> = modules
            .iter()
            .map(|module| module.path.clone())
            .zip(0..)
            .collect();
        let mut importers = vec![HashSet::new(); modules.len()];
        let mut edges: Vec<Vec<usize>> = vec![Vec::new(); modules.len()];
        for (module, from) in modules.iter().zip(0..) {
            for import in &module.imports {
                let ImportTarget::Module(path) = &import.to else {
                    continue;
                };
                let Some(to) = numbers.get(path) else {
                    continue;
                };
                if let Some(importers) = importers.get_mut(*to) {
                    importers.insert(from);
                }
                if let Some(edges) = edges.get_mut(from).filter(|_| is_of_cycles(import.kind)) {
                    edges.push(*to);
                }
            }
        }
        for (module, importers) in modules.iter_mut().zip(importers) {
            module.imported_by = importers.len();
        }
        let cycles = components(&edges, stop)?
            .into_iter()
            .map(|component| cycle(&modules, &component))
            .collect();
        let manifests = &self.index.project.manifests;
        let used: HashSet<(usize, usize)> = self.users.keys().copied().collect();
        let files = self
            .index
            .project
            .code
            .iter()
            .map(|(path, imports)| (path.as_str(), imports.language));
        let paths = &self.index.project.paths;
        let (files, lacking) = (files.collect(), &self.lacking);
        let unused = Usage {
            manifests,
            used: &used,
            files,
            lacking,
            paths,
        }
        .unused(stop)?;
        self.unresolved
            .sort_by(|left, right| (&left.file, left.line).cmp(&(&right.file, right.line)));
        Ok(DependencyGraph {
            modules,
            cycles,
            unused,
            external: external(manifests, &self.external),
            undeclared: std::mem::take(&mut self.undeclared).into_values().collect(),
            unresolved: std::mem::take(&mut self.unresolved),
            ..DependencyGraph::default()
        })
    }
}

/// Reports whether such an import can close a circle: types, tests and parts of a module do not.
fn is_of_cycles(kind: ImportKind) -> bool {
    matches!(kind, ImportKind::Plain | ImportKind::Deferred)
}

fn cycle(modules: &[Module], component: &Component) -> Cycle {
    let path = |node: &usize| {
        modules
            .get(*node)
            .map(|module| module.path.clone())
            .unwrap_or_default()
    };
    let next = component.shortest.iter().cycle().skip(1);
    let steps = component
        .shortest
        .iter()
        .zip(next)
        .filter_map(|(from, to)| {
            let module = modules.get(*from)?;
            let to = ImportTarget::Module(path(to));
            let import = module
                .imports
                .iter()
                .find(|import| import.to == to && is_of_cycles(import.kind))?;
            let (file, line, kind) = (import.file.clone(), import.line, import.kind);
            Some(CycleStep {
                from: module.path.clone(),
                file,
                line,
                kind,
            })
        });
    Cycle {
        steps: steps.collect(),
        members: component.members.iter().map(path).collect(),
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
        for dependency in manifest
            .dependencies
            .iter()
            .filter(|dependency| dependency.own.is_none())
        {
            declared
                .entry((manifest.ecosystem, dependency.name.clone()))
                .or_default()
                .push(Declaration {
                    manifest: manifest.path.clone(),
                    line: dependency.line,
                    kind: dependency.kind,
                    requirement: dependency.requirement.clone(),
                });
        }
    }
    for key in imported.keys() {
        declared.entry(key.clone()).or_default();
    }
    let package = |((ecosystem, name), declared)| {
        let imported_by = imported
            .get(&(ecosystem, String::clone(&name)))
            .map_or(0, BTreeSet::len);
        ExternalPackage {
            ecosystem,
            name,
            declared,
            imported_by,
        }
    };
    declared.into_iter().map(package).collect()
}

fn packages(
    manifests: &[Manifest],
    workspaces: Vec<Option<String>>,
    users: &HashMap<(usize, usize), BTreeSet<String>>,
) -> Vec<Package> {
    let mut packages = Vec::new();
    for ((manifest, workspace), number) in manifests.iter().zip(workspaces).zip(0..) {
        if !manifest.settings.are_of_package() {
            continue;
        }
        let mut dependencies = manifest.dependencies.clone();
        for (dependency, place) in dependencies.iter_mut().zip(0..) {
            dependency.imported_by = users.get(&(number, place)).map_or(0, BTreeSet::len);
        }
        let (name, version) = (manifest.name.clone(), manifest.version.clone());
        let (manifest, ecosystem) = (manifest.path.clone(), manifest.ecosystem);
        packages.push(Package {
            manifest,
            ecosystem,
            name,
            version,
            workspace,
            dependencies,
        });
    }
    packages
}

fn package_cycles(packages: &[Package], stop: Stop<'_>) -> Result<Vec<PackageCycle>, CodeError> {
    let numbers: HashMap<&str, usize> = packages
        .iter()
        .map(|package| package.manifest.as_str())
        .zip(0..)
        .collect();
    let edges: Vec<Vec<usize>> = packages
        .iter()
        .map(|package| {
            let needed = package
                .dependencies
                .iter()
                .filter(|dependency| dependency.kind != DependencyKind::Dev);
            needed
                .filter_map(|dependency| numbers.get(dependency.own.as_deref()?).copied())
                .collect()
        })
        .collect();
    let path = |node: &usize| packages.get(*node).map(|package| package.manifest.clone());
    let cycles = components(&edges, stop)?.into_iter().map(|component| {
        let manifests = component.shortest.iter().filter_map(path).collect();
        PackageCycle { manifests }
    });
    Ok(cycles.collect())
}
