//! What an import leads to.

use super::super::imports::{Import, ImportKind};

/// What an import leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Found {
    /// A file of the project, or a folder that is one module.
    Module(String),
    /// A package of the project, whichever module of it.
    Own(usize),
    /// A package from elsewhere, by the whole path that the code has.
    Package(String),
    /// What comes with the language.
    Standard(String),
    /// Nothing that a graph has, such as a name of the file itself.
    Nothing,
    /// Something that should be in the project.
    Missing,
}

/// An import with what it leads to.
#[derive(Clone)]
pub(in super::super) struct Link {
    pub(in super::super) to: Found,
    /// What the code has.
    pub(in super::super) written: String,
    pub(in super::super) line: usize,
    pub(in super::super) kind: ImportKind,
}

impl Link {
    pub(super) fn new(import: &Import, to: Found) -> Link {
        Link {
            to,
            written: import.target.clone(),
            line: import.line,
            kind: import.kind,
        }
    }
}
