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
        let mut collector = Collector::new(source);
        if source.language() != Language::Shell {
            walk(source.root(), &mut collector, stop)?;
        }
        Ok(collector.found)
    }
}

impl<'n> Visitor<'n> for Collector<'_, '_> {
    fn enter(&mut self, node: Node<'n>, _: Option<&'n str>) -> Step {
        if !node.is_named() || self.found.imports.len() >= MAX_IMPORTS {
            return Step::Over;
        }
        match self.source.language() {
            Language::C | Language::Cpp => c::enter(self, node),
            Language::Go => go::enter(self, node),
            Language::Java => java::enter(self, node),
            Language::JavaScript | Language::Tsx | Language::TypeScript => {
                ecmascript::enter(self, node)
            }
            Language::Python => python::enter(self, node),
            Language::Rust => rust::enter(self, node),
            Language::Shell => Step::Over,
        }
    }

    fn leave(&mut self, node: Node<'n>) {
        Collector::leave(self, node);
    }
}
