//! Errors and warnings of a plan, each with its place and a suggestion.
//!
//! Findings are collected with byte offsets ([`Findings`]) and get line and column in one pass at
//! the end, so that a thousand of them on one long line take linear time. The callers decide what
//! is an error.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::lines::source::Source;

/// The maximum number of characters of the offending text in a finding: enough to recognise the
/// place.
const MAX_TEXT_CHARS: usize = 80;
/// The maximum number of errors, and of warnings, of a plan: more than anyone reads, while a
/// hostile plan could cause millions.
pub(crate) const MAX_FINDINGS: usize = 1_000;

/// An error or a warning about a plan, depending on the list that it is in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error, JsonSchema)]
pub struct Finding {
    /// The line, from 1; zero if it concerns the whole file.
    pub line: usize,
    /// The column, from 1, in characters; zero if it concerns the whole file.
    pub column: usize,
    /// Its kind, for programs.
    pub code: FindingCode,
    /// The message for people: lower case, no full stop.
    pub message: String,
    /// The offending text, shortened; may be empty.
    pub text: String,
    /// What to write instead, if known.
    pub suggestion: Option<String>,
}

/// An error in a plan.
pub type PlanError = Finding;

/// A warning about a plan.
pub type PlanWarning = Finding;

impl Finding {
    /// Creates a finding about the whole of a text.
    pub(crate) fn of_whole(code: FindingCode, message: impl Into<String>) -> Self {
        Self {
            line: 0,
            column: 0,
            code,
            message: message.into(),
            text: String::new(),
            suggestion: None,
        }
    }
}

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

/// The kind of a finding.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FindingCode {
    /// The file is empty.
    EmptyPlan,
    /// The file is not text.
    BinaryPlan,
    /// The file is larger than [`crate::MAX_PLAN_BYTES`].
    PlanTooLarge,
    /// Lists or quotes are nested deeper than [`crate::MAX_DEPTH`].
    TooDeep,
    /// The file contains no task.
    NoTasks,
    /// Nothing in the file is certain to be a task, so that the whole of it is a goal.
    WholeDocument,
    /// The file can be read in several ways.
    Ambiguous,
    /// There are more tasks than `MAX_TASKS`.
    TooManyTasks,
    /// There are more dependencies than `MAX_DEPENDENCIES`.
    TooManyDependencies,
    /// The front matter is not a YAML mapping.
    FrontMatter,
    /// A key that does not exist.
    UnknownKey,
    /// A known key that has no effect there.
    UnusedKey,
    /// A value that is not valid for its key.
    InvalidValue,
    /// A key that is set twice for one task.
    DuplicateKey,
    /// `(key: value` without its closing parenthesis, or a command with an open quote, `case` or
    /// substitution.
    Unclosed,
    /// An id that is not allowed.
    InvalidId,
    /// An id that two tasks have.
    DuplicateId,
    /// A dependency on a task that does not exist.
    UnknownDependency,
    /// Tasks that depend on each other, or one that depends on itself.
    Cycle,
    /// A role that does not exist.
    UnknownRole,
    /// A model that does not exist.
    UnknownModel,
    /// Text that is invisible in the rendered plan.
    HiddenText,
    /// A name that is easily mistaken for another one.
    LookAlike,
    /// Two tasks that write the same path.
    WriteOverlap,
    /// A command whose program or file does not exist.
    ProgramNotFound,
    /// A rewritten document of which a line is left out, or a task that comes from no line of it.
    Citation,
    /// A known setting that is not supported yet.
    NotAvailable,
    /// A base that is not a revision of the repository.
    UnknownBase,
    /// A task that depends on one that is never merged.
    NeverMerged,
    /// The text is meant as JSON but is not valid.
    Json,
    /// A file of task-master with open tasks in several tags.
    SeveralTags,
    /// A task whose file has no field that says whether it is done.
    NoStatus,
    /// A repository in which no run would start.
    RepositoryRefused,
    /// A tier of the sandbox that is demanded and does not start.
    SandboxRefused,
}

/// A line that looks like a task but is not, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Skipped {
    /// The line, from 1.
    pub line: usize,
    /// Why it is not a task.
    pub reason: String,
}

/// A finding whose place is still a byte offset.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    offset: usize,
    /// The finding, without its place.
    found: Finding,
}

impl Pending {
    /// Creates a finding about `text` at a byte offset of the source.
    pub(crate) fn new(
        offset: usize,
        code: FindingCode,
        text: &str,
        message: impl Into<String>,
    ) -> Self {
        let text = text.trim().chars().take(MAX_TEXT_CHARS).collect();
        let found = Finding {
            text,
            ..Finding::of_whole(code, message)
        };
        Self { offset, found }
    }

    /// Sets the suggestion of what to write instead.
    pub(crate) fn suggest(self, suggestion: impl Into<String>) -> Self {
        self.suggest_if(Some(suggestion.into()))
    }

    /// Sets the suggestion of what to write instead, if there is one.
    pub(crate) fn suggest_if(mut self, suggestion: Option<String>) -> Self {
        self.found.suggestion = suggestion;
        self
    }
}

/// A line that is not a task, whose place is still a byte offset.
#[derive(Clone, Debug)]
pub(crate) struct PendingSkip {
    pub(crate) offset: usize,
    pub(crate) reason: String,
}

/// The findings collected while a plan is parsed.
#[derive(Default)]
pub(crate) struct Findings {
    /// Problems that prevent a run.
    pub(crate) errors: Vec<Pending>,
    /// Problems that do not.
    pub(crate) warnings: Vec<Pending>,
    /// Lines that are not tasks.
    pub(crate) skipped: Vec<PendingSkip>,
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

    /// Adds everything that others found.
    pub(crate) fn append(&mut self, others: Findings) {
        for error in others.errors {
            self.error(error);
        }
        for warning in others.warnings {
            self.warn(warning);
        }
        self.skipped.extend(others.skipped);
    }

    /// Returns them with every error as a warning, since what they are about does not run.
    pub(crate) fn tolerated(mut self) -> Self {
        for error in std::mem::take(&mut self.errors) {
            self.warn(error);
        }
        self
    }

    /// Records that a line is not a task.
    pub(crate) fn skip(&mut self, offset: usize, reason: impl Into<String>) {
        self.skipped.push(PendingSkip {
            offset,
            reason: reason.into(),
        });
    }
}

/// Adds a finding; the one after [`MAX_FINDINGS`] says that the rest are not shown, and further
/// ones are dropped.
fn push(findings: &mut Vec<Pending>, finding: Pending) {
    match findings.len().cmp(&MAX_FINDINGS) {
        std::cmp::Ordering::Less => findings.push(finding),
        std::cmp::Ordering::Equal => {
            let message = format!("more than {MAX_FINDINGS} findings; the rest are not shown");
            let code = finding.found.code;
            findings.push(Pending::new(finding.offset, code, "", message));
        }
        std::cmp::Ordering::Greater => {}
    }
}

/// Converts byte offsets into lines and columns, and sorts the findings by place.
pub(crate) fn place(mut pending: Vec<Pending>, source: &Source<'_>) -> Vec<Finding> {
    pending.sort_by_key(|finding| finding.offset);
    let mut cursor = source.cursor();
    let mut placed = Vec::with_capacity(pending.len());
    for Pending { offset, mut found } in pending {
        (found.line, found.column) = cursor.position(offset);
        placed.push(found);
    }
    placed
}

/// Converts byte offsets into line numbers, and sorts the skipped lines.
pub(crate) fn place_skipped(mut skipped: Vec<PendingSkip>, source: &Source<'_>) -> Vec<Skipped> {
    skipped.sort_by_key(|skipped| skipped.offset);
    let mut placed = Vec::with_capacity(skipped.len());
    for PendingSkip { offset, reason } in skipped {
        let line = source.line_of(offset);
        placed.push(Skipped { line, reason });
    }
    placed
}
