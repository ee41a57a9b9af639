//! `find_similar_code`: finds code that resembles a snippet.

use std::sync::Arc;

use async_trait::async_trait;
use orchestrate_code::{
    CodeError, CodeFingerprints, Language, SimilarCode, Snippet, Source, within_memory,
};
use orchestrate_core::text::invisible::shown;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::facts::facts;
use crate::answer::{Answer, ToolError};
use crate::call::AnswersFrom;
use crate::code_files::{CodeFile, Survey, Surveyor};
use crate::files::WalkLimits;
use crate::tool::arguments::{invalid, read};
use crate::tool::{CallSite, Look, Prepared, Prompt, Tool, ToolContext};

/// Maximum number of places to show.
const MAX_SHOWN: usize = 50;
/// The least resemblance that is reported, in percent: below it, only idioms are shared.
const MIN_SIMILARITY: usize = 60;

/// The `find_similar_code` tool.
pub(crate) struct FindSimilarCode(pub(crate) Prompt);

#[derive(Deserialize)]
struct Arguments {
    code_snippet: String,
    #[serde(default)]
    path: String,
}

#[async_trait]
impl Tool for FindSimilarCode {
    facts!(
        "find_similar_code", ANALYSIS, FileRead,
        path_fields: &["path"],
        is_default: false,
        names_folders: true,
        answers_from: AnswersFrom::Contents,
    );

    fn prepare(&self, site: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let rehearsal = Look::at_files(|files, scope, arguments: Arguments| {
            snippet(&arguments.code_snippet, &Surveyor::limits(scope))?;
            files.find(&arguments.path).map(drop)
        });
        Ok(Prepared::on_paths(self.properties(), site, arguments)?.rehearsed(rehearsal))
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let Arguments { code_snippet, path } = read(arguments)?;
        let surveyor = Surveyor::for_call(context);
        context
            .blocking(move |files, _| {
                let snippet = snippet(&code_snippet, &surveyor.limits)?;
                surveyor
                    .survey(files, &[path], &|file| regions(&snippet, file))
                    .map(answer)
            })
            .await
    }
}

/// Returns the regions of a file that resemble a snippet, if there are any. Only a file that may
/// have some is read.
fn regions(snippet: &Snippet, file: &CodeFile<'_>) -> Result<Option<Vec<SimilarCode>>, CodeError> {
    let fingerprints: Option<Arc<CodeFingerprints>> = file.analysis()?;
    if fingerprints.is_none_or(|fingerprints| !snippet.may_be_in(&fingerprints, MIN_SIMILARITY)) {
        return Ok(None);
    }
    file.within_memory(|stop| {
        let Some((language, text)) = file.code()? else {
            return Ok(None);
        };
        let found = snippet.find(&Source::parse(language, text, stop)?, MIN_SIMILARITY, stop)?;
        Ok(if found.is_empty() { None } else { Some(found) })
    })
}

fn snippet(code: &str, limits: &WalkLimits) -> Result<Snippet, ToolError> {
    let stop = || limits.check().is_err();
    let parsed = within_memory(&stop, |stop| Snippet::parse(code, &Language::ALL, stop));
    parsed.map_err(|error| match error {
        CodeError::NotBuilt(_) => ToolError::Absent(error.to_string()),
        CodeError::Stopped => limits
            .check()
            .err()
            .unwrap_or(ToolError::Interrupted(error.to_string())),
        _ => invalid(&format!("`code_snippet`: {error}")),
    })
}

fn answer(survey: Survey<Vec<SimilarCode>>) -> Answer {
    let notes = survey.notes();
    let mut found: Vec<(String, SimilarCode)> = Vec::new();
    for (path, regions) in survey.found {
        found.extend(regions.into_iter().map(|region| (path.clone(), region)));
    }
    // Those that are equally like keep the order of a walk.
    found.sort_by_key(|(_, region)| std::cmp::Reverse((region.similarity, region.names)));
    let total = found.len();
    found.truncate(MAX_SHOWN);
    let mut lines: Vec<String> = found
        .iter()
        .map(|(path, region)| line(path, region))
        .collect();
    if total == 0 {
        lines.push("no similar code".to_owned());
    }
    if total > found.len() {
        lines.push(format!(
            "[the likest {} of {total}; name a folder or a file for others]",
            found.len()
        ));
    }
    lines.extend(notes);
    let data: Vec<Value> = found
        .iter()
        .map(|(path, region)| json!({"path": path, "region": region}))
        .collect();
    Answer::new(lines.join("\n"), json!({"similar": data, "total": total}))
}

fn line(path: &str, region: &SimilarCode) -> String {
    let SimilarCode {
        line,
        end_line,
        similarity,
        names,
    } = region;
    format!(
        "{}:{line}-{end_line}: structure {similarity} %, names {names} %",
        shown(path)
    )
}
