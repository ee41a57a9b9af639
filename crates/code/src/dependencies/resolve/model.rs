//! What an import leads to.

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
