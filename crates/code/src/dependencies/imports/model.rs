//! What a file imports, as written.

use serde::{Deserialize, Serialize};

use crate::language::Language;

/// How an import acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ImportKind {
    /// As soon as the file is loaded, or compiled.
    Plain,
    /// Only where the code that has it runs, such as in a function of Python.
    Deferred,
    /// Only for the checker of types.
    Type,
    /// Only in tests.
    Test,
    /// It makes the imported file a part of this one, as `mod` does in Rust.
    Part,
}

impl ImportKind {
    /// Returns the name for users.
    pub fn name(self) -> &'static str {
        match self {
            ImportKind::Plain => "plain",
            ImportKind::Deferred => "deferred",
            ImportKind::Type => "type",
            ImportKind::Test => "test",
            ImportKind::Part => "part",
        }
    }
}

/// How the imported thing is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) enum Form {
    /// By a statement that imports it.
    Statement,
    /// By a path or a name in code, which may also be something of the file itself.
    Mention,
    /// By `#include <…>`.
    System,
}

/// An import.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Import {
    pub(crate) target: String,
    pub(crate) line: usize,
    pub(crate) kind: ImportKind,
    pub(crate) form: Form,
    /// The names that are imported of it, which may be modules, or the name that it gets here.
    pub(crate) names: Vec<String>,
    /// The module inside the file, in Rust.
    pub(crate) scope: String,
}

/// A module that a file of Rust declares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ModuleDeclaration {
    pub(crate) scope: String,
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) path: Option<String>,
    pub(crate) is_inline: bool,
    pub(crate) is_test: bool,
    /// Whether an attribute may leave it out, or give it another file.
    pub(crate) is_conditional: bool,
}

/// What a file imports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileImports {
    /// The language that it was read in.
    pub language: Language,
    /// The package that it says to belong to, in Go and Java.
    pub(crate) package: Option<String>,
    pub(crate) imports: Vec<Import>,
    pub(crate) modules: Vec<ModuleDeclaration>,
    /// What it declares, in Rust, each with the module inside the file before it.
    pub(crate) declared: Vec<String>,
    /// Whether macros, or what is not understood, may declare more at its root, in Rust.
    pub(crate) is_open: bool,
}

impl FileImports {
    /// Returns about how many bytes of memory it holds.
    pub fn memory(&self) -> usize {
        let import = |one: &Import| {
            size_of_val(one) + one.target.len() + one.scope.len() + memory_of_texts(&one.names)
        };
        let imports: usize = self.imports.iter().map(import).sum();
        let modules: usize = self.modules.iter().map(memory_of_module).sum();
        let package = self.package.as_ref().map_or(0, String::len);
        size_of_val(self) + package + imports + modules + memory_of_texts(&self.declared)
    }
}

fn memory_of_texts(texts: &[String]) -> usize {
    texts
        .iter()
        .map(|text| size_of_val(text) + text.len())
        .sum::<usize>()
}

fn memory_of_module(one: &ModuleDeclaration) -> usize {
    size_of_val(one) + one.scope.len() + one.name.len() + one.path.as_ref().map_or(0, String::len)
}
