//! What becomes of `.tool` files, as the user reads it.

use orchestrate_coordinator::{FoundTools, Severity, ToolFileProblem};

use crate::json::ToolProblem;
use crate::show::output;

/// The maximum length of a reason in characters: it may quote the file.
const MAX_REASON: usize = 400;

/// Prints which files are skipped, and why.
pub(crate) fn warn(found: &FoundTools) {
    for problem in &found.problems {
        output::note(&format!("{}; the file is skipped", line(problem)));
    }
    for file in &found.untrusted {
        output::warning(&format!(
            "{} defines a tool for agents and is skipped until you trust it; `orchestrate config \
             trust` shows it",
            output::one_line(&file.place, 200)
        ));
    }
}

/// Returns a problem in one line, which begins with how bad it is.
pub(crate) fn line(problem: &ToolFileProblem) -> String {
    format!(
        "{}: {}",
        severity(problem),
        output::one_line(&problem.to_string(), MAX_REASON)
    )
}

/// Returns a problem for programs.
pub(crate) fn entry(problem: &ToolFileProblem) -> ToolProblem {
    ToolProblem {
        severity: severity(problem).to_owned(),
        line: problem.line,
        reason: problem.reason.clone(),
    }
}

fn severity(problem: &ToolFileProblem) -> &'static str {
    match problem.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}
