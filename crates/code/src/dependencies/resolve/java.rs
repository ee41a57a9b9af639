//! Types of Java, one file each.

use std::collections::{HashMap, HashSet};

use super::super::imports::{FileImports, Form, Import};
use super::super::place::name_of;
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
        for (path, imports) in &index.project.code {
            if imports.language != Language::Java {
                continue;
            }
            let package = imports.package.as_deref().unwrap_or("");
            packages.insert(package);
            let name = name_of(path).trim_end_matches(".java");
            files
                .entry(qualified(package, name))
                .or_insert(path.as_str());
        }
        Types { files, packages }
    }

    /// Returns what an import leads to.
    pub(super) fn resolve(&self, imports: &FileImports, import: &Import) -> Found {
        let target = import.target.as_str();
        if import.form == Form::Mention && !target.contains('.') {
            return self.mentioned(imports, target);
        }
        if let Some(path) = self.file_of(target) {
            return Found::Module(path.to_owned());
        }
        let outer = target.strip_suffix(".*").unwrap_or(target);
        // The types of a whole package that are used are mentioned.
        if self.packages.contains(outer) || import.form == Form::Mention {
            return Found::Nothing;
        }
        if standard::is_of_java(target) {
            let parts = target.split('.');
            let parts = parts.take_while(|part| !part.starts_with(is_of_type));
            return Found::Standard(parts.collect::<Vec<_>>().join("."));
        }
        Found::Package(outer.to_owned())
    }

    /// Returns the file of a type, which may be inside another one.
    fn file_of(&self, target: &str) -> Option<&'p str> {
        let mut name = target;
        loop {
            if let Some(path) = self.files.get(name) {
                return Some(path);
            }
            let (outer, last) = name.rsplit_once('.')?;
            if !last.starts_with(is_of_type) {
                return None;
            }
            name = outer;
        }
    }

    /// Returns the file of a type without its package: one of the same, or of one that is imported
    /// whole.
    fn mentioned(&self, imports: &FileImports, name: &str) -> Found {
        let package = imports.package.as_deref().unwrap_or("");
        let mut packages = vec![package];
        for import in &imports.imports {
            match import.target.rsplit_once('.') {
                _ if import.form != Form::Statement => {}
                Some((_, last)) if last == name => return Found::Nothing,
                Some((whole, "*")) => packages.push(whole),
                _ => {}
            }
        }
        let mut files = packages
            .into_iter()
            .filter_map(|package| self.files.get(&qualified(package, name)));
        files
            .next()
            .map_or(Found::Nothing, |path| Found::Module((*path).to_owned()))
    }
}

/// Reports whether a part of a path that begins so is a type, or stands for all types.
fn is_of_type(begin: char) -> bool {
    begin.is_uppercase() || begin == '*'
}

fn qualified(package: &str, name: &str) -> String {
    if package.is_empty() {
        name.to_owned()
    } else {
        format!("{package}.{name}")
    }
}
