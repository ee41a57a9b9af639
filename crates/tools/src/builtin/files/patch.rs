//! `apply_patch`: changes several files, or none of them.

use std::path::Path;

use async_trait::async_trait;
use orchestrate_core::invisible::shown;
use orchestrate_core::policy::Target;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::arguments::read;
use super::super::facts::facts;
use super::content::refuse_stale;
use crate::arguments::invalid;
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::files::{Decoded, Encoding, Expect, Files};
use crate::ledger::{ReadLedger, SeenFile};
use crate::output::Answer;
use crate::patch::{Change, Patch, apply, parse};
use crate::path;
use crate::prompt::Prompt;
use crate::tool::Tool;

/// The `apply_patch` tool.
pub(crate) struct ApplyPatch(pub(crate) Prompt);

#[derive(Deserialize)]
struct Arguments {
    patch: String,
}

#[async_trait]
impl Tool for ApplyPatch {
    facts!("apply_patch", FILES, FileWrite);

    fn is_default(&self) -> bool {
        false
    }

    /// Rewrites the patch in one grammar, with paths relative to the worktree.
    fn normalize(&self, arguments: &mut Value, worktree: &Path) -> Result<(), ToolError> {
        let mut patch = parsed(arguments)?;
        patch.rename(|name| path::normalize(name, worktree))?;
        if let Some(text) = arguments.get_mut("patch") {
            *text = Value::String(patch.to_string());
        }
        Ok(())
    }

    fn validate(&self, arguments: &Value) -> Result<(), ToolError> {
        parsed(arguments).map(drop)
    }

    fn targets(&self, arguments: &Value) -> Vec<Target> {
        let patch = parsed(arguments);
        patch.map(|patch| patch.paths().map(|path| Target::Path(path.to_owned())).collect()).unwrap_or_default()
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let Arguments { patch } = read(arguments)?;
        let patch = parse(&patch).map_err(|error| invalid(&error.to_string()))?;
        let (ledger, planned) = (context.ledger().clone(), patch.clone());
        let plan = context.blocking(move |files, _| plan(files, &ledger, &planned)).await?;
        // Stored before the files are deleted: untracked ones would be lost otherwise.
        let mut artifacts = Vec::new();
        for step in plan {
            if let (Some(old), None) = (step.old, step.new) {
                artifacts.push(context.services().artifacts.put(old).await?);
            }
        }
        let ledger = context.ledger().clone();
        let work = move |files: &Files, _: &_| {
            let _turn = ledger.exclusively();
            let steps = self::plan(files, &ledger, &patch)?;
            let answer = carry_out(files, &steps)?;
            answer.seen.iter().for_each(|seen| ledger.note(seen));
            Ok(Answer { artifacts, ..answer })
        };
        context.blocking(work).await
    }
}

fn parsed(arguments: &Value) -> Result<Patch, ToolError> {
    let text = arguments.get("patch").and_then(Value::as_str).unwrap_or_default();
    parse(text).map_err(|error| invalid(&error.to_string()))
}

/// What happens to one path.
#[derive(Debug)]
struct Step {
    path: String,
    /// Its content before; `None` if there is no such file.
    old: Option<Vec<u8>>,
    /// Its content after; `None` if it is deleted.
    new: Option<Vec<u8>>,
    /// The path that a new file is moved from, which is the next step.
    moved_from: Option<String>,
}

/// Computes every file's new content, without changing anything.
fn plan(files: &Files, ledger: &ReadLedger, patch: &Patch) -> Result<Vec<Step>, ToolError> {
    let mut steps = Vec::new();
    for change in &patch.changes {
        match change {
            Change::Add { path, content } => {
                require_none(files, path)?;
                steps.push(Step {
                    path: path.clone(),
                    old: None,
                    new: Some(content.clone().into_bytes()),
                    moved_from: None,
                });
            }
            Change::Delete { path } => {
                let (file, old) = files.read(path)?;
                refuse_stale(ledger, &file.path, &old)?;
                steps.push(Step { path: path.clone(), old: Some(old), new: None, moved_from: None });
            }
            Change::Update { path, moved_to, hunks } => {
                let (file, old) = files.read(path)?;
                refuse_stale(ledger, &file.path, &old)?;
                let text = Decoded::of(path, &old, Encoding::UTF_8)?;
                let new = apply(&text.text, hunks);
                let new = new.map_err(|error| ToolError::Retry(format!("{}: {error}", shown(path))))?;
                let new = Some(text.encode(&new)?);
                match moved_to {
                    None => steps.push(Step { path: path.clone(), old: Some(old), new, moved_from: None }),
                    Some(target) => {
                        require_none(files, target)?;
                        let moved_from = Some(path.clone());
                        steps.push(Step { path: target.clone(), old: None, new, moved_from });
                        steps.push(Step { path: path.clone(), old: Some(old), new: None, moved_from: None });
                    }
                }
            }
        }
    }
    Ok(steps)
}

fn require_none(files: &Files, path: &str) -> Result<(), ToolError> {
    match files.metadata(path) {
        Ok(_) => Err(ToolError::Retry(format!("exists already: {}", shown(path)))),
        Err(ToolError::Retry(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Carries out the steps; if one fails, the ones before it are undone.
fn carry_out(files: &Files, steps: &[Step]) -> Result<Answer, ToolError> {
    let mut answer = Answer::default();
    let mut lines = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        if let Err(error) = take(files, step, &mut answer) {
            let undone = undo(files, steps.get(..number).unwrap_or_default());
            return Err(if undone.is_empty() { error } else { partly(&error, &undone) });
        }
        lines.extend(step.describe(steps));
    }
    let (changed, deleted) = (&answer.seen, &answer.deleted);
    answer.data = json!({
        "changed": changed.iter().filter(|seen| seen.sha256.is_some()).map(|seen| &seen.path).collect::<Vec<_>>(),
        "deleted": deleted,
    });
    answer.text = lines.join("\n");
    Ok(answer)
}

fn take(files: &Files, step: &Step, answer: &mut Answer) -> Result<(), ToolError> {
    let Some(new) = &step.new else {
        let deleted = files.delete(&step.path)?;
        answer.seen.push(SeenFile::gone(&deleted));
        answer.deleted.push(deleted);
        return Ok(());
    };
    let written = match &step.moved_from {
        // A copy first keeps the mode; the source is deleted by the next step.
        Some(source) => {
            files.copy(source, &step.path)?;
            files.write(&step.path, new, Expect::Any)?
        }
        None if step.old.is_some() => files.write(&step.path, new, Expect::Any)?,
        None => files.write(&step.path, new, Expect::Nothing)?,
    };
    answer.written_bytes += new.len() as u64;
    answer.seen.push(SeenFile::holding(&written.path, new));
    Ok(())
}

/// Restores the files of steps that were carried out, and returns those that could not be restored.
fn undo(files: &Files, steps: &[Step]) -> Vec<String> {
    let mut left = Vec::new();
    for step in steps.iter().rev() {
        let restored = match &step.old {
            Some(old) => files.write(&step.path, old, Expect::Any).map(drop),
            None => files.delete(&step.path).map(drop),
        };
        left.extend(restored.err().map(|_| shown(&step.path)));
    }
    left
}

fn partly(error: &ToolError, left: &[String]) -> ToolError {
    ToolError::Execution(format!(
        "{error}; these files are changed already and could not be restored: {}",
        left.join(", ")
    ))
}

impl Step {
    /// Returns what happened to the file; a moved one is described with its target.
    fn describe(&self, steps: &[Step]) -> Option<String> {
        let path = shown(&self.path);
        let is_moved = steps.iter().any(|step| step.moved_from.as_ref() == Some(&self.path));
        match (&self.old, &self.new, &self.moved_from) {
            (_, Some(_), Some(source)) => Some(format!("moved {} to {path}", shown(source))),
            (None, Some(_), None) => Some(format!("created {path}")),
            (Some(_), Some(_), None) => Some(format!("updated {path}")),
            (_, None, _) if is_moved => None,
            (_, None, _) => Some(format!("deleted {path}")),
        }
    }
}
