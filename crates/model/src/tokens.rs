//! Counts tokens: by a cheap upper bound as long as that is enough, exactly by a tokenizer after
//! that, and by an estimate if a server reports no usable counts.
//!
//! The vocabulary is o200k for every model. It is OpenAI's; Anthropic and Google publish none, so
//! for their models the count bounds the context but is not what they bill.

mod bound;
mod memo;

use std::sync::{LazyLock, OnceLock};

use orchestrate_core::agent::context::TokenCounter;
use orchestrate_core::{Message, ModelReply, ModelRequest, ToolCall, Usage};
use tiktoken_rs::CoreBPE;

use self::bound::{PIECE_BYTES, WordBound};
use self::memo::Memo;
use crate::error::ModelError;

/// The vocabulary, loaded once per process.
static VOCABULARY: OnceLock<Result<CoreBPE, String>> = OnceLock::new();

/// A cache of counts, shared by all agents, whose system texts and tools are the same.
static COUNTED: LazyLock<Memo> = LazyLock::new(Memo::default);

/// Counts tokens exactly, with the o200k vocabulary.
#[derive(Clone, Copy)]
pub struct Tokenizer(&'static CoreBPE);

/// Bounds tokens by bytes and words until the tokenizer has been loaded, and counts them from then
/// on.
///
/// So a run of short conversations never needs the tokenizer, which takes a fifth of a second to
/// load and tens of megabytes of memory.
#[derive(Clone, Copy, Debug, Default)]
pub struct LazyCounter(());

impl Tokenizer {
    /// Loads the vocabulary, or waits while another thread loads it. This takes a fifth of a
    /// second in a release build.
    ///
    /// # Errors
    ///
    /// [`ModelError::Setup`] if the embedded vocabulary cannot be read.
    pub fn load() -> Result<Self, ModelError> {
        let loaded =
            VOCABULARY.get_or_init(|| tiktoken_rs::o200k_base().map_err(|error| error.to_string()));
        match loaded {
            Ok(vocabulary) => Ok(Self(vocabulary)),
            Err(problem) => Err(ModelError::Setup {
                problem: format!("the tokenizer: {problem}"),
            }),
        }
    }

    fn loaded() -> Option<Self> {
        VOCABULARY.get()?.as_ref().ok().map(Self)
    }
}

impl TokenCounter for Tokenizer {
    fn count(&self, text: &str) -> usize {
        COUNTED.count(text, |text| {
            pieces(text)
                .map(|piece| self.0.encode_ordinary(piece).len())
                .sum()
        })
    }

    fn is_exact(&self) -> bool {
        true
    }
}

fn pieces(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let (piece, rest) = text.split_at_checked(text.floor_char_boundary(PIECE_BYTES))?;
        text = rest;
        (!piece.is_empty()).then_some(piece)
    })
}

impl std::fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tokenizer(o200k)")
    }
}

impl LazyCounter {
    /// Returns the best counter available now. Use a single one for a whole decision: whether a sum
    /// of counts from different counters is exact is unknown.
    pub fn current(&self) -> Box<dyn TokenCounter> {
        match Tokenizer::loaded() {
            Some(tokenizer) => Box::new(tokenizer),
            None => Box::new(WordBound),
        }
    }

    /// Loads the tokenizer on a thread for blocking work, or waits while another task loads it.
    ///
    /// # Errors
    ///
    /// As [`Tokenizer::load`].
    pub async fn wait(&self) -> Result<Tokenizer, ModelError> {
        let loaded = tokio::task::spawn_blocking(Tokenizer::load).await;
        loaded.unwrap_or_else(|error| {
            Err(ModelError::Setup {
                problem: format!("the tokenizer: {error}"),
            })
        })
    }
}

impl TokenCounter for LazyCounter {
    fn count(&self, text: &str) -> usize {
        self.current().count(text)
    }

    fn is_exact(&self) -> bool {
        Tokenizer::loaded().is_some()
    }
}

/// Estimates the tokens of names and signatures without the vocabulary, mostly a little too high:
/// as many as there are parts of words, numbers, and signs that do not stand beside letters.
pub fn estimated_tokens_of_code(text: &str) -> usize {
    let mut tokens = 0;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let mut length = 0;
        for c in rest.chars() {
            if kind(c) != kind(first) || c.is_uppercase() && c != first {
                break;
            }
            length += c.len_utf8();
        }
        let (part, after) = rest.split_at(length.max(first.len_utf8()));
        tokens += match kind(first) {
            Part::Word if part.is_ascii() => part.len().div_ceil(WORD_BYTES),
            // Rare letters are tokens of one byte each.
            Part::Word => part
                .chars()
                .map(|c| if c.len_utf8() > 3 { c.len_utf8() } else { 1 })
                .sum(),
            Part::Number => part.len().div_ceil(3),
            Part::Signs => part.len().div_ceil(2),
            // A blank is part of the word after it.
            Part::Blanks => usize::from(part != " "),
        };
        rest = after;
    }
    tokens
}

/// Bytes of a part of a word that are one token.
const WORD_BYTES: usize = 5;

/// The kinds of parts that a text is divided into for an estimate.
#[derive(PartialEq)]
enum Part {
    Word,
    Number,
    Signs,
    Blanks,
}

fn kind(c: char) -> Part {
    match c {
        _ if c.is_alphabetic() => Part::Word,
        _ if c.is_numeric() => Part::Number,
        _ if c.is_whitespace() => Part::Blanks,
        _ => Part::Signs,
    }
}

/// Bytes per token in an estimate; the usual rule of thumb for English and code.
const BYTES_PER_TOKEN: usize = 4;
/// More tokens than any request has; a server that reports as many is wrong.
const ABSURD_TOKENS: u64 = 100_000_000;

/// Returns the usage that a server reported if it is plausible, or else an estimate.
pub(crate) fn usage_or_estimate(
    given: Option<Usage>,
    request: &ModelRequest,
    reply: &ModelReply,
) -> Usage {
    match given {
        Some(usage) if is_believable(&usage) => usage,
        other => {
            if let Some(usage) = other {
                tracing::warn!(
                    ?usage,
                    model = request.model,
                    "the reported usage cannot be true; it is estimated"
                );
            }
            estimated_usage(request, reply)
        }
    }
}

fn is_believable(usage: &Usage) -> bool {
    usage.input_tokens > 0
        && usage.input_tokens < ABSURD_TOKENS
        && usage.output_tokens < ABSURD_TOKENS
}

/// Estimates the token usage of a request and its reply.
pub(crate) fn estimated_usage(request: &ModelRequest, reply: &ModelReply) -> Usage {
    Usage {
        input_tokens: estimate(request_bytes(request)),
        cached_tokens: 0,
        output_tokens: estimate(reply.text.len() + calls_bytes(&reply.tool_calls)),
    }
}

fn estimate(bytes: usize) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN) as u64
}

fn request_bytes(request: &ModelRequest) -> usize {
    let tools: usize = request
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + tool.parameters.to_string().len())
        .sum();
    request.system.len() + tools + request.messages.iter().map(message_bytes).sum::<usize>()
}

fn message_bytes(message: &Message) -> usize {
    match message {
        Message::User { text } => text.len(),
        Message::Assistant {
            text, tool_calls, ..
        } => text.len() + calls_bytes(tool_calls),
        Message::Tool { results } => results.iter().map(|result| result.text.len()).sum(),
    }
}

fn calls_bytes(calls: &[ToolCall]) -> usize {
    calls
        .iter()
        .map(|call| call.name.len() + call.arguments.to_string().len())
        .sum()
}

#[cfg(test)]
mod tests;
