//! Types of Java, one file each.

use std::collections::{HashMap, HashSet};

use super::super::imports::{FileImports, Form, Import};
use super::super::manifest::Ecosystem;
use super::super::project::Index;
use super::super::standard;
use super::model::Found;
use crate::language::Language;

/// The endings of files that types of Java may be made from.
const SOURCES: [&str; 15] = [
    ".aj", ".avdl", ".avsc", ".fbs", ".flex", ".g4", ".groovy", ".jj", ".jjt", ".kt", ".proto",
    ".scala", ".thrift", ".wsdl", ".xsd",
];
/// What processors of annotations add to the names of types.
const MADE: [&str; 11] = [
    "AutoValue_",
    "BuildConfig",
    "Builder",
    "Dagger",
    "Factory",
    "Generated",
    "Grpc",
    "Immutable",
    "Impl",
    "Mapper",
    "Messages",
];

/// The types of the project.
pub(super) struct Types<'p> {
    files: HashMap<String, &'p str>,
    packages: HashSet<&'p str>,
    /// The packages of the project whose types are only those of its files.
    whole: HashSet<&'p str>,
}

impl<'p> Types<'p> {
    pub(super) fn new(index: &'p Index<'p>) -> Types<'p> {
        let (mut files, mut packages) = (HashMap::new(), HashSet::new());
        for (path, imports) in index
            .project
            .code
            .iter()
            .filter(|(_, imports)| imports.language == Language::Java)
        {
            let package = imports.package.as_deref().unwrap_or_default();
            let stem = path
                .rsplit('/')
                .next()
                .and_then(|name| name.strip_suffix(".java"))
                .unwrap_or_default();
            packages.insert(package);
            files
                .entry(qualified(package, stem))
                .or_insert(path.as_str());
        }
        let paths = &index.project.paths;
        let is_made = paths
            .iter()
            .any(|path| SOURCES.iter().any(|ending| path.ends_with(ending)));
        let manifests = index
            .project
            .manifests
            .iter()
            .filter(|manifest| is_of_java(manifest.ecosystem));
        let others = manifests
            .flat_map(|manifest| &manifest.dependencies)
            .filter(|one| one.own.is_none());
        // What has the same owner may have a part of the same package.
        let owners: HashSet<&str> = others.map(|one| owner(&one.name)).collect();
        let is_whole =
            |package: &&str| !is_made && !package.is_empty() && !owners.contains(owner(package));
        let whole = packages.iter().copied().filter(is_whole).collect();
        Types {
            files,
            packages,
            whole,
        }
    }

    /// Returns what an import leads to.
    pub(super) fn resolve(&self, imports: &FileImports, import: &Import) -> Found {
        let target = import.target.as_str();
        let package = imports.package.as_deref().unwrap_or_default();
        if import.form == Form::Mention && !target.contains('.') {
            return self.mentioned(imports, package, target);
        }
        if let Some(found) = self.type_of(target) {
            return found;
        }
        let outer = target.strip_suffix(".*");
        match outer {
            // The types of it that are used are mentioned.
            Some(outer) if self.packages.contains(outer) => Found::Nothing,
            _ if import.form == Form::Mention => Found::Nothing,
            _ if standard::is_of_java(target) => Found::Standard(package_of(target)),
            None if self.is_missing(target) => Found::Missing,
            _ => Found::Package(outer.unwrap_or(target).to_owned()),
        }
    }

    /// Reports whether a type should be in a package of the project, and no processor of
    /// annotations makes it.
    fn is_missing(&self, target: &str) -> bool {
        let package = package_of(target);
        let name = target
            .strip_prefix(&package)
            .and_then(|rest| rest.split('.').nth(1))
            .unwrap_or_default();
        let is_plain =
            name.chars().all(char::is_alphanumeric) && !MADE.iter().any(|part| name.contains(part));
        // Types of queries are called like `QUser`.
        let is_query = name.starts_with('Q') && name.chars().nth(1).is_some_and(char::is_uppercase);
        // `R` and `BR` name the resources of Android.
        let is_short = name.len() < 2 || name == "BR";
        !is_short && is_plain && !is_query && self.whole.contains(package.as_str())
    }

    /// Returns the file of a type, which may be inside another one.
    fn type_of(&self, target: &str) -> Option<Found> {
        let mut name = target;
        loop {
            if let Some(path) = self.files.get(name) {
                return Some(Found::Module((*path).to_owned()));
            }
            let (outer, last) = name.rsplit_once('.')?;
            if !last.starts_with(|c: char| c.is_uppercase() || c == '*') {
                return None;
            }
            name = outer;
        }
    }

    /// Returns the file of a type without its package: one of the same, or of one that is imported
    /// whole.
    fn mentioned(&self, imports: &FileImports, package: &str, name: &str) -> Found {
        let statements = || {
            imports
                .imports
                .iter()
                .filter(|import| import.form == Form::Statement)
        };
        if statements().any(|import| import.target.rsplit('.').next() == Some(name)) {
            return Found::Nothing;
        }
        let whole = statements().filter_map(|import| import.target.strip_suffix(".*"));
        let mut packages = std::iter::once(package).chain(whole);
        let path = packages.find_map(|package| self.files.get(&qualified(package, name)));
        path.map_or(Found::Nothing, |path| Found::Module((*path).to_owned()))
    }
}

fn is_of_java(ecosystem: Ecosystem) -> bool {
    matches!(ecosystem, Ecosystem::Gradle | Ecosystem::Maven)
}

fn qualified(package: &str, name: &str) -> String {
    if package.is_empty() {
        name.to_owned()
    } else {
        format!("{package}.{name}")
    }
}

/// Returns the first two parts of a package, or of the group of an artifact: whose it is.
fn owner(name: &str) -> &str {
    let group = name.split(':').next().unwrap_or_default();
    let second = group.match_indices('.').nth(1);
    second.map_or(group, |(at, _)| group.split_at(at).0)
}

/// Returns the part of a path before its first type.
fn package_of(target: &str) -> String {
    let parts = target
        .split('.')
        .take_while(|part| !part.starts_with(|c: char| c.is_uppercase() || c == '*'));
    parts.collect::<Vec<_>>().join(".")
}
