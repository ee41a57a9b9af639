//! The only functions that write to standard output and standard error.
//!
//! Standard output carries the result and standard error the progress. If the reader has closed the
//! output, a listing ends quietly ([`CommandError::is_silent`]), while a run continues; progress
//! that is not read is dropped.
//!
//! Each function makes what it writes [`plain`]: plans, models, agents, file names and the output
//! of checks are external text, and callers need not remember that. Functions that do not are named
//! accordingly, and only a patch may pass with a secret in it.
//!
//! Live lines stay below all other output, of whichever thread: each function erases them, writes,
//! and draws them again, so that none of them remains among the permanent lines.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{MutexGuard, PoisonError, RwLock};

use orchestrate_core::Redactor;
use orchestrate_core::collections::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::CommandError;
use crate::json::Envelope;
use crate::show::plain::ascii_controls;
pub(crate) use crate::show::plain::{
    joined, names, one_line, plain, quoted, workflow_data, workflow_property,
};
use crate::show::{columns, terminal};

/// The secrets that are redacted from all output.
static HIDDEN: RwLock<Option<Redactor>> = RwLock::new(None);

/// The live lines as they are at the bottom of the terminal.
static LIVE: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Redacts these secrets from all further output.
pub(crate) fn hide(redactor: Redactor) {
    *HIDDEN.write().unwrap_or_else(PoisonError::into_inner) = Some(redactor);
}

/// Reports whether any part of a text would be redacted.
pub(crate) fn hides_in(text: &str) -> bool {
    matches!(shown(text), Cow::Owned(_))
}

/// Returns a text with secrets redacted, for a file that other programs read.
pub(crate) fn redacted(text: &str) -> String {
    shown(text).into_owned()
}

/// Passes on what a command of the user's own wrote to standard output.
pub(crate) fn pass_output(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush())
}

/// Passes on what a command of the user's own wrote to standard error.
pub(crate) fn pass_errors(bytes: &[u8]) -> io::Result<()> {
    io::stderr().lock().write_all(bytes)
}

/// Returns a text with secrets redacted.
fn shown(text: &str) -> Cow<'_, str> {
    let hidden = HIDDEN.read().unwrap_or_else(PoisonError::into_inner);
    match hidden.as_ref() {
        Some(redactor) => redactor.text(text),
        None => Cow::Borrowed(text),
    }
}

/// The writer of the libraries' log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Log;

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = plain(&String::from_utf8_lossy(bytes));
        beside(&shown(&text), &standing())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Writes a result to standard output.
pub(crate) fn result(text: &str) -> Result<(), CommandError> {
    bytes(&plain(text))
}

/// Writes one line of a result to standard output.
pub(crate) fn line(text: &str) -> Result<(), CommandError> {
    result(&format!("{text}\n"))
}

/// Writes one JSON output, which has its envelope, as one line to standard output; the characters
/// that [`plain`] escapes get JSON's own escapes.
pub(crate) fn json<T: Serialize + DeserializeOwned>(
    output: &Envelope<T>,
) -> Result<(), CommandError> {
    bytes(&json_line(output)?)
}

/// Writes one JSON output with a patch in it, without redaction, so that the patch applies.
pub(crate) fn json_exactly<T: Serialize + DeserializeOwned>(
    output: &Envelope<T>,
) -> Result<(), CommandError> {
    exactly(&json_line(output)?)
}

fn json_line<T: Serialize + DeserializeOwned>(
    output: &Envelope<T>,
) -> Result<String, CommandError> {
    let object = output
        .to_object()
        .map_err(|error| CommandError::internal(error.to_string()))?;
    Ok(format!("{}\n", ascii_controls(&object.to_string())))
}

/// Writes a result whose control characters are intended.
pub(crate) fn bytes(text: &str) -> Result<(), CommandError> {
    exactly(&shown(text))
}

/// Writes a patch for programs byte by byte, without redaction: it has to apply, and its reader can
/// read the files anyway.
pub(crate) fn exactly(text: &str) -> Result<(), CommandError> {
    let live = Some(standing()).filter(|live| !live.is_empty() && io::stdout().is_terminal());
    if let Some(live) = &live {
        let _ = to_stderr(&erased(live, columns_now()));
    }
    let written = pass_output(text.as_bytes());
    if let Some(live) = &live {
        let _ = to_stderr(&live.join("\n"));
    }
    written.map_err(|error| CommandError::of_output(&error))
}

/// Writes progress to standard error; a failed write is ignored.
pub(crate) fn note(text: &str) {
    drawn(&plain(text));
}

/// Writes a warning to standard error.
pub(crate) fn warning(text: &str) {
    note(&format!("warning: {text}"));
}

/// Writes warnings to standard error.
pub(crate) fn warnings<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) {
    for text in texts {
        warning(text.as_ref());
    }
}

/// Writes text with our own colours to standard error; external text in it has to be [`plain`]
/// already.
pub(crate) fn drawn(text: &str) {
    let _ = beside(&format!("{}\n", shown(text)), &standing());
}

/// Replaces the live lines; external text in them has to be [`plain`] already, and each has to fit
/// the screen.
pub(crate) fn live(lines: &[String]) {
    let mut standing = standing();
    let lines: Vec<String> = lines.iter().map(|line| redacted(line)).collect();
    let erased = erased(&standing, columns_now());
    let _ = to_stderr(&format!("{erased}{}", lines.join("\n")));
    *standing = lines;
}

fn standing() -> MutexGuard<'static, Vec<String>> {
    LIVE.lock()
}

/// Writes whole lines to standard error, above the live lines.
fn beside(text: &str, live: &[String]) -> io::Result<()> {
    let (erased, live) = (erased(live, columns_now()), live.join("\n"));
    to_stderr(&format!("{erased}{text}{live}"))
}

fn to_stderr(text: &str) -> io::Result<()> {
    let mut stderr = io::stderr().lock();
    stderr
        .write_all(text.as_bytes())
        .and_then(|()| stderr.flush())
}

fn columns_now() -> usize {
    terminal::size().map_or(usize::MAX, |(_, columns)| columns)
}

/// Returns the control sequence that erases these lines, with the cursor at the end of the last. A
/// terminal that has become narrower shows a line on several rows.
fn erased(lines: &[String], columns: usize) -> String {
    let rows: usize = lines
        .iter()
        .map(|line| columns::width(line).div_ceil(columns.max(1)).max(1))
        .sum();
    match rows {
        0 => String::new(),
        1 => "\r\u{1b}[J".to_owned(),
        more => format!("\r\u{1b}[{}A\u{1b}[J", more - 1),
    }
}

/// Asks a question; any answer except a clear yes means no.
pub(crate) fn confirm(question: &str) -> bool {
    let answer = ask(question).unwrap_or_default();
    matches!(answer.to_lowercase().as_str(), "y" | "yes")
}

/// Asks a question on standard error, and returns the line of the answer; `None` at the end of the
/// input.
pub(crate) fn ask(question: &str) -> Option<String> {
    let _ = to_stderr(&shown(&plain(question)));
    let mut answer = String::new();
    match io::stdin().read_line(&mut answer) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(answer.trim().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_rows_are_taken_away_as_are_there() {
        let table: [(&[usize], usize, &str); 5] = [
            (&[], 80, ""),
            (&[79], 80, "\r\u{1b}[J"),
            (&[79, 79, 10], 80, "\r\u{1b}[2A\u{1b}[J"),
            (&[79, 79], 40, "\r\u{1b}[3A\u{1b}[J"),
            (&[0], 0, "\r\u{1b}[J"),
        ];
        for (widths, columns, expected) in table {
            let lines: Vec<String> = widths.iter().map(|width| "x".repeat(*width)).collect();
            assert_eq!(erased(&lines, columns), expected, "{widths:?} {columns}");
        }
    }
}
