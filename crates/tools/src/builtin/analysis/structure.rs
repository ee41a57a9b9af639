//! `analyze_code_structure`: the modules, types and functions of a file, or of the files below a
//! folder.

use std::sync::Arc;

use async_trait::async_trait;
use orchestrate_code::{CodeStructure, Item, Language};
use orchestrate_core::text::invisible::shown;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::super::facts::facts;
use crate::answer::{Answer, ToolError, counted};
use crate::call::AnswersFrom;
use crate::code_files::{CodeFile, Survey, Surveyor};
use crate::tool::arguments::read;
use crate::tool::{CallSite, Look, Prepared, Prompt, Tool, ToolContext};

/// Maximum number of items that one answer lists: more than any agent reads.
const MAX_ITEMS: usize = 1_000;
/// Maximum number of files that one answer lists.
const MAX_FILES: usize = 1_000;

/// The `analyze_code_structure` tool.
pub(crate) struct AnalyzeCodeStructure(pub(crate) Prompt);

#[derive(Deserialize)]
struct Arguments {
    path: String,
}

#[async_trait]
impl Tool for AnalyzeCodeStructure {
    facts!(
        "analyze_code_structure", ANALYSIS, FileRead,
        path_fields: &["path"],
        is_default: false,
        names_folders: true,
        answers_from: AnswersFrom::Contents,
    );

    fn prepare(&self, site: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let rehearsal =
            Look::at_files(|files, _, arguments: Arguments| files.find(&arguments.path).map(drop));
        Ok(Prepared::on_paths(self.properties(), site, arguments)?.rehearsed(rehearsal))
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let Arguments { path } = read(arguments)?;
        let surveyor = Surveyor::for_call(context);
        let (answer, survey) = context
            .blocking(move |files, _| {
                let analyze = |file: &CodeFile<'_>| Ok(file.analysis()?.map(Found::from_structure));
                let survey = surveyor.survey(files, &[path], &analyze)?;
                Ok((answer(&survey), survey))
            })
            .await?;
        // Freeing the paths of a large repository takes milliseconds, for which nobody has to wait.
        drop(tokio::task::spawn_blocking(move || drop(survey)));
        Ok(answer)
    }
}

/// What was found in a file.
struct Found {
    /// The number of items. To count them once all files are found would fetch each structure into
    /// the processor again.
    items: usize,
    structure: Arc<CodeStructure>,
}

impl Found {
    fn from_structure(structure: Arc<CodeStructure>) -> Found {
        Found {
            items: structure.items.len(),
            structure,
        }
    }
}

fn answer(survey: &Survey<Found>) -> Answer {
    let notes = survey.notes();
    let files = survey.found.len();
    let items: usize = survey.found.iter().map(|(_, found)| found.items).sum();
    let (mut lines, mut data, mut room) = (Vec::new(), Vec::new(), MAX_ITEMS);
    for (path, Found { structure, .. }) in survey.found.iter().take(MAX_FILES) {
        lines.push(heading(path, structure));
        // A file is listed whole or not at all.
        let is_listed = structure.items.len() <= room || files == 1;
        let listed = if is_listed {
            MAX_ITEMS.min(structure.items.len())
        } else {
            0
        };
        lines.extend(
            structure
                .items
                .iter()
                .take(listed)
                .map(|item| line(item, structure.language)),
        );
        room = room.saturating_sub(listed);
        data.push(file_data(path, is_listed, structure.to_json(listed)));
    }
    if files == 0 {
        lines.push("no file in a language that is understood".to_owned());
    }
    let listed = MAX_ITEMS - room;
    if listed < items {
        lines.push(if files == 1 {
            format!("[the first {listed} of {items} items; read the file for the rest]")
        } else {
            format!(
                "[{listed} of {items} items in {files} files; name a folder or a file for the rest]"
            )
        });
    }
    lines.extend(notes);
    let data = Map::from_iter([
        ("files".to_owned(), Value::Array(data)),
        ("items".to_owned(), items.into()),
    ]);
    Answer::new(lines.join("\n"), Value::Object(data))
}

/// Returns what the data say of a file. Nothing is copied: as [`serde_json::json`] copies what it
/// is given, the data of many files would take longer than finding them.
fn file_data(path: &str, is_listed: bool, structure: Value) -> Value {
    let path = ("path".to_owned(), Value::from(path));
    let is_listed = ("is_listed".to_owned(), Value::from(is_listed));
    Value::Object(Map::from_iter([
        path,
        is_listed,
        ("structure".to_owned(), structure),
    ]))
}

fn heading(path: &str, structure: &CodeStructure) -> String {
    let CodeStructure {
        language,
        lines,
        items,
        syntax_errors,
    } = structure;
    let errors = match syntax_errors.first.first() {
        Some(first) if syntax_errors.total == 1 => {
            format!(", 1 syntax error, in line {}", first.line)
        }
        Some(first) => format!(
            ", {} syntax errors, the first in line {}",
            syntax_errors.total, first.line
        ),
        None => String::new(),
    };
    let (lines, items) = (counted(*lines, "line"), counted(items.len(), "item"));
    format!("{} ({language}, {lines}, {items}{errors})", shown(path))
}

fn line(item: &Item, language: Language) -> String {
    let indent = "  ".repeat(item.depth + 1);
    let visibility = if is_said_elsewhere(language) {
        format!("  [{}]", item.visibility)
    } else {
        String::new()
    };
    let doc = item
        .doc
        .as_deref()
        .map(|doc| format!("  // {doc}"))
        .unwrap_or_default();
    shown(&format!(
        "{}-{}{indent}{}{visibility}{doc}",
        item.line, item.end_line, item.signature
    ))
}

/// Reports whether an export or an access specifier, rather than the signature, says who may use an
/// item. In all other languages a modifier or the name does.
fn is_said_elsewhere(language: Language) -> bool {
    matches!(
        language,
        Language::Cpp | Language::JavaScript | Language::Tsx | Language::TypeScript
    )
}
