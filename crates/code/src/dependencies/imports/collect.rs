//! Collects the imports of a tree.

use tree_sitter::Node;

use super::collector::{Collector, MAX_IMPORTS};
use super::model::FileImports;
use super::{c, ecmascript, go, java, python, rust};
use crate::analysis::FileAnalysis;
use crate::error::CodeError;
use crate::language::Language;
use crate::source::{Source, Stop};
use crate::walk::{Step, Visitor, walk};

impl FileAnalysis for FileImports {
    fn analyze(source: &Source<'_>, stop: Stop<'_>) -> Result<FileImports, CodeError> {
        let mut collector = Collector::new(source);
        if source.language() != Language::Shell {
            walk(source.root(), &mut collector, stop)?;
        }
        Ok(collector.found)
    }

    fn memory(&self) -> usize {
        let mut bytes = size_of_val(self) + self.package.as_ref().map_or(0, String::len);
        for import in &self.imports {
            bytes += size_of_val(import) + import.target.len() + import.scope.len();
            for name in &import.names {
                bytes += size_of_val(name) + name.len();
            }
        }
        for module in &self.modules {
            bytes += size_of_val(module) + module.scope.len() + module.name.len();
            bytes += module.path.as_ref().map_or(0, String::len);
        }
        bytes
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
