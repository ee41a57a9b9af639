//! `apply_patch`: changes several files, or none of them.

use std::collections::BTreeSet;

use async_trait::async_trait;
use orchestrate_core::policy::{Access, Target};
use orchestrate_core::text::invisible::shown;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::facts::facts;
use super::content::{foreseen, refuse_stale, say_if_ignored};
use super::syntax::{Changed, say_if_broken};
use crate::answer::{Answer, ReadLedger, SeenFile, ToolError};
use crate::call::Effect;
use crate::files::{Decoded, Expect, Files, path};
use crate::patch::{Change, Hunk, Patch, apply, parse};
use crate::tool::arguments::{given_text, invalid, read};
use crate::tool::{CallSite, Look, Prepared, Prompt, Tool, ToolContext};

/// The `apply_patch` tool.
pub(crate) struct ApplyPatch(pub(crate) Prompt);

#[derive(Deserialize)]
struct Arguments {
    patch: String,
}

impl Arguments {
    fn parsed(&self) -> Result<Patch, ToolError> {
        parse(&self.patch).map_err(|error| invalid(&error.to_string()))
    }
}

#[async_trait]
impl Tool for ApplyPatch {
    facts!("apply_patch", FILES, FileWrite, is_default: false, deletes_files: true);

    /// Rewrites the patch in one grammar, with paths relative to the worktree.
    fn prepare(&self, site: &CallSite, mut arguments: Value) -> Result<Prepared, ToolError> {
        let mut patch = match parse(given_text(&arguments, "patch")) {
            Ok(patch) => patch,
            Err(error) => {
                return Ok(Prepared {
                    fault: Some(invalid(&error.to_string())),
                    ..Prepared::new(arguments)
                });
            }
        };
        patch.rename(|name| path::normalize(name, &site.worktree))?;
        let text = patch.to_string();
        // What is judged has to be what is carried out.
        if parse(&text).as_ref() != Ok(&patch) {
            return Err(invalid(
                "the patch names a path that a patch cannot express",
            ));
        }
        if let Some(argument) = arguments.get_mut("patch") {
            *argument = Value::String(text);
        }
        let rehearsal = Look::at_files(|files, scope, arguments: Arguments| {
            let patch = arguments.parsed()?;
            let updated = patch.changes.iter().filter_map(|change| match change {
                Change::Update { path, .. } => Some(path.as_str()),
                Change::Add { .. } | Change::Delete { .. } => None,
            });
            foreseen(plan(files, &scope.ledger, &patch), files, updated)
        });
        Ok(Prepared {
            effects: patch.changes.into_iter().flat_map(effects).collect(),
            rehearsal: Some(rehearsal),
            ..Prepared::new(arguments)
        })
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let patch = read::<Arguments>(arguments)?.parsed()?;
        let (ledger, planned) = (context.ledger().clone(), patch.clone());
        let steps = context
            .blocking(move |files, _| plan(files, &ledger, &planned))
            .await?;
        // Stored before the files are deleted: untracked ones would be lost otherwise.
        let mut artifacts = Vec::new();
        for step in steps {
            if let Step::Delete { old, .. } = step {
                artifacts.push(
                    context
                        .services()
                        .artifacts
                        .put(old.bytes, Some(old.file))
                        .await?,
                );
            }
        }
        let ledger = context.ledger().clone();
        let (answer, new, changed) = context
            .blocking(move |files, _| {
                let _turn = ledger.exclusively();
                let steps = plan(files, &ledger, &patch)?;
                let answer = carry_out(files, &steps)?;
                answer.seen.iter().for_each(|seen| ledger.note(seen));
                let new: Vec<String> = steps.iter().filter_map(Step::creates).collect();
                Ok((
                    Answer {
                        artifacts,
                        ..answer
                    },
                    new,
                    changed(steps),
                ))
            })
            .await?;
        let answer = say_if_ignored(context, answer, new).await;
        Ok(say_if_broken(context, answer, changed).await)
    }
}

/// Returns what a change affects. A file that is moved is deleted under its old name, and could be
/// read under the new one.
fn effects(change: Change) -> Vec<Effect> {
    let on = |access, path| Effect {
        access,
        target: Target::Path(path),
    };
    match change {
        Change::Add { path, .. } => vec![on(Access::Own, path)],
        Change::Delete { path } => vec![on(Access::Delete, path)],
        Change::Update {
            path,
            moved_to: None,
            ..
        } => vec![on(Access::Own, path)],
        Change::Update {
            path,
            moved_to: Some(target),
            ..
        } => vec![
            on(Access::Read, path.clone()),
            on(Access::Delete, path),
            on(Access::Own, target),
        ],
    }
}

/// A file as it was.
#[derive(Debug)]
struct Old {
    /// Its real path.
    file: String,
    bytes: Vec<u8>,
    mode: u32,
}

/// A change of one file, which either happens or does not.
#[derive(Debug)]
enum Step {
    /// A new file.
    Create { path: String, new: Vec<u8> },
    /// A new file with the mode of the one that it replaces, which the next step deletes.
    Move {
        path: String,
        new: Vec<u8>,
        mode: u32,
        from: String,
    },
    Replace {
        path: String,
        old: Old,
        new: Vec<u8>,
    },
    /// `is_moved` if the file goes on under another path.
    Delete {
        path: String,
        old: Old,
        is_moved: bool,
    },
}

impl Step {
    /// Returns the path of the file that it creates.
    fn creates(&self) -> Option<String> {
        match self {
            Step::Create { path, .. } | Step::Move { path, .. } => Some(path.clone()),
            Step::Replace { .. } | Step::Delete { .. } => None,
        }
    }
}

/// Returns the files that the steps have written, with what they held before; that of a file that
/// has moved is held by the step that deletes it, behind the one that creates it.
fn changed(steps: Vec<Step>) -> Vec<Changed> {
    let (mut changed, mut moved) = (Vec::new(), None);
    for step in steps {
        match step {
            Step::Create { path, new } => changed.push(Changed {
                path,
                before: None,
                after: new,
            }),
            Step::Replace { path, old, new } => changed.push(Changed {
                path,
                before: Some(old.bytes),
                after: new,
            }),
            Step::Move { path, new, .. } => moved = Some((path, new)),
            Step::Delete {
                old,
                is_moved: true,
                ..
            } => changed.extend(moved.take().map(|(path, after)| Changed {
                path,
                before: Some(old.bytes),
                after,
            })),
            Step::Delete { .. } => {}
        }
    }
    changed
}

/// Computes every file's new content, without changing anything.
fn plan(files: &Files, ledger: &ReadLedger, patch: &Patch) -> Result<Vec<Step>, ToolError> {
    let mut planner = Planner {
        files,
        ledger,
        known: BTreeSet::new(),
        steps: Vec::new(),
    };
    for change in &patch.changes {
        planner.add(change)?;
    }
    Ok(planner.steps)
}

struct Planner<'a> {
    files: &'a Files,
    ledger: &'a ReadLedger,
    /// The real paths of the files that are changed: links can name one file in two ways.
    known: BTreeSet<String>,
    steps: Vec<Step>,
}

impl Planner<'_> {
    fn add(&mut self, change: &Change) -> Result<(), ToolError> {
        match change {
            Change::Add { path, content } => {
                let new = content.clone().into_bytes();
                self.require_none(path, &new)?;
                self.steps.push(Step::Create {
                    path: path.clone(),
                    new,
                });
            }
            Change::Delete { path } => {
                let old = self.removed(path)?;
                self.steps.push(Step::Delete {
                    path: path.clone(),
                    old,
                    is_moved: false,
                });
            }
            Change::Update {
                path,
                moved_to: None,
                hunks,
            } => {
                let old = self.old(self.files, path)?;
                let new = patched(path, &old.bytes, hunks)?;
                self.steps.push(Step::Replace {
                    path: path.clone(),
                    old,
                    new,
                });
            }
            Change::Update {
                path,
                moved_to: Some(target),
                hunks,
            } => {
                self.require_none(target, &[])?;
                self.files.accessed(Access::Read).open(path)?;
                let old = self.removed(path)?;
                let (new, mode) = (patched(path, &old.bytes, hunks)?, old.mode);
                self.steps.push(Step::Move {
                    path: target.clone(),
                    new,
                    mode,
                    from: path.clone(),
                });
                self.steps.push(Step::Delete {
                    path: path.clone(),
                    old,
                    is_moved: true,
                });
            }
        }
        Ok(())
    }

    /// Returns a file that is deleted or moved.
    fn removed(&mut self, path: &str) -> Result<Old, ToolError> {
        if self.files.is_link(path)? {
            return Err(ToolError::Retry(format!(
                "{} is a link; name the file itself, or use delete_file",
                shown(path)
            )));
        }
        self.old(&self.files.accessed(Access::Delete), path)
    }

    fn old(&mut self, files: &Files, path: &str) -> Result<Old, ToolError> {
        let (file, bytes) = files.read(path)?;
        refuse_stale(self.ledger, &file.path, &bytes)?;
        let mode = files.metadata(&file.path)?.mode;
        if !self.known.insert(file.path.clone()) {
            return Err(invalid(&format!(
                "the patch changes {} under two names",
                shown(&file.path)
            )));
        }
        Ok(Old {
            file: file.path,
            bytes,
            mode,
        })
    }

    /// Requires that a file with this content can be new there.
    fn require_none(&self, path: &str, new: &[u8]) -> Result<(), ToolError> {
        match self.files.metadata(path) {
            Ok(_) => Err(ToolError::Retry(format!("exists already: {}", shown(path)))),
            // A file in the place of its folder may be one of those that are gone by then.
            Err(ToolError::Retry(_))
                if self
                    .steps
                    .iter()
                    .any(|step| matches!(step, Step::Delete { .. })) =>
            {
                Ok(())
            }
            Err(ToolError::Retry(_)) => self.files.require_writable(path, new, Expect::Nothing),
            Err(error) => Err(error),
        }
    }
}

/// Returns a file's new content; a file that only moves may be of any kind.
fn patched(path: &str, old: &[u8], hunks: &[Hunk]) -> Result<Vec<u8>, ToolError> {
    if hunks.is_empty() {
        return Ok(old.to_vec());
    }
    let text = Decoded::detect(path, old)?;
    text.require_reversible(path, old)?;
    let new = apply(&text.text, hunks)
        .map_err(|error| ToolError::Retry(format!("{}: {error}", shown(path))))?;
    text.encode(&new)
}

/// Carries out the steps; if one fails, the ones before it are undone.
fn carry_out(files: &Files, steps: &[Step]) -> Result<Answer, ToolError> {
    let (mut answer, mut lines) = (Answer::default(), Vec::new());
    for (number, step) in steps.iter().enumerate() {
        match take(files, step, &mut answer) {
            Ok(line) => lines.extend(line),
            Err(error) => {
                let (done, _) = steps.split_at(number);
                return Err(undone(files, done, error));
            }
        }
    }
    let written = answer
        .seen
        .iter()
        .filter(|seen| seen.sha256.is_some())
        .map(|seen| &seen.path);
    answer.data = json!({"changed": written.collect::<Vec<_>>(), "deleted": answer.deleted});
    answer.text = lines.join("\n");
    Ok(answer)
}

/// Carries out one step, and returns a line about it; a file that is moved has one line.
fn take(files: &Files, step: &Step, answer: &mut Answer) -> Result<Option<String>, ToolError> {
    let (path, bytes, line) = match step {
        Step::Create { path, new } => {
            let written = files.write(path, new, Expect::Nothing)?.path;
            let line = format!("created {}", shown(&written));
            (written, new, line)
        }
        Step::Move {
            path,
            new,
            mode,
            from,
        } => {
            let created = files.create(path, new, *mode)?;
            let line = format!("moved {} to {}", shown(from), shown(&created));
            (created, new, line)
        }
        Step::Replace { path, new, .. } => {
            let written = files.write(path, new, Expect::Any)?.path;
            let line = format!("updated {}", shown(&written));
            (written, new, line)
        }
        Step::Delete { path, is_moved, .. } => {
            let deleted = files.accessed(Access::Delete).delete(path)?;
            let line = (!is_moved).then(|| format!("deleted {}", shown(&deleted)));
            answer.seen.push(SeenFile::gone(&deleted));
            answer.deleted.push(deleted);
            return Ok(line);
        }
    };
    answer.written_bytes += bytes.len() as u64;
    answer.seen.push(SeenFile::holding(&path, bytes));
    Ok(Some(line))
}

/// Restores the files of the steps that were carried out, and returns the error, with the files
/// that could not be restored.
fn undone(files: &Files, steps: &[Step], error: ToolError) -> ToolError {
    let mut left = Vec::new();
    for step in steps.iter().rev() {
        let (path, restored) = match step {
            Step::Create { path, .. } | Step::Move { path, .. } => {
                (path, files.delete(path).map(drop))
            }
            Step::Replace { path, old, .. } => {
                (path, files.write(path, &old.bytes, Expect::Any).map(drop))
            }
            Step::Delete { path, old, .. } => {
                (path, files.create(path, &old.bytes, old.mode).map(drop))
            }
        };
        left.extend(restored.err().map(|_| shown(path)));
    }
    if left.is_empty() {
        return error;
    }
    let left = left.join(", ");
    ToolError::Execution(format!(
        "{error}; these files are changed already and could not be restored: {left}"
    ))
}
