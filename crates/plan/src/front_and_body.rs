//! Divides the Markdown files of roles and skills into YAML front matter and body, and parses the
//! former.
//!
//! Other products write these files, with byte order marks, any line ends and descriptions that are
//! not quite YAML.

use orchestrate_core::text::parts::Parts;
use serde_json::{Map, Value};

/// Why front matter is not a YAML mapping.
pub(crate) struct NotMapping {
    /// The line in the file, from 1.
    pub(crate) line: usize,
    /// The parser's message.
    pub(crate) reason: String,
}

/// Returns a file's text without a byte order mark, with `\n` as the line end.
pub(crate) fn normalized(text: &str) -> String {
    text.trim_start_matches('\u{feff}').replace("\r\n", "\n")
}

/// Splits a file into front matter and body, which may contain `---` lines; `None` if the front
/// matter is not closed.
pub(crate) fn split(text: &str) -> Option<(Option<&str>, &str)> {
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else {
        return Some((None, text));
    };
    let mut end = first.len();
    for line in lines {
        if line.trim_end() == "---" {
            return Some((text.get(first.len()..end), text.tail(end + line.len())));
        }
        end += line.len();
    }
    None
}

/// Parses front matter into its top-level keys.
///
/// # Errors
/// The text is not a YAML mapping.
pub(crate) fn mapping(front: &str) -> Result<Map<String, Value>, NotMapping> {
    if front
        .lines()
        .all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
    {
        return Ok(Map::new());
    }
    serde_saphyr::from_str(front).or_else(|error| {
        // The error describes the text as written, not the quoted one.
        serde_saphyr::from_str(&with_quotes(front)).map_err(|_| not_mapping(&error))
    })
}

/// Returns the line of a top-level key, or of one below it, in the file, from 1.
pub(crate) fn line_of(front: &str, key: &str) -> usize {
    let is_key = |line: &str| {
        let rest = line
            .trim_start()
            .trim_start_matches(['"', '\''])
            .strip_prefix(key);
        rest.is_some_and(|rest| {
            rest.trim_start_matches(['"', '\''])
                .trim_start()
                .starts_with(':')
        })
    };
    front.lines().position(is_key).map_or(1, |at| at + 2)
}

/// Returns a text or a number as text.
pub(crate) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Describes an error of the parser without its own place.
pub(crate) fn not_mapping(error: &serde_saphyr::Error) -> NotMapping {
    let line = error
        .location()
        .map_or(1, |location| usize::try_from(location.line()).unwrap_or(1));
    let said = error.to_string();
    let reason = said
        .lines()
        .next()
        .unwrap_or_default()
        .trim_start_matches("error: ");
    let reason = reason
        .split_once(": ")
        .filter(|(place, _)| place.starts_with("line "))
        .map_or(reason, |(_, why)| why);
    // The parser counts from the first line of the front matter, which is the second of the file.
    NotMapping {
        line: line + 1,
        reason: reason.to_owned(),
    }
}

/// Quotes the values of `name` and `description`, since other products write them with colons and
/// quotes and read them to the end of the line. In every other value a comment must stay a comment:
/// as part of `disallowedTools` it would change which tool is forbidden.
fn with_quotes(text: &str) -> String {
    let quoted = text.lines().map(|line| match line.split_once(": ") {
        Some((key, value))
            if matches!(key, "name" | "description")
                && !value
                    .trim_start()
                    .starts_with(['"', '\'', '[', '{', '|', '>', '&', '*']) =>
        {
            format!("{key}: {}\n", Value::from(value.trim()))
        }
        _ => format!("{line}\n"),
    });
    quoted.collect()
}
