//! OpenAI's Chat Completions, as its many servers really implement it.
//!
//! A reply is complete once `[DONE]` has arrived. A `finish_reason` alone is not the end: the
//! connection may break right after it. Sources: OpenAI's OpenAPI document 2.3.0, and observed
//! deviations of Ollama, vLLM, llama.cpp, LiteLLM, OpenRouter and mock servers.

use orchestrate_core::agent::conversation::{RawBlocks, ToolResult};
use orchestrate_core::{CallId, Message, ModelReply, ModelRequest, StopReason, ToolCall, Usage};
use serde_json::{Map, Value, json};

use super::answer::response_format;
use super::arguments::{arguments_of, as_object};
use super::content::{
    ContentMeter, MAX_CALLS, MAX_NAME_CHARS, OnDelta, cut_name, number, plain, settle_ids, text_at,
    values_of,
};
use super::fault::Fault;
use super::sse::Event;
use crate::model::Delta;
use crate::tokens::usage_or_estimate;

/// Maximum number of checks for complete arguments of a call; see [`PartialCall::is_complete`].
const MAX_COMPLETENESS_CHECKS: u32 = 64;

/// The finish reasons of a reply that was cut off at its maximum size (OpenAI, Mistral, Gemini).
const CUT: &[&str] = &["length", "model_length", "max_tokens"];
/// The finish reasons of a reply that was withheld, completely or in part (OpenAI, Zhipu, Gemini).
const WITHHELD: &[&str] = &[
    "content_filter",
    "refusal",
    "sensitive",
    "safety",
    "recitation",
    "blocklist",
    "prohibited_content",
    "spii",
];
/// The finish reasons of a reply that failed on the server's side, so that a retry may help
/// (OpenRouter, DeepSeek, Zhipu, vLLM).
const BROKEN_OFF: &[&str] = &[
    "error",
    "insufficient_system_resource",
    "network_error",
    "abort",
];

/// Returns the body of a request; `max_tokens_key` is the server's name of the parameter for
/// the maximum reply size, and `answer` the form of the agent's last reply.
pub(crate) fn body(
    request: &ModelRequest,
    model: &str,
    max_tokens_key: &str,
    answer: Option<&Value>,
) -> Value {
    let mut body = json!({
        "model": model,
        "stream": true,
        "stream_options": {"include_usage": true},
        max_tokens_key: request.max_output_tokens,
    });
    if let Some(object) = body.as_object_mut() {
        if !request.tools.is_empty() {
            object.insert("tools".to_owned(), tools(request));
        }
        if let Some(schema) = answer {
            object.insert("response_format".to_owned(), response_format(schema));
        }
        object.insert("messages".to_owned(), Value::Array(messages(request)));
    }
    body
}

fn tools(request: &ModelRequest) -> Value {
    request.tools.iter().map(tool).collect()
}

fn tool(tool: &orchestrate_core::ToolSpec) -> Value {
    json!({"type": "function", "function": {
        "name": tool.name, "description": tool.description, "parameters": tool.parameters,
    }})
}

fn messages(request: &ModelRequest) -> Vec<Value> {
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        messages.push(json!({"role": "system", "content": request.system}));
    }
    let mut entries = request.messages.iter().peekable();
    while let Some(entry) = entries.next() {
        match entry {
            Message::User { text } => {
                // The chat templates of local models require alternating roles.
                let mut text = text.clone();
                while let Some(Message::User { text: more }) = entries.peek() {
                    text.push_str("\n\n");
                    text.push_str(more);
                    entries.next();
                }
                messages.push(json!({"role": "user", "content": text}));
            }
            Message::Assistant { raw: Some(raw), .. } if raw.model == request.model => {
                messages.extend(raw.blocks.iter().cloned());
            }
            Message::Assistant {
                text, tool_calls, ..
            } => {
                messages.push(assistant(text, tool_calls.iter().map(call).collect()));
            }
            Message::Tool { results } => messages.extend(results.iter().map(result)),
        }
    }
    messages
}

fn assistant(text: &str, calls: Vec<Value>) -> Value {
    let mut message = json!({"role": "assistant", "content": text});
    if let (false, Some(object)) = (calls.is_empty(), message.as_object_mut()) {
        object.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    message
}

fn call(call: &ToolCall) -> Value {
    let name = plain(&call.name, MAX_NAME_CHARS);
    json!({"id": call.id, "type": "function", "function": {
        "name": name, "arguments": as_object(&call.arguments).to_string(),
    }})
}

/// Returns the message for a tool result. The protocol cannot mark a failed call, so its text
/// begins with `Error`.
fn result(result: &ToolResult) -> Value {
    let content = if result.is_error && !result.text.starts_with("Error") {
        format!("Error: {}", result.text)
    } else {
        result.text.clone()
    };
    json!({"role": "tool", "tool_call_id": result.call_id, "content": content})
}

/// The reader of one reply.
#[derive(Debug, Default)]
pub(crate) struct ChatReader {
    text: String,
    calls: Vec<PartialCall>,
    finish_reason: Option<String>,
    refused: bool,
    usage: Option<Value>,
    /// OpenRouter's signed reasoning, which must be sent back unchanged.
    reasoning_details: Vec<Value>,
    meter: ContentMeter,
    ended: bool,
}

/// A call whose pieces are still arriving.
#[derive(Debug, Default)]
struct PartialCall {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// Arguments that arrived as an object instead of a JSON text.
    object: Option<Value>,
    /// Keys that only the provider understands (Gemini's thought signatures), to be sent back.
    extra: Map<String, Value>,
    checks: u32,
}

impl ChatReader {
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    pub(crate) fn event(&mut self, event: &Event, on_delta: OnDelta<'_>) -> Result<(), Fault> {
        let lines = event.data.trim();
        if lines == "[DONE]" {
            self.ended = true;
            return Ok(());
        }
        let (chunks, done) = match lines.strip_suffix("\n[DONE]") {
            Some(chunks) => (chunks, true),
            None => (lines, false),
        };
        for chunk in values_of(chunks)? {
            self.chunk(&chunk, on_delta)?;
        }
        self.ended = done;
        Ok(())
    }

    pub(crate) fn whole(&mut self, body: &Value, on_delta: OnDelta<'_>) -> Result<(), Fault> {
        self.chunk(body, on_delta)?;
        self.ended = body.pointer("/choices/0").is_some();
        Ok(())
    }

    fn chunk(&mut self, chunk: &Value, on_delta: OnDelta<'_>) -> Result<(), Fault> {
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            return Err(Fault::within_stream(error));
        }
        if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
            self.usage = Some(usage.clone());
        }
        let Some(choice) = chunk.pointer("/choices/0") else {
            return Ok(());
        };
        if let Some(delta) = choice.get("delta").or_else(|| choice.get("message")) {
            self.delta(delta, on_delta)?;
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
            self.finish_reason = Some(reason.to_owned());
        }
        Ok(())
    }

    fn delta(&mut self, delta: &Value, on_delta: OnDelta<'_>) -> Result<(), Fault> {
        for key in ["reasoning_content", "reasoning"] {
            if let Some(text) = text_at(delta, key) {
                on_delta(Delta::Reasoning(text));
                break;
            }
        }
        if let Some(Value::Array(details)) = delta.get("reasoning_details") {
            for detail in details {
                self.meter.add(&detail.to_string())?;
                self.reasoning_details.push(detail.clone());
            }
        }
        if let Some(text) = text_at(delta, "refusal") {
            self.refused = true;
            self.say(text, on_delta)?;
        }
        match delta.get("content") {
            Some(Value::String(text)) => self.say(text, on_delta)?,
            Some(Value::Array(parts)) => {
                for text in parts.iter().filter_map(|part| text_at(part, "text")) {
                    self.say(text, on_delta)?;
                }
            }
            _ => {}
        }
        let fragments = delta.get("tool_calls").and_then(Value::as_array);
        for (position, fragment) in fragments.into_iter().flatten().enumerate() {
            self.fragment(position, fragment, on_delta)?;
        }
        Ok(())
    }

    fn say(&mut self, text: &str, on_delta: OnDelta<'_>) -> Result<(), Fault> {
        if !text.is_empty() {
            self.meter.add(text)?;
            self.text.push_str(text);
            on_delta(Delta::Text(text));
        }
        Ok(())
    }

    fn fragment(
        &mut self,
        position: usize,
        fragment: &Value,
        on_delta: OnDelta<'_>,
    ) -> Result<(), Fault> {
        let function = fragment.get("function").unwrap_or(fragment);
        let piece = Fragment {
            position,
            index: fragment.get("index").and_then(Value::as_u64),
            id: text_at(fragment, "id").unwrap_or(""),
            name: text_at(function, "name").unwrap_or(""),
            arguments: function
                .get("arguments")
                .filter(|arguments| !arguments.is_null()),
        };
        let Some(at) = self.place(&piece) else {
            return Ok(());
        };
        let Some(call) = self.calls.get_mut(at) else {
            return Ok(());
        };
        if !piece.id.is_empty() {
            piece.id.clone_into(&mut call.id);
        }
        if !piece.name.is_empty() {
            if call.name.is_empty() {
                on_delta(Delta::ToolCall { name: piece.name });
            }
            call.name = cut_name(piece.name);
        }
        match piece.arguments {
            Some(Value::String(text)) => {
                self.meter.add(text)?;
                call.arguments.push_str(text);
            }
            Some(object) => {
                self.meter.add_value(object)?;
                call.object = Some(object.clone());
            }
            None => {}
        }
        for (key, value) in fragment.as_object().into_iter().flatten() {
            if !matches!(
                key.as_str(),
                "index" | "id" | "type" | "function" | "name" | "arguments"
            ) && !value.is_null()
            {
                self.meter.add(&value.to_string())?;
                call.extra.insert(key.clone(), value.clone());
            }
        }
        Ok(())
    }

    /// Returns the index of the call that a fragment continues or begins; `None` if there are too
    /// many calls.
    fn place(&mut self, piece: &Fragment<'_>) -> Option<usize> {
        let known = match (piece.index, piece.id) {
            (None, "") => (piece.position < self.calls.len()).then_some(piece.position),
            _ => self.calls.iter().rposition(|call| call.continues_in(piece)),
        };
        if let Some(at) = known
            && !self.calls.get_mut(at)?.is_followed_by(piece)
        {
            return Some(at);
        }
        if self.calls.len() >= MAX_CALLS {
            return None;
        }
        self.calls.push(PartialCall {
            index: piece.index,
            ..PartialCall::default()
        });
        Some(self.calls.len() - 1)
    }

    pub(crate) fn finish(self, request: &ModelRequest) -> Result<ModelReply, Fault> {
        if !self.ended {
            return Err(Fault::Truncated(
                "the stream ended before [DONE]".to_owned(),
            ));
        }
        let reason = self.finish_reason.as_deref().map(str::to_ascii_lowercase);
        if let Some(reason) = reason.as_deref()
            && BROKEN_OFF.contains(&reason)
        {
            return Err(Fault::within_stream(
                &json!({"message": format!("finish_reason is {reason:?}")}),
            ));
        }
        let cut = reason
            .as_deref()
            .is_some_and(|reason| CUT.contains(&reason));
        let mut ids: Vec<String> = self.calls.iter().map(|call| call.id.clone()).collect();
        settle_ids(&mut ids, request.origin.turn);
        let last = self.calls.len();
        let mut extras = Vec::new();
        let mut tool_calls = Vec::new();
        for (at, (call, id)) in self.calls.into_iter().zip(ids).enumerate() {
            extras.push(call.extra.clone());
            tool_calls.push(call.finish(id, cut && at + 1 == last));
        }
        let stop = stop_reason(reason.as_deref(), self.refused, !tool_calls.is_empty());
        let raw = raw(
            request,
            &self.text,
            &tool_calls,
            extras,
            self.reasoning_details,
        );
        let mut reply = ModelReply {
            text: self.text,
            tool_calls,
            stop,
            usage: Usage::default(),
            raw,
        };
        reply.usage = usage_or_estimate(self.usage.as_ref().map(usage), request, &reply);
        Ok(reply)
    }
}

/// One item of `delta.tool_calls`.
struct Fragment<'a> {
    position: usize,
    index: Option<u64>,
    id: &'a str,
    name: &'a str,
    arguments: Option<&'a Value>,
}

impl PartialCall {
    /// Reports whether a fragment with an index or an id belongs to this call.
    fn continues_in(&self, piece: &Fragment<'_>) -> bool {
        match piece.index {
            Some(index) => {
                let has_id = piece.id.is_empty() || self.id.is_empty() || self.id == piece.id;
                self.index == Some(index) && has_id
            }
            None => self.id == piece.id,
        }
    }

    /// Reports whether a fragment that would continue this call begins another one: it has a name
    /// and arguments, and the arguments of this call are complete. If a server gives every call the
    /// same index, or none, and no ids, there is no other sign. The name alone is not enough, since
    /// other servers repeat it on every fragment.
    fn is_followed_by(&mut self, piece: &Fragment<'_>) -> bool {
        let brings = match piece.arguments {
            Some(Value::String(text)) => !text.trim().is_empty(),
            Some(_) => true,
            None => false,
        };
        !piece.name.is_empty() && brings && self.is_complete()
    }

    /// Reports whether the arguments are complete JSON. The number of checks is bounded: each reads
    /// all arguments, and a hostile stream could cause one per byte.
    fn is_complete(&mut self) -> bool {
        if self.object.is_some() {
            return true;
        }
        if !self.arguments.trim_end().ends_with('}') || self.checks >= MAX_COMPLETENESS_CHECKS {
            return false;
        }
        self.checks += 1;
        serde_json::from_str::<serde::de::IgnoredAny>(&self.arguments).is_ok()
    }

    /// Returns the whole call. A call that was cut off before its arguments began must not look
    /// like one without arguments.
    fn finish(self, id: String, cut: bool) -> ToolCall {
        let arguments = match self.object {
            Some(object @ Value::Object(_)) => object,
            Some(other) => arguments_of(&other.to_string()),
            None if cut && self.arguments.trim().is_empty() => Value::String(self.arguments),
            None => arguments_of(&self.arguments),
        };
        ToolCall {
            id: CallId::new(id),
            name: self.name,
            arguments,
        }
    }
}

/// Returns the message to send back unchanged, if it contains keys that only the provider
/// understands.
fn raw(
    request: &ModelRequest,
    text: &str,
    calls: &[ToolCall],
    extras: Vec<Map<String, Value>>,
    details: Vec<Value>,
) -> Option<RawBlocks> {
    if details.is_empty() && extras.iter().all(Map::is_empty) {
        return None;
    }
    let mut items: Vec<Value> = calls.iter().map(call).collect();
    for (item, extra) in items.iter_mut().zip(extras) {
        if let Some(object) = item.as_object_mut() {
            object.extend(extra);
        }
    }
    let mut message = assistant(text, items);
    if let (false, Some(object)) = (details.is_empty(), message.as_object_mut()) {
        object.insert("reasoning_details".to_owned(), Value::Array(details));
    }
    Some(RawBlocks {
        model: request.model.clone(),
        blocks: vec![message],
    })
}

/// Returns why a reply stopped. Several servers send `stop` together with calls (vLLM, Ollama, at
/// times OpenAI), and others send words of their own (aimock sends Gemini's `FUNCTION_CALL`, which
/// Google's own list lacks). So the presence of calls decides, whatever the word is, unless the
/// reply was withheld or cut off.
fn stop_reason(reason: Option<&str>, refused: bool, has_calls: bool) -> StopReason {
    match reason {
        _ if refused => StopReason::Refusal,
        Some(reason) if WITHHELD.contains(&reason) => StopReason::Refusal,
        Some(reason) if CUT.contains(&reason) => StopReason::MaxTokens,
        _ if has_calls => StopReason::ToolCalls,
        None | Some("stop" | "tool_calls" | "function_call") => StopReason::EndTurn,
        Some(other) => StopReason::Other(other.to_owned()),
    }
}

/// Returns the usage that a server tells. OpenAI counts reasoning in `completion_tokens`; xAI and
/// Google, which bill it as output as well, count it in `total_tokens` only.
fn usage(usage: &Value) -> Usage {
    let input_tokens = number(usage, "/prompt_tokens");
    let beside_input = number(usage, "/total_tokens").saturating_sub(input_tokens);
    Usage {
        input_tokens,
        cached_tokens: number(usage, "/prompt_tokens_details/cached_tokens"),
        output_tokens: number(usage, "/completion_tokens").max(beside_input),
    }
}
