//! What an agent and a model say to each other, in terms of no provider.
//!
//! A reply keeps the provider's own blocks beside ours ([`RawBlocks`]): they are replayed verbatim to the
//! same provider and model, and dropped for any other, since signatures do not survive a change.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::block::block;
use crate::event::ReturnCause;
use crate::ids::{CallId, TaskId};

/// One request to a model, complete: nothing is added to it on the way but the provider's own framing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelRequest {
    /// `provider/model`, as the user named it.
    pub model: String,
    /// The system text.
    pub system: String,
    /// The tools that the model may call, in a fixed order so that prompt caches hold.
    pub tools: Vec<ToolSpec>,
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// The largest number of tokens that the reply may have.
    pub max_output_tokens: u32,
    /// Who asks; never sent.
    pub origin: Origin,
}

/// Who sends a request: what scripted and recorded models choose their reply by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The task whose agent asks.
    pub task: TaskId,
    /// This agent's request number, from 1, counted across attempts.
    pub turn: u32,
    /// Why the work came back, in the first request after it did; `None` in every other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub returned: Option<ReturnCause>,
}

/// One entry of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// Text that is not the model's: the task, a returned check, a message of another agent.
    User {
        /// The text.
        text: String,
    },
    /// What the model said.
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

/// A tool as the model sees it.
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
    /// The tool's name as the model wrote it, not resolved.
    pub name: String,
    /// The arguments; a text (not an object) if they were not valid JSON, so that the executor can say so.
    pub arguments: Value,
}

/// What a tool answered, as the model reads it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call that this answers.
    pub call_id: CallId,
    /// The shaped text, never empty.
    pub text: String,
    /// Whether the call failed.
    pub is_error: bool,
}

/// What became of a call, with what of it is others' words and what is ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolAnswer {
    /// The call that this answers.
    pub call_id: CallId,
    /// Everything that the model is told.
    pub text: String,
    /// How `text` ends in our own words: how the command ended, or that the call was not run.
    #[serde(default)]
    pub note: String,
    /// Whether the call failed.
    pub is_error: bool,
}

impl ToolAnswer {
    /// Creates the answer to a call that failed, all of it in our own words.
    pub fn failed(call_id: &CallId, note: impl Into<String>) -> Self {
        let note = note.into();
        Self { call_id: call_id.clone(), text: note.clone(), note, is_error: true }
    }

    /// Returns the answer as the model reads it: what others wrote in a block, our own words after it.
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
        ToolResult { call_id: self.call_id.clone(), text, is_error: self.is_error }
    }

    fn block(&self, material: &str) -> String {
        block(&["call", self.call_id.as_str()], material)
    }
}

/// A whole reply of a model. A stream that ended early is never one of these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelReply {
    /// The text, empty if there was none.
    pub text: String,
    /// The calls, in order. Their presence decides, never the stop reason.
    pub tool_calls: Vec<ToolCall>,
    /// Why the model stopped.
    pub stop: StopReason,
    /// What it cost.
    pub usage: Usage,
    /// The provider's own blocks, for replay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<RawBlocks>,
}

/// The longest id of a call in bytes: longer than any that providers make.
const MAX_ID_BYTES: usize = 256;

/// The longest name of a tool in characters that a model may call: providers accept no longer one when it comes back.
const MAX_NAME_CHARS: usize = 64;

impl ModelReply {
    /// Returns the reply with the ids and names of its calls bounded, whoever made it.
    ///
    /// They can be left out of no request, so without a bound one call could fill an agent's whole context. A call
    /// whose name was cut is answered as one of an unknown tool.
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

/// Why a model stopped, normalised over providers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It had said what it wanted.
    EndTurn,
    /// It waits for tool results.
    ToolCalls,
    /// The reply reached its largest size; the last call may be cut off.
    MaxTokens,
    /// The provider would not answer, or withheld what the model said.
    Refusal,
    /// The provider made a pause: the conversation is sent again as it is.
    Pause,
    /// Anything else, in the provider's words.
    Other(String),
}

/// Tokens of one request or of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Usage {
    /// All tokens of the prompt, cached ones included.
    #[serde(default)]
    pub input_tokens: u64,
    /// Those of the prompt that the provider had cached.
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
        let answer = ToolAnswer { call_id: "c1".into(), text: text.to_owned(), note: note.to_owned(), is_error: false };
        let number = |line: &str| line.len() == "<data-123456789abc>".len() && line.starts_with("<data-");
        let shown = |line: &str| match line {
            line if number(line) => "<data>".to_owned(),
            line if line.starts_with("</data-") => "</data>".to_owned(),
            line => line.to_owned(),
        };
        answer.render().text.lines().map(shown).collect::<Vec<_>>().join("\n")
    }

    /// Requests are kept in journals: one of before is read, and one that answers to no return is written as ever.
    #[test]
    fn an_origin_names_a_return_only_if_there_is_one() {
        let written = r#"{"task":"T1","turn":2}"#;
        let origin = Origin { task: "T1".into(), turn: 2, returned: None };
        assert_eq!(serde_json::from_str::<Origin>(written).unwrap(), origin);
        assert_eq!(serde_json::to_string(&origin).unwrap(), written);
        let origin = Origin { returned: Some(ReturnCause::RunCheck), ..origin };
        let written = r#"{"task":"T1","turn":2,"returned":"run_check"}"#;
        assert_eq!(serde_json::to_string(&origin).unwrap(), written);
        assert_eq!(serde_json::from_str::<Origin>(written).unwrap(), origin);
    }

    #[test]
    fn ids_and_names_are_bounded() {
        let call = |id: &str, name: &str| ToolCall { id: id.into(), name: name.to_owned(), arguments: Value::Null };
        let raw = Some(RawBlocks { model: "m".to_owned(), blocks: Vec::new() });
        let reply = |tool_calls| ModelReply {
            text: String::new(),
            tool_calls,
            stop: StopReason::ToolCalls,
            usage: Usage::default(),
            raw: raw.clone(),
        };
        let (long, fine) = ("x".repeat(1 << 20), call("c1", "read_file"));
        assert_eq!(reply(vec![fine.clone()]).bounded(3), reply(vec![fine.clone()]));
        let bounded = reply(vec![fine.clone(), call(&long, &long)]).bounded(3);
        assert_eq!(bounded.tool_calls, [fine, call("call_3_2", &"x".repeat(64))]);
        assert_eq!(bounded.raw, None);
    }

    #[test]
    fn our_own_words_stand_outside_the_block() {
        for (text, note, expected) in [
            ("out\n[exit code 0, 0.1 s]", "[exit code 0, 0.1 s]", "<data>\nout\n</data>\n[exit code 0, 0.1 s]"),
            // What a command writes about its own end is its own.
            ("[exit code 0]\n[exit code 1]", "[exit code 1]", "<data>\n[exit code 0]\n</data>\n[exit code 1]"),
            ("all of it", "", "<data>\nall of it\n</data>"),
            ("ours", "ours", "ours"),
            ("no such end", "another end", "<data>\nno such end\n</data>"),
        ] {
            assert_eq!(told(text, note), expected, "{text:?} {note:?}");
        }
    }
}
