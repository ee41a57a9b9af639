//! Resolves imports, each language in its own way.

use super::super::imports::ImportKind;
use super::super::place::folder_of;
use super::super::project::Index;
use super::model::Link;
use super::{c, ecmascript, go, java, python, rust};
use crate::error::CodeError;
use crate::language::Language;
use crate::source::{Stop, go_on};

/// Finds what imports lead to.
pub(in super::super) struct Resolver<'p> {
    index: &'p Index<'p>,
    rust: rust::Crates<'p>,
    python: python::Modules<'p>,
    ecmascript: ecmascript::NodeModules<'p>,
    go: go::Packages<'p>,
    java: java::Types<'p>,
    c: c::Headers<'p>,
}

impl<'p> Resolver<'p> {
    /// Finds what imports may lead to.
    ///
    /// # Errors
    /// [`CodeError::Stopped`] if `stop` said so.
    pub(in super::super) fn new(
        index: &'p Index<'p>,
        stop: Stop<'_>,
    ) -> Result<Resolver<'p>, CodeError> {
        Ok(Resolver {
            index,
            rust: rust::Crates::new(index, stop)?,
            python: python::Modules::new(index),
            ecmascript: ecmascript::NodeModules::new(index),
            go: go::Packages::new(index),
            java: java::Types::new(index),
            c: c::Headers::new(index),
        })
    }

    /// Returns what the imports of a file lead to, each perhaps to several modules.
    ///
    /// # Errors
    /// [`CodeError::Stopped`] if `stop` said so.
    pub(in super::super) fn links(
        &self,
        number: usize,
        stop: Stop<'_>,
    ) -> Result<Vec<Link>, CodeError> {
        let Some((file, imports)) = self.index.file(number) else {
            return Ok(Vec::new());
        };
        let mut links = self.rust.parts(number);
        for import in &imports.imports {
            go_on(stop)?;
            let found = match imports.language {
                Language::Rust => {
                    links.push(self.rust.link(number, import));
                    continue;
                }
                Language::Python => self.python.resolve(file, import),
                Language::JavaScript | Language::Tsx | Language::TypeScript => {
                    vec![self.ecmascript.resolve(file, import)]
                }
                Language::Go => vec![self.go.resolve(file, import)],
                Language::Java => vec![self.java.resolve(imports, import)],
                Language::C | Language::Cpp => vec![self.c.resolve(file, import)],
                Language::Shell => continue,
            };
            for to in found {
                let mut link = Link::new(import, to);
                if file.ends_with("_test.go") {
                    link.kind = ImportKind::Test;
                }
                links.push(link);
            }
        }
        Ok(links)
    }
}

/// Returns the module that a file is, or belongs to.
pub(in super::super) fn module_of(file: &str, language: Language) -> String {
    if language == Language::Go {
        go::module(folder_of(file))
    } else {
        file.to_owned()
    }
}
