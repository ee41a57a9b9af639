use orchestrate_core::agent::context::request_tokens;
use serde_json::{Value, json};

use super::*;
use crate::test_server::request;
use crate::wire::{chat, messages};

#[test]
fn counting_becomes_exact() {
    let counter = LazyCounter::default();
    assert!(counter.count("hello world") <= "hello world".len());
    let tokenizer = Tokenizer::load().unwrap();
    assert!(counter.is_exact() && counter.current().is_exact());
    // The expected counts are from OpenAI's own tokenizer.
    for (text, tokens) in [
        ("", 0),
        ("hello world", 2),
        ("let x = vec![1, 2, 3];", 13),
        ("漢字", 2),
        ("<|endoftext|>", 7),
    ] {
        assert_eq!(
            (tokenizer.count(text), counter.count(text)),
            (tokens, tokens),
            "{text}"
        );
    }
}

#[test]
fn a_text_of_any_length_is_counted() {
    let tokenizer = Tokenizer::load().unwrap();
    // The tokenizer itself panics at a million blanks in a row.
    for text in [
        " ".repeat(1_200_000),
        format!("{}x", "\t".repeat(1_200_000)),
        "é".repeat(PIECE_BYTES),
    ] {
        let tokens = tokenizer.count(&text);
        assert!((1..text.len()).contains(&tokens), "{tokens}");
    }
    assert_eq!(pieces(&"é".repeat(PIECE_BYTES)).count(), 2);
    // All words but the first begin with the blank before them, and the last blank is a token.
    let tokens = tokenizer.count(&"word ".repeat(100_000));
    assert!((100_001..100_004).contains(&tokens), "{tokens}");
}

/// Returns a typical conversation of an agent: many tools, calls, and results with code in them.
fn working_request() -> ModelRequest {
    let tool = |at: usize| orchestrate_core::ToolSpec {
        name: format!("tool_{at}"),
        description: "Does one thing to a file below the worktree.".to_owned(),
        parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}),
    };
    let mut messages = vec![Message::User {
        text: "Build it.".to_owned(),
    }];
    for at in 0..20 {
        let id = format!("call_{at}_1");
        messages.push(Message::Assistant {
            text: "I read the next file.".to_owned(),
            tool_calls: vec![ToolCall {
                id: id.as_str().into(),
                name: "tool_1".to_owned(),
                arguments: json!({"path": "src/a.rs"}),
            }],
            raw: None,
        });
        let text = "fn main() {\n    println!(\"{}\", 1);\n}\n".repeat(5);
        let result = orchestrate_core::agent::conversation::ToolResult {
            call_id: id.as_str().into(),
            text,
            is_error: false,
        };
        messages.push(Message::Tool {
            results: vec![result],
        });
    }
    ModelRequest {
        tools: (0..15).map(tool).collect(),
        messages,
        ..request("openai/m")
    }
}

/// Returns a conversation that has written a large file full of quotes, which Chat Completions
/// escapes twice.
fn writing_request() -> ModelRequest {
    let content = "fn main() {\n    let s = \"a\\tb\";\n    println!(\"{s}\");\n}\n".repeat(40);
    let arguments = json!({"path": "a.rs", "content": content});
    let tool_calls = vec![ToolCall {
        id: "call_1".into(),
        name: "write_file".to_owned(),
        arguments,
    }];
    ModelRequest {
        messages: vec![Message::Assistant {
            text: String::new(),
            tool_calls,
            raw: None,
        }],
        ..request("openai/m")
    }
}

/// Returns a conversation whose reply is sent as its own model wrote it, or without its reasoning.
fn reasoning_request(by: &str) -> ModelRequest {
    let text = "I read the next file, and then I write the other one.".repeat(20);
    let blocks = vec![
        json!({"type": "thinking", "thinking": "Which file is next?".repeat(20), "signature": "c2lnbmF0dXJl"}),
        json!({"type": "text", "text": text}),
    ];
    let raw = Some(orchestrate_core::agent::conversation::RawBlocks {
        model: by.to_owned(),
        blocks,
    });
    let messages = vec![Message::Assistant {
        text,
        tool_calls: Vec::new(),
        raw,
    }];
    ModelRequest {
        messages,
        ..request("openai/m")
    }
}

/// The bodies of both protocols are no larger than core's canonical rendering with its margins.
#[test]
fn bodies_stay_within_the_canonical_rendering_and_its_margin() {
    let reasoning = ["openai/m", "openai/other"].map(reasoning_request);
    for request in [request("openai/m"), working_request(), writing_request()]
        .iter()
        .chain(&reasoning)
    {
        check_bodies(request);
    }
}

fn check_bodies(request: &ModelRequest) {
    let tokenizer = Tokenizer::load().unwrap();
    let bound = request_tokens(request, &tokenizer);
    let bodies: [Value; 2] = [
        chat::body(request, "m", "max_tokens", None),
        messages::body(request, "m", None),
    ];
    for body in bodies {
        let tokens = tokenizer.count(&body.to_string());
        assert!(tokens <= bound, "{tokens} of {bound}");
    }
}
