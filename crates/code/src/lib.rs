//! Understands code: pure functions from the text of a file to its structure, its complexity and
//! what in it resembles something; from the files of a repository to a map of it; and profiles,
//! which say where a program spends its time.
//!
//! [`Source::parse`] is the one way to a syntax tree. Trees are walked without recursion, so no
//! depth of nesting overflows a stack; texts have a largest size; and parsing and walking end as
//! soon as their `stop` says so, which [`within_memory`] lets them do once they hold too much.
//! Nothing here opens a file.

mod analysis;
mod complexity;
mod conditions;
mod dependencies;
mod error;
mod export_macros;
mod language;
mod map;
mod pattern;
mod profile;
mod similar;
mod source;
mod structure;
mod syntax_errors;
mod walk;
mod within_memory;

pub use analysis::FileAnalysis;
pub use complexity::{Complexity, FunctionComplexity};
pub use dependencies::{
    Cycle, CycleStep, Declaration, Dependency, DependencyGraph, DependencyKind, DependencySource,
    Ecosystem, ExternalPackage, FileImports, ImportKind, ImportTarget, Importer, InvalidManifest,
    MAX_MANIFEST_BYTES, Manifest, ManifestError, Module, ModuleImport, Package, PackageCycle,
    ProjectFiles, UndeclaredPackage, UnresolvedImport, UnusedDependency, python_name,
};
pub use error::{CodeError, MAX_SOURCE_BYTES};
pub use language::{Language, LanguageHint};
pub use map::{
    Definition, IndexBuilder, MAX_MAPPED_BYTES, MAX_MAPPED_FILES, MAX_TAGGED_BYTES, MapIndex,
    MapTask, RepositoryMap, TagText, Tags, chosen,
};
pub use pattern::{Capture, Pattern, PatternMatch};
pub use profile::{
    HotFunction, HotPath, LeftOut, MAX_PROFILE_BYTES, PerformanceAnalysis, ProfileFormat,
};
pub use similar::{CodeFingerprints, SimilarCode, Snippet};
pub use source::{Source, Stop};
pub use structure::{CodeStructure, Item, ItemKind, Visibility};
pub use syntax_errors::{SyntaxError, SyntaxErrors};
pub use within_memory::within_memory;
