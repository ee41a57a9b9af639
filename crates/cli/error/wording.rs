//! The words in which a request was made, and which messages about it use: a command's arguments,
//! or the fields of a line of JSON.

use std::fmt::Display;

use orchestrate_core::RunId;

/// How a request was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Wording {
    /// By a command.
    #[default]
    Command,
    /// By a line of JSON on the standard input of a run that stays open for people.
    Line,
}

impl Wording {
    /// Returns the wording of a line of JSON.
    pub(crate) fn line() -> Self {
        Self::Line
    }

    /// Returns an argument as it is written.
    pub(crate) fn argument(self, field: &str) -> String {
        match self {
            Self::Command => format!("--{}", field.replace('_', "-")),
            Self::Line => format!("`{field}`"),
        }
    }

    /// Returns the request that rejects a task.
    pub(crate) fn reject(self, run: &RunId, task: impl Display) -> String {
        self.with_message(run, "reject", task)
    }

    /// Returns the request that retries a task with a message.
    pub(crate) fn retry(self, run: &RunId, task: impl Display) -> String {
        self.with_message(run, "retry", task)
    }

    /// Returns the request that writes to the agent of a task.
    pub(crate) fn message(self, run: &RunId, task: impl Display) -> String {
        match self {
            Self::Command => format!("`orchestrate message {task} TEXT --run {run}`"),
            Self::Line => format!(r#"`{{"type":"message","agent":"{task}","text":"TEXT"}}`"#),
        }
    }

    fn with_message(self, run: &RunId, name: &str, task: impl Display) -> String {
        match self {
            Self::Command => format!("`orchestrate {name} {task} -m TEXT --run {run}`"),
            Self::Line => format!(r#"`{{"type":"{name}","task":"{task}","message":"TEXT"}}`"#),
        }
    }
}
