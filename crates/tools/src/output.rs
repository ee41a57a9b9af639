//! What a tool returns to the executor, and what the executor returns to the worker.

use std::time::Duration;

use orchestrate_core::agent_loop::INTERRUPTED;
use orchestrate_core::{BlobId, CallHash, CallId, ToolAnswer};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{ErrorKind, ToolError};
use crate::ledger::SeenFile;

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

/// What a call used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceUsage {
    /// Bytes that the tool put out before shaping.
    pub output_bytes: u64,
    /// Bytes that it wrote into files.
    pub written_bytes: u64,
}

/// A kept text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// What the agent names it by, as `artifact:<handle>`: short, unique for the agent, valid after a resume.
    pub handle: String,
    /// Where the journal keeps it.
    pub blob: BlobId,
    /// Its size.
    pub bytes: u64,
}

/// The most bytes of structured data that are recorded; the text, and the artifact behind it, hold the rest.
const MAX_RECORDED_DATA: usize = 64 * 1024;

/// The result of one call: what its caller gets, and what is recorded of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// The call's id within its turn.
    pub call: CallId,
    /// Whether the tool did what it was asked for.
    pub success: bool,
    /// The structured result, null on failure.
    pub data: Value,
    /// Why it failed.
    pub error: Option<String>,
    /// The class of the failure; `None` for a command that ran and exited with another code than 0.
    pub error_kind: Option<ErrorKind>,
    /// The exit code, if the call ran a command.
    pub exit_code: Option<i32>,
    /// How long it took.
    #[serde(rename = "duration_ms", with = "milliseconds")]
    pub execution_time: Duration,
    /// What it used up.
    pub resource_usage: ResourceUsage,
    /// What the tool put out, shaped for the model. Others may have written any part of it.
    pub body: String,
    /// What follows the body in our own words: exit code and duration.
    pub footer: String,
    /// Whole texts that the body shows in part, and what a deleted file held.
    pub artifacts: Vec<Artifact>,
    /// Paths that the call deleted, relative to the worktree: recorded deletions.
    pub deleted: Vec<String>,
    /// The files that the agent has now seen, with what they held: folded by [`crate::ReadLedger::restore`].
    pub seen: Vec<SeenFile>,
}

impl ToolOutput {
    /// Makes the result of a call that failed with nothing to show but the message.
    #[must_use]
    pub fn failed(call: &CallId, error: &ToolError) -> ToolOutput {
        let message = format!("ERROR: {error}");
        let is_ours = matches!(error, ToolError::Interrupted(_));
        let (body, footer) = if is_ours { (String::new(), message) } else { (message, String::new()) };
        ToolOutput {
            error: Some(error.to_string()),
            error_kind: Some(error.kind()),
            body,
            footer,
            ..ToolOutput::empty(call)
        }
    }

    /// Makes the result of a call whose end is not known.
    #[must_use]
    pub fn interrupted(call: &CallId) -> ToolOutput {
        ToolOutput::failed(call, &ToolError::Interrupted(INTERRUPTED.to_owned()))
    }

    /// Makes a result without success and without anything to show.
    #[must_use]
    pub fn empty(call: &CallId) -> ToolOutput {
        ToolOutput {
            call: call.clone(),
            success: false,
            data: Value::Null,
            error: None,
            error_kind: None,
            exit_code: None,
            execution_time: Duration::ZERO,
            resource_usage: ResourceUsage::default(),
            body: String::new(),
            footer: String::new(),
            artifacts: Vec::new(),
            deleted: Vec::new(),
            seen: Vec::new(),
        }
    }

    /// Returns what the model reads, never empty.
    #[must_use]
    pub fn text(&self) -> String {
        match (self.body.as_str(), self.footer.as_str()) {
            ("", "") => "(done, nothing to show)".to_owned(),
            ("", footer) if self.error_kind == Some(ErrorKind::Interrupted) => footer.to_owned(),
            ("", footer) => format!("(no output)\n{footer}"),
            (body, "") => body.to_owned(),
            (body, footer) => format!("{body}\n{footer}"),
        }
    }

    /// Returns the answer to the call as it goes into the conversation, live and replayed.
    #[must_use]
    pub fn to_answer(&self) -> ToolAnswer {
        let text = self.text();
        let note = if self.body.is_empty() { text.clone() } else { self.footer.clone() };
        ToolAnswer { call_id: self.call.clone(), text, note, is_error: !self.success }
    }

    /// Returns the result as it is recorded: with its structured data only where that is short.
    #[must_use]
    pub fn to_record(&self) -> ToolOutput {
        let mut record = self.clone();
        if record.data.to_string().len() > MAX_RECORDED_DATA {
            record.data = Value::Null;
        }
        record
    }
}

/// A duration in whole milliseconds.
mod milliseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
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
