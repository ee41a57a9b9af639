//! Redacts results and formats calls for logs: without the run's secrets, with control characters
//! escaped and long texts cut.
//!
//! Only the run's redactor defines what a secret is. Guessing at what looks like one would let an
//! agent choose which parts of its calls are hidden from the logs. Only a call that is not carried
//! out hides nothing with that.

use orchestrate_core::Redactor;
use orchestrate_core::policy::host::without_user;
use orchestrate_core::text::shortened;
use serde_json::Value;

use crate::answer::{Answer, Note, ToolError};

/// Maximum length of one argument in a description, in characters.
const MAX_SHOWN: usize = 200;
/// Maximum length of a name of a tool or a parameter, in characters; all of ours are shorter.
const MAX_SHOWN_NAME: usize = 64;
/// Maximum number of arguments in a description.
const MAX_SHOWN_FIELDS: usize = 20;

/// Formats a call as `name(arguments)` for the log.
pub(crate) fn describe_call(tool: &str, arguments: &Value) -> String {
    let inner = match arguments {
        Value::Object(map) => {
            let field =
                |(name, value): (&String, &Value)| format!("{}: {}", brief_name(name), show(value));
            let mut fields: Vec<String> = map.iter().take(MAX_SHOWN_FIELDS).map(field).collect();
            if map.len() > MAX_SHOWN_FIELDS {
                fields.push(format!("… ({} more)", map.len() - MAX_SHOWN_FIELDS));
            }
            fields.join(", ")
        }
        other => show(other),
    };
    format!("{}({inner})", brief_name(tool))
}

/// Formats a name that a model wrote: escaped, and cut if it is longer than any of ours.
pub(crate) fn brief_name(name: &str) -> String {
    let brief = shortened(name, MAX_SHOWN_NAME);
    brief.chars().flat_map(char::escape_debug).collect()
}

/// Redacts the run's secrets from a tool's result, before it is shaped, stored or shown.
///
/// Content that a tool stored on purpose, such as that of a deleted file, stays unchanged; it is
/// redacted when a tool reads a page of it.
pub(crate) fn redact_result(
    redactor: &Redactor,
    result: Result<Answer, ToolError>,
) -> Result<Answer, ToolError> {
    if redactor.is_empty() {
        return result;
    }
    match result {
        Ok(answer) => Ok(Answer {
            text: redactor.owned(answer.text),
            data: redactor.value(answer.data),
            footer: answer.footer.map(|footer| redactor.owned(footer)),
            failed: answer.failed.map(|failed| redactor.owned(failed)),
            notes: answer.notes.map(|notes| {
                notes
                    .into_iter()
                    .map(|note| redact_note(redactor, note))
                    .collect()
            }),
            ..answer
        }),
        Err(error) => Err(redact_error(redactor, error)),
    }
}

fn redact_note(redactor: &Redactor, note: Note) -> Note {
    Note {
        text: redactor.owned(note.text),
        ..note
    }
}

/// Redacts the run's secrets from an error.
pub(crate) fn redact_error(redactor: &Redactor, error: ToolError) -> ToolError {
    let redacted = |text| redactor.owned(text);
    match error {
        ToolError::Retry(text) => ToolError::Retry(redacted(text)),
        ToolError::TooBroad(text) => ToolError::TooBroad(redacted(text)),
        ToolError::Denied { reason, rule } => ToolError::Denied {
            reason: redacted(reason),
            rule,
        },
        ToolError::File { path, reason } => ToolError::File {
            path: redacted(path),
            reason: redacted(reason),
        },
        ToolError::Timeout {
            seconds,
            partial,
            notes,
        } => ToolError::Timeout {
            seconds,
            partial: redacted(partial),
            notes: redacted(notes),
        },
        ToolError::Network(text) => ToolError::Network(redacted(text)),
        ToolError::Busy { reason, wait } => ToolError::Busy {
            reason: redacted(reason),
            wait,
        },
        ToolError::Unavailable(text) => ToolError::Unavailable(redacted(text)),
        ToolError::Absent(text) => ToolError::Absent(redacted(text)),
        ToolError::Execution(text) => ToolError::Execution(redacted(text)),
        ToolError::Interrupted(text) => ToolError::Interrupted(redacted(text)),
    }
}

/// Hides users and passwords in the addresses among the arguments of a call that is not carried
/// out.
pub(crate) fn without_users(arguments: Value) -> Value {
    match arguments {
        Value::String(text) => {
            let hidden = without_user(&text);
            Value::String(hidden.unwrap_or(text))
        }
        Value::Array(items) => items.into_iter().map(without_users).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (name, without_users(value)))
            .collect(),
        other => other,
    }
}

fn show(value: &Value) -> String {
    let text = match value {
        Value::String(text) => format!("\"{}\"", text.escape_debug()),
        other => other.to_string().escape_debug().to_string(),
    };
    shortened(&text, MAX_SHOWN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn nothing_is_left_out_for_how_it_looks_and_controls_are_escaped() {
        let arguments = json!({
            "command": "sh sk-aaaaaaaaaaaa-wipe.sh \u{1b}[31m\nx", "api_key": "hunter2", "n": 3,
        });
        let expected = "run_shell_command(command: \"sh sk-aaaaaaaaaaaa-wipe.sh \\u{1b}[31m\\nx\", \
                        api_key: \"hunter2\", n: 3)";
        assert_eq!(describe_call("run_shell_command", &arguments), expected);
    }

    #[test]
    fn names_that_a_model_chose_are_escaped_and_cut() {
        let shown = describe_call("t\u{1b}[2J", &json!({"a\u{1b}]0;x\u{7}\n\u{202e}": 1}));
        assert_eq!(shown, "t\\u{1b}[2J(a\\u{1b}]0;x\\u{7}\\n\\u{202e}: 1)");
        let fields: serde_json::Map<_, _> = (0..100)
            .map(|n| (n.to_string().repeat(100), json!(n)))
            .collect();
        let shown = describe_call(&"t".repeat(1 << 20), &fields.into());
        assert!(
            shown.len() < 2_000 && shown.contains("… (80 more)"),
            "{shown}"
        );
    }

    #[test]
    fn long_texts_are_cut() {
        assert!(describe_call("t", &json!({"content": "x".repeat(10_000)})).len() < 300);
    }
}
