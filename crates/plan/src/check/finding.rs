//! What is wrong, or worth knowing, about a plan: one finding for each place, with what to write instead.
//!
//! Findings are collected with byte offsets ([`Findings`]) and get line and column in one sweep at the end,
//! so that a thousand of them on one long line stay linear. This module does not decide what is an error.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::read::source::Source;

/// The longest offending text that a finding repeats, in characters: enough to recognise the place.
const MAX_TEXT_CHARS: usize = 80;
/// The most errors, and the most warnings, of one plan: more than anybody reads, and a hostile plan could make
/// millions.
pub(crate) const MAX_FINDINGS: usize = 1_000;

/// Something about a plan: an error if it stands among the errors, else a warning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub struct Finding {
    /// From 1; zero if it concerns the whole file.
    pub line: usize,
    /// From 1, in characters; zero if it concerns the whole file.
    pub column: usize,
    /// What kind of finding it is, for programs.
    pub code: FindingCode,
    /// What it is, for people: lower case, no full stop.
    pub message: String,
    /// The text that it is about.
    pub text: String,
    /// What to write instead, if one can tell.
    pub suggestion: Option<String>,
}

/// An error in a plan.
pub type PlanError = Finding;

/// A warning about a plan.
pub type PlanWarning = Finding;

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}, column {}: ", self.line, self.column)?;
        }
        f.write_str(&self.message)?;
        match &self.suggestion {
            Some(suggestion) => write!(f, " ({suggestion})"),
            None => Ok(()),
        }
    }
}

/// What kind of finding it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingCode {
    /// The file holds nothing.
    EmptyPlan,
    /// The file is not text.
    BinaryPlan,
    /// The file is larger than [`crate::MAX_PLAN_BYTES`].
    PlanTooLarge,
    /// Lists or quotes are nested deeper than [`crate::MAX_DEPTH`].
    TooDeep,
    /// Nothing in the file is a task.
    NoTasks,
    /// There are more tasks than `MAX_TASKS`.
    TooManyTasks,
    /// There are more dependencies than `MAX_DEPENDENCIES`.
    TooManyDependencies,
    /// The front matter is not a YAML mapping.
    FrontMatter,
    /// A key that does not exist.
    UnknownKey,
    /// A key that is understood and has no effect yet.
    UnusedKey,
    /// A value that its key does not take.
    InvalidValue,
    /// A key given twice to one task.
    DuplicateKey,
    /// `(key: value` without its closing parenthesis, or a command without its closing quote.
    Unclosed,
    /// An id that no task may have.
    InvalidId,
    /// An id that two tasks have.
    DuplicateId,
    /// A dependency that is no task.
    UnknownDependency,
    /// Tasks that wait for each other.
    Cycle,
    /// A role that does not exist.
    UnknownRole,
    /// A model that does not exist.
    UnknownModel,
    /// Text that a reader of the rendered plan does not see.
    HiddenText,
    /// A name that reads as another one.
    LookAlike,
    /// Two tasks that write the same path.
    WriteOverlap,
    /// A command whose program is not installed.
    ProgramNotFound,
    /// Something that is understood and whose time has not come.
    NotAvailable,
    /// A base that is no revision of the repository.
    UnknownBase,
    /// A task that waits for one which is never merged.
    NeverMerged,
    /// A repository in which no run would start.
    RepositoryRefused,
}

/// A line that could have been a task and is not, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// From 1.
    pub line: usize,
    /// Why it is not a task.
    pub reason: String,
}

/// A finding whose place is still a byte offset.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    offset: usize,
    code: FindingCode,
    message: String,
    text: String,
    suggestion: Option<String>,
}

impl Pending {
    /// Makes a finding about `text` at a byte offset of the source.
    pub(crate) fn new(offset: usize, code: FindingCode, text: &str, message: impl Into<String>) -> Self {
        let text = text.trim().chars().take(MAX_TEXT_CHARS).collect();
        Self { offset, code, message: message.into(), text, suggestion: None }
    }

    /// Adds what to write instead.
    pub(crate) fn suggest(mut self, suggestion: Option<String>) -> Self {
        self.suggestion = suggestion;
        self
    }
}

/// Everything found so far while a plan is read.
#[derive(Default)]
pub(crate) struct Findings {
    /// What keeps the plan from running.
    pub(crate) errors: Vec<Pending>,
    /// What does not.
    pub(crate) warnings: Vec<Pending>,
    /// Lines that are no tasks, by byte offset.
    pub(crate) skipped: Vec<(usize, String)>,
}

impl Findings {
    /// Records an error.
    pub(crate) fn error(&mut self, error: Pending) {
        push(&mut self.errors, error);
    }

    /// Records a warning.
    pub(crate) fn warn(&mut self, warning: Pending) {
        push(&mut self.warnings, warning);
    }

    /// Records that a line is no task.
    pub(crate) fn skip(&mut self, offset: usize, reason: impl Into<String>) {
        self.skipped.push((offset, reason.into()));
    }
}

/// Adds a finding; beyond [`MAX_FINDINGS`] one says that others are left out.
fn push(findings: &mut Vec<Pending>, finding: Pending) {
    match findings.len().cmp(&MAX_FINDINGS) {
        std::cmp::Ordering::Less => findings.push(finding),
        std::cmp::Ordering::Equal => {
            let message = format!("more than {MAX_FINDINGS} findings; the rest are not shown");
            findings.push(Pending::new(finding.offset, finding.code, "", message));
        }
        std::cmp::Ordering::Greater => {}
    }
}

/// Returns every finding its line and column, in the order of the source.
pub(crate) fn place(mut pending: Vec<Pending>, source: &Source<'_>) -> Vec<Finding> {
    pending.sort_by_key(|finding| finding.offset);
    let mut cursor = source.cursor();
    pending
        .into_iter()
        .map(|finding| {
            let (line, column) = cursor.position(finding.offset);
            Finding {
                line,
                column,
                code: finding.code,
                message: finding.message,
                text: finding.text,
                suggestion: finding.suggestion,
            }
        })
        .collect()
}

/// Returns every skipped line its number, in the order of the source.
pub(crate) fn place_skipped(mut skipped: Vec<(usize, String)>, source: &Source<'_>) -> Vec<Skipped> {
    skipped.sort_by_key(|(offset, _)| *offset);
    skipped.into_iter().map(|(offset, reason)| Skipped { line: source.line_of(offset), reason }).collect()
}
