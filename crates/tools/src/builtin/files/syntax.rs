//! Notes about the syntax errors that a change introduced into files.
//!
//! They are no reason to refuse it: an agent may need several steps to change code, and a grammar
//! may not know the newest syntax.

use std::time::{Duration, Instant};

use orchestrate_code::{Language, SyntaxError, SyntaxErrors, within_memory};
use orchestrate_core::text::invisible::shown;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::files::Decoded;
use crate::tool::ToolContext;

/// Maximum size of a file that is checked, in bytes; larger ones are not written by people.
const MAX_BYTES: usize = 1 << 20;
/// Maximum time for all files of a call; an ordinary one takes a few milliseconds.
const TIME_LIMIT: Duration = Duration::from_millis(500);
/// Maximum number of errors that the text shows.
const MAX_SHOWN: usize = 5;

/// A file that a call has written.
pub(super) struct Changed {
    pub(super) path: String,
    /// What it held before, if there was a file.
    pub(super) before: Option<Vec<u8>>,
    pub(super) after: Vec<u8>,
}

/// Adds a note about the syntax errors that a change introduced to its answer.
pub(super) async fn say_if_broken(
    context: &ToolContext,
    mut answer: Answer,
    changed: Vec<Changed>,
) -> Answer {
    let found = context.blocking(move |files, cancel| {
        let since = Instant::now();
        let mut found = Vec::new();
        for file in &changed {
            // A note shows lines of the file, which may be others than those of the change.
            if file.before.is_some() && files.is_secret(&file.path) {
                continue;
            }
            let errors = within_memory(
                &|| cancel.is_cancelled() || since.elapsed() > TIME_LIMIT,
                |stop| Ok(introduced(file, stop)),
            );
            if let Ok(Some(errors)) = errors {
                found.push((file.path.clone(), errors));
            }
        }
        Ok(found)
    });
    match found.await {
        Ok(found) if found.is_empty() => {}
        Ok(found) => {
            answer.text.push_str(&note(&found));
            if let Some(data) = answer.data.as_object_mut() {
                data.insert("syntax_errors".to_owned(), data_of(&found));
            }
        }
        // The file is written all the same.
        Err(error) => answer.text.push_str(&format!(
            "\nunknown whether the change introduced syntax errors: {error}"
        )),
    }
    answer
}

/// Returns the syntax errors that a change introduced into a file; `None` if there are none, or if
/// it is not known.
fn introduced(file: &Changed, stop: &(dyn Fn() -> bool + Sync)) -> Option<SyntaxErrors> {
    let before_bytes = file.before.as_ref().map_or(0, Vec::len);
    if file.after.len().max(before_bytes) > MAX_BYTES {
        return None;
    }
    let after = Decoded::detect(&file.path, &file.after).ok()?.text;
    let before = file
        .before
        .as_ref()
        .and_then(|before| Decoded::detect(&file.path, before).ok());
    let before = before.as_ref().map(|before| before.text.as_str());
    let errors = match Language::of_file(&file.path, &after) {
        // Whatever stops it, nothing is known: a text of zero bytes, the time limit, a program
        // without grammars.
        Some(language) => SyntaxErrors::introduced(language, before, &after, stop).ok()?,
        None if file.path.ends_with(".json") => of_json(before, &after)?,
        None => return None,
    };
    (errors.total > 0).then_some(errors)
}

fn json_error(text: &str) -> Option<serde_json::Error> {
    serde_json::from_str::<IgnoredAny>(text).err()
}

/// Returns the first syntax error of a file of JSON, unless it had one before.
fn of_json(before: Option<&str>, after: &str) -> Option<SyntaxErrors> {
    let error = json_error(after)?;
    // Settings of some programs are JSON with comments.
    let has_comments = after
        .lines()
        .any(|line| line.trim_start().starts_with("//") || line.contains("/*"));
    let was_wrong = match before {
        Some(before) => json_error(before).is_some(),
        None => has_comments,
    };
    if was_wrong {
        return None;
    }
    let text = after
        .lines()
        .nth(error.line().saturating_sub(1))
        .unwrap_or_default();
    let text = text.trim().chars().take(120).collect();
    let message = error.to_string();
    let message = message
        .rsplit_once(" at line ")
        .map_or(message.as_str(), |(message, _)| message)
        .to_owned();
    let error = SyntaxError {
        line: error.line(),
        column: error.column(),
        message,
        text,
    };
    Some(SyntaxErrors {
        first: vec![error],
        total: 1,
    })
}

fn note(found: &[(String, SyntaxErrors)]) -> String {
    let total: usize = found.iter().map(|(_, errors)| errors.total).sum();
    let all = found
        .iter()
        .flat_map(|(path, errors)| errors.first.iter().map(move |error| (path, error)));
    let lines: Vec<String> = all
        .take(MAX_SHOWN)
        .map(
            |(
                path,
                SyntaxError {
                    line,
                    column,
                    message,
                    text,
                },
            )| { shown(&format!("{path}:{line}:{column}: {message}: {text}")) },
        )
        .collect();
    let many = if total == 1 {
        "a syntax error".to_owned()
    } else {
        format!("{total} syntax errors")
    };
    let more = if total > lines.len() { "\n…" } else { "" };
    format!(
        "\nwarning: the change introduced {many}:\n{}{more}",
        lines.join("\n")
    )
}

fn data_of(found: &[(String, SyntaxErrors)]) -> Value {
    found
        .iter()
        .map(|(path, errors)| json!({"path": path, "errors": errors}))
        .collect()
}
