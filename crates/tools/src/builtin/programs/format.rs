//! `run_formatter`: formats code in place with what the project uses, and lists the files that changed.

use async_trait::async_trait;
use orchestrate_core::invisible::shown;
use serde_json::{Value, json};

use super::super::facts::facts;
use super::candidate::{Ran, choose};
use super::checkers::formatters;
use super::files::{Selection, selects_files};
use super::project::Project;
use super::states::{changed, states};
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::output::Answer;
use crate::prompt::Prompt;
use crate::results::FormatResults;
use crate::tool::Tool;

/// The `run_formatter` tool.
pub(crate) struct RunFormatter(pub(crate) Prompt);

#[async_trait]
impl Tool for RunFormatter {
    facts!("run_formatter", EXEC, CodeExecution);

    selects_files!(formatters);

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let selection = Selection::read(context, arguments).await?;
        let project = context.blocking(Project::look).await?;
        let candidates = formatters(&project, &selection.files);
        if candidates.is_empty() {
            return Err(selection.nothing_for("formatter"));
        }
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
