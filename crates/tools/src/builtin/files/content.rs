//! What the tools that look into files ask first: how the text is written, and whether the agent knows it.

use orchestrate_core::invisible::shown;

use crate::arguments::invalid;
use crate::error::ToolError;
use crate::files::Encoding;
use crate::ledger::ReadLedger;

/// Finds the encoding that a call names; UTF-8 if it names none.
pub(super) fn encoding(name: Option<&str>) -> Result<Encoding, ToolError> {
    let Some(name) = name else { return Ok(Encoding::Utf8) };
    Encoding::named(name)
        .ok_or_else(|| invalid(&format!("`encoding`: expected utf-8, utf-16le, utf-16be or latin-1, got {name:?}")))
}

/// Refuses to write over a version of a file that the agent has not seen.
pub(super) fn refuse_stale(ledger: &ReadLedger, path: &str, content: &[u8]) -> Result<(), ToolError> {
    if ledger.is_stale(path, content) {
        return Err(ToolError::Retry(format!("{} has changed since you read it; read it again first", shown(path))));
    }
    Ok(())
}
