//! `run_formatter`: formats code in place with what the project uses, and lists the files that changed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use orchestrate_core::invisible::shown;
use orchestrate_sandbox::Cancel;
use serde_json::{Value, json};

use super::super::facts::facts;
use super::candidate::{Ran, choose};
use super::checkers::formatters;
use super::files::{Selection, selects_files};
use super::project::Project;
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::files::{EntryKind, Files, Flow, WalkLimits};
use crate::output::Answer;
use crate::prompt::Prompt;
use crate::results::FormatResults;
use crate::tool::Tool;

/// Maximum time to look at all files, before and after.
const LOOKING_TIME: Duration = Duration::from_secs(30);

/// The `run_formatter` tool.
pub(crate) struct RunFormatter(pub(crate) Prompt);

/// What changes when a file is written, by its path.
type States = BTreeMap<String, (i128, u64)>;

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
        let changed = after.into_iter().filter(|(path, state)| before.get(path) != Some(state));
        Ok(answer(&ran, changed.map(|(path, _)| path).collect()))
    }
}

/// Looks at all files that git does not ignore: not every formatter says which ones it changes.
fn states(files: &Files, cancel: &Cancel) -> Result<States, ToolError> {
    let limits = WalkLimits { recursive: true, deadline: Instant::now() + LOOKING_TIME, cancel: cancel.clone() };
    let mut found = States::new();
    files.walk("", &limits, &mut |entry| {
        if entry.kind == EntryKind::File
            && let Some(stamp) = entry.stamp()
        {
            found.insert(entry.path.clone(), (files.modified(&stamp), stamp.size));
        }
        Ok(Flow::Continue)
    })?;
    Ok(found)
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
