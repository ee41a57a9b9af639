//! How commits and changes are worded.

use orchestrate_core::text::invisible::shown;
use serde_json::Value;

use crate::services::{GitChange, GitCommit};

/// Number of characters of a commit's id to show.
const SHORT_ID: usize = 10;

/// Words a commit in one line.
pub(super) fn describe(commit: &GitCommit) -> String {
    format!(
        "{} {}",
        short(commit.id.as_str()),
        commit.message.lines().next().unwrap_or_default()
    )
}

/// Words each change in one line, as git does.
pub(super) fn lines_of(changes: &[GitChange]) -> impl Iterator<Item = String> {
    changes
        .iter()
        .map(|change| format!("{} {}", change.status, shown(&change.path)))
}

/// Shortens a commit's id.
pub(super) fn short(id: &str) -> &str {
    id.get(..SHORT_ID).unwrap_or(id)
}

/// Serializes the typed result of a tool.
pub(super) fn data(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap_or(Value::Null)
}
