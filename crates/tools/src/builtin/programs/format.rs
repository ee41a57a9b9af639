//! `run_formatter`: formats code in place with what the project uses, and lists the files that
//! changed.
//!
//! Named files alone change. rustfmt formats the modules of a file as well, so it is given each
//! file's text, with the edition of its package.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use orchestrate_core::text::invisible::shown;
use orchestrate_sandbox::{Exit, SandboxError};
use serde_json::{Value, json};

use super::super::facts::facts;
use super::candidate::{Chosen, Ran, choose, command};
use super::checkers::{Formatting, formatters, rustfmt_command};
use super::files::{Kind, Selection, selects_files};
use super::project::RustFile;
use super::states::{changed, states};
use crate::answer::{Answer, FormatResults, ToolError};
use crate::call::Command;
use crate::files::{Expect, path};
use crate::tool::{Prompt, StartError, Tool, ToolContext};

static FORMATTER: Kind<Formatting> = Kind {
    name: "formatter",
    find: formatters,
};
/// How rustfmt calls the file whose text it is given.
const GIVEN: &str = "<stdin>";

/// The `run_formatter` tool.
pub(crate) struct RunFormatter(pub(crate) Prompt);

#[async_trait]
impl Tool for RunFormatter {
    facts!("run_formatter", EXEC, CodeExecution, is_default: false);

    selects_files!(&FORMATTER);

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let selection = Selection::from_value(&arguments)?;
        let candidates = context
            .blocking(move |files, cancel| selection.candidates(files, cancel, &FORMATTER))
            .await?;
        let chosen = choose(context, candidates).await?;
        if let Formatting::EachText(files) = chosen.format() {
            let (ran, changed) = each_text(context, &chosen, files).await?;
            return Ok(answer(&ran, changed));
        }
        let before = context.blocking(states).await?;
        let ran = chosen.run(context).await?;
        let after = context.blocking(states).await?;
        Ok(answer(&ran, changed(&before, &after)))
    }
}

/// Formats these files one after another, up to the first that cannot be formatted; returns the
/// last run, and the files that have changed.
async fn each_text(
    context: &ToolContext,
    chosen: &Chosen<Formatting>,
    files: &[RustFile],
) -> Result<(Ran, Vec<String>), ToolError> {
    // Nothing is formatted unless the edition of every file is known.
    let mut editions = Vec::with_capacity(files.len());
    for file in files {
        let edition = file
            .edition
            .as_ref()
            .map_err(|why| ToolError::Retry(format!("{}: {why}", shown(&file.path))))?;
        editions.push((file.path.as_str(), edition.as_str()));
    }
    let until = Instant::now() + context.limits().max_command_timeout;
    let (mut last, mut changed) = (chosen.ran_nothing(), Vec::new());
    for (path, edition) in editions {
        let (ran, is_changed) = one_text(context, chosen, path, edition, until).await?;
        if is_changed {
            changed.push(path.to_owned());
        }
        last = ran;
        if last.run.exit_code != Some(0) {
            break;
        }
    }
    if files.len() > 1 {
        last.run.command = format!("{}, the last of {} files", last.run.command, files.len());
    }
    Ok((last, changed))
}

/// Formats one file, and returns whether it has changed.
async fn one_text(
    context: &ToolContext,
    chosen: &Chosen<Formatting>,
    path: &str,
    edition: &str,
    until: Instant,
) -> Result<(Ran, bool), ToolError> {
    let name = path.to_owned();
    let (_, text) = context.blocking(move |files, _| files.read(&name)).await?;
    let argv = rustfmt_command(edition);
    let timeout = until.saturating_duration_since(Instant::now());
    let timeout = timeout.max(Duration::from_secs(1));
    // It finds its settings from the folder that it is started in.
    let (folder, _) = path::split(path);
    let command = Command {
        cwd: folder.to_owned(),
        stdin: text.clone(),
        ..command(&argv, &[], timeout)
    };
    let finished = match context.start(command).await {
        Ok(finished) => finished,
        Err(StartError::Sandbox(
            error @ (SandboxError::ProgramNotFound { .. } | SandboxError::NotExecutable { .. }),
        )) => return Err(ToolError::Absent(format!("failed to {error}"))),
        Err(error) => return Err(error.into()),
    };
    let mut ran = chosen.ran(&argv, &finished, timeout)?;
    ran.run.command = format!("{} < {}", ran.run.command, shown(path));
    ran.stderr = ran.stderr.replace(GIVEN, path);
    let is_whole = finished.exit == Exit::Code(0) && finished.stdout.omitted_bytes() == 0;
    let formatted = finished.stdout.bytes();
    // What is formatted is never printed as what an agent reads.
    if finished.exit == Exit::Code(0) {
        ran.stdout = String::new();
    }
    if !is_whole || formatted == text {
        return Ok((ran, false));
    }
    let name = path.to_owned();
    context
        .blocking(move |files, _| files.write(&name, &formatted, Expect::Any).map(drop))
        .await?;
    Ok((ran, true))
}

fn answer(ran: &Ran, changed: Vec<String>) -> Answer {
    let failed = (ran.run.exit_code != Some(0)).then(|| ran.how.clone());
    let mut parts: Vec<String> = changed
        .iter()
        .map(|path| format!("formatted {}", shown(path)))
        .collect();
    if changed.is_empty() && failed.is_none() {
        parts.push("nothing to change".to_owned());
    }
    parts.extend(failed.is_some().then(|| ran.tail()));
    let exit_code = ran.run.exit_code;
    let results = FormatResults {
        run: ran.run.clone(),
        changed,
    };
    Answer {
        footer: Some(ran.footer()),
        failed,
        exit_code,
        ..Answer::new(parts.join("\n"), json!(results))
    }
}
