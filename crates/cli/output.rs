//! The only doors to standard output and standard error.
//!
//! Standard output carries the result and standard error the progress. A reader that has gone away ends a listing
//! quietly ([`CommandError::is_silent`]) and a run not at all: progress that nobody reads is dropped.

use std::io::{self, Write as _};

use serde::Serialize;

use crate::error::CommandError;

/// Writes a result to standard output.
pub(crate) fn result(text: &str) -> Result<(), CommandError> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(|error| CommandError::of_output(&error))
}

/// Writes one line of a result to standard output.
pub(crate) fn line(text: &str) -> Result<(), CommandError> {
    result(&format!("{text}\n"))
}

/// Writes one JSON value as one line to standard output.
pub(crate) fn json(value: &impl Serialize) -> Result<(), CommandError> {
    let text = serde_json::to_string(value).map_err(|error| CommandError::internal(error.to_string()))?;
    line(&text)
}

/// Writes progress to standard error; nobody may be there to read it.
pub(crate) fn note(text: &str) {
    let _ = io::stderr().lock().write_all(format!("{text}\n").as_bytes());
}

/// Writes a warning to standard error.
pub(crate) fn warning(text: &str) {
    note(&format!("warning: {text}"));
}

/// Asks a question on standard error and gives the answer's line; none at the end of the input.
pub(crate) fn ask(question: &str) -> Option<String> {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(question.as_bytes()).and_then(|()| stderr.flush());
    let mut answer = String::new();
    match io::stdin().read_line(&mut answer) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(answer.trim().to_owned()),
    }
}

/// Makes text that others wrote safe for a terminal: control characters and those that turn the reading direction
/// are written out, so that no model and no file name moves the cursor or hides a word.
pub(crate) fn plain(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => safe.push(c),
            _ if c.is_control() || is_invisible(c) => safe.extend(c.escape_unicode()),
            _ => safe.push(c),
        }
    }
    safe
}

/// As [`plain`], in one line of at most `width` characters.
pub(crate) fn one_line(text: &str, width: usize) -> String {
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let safe = plain(&joined);
    if safe.chars().count() <= width {
        return safe;
    }
    let kept: String = safe.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_cannot_move_the_cursor() {
        let table = [
            ("plain", "plain"),
            ("a\u{1b}[2Jb", "a\\u{1b}[2Jb"),
            ("x\u{202e}y", "x\\u{202e}y"),
            ("two\nlines\r", "two\nlines\\u{d}"),
        ];
        for (text, expected) in table {
            assert_eq!(plain(text), expected);
        }
        assert_eq!(one_line("one\n  two three", 8), "one two…");
    }
}
