//! A model whose replies come from a closure, for what no script can express, such as waiting for
//! another task or panicking.

use std::sync::Arc;

use async_trait::async_trait;
use orchestrate_core::{ModelReply, ModelRequest, StopReason, ToolCall, Usage};
use orchestrate_model::{Delta, Model, ModelError};
use serde_json::json;

struct Answering<A>(A);

#[async_trait]
impl<A, R> Model for Answering<A>
where
    A: Fn(ModelRequest) -> R + Send + Sync,
    R: Future<Output = ModelReply> + Send,
{
    async fn complete(
        &self,
        request: &ModelRequest,
        _: &mut (dyn for<'d> FnMut(Delta<'d>) + Send),
    ) -> Result<ModelReply, ModelError> {
        Ok((self.0)(request.clone()).await)
    }
}

/// Creates a model from a function that answers each request.
pub(crate) fn answering<A, R>(answer: A) -> Arc<dyn Model>
where
    A: Fn(ModelRequest) -> R + Send + Sync + 'static,
    R: Future<Output = ModelReply> + Send + 'static,
{
    Arc::new(Answering(answer))
}

/// Answers the first turn with a call that writes `<task>.txt`, and every later turn with the end
/// of the work.
pub(crate) fn write_or_end(request: &ModelRequest) -> ModelReply {
    let path = format!("{}.txt", request.origin.task);
    let call = ToolCall {
        id: "c1".into(),
        name: "write_file".to_owned(),
        arguments: json!({"path": path, "content": "1\n"}),
    };
    let first = request.origin.turn == 1;
    ModelReply {
        text: "Done.".to_owned(),
        tool_calls: if first { vec![call] } else { Vec::new() },
        stop: if first {
            StopReason::ToolCalls
        } else {
            StopReason::EndTurn
        },
        usage: Usage::default(),
        raw: None,
    }
}
