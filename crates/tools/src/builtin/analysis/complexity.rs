//! `measure_code_complexity`: the complexity of functions, the hardest first.

use std::cmp::Reverse;
use std::sync::Arc;

use async_trait::async_trait;
use orchestrate_code::{Complexity, FunctionComplexity};
use orchestrate_core::policy::Target;
use orchestrate_core::text::invisible::shown;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::facts::facts;
use crate::answer::{Answer, ToolError, counted};
use crate::call::{AnswersFrom, Effect};
use crate::code_files::{Survey, Surveyor};
use crate::tool::arguments::read;
use crate::tool::{CallSite, Look, Prepared, Prompt, Tool, ToolContext};

/// Maximum number of functions that the text shows.
const MAX_SHOWN: usize = 50;
/// Maximum number of functions in the data.
const MAX_LISTED: usize = 1_000;

/// The `measure_code_complexity` tool.
pub(crate) struct MeasureCodeComplexity(pub(crate) Prompt);

#[derive(Deserialize)]
struct Arguments {
    #[serde(default)]
    files: Vec<String>,
}

#[async_trait]
impl Tool for MeasureCodeComplexity {
    // Its argument is no single path, so an answer is replayed only while the whole worktree is
    // the same.
    facts!(
        "measure_code_complexity", ANALYSIS, FileRead,
        is_default: false,
        names_folders: true,
        answers_from: AnswersFrom::Contents,
    );

    fn prepare(&self, site: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let rehearsal = Look::at_files(|opened, _, arguments: Arguments| {
            Surveyor::require_any(opened, &arguments.files)
        });
        Ok(Prepared::on_listed_paths("files", folder, site, arguments)?.rehearsed(rehearsal))
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let Arguments { mut files } = read(arguments)?;
        if files.is_empty() {
            files.push(String::new());
        }
        let surveyor = Surveyor::for_call(context);
        context
            .blocking(move |opened, _| {
                surveyor
                    .survey(opened, &files, &|file| file.analysis())
                    .map(|survey| answer(&survey))
            })
            .await
    }
}

fn folder(path: String) -> Effect {
    Effect::on(Target::Folder(path))
}

/// A function with the path of its file.
type Measured<'s> = (&'s str, &'s FunctionComplexity);

fn answer(survey: &Survey<Arc<Complexity>>) -> Answer {
    let files = survey.found.len();
    let errors: usize = survey
        .found
        .iter()
        .filter(|(_, complexity)| complexity.syntax_errors > 0)
        .count();
    let mut functions: Vec<Measured<'_>> = Vec::new();
    for (path, complexity) in &survey.found {
        functions.extend(
            complexity
                .functions
                .iter()
                .map(|function| (path.as_str(), function)),
        );
    }
    let (totals, all) = (totals(&functions, files), functions.len());
    keep_hardest(&mut functions);
    let mut lines = vec![summary(all, files)];
    lines.extend(
        functions
            .iter()
            .take(MAX_SHOWN)
            .map(|(path, function)| line(path, function)),
    );
    if all > MAX_SHOWN {
        lines.push(format!(
            "[the hardest {MAX_SHOWN} of {all}; name files for others]"
        ));
    }
    if errors > 0 {
        let files = counted(errors, "file");
        lines.push(format!(
            "[{files} with syntax errors, around which figures may be wrong]"
        ));
    }
    lines.extend(survey.notes());
    let listed: Vec<Value> = functions
        .into_iter()
        .map(|(path, function)| json!({"path": path, "function": function}))
        .collect();
    Answer::new(
        lines.join("\n"),
        json!({"functions": listed, "totals": totals}),
    )
}

/// Keeps the hardest functions that the data lists, the hardest first; those that are equally hard
/// keep their order.
fn keep_hardest(functions: &mut Vec<Measured<'_>>) {
    let mut places: Vec<_> = functions
        .iter()
        .enumerate()
        .map(|(place, (_, function))| (Reverse((function.cognitive, function.cyclomatic)), place))
        .collect();
    if places.len() > MAX_LISTED {
        // Only those that are listed need an order.
        places.select_nth_unstable(MAX_LISTED);
        places.truncate(MAX_LISTED);
    }
    places.sort_unstable();
    *functions = places
        .into_iter()
        .filter_map(|(_, place)| functions.get(place).copied())
        .collect();
}

fn totals(functions: &[Measured<'_>], files: usize) -> Value {
    let sum = |figure: fn(&FunctionComplexity) -> usize| {
        functions.iter().map(|(_, one)| figure(one)).sum::<usize>()
    };
    let most = |figure: fn(&FunctionComplexity) -> usize| {
        functions
            .iter()
            .map(|(_, one)| figure(one))
            .max()
            .unwrap_or_default()
    };
    json!({
        "files": files,
        "functions": functions.len(),
        "code_lines": sum(|one| one.code_lines),
        "cyclomatic": sum(|one| one.cyclomatic),
        "cognitive": sum(|one| one.cognitive),
        "max_cyclomatic": most(|one| one.cyclomatic),
        "max_cognitive": most(|one| one.cognitive),
        "max_nesting": most(|one| one.nesting),
    })
}

fn summary(functions: usize, files: usize) -> String {
    if functions == 0 {
        return format!(
            "no functions in {} of languages that are understood",
            counted(files, "file")
        );
    }
    let (functions, files) = (counted(functions, "function"), counted(files, "file"));
    format!(
        "{functions} in {files}\ncognitive  cyclomatic  nesting  lines of code  parameters  \
         function"
    )
}

fn line(path: &str, function: &FunctionComplexity) -> String {
    let FunctionComplexity {
        name,
        line,
        code_lines,
        parameters,
        cyclomatic,
        cognitive,
        nesting,
        ..
    } = function;
    let figures = format!(
        "{cognitive:>9}  {cyclomatic:>10}  {nesting:>7}  {code_lines:>13}  {parameters:>10}"
    );
    format!("{figures}  {}:{line} {}", shown(path), shown(name))
}
