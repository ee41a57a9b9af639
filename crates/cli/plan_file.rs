//! Reads the plan that was typed, and turns what is wrong with it into complaints with their places.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use orchestrate_core::plan::{Finding, MAX_PLAN_BYTES};

use crate::args;
use crate::context::Context;
use crate::error::{CommandError, Complaint, ErrorKind};

/// Reads a plan's text.
pub(crate) fn read(context: &Context, plan: &Path) -> Result<String, CommandError> {
    let shown = plan.display();
    let failed = |error: std::io::Error| {
        let missing = error.kind() == std::io::ErrorKind::NotFound;
        let error = CommandError::usage(format!("failed to read the plan {shown}: {error}"));
        if missing { meant(error, plan) } else { error }
    };
    let file = File::open(context.directory.join(plan)).map_err(failed)?;
    let mut bytes = Vec::new();
    // One byte more than allowed is enough for the parser to say that it is too large.
    file.take(MAX_PLAN_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    String::from_utf8(bytes).map_err(|error| {
        let bad = error.utf8_error().valid_up_to();
        CommandError::usage(format!("the plan {shown} is not text: its byte {bad} is no UTF-8"))
            .hint("a plan is a Markdown file; save it as UTF-8")
    })
}

/// Says which command was meant, if the plan looks like one that was mistyped.
fn meant(error: CommandError, plan: &Path) -> CommandError {
    let names = args::command_names();
    let typed = plan.to_string_lossy();
    match orchestrate_core::nearest(&typed, names.iter().map(String::as_str)) {
        Some(name) => error.hint(format!("did you mean `orchestrate {name}`?")),
        None => error.hint("type the path of a Markdown file with a checklist; `orchestrate demo` shows one at work"),
    }
}

/// Makes the error of a plan that cannot be run.
pub(crate) fn refuse(shown: &str, text: &str, errors: Vec<Finding>) -> CommandError {
    let text: Arc<str> = text.into();
    let complaints = errors.into_iter().map(|finding| complaint(shown, &text, finding)).collect();
    CommandError::of_complaints(ErrorKind::Usage, complaints)
        .hint(format!("nothing was run; `orchestrate check {shown}` shows the plan again"))
}

/// Makes a complaint of something that is wrong with a plan.
fn complaint(shown: &str, text: &Arc<str>, finding: Finding) -> Complaint {
    let start = offset(text, finding.line, finding.column);
    let code = serde_json::to_value(finding.code).ok();
    Complaint {
        message: finding.message,
        code: code.and_then(|code| code.as_str().map(str::to_owned)),
        place: Some(shown.to_owned()),
        line: finding.line,
        column: finding.column,
        excerpt: start.map(|start| (Arc::clone(text), start..start + finding.text.len().min(text.len() - start))),
        text: Some(finding.text),
        suggestion: finding.suggestion,
    }
}

/// Finds the byte of a line and column, both from 1.
fn offset(text: &str, line: usize, column: usize) -> Option<usize> {
    let before: usize = text.split_inclusive('\n').take(line.checked_sub(1)?).map(str::len).sum();
    let rest = text.get(before..)?;
    let within = rest.char_indices().nth(column.checked_sub(1)?).map_or(rest.len(), |(at, _)| at);
    Some(before + within)
}
