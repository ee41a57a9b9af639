//! `react`: the agent's scratchpad of thoughts and observations. Each result contains all notes,
//! and the newest one is never left out of the agent's context.

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json};

use super::facts::facts;
use crate::answer::{Answer, Note, NoteKind, ToolError};
use crate::tool::arguments::{invalid, read};
use crate::tool::{CallSite, Prepared, Prompt, Tool, ToolContext};

/// The `react` tool.
pub(super) struct React(pub(super) Prompt);

#[derive(Deserialize)]
struct Arguments {
    action: Action,
    note: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    Think,
    Observe,
    Get,
    Clear,
}

#[async_trait]
impl Tool for React {
    facts!("react", MEMORY, None, is_default: false, stays_in_view: true);

    fn prepare(&self, _: &CallSite, arguments: Value) -> Result<Prepared, ToolError> {
        Ok(Prepared {
            fault: require_note(&arguments).err(),
            ..Prepared::new(arguments)
        })
    }

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        let Arguments { action, note } = read(arguments)?;
        let (notes, text) = (context.notes(), note.unwrap_or_default().trim().to_owned());
        let add = |kind| {
            let size = text.len();
            let full = |left| {
                let reason = format!(
                    "the note has {size} bytes, and your notes have room for {left} more; clear \
                     them, or write less"
                );
                ToolError::Retry(reason)
            };
            notes
                .add(Note {
                    kind,
                    text: text.clone(),
                })
                .map_err(full)
        };
        let all = match action {
            Action::Think => add(NoteKind::Thought)?,
            Action::Observe => add(NoteKind::Observation)?,
            Action::Get => notes.all(),
            Action::Clear => {
                notes.clear();
                Vec::new()
            }
        };
        let answer = Answer::new(render(&all), json!({ "notes": all }));
        // What changes nothing is recorded as such.
        Ok(Answer {
            notes: (action != Action::Get).then_some(all),
            ..answer
        })
    }
}

/// Requires a note for the actions that keep one, and for no other.
fn require_note(arguments: &Value) -> Result<(), ToolError> {
    let Arguments { action, note } = read(arguments.clone())?;
    let is_blank = note.as_deref().is_none_or(|note| note.trim().is_empty());
    match action {
        Action::Think | Action::Observe if is_blank => Err(invalid("`note` is empty")),
        Action::Get | Action::Clear if !is_blank => Err(invalid(
            "`note` is only for the actions `think` and `observe`",
        )),
        _ => Ok(()),
    }
}

fn render(notes: &[Note]) -> String {
    match notes.is_empty() {
        true => "(no notes)".to_owned(),
        false => notes.iter().map(note_line).collect::<Vec<_>>().join("\n"),
    }
}

fn note_line(note: &Note) -> String {
    match note.kind {
        NoteKind::Thought => format!("thought: {}", note.text),
        NoteKind::Observation => format!("observation: {}", note.text),
    }
}
