//! Anthropic's Messages protocol.
//!
//! A reply is complete once `message_stop` has arrived. Its blocks are kept unchanged and sent back
//! in their order, since signed thinking must not change. Source: the types of `@anthropic-ai/sdk`
//! 1.11.

use std::collections::BTreeMap;

use orchestrate_core::agent::conversation::{RawBlocks, ToolResult};
use orchestrate_core::{CallId, Message, ModelReply, ModelRequest, StopReason, ToolCall, Usage};
use serde_json::{Map, Value, json};

use super::answer::output_config;
use super::arguments::{arguments_of, as_object};
use super::content::{
    ContentMeter, MAX_CALLS, MAX_ID_CHARS, MAX_NAME_CHARS, OnDelta, cut_name, plain, settle_ids,
    text_at, values_of,
};
use super::fault::Fault;
use super::sse::Event;
use crate::model::Delta;
use crate::tokens::usage_or_estimate;

/// The version of the protocol, sent as `anthropic-version`.
pub(crate) const VERSION: &str = "2023-06-01";
/// The stop reasons of a reply that was cut off at its maximum size.
const CUT: &[&str] = &["max_tokens", "model_context_window_exceeded"];
/// Replaces an empty text, which the protocol rejects.
const NOTHING: &str = "(nothing)";

/// Returns the body of a request.
///
/// It has two cache marks: after the parts that never change, and at the end of the
/// conversation, which only grows. `answer` is the form of the agent's last reply.
pub(crate) fn body(request: &ModelRequest, model: &str, answer: Option<&Value>) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model));
    body.insert("max_tokens".to_owned(), json!(request.max_output_tokens));
    body.insert("stream".to_owned(), json!(true));
    if !request.system.is_empty() {
        let mut text = json!({"type": "text", "text": request.system});
        mark_for_cache(&mut text);
        body.insert("system".to_owned(), json!([text]));
    }
    if !request.tools.is_empty() {
        body.insert("tools".to_owned(), tools(request));
    }
    if let Some(schema) = answer {
        body.insert("output_config".to_owned(), output_config(schema));
    }
    body.insert("messages".to_owned(), Value::Array(messages(request)));
    Value::Object(body)
}

fn mark_for_cache(block: &mut Value) {
    if let Some(block) = block.as_object_mut() {
        block.insert("cache_control".to_owned(), json!({"type": "ephemeral"}));
    }
}

fn tools(request: &ModelRequest) -> Value {
    request.tools.iter().map(tool).collect()
}

fn tool(tool: &orchestrate_core::ToolSpec) -> Value {
    json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters})
}

fn messages(request: &ModelRequest) -> Vec<Value> {
    let mut turns: Vec<(&str, Vec<Value>)> = Vec::new();
    for entry in &request.messages {
        let (role, blocks) = match entry {
            Message::User { text } => ("user", vec![text_block(text)]),
            Message::Assistant {
                text,
                tool_calls,
                raw,
            } => ("assistant", said(request, text, tool_calls, raw.as_ref())),
            Message::Tool { results } => ("user", results.iter().map(result).collect()),
        };
        // Tool results and the text after them must be in one message.
        match turns.last_mut() {
            Some((last, content)) if *last == role => content.extend(blocks),
            _ => turns.push((role, blocks)),
        }
    }
    if let Some(("user", content)) = turns.last_mut()
        && let Some(block) = content.last_mut()
    {
        mark_for_cache(block);
    }
    turns
        .into_iter()
        .map(|(role, content)| json!({"role": role, "content": content}))
        .collect()
}

fn said(
    request: &ModelRequest,
    text: &str,
    calls: &[ToolCall],
    raw: Option<&RawBlocks>,
) -> Vec<Value> {
    if let Some(raw) = raw
        && raw.model == request.model
        && !raw.blocks.is_empty()
    {
        return raw.blocks.clone();
    }
    let mut blocks = Vec::new();
    if !text.trim().is_empty() || calls.is_empty() {
        blocks.push(text_block(text));
    }
    blocks.extend(calls.iter().map(call_block));
    blocks
}

fn call_block(call: &ToolCall) -> Value {
    json!({
        "type": "tool_use",
        "id": plain(call.id.as_str(), MAX_ID_CHARS),
        "name": plain(&call.name, MAX_NAME_CHARS),
        "input": as_object(&call.arguments),
    })
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": if text.trim().is_empty() { NOTHING } else { text }})
}

fn result(result: &ToolResult) -> Value {
    json!({
        "type": "tool_result",
        "tool_use_id": plain(result.call_id.as_str(), MAX_ID_CHARS),
        "content": result.text,
        "is_error": result.is_error,
    })
}

/// The reader of one reply.
#[derive(Debug, Default)]
pub(crate) struct MessagesReader {
    blocks: BTreeMap<u64, Block>,
    stop_reason: Option<String>,
    usage: Map<String, Value>,
    meter: ContentMeter,
    ended: bool,
}

/// A block that is still arriving.
#[derive(Debug)]
struct Block {
    /// The block as it started; the texts of its deltas are joined in at the end.
    value: Map<String, Value>,
    /// The texts that deltas append to each key.
    added: BTreeMap<&'static str, String>,
    /// The JSON text of a call's `input`.
    input: String,
    stopped: bool,
}

impl MessagesReader {
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    pub(crate) fn event(&mut self, event: &Event, on_delta: OnDelta<'_>) -> Result<(), Fault> {
        // Some gateways add the end marker of the other protocol.
        if event.data.trim() == "[DONE]" {
            return Ok(());
        }
        for value in values_of(event.data.trim())? {
            let kind = value
                .get("type")
                .and_then(Value::as_str)
                .or(event.name.as_deref())
                .unwrap_or("");
            self.value(kind, &value, on_delta)?;
        }
        Ok(())
    }

    pub(crate) fn whole(&mut self, body: &Value, on_delta: OnDelta<'_>) -> Result<(), Fault> {
        if let Some(error) = body.get("error").filter(|error| !error.is_null()) {
            return Err(Fault::within_stream(error));
        }
        let Some(content) = body.get("content").and_then(Value::as_array) else {
            return Ok(());
        };
        self.merge_usage(body.get("usage"));
        self.stop_reason = text_at(body, "stop_reason").map(str::to_owned);
        for (index, block) in content.iter().enumerate() {
            self.start(index as u64, Some(block), on_delta)?;
            self.stop(index as u64);
        }
        self.ended = true;
        Ok(())
    }

    fn value(&mut self, kind: &str, value: &Value, on_delta: OnDelta<'_>) -> Result<(), Fault> {
        let index = value.get("index").and_then(Value::as_u64).unwrap_or(0);
        match kind {
            "message_start" => self.merge_usage(value.pointer("/message/usage")),
            "content_block_start" => self.start(index, value.get("content_block"), on_delta)?,
            "content_block_delta" => self.delta(index, value.get("delta"), on_delta)?,
            "content_block_stop" => self.stop(index),
            "message_delta" => {
                if let Some(delta) = value.get("delta")
                    && let Some(reason) = text_at(delta, "stop_reason")
                {
                    self.stop_reason = Some(reason.to_owned());
                }
                self.merge_usage(value.get("usage"));
            }
            "message_stop" => self.ended = true,
            "error" => return Err(Fault::within_stream(value.get("error").unwrap_or(value))),
            _ => {
                if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
                    return Err(Fault::within_stream(error));
                }
            }
        }
        Ok(())
    }

    /// Merges reported token counts. They are cumulative, so later ones replace earlier ones.
    fn merge_usage(&mut self, usage: Option<&Value>) {
        for (key, value) in usage.and_then(Value::as_object).into_iter().flatten() {
            if value.is_number() {
                self.usage.insert(key.clone(), value.clone());
            }
        }
    }

    fn start(
        &mut self,
        index: u64,
        block: Option<&Value>,
        on_delta: OnDelta<'_>,
    ) -> Result<(), Fault> {
        let Some(value) = block.and_then(Value::as_object) else {
            return Ok(());
        };
        if self.blocks.len() >= MAX_CALLS && !self.blocks.contains_key(&index) {
            return Ok(());
        }
        for part in value.values() {
            self.meter.add_value(part)?;
        }
        let block = Block {
            value: value.clone(),
            added: BTreeMap::new(),
            input: String::new(),
            stopped: false,
        };
        match block.text("type") {
            "tool_use" => on_delta(Delta::ToolCall {
                name: block.text("name"),
            }),
            "text" if !block.text("text").is_empty() => {
                on_delta(Delta::Text(block.text("text")));
            }
            _ => {}
        }
        self.blocks.insert(index, block);
        Ok(())
    }

    fn delta(
        &mut self,
        index: u64,
        delta: Option<&Value>,
        on_delta: OnDelta<'_>,
    ) -> Result<(), Fault> {
        let (Some(delta), Some(block)) = (delta, self.blocks.get_mut(&index)) else {
            return Ok(());
        };
        for key in ["text", "thinking", "signature"] {
            let Some(text) = text_at(delta, key) else {
                continue;
            };
            self.meter.add(text)?;
            block.added.entry(key).or_default().push_str(text);
            match key {
                "text" => on_delta(Delta::Text(text)),
                "thinking" => on_delta(Delta::Reasoning(text)),
                _ => {}
            }
        }
        if let Some(text) = text_at(delta, "partial_json") {
            self.meter.add(text)?;
            block.input.push_str(text);
        }
        Ok(())
    }

    fn stop(&mut self, index: u64) {
        if let Some(block) = self.blocks.get_mut(&index) {
            block.stopped = true;
        }
    }

    pub(crate) fn finish(self, request: &ModelRequest) -> Result<ModelReply, Fault> {
        if !self.ended {
            return Err(Fault::Truncated(
                "the stream ended before message_stop".to_owned(),
            ));
        }
        let cut = self
            .stop_reason
            .as_deref()
            .is_some_and(|reason| CUT.contains(&reason));
        let mut blocks: Vec<Block> = self.blocks.into_values().collect();
        let mut ids = Vec::new();
        for block in &mut blocks {
            block.join();
            if block.is_call() {
                ids.push(block.text("id").to_owned());
            }
        }
        settle_ids(&mut ids, request.origin.turn);
        let mut ids = ids.into_iter();
        let last = blocks.len();
        let (mut text, mut tool_calls, mut raw) = (String::new(), Vec::new(), Vec::new());
        for (at, block) in blocks.into_iter().enumerate() {
            if block.is_call()
                && let Some(id) = ids.next()
            {
                let (call, value) = block.into_call(id, cut && at + 1 == last);
                tool_calls.push(call);
                raw.push(value);
            } else if let Some(value) = block.into_value(&mut text) {
                raw.push(value);
            }
        }
        let mut reply = ModelReply {
            text,
            stop: stop_reason(self.stop_reason.as_deref(), !tool_calls.is_empty()),
            tool_calls,
            usage: Usage::default(),
            raw: None,
        };
        if !raw.is_empty() {
            reply.raw = Some(RawBlocks {
                model: request.model.clone(),
                blocks: raw,
            });
        }
        let given = (!self.usage.is_empty()).then(|| usage(&self.usage));
        reply.usage = usage_or_estimate(given, request, &reply);
        Ok(reply)
    }
}

impl Block {
    fn is_call(&self) -> bool {
        self.text("type") == "tool_use"
    }

    /// Returns a text of the block; empty if there is none.
    fn text(&self, key: &str) -> &str {
        self.value.get(key).and_then(Value::as_str).unwrap_or("")
    }

    /// Joins the texts of the deltas into the block.
    fn join(&mut self) {
        for (key, added) in std::mem::take(&mut self.added) {
            let whole = self.text(key).to_owned() + &added;
            self.value.insert(key.to_owned(), Value::String(whole));
        }
    }

    /// Returns the call, and its block to send back. A call that was cut off before its input began
    /// must not look like one without arguments.
    fn into_call(mut self, id: String, cut: bool) -> (ToolCall, Value) {
        let begun = !self.input.trim().is_empty();
        let arguments = match self.value.get("input") {
            Some(Value::Object(input)) if !begun && !input.is_empty() => {
                Value::Object(input.clone())
            }
            _ if !begun && cut && !self.stopped => Value::String(self.input.clone()),
            _ => arguments_of(&self.input),
        };
        let call = ToolCall {
            id: CallId::new(id),
            name: cut_name(self.text("name")),
            arguments,
        };
        self.value.insert("id".to_owned(), json!(call.id));
        self.value
            .insert("name".to_owned(), json!(plain(&call.name, MAX_NAME_CHARS)));
        self.value
            .insert("input".to_owned(), as_object(&call.arguments));
        (call, Value::Object(self.value))
    }

    /// Appends a text block to `text`, and returns the block to send back; `None` for an empty
    /// text, which the protocol sends but rejects when it is sent back.
    fn into_value(self, text: &mut String) -> Option<Value> {
        if self.text("type") == "text" {
            let own = self.text("text");
            text.push_str(own);
            if own.trim().is_empty() {
                return None;
            }
        }
        Some(Value::Object(self.value))
    }
}

fn stop_reason(reason: Option<&str>, has_calls: bool) -> StopReason {
    match reason {
        Some(reason) if CUT.contains(&reason) => StopReason::MaxTokens,
        Some("refusal" | "content_filter") => StopReason::Refusal,
        Some("pause_turn") if !has_calls => StopReason::Pause,
        _ if has_calls => StopReason::ToolCalls,
        None | Some("end_turn" | "stop_sequence" | "tool_use") => StopReason::EndTurn,
        Some(other) => StopReason::Other(other.to_owned()),
    }
}

/// Returns the usage. The protocol's `input_tokens` excludes cached tokens, so the prompt is the
/// sum of all three counts.
fn usage(usage: &Map<String, Value>) -> Usage {
    let cached = number_at(usage, "cache_read_input_tokens");
    Usage {
        input_tokens: number_at(usage, "input_tokens")
            .saturating_add(number_at(usage, "cache_creation_input_tokens"))
            .saturating_add(cached),
        cached_tokens: cached,
        output_tokens: number_at(usage, "output_tokens"),
    }
}

fn number_at(usage: &Map<String, Value>, key: &str) -> u64 {
    usage.get(key).and_then(Value::as_u64).unwrap_or(0)
}
