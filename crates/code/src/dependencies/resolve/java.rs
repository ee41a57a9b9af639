//! Types of Java, one file each.

use std::collections::{HashMap, HashSet};

use super::super::imports::{FileImports, Form, Import};
use super::super::project::Index;
use super::super::standard;
use super::model::Found;
use crate::language::Language;

/// The types of the project.
pub(super) struct Types<'p> {
    files: HashMap<String, &'p str>,
    packages: HashSet<&'p str>,
}

impl<'p> Types<'p> {
    pub(super) fn new(index: &'p Index<'p>) -> Types<'p> {
        let (mut files, mut packages) = (HashMap::new(), HashSet::new());
        for (path, imports) in index.project.code.iter().filter(|(_, imports)| imports.language == Language::Java) {
            let package = imports.package.as_deref().unwrap_or_default();
            let stem = path.rsplit('/').next().and_then(|name| name.strip_suffix(".java")).unwrap_or_default();
            packages.insert(package);
            files.entry(qualified(package, stem)).or_insert(path.as_str());
        }
        Types { files, packages }
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
            _ => Found::Package(outer.unwrap_or(target).to_owned()),
        }
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

    /// Returns the file of a type without its package: one of the same, or of one that is imported whole.
    fn mentioned(&self, imports: &FileImports, package: &str, name: &str) -> Found {
        let statements = || imports.imports.iter().filter(|import| import.form == Form::Statement);
        if statements().any(|import| import.target.rsplit('.').next() == Some(name)) {
            return Found::Nothing;
        }
        let whole = statements().filter_map(|import| import.target.strip_suffix(".*"));
        let mut packages = std::iter::once(package).chain(whole);
        let path = packages.find_map(|package| self.files.get(&qualified(package, name)));
        path.map_or(Found::Nothing, |path| Found::Module((*path).to_owned()))
    }
}

fn qualified(package: &str, name: &str) -> String {
    if package.is_empty() { name.to_owned() } else { format!("{package}.{name}") }
}

/// Returns the part of a path before its first type.
fn package_of(target: &str) -> String {
    let parts = target.split('.').take_while(|part| !part.starts_with(|c: char| c.is_uppercase() || c == '*'));
    parts.collect::<Vec<_>>().join(".")
}
