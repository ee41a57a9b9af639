//! `run_linter` and `run_type_checker`: run what the project uses, and list what it finds.

use async_trait::async_trait;
use orchestrate_core::invisible::shown;
use orchestrate_sandbox::Cancel;
use serde_json::{Value, json};

use super::super::facts::facts;
use super::candidate::{Ran, choose};
use super::checkers::{Checker, Findings, linters, type_checkers};
use super::files::{Selection, selects_files};
use super::parse;
use super::project::Project;
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::files::Files;
use crate::output::Answer;
use crate::prompt::Prompt;
use crate::results::{Diagnostic, LintResults};
use crate::tool::Tool;

/// The `run_linter` tool.
pub(crate) struct RunLinter(pub(crate) Prompt);

/// The `run_type_checker` tool.
pub(crate) struct RunTypeChecker(pub(crate) Prompt);

#[async_trait]
impl Tool for RunLinter {
    facts!("run_linter", EXEC, CodeExecution);

    selects_files!(linters);

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        check(context, arguments, "linter", linters).await
    }
}

#[async_trait]
impl Tool for RunTypeChecker {
    facts!("run_type_checker", EXEC, CodeExecution);

    selects_files!(type_checkers);

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        check(context, arguments, "type checker", type_checkers).await
    }
}

/// Runs the first checker that is installed, and keeps what it finds in the files that were named.
async fn check(
    context: &ToolContext,
    arguments: Value,
    kind: &str,
    candidates: fn(&Project, &[String]) -> Vec<Checker>,
) -> Result<Answer, ToolError> {
    let selection = Selection::read(context, arguments).await?;
    let project = context.blocking(Project::look).await?;
    let candidates = candidates(&project, &selection.files);
    if candidates.is_empty() {
        return Err(selection.nothing_for(kind));
    }
    let chosen = choose(context, candidates).await?;
    let ran = chosen.run(context).await?;
    let (format, root) = (chosen.candidate.report, context.worktree().to_string_lossy().into_owned());
    // A large report takes a while to read.
    let told = move |_: &Files, _: &Cancel| {
        let found = findings(format, &ran, &root);
        let fault = fault(format, &ran, &found);
        let found = found.into_iter().filter(|found| selection.covers(&found.file)).collect();
        Ok(answer(&ran, found, fault))
    };
    context.blocking(told).await
}

fn findings(format: Findings, ran: &Ran, root: &str) -> Vec<Diagnostic> {
    match format {
        Findings::Cargo => parse::cargo(&ran.stdout, root),
        Findings::Ruff => parse::ruff(&ran.stdout, root),
        Findings::Eslint => parse::eslint(&ran.stdout, root),
        Findings::Pyright => parse::pyright(&ran.stdout, root),
        Findings::Lines => parse::lines(&format!("{}\n{}", ran.stdout, ran.stderr), root),
    }
}

/// Returns why a program could not do its work, if so: it failed without an error or a warning, or in what it printed
/// nobody can tell whether it found something.
fn fault(format: Findings, ran: &Ran, found: &[Diagnostic]) -> Option<String> {
    if ran.run.exit_code != Some(0) && !reports(found) {
        return Some(ran.how.clone());
    }
    (!is_readable(format, &ran.stdout)).then(|| format!("the report of {} cannot be read", ran.run.program))
}

fn is_readable(format: Findings, stdout: &str) -> bool {
    match format {
        Findings::Ruff | Findings::Eslint | Findings::Pyright => parse::is_json(stdout),
        // Lines of other things stand among theirs.
        Findings::Cargo | Findings::Lines => true,
    }
}

/// Counts what was found, unless the program could not do its work.
fn answer(ran: &Ran, diagnostics: Vec<Diagnostic>, fault: Option<String>) -> Answer {
    let count = |severity: &str| diagnostics.iter().filter(|found| found.severity == severity).count();
    let (errors, warnings) = (count("error"), count("warning"));
    let text = match diagnostics.as_slice() {
        _ if fault.is_some() => ran.tail(),
        [] => "nothing found".to_owned(),
        found => found.iter().map(describe).collect::<Vec<_>>().join("\n"),
    };
    let failed = match (fault, errors, warnings) {
        (Some(fault), ..) => Some(fault),
        (None, 0, 0) => None,
        (None, 0, _) if ran.run.exit_code == Some(0) => None,
        (None, errors, warnings) => Some(format!("{}, {}", counted(errors, "error"), counted(warnings, "warning"))),
    };
    let exit_code = ran.run.exit_code;
    let results = LintResults { run: ran.run.clone(), errors, warnings, diagnostics };
    Answer { footer: Some(ran.footer()), failed, exit_code, ..Answer::new(text, json!(results)) }
}

/// Reports whether there is more than what only explains something.
fn reports(found: &[Diagnostic]) -> bool {
    found.iter().any(|found| matches!(found.severity.as_str(), "error" | "warning"))
}

fn counted(number: usize, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

/// Formats a finding as `file:line:column: severity code: message`.
fn describe(found: &Diagnostic) -> String {
    let number = |number: Option<u32>| number.map(|number| format!(":{number}")).unwrap_or_default();
    let place = format!("{}{}{}", shown(&found.file), number(found.line), number(found.column));
    let place = if found.file.is_empty() { String::new() } else { format!("{place}: ") };
    let code = found.code.as_ref().map(|code| format!(" {code}")).unwrap_or_default();
    format!("{place}{}{code}: {}", found.severity, found.message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::ProgramRun;

    #[test]
    fn a_program_that_fails_with_notes_alone_could_not_do_its_work() {
        let ran = Ran {
            run: ProgramRun { exit_code: Some(2), ..ProgramRun::default() },
            how: "exit code 2".to_owned(),
            stdout: "a.py:1: note: see the manual\n".to_owned(),
            stderr: "crashed\n".to_owned(),
        };
        let found = findings(Findings::Lines, &ran, "/w");
        assert_eq!(found.len(), 1);
        let fault = fault(Findings::Lines, &ran, &found);
        let answer = answer(&ran, found, fault);
        assert_eq!(answer.failed.as_deref(), Some("exit code 2"));
        assert!(answer.text.contains("crashed"), "{}", answer.text);
    }

    #[test]
    fn a_report_that_cannot_be_read_is_not_one_without_findings() {
        let table = [
            (Findings::Ruff, "", None),
            (Findings::Ruff, "[]\n", None),
            (Findings::Ruff, "an update is there\n[]", None),
            (Findings::Ruff, "an update is there\n", Some("the report of it cannot be read")),
            (Findings::Eslint, "[{\"filePath\": \"a", Some("the report of it cannot be read")),
            (Findings::Pyright, "{\"generalDiagnostics\": []}", None),
            (Findings::Cargo, "Checking a\n", None),
            (Findings::Lines, "all is well\n", None),
        ];
        for (format, stdout, expected) in table {
            let ran = Ran {
                run: ProgramRun { program: "it".to_owned(), exit_code: Some(0), ..ProgramRun::default() },
                how: "exit code 0".to_owned(),
                stdout: stdout.to_owned(),
                stderr: String::new(),
            };
            let found = findings(format, &ran, "/w");
            let fault = fault(format, &ran, &found);
            assert_eq!(answer(&ran, found, fault).failed.as_deref(), expected, "{stdout}");
        }
    }
}
