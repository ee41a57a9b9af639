//! Parses the program's machine-readable output.

use libtest_mimic::Failed;
use serde_json::Value;

/// Parses one JSON value per line, as `stream-json` and the journal's exports print them; skips
/// blank lines.
pub(crate) fn lines(text: &str) -> Result<Vec<Value>, Failed> {
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            serde_json::from_str(line).map_err(|error| Failed::from(format!("{error} in {line:?}")))
        })
        .collect()
}

/// Returns the value at a JSON pointer, or fails with the whole document.
pub(crate) fn at<'v>(value: &'v Value, pointer: &str) -> Result<&'v Value, Failed> {
    value
        .pointer(pointer)
        .ok_or_else(|| Failed::from(format!("nothing at {pointer} in {value:#}")))
}
