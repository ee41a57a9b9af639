//! Arguments as they may be logged and shown: secrets left out, control characters escaped, long texts cut.
//!
//! A filter of well-known forms, for logs and prompts; what is secret does not reach a tool in the first place.

use orchestrate_core::Redactor;
use serde_json::Value;

use crate::error::ToolError;
use crate::output::Answer;

/// The longest text shown of one argument, in characters.
const MAX_SHOWN: usize = 200;
/// The longest name of a tool or a parameter that is shown, in characters: no name of ours is as long.
const MAX_SHOWN_NAME: usize = 64;
/// The most arguments of a call that are shown.
const MAX_SHOWN_FIELDS: usize = 20;
/// Parts of a parameter's name that make its value a secret.
const SECRET_NAMES: &[&str] =
    &["password", "passwd", "secret", "token", "api_key", "apikey", "authorization", "credential"];
/// How well-known keys begin, and the name that is shown instead.
const SECRET_PREFIXES: &[(&str, &str)] = &[
    ("sk-", "api-key"),
    ("ghp_", "github-token"),
    ("gho_", "github-token"),
    ("github_pat_", "github-token"),
    ("glpat-", "gitlab-token"),
    ("xoxb-", "slack-token"),
    ("AKIA", "aws-key"),
    ("AIza", "google-key"),
    ("eyJ", "jwt"),
];
/// A key is at least this long; shorter words that begin alike are words.
const MIN_SECRET_LENGTH: usize = 16;

/// Writes a call as `name(arguments)` for a log or a prompt.
pub fn describe_call(tool: &str, arguments: &Value) -> String {
    let inner = match arguments {
        Value::Object(map) => {
            let field = |(name, value): (&String, &Value)| format!("{}: {}", brief_name(name), show(name, value));
            let mut fields: Vec<String> = map.iter().take(MAX_SHOWN_FIELDS).map(field).collect();
            if map.len() > MAX_SHOWN_FIELDS {
                fields.push(format!("… ({} more)", map.len() - MAX_SHOWN_FIELDS));
            }
            fields.join(", ")
        }
        other => show("", other),
    };
    format!("{}({inner})", brief_name(tool))
}

/// Writes a name that a model chose: escaped, and cut if it is longer than any name of ours.
pub(crate) fn brief_name(name: &str) -> String {
    let shown: String = name.chars().take(MAX_SHOWN_NAME).flat_map(char::escape_debug).collect();
    if name.chars().nth(MAX_SHOWN_NAME).is_some() { format!("{shown}…") } else { shown }
}

/// Gives the arguments of a call as they may be kept: what a parameter's name or a text's form calls a secret is
/// replaced by its kind.
pub fn redact_arguments(arguments: &Value) -> Value {
    match arguments {
        Value::String(text) => Value::String(redact_text(text)),
        Value::Array(items) => items.iter().map(redact_arguments).collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), redact_named(name, value))).collect(),
        other => other.clone(),
    }
}

/// Keeps the run's secrets out of what a tool returned, before it is shaped, kept or told.
///
/// Bytes that were kept on purpose, such as a deleted file's, stay as they are; whoever pages through them passes here.
pub(crate) fn redact_result(redactor: &Redactor, result: Result<Answer, ToolError>) -> Result<Answer, ToolError> {
    if redactor.is_empty() {
        return result;
    }
    match result {
        Ok(answer) => Ok(Answer {
            text: redactor.owned(answer.text),
            data: redactor.value(answer.data),
            footer: answer.footer.map(|footer| redactor.owned(footer)),
            failed: answer.failed.map(|failed| redactor.owned(failed)),
            ..answer
        }),
        Err(error) => Err(redact_error(redactor, error)),
    }
}

/// Keeps the run's secrets out of a failure.
pub(crate) fn redact_error(redactor: &Redactor, error: ToolError) -> ToolError {
    let redacted = |text| redactor.owned(text);
    match error {
        ToolError::Retry(text) => ToolError::Retry(redacted(text)),
        ToolError::TooBroad(text) => ToolError::TooBroad(redacted(text)),
        ToolError::Denied { reason, rule } => ToolError::Denied { reason: redacted(reason), rule },
        ToolError::File { path, reason } => ToolError::File { path: redacted(path), reason: redacted(reason) },
        ToolError::Timeout { seconds, partial } => ToolError::Timeout { seconds, partial: redacted(partial) },
        ToolError::Network(text) => ToolError::Network(redacted(text)),
        ToolError::Execution(text) => ToolError::Execution(redacted(text)),
        ToolError::Interrupted(text) => ToolError::Interrupted(redacted(text)),
    }
}

fn redact_named(name: &str, value: &Value) -> Value {
    match value {
        Value::String(_) | Value::Array(_) | Value::Object(_) if is_secret_name(name) => {
            Value::String(format!("[redacted:{name}]"))
        }
        other => redact_arguments(other),
    }
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|secret| name.contains(secret))
}

/// Replaces what looks like a secret in a text by its kind.
pub fn redact_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for piece in text.split_inclusive(|c: char| !is_key_character(c)) {
        let end = piece.trim_end_matches(|c: char| !is_key_character(c)).len();
        let (word, rest) = piece.split_at(end);
        match secret_kind(word) {
            Some(kind) => out.push_str(&format!("[redacted:{kind}]")),
            None => out.push_str(word),
        }
        out.push_str(rest);
    }
    out
}

fn is_key_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

fn secret_kind(word: &str) -> Option<&'static str> {
    let found = SECRET_PREFIXES.iter().find(|(prefix, _)| word.starts_with(prefix));
    found.filter(|_| word.len() >= MIN_SECRET_LENGTH).map(|(_, kind)| *kind)
}

fn show(name: &str, value: &Value) -> String {
    if is_secret_name(name) && !value.is_number() {
        return format!("[redacted:{}]", name.to_ascii_lowercase().escape_debug());
    }
    let text = match value {
        Value::String(text) => format!("\"{}\"", redact_text(text).escape_debug()),
        other => redact_text(&other.to_string()).escape_debug().to_string(),
    };
    match text.char_indices().nth(MAX_SHOWN) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_are_left_out_and_controls_escaped() {
        let arguments = json!({
            "command": "curl -H 'Bearer sk-abcdefghijklmnop1234' \u{1b}[31m\nx",
            "api_key": "hunter2",
            "n": 3,
        });
        let shown = describe_call("run_shell_command", &arguments);
        let expected = "run_shell_command(command: \"curl -H \\'Bearer [redacted:api-key]\\' \\u{1b}[31m\\nx\", \
            api_key: [redacted:api_key], n: 3)";
        assert_eq!(shown, expected);
    }

    #[test]
    fn secrets_in_texts_are_known_by_their_form() {
        let long = "abcdefghijklmnop";
        for (text, expected) in [
            (String::new(), String::new()),
            (format!("sk-{long}"), "[redacted:api-key]".to_owned()),
            (format!("ghp_{long} gho_{long}"), "[redacted:github-token] [redacted:github-token]".to_owned()),
            (format!("github_pat_{long}"), "[redacted:github-token]".to_owned()),
            (format!("glpat-{long}\n"), "[redacted:gitlab-token]\n".to_owned()),
            (format!("xoxb-{long}"), "[redacted:slack-token]".to_owned()),
            ("AKIAIOSFODNN7EXAMPLE".to_owned(), "[redacted:aws-key]".to_owned()),
            (format!("AIza{long}"), "[redacted:google-key]".to_owned()),
            ("eyJhbGciOi.eyJzdWIiOi.SflKxwRJ-_".to_owned(), "[redacted:jwt]".to_owned()),
            (format!("KEY='sk-{long}'; é"), "KEY='[redacted:api-key]'; é".to_owned()),
            (format!("https://x:ghp_{long}@host/"), "https://x:[redacted:github-token]@host/".to_owned()),
            (format!("a=sk-{long},sk-{long}"), "a=[redacted:api-key],[redacted:api-key]".to_owned()),
            // Too short for a key, or no key's beginning.
            ("sk-learn and task-abcdefghijklmnop".to_owned(), "sk-learn and task-abcdefghijklmnop".to_owned()),
            ("mask_sk-abcdefghijklmnop".to_owned(), "mask_sk-abcdefghijklmnop".to_owned()),
        ] {
            assert_eq!(redact_text(&text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_kept_names_no_secret() {
        let arguments = json!({"api_key": "hunter2", "deep": [{"Password": "x"}], "max_tokens": 5, "text": "plain"});
        let expected = json!({"api_key": "[redacted:api_key]", "deep": [{"Password": "[redacted:Password]"}], "max_tokens": 5, "text": "plain"});
        assert_eq!(redact_arguments(&arguments), expected);
    }

    #[test]
    fn names_that_a_model_chose_are_escaped_and_cut() {
        let shown = describe_call("t\u{1b}[2J", &json!({"a\u{1b}]0;x\u{7}\n\u{202e}": 1}));
        assert_eq!(shown, "t\\u{1b}[2J(a\\u{1b}]0;x\\u{7}\\n\\u{202e}: 1)");
        let fields: serde_json::Map<_, _> = (0..100).map(|n| (n.to_string().repeat(100), json!(n))).collect();
        let shown = describe_call(&"t".repeat(1 << 20), &fields.into());
        assert!(shown.len() < 2_000 && shown.contains("… (80 more)"), "{shown}");
    }

    #[test]
    fn long_texts_are_cut() {
        assert!(describe_call("t", &json!({"content": "x".repeat(10_000)})).len() < 300);
    }
}
