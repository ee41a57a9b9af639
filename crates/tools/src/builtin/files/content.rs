//! Checks shared by the file tools: the encoding of a file, and whether the agent has seen its
//! current version.

use orchestrate_core::text::invisible::shown;

use crate::answer::{Answer, ReadLedger, ToolError};
use crate::files::{Encoding, Files};
use crate::tool::ToolContext;
use crate::tool::arguments::invalid;

/// Returns the encoding that a call names, or UTF-8 if it names none.
pub(super) fn encoding(name: Option<&str>) -> Result<Encoding, ToolError> {
    let Some(name) = name else {
        return Ok(Encoding::UTF_8);
    };
    Encoding::named(name).ok_or_else(|| {
        invalid(&format!(
            "`encoding`: expected a label such as utf-8, utf-16le or latin1, got {name:?}"
        ))
    })
}

/// Refuses a write if the file has changed since the agent last saw it.
pub(super) fn refuse_stale(
    ledger: &ReadLedger,
    path: &str,
    content: &[u8],
) -> Result<(), ToolError> {
    if ledger.is_stale(path, content) {
        return Err(ToolError::Retry(format!(
            "{} has changed since you read it; read it again first",
            shown(path)
        )));
    }
    Ok(())
}

/// Returns what is found about a change before anybody is asked about it. What shows something of
/// the content of a file that the agent may not read is found by the change itself, once it is
/// approved.
pub(super) fn foreseen<'p, T>(
    planned: Result<T, ToolError>,
    files: &Files,
    mut paths: impl Iterator<Item = &'p str>,
) -> Result<(), ToolError> {
    match planned {
        Err(error) if error.rule().is_none() && paths.any(|path| files.is_secret(path)) => Ok(()),
        planned => planned.map(drop),
    }
}

/// Adds a note to the answer for each new file that git ignores, which the agent would otherwise
/// believe to be part of its work. The file is written either way.
pub(super) async fn say_if_ignored(
    context: &ToolContext,
    mut answer: Answer,
    new: Vec<String>,
) -> Answer {
    let many = new.len() > 1;
    for path in new {
        let note = match context.services().git.ignores(&path).await {
            Ok(true) => "git ignores it, so it will not be committed".to_owned(),
            Ok(false) => continue,
            Err(error) => format!("unknown whether git ignores it: {error}"),
        };
        let before = if many {
            format!("\n{}: ", shown(&path))
        } else {
            "; ".to_owned()
        };
        answer.text.push_str(&before);
        answer.text.push_str(&note);
    }
    answer
}
