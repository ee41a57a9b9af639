//! The structured results of the tools that run programs: the `data` of their outputs.

use orchestrate_core::policy::egress::EgressDecision;
use serde::{Deserialize, Serialize};

/// How a command or a script ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionResult {
    /// The exit code; `None` if it was ended before it could exit.
    pub exit_code: Option<i32>,
    /// How it ended, in words.
    pub exit: String,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// The duration in milliseconds.
    pub duration_ms: u64,
    /// What was decided about the hosts that it asked for; empty if it had no network.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub egress: Vec<EgressDecision>,
}

/// The program that a tool chose for a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramRun {
    /// The program's usual name, such as `pytest`.
    pub program: String,
    /// The version that it says it is.
    pub version: String,
    /// The command that ran, as words of a shell.
    pub command: String,
    /// The exit code; `None` if it was ended before it could exit.
    pub exit_code: Option<i32>,
    /// The duration in milliseconds.
    pub duration_ms: u64,
}

/// The result of a project's tests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestResults {
    /// What ran.
    #[serde(flatten)]
    pub run: ProgramRun,
    /// The number of tests that passed.
    pub passed: usize,
    /// The number of tests that failed.
    pub failed: usize,
    /// The number of tests that were skipped, or failed as their author expects.
    pub skipped: usize,
    /// The tests that failed.
    pub failures: Vec<TestFailure>,
    /// What kept tests from running, or their results from being read; if there is any, the counts
    /// may be incomplete.
    #[serde(default)]
    pub errors: Vec<TestError>,
}

/// A test that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestFailure {
    /// The test's name, as its runner shows it.
    pub name: String,
    /// What the test said.
    pub message: String,
    /// The file of the failed line, relative to the worktree, if it is known.
    pub file: Option<String>,
    /// The failed line, from 1.
    pub line: Option<u32>,
}

/// What kept tests from running, or their results from being read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestError {
    /// What happened.
    pub kind: TestErrorKind,
    /// The file, program or report that it happened to.
    pub name: String,
    /// What its runner or its reader said.
    pub message: String,
    /// The file of the faulty line, relative to the worktree, if it is known.
    pub file: Option<String>,
    /// The faulty line, from 1.
    pub line: Option<u32>,
}

/// A way in which results of tests are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TestErrorKind {
    /// A file of tests cannot be imported or compiled.
    Collection,
    /// A program of tests ended before its tests did.
    Crash,
    /// A report cannot be read.
    Report,
}

/// The result of a linter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LintResults {
    /// What ran.
    #[serde(flatten)]
    pub run: ProgramRun,
    /// The number of errors.
    pub errors: usize,
    /// The number of warnings and notes.
    pub warnings: usize,
    /// What was found, in the program's order.
    pub diagnostics: Vec<Diagnostic>,
}

/// The result of a type checker.
pub type TypeCheckResults = LintResults;

/// One finding of a linter, a type checker or a compiler.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// The file, relative to the worktree; empty if it is about no file.
    pub file: String,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The column, from 1, as the program counts.
    pub column: Option<u32>,
    /// The program's code of the rule, such as `F401`.
    pub code: Option<String>,
    /// `error`, `warning` or `note`.
    pub severity: String,
    /// What is wrong.
    pub message: String,
}

/// The result of a formatter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormatResults {
    /// What ran.
    #[serde(flatten)]
    pub run: ProgramRun,
    /// The files that were changed, relative to the worktree.
    pub changed: Vec<String>,
}

/// The result of installing a package.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstallResults {
    /// What ran last.
    #[serde(flatten)]
    pub run: ProgramRun,
    /// The package that was asked for, as the package manager was given it.
    pub package: String,
    /// The packages that differ from before, its dependencies included.
    pub packages: Vec<PackageChange>,
    /// The files that were changed, relative to the worktree, without those that git ignores.
    pub changed: Vec<String>,
    /// Whether packages may have been built from their sources, which runs code of theirs.
    pub from_source: bool,
    /// What was decided about the hosts that the package manager asked for.
    pub egress: Vec<EgressDecision>,
    /// Hosts that the lock file names, and that belong to no registry of the project.
    pub foreign: Vec<String>,
}

/// A package whose installed versions differ from before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageChange {
    /// The name.
    pub name: String,
    /// The versions that are gone.
    pub removed: Vec<String>,
    /// The versions that are new.
    pub added: Vec<String>,
}
