//! Checks shared by the file tools: the encoding of a file, and whether the agent has seen its current version.

use orchestrate_core::invisible::shown;

use crate::arguments::invalid;
use crate::error::ToolError;
use crate::files::Encoding;
use crate::ledger::ReadLedger;

/// Returns the encoding that a call names, or UTF-8 if it names none.
pub(super) fn encoding(name: Option<&str>) -> Result<Encoding, ToolError> {
    let Some(name) = name else { return Ok(Encoding::Utf8) };
    Encoding::named(name)
        .ok_or_else(|| invalid(&format!("`encoding`: expected utf-8, utf-16le, utf-16be or latin-1, got {name:?}")))
}

/// Refuses a write if the file has changed since the agent last saw it.
pub(super) fn refuse_stale(ledger: &ReadLedger, path: &str, content: &[u8]) -> Result<(), ToolError> {
    if ledger.is_stale(path, content) {
        return Err(ToolError::Retry(format!("{} has changed since you read it; read it again first", shown(path))));
    }
    Ok(())
}
