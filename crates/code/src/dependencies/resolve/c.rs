//! Headers of C and C++.

use std::collections::HashMap;

use super::super::imports::{Form, Import};
use super::super::place::{folder_of, join, name_of, upwards};
use super::super::project::Index;
use super::super::standard;
use super::model::Found;

/// The folders in which headers are looked for, in each folder around a file.
const FOLDERS: [&str; 4] = ["", "include", "inc", "src"];

/// The headers of the project.
pub(super) struct Headers<'p> {
    index: &'p Index<'p>,
    by_name: HashMap<&'p str, Vec<&'p str>>,
}

impl<'p> Headers<'p> {
    pub(super) fn new(index: &'p Index<'p>) -> Headers<'p> {
        let mut by_name = HashMap::<&str, Vec<&str>>::new();
        for (path, _) in &index.project.code {
            by_name.entry(name_of(path)).or_default().push(path);
        }
        Headers { index, by_name }
    }

    /// Returns what an include leads to.
    pub(super) fn resolve(&self, file: &str, import: &Import) -> Found {
        let target = import.target.as_str();
        let is_system = import.form == Form::System;
        let is_standard = standard::is_of_c(target);
        if is_system && is_standard {
            return Found::Standard(target.to_owned());
        }
        let found = self
            .nearby(file, target)
            .or_else(|| self.only_one(target, is_system));
        match found {
            Some(path) => Found::Module(path),
            None if is_standard => Found::Standard(target.to_owned()),
            None if is_system => Found::Package(target.to_owned()),
            None => Found::Missing,
        }
    }

    /// Returns a header in the file's folder, or below the usual folders of those around it.
    fn nearby(&self, file: &str, target: &str) -> Option<String> {
        upwards(folder_of(file))
            .flat_map(|place| FOLDERS.iter().map(move |inner| join(place, inner)))
            .filter_map(|folder| join(&folder?, target))
            .find(|path| self.index.code(path).is_some())
    }

    /// Returns the header whose path ends so, if there is only one: a build may search any folder.
    fn only_one(&self, target: &str, is_system: bool) -> Option<String> {
        if target.contains("..") || (is_system && !target.contains('/')) {
            return None;
        }
        let ending = format!("/{target}");
        let named = self.by_name.get(name_of(target))?;
        let mut found = named.iter().filter(|path| path.ends_with(&ending));
        match (found.next(), found.next()) {
            (Some(path), None) => Some((*path).to_owned()),
            _ => None,
        }
    }
}
