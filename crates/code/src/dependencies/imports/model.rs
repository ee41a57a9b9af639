//! What a file imports, as written.

use std::fmt;

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

impl fmt::Display for ImportKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
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
    /// The package that it says to belong to, in Java.
    pub(crate) package: Option<String>,
    pub(crate) imports: Vec<Import>,
    pub(crate) modules: Vec<ModuleDeclaration>,
}
