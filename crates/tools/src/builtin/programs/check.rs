//! `run_linter` and `run_type_checker`: run what the project uses, and list what it finds.

use async_trait::async_trait;
use orchestrate_core::text::invisible::shown;
use orchestrate_sandbox::Cancel;
use serde_json::{Value, json};

use super::super::facts::facts;
use super::candidate::{Ran, choose};
use super::checkers::{Findings, linters, type_checkers};
use super::files::{Kind, Selection, selects_files};
use super::parse;
use crate::answer::{Answer, Diagnostic, LintResults, ToolError, counted};
use crate::files::{Files, path};
use crate::tool::{Prompt, Tool, ToolContext};

/// The files that mypy reads its configuration from.
const MYPY_FILES: &[&str] = &["mypy.ini", ".mypy.ini", "pyproject.toml", "setup.cfg"];
/// How mypy begins to say that it goes on without a part of its configuration, rather than without
/// all of it.
const MYPY_PARTS: &[&str] = &["[", "No [mypy] section"];
/// The endings of files that decide about the others.
const CONFIGURATIONS: &[&str] = &[".toml", ".ini", ".cfg", ".mod", ".work"];

static LINTER: Kind<Findings> = Kind {
    name: "linter",
    find: linters,
};
static TYPE_CHECKER: Kind<Findings> = Kind {
    name: "type checker",
    find: type_checkers,
};

/// The `run_linter` tool.
pub(crate) struct RunLinter(pub(crate) Prompt);

/// The `run_type_checker` tool.
pub(crate) struct RunTypeChecker(pub(crate) Prompt);

#[async_trait]
impl Tool for RunLinter {
    facts!("run_linter", EXEC, CodeExecution, is_default: false);

    selects_files!(&LINTER);

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        check(context, arguments, &LINTER).await
    }
}

#[async_trait]
impl Tool for RunTypeChecker {
    facts!("run_type_checker", EXEC, CodeExecution, is_default: false);

    selects_files!(&TYPE_CHECKER);

    async fn execute(&self, context: &ToolContext, arguments: Value) -> Result<Answer, ToolError> {
        check(context, arguments, &TYPE_CHECKER).await
    }
}

/// Runs the first checker that is installed, and keeps what it finds in the files that were named.
async fn check(
    context: &ToolContext,
    arguments: Value,
    kind: &'static Kind<Findings>,
) -> Result<Answer, ToolError> {
    let selection = Selection::from_value(&arguments)?;
    let wanted = selection.clone();
    let candidates = context
        .blocking(move |files, cancel| wanted.candidates(files, cancel, kind))
        .await?;
    let chosen = choose(context, candidates).await?;
    let ran = chosen.run(context).await?;
    let format = chosen.candidate.report;
    let root = context.worktree().to_string_lossy().into_owned();
    // A large report takes a while to read.
    let told = move |_: &Files, _: &Cancel| {
        let found = findings(format, &ran, &root);
        let fault = fault(format, &ran, &found);
        let found = found
            .into_iter()
            .filter(|found| is_wanted(found, &selection))
            .collect();
        Ok(answer(&ran, found, fault, &remarks(format, &ran)))
    };
    context.blocking(told).await
}

fn findings(format: Findings, ran: &Ran, root: &str) -> Vec<Diagnostic> {
    match format {
        Findings::Cargo => parse::cargo(&ran.stdout, root),
        Findings::Ruff => parse::ruff(&ran.stdout, root),
        Findings::Eslint => parse::eslint(&ran.stdout, root),
        Findings::Pyright => parse::pyright(&ran.stdout, root),
        Findings::Lines | Findings::Mypy => {
            parse::lines(&format!("{}\n{}", ran.stdout, ran.stderr), root)
        }
    }
}

/// Reports whether a finding is in a file that was named, or is an error in a configuration: with
/// that, the program has not looked at the files as the project wants.
fn is_wanted(found: &Diagnostic, selection: &Selection) -> bool {
    let name = path::split(&found.file).1;
    let is_configuration = CONFIGURATIONS.iter().any(|ending| name.ends_with(ending))
        || (name.starts_with("tsconfig") && name.ends_with(".json"));
    selection.covers(&found.file) || (is_configuration && found.severity == "error")
}

/// Returns why a program could not do its work, if so: it cannot read its configuration, it failed
/// without an error or a warning, or in what it printed nobody can tell whether it found something.
fn fault(format: Findings, ran: &Ran, found: &[Diagnostic]) -> Option<String> {
    if let Some((line, _)) = of_configuration(format, ran).find(|&(_, rest)| !names_part(rest)) {
        return Some(format!(
            "{} cannot read its configuration: {line}",
            ran.run.program
        ));
    }
    if ran.run.exit_code != Some(0) && !reports(found) {
        return Some(ran.how.clone());
    }
    (!is_readable(format, &ran.stdout))
        .then(|| format!("the report of {} cannot be read", ran.run.program))
}

fn names_part(rest: &str) -> bool {
    MYPY_PARTS.iter().any(|begin| rest.starts_with(begin))
}

/// Returns the lines in which mypy says what is wrong with its configuration, each with what
/// follows the file's name. It ends as if nothing was wrong.
fn of_configuration(format: Findings, ran: &Ran) -> impl Iterator<Item = (&str, &str)> {
    let lines = ran.stderr.lines().filter(move |_| format == Findings::Mypy);
    lines.filter_map(|line| {
        let (file, rest) = line.split_once(": ")?;
        MYPY_FILES
            .contains(&path::split(file).1)
            .then_some((line, rest))
    })
}

/// Returns what an answer has to add to the findings.
fn remarks(format: Findings, ran: &Ran) -> Vec<String> {
    of_configuration(format, ran)
        .map(|(line, _)| format!("[{line}]"))
        .collect()
}

fn is_readable(format: Findings, stdout: &str) -> bool {
    match format {
        Findings::Ruff | Findings::Eslint | Findings::Pyright => parse::is_json(stdout),
        // Lines of other things stand among theirs.
        Findings::Cargo | Findings::Lines | Findings::Mypy => true,
    }
}

/// Counts what was found, unless the program could not do its work.
fn answer(
    ran: &Ran,
    diagnostics: Vec<Diagnostic>,
    fault: Option<String>,
    remarks: &[String],
) -> Answer {
    let count = |severity: &str| {
        diagnostics
            .iter()
            .filter(|found| found.severity == severity)
            .count()
    };
    let (errors, warnings) = (count("error"), count("warning"));
    let found = match diagnostics.as_slice() {
        [] => vec!["nothing found".to_owned()],
        found => found.iter().map(describe).collect(),
    };
    let text = if fault.is_some() {
        ran.tail()
    } else {
        [found.as_slice(), remarks].concat().join("\n")
    };
    let failed = match (fault, errors, warnings) {
        (Some(fault), ..) => Some(fault),
        (None, 0, 0) => None,
        (None, 0, _) if ran.run.exit_code == Some(0) => None,
        (None, errors, warnings) => Some(format!(
            "{}, {}",
            counted(errors, "error"),
            counted(warnings, "warning")
        )),
    };
    let exit_code = ran.run.exit_code;
    let results = LintResults {
        run: ran.run.clone(),
        errors,
        warnings,
        diagnostics,
    };
    Answer {
        footer: Some(ran.footer()),
        failed,
        exit_code,
        ..Answer::new(text, json!(results))
    }
}

/// Reports whether there is more than what only explains something.
fn reports(found: &[Diagnostic]) -> bool {
    found
        .iter()
        .any(|found| matches!(found.severity.as_str(), "error" | "warning"))
}

/// Formats a finding as `file:line:column: severity code: message`.
fn describe(found: &Diagnostic) -> String {
    let place = format!(
        "{}{}{}",
        shown(&found.file),
        place_number(found.line),
        place_number(found.column)
    );
    let place = if found.file.is_empty() {
        String::new()
    } else {
        format!("{place}: ")
    };
    let code = found
        .code
        .as_ref()
        .map(|code| format!(" {code}"))
        .unwrap_or_default();
    format!("{place}{}{code}: {}", found.severity, found.message)
}

fn place_number(number: Option<u32>) -> String {
    number
        .map(|number| format!(":{number}"))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::ProgramRun;

    #[test]
    fn a_program_that_fails_with_notes_alone_could_not_do_its_work() {
        let ran = Ran {
            run: ProgramRun {
                exit_code: Some(2),
                ..ProgramRun::default()
            },
            how: "exit code 2".to_owned(),
            stdout: "a.py:1: note: see the manual\n".to_owned(),
            stderr: "crashed\n".to_owned(),
        };
        let found = findings(Findings::Lines, &ran, "/w");
        assert_eq!(found.len(), 1);
        let fault = fault(Findings::Lines, &ran, &found);
        let answer = answer(&ran, found, fault, &[]);
        assert_eq!(answer.failed.as_deref(), Some("exit code 2"));
        assert!(answer.text.contains("crashed"), "{}", answer.text);
    }

    #[test]
    fn a_report_that_cannot_be_read_is_not_one_without_findings() {
        let table = [
            (Findings::Ruff, "", None),
            (Findings::Ruff, "[]\n", None),
            (Findings::Ruff, "an update is there\n[]", None),
            (
                Findings::Ruff,
                "an update is there\n",
                Some("the report of it cannot be read"),
            ),
            (
                Findings::Eslint,
                "[{\"filePath\": \"a",
                Some("the report of it cannot be read"),
            ),
            (Findings::Pyright, "{\"generalDiagnostics\": []}", None),
            (Findings::Cargo, "Checking a\n", None),
            (Findings::Lines, "all is well\n", None),
        ];
        for (format, stdout, expected) in table {
            let ran = Ran {
                run: ProgramRun {
                    program: "it".to_owned(),
                    exit_code: Some(0),
                    ..ProgramRun::default()
                },
                how: "exit code 0".to_owned(),
                stdout: stdout.to_owned(),
                stderr: String::new(),
            };
            let found = findings(format, &ran, "/w");
            let fault = fault(format, &ran, &found);
            assert_eq!(
                answer(&ran, found, fault, &[]).failed.as_deref(),
                expected,
                "{stdout}"
            );
        }
    }

    #[test]
    fn a_configuration_that_mypy_cannot_read_is_a_failure() {
        let no_section =
            "mypy.ini: File contains no section headers.\nfile: 'mypy.ini', line: 1\n'[mypy\\n'\n";
        let open = "pyproject.toml: Expected ']' at the end of a table declaration (at line 1, \
                    column 11)\n";
        let part = "mypy.ini: [mypy]: strict: Not a boolean: perhaps\n";
        let failed = |line: &str| Some(format!("mypy cannot read its configuration: {line}"));
        let table = [
            (
                Findings::Mypy,
                no_section,
                failed("mypy.ini: File contains no section headers."),
                no_section.trim(),
            ),
            (Findings::Mypy, open, failed(open.trim()), open.trim()),
            (
                Findings::Mypy,
                part,
                None,
                "nothing found\n[mypy.ini: [mypy]: strict: Not a boolean: perhaps]",
            ),
            (
                Findings::Mypy,
                "a.py: no such thing\n",
                None,
                "nothing found",
            ),
            (Findings::Lines, open, None, "nothing found"),
        ];
        for (format, stderr, expected, text) in table {
            let ran = Ran {
                run: ProgramRun {
                    program: "mypy".to_owned(),
                    exit_code: Some(0),
                    ..ProgramRun::default()
                },
                how: "exit code 0".to_owned(),
                stdout: String::new(),
                stderr: stderr.to_owned(),
            };
            let fault = fault(format, &ran, &[]);
            let answer = answer(&ran, Vec::new(), fault, &remarks(format, &ran));
            assert_eq!(
                (answer.failed, answer.text.as_str()),
                (expected, text),
                "{stderr}"
            );
        }
    }

    #[test]
    fn an_error_in_a_configuration_counts_for_every_file() {
        let selection = Selection {
            files: vec!["src/a.py".to_owned()],
        };
        let lines = "src/a.py:1: error: own\nb.py:1: error: of another file\n\
                     mypy.ini:2: error: Error importing plugin \"nope\": No module named 'nope'  \
                     [misc]\n\
                     mypy.ini:3: note: of the plugin\n/w/go.mod:1: unknown directive: modul\n\
                     tsconfig.json(3,5): error TS5023: Unknown compiler option 'x'.\n\
                     package.json(1,1): error TS1: other\n";
        let found = parse::lines(lines, "/w")
            .into_iter()
            .filter(|found| is_wanted(found, &selection));
        let files: Vec<String> = found.map(|found| found.file).collect();
        assert_eq!(files, ["src/a.py", "mypy.ini", "go.mod", "tsconfig.json"]);
    }
}
