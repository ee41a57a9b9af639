//! The program's error type: its kind, what happened, where, and what to type next.
//!
//! Only this module maps failures to exit codes. Libraries' messages complete "failed to …", so
//! they are shown with that prefix.

pub(crate) mod hints;
mod wording;

use std::fmt::Display;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use orchestrate_coordinator::{CoordinatorError, LandingError};
use orchestrate_core::run::{EXIT_FAILED, EXIT_INTERNAL, EXIT_NEEDS_HUMAN, EXIT_OK, EXIT_USAGE};
use orchestrate_core::text::similar::nearest;
use orchestrate_journal::JournalError;
use orchestrate_settings::Problem;
use orchestrate_settings::consent::ConsentError;

use self::hints::of_error;
pub(crate) use self::wording::Wording;
use crate::json::{ErrorEntry, Failure, Output};

/// The kind of a failure, which determines the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    /// Wrong usage, configuration or plan, or a repository that cannot be used.
    Usage,
    /// The user has to decide something about the repository or the run first.
    NeedsPerson,
    /// The operation failed.
    Failed,
    /// A signal with this exit code arrived before anything was done.
    Interrupted(u8),
    /// A bug in orchestrate.
    Internal,
    /// The reader of the output has closed it.
    BrokenPipe,
}

impl ErrorKind {
    /// Returns the exit code of this kind.
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            ErrorKind::Usage => EXIT_USAGE,
            ErrorKind::NeedsPerson => EXIT_NEEDS_HUMAN,
            ErrorKind::Failed => EXIT_FAILED,
            ErrorKind::Interrupted(exit_code) => exit_code,
            ErrorKind::Internal => EXIT_INTERNAL,
            ErrorKind::BrokenPipe => EXIT_OK,
        }
    }
}

/// A failure that ends the program.
#[derive(Debug)]
pub(crate) struct CommandError {
    kind: ErrorKind,
    pub(crate) complaints: Vec<Complaint>,
    pub(crate) hints: Vec<String>,
}

/// One problem with its place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Complaint {
    pub(crate) message: String,
    /// The kind of the problem, for programs.
    pub(crate) code: Option<String>,
    /// The file, option or variable.
    pub(crate) place: Option<String>,
    /// The line, from 1; zero if there are no lines.
    pub(crate) line: usize,
    /// The column, from 1, in characters; zero if there are no lines.
    pub(crate) column: usize,
    /// The offending text.
    pub(crate) text: Option<String>,
    /// What to write instead.
    pub(crate) suggestion: Option<String>,
    /// The whole file, and the byte range of the problem.
    pub(crate) excerpt: Option<(Arc<str>, Range<usize>)>,
}

impl CommandError {
    /// Creates an error with one message.
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> CommandError {
        let complaint = Complaint {
            message: message.into(),
            ..Complaint::default()
        };
        CommandError::of_complaints(kind, vec![complaint])
    }

    /// Creates an error with several problems.
    pub(crate) fn of_complaints(kind: ErrorKind, complaints: Vec<Complaint>) -> CommandError {
        CommandError {
            kind,
            complaints,
            hints: Vec::new(),
        }
    }

    /// Creates a usage error.
    pub(crate) fn usage(message: impl Into<String>) -> CommandError {
        CommandError::new(ErrorKind::Usage, message)
    }

    /// Creates the error of a file that cannot be read or written.
    pub(crate) fn of_file(act: &str, path: &Path, why: impl Display) -> CommandError {
        CommandError::usage(format!("failed to {act} {}: {why}", path.display()))
    }

    /// Creates the error of a bug in orchestrate.
    pub(crate) fn internal(message: impl Into<String>) -> CommandError {
        CommandError::new(ErrorKind::Internal, message).hint(
            "this is a bug in orchestrate; recorded work is kept, and `orchestrate resume` \
             continues from it",
        )
    }

    /// Creates the error of a feature that is not available yet.
    pub(crate) fn not_available(what: &str) -> CommandError {
        CommandError::usage(format!("{what} is not available yet"))
    }

    /// Creates the error of a failed write to standard output.
    pub(crate) fn of_output(error: &io::Error) -> CommandError {
        let (kind, why) = match error.kind() {
            io::ErrorKind::BrokenPipe => (ErrorKind::BrokenPipe, "its reader has closed it".into()),
            _ => (ErrorKind::Failed, error.to_string()),
        };
        CommandError::new(kind, format!("failed to write the output: {why}"))
    }

    /// Converts an error from before the run has started: what failed then is for the user to fix,
    /// as a usage error.
    pub(crate) fn at_start(error: CoordinatorError) -> CommandError {
        let is_crowded = matches!(error, CoordinatorError::FewFiles { .. });
        let mut error = CommandError::from(error);
        if error.kind == ErrorKind::Failed {
            error.kind = ErrorKind::Usage;
        }
        // Only a new run can lower the number of agents, since it is fixed at the start.
        if is_crowded {
            error.hint("lower it with --max-agents")
        } else {
            error
        }
    }

    /// Changes the kind of the error.
    pub(crate) fn of_kind(self, kind: ErrorKind) -> CommandError {
        CommandError { kind, ..self }
    }

    /// Adds a hint about what to type next.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> CommandError {
        self.hints.push(hint.into());
        self
    }

    /// Adds a hint about what was meant, or another one if nothing that is known is similar.
    pub(crate) fn did_you_mean<'k>(
        self,
        typed: &str,
        known: impl IntoIterator<Item = &'k str>,
        otherwise: impl Into<String>,
    ) -> CommandError {
        match nearest(typed, known) {
            Some(nearest) => self.hint(format!("did you mean `{nearest}`?")),
            None => self.hint(otherwise),
        }
    }

    /// Returns the exit code.
    pub(crate) fn exit_code(&self) -> u8 {
        self.kind.exit_code()
    }

    /// Reports whether to print nothing, since the output is not read any more.
    pub(crate) fn is_silent(&self) -> bool {
        self.kind == ErrorKind::BrokenPipe
    }

    /// Returns the problems in one line.
    pub(crate) fn in_one_line(&self) -> String {
        let messages = self.complaints.iter();
        let messages: Vec<&str> = messages.map(|one| one.message.as_str()).collect();
        messages.join("; ")
    }

    /// Returns its messages and its hints in one line.
    pub(crate) fn with_hints(&self) -> String {
        let mut text = self.in_one_line();
        for hint in &self.hints {
            text = text + "; " + hint;
        }
        text
    }

    /// Returns the output that is printed instead of a result.
    pub(crate) fn output(&self) -> Output {
        let errors = self.complaints.iter();
        Output::Error(Failure {
            exit_code: self.exit_code(),
            errors: errors.map(|one| one.entry(&self.hints)).collect(),
        })
    }
}

impl Complaint {
    /// Returns the entry in the list of errors.
    fn entry(&self, hints: &[String]) -> ErrorEntry {
        let has_lines = self.line > 0;
        ErrorEntry {
            file: self.place.clone(),
            line: has_lines.then_some(self.line),
            column: has_lines.then_some(self.column),
            code: self.code.clone(),
            message: self.message.clone(),
            text: self.text.clone(),
            suggestion: self.suggestion.clone(),
            hints: hints.to_vec(),
        }
    }
}

impl From<CoordinatorError> for CommandError {
    fn from(error: CoordinatorError) -> Self {
        let message = format!("failed to {error}");
        let said = if error.is_disk_full() {
            CommandError::new(ErrorKind::Failed, message)
                .hint("free some space; recorded work is kept")
        } else if matches!(error, CoordinatorError::ReadOnlyRepository { .. }) {
            CommandError::new(ErrorKind::Failed, message)
                .hint("make it writable, or work in a writable clone: `git clone . ELSEWHERE`")
                .hint("recorded work is kept: `orchestrate resume` continues a run that had begun")
        } else if error.is_read_only() {
            CommandError::usage(message)
                .hint("make it writable, or work in a writable clone: `git clone . ELSEWHERE`")
        } else if error.is_defect() {
            CommandError::internal(message)
        } else if error.needs_person() {
            CommandError::new(ErrorKind::NeedsPerson, message)
        } else if error.is_refusal() {
            CommandError::usage(message)
        } else {
            CommandError::new(ErrorKind::Failed, message)
        };
        match of_error(&error) {
            Some(hint) => said.hint(hint),
            None => said,
        }
    }
}

impl From<LandingError> for CommandError {
    fn from(error: LandingError) -> Self {
        CoordinatorError::from(error).into()
    }
}

impl From<JournalError> for CommandError {
    fn from(error: JournalError) -> Self {
        CoordinatorError::from(error).into()
    }
}

impl From<ConsentError> for CommandError {
    fn from(error: ConsentError) -> Self {
        CommandError::usage(format!("failed to {error}"))
            .hint("a damaged consent file can be deleted; you will be asked again")
    }
}

impl From<Vec<Problem>> for CommandError {
    fn from(problems: Vec<Problem>) -> Self {
        let complaints = problems.into_iter().map(Complaint::from).collect();
        CommandError::of_complaints(ErrorKind::Usage, complaints)
    }
}

impl From<Problem> for CommandError {
    fn from(problem: Problem) -> Self {
        vec![problem].into()
    }
}

impl From<Problem> for Complaint {
    fn from(problem: Problem) -> Self {
        Complaint {
            message: problem.message,
            code: Some(problem.code.as_str().to_owned()),
            line: problem.place.line,
            column: problem.place.column,
            place: Some(problem.place.name),
            text: problem
                .excerpt
                .as_ref()
                .and_then(|excerpt| excerpt.text.get(excerpt.span.clone()))
                .map(str::to_owned),
            suggestion: problem.suggestion,
            excerpt: problem.excerpt.map(|excerpt| (excerpt.text, excerpt.span)),
        }
    }
}
