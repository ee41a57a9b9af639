//! `write_file`, `delete_file` and `create_directory`.

use async_trait::async_trait;
use orchestrate_core::invisible::shown;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::arguments::read;
use super::super::facts::facts;
use super::content::{encoding, refuse_stale};
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::files::{Expect, Files};
use crate::ledger::{ReadLedger, SeenFile};
use crate::output::Answer;
use crate::prompt::Prompt;
use crate::shape::size;
use crate::tool::Tool;

/// The `write_file` tool.
pub(crate) struct WriteFile(pub(crate) Prompt);

#[derive(Deserialize)]
struct WriteArguments {
    path: String,
    content: String,
    encoding: Option<String>,
}

#[async_trait]
impl Tool for WriteFile {
    facts!("write_file", Files, FileWrite, paths["path"]);

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let arguments: WriteArguments = read(arguments)?;
        let bytes = encoding(arguments.encoding.as_deref())?.encode(&arguments.content)?;
        let ledger = context.ledger().clone();
        let answer = context.blocking(move |files, _| write(files, &ledger, &arguments.path, &bytes)).await?;
        Ok(say_if_ignored(context, answer).await)
    }
}

/// Adds a note to the answer if git ignores a new file, which the agent would otherwise believe to
/// be part of its work. The file is written either way.
async fn say_if_ignored(context: &ToolContext, mut answer: Answer) -> Answer {
    let is_new = answer.data.get("created").and_then(Value::as_bool) == Some(true);
    let Some(path) = answer.data.get("path").and_then(Value::as_str).filter(|_| is_new) else { return answer };
    match context.services().git.ignores(path).await {
        Ok(true) => answer.text.push_str("; git ignores it, so it will not be committed"),
        Ok(false) => {}
        Err(error) => answer.text.push_str(&format!("; unknown whether git ignores it: {error}")),
    }
    answer
}

fn write(files: &Files, ledger: &ReadLedger, path: &str, bytes: &[u8]) -> Result<Answer, ToolError> {
    let _turn = ledger.exclusively();
    match files.read(path) {
        Ok((old, content)) => refuse_stale(ledger, &old.path, &content)?,
        // An existing file that cannot be compared with the version last seen is not overwritten.
        Err(error) if files.open(path).is_ok() => return Err(error),
        Err(_) => {}
    }
    let written = files.write(path, bytes, Expect::Any)?;
    let seen = SeenFile::holding(&written.path, bytes);
    ledger.note(&seen);
    let verb = if written.created { "created" } else { "replaced" };
    let text = format!("{verb} {} ({})", shown(&written.path), size(bytes.len() as u64));
    let data = json!({"path": written.path, "bytes": bytes.len(), "created": written.created});
    Ok(Answer { seen: vec![seen], written_bytes: bytes.len() as u64, ..Answer::new(text, data) })
}

/// The `delete_file` tool, which keeps the content of a deleted file as an artifact.
pub(crate) struct DeleteFile(pub(crate) Prompt);

#[derive(Deserialize)]
struct DeleteArguments {
    path: String,
}

#[async_trait]
impl Tool for DeleteFile {
    facts!("delete_file", Files, FileModify, paths["path"]);

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let DeleteArguments { path } = read(arguments)?;
        let kept_path = path.clone();
        let content = context.blocking(move |files, _| content_to_keep(files, &kept_path)).await?;
        // Stored before the file is deleted: an untracked file would be lost otherwise.
        let kept = match content {
            Some(content) => Some(context.services().artifacts.put(content).await?),
            None => None,
        };
        let ledger = context.ledger().clone();
        let work = move |files: &Files, _: &_| {
            let _turn = ledger.exclusively();
            let deleted = files.delete(&path)?;
            ledger.note(&SeenFile::gone(&deleted));
            Ok(deleted)
        };
        let deleted = context.blocking(work).await?;
        let name = shown(&deleted);
        let text = match &kept {
            Some(kept) => format!("deleted {name}; its content: read_file with path `artifact:{}`", kept.handle),
            None => format!("deleted the link {name}"),
        };
        Ok(Answer {
            seen: vec![SeenFile::gone(&deleted)],
            artifacts: kept.into_iter().collect(),
            deleted: vec![deleted.clone()],
            ..Answer::new(text, json!({ "path": deleted }))
        })
    }
}

fn content_to_keep(files: &Files, path: &str) -> Result<Option<Vec<u8>>, ToolError> {
    if files.is_link(path)? {
        return Ok(None);
    }
    let opened = files.open(path)?;
    if opened.size > files.max_bytes() {
        let has = size(opened.size);
        return Err(ToolError::Retry(format!(
            "{} has {has}, too much to keep a copy; delete it permanently with run_shell_command",
            shown(path)
        )));
    }
    files.read(path).map(|(_, bytes)| Some(bytes))
}

/// The `create_directory` tool.
pub(crate) struct CreateDirectory(pub(crate) Prompt);

#[derive(Deserialize)]
struct CreateArguments {
    path: String,
    #[serde(default = "yes")]
    parents: bool,
}

fn yes() -> bool {
    true
}

#[async_trait]
impl Tool for CreateDirectory {
    facts!("create_directory", Files, FileWrite, paths["path"]);

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let CreateArguments { path, parents } = read(arguments)?;
        let work = move |files: &Files, _: &_| {
            let created = files.create_directory(&path, parents)?;
            let name = if path.is_empty() { ".".to_owned() } else { shown(&path) };
            let text = if created { format!("created {name}") } else { format!("{name} exists already") };
            Ok(Answer::new(text, json!({"path": path, "created": created})))
        };
        context.blocking(work).await
    }
}
