//! `run_formatter`: formats code in place with what the project uses, and lists the files that changed.

use async_trait::async_trait;
use orchestrate_core::invisible::shown;
use serde_json::{Value, json};

use super::super::facts::facts;
use super::candidate::{Ran, choose};
use super::checkers::formatters;
use super::files::{Find, Selection, selects_files};
use super::project::Project;
use super::states::{changed, states};
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::files::Files;
use crate::output::Answer;
use crate::prompt::Prompt;
use crate::results::FormatResults;
use crate::scope::CallScope;
use crate::tool::Tool;

/// The name of what is run, and what finds it for some files.
const FORMATTER: (&str, Find<()>) = ("formatter", formatters);

/// The `run_formatter` tool.
pub(crate) struct RunFormatter(pub(crate) Prompt);

#[async_trait]
impl Tool for RunFormatter {
    facts!("run_formatter", EXEC, CodeExecution);

    selects_files!(formatters);

    async fn rehearse(&self, scope: &CallScope, project: &Files, arguments: &Value) -> Result<(), ToolError> {
        Selection::rehearse(scope, project, arguments, FORMATTER).await
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let selection = Selection::of(&arguments)?;
        let candidates = context.blocking(move |files, cancel| selection.candidates(files, cancel, FORMATTER)).await?;
        let chosen = choose(context, candidates).await?;
        let before = context.blocking(states).await?;
        let ran = chosen.run(context).await?;
        let after = context.blocking(states).await?;
        Ok(answer(&ran, changed(&before, &after)))
    }
}

fn answer(ran: &Ran, changed: Vec<String>) -> Answer {
    let failed = (ran.run.exit_code != Some(0)).then(|| ran.how.clone());
    let mut parts: Vec<String> = changed.iter().map(|path| format!("formatted {}", shown(path))).collect();
    if changed.is_empty() && failed.is_none() {
        parts.push("nothing to change".to_owned());
    }
    parts.extend(failed.is_some().then(|| ran.tail()));
    let exit_code = ran.run.exit_code;
    let results = FormatResults { run: ran.run.clone(), changed };
    Answer { footer: Some(ran.footer()), failed, exit_code, ..Answer::new(parts.join("\n"), json!(results)) }
}
