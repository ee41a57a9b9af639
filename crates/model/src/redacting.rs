//! Redacts the run's secrets from what a model sends, before it is shown or recorded.
//!
//! A key that a server echoes is never shown, in whatever form and over however many pieces of a
//! stream it arrives. The redacted reply is both recorded and acted upon, so a replay sees the same
//! reply.

use async_trait::async_trait;
use orchestrate_core::agent::model_search::{SearchReply, SearchRequest, SearchResult};
use orchestrate_core::{
    CallId, ModelReply, ModelRequest, RawBlocks, RedactedStream, Redactor, ToolCall,
};

use crate::error::ModelError;
use crate::model::{Delta, Model};

/// A model whose replies and deltas are redacted.
#[derive(Debug)]
pub struct Redacting<M> {
    inner: M,
    redactor: Redactor,
}

impl<M: Model> Redacting<M> {
    /// Wraps a model, whose replies are redacted with this redactor.
    pub fn new(inner: M, redactor: Redactor) -> Self {
        Self { inner, redactor }
    }
}

#[async_trait]
impl<M: Model> Model for Redacting<M> {
    async fn complete(
        &self,
        request: &ModelRequest,
        on_delta: &mut (dyn for<'d> FnMut(Delta<'d>) + Send),
    ) -> Result<ModelReply, ModelError> {
        if self.redactor.is_empty() {
            return self.inner.complete(request, on_delta).await;
        }
        let mut text = RedactedStream::new(&self.redactor);
        let mut reasoning = RedactedStream::new(&self.redactor);
        let mut tell = |delta: Delta<'_>| match delta {
            // The stream holds back text that may be the beginning of a secret until more of it has
            // arrived.
            Delta::Text(piece) => tell_text(&text.push(piece), on_delta),
            Delta::Reasoning(piece) => tell_reasoning(&reasoning.push(piece), on_delta),
            Delta::ToolCall { name } => on_delta(Delta::ToolCall {
                name: &self.redactor.text(name),
            }),
            Delta::Retry { .. } => {
                (text, reasoning) = (
                    RedactedStream::new(&self.redactor),
                    RedactedStream::new(&self.redactor),
                );
                on_delta(delta);
            }
        };
        let reply = self.inner.complete(request, &mut tell).await?;
        tell_reasoning(&reasoning.finish(), on_delta);
        tell_text(&text.finish(), on_delta);
        Ok(redacted(&self.redactor, &reply))
    }

    async fn search(&self, request: &SearchRequest) -> Result<SearchReply, ModelError> {
        let reply = self.inner.search(request).await?;
        let redactor = &self.redactor;
        let page = |SearchResult {
                        title,
                        url,
                        snippet,
                    }| SearchResult {
            title: redactor.owned(title),
            url: redactor.owned(url),
            snippet: redactor.owned(snippet),
        };
        Ok(SearchReply {
            text: redactor.owned(reply.text),
            results: reply.results.into_iter().map(page).collect(),
            failure: reply.failure.map(|failure| redactor.owned(failure)),
            ..reply
        })
    }
}

fn tell_text(piece: &str, on_delta: &mut (dyn for<'d> FnMut(Delta<'d>) + Send)) {
    if !piece.is_empty() {
        on_delta(Delta::Text(piece));
    }
}

fn tell_reasoning(piece: &str, on_delta: &mut (dyn for<'d> FnMut(Delta<'d>) + Send)) {
    if !piece.is_empty() {
        on_delta(Delta::Reasoning(piece));
    }
}

/// Redacts a reply. If that changes anything, the provider's raw blocks are dropped: they may be
/// signed, and a signature does not match redacted content.
fn redacted(redactor: &Redactor, reply: &ModelReply) -> ModelReply {
    let call = |call: &ToolCall| ToolCall {
        id: CallId::new(redactor.text(call.id.as_str())),
        name: redactor.text(&call.name).into_owned(),
        arguments: redactor.value(call.arguments.clone()),
    };
    let raw = |raw: &RawBlocks| RawBlocks {
        model: raw.model.clone(),
        blocks: raw
            .blocks
            .iter()
            .map(|block| redactor.value(block.clone()))
            .collect(),
    };
    let ModelReply {
        text,
        tool_calls,
        stop,
        usage,
        raw: blocks,
    } = reply;
    let redacted = ModelReply {
        text: redactor.text(text).into_owned(),
        tool_calls: tool_calls.iter().map(call).collect(),
        stop: stop.clone(),
        usage: *usage,
        raw: blocks.as_ref().map(raw),
    };
    if redacted.raw == reply.raw
        && redacted.text == reply.text
        && redacted.tool_calls == reply.tool_calls
    {
        return redacted;
    }
    ModelReply {
        raw: None,
        ..redacted
    }
}

#[cfg(test)]
mod tests {
    use orchestrate_core::{Secret, StopReason, Usage};
    use serde_json::json;

    use super::*;
    use crate::test_server::request;

    const KEY: &str = "sk-0123456789abcdefghijklmnop";

    /// Sends its reply piece by piece, and then returns it as a whole.
    struct Echo(Vec<&'static str>);

    #[async_trait]
    impl Model for Echo {
        async fn complete(
            &self,
            _: &ModelRequest,
            on_delta: &mut (dyn for<'d> FnMut(Delta<'d>) + Send),
        ) -> Result<ModelReply, ModelError> {
            self.0.iter().for_each(|piece| on_delta(Delta::Text(piece)));
            let text = self.0.concat();
            let call = ToolCall {
                id: "c1".into(),
                name: "f".to_owned(),
                arguments: json!({ "a": text }),
            };
            let (stop, usage) = (StopReason::ToolCalls, Usage::default());
            Ok(ModelReply {
                text,
                tool_calls: vec![call],
                stop,
                usage,
                raw: None,
            })
        }
    }

    #[tokio::test]
    async fn a_key_over_several_pieces_reaches_nobody() {
        let pieces = vec![
            "the key is sk-0123",
            "456789abc",
            "defghijklm",
            "nop, is it",
            " not?",
        ];
        assert!(pieces.concat().contains(KEY));
        let model = Redacting::new(Echo(pieces), Redactor::new([Secret::new("KEY", KEY)]));
        let mut shown = String::new();
        let mut show = |delta: Delta<'_>| {
            if let Delta::Text(piece) = delta {
                shown.push_str(piece);
            }
        };
        let reply = model.complete(&request("m"), &mut show).await.unwrap();
        let expected = "the key is [redacted:KEY], is it not?";
        assert_eq!((shown.as_str(), reply.text.as_str()), (expected, expected));
        assert_eq!(reply.tool_calls[0].arguments, json!({ "a": expected }));
    }
}
