//! The events of the two protocols, as their documentation shows them.
//!
//! Arguments of tool calls are sent in two pieces. In Chat Completions the pieces of parallel calls
//! alternate, as servers are free to do.

use serde_json::{Value, json};

use super::Reply;

/// Returns the events of a streamed chat completion.
pub(super) fn chat_completions(reply: &Reply, number: usize) -> Vec<String> {
    let chunk = |choices: Value, usage: Value| {
        let object = json!({
            "id": format!("chatcmpl-{number}"), "object": "chat.completion.chunk", "created": 0,
            "model": "test", "choices": choices, "usage": usage,
        });
        format!("data: {object}\n\n")
    };
    let delta = |delta: Value| {
        chunk(
            json!([{ "index": 0, "delta": delta, "finish_reason": null }]),
            Value::Null,
        )
    };
    let mut events = vec![delta(json!({ "role": "assistant", "content": "" }))];
    if !reply.text.is_empty() {
        events.push(delta(json!({ "content": reply.text })));
    }
    for (index, (name, _)) in reply.calls.iter().enumerate() {
        let function = json!({ "name": name, "arguments": "" });
        let call = json!({ "index": index, "id": call_id(number, index), "type": "function", "function": function });
        events.push(delta(json!({ "tool_calls": [call] })));
    }
    for (index, piece) in pieces(reply) {
        events.push(delta(
            json!({ "tool_calls": [{ "index": index, "function": { "arguments": piece } }] }),
        ));
    }
    let reason = if reply.calls.is_empty() {
        "stop"
    } else {
        "tool_calls"
    };
    events.push(chunk(
        json!([{ "index": 0, "delta": {}, "finish_reason": reason }]),
        Value::Null,
    ));
    let usage = json!({
        "prompt_tokens": reply.input_tokens, "completion_tokens": reply.output_tokens,
        "total_tokens": reply.input_tokens + reply.output_tokens,
    });
    events.push(chunk(json!([]), usage));
    events.push("data: [DONE]\n\n".to_owned());
    events
}

/// Returns the events of a streamed message.
pub(super) fn anthropic(reply: &Reply, number: usize) -> Vec<String> {
    let event = |body: Value| {
        format!(
            "event: {}\ndata: {body}\n\n",
            body["type"].as_str().unwrap_or_default()
        )
    };
    let message = json!({
        "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": "test", "content": [],
        "stop_reason": null, "stop_sequence": null,
        "usage": { "input_tokens": reply.input_tokens, "output_tokens": 1 },
    });
    let mut events = vec![event(
        json!({ "type": "message_start", "message": message }),
    )];
    let mut block = |index: usize, start: Value, deltas: Vec<Value>| {
        events.push(event(
            json!({ "type": "content_block_start", "index": index, "content_block": start }),
        ));
        for delta in deltas {
            events.push(event(
                json!({ "type": "content_block_delta", "index": index, "delta": delta }),
            ));
        }
        events.push(event(
            json!({ "type": "content_block_stop", "index": index }),
        ));
    };
    let with_text = usize::from(!reply.text.is_empty());
    if with_text == 1 {
        let delta = json!({ "type": "text_delta", "text": reply.text });
        block(0, json!({ "type": "text", "text": "" }), vec![delta]);
    }
    for (at, (name, arguments)) in reply.calls.iter().enumerate() {
        let start =
            json!({ "type": "tool_use", "id": call_id(number, at), "name": name, "input": {} });
        let delta = |piece: &str| json!({ "type": "input_json_delta", "partial_json": piece });
        let (first, second) = halves(arguments);
        block(with_text + at, start, vec![delta(&first), delta(&second)]);
    }
    let reason = if reply.calls.is_empty() {
        "end_turn"
    } else {
        "tool_use"
    };
    let delta = json!({ "stop_reason": reason, "stop_sequence": null });
    let usage = json!({ "output_tokens": reply.output_tokens });
    events.push(event(
        json!({ "type": "message_delta", "delta": delta, "usage": usage }),
    ));
    events.push(event(json!({ "type": "message_stop" })));
    events
}

fn call_id(number: usize, index: usize) -> String {
    format!("call_{number}_{index}")
}

/// Returns the first halves of all calls' arguments, then the second halves, each with the call's
/// index.
fn pieces(reply: &Reply) -> Vec<(usize, String)> {
    let both: Vec<_> = reply
        .calls
        .iter()
        .map(|(_, arguments)| halves(arguments))
        .collect();
    let firsts = both
        .iter()
        .enumerate()
        .map(|(index, (first, _))| (index, first.clone()));
    let seconds = both
        .iter()
        .enumerate()
        .map(|(index, (_, second))| (index, second.clone()));
    firsts.chain(seconds).collect()
}

fn halves(arguments: &Value) -> (String, String) {
    let text = arguments.to_string();
    let middle = (0..=text.len() / 2)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    let (first, second) = text.split_at(middle);
    (first.to_owned(), second.to_owned())
}
