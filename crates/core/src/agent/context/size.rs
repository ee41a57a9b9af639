//! The size of a request: the tokens of its canonical rendering and of its margins.

use serde::Serialize;

use crate::agent::conversation::{Message, ModelRequest, ToolSpec};

/// Tokens left free for the framing that a provider adds to the canonical rendering.
///
/// Chat Completions adds about four tokens a message and Anthropic Messages a system block for
/// tools; the canonical rendering's own JSON keys are counted already and are longer than either.
pub const PROTOCOL_MARGIN: usize = 256;

/// Tokens left free for each tool, message, call and result: a protocol's keys may be longer than
/// ours. The model crate's tests compare the bodies of both protocols with the sum.
pub const PART_MARGIN: usize = 8;

/// Counts tokens.
pub trait TokenCounter: Send + Sync {
    /// Returns the number of tokens of the text, or an upper bound.
    fn count(&self, text: &str) -> usize;
    /// Reports whether [`Self::count`] is exact; nothing is left out because of an inexact count.
    fn is_exact(&self) -> bool;
}

/// Bounds tokens by bytes: every token of a byte-pair vocabulary stands for at least one byte.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByteBound;

impl TokenCounter for ByteBound {
    fn count(&self, text: &str) -> usize {
        text.len()
    }

    fn is_exact(&self) -> bool {
        false
    }
}

/// Returns the tokens of a request's canonical rendering, margins included.
pub fn request_tokens(request: &ModelRequest, counter: &dyn TokenCounter) -> usize {
    let mut tokens = tokens_beside_messages(&request.system, &request.tools, counter);
    for message in &request.messages {
        tokens += message_tokens(message, counter) + PART_MARGIN * parts(message);
    }
    tokens
}

/// Returns the tokens of everything in a request but its messages, margins included.
pub(crate) fn tokens_beside_messages(
    system: &str,
    tools: &[ToolSpec],
    counter: &dyn TokenCounter,
) -> usize {
    fixed_tokens(system, tools, counter) + PROTOCOL_MARGIN + PART_MARGIN * tools.len()
}

/// Returns the tokens of the part that all requests of a role share: system text and tool schemas.
pub fn fixed_tokens(system: &str, tools: &[ToolSpec], counter: &dyn TokenCounter) -> usize {
    counter.count(system)
        + tools
            .iter()
            .map(|tool| counter.count(&canonical(tool)))
            .sum::<usize>()
}

/// Returns the tokens of a message; of a reply, those of the larger of its two forms. A provider
/// gets its own blocks back, which repeat the text and the calls, and every other one the text and
/// the calls alone.
///
/// Chat Completions nests the arguments of a call as JSON within a JSON string, so they are counted
/// that way.
pub(super) fn message_tokens(message: &Message, counter: &dyn TokenCounter) -> usize {
    let mut message = message.clone();
    let mut in_blocks = 0;
    if let Message::Assistant {
        tool_calls, raw, ..
    } = &mut message
    {
        for call in tool_calls {
            call.arguments = call.arguments.to_string().into();
        }
        in_blocks = raw.take().map_or(0, |raw| counter.count(&canonical(&raw)));
    }
    in_blocks.max(counter.count(&canonical(&message)))
}

/// Returns the number of a message's parts that a protocol frames: itself, its calls and its
/// results.
pub(super) fn parts(message: &Message) -> usize {
    match message {
        Message::User { .. } => 1,
        Message::Assistant { tool_calls, .. } => 1 + tool_calls.len(),
        Message::Tool { results } => 1 + results.len(),
    }
}

/// Renders one part canonically: compact JSON, keys in declaration order. These types always
/// serialise.
fn canonical<T: Serialize>(part: &T) -> String {
    serde_json::to_string(part).unwrap_or_default()
}
