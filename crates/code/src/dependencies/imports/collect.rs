//! Collects the imports of a tree.

use tree_sitter::Node;

use super::collector::{Collector, MAX_IMPORTS};
use super::model::FileImports;
use super::{c, ecmascript, go, java, python, rust};
use crate::error::CodeError;
use crate::language::Language;
use crate::source::{Source, Stop};
use crate::walk::{Step, Visitor, walk};

impl FileImports {
    /// Finds the imports of a parsed text.
    ///
    /// # Errors
    /// [`CodeError::Stopped`] if `stop` said so.
    pub fn find(source: &Source<'_>, stop: Stop<'_>) -> Result<FileImports, CodeError> {
        let language = source.language();
        let (package, imports, modules, declared) = (None, Vec::new(), Vec::new(), Vec::new());
        let found = FileImports {
            language,
            package,
            imports,
            modules,
            declared,
            is_open: true,
        };
        let mut finder = Finder(Collector::new(source, found));
        if language != Language::Shell {
            walk(source.root(), &mut finder, stop)?;
        }
        Ok(finder.0.found)
    }
}

struct Finder<'s, 't>(Collector<'s, 't>);

impl<'n> Visitor<'n> for Finder<'_, '_> {
    fn enter(&mut self, node: Node<'n>, _: Option<&'n str>) -> Step {
        let collector = &mut self.0;
        if !node.is_named() || collector.found.imports.len() >= MAX_IMPORTS {
            return Step::Over;
        }
        match collector.source.language() {
            Language::C | Language::Cpp => c::enter(collector, node),
            Language::Go => go::enter(collector, node),
            Language::Java => java::enter(collector, node),
            Language::JavaScript | Language::Tsx | Language::TypeScript => {
                ecmascript::enter(collector, node)
            }
            Language::Python => python::enter(collector, node),
            Language::Rust => rust::enter(collector, node),
            Language::Shell => Step::Over,
        }
    }

    fn leave(&mut self, node: Node<'n>) {
        self.0.leave(node);
    }
}
