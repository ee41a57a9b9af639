//! Reads a project of a test: texts, each after a line `=== path`.

use std::sync::Arc;

use orchestrate_code::{
    CodeError, DependencyGraph, FileAnalysis, FileImports, Language, Manifest, ProjectFiles,
    Source, Stop,
};

pub(crate) const NEVER: &(dyn Fn() -> bool + Sync) = &|| false;

/// Returns the paths and texts of a project.
pub(crate) fn files(text: &str) -> Vec<(String, String)> {
    let parts = text
        .split("=== ")
        .skip(1)
        .filter_map(|part| part.split_once('\n'));
    parts
        .map(|(path, text)| (path.to_owned(), text.to_owned()))
        .collect()
}

/// Returns the graph of a project.
pub(crate) fn graph(text: &str, stop: Stop<'_>) -> Result<DependencyGraph, CodeError> {
    graph_of(&files(text), stop)
}

/// Returns the graph of files.
pub(crate) fn graph_of(
    files: &[(String, String)],
    stop: Stop<'_>,
) -> Result<DependencyGraph, CodeError> {
    let mut project = ProjectFiles::default();
    for (path, text) in files {
        project.paths.push(path.clone());
        if Manifest::is_named(path) {
            match Manifest::read(path, text) {
                Ok(manifest) => project.manifests.push(manifest),
                Err(error) => project.invalid.push((path.clone(), error)),
            }
        }
        if let Some(language) = Language::of_file(path, text) {
            match Source::parse(language, text, stop) {
                Ok(source) => project
                    .code
                    .push((path.clone(), Arc::new(FileImports::analyze(&source, stop)?))),
                // A program without grammars knows no imports.
                Err(CodeError::NotBuilt(_)) => {}
                Err(error) => return Err(error),
            }
        }
    }
    DependencyGraph::from_project(project, stop)
}
