//! Redacts the run's secrets from what a model sends, before it is shown or recorded.
//!
//! A key that a server echoes is never shown, in whatever form and over however many pieces of a
//! stream it arrives. The redacted reply is both recorded and acted upon, so a replay sees the same
//! reply.

use async_trait::async_trait;
use orchestrate_core::agent::model_search::{SearchReply, SearchRequest, SearchResult};
use orchestrate_core::{CallId, ModelReply, ModelRequest, RedactedStream, Redactor, ToolCall};

use crate::error::ModelError;
use crate::model::{Delta, Model};
use crate::wire::OnDelta;

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
        let mut deltas = RedactedDeltas::new(&self.redactor);
        let reply = self
            .inner
            .complete(request, &mut |delta| deltas.pass_on(delta, on_delta))
            .await?;
        deltas.finish(on_delta);
        Ok(redacted(&self.redactor, &reply))
    }

    async fn search(&self, request: &SearchRequest) -> Result<SearchReply, ModelError> {
        let mut reply = self.inner.search(request).await?;
        reply.text = self.redactor.owned(reply.text);
        reply.failure = reply.failure.map(|failure| self.redactor.owned(failure));
        for page in &mut reply.results {
            *page = SearchResult {
                title: self.redactor.text(&page.title).into_owned(),
                url: self.redactor.text(&page.url).into_owned(),
                snippet: self.redactor.text(&page.snippet).into_owned(),
            };
        }
        Ok(reply)
    }
}

/// The pieces of a reply that are shown while it arrives.
struct RedactedDeltas<'r> {
    redactor: &'r Redactor,
    text: RedactedStream,
    reasoning: RedactedStream,
}

impl<'r> RedactedDeltas<'r> {
    fn new(redactor: &'r Redactor) -> Self {
        Self {
            redactor,
            text: RedactedStream::new(redactor),
            reasoning: RedactedStream::new(redactor),
        }
    }

    /// Passes on what cannot be the beginning of a secret; the rest is held back until more of it
    /// has arrived.
    fn pass_on(&mut self, delta: Delta<'_>, on_delta: OnDelta<'_>) {
        match delta {
            Delta::Text(piece) => show_text(&self.text.push(piece), on_delta),
            Delta::Reasoning(piece) => show_reasoning(&self.reasoning.push(piece), on_delta),
            Delta::ToolCall { name } => on_delta(Delta::ToolCall {
                name: &self.redactor.text(name),
            }),
            Delta::Retry { .. } => {
                *self = Self::new(self.redactor);
                on_delta(delta);
            }
        }
    }

    /// Passes on what was held back.
    fn finish(mut self, on_delta: OnDelta<'_>) {
        show_reasoning(&self.reasoning.finish(), on_delta);
        show_text(&self.text.finish(), on_delta);
    }
}

fn show_text(piece: &str, on_delta: OnDelta<'_>) {
    if !piece.is_empty() {
        on_delta(Delta::Text(piece));
    }
}

fn show_reasoning(piece: &str, on_delta: OnDelta<'_>) {
    if !piece.is_empty() {
        on_delta(Delta::Reasoning(piece));
    }
}

/// Redacts a reply. If that changes anything, the provider's raw blocks are dropped: they may be
/// signed, and a signature does not match redacted content.
fn redacted(redactor: &Redactor, reply: &ModelReply) -> ModelReply {
    let mut redacted = reply.clone();
    redacted.text = redactor.owned(redacted.text);
    for call in &mut redacted.tool_calls {
        *call = ToolCall {
            id: CallId::new(redactor.text(call.id.as_str())),
            name: redactor.text(&call.name).into_owned(),
            arguments: redactor.value(call.arguments.take()),
        };
    }
    if let Some(raw) = &mut redacted.raw {
        for block in &mut raw.blocks {
            *block = redactor.value(block.take());
        }
    }
    if redacted != *reply {
        redacted.raw = None;
    }
    redacted
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
