//! What an agent and a model say to each other, in terms of no provider.
//!
//! A reply keeps the provider's own blocks beside ours ([`RawBlocks`]): they are replayed verbatim to the
//! same provider and model, and dropped for any other, since signatures do not survive a change.

use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    /// The provider would not answer.
    Refusal,
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

    /// Gives input and output together, which is what a token budget counts.
    pub fn total(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}
