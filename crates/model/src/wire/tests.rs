use orchestrate_core::agent::conversation::{RawBlocks, ToolResult};
use orchestrate_core::{Message, ModelReply, ModelRequest, StopReason, ToolCall, ToolSpec, Usage};
use serde_json::{Value, json};

use super::content::{MAX_CALLS, MAX_CONTENT_BYTES};
use super::fault::Fault;
use super::sse::SseDecoder;
use super::*;
use crate::test_server::request;

/// Reads a stream as the transport does; the connection ends after the bytes.
fn read(protocol: Protocol, bytes: &[u8]) -> Result<ModelReply, Fault> {
    let request = request(if protocol == Protocol::Messages {
        "anthropic/m"
    } else {
        "openai/m"
    });
    let mut reader = protocol.reader();
    let mut decoder = SseDecoder::new(MAX_EVENT_BYTES);
    let mut events = Vec::new();
    decoder.push(bytes, &mut events).unwrap();
    events.extend(decoder.finish());
    for event in &events {
        reader.event(event, &mut |_| {})?;
        if reader.has_ended() {
            break;
        }
    }
    reader.finish(&request)
}

fn chat(chunks: &[Value]) -> Result<ModelReply, Fault> {
    read(Protocol::ChatCompletions, chat_stream(chunks).as_bytes())
}

fn chat_stream(chunks: &[Value]) -> String {
    chunks
        .iter()
        .map(|chunk| format!("data: {chunk}\n\n"))
        .collect::<String>()
        + "data: [DONE]\n\n"
}

#[expect(clippy::needless_pass_by_value, reason = "the callers are literals")]
fn delta(delta: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

#[expect(clippy::needless_pass_by_value, reason = "the callers are literals")]
fn calls(fragments: Value) -> Value {
    delta(json!({"tool_calls": fragments}))
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"delta": {}, "finish_reason": reason}]})
}

fn call(id: &str, name: &str, arguments: Value) -> ToolCall {
    ToolCall {
        id: id.into(),
        name: name.to_owned(),
        arguments,
    }
}

#[test]
fn chat_puts_a_reply_together() {
    let reply = chat(&[
        delta(json!({"role": "assistant", "content": null})),
        delta(json!({"reasoning_content": "hm"})),
        delta(json!({"content": "Hé"})),
        delta(json!({"content": "llo"})),
        calls(json!([
            {"index": 0, "id": "a", "type": "function", "function": {"name": "grep", "arguments": ""}},
            {"index": 1, "id": "b", "type": "function", "function": {"name": "read_file", "arguments": "{\"path\""}},
        ])),
        calls(json!([{"index": 0, "function": {"arguments": "{\"pattern\": "}}])),
        calls(
            json!([{"index": 1, "function": {"arguments": ": \"x\"}"}}, {"index": 0, "function": {"arguments": "\"y\"}"}}]),
        ),
        finish("tool_calls"),
        json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 5}}}),
    ]);
    assert_eq!(
        reply.unwrap(),
        ModelReply {
            text: "Héllo".to_owned(),
            tool_calls: vec![
                call("a", "grep", json!({"pattern": "y"})),
                call("b", "read_file", json!({"path": "x"})),
            ],
            stop: StopReason::ToolCalls,
            usage: Usage {
                input_tokens: 9,
                cached_tokens: 5,
                output_tokens: 4
            },
            raw: None,
        }
    );
}

const ONE: &str = r#"{"n": 1}"#;
const TWO: &str = r#"{"n": 2}"#;

#[expect(clippy::needless_pass_by_value, reason = "the callers are literals")]
fn whole(index: Option<u64>, id: Option<&str>, name: &str, arguments: Value) -> Value {
    let mut item = json!({"function": {"name": name, "arguments": arguments}});
    if let Some(index) = index {
        item["index"] = json!(index);
    }
    if let Some(id) = id {
        item["id"] = json!(id);
    }
    item
}

/// Each case is one way in which servers deviate from OpenAI; all represent the same two calls.
#[test]
fn chat_finds_two_calls_however_they_are_told() {
    let cases: Vec<(&str, Vec<Value>)> = vec![
        (
            "both with index 0",
            vec![
                calls(json!([whole(Some(0), Some("a"), "f", json!(ONE))])),
                calls(json!([whole(Some(0), Some("b"), "g", json!(TWO))])),
            ],
        ),
        (
            "both with index 0 in pieces",
            vec![
                calls(json!([whole(Some(0), Some("a"), "f", json!(""))])),
                calls(json!([{"index": 0, "function": {"arguments": ONE}}])),
                calls(json!([whole(Some(0), Some("b"), "g", json!(""))])),
                calls(json!([{"index": 0, "function": {"arguments": TWO}}])),
            ],
        ),
        (
            "no index",
            vec![calls(json!([
                whole(None, Some("a"), "f", json!(ONE)),
                whole(None, Some("b"), "g", json!(TWO))
            ]))],
        ),
        (
            "no index, id and name on every piece",
            vec![
                calls(json!([
                    whole(None, Some("a"), "f", json!(r#"{"n""#)),
                    whole(None, Some("b"), "g", json!(r#"{"n": "#))
                ])),
                calls(json!([
                    whole(None, Some("a"), "f", json!(": 1}")),
                    whole(None, Some("b"), "g", json!("2}"))
                ])),
                calls(json!([
                    whole(None, Some("a"), "f", json!("")),
                    whole(None, Some("b"), "g", json!(""))
                ])),
            ],
        ),
        (
            "arguments as objects",
            vec![calls(json!([
                whole(Some(0), Some("a"), "f", json!({"n": 1})),
                whole(Some(1), Some("b"), "g", json!({"n": 2}))
            ]))],
        ),
        (
            "ids changing case of absent and null",
            vec![
                calls(json!([whole(Some(0), Some("a"), "f", json!(ONE))])),
                calls(
                    json!([{"index": 0, "id": null, "function": {"name": null, "arguments": ""}}]),
                ),
                calls(json!([whole(Some(1), Some("b"), "g", json!(TWO))])),
            ],
        ),
    ];
    let expected = vec![
        call("a", "f", json!({"n": 1})),
        call("b", "g", json!({"n": 2})),
    ];
    for (name, mut chunks) in cases {
        chunks.push(finish("stop"));
        let reply = chat(&chunks).unwrap();
        assert_eq!(
            (reply.tool_calls, reply.stop),
            (expected.clone(), StopReason::ToolCalls),
            "{name}"
        );
    }
}

#[test]
fn chat_gives_ids_where_there_are_none_or_equal_ones() {
    let minted = vec![
        call("call_3_1", "f", json!({"n": 1})),
        call("call_3_2", "g", json!({"n": 2})),
    ];
    for (name, chunks) in [
        (
            "no ids",
            vec![calls(json!([
                whole(Some(0), None, "f", json!(ONE)),
                whole(Some(1), None, "g", json!(TWO))
            ]))],
        ),
        (
            "no ids, index 0",
            vec![
                calls(json!([whole(Some(0), None, "f", json!(ONE))])),
                calls(json!([whole(Some(0), None, "g", json!(TWO))])),
            ],
        ),
        (
            "no ids, no index",
            vec![
                calls(json!([whole(None, None, "f", json!(ONE))])),
                calls(json!([whole(None, None, "g", json!(TWO))])),
            ],
        ),
    ] {
        assert_eq!(chat(&chunks).unwrap().tool_calls, minted, "{name}");
    }
    // The control: ids that differ are kept, as is the first one of two that are equal.
    for (second, kept) in [("b", "b"), ("a", "call_3_2")] {
        let two = json!([
            whole(Some(0), Some("a"), "f", json!(ONE)),
            whole(Some(1), Some(second), "g", json!(TWO))
        ]);
        let found = chat(&[calls(two)]).unwrap().tool_calls;
        assert_eq!(
            found,
            [
                call("a", "f", json!({"n": 1})),
                call(kept, "g", json!({"n": 2}))
            ]
        );
    }
}

#[test]
fn chat_bounds_what_a_reply_may_be() {
    let far = chat(&[calls(
        json!([{"index": 4_000_000_000_u64, "id": "a", "function": {"name": "f", "arguments": "{}"}}]),
    )]);
    assert_eq!(far.unwrap().tool_calls, vec![call("a", "f", json!({}))]);

    // The control: as many calls as a reply may have are all there. Of 500, those are left.
    let every: Vec<ToolCall> = (0..MAX_CALLS)
        .map(|at| call(&format!("c{at}"), "f", json!({})))
        .collect();
    for count in [MAX_CALLS, 500] {
        let many: Vec<Value> = (0..count)
            .map(|at| json!({"index": at, "id": format!("c{at}"), "function": {"name": "f", "arguments": "{}"}}))
            .collect();
        assert_eq!(chat(&[calls(json!(many))]).unwrap().tool_calls, every);
    }

    let long = chat(&[calls(
        json!([{"index": 0, "id": "a", "function": {"name": "n".repeat(1 << 20), "arguments": "{}"}}]),
    )]);
    assert_eq!(long.unwrap().tool_calls[0].name, "n".repeat(64));
    // The control: a name as long as a name may be is kept.
    let fits = chat(&[calls(json!([whole(
        Some(0),
        Some("a"),
        &"n".repeat(64),
        json!("{}")
    )]))]);
    assert_eq!(fits.unwrap().tool_calls[0].name, "n".repeat(64));
}

/// A reply's text, its arguments in pieces of text, and its arguments as objects, which some
/// servers send.
#[test]
fn chat_bounds_the_content_of_a_reply_in_every_form() {
    let text = "x".repeat(1 << 20);
    let forms: [fn(&str, usize) -> Value; 3] = [
        |text, _| delta(json!({"content": text})),
        |text, at| {
            let piece = match at {
                0 => format!("{{\"content\": \"{text}"),
                2 => format!("{text}\"}}"),
                _ => text.to_owned(),
            };
            calls(json!([whole(Some(0), Some("a"), "f", json!(piece))]))
        },
        |text, at| {
            calls(json!([whole(
                None,
                Some(&format!("c{at}")),
                "f",
                json!({"content": text})
            )]))
        },
    ];
    for (number, form) in forms.into_iter().enumerate() {
        // Not as bytes: writing and parsing all of them takes seconds without optimisation.
        let reply = |count: usize| -> Result<ModelReply, Fault> {
            let mut reader = Protocol::ChatCompletions.reader();
            (0..count).try_for_each(|at| reader.whole(&form(&text, at), &mut |_| {}))?;
            reader.finish(&request("openai/m"))
        };
        let too_large = Fault::TooLarge {
            what: "the reply's content",
            limit: MAX_CONTENT_BYTES,
        };
        assert_eq!(reply(17), Err(too_large), "form {number}");
        // The control: three of the same pieces are all there.
        let kept = reply(3).unwrap();
        let arguments: String = kept
            .tool_calls
            .iter()
            .map(|call| call.arguments.to_string())
            .collect();
        assert_eq!(
            (kept.text + &arguments).matches('x').count(),
            3 << 20,
            "form {number}"
        );
    }
}

#[test]
fn messages_bounds_inputs_that_come_whole() {
    let reply = |count: usize| -> Result<ModelReply, Fault> {
        let input = json!({"content": "x".repeat(1 << 20)});
        let block = |at: usize| json!({"type": "tool_use", "id": format!("c{at}"), "name": "f", "input": input});
        let blocks: Vec<Value> = (0..count).map(block).collect();
        let body = json!({"type": "message", "stop_reason": "tool_use", "content": blocks});
        let mut reader = Protocol::Messages.reader();
        reader.whole(&body, &mut |_| {})?;
        reader.finish(&request("m"))
    };
    assert_eq!(
        reply(17),
        Err(Fault::TooLarge {
            what: "the reply's content",
            limit: MAX_CONTENT_BYTES
        })
    );
    // The control: three of the same inputs are all there.
    let kept = reply(3).unwrap().tool_calls;
    assert_eq!(
        kept.iter()
            .map(|call| call.arguments.to_string().matches('x').count())
            .sum::<usize>(),
        3 << 20
    );
}

#[test]
fn chat_says_why_it_stopped() {
    let one =
        || calls(json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}]));
    for (chunks, stop) in [
        (
            vec![delta(json!({"content": "x"})), finish("stop")],
            StopReason::EndTurn,
        ),
        (vec![delta(json!({"content": "x"}))], StopReason::EndTurn),
        (
            vec![delta(json!({"content": "x"})), finish("length")],
            StopReason::MaxTokens,
        ),
        (vec![finish("content_filter")], StopReason::Refusal),
        (
            vec![delta(json!({"refusal": "no"})), finish("stop")],
            StopReason::Refusal,
        ),
        (vec![finish("FUNCTION_CALL")], StopReason::EndTurn),
        (vec![finish("eos")], StopReason::Other("eos".to_owned())),
        (vec![one(), finish("banana")], StopReason::ToolCalls),
        (vec![one(), finish("length")], StopReason::MaxTokens),
        (vec![one(), finish("sensitive")], StopReason::Refusal),
    ] {
        assert_eq!(chat(&chunks).unwrap().stop, stop, "{chunks:?}");
    }
    let cut = chat(&[
        calls(json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}])),
        calls(
            json!([{"index": 1, "id": "b", "function": {"name": "write_file", "arguments": ""}}]),
        ),
        finish("length"),
    ])
    .unwrap();
    assert_eq!(
        cut.tool_calls,
        vec![
            call("a", "f", json!({})),
            call("b", "write_file", json!(""))
        ]
    );
    assert_eq!(cut.stop, StopReason::MaxTokens);
}

/// Every stop reason of the protocol, and those of compatible servers, together with a call. In a
/// withheld reply, the stop reason must not ask for the call to be run.
#[test]
fn chat_says_why_it_stopped_beside_a_call() {
    let one =
        || calls(json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}]));
    for (reason, stop) in [
        ("stop", StopReason::ToolCalls),
        ("tool_calls", StopReason::ToolCalls),
        ("function_call", StopReason::ToolCalls),
        ("length", StopReason::MaxTokens),
        ("MAX_TOKENS", StopReason::MaxTokens),
        ("model_length", StopReason::MaxTokens),
        ("content_filter", StopReason::Refusal),
        ("sensitive", StopReason::Refusal),
        ("SAFETY", StopReason::Refusal),
        ("RECITATION", StopReason::Refusal),
        ("eos", StopReason::ToolCalls),
    ] {
        assert_eq!(
            chat(&[one(), finish(reason)]).unwrap().stop,
            stop,
            "{reason}"
        );
    }
    let refused = chat(&[one(), delta(json!({"refusal": "no"})), finish("tool_calls")]).unwrap();
    assert_eq!(refused.stop, StopReason::Refusal);
    for reason in [
        "error",
        "insufficient_system_resource",
        "network_error",
        "abort",
    ] {
        assert!(
            matches!(chat(&[one(), finish(reason)]), Err(Fault::Refused(_))),
            "{reason}"
        );
    }
}

#[test]
fn messages_say_why_they_stopped() {
    let call = json!({"type": "tool_use", "id": "a", "name": "f", "input": {}});
    let text = json!({"type": "text", "text": "x"});
    let stop = |reason: &str, content: &Value| {
        let body = json!({"type": "message", "stop_reason": reason, "content": [content]});
        let mut reader = Protocol::Messages.reader();
        reader.whole(&body, &mut |_| {}).unwrap();
        reader.finish(&request("m")).unwrap().stop
    };
    for (reason, of_call, of_text) in [
        ("end_turn", StopReason::ToolCalls, StopReason::EndTurn),
        ("stop_sequence", StopReason::ToolCalls, StopReason::EndTurn),
        ("tool_use", StopReason::ToolCalls, StopReason::EndTurn),
        ("max_tokens", StopReason::MaxTokens, StopReason::MaxTokens),
        (
            "model_context_window_exceeded",
            StopReason::MaxTokens,
            StopReason::MaxTokens,
        ),
        ("refusal", StopReason::Refusal, StopReason::Refusal),
        ("content_filter", StopReason::Refusal, StopReason::Refusal),
        ("pause_turn", StopReason::ToolCalls, StopReason::Pause),
    ] {
        assert_eq!(
            [stop(reason, &call), stop(reason, &text)],
            [of_call, of_text],
            "{reason}"
        );
    }
}

#[test]
fn ids_and_bad_arguments_are_bounded() {
    let long = "i".repeat(1 << 20);
    let of_chat =
        |arguments: Value| chat(&[calls(json!([whole(Some(0), Some(&long), "f", arguments)]))]);
    let body = json!({"type": "message", "stop_reason": "tool_use",
        "content": [{"type": "tool_use", "id": long, "name": long, "input": {}}]});
    let mut reader = Protocol::Messages.reader();
    reader.whole(&body, &mut |_| {}).unwrap();
    let replies = [
        of_chat(json!(long)),
        of_chat(json!([long])),
        reader.finish(&request("m")),
    ];
    for reply in replies.map(Result::unwrap) {
        assert_eq!(reply.tool_calls[0].id.as_str(), "call_3_1");
        let bytes = serde_json::to_string(&reply).unwrap().len();
        assert!(bytes < 4_000, "{bytes}");
    }
    // The control: an id as long as an id may be is kept, and so are long arguments that are an
    // object.
    let (id, arguments) = ("i".repeat(256), json!({"content": "x".repeat(1 << 20)}));
    let kept = chat(&[calls(json!([whole(
        Some(0),
        Some(&id),
        "f",
        arguments.clone()
    )]))])
    .unwrap();
    assert_eq!(kept.tool_calls, [call(&id, "f", arguments)]);
}

#[test]
fn chat_takes_errors_out_of_a_successful_stream() {
    let error = json!({"error": {"message": "Overloaded", "code": 502}, "choices": [{"finish_reason": "error"}]});
    let Err(Fault::Refused(refusal)) = chat(&[delta(json!({"content": "par"})), error]) else {
        panic!()
    };
    assert_eq!(
        (refusal.status, refusal.kind, refusal.message.as_str()),
        (502, fault::RefusalKind::Later, "Overloaded")
    );
    let Err(Fault::Refused(refusal)) = chat(&[finish("error")]) else {
        panic!()
    };
    assert_eq!(refusal.kind, fault::RefusalKind::Later);
    assert!(matches!(
        read(Protocol::ChatCompletions, b"data: <html>\n\n"),
        Err(Fault::Malformed(_))
    ));
    // The control: the same text without the error is a reply.
    assert_eq!(
        chat(&[delta(json!({"content": "par"})), finish("stop")])
            .unwrap()
            .text,
        "par"
    );
}

#[test]
fn chat_estimates_what_it_is_not_told_and_what_cannot_be() {
    for told in [
        Value::Null,
        json!({"prompt_tokens": 1_000_000_000_000_u64, "completion_tokens": 1}),
        json!({"prompt_tokens": 7, "completion_tokens": u64::MAX}),
        json!({"prompt_tokens": -7, "completion_tokens": 1}),
        json!({"prompt_tokens": "7", "completion_tokens": 1}),
    ] {
        let usage = chat(&[
            delta(json!({"content": "12345678"})),
            json!({"choices": [], "usage": told}),
        ])
        .unwrap()
        .usage;
        assert_eq!(
            usage,
            Usage {
                input_tokens: 3,
                cached_tokens: 0,
                output_tokens: 2
            },
            "{told}"
        );
    }
    let usage = chat(&[delta(json!({"content": "12345678"}))])
        .unwrap()
        .usage;
    assert_eq!(
        usage,
        Usage {
            input_tokens: 3,
            cached_tokens: 0,
            output_tokens: 2
        }
    );
    // The control: numbers that can be are taken as they are told.
    let early =
        json!({"choices": [{"delta": {}}], "usage": {"prompt_tokens": 7, "completion_tokens": 1}});
    let usage = chat(&[early, finish("stop")]).unwrap().usage;
    assert_eq!(
        usage,
        Usage {
            input_tokens: 7,
            cached_tokens: 0,
            output_tokens: 1
        }
    );
}

#[test]
fn chat_counts_the_reasoning_that_only_the_total_contains() {
    // As OpenAI, xAI and Google tell it; the last does not say how much was reasoning.
    for told in [
        json!({"prompt_tokens": 32, "completion_tokens": 103, "total_tokens": 135,
            "completion_tokens_details": {"reasoning_tokens": 94}}),
        json!({"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 135,
            "completion_tokens_details": {"reasoning_tokens": 94}}),
        json!({"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 135}),
    ] {
        let chunks = [
            delta(json!({"content": "done"})),
            finish("stop"),
            json!({"choices": [], "usage": told}),
        ];
        let usage = chat(&chunks).unwrap().usage;
        assert_eq!(
            usage,
            Usage {
                input_tokens: 32,
                cached_tokens: 0,
                output_tokens: 103
            }
        );
    }
}

#[test]
fn chat_reads_events_without_blank_lines_and_replies_without_a_stream() {
    let joined = format!(
        "data:{}\ndata:{}\ndata: [DONE]\n",
        delta(json!({"content": "a"})),
        finish("stop")
    );
    assert_eq!(
        read(Protocol::ChatCompletions, joined.as_bytes())
            .unwrap()
            .text,
        "a"
    );

    let mut reader = Protocol::ChatCompletions.reader();
    let body = json!({"choices": [{"message": {"content": "hi", "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": {"n": 1}}},
    ]}, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 1, "completion_tokens": 1}});
    reader.whole(&body, &mut |_| {}).unwrap();
    let reply = reader.finish(&request("openai/m")).unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.tool_calls),
        ("hi", vec![call("a", "f", json!({"n": 1}))])
    );
}

#[test]
fn chat_keeps_what_only_the_provider_understands() {
    let reply = chat(&[
        delta(json!({"reasoning_details": [{"type": "reasoning.encrypted", "data": "z"}]})),
        calls(json!([{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"},
            "extra_content": {"google": {"thought_signature": "s"}}}])),
    ])
    .unwrap();
    let message = json!({
        "role": "assistant", "content": "",
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"},
            "extra_content": {"google": {"thought_signature": "s"}}}],
        "reasoning_details": [{"type": "reasoning.encrypted", "data": "z"}],
    });
    assert_eq!(
        reply.raw,
        Some(RawBlocks {
            model: "openai/m".to_owned(),
            blocks: vec![message]
        })
    );
}

/// Returns a stream with signed thinking, text, and two calls whose pieces interleave.
fn messages_stream() -> String {
    let events = [
        (
            "message_start",
            json!({"type": "message_start", "message": {"id": "m", "usage": {
            "input_tokens": 10, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 1000, "output_tokens": 1}}}),
        ),
        (
            "content_block_start",
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
        ),
        (
            "content_block_delta",
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}),
        ),
        (
            "content_block_delta",
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "signature_delta", "signature": "c2ln"}}),
        ),
        (
            "content_block_stop",
            json!({"type": "content_block_stop", "index": 0}),
        ),
        ("ping", json!({"type": "ping"})),
        (
            "content_block_start",
            json!({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}}),
        ),
        (
            "content_block_delta",
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Hé"}}),
        ),
        (
            "content_block_delta",
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "llo 漢"}}),
        ),
        (
            "content_block_stop",
            json!({"type": "content_block_stop", "index": 1}),
        ),
        (
            "content_block_start",
            json!({"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "t1", "name": "grep", "input": {}, "caller": {"type": "direct"}}}),
        ),
        (
            "content_block_start",
            json!({"type": "content_block_start", "index": 3, "content_block": {"type": "tool_use", "id": "t2", "name": "git_status", "input": {}}}),
        ),
        (
            "content_block_delta",
            json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": ""}}),
        ),
        (
            "content_block_delta",
            json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": "{\"pattern\""}}),
        ),
        (
            "content_block_delta",
            json!({"type": "content_block_delta", "index": 3, "delta": {"type": "input_json_delta", "partial_json": ""}}),
        ),
        (
            "content_block_delta",
            json!({"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": ": \"x\"}"}}),
        ),
        (
            "content_block_stop",
            json!({"type": "content_block_stop", "index": 2}),
        ),
        (
            "content_block_stop",
            json!({"type": "content_block_stop", "index": 3}),
        ),
        ("something_new", json!({"type": "something_new"})),
        (
            "message_delta",
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 25}}),
        ),
        ("message_stop", json!({"type": "message_stop"})),
    ];
    events
        .iter()
        .map(|(name, data)| format!("event: {name}\ndata: {data}\n\n"))
        .collect()
}

fn messages_reply() -> ModelReply {
    ModelReply {
        text: "Héllo 漢".to_owned(),
        tool_calls: vec![
            call("t1", "grep", json!({"pattern": "x"})),
            call("t2", "git_status", json!({})),
        ],
        stop: StopReason::ToolCalls,
        usage: Usage {
            input_tokens: 1110,
            cached_tokens: 1000,
            output_tokens: 25,
        },
        raw: Some(RawBlocks {
            model: "anthropic/m".to_owned(),
            blocks: vec![
                json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"}),
                json!({"type": "text", "text": "Héllo 漢"}),
                json!({"type": "tool_use", "id": "t1", "name": "grep", "input": {"pattern": "x"}, "caller": {"type": "direct"}}),
                json!({"type": "tool_use", "id": "t2", "name": "git_status", "input": {}}),
            ],
        }),
    }
}

#[test]
fn messages_puts_a_reply_together() {
    assert_eq!(
        read(Protocol::Messages, messages_stream().as_bytes()),
        Ok(messages_reply())
    );
    let nameless = messages_stream()
        .lines()
        .filter(|line| !line.starts_with("event:"))
        .collect::<Vec<_>>()
        .join("\r\n");
    assert_eq!(
        read(Protocol::Messages, nameless.as_bytes()),
        Ok(messages_reply())
    );
}

#[test]
fn messages_reads_replies_without_a_stream_and_errors_within_one() {
    let mut reader = Protocol::Messages.reader();
    let body = json!({"type": "message", "stop_reason": "tool_use", "content": messages_reply().raw.unwrap().blocks,
        "usage": {"input_tokens": 10, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 1000, "output_tokens": 25}});
    reader.whole(&body, &mut |_| {}).unwrap();
    assert_eq!(reader.finish(&request("anthropic/m")), Ok(messages_reply()));

    let overloaded = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let Err(Fault::Refused(refusal)) = read(Protocol::Messages, overloaded.as_bytes()) else {
        panic!()
    };
    assert_eq!(
        (refusal.status, refusal.kind),
        (529, fault::RefusalKind::Later)
    );
}

#[test]
fn messages_marks_a_call_that_was_cut() {
    for partial in ["", "{\"path\": \"a"] {
        let events = [
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": partial}}),
            json!({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}}),
            json!({"type": "message_stop"}),
        ];
        let stream: String = events
            .iter()
            .map(|event| format!("data: {event}\n\n"))
            .collect();
        let reply = read(Protocol::Messages, stream.as_bytes()).unwrap();
        assert_eq!(
            (reply.tool_calls, reply.stop),
            (vec![call("t", "f", json!(partial))], StopReason::MaxTokens)
        );
        let sent_back = json!({"type": "tool_use", "id": "t", "name": "f", "input": {"invalid_arguments": partial}});
        assert_eq!(reply.raw.unwrap().blocks, vec![sent_back]);
    }
}

/// A stream without its end never runs a tool: wherever it is cut, it yields no reply.
#[test]
fn a_stream_cut_at_any_byte_is_no_reply() {
    let chat_whole = chat_stream(&[
        delta(json!({"content": "Hé漢"})),
        calls(
            json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{\"n\": 1}"}}]),
        ),
        finish("tool_calls"),
        json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4}}),
    ]);
    for (protocol, whole, end) in [
        (Protocol::ChatCompletions, chat_whole, "[DONE]"),
        (
            Protocol::Messages,
            messages_stream(),
            "{\"type\":\"message_stop\"}",
        ),
    ] {
        for line_end in ["\n", "\r\n"] {
            let whole = whole.replace('\n', line_end);
            let expected = read(protocol, whole.as_bytes()).unwrap();
            let enough = whole.rfind(end).unwrap() + end.len();
            for cut in 0..whole.len() {
                match read(protocol, &whole.as_bytes()[..cut]) {
                    Ok(reply) => assert!(
                        cut >= enough && reply == expected,
                        "{protocol:?} cut at {cut}"
                    ),
                    Err(Fault::Truncated(_) | Fault::Malformed(_)) => {
                        assert!(cut < enough, "{protocol:?} cut at {cut}")
                    }
                    Err(other) => panic!("{protocol:?} cut at {cut}: {other:?}"),
                }
            }
        }
    }
}

/// Returns a conversation with everything that a body can contain.
fn conversation(model: &str) -> ModelRequest {
    let raw = |model: &str, block: Value| {
        Some(RawBlocks {
            model: model.to_owned(),
            blocks: vec![block],
        })
    };
    let result = |id: &str, text: &str, is_error| ToolResult {
        call_id: id.into(),
        text: text.to_owned(),
        is_error,
    };
    let said = |text: &str, tool_calls, raw| Message::Assistant {
        text: text.to_owned(),
        tool_calls,
        raw,
    };
    let user = |text: &str| Message::User {
        text: text.to_owned(),
    };
    ModelRequest {
        tools: [ToolSpec {
            name: "grep".to_owned(),
            description: "Searches.".to_owned(),
            parameters: json!({"type": "object", "properties": {"pattern": {"type": "string"}}}),
        }]
        .into(),
        messages: vec![
            user("do it"),
            said(
                "",
                vec![
                    call("a", "grep", json!({"pattern": "x"})),
                    call("b:1", "a tool", json!("{\"cut")),
                ],
                None,
            ),
            Message::Tool {
                results: vec![
                    result("a", "no match", false),
                    result("b:1", "not JSON", true),
                ],
            },
            user("a message"),
            user("another"),
            said("own", Vec::new(), raw(model, json!({"own": "block"}))),
            user("next"),
            said(
                "foreign",
                Vec::new(),
                raw("other/model", json!({"foreign": "block"})),
            ),
            user("last"),
        ],
        ..request(model)
    }
}

#[test]
fn chat_bodies_carry_the_whole_conversation() {
    let expected = json!({
        "model": "m", "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 100,
        "tools": [{"type": "function", "function": {"name": "grep", "description": "Searches.",
            "parameters": {"type": "object", "properties": {"pattern": {"type": "string"}}}}}],
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "do it"},
            {"role": "assistant", "content": "", "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "grep", "arguments": "{\"pattern\":\"x\"}"}},
                {"id": "b:1", "type": "function", "function": {"name": "a_tool", "arguments": "{\"invalid_arguments\":\"{\\\"cut\"}"}},
            ]},
            {"role": "tool", "tool_call_id": "a", "content": "no match"},
            {"role": "tool", "tool_call_id": "b:1", "content": "Error: not JSON"},
            {"role": "user", "content": "a message\n\nanother"},
            {"own": "block"},
            {"role": "user", "content": "next"},
            {"role": "assistant", "content": "foreign"},
            {"role": "user", "content": "last"},
        ],
    });
    assert_eq!(
        chat::body(&conversation("openai/m"), "m", "max_tokens", None),
        expected
    );
}

#[test]
fn messages_bodies_carry_the_whole_conversation() {
    let expected = json!({
        "model": "m", "max_tokens": 100, "stream": true,
        "system": [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": "grep", "description": "Searches.",
            "input_schema": {"type": "object", "properties": {"pattern": {"type": "string"}}}}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "do it"}]},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "a", "name": "grep", "input": {"pattern": "x"}},
                {"type": "tool_use", "id": "b_1", "name": "a_tool", "input": {"invalid_arguments": "{\"cut"}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "no match", "is_error": false},
                {"type": "tool_result", "tool_use_id": "b_1", "content": "not JSON", "is_error": true},
                {"type": "text", "text": "a message"},
                {"type": "text", "text": "another"},
            ]},
            {"role": "assistant", "content": [{"own": "block"}]},
            {"role": "user", "content": [{"type": "text", "text": "next"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "foreign"}]},
            {"role": "user", "content": [{"type": "text", "text": "last", "cache_control": {"type": "ephemeral"}}]},
        ],
    });
    assert_eq!(
        messages::body(&conversation("anthropic/m"), "m", None),
        expected
    );
}
