//! `write_file`, `append_file`, `delete_file` and `create_directory`.

use async_trait::async_trait;
use orchestrate_core::policy::Access;
use orchestrate_core::text::invisible::shown;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::facts::facts;
use super::content::{encoding, refuse_stale, say_if_ignored};
use super::syntax::{Changed, say_if_broken};
use crate::answer::{Answer, ReadLedger, SeenFile, ToolError, size};
use crate::files::{Decoded, Expect, Files};
use crate::tool::arguments::read;
use crate::tool::{CallSite, Look, Prepared, Prompt, Tool, ToolContext};

/// The `write_file` tool.
pub(crate) struct WriteFile(pub(crate) Prompt);

#[derive(Deserialize)]
struct WriteArguments {
    path: String,
    content: String,
    encoding: Option<String>,
}

impl WriteArguments {
    /// Returns what the file is to hold.
    fn bytes(&self) -> Result<Vec<u8>, ToolError> {
        encoding(self.encoding.as_deref())?.encode(&self.content)
    }
}

#[async_trait]
impl Tool for WriteFile {
    facts!("write_file", FILES, FileWrite, path_fields: &["path"]);

    fn prepare(&self, site: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let rehearsal = Look::at_files(|files, scope, arguments: WriteArguments| {
            let bytes = arguments.bytes()?;
            replaced(files, &scope.ledger, &arguments.path, &bytes).map(drop)
        });
        Ok(Prepared::on_paths(self.properties(), site, arguments)?.rehearsed(rehearsal))
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let arguments: WriteArguments = read(arguments)?;
        let bytes = arguments.bytes()?;
        let ledger = context.ledger().clone();
        let (answer, changed) = context
            .blocking(move |files, _| write(files, &ledger, &arguments.path, bytes))
            .await?;
        let new = created(&answer);
        let answer = say_if_ignored(context, answer, new).await;
        Ok(say_if_broken(context, answer, vec![changed]).await)
    }
}

/// The `append_file` tool.
pub(crate) struct AppendFile(pub(crate) Prompt);

#[derive(Deserialize)]
struct AppendArguments {
    path: String,
    content: String,
}

#[async_trait]
impl Tool for AppendFile {
    facts!("append_file", FILES, FileWrite, path_fields: &["path"], is_default: false);

    fn prepare(&self, site: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let rehearsal = Look::at_files(|files, scope, arguments: AppendArguments| {
            let AppendArguments { path, content } = arguments;
            Appended::compute(files, &scope.ledger, &path, &content).map(drop)
        });
        Ok(Prepared::on_paths(self.properties(), site, arguments)?.rehearsed(rehearsal))
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let AppendArguments { path, content } = read(arguments)?;
        let ledger = context.ledger().clone();
        let answer = context
            .blocking(move |files, _| append(files, &ledger, &path, &content))
            .await?;
        let new = created(&answer);
        Ok(say_if_ignored(context, answer, new).await)
    }
}

/// Adds text to the end of a file, in the encoding that the file seems to have, or creates the
/// file.
fn append(
    files: &Files,
    ledger: &ReadLedger,
    path: &str,
    content: &str,
) -> Result<Answer, ToolError> {
    let _turn = ledger.exclusively();
    let Appended {
        bytes,
        added,
        has_seen,
        expect,
    } = Appended::compute(files, ledger, path, content)?;
    let written = files.write(path, &bytes, expect)?;
    let seen: Vec<SeenFile> = has_seen
        .then(|| SeenFile::holding(&written.path, &bytes))
        .into_iter()
        .collect();
    seen.iter().for_each(|seen| ledger.note(seen));
    let verb = if written.created {
        "created"
    } else {
        "appended to"
    };
    let text = format!(
        "{verb} {} ({} added)",
        shown(&written.path),
        size(added as u64)
    );
    let data = json!({"path": written.path, "bytes": added, "created": written.created});
    Ok(Answer {
        seen,
        written_bytes: added as u64,
        ..Answer::new(text, data)
    })
}

/// What a file holds once text is added to its end.
struct Appended {
    bytes: Vec<u8>,
    /// The number of bytes that are added.
    added: usize,
    /// Whether the agent has seen the rest.
    has_seen: bool,
    expect: Expect,
}

impl Appended {
    /// Computes the new content of a file, without changing anything.
    fn compute(
        files: &Files,
        ledger: &ReadLedger,
        path: &str,
        content: &str,
    ) -> Result<Appended, ToolError> {
        let old = match files.metadata(path) {
            Ok(_) => Some(files.read(path)?),
            Err(ToolError::Retry(_)) => None,
            Err(error) => return Err(error),
        };
        // Appending to a version that the agent has not seen is harmless, but does not show it the
        // rest of the file.
        let has_seen = old
            .as_ref()
            .is_none_or(|(file, bytes)| !ledger.is_stale(&file.path, bytes));
        let expect = if old.is_some() {
            Expect::Any
        } else {
            Expect::Nothing
        };
        let mut bytes = old.map(|(_, bytes)| bytes).unwrap_or_default();
        let added = Decoded::detect(path, &bytes)?.encoding.encode(content)?;
        bytes.extend_from_slice(&added);
        files.require_writable(path, &bytes, expect)?;
        Ok(Appended {
            bytes,
            added: added.len(),
            has_seen,
            expect,
        })
    }
}

/// Returns the path of a new file that an answer is about.
fn created(answer: &Answer) -> Vec<String> {
    let is_new = answer.data.get("created").and_then(Value::as_bool) == Some(true);
    let path = answer
        .data
        .get("path")
        .and_then(Value::as_str)
        .filter(|_| is_new);
    path.map(str::to_owned).into_iter().collect()
}

fn write(
    files: &Files,
    ledger: &ReadLedger,
    path: &str,
    bytes: Vec<u8>,
) -> Result<(Answer, Changed), ToolError> {
    let _turn = ledger.exclusively();
    let before = replaced(files, ledger, path, &bytes)?;
    let written = files.write(path, &bytes, Expect::Any)?;
    let seen = SeenFile::holding(&written.path, &bytes);
    ledger.note(&seen);
    let verb = if written.created {
        "created"
    } else {
        "replaced"
    };
    let text = format!(
        "{verb} {} ({})",
        shown(&written.path),
        size(bytes.len() as u64)
    );
    let data = json!({"path": written.path, "bytes": bytes.len(), "created": written.created});
    let answer = Answer {
        seen: vec![seen],
        written_bytes: bytes.len() as u64,
        ..Answer::new(text, data)
    };
    Ok((
        answer,
        Changed {
            path: written.path,
            before,
            after: bytes,
        },
    ))
}

/// Returns what a file holds that a write would replace; refuses a write that cannot be made.
/// Nothing is changed.
fn replaced(
    files: &Files,
    ledger: &ReadLedger,
    path: &str,
    bytes: &[u8],
) -> Result<Option<Vec<u8>>, ToolError> {
    let before = match files.read(path) {
        Ok((old, content)) => {
            refuse_stale(ledger, &old.path, &content)?;
            Some(content)
        }
        // An existing file that cannot be compared with the version last seen is not overwritten.
        Err(error) if files.open(path).is_ok() => return Err(error),
        Err(_) => None,
    };
    files.require_writable(path, bytes, Expect::Any)?;
    Ok(before)
}

/// The `delete_file` tool, which keeps the content of a deleted file as an artifact.
pub(crate) struct DeleteFile(pub(crate) Prompt);

#[derive(Deserialize)]
struct DeleteArguments {
    path: String,
}

#[async_trait]
impl Tool for DeleteFile {
    facts!("delete_file", FILES, FileModify, path_fields: &["path"], deletes_files: true);

    fn prepare(&self, site: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let prepared = Prepared::on_paths(self.properties(), site, arguments)?;
        let rehearsal = Look::at_files(|files, _, arguments: DeleteArguments| {
            content_to_keep(files, &arguments.path).map(drop)
        });
        Ok(prepared
            .with_accesses(&[("path", Access::Delete)])
            .rehearsed(rehearsal))
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let DeleteArguments { path } = read(arguments)?;
        let kept_path = path.clone();
        let content = context
            .blocking(move |files, _| content_to_keep(files, &kept_path))
            .await?;
        // Stored before the file is deleted: an untracked file would be lost otherwise.
        let kept = match content {
            Some((file, content)) => Some(
                context
                    .services()
                    .artifacts
                    .put(content, Some(file))
                    .await?,
            ),
            None => None,
        };
        let ledger = context.ledger().clone();
        let deleted = context
            .blocking(move |files, _| {
                let _turn = ledger.exclusively();
                let deleted = files.delete(&path)?;
                ledger.note(&SeenFile::gone(&deleted));
                Ok(deleted)
            })
            .await?;
        let name = shown(&deleted);
        let text = match &kept {
            Some(kept) => format!(
                "deleted {name}; its content: read_file with path `artifact:{}`",
                kept.handle
            ),
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

/// Returns the real path and the content of a file that is to be deleted; `None` for a link.
fn content_to_keep(files: &Files, path: &str) -> Result<Option<(String, Vec<u8>)>, ToolError> {
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
    files
        .read(path)
        .map(|(file, bytes)| Some((file.path, bytes)))
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
    facts!("create_directory", FILES, FileWrite, path_fields: &["path"], names_folders: true);

    fn prepare(&self, site: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        let rehearsal = Look::at_files(|files, _, arguments: CreateArguments| {
            let CreateArguments { path, parents } = arguments;
            files.is_new_directory(&path, parents).map(drop)
        });
        Ok(Prepared::on_paths(self.properties(), site, arguments)?.rehearsed(rehearsal))
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let CreateArguments { path, parents } = read(arguments)?;
        context
            .blocking(move |files, _| {
                let created = files.create_directory(&path, parents)?;
                let name = if path.is_empty() {
                    ".".to_owned()
                } else {
                    shown(&path)
                };
                let text = if created {
                    format!("created {name}")
                } else {
                    format!("{name} exists already")
                };
                Ok(Answer::new(text, json!({"path": path, "created": created})))
            })
            .await
    }
}
