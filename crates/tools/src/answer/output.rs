//! What a tool returns to the executor, and what the executor returns to the worker.

use std::time::Duration;

use orchestrate_core::agent::agent_loop::INTERRUPTED;
use orchestrate_core::event::{Recovery, ResourceUsage};
use orchestrate_core::{BlobId, CallHash, CallId, SameAgain, ToolAnswer};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::{ErrorKind, Note, SeenFile, ToolError};

/// The result of a tool, before the executor shapes it for the model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The structured result, which is shown as JSON if there is neither a text nor a footer.
    pub data: Value,
    /// The text for the model. If it is too long, its middle is cut out and the whole is kept as an
    /// artifact.
    pub text: String,
    /// The last line of the result, which is never cut: exit code and duration.
    pub footer: Option<String>,
    /// Why the call counts as failed although the tool worked: its command did not exit with
    /// code 0.
    pub failed: Option<String>,
    /// Whether that is so because of its arguments, which the model can correct.
    pub is_correctable: bool,
    /// The exit code; `None` if no command ran, or if it was ended before it could exit.
    pub exit_code: Option<i32>,
    /// Content that the tool stored on purpose, such as that of a deleted file.
    pub artifacts: Vec<Artifact>,
    /// Paths that the call deleted, relative to the worktree.
    pub deleted: Vec<String>,
    /// The versions of files that the call read or wrote.
    pub seen: Vec<SeenFile>,
    /// Bytes written to files.
    pub written_bytes: u64,
    /// All notes of the agent, if the call changed them.
    pub notes: Option<Vec<Note>>,
    /// Whether what it is about goes on by itself, so that the same call again is no repetition.
    pub goes_on: bool,
}

impl Answer {
    /// Creates a successful answer of a text and structured data.
    pub fn new(text: impl Into<String>, data: Value) -> Answer {
        Answer {
            text: text.into(),
            data,
            ..Answer::default()
        }
    }
}

/// A stored text that the agent can page through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// The name under which the agent reads it, as `artifact:<handle>`: short, unique for the
    /// agent, and still valid after a resume.
    pub handle: String,
    /// The journal's blob that holds it.
    pub blob: BlobId,
    /// Its size in bytes.
    pub bytes: u64,
    /// The real path of the file whose content it is, as far as it is that of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// Maximum size of recorded structured data, in bytes. Larger data is not recorded: the text and
/// its artifact hold the content.
const MAX_RECORDED_DATA: usize = 64 * 1024;
/// The name of the field of structured data that holds the content of what was read.
const CONTENT: &str = "content";
/// Maximum size of that field in a record, in bytes. The body shows the same, so a larger one is
/// left out.
const MAX_RECORDED_CONTENT: usize = 4 * 1024;

/// The result of one call, as returned to the caller and as recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolOutput {
    /// The call's id within its turn.
    pub call: CallId,
    /// Whether the tool did what was requested.
    pub success: bool,
    /// The structured result; null if the tool failed, and in the record if it is too large.
    pub data: Value,
    /// Why the call failed.
    pub error: Option<String>,
    /// The class of the failure; `None` on success, and for a command that ran but did not exit
    /// with code 0.
    pub error_kind: Option<ErrorKind>,
    /// The rule that denied the call, or something that it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denied_by: Option<String>,
    /// The exit code; `None` if no command ran, or if it was ended before it could exit.
    pub exit_code: Option<i32>,
    /// The duration of the call.
    #[serde(rename = "duration_ms", with = "milliseconds")]
    pub execution_time: Duration,
    /// The resources that the call used.
    pub resource_usage: ResourceUsage,
    /// The tool's text, shaped for the model. Any part of it may come from files or programs, so it
    /// is untrusted.
    pub body: String,
    /// The line after the body, in our own words: exit code and duration.
    pub footer: String,
    /// Complete texts of which the body shows a part, and the content of deleted files.
    pub artifacts: Vec<Artifact>,
    /// What was done about failures on the way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recovered: Vec<Recovery>,
    /// Paths that the call deleted, relative to the worktree.
    pub deleted: Vec<String>,
    /// The versions of files that the agent has now seen, folded by [`crate::ReadLedger::restore`].
    pub seen: Vec<SeenFile>,
    /// All notes of the agent, if the call changed them; restored by [`crate::Notes::restore`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<Vec<Note>>,
    /// Whether what it is about goes on by itself, so that the same call again is no repetition.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub goes_on: bool,
}

impl ToolOutput {
    /// Creates the result of a failed call that has nothing but an error message.
    #[must_use]
    pub fn failed(call: &CallId, error: &ToolError) -> ToolOutput {
        let message = format!("ERROR: {error}");
        let is_ours = matches!(error, ToolError::Interrupted(_));
        let (body, footer) = if is_ours {
            (String::new(), message)
        } else {
            (message, String::new())
        };
        ToolOutput {
            error: Some(error.to_string()),
            error_kind: Some(error.kind()),
            denied_by: error.rule().map(str::to_owned),
            body,
            footer,
            ..ToolOutput::empty(call)
        }
    }

    /// Creates the result of a call that was interrupted, so that its effects are unknown.
    #[must_use]
    pub fn interrupted(call: &CallId) -> ToolOutput {
        ToolOutput::failed(call, &ToolError::Interrupted(INTERRUPTED.to_owned()))
    }

    /// Creates an unsuccessful result with no content.
    #[must_use]
    pub fn empty(call: &CallId) -> ToolOutput {
        ToolOutput {
            call: call.clone(),
            success: false,
            data: Value::Null,
            error: None,
            error_kind: None,
            denied_by: None,
            exit_code: None,
            execution_time: Duration::ZERO,
            resource_usage: ResourceUsage::default(),
            body: String::new(),
            footer: String::new(),
            artifacts: Vec::new(),
            recovered: Vec::new(),
            deleted: Vec::new(),
            seen: Vec::new(),
            notes: None,
            goes_on: false,
        }
    }

    /// Returns the text for the model, which is never empty.
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

    /// Returns the answer that goes into the conversation; the same for a live and a replayed call.
    #[must_use]
    pub fn to_answer(&self) -> ToolAnswer {
        let text = self.text();
        let note = if self.body.is_empty() {
            text.clone()
        } else {
            self.footer.clone()
        };
        let same_again = match self.error_kind {
            Some(ErrorKind::Interrupted) => SameAgain::Stopped,
            _ if self.goes_on => SameAgain::GoesOn,
            _ => SameAgain::Repeats,
        };
        ToolAnswer {
            call_id: self.call.clone(),
            text,
            note,
            is_error: !self.success,
            same_again,
        }
    }

    /// Returns the result to record, without structured data of more than 64 KiB, and without a
    /// content of more than 4 KiB in it.
    #[must_use]
    pub fn to_record(&self) -> ToolOutput {
        let mut record = self.clone();
        if record
            .data
            .get(CONTENT)
            .and_then(Value::as_str)
            .is_some_and(|text| text.len() > MAX_RECORDED_CONTENT)
            && let Some(fields) = record.data.as_object_mut()
        {
            fields.remove(CONTENT);
        }
        if record.data.to_string().len() > MAX_RECORDED_DATA {
            record.data = Value::Null;
        }
        record
    }
}

/// Serializes a duration as whole milliseconds.
mod milliseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        duration: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        u64::deserialize(deserializer).map(Duration::from_millis)
    }
}

/// The executor's outcome for a call.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
#[expect(
    clippy::large_enum_variant,
    reason = "one value for each call; almost every one is the large variant"
)]
pub enum CallOutcome {
    /// The call has ended, successfully or not; its start and end are recorded.
    Done(ToolOutput),
    /// The user has to decide first. Nothing has run and nothing has been recorded. The decision is
    /// bound to the hash; repeating the call with that decision in [`crate::CallScope::approvals`]
    /// continues it.
    NeedsApproval {
        /// The hash that the decision is bound to.
        call: CallHash,
        /// The tool's canonical name.
        tool: String,
        /// The arguments in their canonical form, which the hash covers, with secrets redacted.
        arguments: Value,
        /// The id of the rule that asks.
        rule: String,
    },
    /// The call waits for what other agents do, which is recorded. Nothing else is: the same call
    /// is made again once that has happened.
    Waits,
}
