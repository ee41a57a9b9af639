//! What a tool returns to the executor, and what the executor returns to the worker.

use std::time::Duration;

use orchestrate_core::{CallHash, CallId, ToolAnswer};
use serde_json::Value;

use crate::error::{ErrorKind, ToolError};
use crate::ledger::SeenFile;
use crate::services::{Artifact, ResourceUsage};

/// What a tool did, before the executor shapes it for the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The structured result.
    pub data: Value,
    /// The text for the model; too long a middle is cut and kept as an artifact.
    pub text: String,
    /// What has to stand last and is never cut: exit code and duration.
    pub footer: Option<String>,
    /// Why the call counts as failed although the tool worked: a command's other exit code than 0.
    pub failed: Option<String>,
    /// The exit code, if a command ran.
    pub exit_code: Option<i32>,
    /// Bytes that were kept on purpose, such as a deleted file's.
    pub artifacts: Vec<Artifact>,
    /// Paths that the call deleted, relative to the worktree.
    pub deleted: Vec<String>,
    /// The versions of files that the call saw or made.
    pub seen: Vec<SeenFile>,
    /// Bytes written into files.
    pub written_bytes: u64,
}

impl Answer {
    /// Answers with a text and structured data.
    pub fn new(text: impl Into<String>, data: Value) -> Answer {
        Answer { text: text.into(), data, ..Answer::default() }
    }
}

/// The result of one call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    /// Whether the tool did what it was asked for.
    pub success: bool,
    /// The structured result, null on failure.
    pub data: Value,
    /// Why it failed.
    pub error: Option<String>,
    /// The class of the failure.
    pub error_kind: Option<ErrorKind>,
    /// How long it took.
    pub execution_time: Duration,
    /// What it used up.
    pub resource_usage: ResourceUsage,
    /// What the model reads, shaped, never empty.
    pub text: String,
    /// How `text` ends in our own words: exit code and duration.
    pub note: String,
    /// Whole texts that `text` shows in part.
    pub artifacts: Vec<Artifact>,
}

impl ToolOutput {
    /// Returns the answer to a call as it goes into the conversation.
    pub fn to_answer(&self, call: &CallId) -> ToolAnswer {
        let (text, note) = (self.text.clone(), self.note.clone());
        ToolAnswer { call_id: call.clone(), text, note, is_error: !self.success }
    }

    /// Makes the answer of a call that failed with nothing to show but the message.
    pub fn failed(error: &ToolError) -> ToolOutput {
        ToolOutput {
            success: false,
            data: Value::Null,
            error: Some(error.to_string()),
            error_kind: Some(error.kind()),
            execution_time: Duration::ZERO,
            resource_usage: ResourceUsage::default(),
            text: format!("ERROR: {error}"),
            note: own_words(error),
            artifacts: Vec::new(),
        }
    }
}

/// Returns what of a failure's text is ours alone: an interruption, in which nobody else has a word.
fn own_words(error: &ToolError) -> String {
    match error {
        ToolError::Interrupted(_) => format!("ERROR: {error}"),
        _ => String::new(),
    }
}

/// How a call came out of the executor.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub enum CallOutcome {
    /// It ended, well or not; start and end are recorded.
    Done(ToolOutput),
    /// A person has to decide first; nothing has been recorded and nothing has run. The decision is bound to
    /// the hash, and the same call with that decision in [`crate::CallScope::approvals`] goes on.
    NeedsApproval {
        /// What the decision is bound to.
        call: CallHash,
        /// The tool's canonical name.
        tool: String,
        /// The arguments in their canonical form, which the hash covers.
        arguments: Value,
        /// The id of the rule that asks.
        rule: String,
    },
}
