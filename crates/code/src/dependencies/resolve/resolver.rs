//! Resolves the imports of all languages.

use super::super::imports::{FileImports, Import, ImportKind};
use super::super::place::folder_of;
use super::super::project::Index;
use super::model::Found;
use super::{c, ecmascript, go, java, python, rust};
use crate::error::CodeError;
use crate::language::Language;
use crate::source::Stop;

/// What imports lead to.
pub(in super::super) struct Resolver<'p> {
    rust: rust::Crates<'p>,
    python: python::Modules<'p>,
    ecmascript: ecmascript::NodeModules<'p>,
    go: go::Packages<'p>,
    java: java::Types<'p>,
    c: c::Headers<'p>,
    stop: Stop<'p>,
}

impl<'p> Resolver<'p> {
    /// Finds what imports may lead to. Afterwards, `stop` is asked for each import.
    ///
    /// # Errors
    /// [`CodeError::Stopped`] if `stop` said so.
    pub(in super::super) fn new(
        index: &'p Index<'p>,
        stop: Stop<'p>,
    ) -> Result<Resolver<'p>, CodeError> {
        Ok(Resolver {
            rust: rust::Crates::new(index, stop)?,
            python: python::Modules::new(index),
            ecmascript: ecmascript::NodeModules::new(index),
            go: go::Packages::new(index),
            java: java::Types::new(index),
            c: c::Headers::new(index),
            stop,
        })
    }

    /// Returns what an import leads to, which may be several modules.
    ///
    /// # Errors
    /// [`CodeError::Stopped`] if `stop` said so.
    pub(in super::super) fn resolve(
        &self,
        number: usize,
        file: &str,
        all: &FileImports,
        import: &Import,
    ) -> Result<Vec<Found>, CodeError> {
        if (self.stop)() {
            return Err(CodeError::Stopped);
        }
        Ok(match all.language {
            Language::Rust => vec![self.rust.resolve(number, import)?],
            Language::Python => self.python.resolve(file, import),
            Language::JavaScript | Language::Tsx | Language::TypeScript => {
                vec![self.ecmascript.resolve(file, import)]
            }
            Language::Go => vec![self.go.resolve(file, import)],
            Language::Java => vec![self.java.resolve(all, import)],
            Language::C | Language::Cpp => vec![self.c.resolve(file, import)],
            Language::Shell => Vec::new(),
        })
    }

    /// Returns the files that are parts of a file, each with the line that says so and whether it
    /// is for tests.
    pub(in super::super) fn parts(&self, number: usize) -> Vec<(String, usize, bool)> {
        self.rust.parts(number)
    }

    /// Returns the parts that a file says to have and that have no file, as written, each with its
    /// line.
    pub(in super::super) fn missing_parts(&self, number: usize) -> Vec<(String, usize)> {
        self.rust.missing(number)
    }

    /// Returns how an import acts between two modules.
    pub(in super::super) fn kind(
        &self,
        file: &str,
        language: Language,
        import: &Import,
        to: &str,
    ) -> ImportKind {
        match language {
            // A module reaches its own parts, as the facade of them.
            Language::Rust if import.kind == ImportKind::Plain && self.rust.is_outer(file, to) => {
                ImportKind::Part
            }
            Language::Go if file.ends_with("_test.go") => ImportKind::Test,
            _ => import.kind,
        }
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
