//! `analyze_dependencies`: what a project, or a part of it, depends on.

use async_trait::async_trait;
use orchestrate_code::{DependencyGraph, Language, Manifest};
use orchestrate_core::text::invisible::shown;
use serde::Deserialize;
use serde_json::Value;

use super::super::facts::facts;
use super::dependency_report::report;
use super::project::Gathered;

use crate::answer::{Answer, ToolError};
use crate::call::AnswersFrom;
use crate::code_files::Surveyor;
use crate::files::{FileOrFolder, Files};
use crate::tool::arguments::read;
use crate::tool::{CallSite, Look, Prepared, Prompt, Tool, ToolContext};

/// The `analyze_dependencies` tool.
pub(crate) struct AnalyzeDependencies(pub(crate) Prompt);

#[derive(Deserialize)]
struct Arguments {
    #[serde(default)]
    path: String,
}

#[async_trait]
impl Tool for AnalyzeDependencies {
    // What a part of a project imports, and what imports it, may be anywhere in it.
    facts!(
        "analyze_dependencies", ANALYSIS, FileRead,
        path_fields: &["path"],
        is_default: false,
        names_folders: true,
        answers_from: AnswersFrom::AllContents,
    );

    fn prepare(&self, site: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let rehearsal = Look::at_files(|files, _, arguments: Arguments| {
            subject(files, &arguments.path).map(drop)
        });
        Ok(Prepared::on_paths(self.properties(), site, arguments)?.rehearsed(rehearsal))
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let Arguments { path } = read(arguments)?;
        let surveyor = Surveyor::for_call(context);
        context
            .blocking(move |files, _| {
                analyze(files, &path, &surveyor).map_err(|error| match error {
                    ToolError::TooBroad(_) if surveyor.limits.is_over() => out_of_time(&surveyor),
                    error => error,
                })
            })
            .await
    }
}

/// Returns the error of an analysis that ran out of time, which a narrower path would not save.
fn out_of_time(surveyor: &Surveyor) -> ToolError {
    let keeps = surveyor.replay.contents().is_some();
    let again = if keeps {
        "what it has read is kept, so call it again, or if that ends so as well, "
    } else {
        ""
    };
    ToolError::TooBroad(format!(
        "the analysis of the whole project, which any path needs, ran out of time; {again}look for \
         imports with grep"
    ))
}

/// Returns the real path of the folder or the file that an analysis is about.
fn subject(files: &Files, path: &str) -> Result<String, ToolError> {
    match files.find(path)? {
        FileOrFolder::File(opened)
            if Language::of_path(&opened.path).is_none() && !Manifest::is_named(&opened.path) =>
        {
            let reason = "neither a manifest nor code in a language that is understood";
            Err(ToolError::Retry(format!(
                "{}: {reason}",
                shown(&opened.path)
            )))
        }
        FileOrFolder::File(opened) => Ok(opened.path),
        FileOrFolder::Folder(path) => Ok(path),
    }
}

fn analyze(files: &Files, path: &str, surveyor: &Surveyor) -> Result<Answer, ToolError> {
    let path = subject(files, path)?;
    let mut gathered = Gathered::read(files, surveyor)?;
    if let Some((_, error)) = gathered.left_out.iter().find(|(other, _)| *other == path) {
        return Err(ToolError::Retry(format!("{}: {error}", shown(&path))));
    }
    if let Some(error) = gathered
        .no_imports
        .as_ref()
        .filter(|_| Language::of_path(&path).is_some())
    {
        return Err(ToolError::Absent(error.to_string()));
    }
    let notes = gathered.notes();
    let project = std::mem::take(&mut gathered.project);
    let stop = || surveyor.limits.check().is_err();
    let graph = gathered.held.keep_while(&stop, |stop| {
        match DependencyGraph::from_project(project, stop) {
            Ok(graph) => Ok(graph.within(&path)),
            Err(error) => {
                // The limit that stopped it says why.
                surveyor.limits.check()?;
                Err(ToolError::Retry(error.to_string()))
            }
        }
    })?;
    Ok(report(graph, &notes))
}
