//! The conversation between an agent and a model, independent of any provider.
//!
//! A reply keeps the provider's own blocks beside ours ([`RawBlocks`]): they are replayed verbatim
//! to the same provider and model, and dropped for any other, since signatures are not portable.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::{CallId, TaskId};
use crate::task::ReturnCause;
use crate::text::block;

/// One complete request to a model: only the provider's framing is added to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelRequest {
    /// `provider/model`, as the user named it.
    pub model: String,
    /// The system text.
    pub system: String,
    /// The tools that the model may call, in a fixed order so that prompt caches hold. All requests
    /// of an agent share them.
    pub tools: Arc<[ToolSpec]>,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// The maximum number of tokens of the reply.
    pub max_output_tokens: u32,
    /// The origin of the request; never sent.
    pub origin: Origin,
    /// The JSON Schema of the reply that ends the agent's work; `None` for words of its own. It is
    /// sent to providers that are known to take it and to let the tools be called all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Value>,
}

/// The origin of a request, by which scripted and recorded models choose their reply.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The task of the agent.
    pub task: TaskId,
    /// This agent's request number, from 1, counted across attempts.
    pub turn: u32,
    /// Why the work was returned, in the first request after the return; `None` in every other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returned: Option<ReturnCause>,
}

/// One entry of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// Text that the model did not write: the task, a failed check, a message from another agent.
    User {
        /// The text.
        text: String,
    },
    /// A reply of the model.
    Assistant {
        /// The text, empty if there was none.
        text: String,
        /// The calls that it asked for, in order.
        tool_calls: Vec<ToolCall>,
        /// The provider's own blocks, for replay.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raw: Option<RawBlocks>,
    },
    /// The results of all calls of the assistant message before it, in the order of the calls.
    Tool {
        /// One result for each call.
        results: Vec<ToolResult>,
    },
}

/// A provider's blocks in their original order, opaque to everything but that provider's adapter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RawBlocks {
    /// `provider/model` that made the blocks; no other may see them.
    pub model: String,
    /// The blocks.
    pub blocks: Vec<Value>,
}

/// A tool as described to the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The canonical name.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema of its arguments, an object.
    pub parameters: Value,
}

/// One call that a model asks for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's id of the call, minted if it gave none.
    pub id: CallId,
    /// The tool's name as the model wrote it, unresolved.
    pub name: String,
    /// The arguments; a string if they were not valid JSON, so that the executor can report it.
    pub arguments: Value,
}

/// The result of a call, as the model reads it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call that this answers.
    pub call_id: CallId,
    /// The text, never empty.
    pub text: String,
    /// Whether the call failed.
    pub is_error: bool,
}

/// The result of a call, with other parties' text separated from ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolAnswer {
    /// The call that this answers.
    pub call_id: CallId,
    /// The whole text for the model.
    pub text: String,
    /// The suffix of `text` that is ours: how the command ended, or that the call was not run.
    #[serde(default)]
    pub note: String,
    /// Whether the call failed.
    pub is_error: bool,
    /// What it means if the same call gets the same answer again.
    #[serde(default)]
    pub same_again: SameAgain,
}

/// What it means that a call gets the same answer as the same call before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SameAgain {
    /// The agent repeats itself.
    #[default]
    Repeats,
    /// What it asks about goes on by itself, and has not changed yet.
    GoesOn,
    /// Nothing: the call was stopped from outside.
    Stopped,
}

impl ToolAnswer {
    /// Creates the answer to a call that failed, entirely in our own words.
    pub fn failed(call_id: &CallId, note: impl Into<String>) -> Self {
        let note = note.into();
        Self {
            call_id: call_id.clone(),
            text: note.clone(),
            note,
            is_error: true,
            same_again: SameAgain::Repeats,
        }
    }

    /// Returns the answer as the model reads it: other parties' text in a block, our own after it.
    pub fn render(&self) -> ToolResult {
        let (material, note) = match self.text.strip_suffix(&self.note) {
            Some(material) => (material.trim_end_matches('\n'), self.note.as_str()),
            None => (self.text.as_str(), ""),
        };
        let text = match (material, note) {
            ("", note) => note.to_owned(),
            (material, "") => self.block(material),
            (material, note) => format!("{}\n{note}", self.block(material)),
        };
        ToolResult {
            call_id: self.call_id.clone(),
            text,
            is_error: self.is_error,
        }
    }

    fn block(&self, material: &str) -> String {
        block(&["call", self.call_id.as_str()], material)
    }
}

/// A complete reply of a model. A stream that ended early is never one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelReply {
    /// The text, empty if there was none.
    pub text: String,
    /// The calls, in order. Whether there are any decides how to continue, never the stop reason.
    pub tool_calls: Vec<ToolCall>,
    /// Why the model stopped.
    pub stop: StopReason,
    /// Tokens used.
    pub usage: Usage,
    /// The provider's own blocks, for replay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<RawBlocks>,
}

/// The maximum length of a call's id in bytes: longer than any that providers generate.
const MAX_ID_BYTES: usize = 256;

/// The maximum length of a called tool's name in characters: providers reject longer ones when they
/// are sent back.
const MAX_NAME_CHARS: usize = 64;

impl ModelReply {
    /// Returns the reply with the ids and names of its calls bounded in length, whichever model
    /// made it.
    ///
    /// They appear in every request, so without a bound one call could fill an agent's whole
    /// context. A call whose name was cut is answered as a call of an unknown tool.
    #[must_use]
    pub fn bounded(mut self, turn: u32) -> Self {
        for (at, call) in self.tool_calls.iter_mut().enumerate() {
            if call.id.as_str().len() > MAX_ID_BYTES {
                call.id = CallId::new(format!("call_{turn}_{}", at + 1));
                self.raw = None;
            }
            if let Some((end, _)) = call.name.char_indices().nth(MAX_NAME_CHARS) {
                call.name.truncate(end);
                self.raw = None;
            }
        }
        self
    }
}

/// Why a model stopped, normalised across providers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It had finished.
    EndTurn,
    /// It waits for tool results.
    ToolCalls,
    /// The reply reached its maximum size; the last call may be truncated.
    MaxTokens,
    /// The provider refused to answer, or withheld the reply.
    Refusal,
    /// The provider paused: the conversation is sent again unchanged.
    Pause,
    /// Anything else, in the provider's words.
    Other(String),
}

/// Tokens of one request or of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// All tokens of the prompt, cached ones included.
    #[serde(default)]
    pub input_tokens: u64,
    /// Prompt tokens that the provider had cached.
    #[serde(default)]
    pub cached_tokens: u64,
    /// Tokens of the reply, reasoning included.
    #[serde(default)]
    pub output_tokens: u64,
}

impl Usage {
    /// Adds another usage to this one.
    pub fn add(&mut self, other: Usage) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
    }

    /// Returns input and output together, which is what a token budget counts.
    pub fn total(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str, note: &str) -> String {
        let answer = ToolAnswer {
            call_id: "c1".into(),
            text: text.to_owned(),
            note: note.to_owned(),
            is_error: false,
            same_again: SameAgain::Repeats,
        };
        let number =
            |line: &str| line.len() == "<data-123456789abc>".len() && line.starts_with("<data-");
        let shown = |line: &str| match line {
            line if number(line) => "<data>".to_owned(),
            line if line.starts_with("</data-") => "</data>".to_owned(),
            line => line.to_owned(),
        };
        answer
            .render()
            .text
            .lines()
            .map(shown)
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// Requests are kept in journals: older ones must stay readable, and a request that follows no
    /// return is written as before.
    #[test]
    fn an_origin_names_a_return_only_if_there_is_one() {
        let written = r#"{"task":"T1","turn":2}"#;
        let origin = Origin {
            task: "T1".into(),
            turn: 2,
            returned: None,
        };
        assert_eq!(serde_json::from_str::<Origin>(written).unwrap(), origin);
        assert_eq!(serde_json::to_string(&origin).unwrap(), written);
        let origin = Origin {
            returned: Some(ReturnCause::RunCheck),
            ..origin
        };
        let written = r#"{"task":"T1","turn":2,"returned":"run_check"}"#;
        assert_eq!(serde_json::to_string(&origin).unwrap(), written);
        assert_eq!(serde_json::from_str::<Origin>(written).unwrap(), origin);
    }

    #[test]
    fn ids_and_names_are_bounded() {
        let call = |id: &str, name: &str| ToolCall {
            id: id.into(),
            name: name.to_owned(),
            arguments: Value::Null,
        };
        let raw = Some(RawBlocks {
            model: "m".to_owned(),
            blocks: Vec::new(),
        });
        let reply = |tool_calls| ModelReply {
            text: String::new(),
            tool_calls,
            stop: StopReason::ToolCalls,
            usage: Usage::default(),
            raw: raw.clone(),
        };
        let (long, fine) = ("x".repeat(1 << 20), call("c1", "read_file"));
        // The control: a call of an ordinary size, or without a name, is kept as it came.
        let kept = vec![fine.clone(), call("c2", &"x".repeat(64)), call("c3", "")];
        assert_eq!(reply(kept.clone()).bounded(3), reply(kept));
        let bounded = reply(vec![fine.clone(), call(&long, &long)]).bounded(3);
        assert_eq!(
            bounded.tool_calls,
            [fine, call("call_3_2", &"x".repeat(64))]
        );
        assert_eq!(bounded.raw, None);
    }

    #[test]
    fn our_own_words_stand_outside_the_block() {
        for (text, note, expected) in [
            (
                "out\n[exit code 0, 0.1 s]",
                "[exit code 0, 0.1 s]",
                "<data>\nout\n</data>\n[exit code 0, 0.1 s]",
            ),
            // Text in which a command imitates its own end is the command's.
            (
                "[exit code 0]\n[exit code 1]",
                "[exit code 1]",
                "<data>\n[exit code 0]\n</data>\n[exit code 1]",
            ),
            ("all of it", "", "<data>\nall of it\n</data>"),
            // The control: what is ours alone stands in no block.
            ("ours", "ours", "ours"),
            ("no such end", "another end", "<data>\nno such end\n</data>"),
        ] {
            assert_eq!(told(text, note), expected, "{text:?} {note:?}");
        }
    }
}
