//! Modules of JavaScript and TypeScript.

use std::collections::HashMap;

use super::super::imports::Import;
use super::super::manifest::{Ecosystem, NpmSettings, Settings, TsConfig};
use super::super::place::{folder_of, join, parent};
use super::super::project::{Index, folder};
use super::super::standard;
use super::model::Found;

/// The endings that an import may leave out, in the order in which they are tried.
const ENDINGS: [&str; 12] = [
    ".ts", ".tsx", ".mts", ".cts", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".json", ".vue",
    ".svelte",
];
/// The endings of what a compiler writes, each with those of its sources.
const COMPILED: [(&str, &[&str]); 4] = [
    (".js", &[".ts", ".tsx", ".jsx"]),
    (".jsx", &[".tsx"]),
    (".mjs", &[".mts"]),
    (".cjs", &[".cts"]),
];
/// Maximum number of configurations that extend each other.
const MAX_EXTENDS: usize = 10;

/// Where modules are found.
pub(super) struct NodeModules<'p> {
    index: &'p Index<'p>,
    /// The packages of the project, by name.
    packages: HashMap<&'p str, usize>,
    /// The configurations of each folder.
    configs: HashMap<String, Vec<Config>>,
}

/// What the configurations of a folder say.
#[derive(Clone, Default)]
struct Config {
    base: Option<String>,
    /// Patterns, and the places from the project's root that they stand for.
    paths: Vec<(String, Vec<String>)>,
}

impl<'p> NodeModules<'p> {
    pub(super) fn new(index: &'p Index<'p>) -> NodeModules<'p> {
        let (mut packages, mut configs) = (HashMap::new(), HashMap::<String, Vec<Config>>::new());
        let all = &index.project.manifests;
        let by_path: HashMap<&str, &TsConfig> = all
            .iter()
            .filter_map(|manifest| match &manifest.settings {
                Settings::TsConfig(config) => Some((manifest.path.as_str(), config)),
                _ => None,
            })
            .collect();
        let mut ordered: Vec<(&str, usize)> = all
            .iter()
            .map(|manifest| manifest.path.as_str())
            .zip(0..)
            .collect();
        // The configuration with the plain name comes first.
        ordered.sort_by_key(|(path, _)| (folder_of(path), path.len(), *path));
        for (path, number) in ordered {
            match all
                .get(number)
                .map(|manifest| (&manifest.settings, &manifest.name))
            {
                Some((Settings::Npm(_), Some(name))) => {
                    packages.entry(name.as_str()).or_insert(number);
                }
                Some((Settings::TsConfig(_), _)) => {
                    configs
                        .entry(folder_of(path).to_owned())
                        .or_default()
                        .push(effective(path, &by_path));
                }
                _ => {}
            }
        }
        NodeModules {
            index,
            packages,
            configs,
        }
    }

    /// Returns what an import leads to.
    pub(super) fn resolve(&self, file: &str, import: &Import) -> Found {
        // What follows is for a bundler.
        let target = import.target.split(['?', '!']).next().unwrap_or_default();
        let target = if target.is_empty() {
            import.target.as_str()
        } else {
            target
        };
        if target.starts_with('.') {
            let found = join(folder_of(file), target).and_then(|base| self.file(&base));
            return found.unwrap_or(Found::Missing);
        }
        if target.starts_with('/') || (target.contains(':') && !target.starts_with("node:")) {
            return Found::Nothing;
        }
        if let Some(found) = self
            .own_name(file, target)
            .or_else(|| self.configured(file, target))
        {
            return found;
        }
        let name = package_name(target);
        // Bundlers take `buffer` and `events` from packages of these names, if there are such.
        if standard::is_of_node(target) && !self.is_declared(file, name) {
            return Found::Standard(target.trim_start_matches("node:").to_owned());
        }
        if let Some(package) = self.packages.get(name) {
            let rest = target
                .get(name.len()..)
                .unwrap_or_default()
                .trim_start_matches('/');
            return self.inside(*package, rest);
        }
        if is_package_name(name) {
            Found::Package(name.to_owned())
        } else {
            Found::Missing
        }
    }

    /// Reports whether a manifest around a file declares a package.
    fn is_declared(&self, file: &str, name: &str) -> bool {
        let above = self.index.manifests_above(Ecosystem::Npm, file);
        let mut manifests = above
            .into_iter()
            .filter_map(|number| self.index.manifest(number));
        manifests.any(|manifest| {
            manifest
                .dependencies
                .iter()
                .any(|one| one.known_as() == name)
        })
    }

    /// Returns the file that a path without its ending is.
    fn file(&self, base: &str) -> Option<Found> {
        let mut candidates = vec![base.to_owned()];
        for (ending, sources) in COMPILED {
            if let Some(stem) = base.strip_suffix(ending) {
                candidates.extend(sources.iter().map(|source| format!("{stem}{source}")));
            }
        }
        candidates.extend(ENDINGS.iter().map(|ending| format!("{base}{ending}")));
        let index = if base.is_empty() {
            "index".to_owned()
        } else {
            format!("{base}/index")
        };
        candidates.extend(ENDINGS.iter().map(|ending| format!("{index}{ending}")));
        let path = candidates.into_iter().find(|path| self.index.has(path))?;
        Some(if self.index.code(&path).is_some() {
            Found::Module(path)
        } else {
            Found::Nothing
        })
    }

    /// Returns what one of the package's own names such as `#db` stands for.
    fn own_name(&self, file: &str, target: &str) -> Option<Found> {
        if !target.starts_with('#') {
            return None;
        }
        let above = self.index.manifests_above(Ecosystem::Npm, file);
        above
            .into_iter()
            .filter_map(|number| self.index.manifest(number))
            .find_map(|manifest| {
                let Settings::Npm(settings) = &manifest.settings else {
                    return None;
                };
                let place = settings
                    .imports
                    .iter()
                    .find_map(|(pattern, place)| filled(pattern, target, place))?;
                if !place.starts_with('.') {
                    return Some(Found::Package(package_name(&place).to_owned()));
                }
                self.file(&join(folder(manifest), &place)?)
            })
    }

    /// Returns what a configuration of the compiler says about a name.
    fn configured(&self, file: &str, target: &str) -> Option<Found> {
        let mut folder = Some(folder_of(file));
        while let Some(place) = folder {
            let configs = self
                .configs
                .get(place)
                .map(Vec::as_slice)
                .unwrap_or_default();
            for config in configs {
                let places = config.paths.iter().flat_map(|(pattern, places)| {
                    places
                        .iter()
                        .filter_map(move |place| filled(pattern, target, place))
                });
                let based = config.base.as_deref().and_then(|base| join(base, target));
                if let Some(found) = places.chain(based).find_map(|place| self.file(&place)) {
                    return Some(found);
                }
            }
            if !configs.is_empty() {
                return None;
            }
            folder = parent(place);
        }
        None
    }

    /// Returns the module of a package of the project.
    fn inside(&self, package: usize, rest: &str) -> Found {
        let Some(manifest) = self.index.manifest(package) else {
            return Found::Own(package);
        };
        let Settings::Npm(settings) = &manifest.settings else {
            return Found::Own(package);
        };
        let folder = folder(manifest);
        let places = places(settings, rest);
        // What a compiler writes is not in the project, but its sources are.
        let sources = places.iter().filter_map(|place| {
            let inner = place.trim_start_matches("./");
            let (first, after) = inner.split_once('/')?;
            if matches!(first, "dist" | "lib" | "build" | "out") {
                Some(format!("src/{after}"))
            } else {
                None
            }
        });
        let sources: Vec<String> = sources.collect();
        let mut all = places
            .iter()
            .chain(&sources)
            .filter_map(|place| join(folder, place));
        let found = all.find_map(|place| match self.file(&place) {
            Some(Found::Module(path)) => Some(Found::Module(path)),
            _ => None,
        });
        found.unwrap_or(Found::Own(package))
    }
}

fn places(settings: &NpmSettings, rest: &str) -> Vec<String> {
    if rest.is_empty() {
        let mut places = settings.entries.clone();
        places.extend([
            "src/index".to_owned(),
            "src/main".to_owned(),
            "index".to_owned(),
        ]);
        return places;
    }
    let mut places: Vec<String> = settings.exports.get(rest).cloned().into_iter().collect();
    places.extend([rest.to_owned(), format!("src/{rest}")]);
    places
}

/// Returns what a configuration says, with what it extends.
fn effective(path: &str, configs: &HashMap<&str, &TsConfig>) -> Config {
    let mut config = Config::default();
    let mut pending = vec![path.to_owned()];
    for _ in 0..MAX_EXTENDS {
        let Some((path, found)) = pending
            .pop()
            .and_then(|path| Some((path.clone(), configs.get(path.as_str())?)))
        else {
            continue;
        };
        let folder = folder_of(&path);
        let base = found.base.as_deref().and_then(|base| join(folder, base));
        if config.paths.is_empty() {
            let from = base.as_deref().unwrap_or(folder);
            let placed = |(pattern, places): &(String, Vec<String>)| {
                let places = places
                    .iter()
                    .filter_map(|place| join(from, place))
                    .collect();
                (pattern.clone(), places)
            };
            config.paths = found.paths.iter().map(placed).collect();
            // The longest begin decides.
            config.paths.sort_by_key(|(pattern, _)| {
                std::cmp::Reverse(pattern.split('*').next().map_or(0, str::len))
            });
        }
        config.base = config.base.or(base);
        for extended in found
            .extends
            .iter()
            .filter(|extended| extended.starts_with('.'))
        {
            let Some(place) = join(folder, extended) else {
                continue;
            };
            let with_ending = if place.ends_with(".json") {
                place
            } else {
                format!("{place}.json")
            };
            pending.push(with_ending);
        }
    }
    config
}

/// Returns a place with what the `*` of a pattern stands for in a name; `None` if the pattern does
/// not match.
fn filled(pattern: &str, name: &str, place: &str) -> Option<String> {
    match pattern.split_once('*') {
        None if pattern == name => Some(place.to_owned()),
        None => None,
        Some((begin, end)) => {
            let inside = name.strip_prefix(begin)?.strip_suffix(end)?;
            Some(place.replacen('*', inside, 1))
        }
    }
}

/// Returns the name of the package that a module is in.
fn package_name(target: &str) -> &str {
    let slashes = if target.starts_with('@') { 2 } else { 1 };
    let end = target
        .match_indices('/')
        .nth(slashes - 1)
        .map_or(target.len(), |(at, _)| at);
    target.get(..end).unwrap_or(target)
}

/// Reports whether a package may have a name; `@/x` and `~/x` are names that only a bundler knows.
fn is_package_name(name: &str) -> bool {
    match name.strip_prefix('@') {
        Some(rest) => rest
            .split_once('/')
            .is_some_and(|(scope, name)| is_plain(scope) && is_plain(name)),
        None => is_plain(name),
    }
}

fn is_plain(part: &str) -> bool {
    let is_char = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !part.is_empty() && part.chars().all(is_char)
}
