//! Modules of JavaScript and TypeScript.

use std::collections::HashMap;

use super::super::imports::Import;
use super::super::manifest::{Alias, Ecosystem, Settings};
use super::super::place::{folder_of, join, upwards};
use super::super::project::{Index, folder};
use super::super::standard;
use super::model::Found;

/// The endings that an import may leave out, in the order in which they are tried.
const ENDINGS: [&str; 13] = [
    "", ".ts", ".tsx", ".mts", ".cts", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".json", ".vue",
    ".svelte",
];
/// The endings of what a compiler writes, each with one of its sources.
const COMPILED: [(&str, &str); 6] = [
    (".js", ".ts"),
    (".js", ".tsx"),
    (".js", ".jsx"),
    (".jsx", ".tsx"),
    (".mjs", ".mts"),
    (".cjs", ".cts"),
];
/// Maximum number of configurations that extend each other.
const MAX_EXTENDS: usize = 10;

/// Where modules are found.
pub(super) struct NodeModules<'p> {
    index: &'p Index<'p>,
    /// The packages of the project, by name.
    packages: HashMap<&'p str, usize>,
    /// The names that the files below each folder have for modules.
    aliases: HashMap<&'p str, Vec<Names<'p>>>,
}

/// What one file says about names, whose places begin at a folder.
struct Names<'p> {
    folder: String,
    aliases: &'p [Alias],
    /// Whether any name may be a path below the folder.
    is_base: bool,
}

impl<'p> NodeModules<'p> {
    pub(super) fn new(index: &'p Index<'p>) -> NodeModules<'p> {
        let mut modules = NodeModules {
            index,
            packages: HashMap::new(),
            aliases: HashMap::new(),
        };
        for number in 0..index.project.manifests.len() {
            modules.add(number);
        }
        modules
    }

    fn add(&mut self, number: usize) {
        let Some(manifest) = self.index.manifest(number) else {
            return;
        };
        let own = folder(manifest);
        match &manifest.settings {
            Settings::Npm(settings) => {
                if let Some(name) = &manifest.name {
                    self.packages.entry(name).or_insert(number);
                }
                self.aliases.entry(own).or_default().push(Names {
                    folder: own.to_owned(),
                    aliases: &settings.imports,
                    is_base: false,
                });
            }
            Settings::TsConfig(_) => {
                let names = self.extended(&manifest.path);
                self.aliases.entry(own).or_default().extend(names);
            }
            _ => {}
        }
    }

    /// Returns what a configuration of the compiler says about names, and what those say that it
    /// extends.
    fn extended(&self, path: &str) -> Vec<Names<'p>> {
        let (mut names, mut pending) = (Vec::new(), vec![path.to_owned()]);
        for _ in 0..MAX_EXTENDS {
            let Some(path) = pending.pop() else { break };
            let number = self.index.manifest_at(&path);
            let manifest = number.and_then(|number| self.index.manifest(number));
            let Some(Settings::TsConfig(config)) = manifest.map(|manifest| &manifest.settings)
            else {
                continue;
            };
            let folder = folder_of(&path);
            let base = config.base.as_deref().unwrap_or(".");
            names.extend(join(folder, base).map(|folder| Names {
                folder,
                aliases: &config.paths,
                is_base: config.base.is_some(),
            }));
            for extended in config.extends.iter().filter(|path| path.starts_with('.')) {
                let extended = extended.trim_end_matches(".json");
                pending.extend(join(folder, &format!("{extended}.json")));
            }
        }
        names
    }

    /// Returns what an import leads to.
    pub(super) fn resolve(&self, file: &str, import: &Import) -> Found {
        // What follows is for a bundler.
        let target = import.target.split(['?', '!']).next();
        let target = target.filter(|target| !target.is_empty());
        let target = target.unwrap_or(&import.target);
        if target.starts_with('.') {
            let base = join(folder_of(file), target);
            return base
                .and_then(|base| self.file(&base))
                .unwrap_or(Found::Missing);
        }
        if target.starts_with('/') || (target.contains(':') && !target.starts_with("node:")) {
            return Found::Nothing;
        }
        if let Some(found) = self.named(file, target) {
            return found;
        }
        let name = package_name(target);
        // Bundlers take `buffer` and `events` from packages of these names, if there are such.
        if standard::is_of_node(target) && !self.is_declared(file, name) {
            return Found::Standard(target.trim_start_matches("node:").to_owned());
        }
        if let Some(package) = self.packages.get(name) {
            let rest = target.strip_prefix(name).unwrap_or(target);
            return self.inside(*package, rest.trim_start_matches('/'));
        }
        // `@/x` and `~/x` are names that only a bundler knows.
        if name.trim_start_matches('@').split('/').all(is_plain) {
            Found::Package(name.to_owned())
        } else {
            Found::Missing
        }
    }

    /// Reports whether a manifest around a file declares a package.
    fn is_declared(&self, file: &str, name: &str) -> bool {
        self.index
            .manifests_above(Ecosystem::Npm, file)
            .filter_map(|number| self.index.manifest(number))
            .flat_map(|manifest| &manifest.dependencies)
            .any(|dependency| dependency.known_as() == name)
    }

    /// Returns the file that a path without its ending is.
    fn file(&self, base: &str) -> Option<Found> {
        let compiled = COMPILED.iter().filter_map(|(ending, source)| {
            let stem = base.strip_suffix(ending)?;
            Some(format!("{stem}{source}"))
        });
        let whole = ENDINGS.iter().map(|ending| format!("{base}{ending}"));
        let index = ENDINGS.iter().skip(1).map(|ending| {
            let path = format!("{base}/index{ending}");
            path.trim_start_matches('/').to_owned()
        });
        let path = whole
            .chain(compiled)
            .chain(index)
            .find(|path| self.index.has(path))?;
        Some(if self.index.code(&path).is_some() {
            Found::Module(path)
        } else {
            Found::Nothing
        })
    }

    /// Returns what a name stands for, as the configurations and the package around a file say.
    fn named(&self, file: &str, target: &str) -> Option<Found> {
        upwards(folder_of(file))
            .filter_map(|folder| self.aliases.get(folder))
            .flatten()
            .find_map(|names| self.named_by(names, target))
    }

    fn named_by(&self, names: &Names<'_>, target: &str) -> Option<Found> {
        // The longest begin decides.
        let matching = names.aliases.iter().filter_map(|alias| {
            let (begin, end) = alias
                .pattern
                .split_once('*')
                .unwrap_or((&alias.pattern, ""));
            let inside = target.strip_prefix(begin)?.strip_suffix(end)?;
            let fits = inside.is_empty() || alias.pattern.contains('*');
            fits.then_some((begin.len(), inside, &alias.places))
        });
        if let Some((_, inside, places)) = matching.max_by_key(|(length, ..)| *length) {
            for place in places {
                let place = place.replacen('*', inside, 1);
                if target.starts_with('#') && !place.starts_with('.') {
                    return Some(Found::Package(package_name(&place).to_owned()));
                }
                if let Some(found) = join(&names.folder, &place).and_then(|base| self.file(&base)) {
                    return Some(found);
                }
            }
        }
        let base = join(&names.folder, target).filter(|_| names.is_base)?;
        self.file(&base)
    }

    /// Returns the module of a package of the project.
    fn inside(&self, package: usize, rest: &str) -> Found {
        let Some(manifest) = self.index.manifest(package) else {
            return Found::Own(package);
        };
        let mut places = vec![rest.to_owned(), format!("src/{rest}")];
        if let Settings::Npm(settings) = &manifest.settings
            && rest.is_empty()
        {
            places = settings.entries.clone();
            places.extend(["src/index", "src/main", "index"].map(str::to_owned));
        }
        for place in places {
            // What a compiler writes is not in the project, but its sources are.
            let inner = place.trim_start_matches("./");
            let source = match inner.split_once('/') {
                Some(("dist" | "lib" | "build" | "out", after)) => format!("src/{after}"),
                _ => inner.to_owned(),
            };
            for path in [inner, source.as_str()] {
                let base = join(folder(manifest), path);
                if let Some(Found::Module(path)) = base.and_then(|base| self.file(&base)) {
                    return Found::Module(path);
                }
            }
        }
        Found::Own(package)
    }
}

/// Returns the name of the package that a module is in.
fn package_name(target: &str) -> &str {
    let slashes = if target.starts_with('@') { 2 } else { 1 };
    let end = target.match_indices('/').nth(slashes - 1);
    end.map_or(target, |(at, _)| target.split_at(at).0)
}

fn is_plain(part: &str) -> bool {
    let is_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !part.is_empty() && part.chars().all(is_char)
}
