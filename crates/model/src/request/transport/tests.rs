use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use orchestrate_core::{StopReason, ToolSpec};
use serde_json::json;

use super::*;
use crate::environment::Environment;
use crate::known::catalog::Models;
use crate::name::ModelName;
use crate::test_server::{Answer, TestServer, request};
use crate::wire::AnswerForm;

const CHAT: &str = concat!(
    ": OPENROUTER PROCESSING\n\n",
    "data: {\"choices\":[{\"delta\":{\"content\":\"Hé漢🦀\"}}]}\n\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":4}}\n\n",
    "data: [DONE]\n\n",
);
const MESSAGES: &str = concat!(
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":9}}}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hé漢🦀\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":4}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);

fn pairs(url: &str) -> [(String, String); 4] {
    [
        ("OPENAI_BASE_URL", format!("{url}/v1")),
        ("OPENAI_API_KEY", "sk-0a1b2c3d4e".to_owned()),
        ("ANTHROPIC_BASE_URL", url.to_owned()),
        ("ANTHROPIC_API_KEY", "ant-secret".to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
}

fn environment(url: &str) -> Environment {
    pairs(url).into_iter().collect()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

/// Sends one request, without retries.
fn ask_at(url: &str, name: &str, timeouts: Timeouts) -> Result<ModelReply, ModelError> {
    let mut remote = Models::new(environment(url), None)
        .remote(&ModelName::parse(name).unwrap())
        .unwrap();
    remote.timeouts = timeouts;
    block_on(remote.complete(&request(name), &mut |_| {}))
}

fn ask(name: &str, answers: Vec<Answer>) -> Result<ModelReply, ModelError> {
    ask_at(&TestServer::start(answers).url, name, Timeouts::default())
}

fn refused(name: &str, status: u16, headers: &str, body: &str) -> (String, bool) {
    let error = ask(name, vec![Answer::new(status, headers, body)]).unwrap_err();
    let text = error.to_string();
    let start = text.find("http://127.0.0.1:");
    let end = start.map(|at| at + text[at..].find([' ', ',', ';']).unwrap_or(0));
    let text = match (start, end) {
        (Some(start), Some(end)) => text.replace(text[start..end].trim_end_matches(':'), "URL"),
        _ => text,
    };
    (text, error.is_retryable())
}

#[test]
fn a_stream_arrives_whole_however_it_is_cut() {
    for (name, body) in [("openai/m", CHAT), ("anthropic/m", MESSAGES)] {
        for body in [body.to_owned(), body.replace('\n', "\r\n")] {
            let mut answer = Answer::events(&body);
            answer.pieces = answer
                .pieces
                .concat()
                .chunks(7)
                .map(<[u8]>::to_vec)
                .collect();
            let reply = ask(name, vec![answer]).unwrap();
            assert_eq!(
                (reply.text.as_str(), reply.usage.total()),
                ("Hé漢🦀", 13),
                "{name}"
            );
        }
    }
}

#[test]
fn a_connection_that_breaks_is_a_retryable_error() {
    for (name, body) in [("openai/m", CHAT), ("anthropic/m", MESSAGES)] {
        for part in 1..8 {
            let cut = body.len() * part / 8;
            let error = ask(name, vec![Answer::events(&body.as_bytes()[..cut])]).unwrap_err();
            assert!(error.is_retryable(), "{name} {cut}: {error}");
        }
        // The control: the whole of what was cut is a reply.
        assert_eq!(
            ask(name, vec![Answer::events(body)]).unwrap().text,
            "Hé漢🦀",
            "{name}"
        );
        let short = Answer::new(
            200,
            "content-type: text/event-stream\r\ncontent-length: 9999\r\n",
            &body[..40],
        );
        assert!(matches!(
            ask(name, vec![short]),
            Err(ModelError::Truncated { .. })
        ));
    }
}

#[test]
fn a_model_that_was_cut_off_is_asked_again() {
    let cut = Answer::events(&CHAT.as_bytes()[..CHAT.len() - 20]);
    let limited = Answer::new(
        429,
        "retry-after-ms: 1\r\n",
        "{\"error\":{\"message\":\"slow down\"}}",
    );
    let server = TestServer::start(vec![limited, cut, Answer::events(CHAT)]);
    let models = Models::new(environment(&server.url), None);
    let model = models
        .open(&ModelName::parse("openai/m").unwrap(), &[])
        .unwrap();
    let mut told = Vec::new();
    let reply = block_on(
        model.complete(&request("openai/m"), &mut |delta| match delta {
            Delta::Text(text) => told.push(text.to_owned()),
            Delta::ToolCall { name } => told.push(format!("call {name}")),
            Delta::Retry { attempt, cause, .. } => {
                told.push(format!("retry {attempt} {}", cause.is_rate_limit()))
            }
            Delta::Reasoning(_) => {}
        }),
    );
    assert_eq!(reply.unwrap().stop, StopReason::ToolCalls);
    // So short a text may be the beginning of the key: it is held back until the end, and dropped
    // with a failed attempt.
    assert_eq!(
        told,
        [
            "retry 1 true",
            "call f",
            "retry 2 false",
            "call f",
            "Hé漢🦀"
        ]
    );
    assert_eq!(server.asked().len(), 3);
}

#[test]
fn what_is_sent_is_what_the_protocols_want() {
    for (name, body, line, headers) in [
        (
            "openai/m",
            CHAT,
            "POST /v1/chat/completions HTTP/1.1",
            vec!["authorization: Bearer sk-0a1b2c3d4e"],
        ),
        (
            "anthropic/m",
            MESSAGES,
            "POST /v1/messages HTTP/1.1",
            vec!["anthropic-version: 2023-06-01", "x-api-key: ant-secret"],
        ),
    ] {
        let server = TestServer::start(vec![Answer::events(body)]);
        ask_at(&server.url, name, Timeouts::default()).unwrap();
        let asked = server.asked();
        assert_eq!(asked.len(), 1);
        assert_eq!(asked[0].line, line);
        let mut sent = asked[0].headers.clone();
        sent.retain(|header| {
            !["accept:", "content-", "host:"]
                .iter()
                .any(|known| header.starts_with(known))
        });
        sent.sort();
        assert_eq!(sent, headers);
        let expected = match name {
            "openai/m" => json!({
                "model": "m", "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 100,
                "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "go"}],
            }),
            _ => json!({
                "model": "m", "max_tokens": 100, "stream": true,
                "system": [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}],
                "messages": [{"role": "user", "content": [
                    {"type": "text", "text": "go", "cache_control": {"type": "ephemeral"}},
                ]}],
            }),
        };
        assert_eq!(asked[0].body, expected);
    }
}

#[test]
fn a_query_of_the_base_comes_after_the_path() {
    for (name, variable, base, body, path) in [
        (
            "openai/m",
            "OPENAI_BASE_URL",
            "/v1?api-version=2",
            CHAT,
            "/v1/chat/completions?api-version=2",
        ),
        (
            "openai/m",
            "OPENAI_BASE_URL",
            "/v1/?api-version=2#top",
            CHAT,
            "/v1/chat/completions?api-version=2",
        ),
        (
            "anthropic/m",
            "ANTHROPIC_BASE_URL",
            "/v1?api-version=2",
            MESSAGES,
            "/v1/messages?api-version=2",
        ),
        (
            "gemini/m",
            "GOOGLE_GEMINI_BASE_URL",
            "?api-version=2",
            CHAT,
            "/v1beta/openai/chat/completions?api-version=2",
        ),
    ] {
        let server = TestServer::start(vec![Answer::events(body)]);
        let url = format!("{}{base}", server.url);
        let set: Environment = [(variable.to_owned(), url.clone())].into_iter().collect();
        for (environment, typed) in [(set, None), (Environment::default(), Some(url))] {
            // A typed URL is used as it is; Gemini's own path is appended only to a variable's.
            let path = if typed.is_some() {
                path.replace("/v1beta/openai", "")
            } else {
                path.to_owned()
            };
            let remote = Models::new(environment, typed)
                .remote(&ModelName::parse(name).unwrap())
                .unwrap();
            block_on(remote.complete(&request(name), &mut |_| {})).unwrap();
            assert_eq!(
                server.asked().last().unwrap().line,
                format!("POST {path} HTTP/1.1")
            );
        }
    }
}

/// A server that does not speak the protocol may echo the key anywhere in its answer and in any
/// form, also where the answer is cut.
#[test]
fn no_answer_shows_the_key_however_it_is_written() {
    let key = "sk-0123456789abcdefghijklmnopqrstuvwxyz";
    let variables = |url: &str| {
        [
            ("OPENAI_BASE_URL", format!("{url}/v1")),
            ("OPENAI_API_KEY", key.to_owned()),
        ]
    };
    let swapped: String = key.chars().map(|c| c.to_ascii_uppercase()).collect();
    let base64 = "c2stMDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXZ3eHl6";
    let hex: String = key.bytes().map(|byte| format!("{byte:02x}")).collect();
    let percent: String = key.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let forms = [
        key,
        swapped.as_str(),
        base64,
        hex.as_str(),
        percent.as_str(),
    ];
    for form in forms {
        // Only the first 60 characters of a foreign reply are shown, so after 40 others the key
        // would be cut in two.
        let bodies = [
            form.to_owned(),
            format!("{}{form}", "x".repeat(40)),
            format!("<html>{form}</html>"),
        ];
        for (body, kind) in bodies
            .iter()
            .flat_map(|body| ["text/plain", "application/json", form].map(|kind| (body, kind)))
        {
            for status in [200, 302, 400, 401, 500] {
                let headers = format!("content-type: {kind}\r\nlocation: http://h/{form}\r\n");
                let server = TestServer::start(vec![Answer::new(status, &headers, body)]);
                let environment: Environment = variables(&server.url)
                    .map(|(name, value)| (name.to_owned(), value))
                    .into_iter()
                    .collect();
                let remote = Models::new(environment, None)
                    .remote(&ModelName::parse("openai/m").unwrap())
                    .unwrap();
                let error =
                    block_on(remote.complete(&request("openai/m"), &mut |_| {})).unwrap_err();
                for text in [error.to_string(), format!("{error:?}")] {
                    let told = text.to_lowercase();
                    let leaks = forms
                        .iter()
                        .any(|form| told.contains(&form.to_lowercase()[..12]));
                    assert!(!leaks, "{status} {kind} {body}: {text}");
                }
            }
        }
    }
}

#[test]
fn each_refusal_says_what_to_do_next_and_never_the_key() {
    for (name, status, body, expected, retryable) in [
        (
            "openai/m",
            401,
            r#"{"error":{"message":"Incorrect API key: sk-0a1b2c3d4e"}}"#,
            "authenticate for openai/m at URL (HTTP 401): Incorrect API key: [redacted:OPENAI_API_KEY]; check the key in OPENAI_API_KEY",
            false,
        ),
        (
            "anthropic/m",
            404,
            r#"{"type":"error","error":{"type":"not_found_error","message":"model: m"}}"#,
            "find the model anthropic/m at URL: model: m; check its name, or the endpoint in ANTHROPIC_BASE_URL: a run keeps its model, so changing it takes a new run",
            false,
        ),
        (
            "openai/m",
            400,
            r#"{"error":{"message":"too long","code":"context_length_exceeded"}}"#,
            "fit the request into the context of openai/m: too long; start a new run with lower `context_tokens` (`root_context_tokens` for a goal), since a run keeps its setting",
            false,
        ),
        (
            "openai/m",
            429,
            r#"{"error":{"message":"no money","code":"insufficient_quota"}}"#,
            "use openai/m at URL, since its account has no credit or has reached a limit: no money; add credit or raise the \
             limit at the provider, then resume the run",
            false,
        ),
        (
            "openai/m",
            400,
            r#"{"error":{"message":"bad"}}"#,
            "send the request to openai/m at URL (rejected with HTTP 400): bad",
            false,
        ),
        (
            "openai/m",
            503,
            r#"{"error":{"message":"Loading model"}}"#,
            "get an answer from openai/m at URL (HTTP 503): Loading model",
            true,
        ),
        (
            "anthropic/m",
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            "get an answer from anthropic/m at URL (HTTP 529): Overloaded",
            true,
        ),
    ] {
        assert_eq!(
            refused(name, status, "", body),
            (expected.to_owned(), retryable)
        );
    }
    for status in [500, 502] {
        assert!(refused("openai/m", status, "", "").1, "{status}");
    }
    // The control: servers that refuse nothing answer the same requests.
    for (name, body) in [("openai/m", CHAT), ("anthropic/m", MESSAGES)] {
        assert_eq!(
            ask(name, vec![Answer::events(body)]).unwrap().text,
            "Hé漢🦀",
            "{name}"
        );
    }
    let (text, retryable) = refused("openai/m", 301, "location: http://elsewhere/\r\n", "");
    assert!(
        text.contains("it redirects to \"http://elsewhere/\""),
        "{text}"
    );
    assert!(!retryable);
}

#[test]
fn a_success_that_is_none_is_an_error() {
    let json = "content-type: application/json\r\n";
    let (text, retryable) = refused(
        "openai/m",
        200,
        json,
        r#"{"error":{"message":"busy","code":503}}"#,
    );
    assert_eq!(
        (text.as_str(), retryable),
        ("get an answer from openai/m at URL (HTTP 503): busy", true)
    );
    let (text, _) = refused("openai/m", 200, json, r#"{"status":"ok"}"#);
    assert_eq!(
        text,
        "understand the reply of openai/m at URL: \"{\\\"status\\\":\\\"ok\\\"}\" (application/json) is not a reply of this protocol, so the endpoint may be wrong; set OPENAI_BASE_URL to its address"
    );
    for (kind, body, seen) in [
        (
            "content-type: text/html; charset=utf-8\r\n",
            "<html>hello\n</html>",
            r#""<html>hello\n</html>" (text/html; charset=utf-8)"#,
        ),
        ("", "hello", r#""hello" (no content type)"#),
    ] {
        for name in ["openai/m", "anthropic/m"] {
            let (text, _) = refused(name, 200, kind, body);
            let expected = format!(
                "understand the reply of {name} at URL: {seen} is not a reply of this protocol, so the"
            );
            assert!(text.starts_with(&expected), "{text}");
        }
    }
    let comments = Answer::events(": PROCESSING\n\n");
    assert!(matches!(
        ask("openai/m", vec![comments]),
        Err(ModelError::Truncated { .. })
    ));
    let cut: String = CHAT.split_inclusive("\n\n").take(2).collect();
    let (text, _) = refused("openai/m", 200, "content-type: text/plain\r\n", &cut);
    assert!(text.ends_with("the stream ended before [DONE]"), "{text}");
    let body = r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#;
    assert_eq!(
        ask("openai/m", vec![Answer::new(200, json, body)])
            .unwrap()
            .text,
        "hi"
    );
}

#[test]
fn silence_and_floods_end() {
    let short = Timeouts {
        idle: Duration::ZERO,
        ..Timeouts::default()
    };
    let mut stalled = Answer::events(&CHAT[..100]);
    stalled.stalls = true;
    let error = ask_at(&TestServer::start(vec![stalled]).url, "openai/m", short).unwrap_err();
    assert!(
        matches!(&error, ModelError::Truncated { problem, .. } if problem == "nothing arrived for 0 s"),
        "{error}"
    );
    assert!(error.is_retryable());

    let silent = Answer {
        stalls: true,
        ..Answer::default()
    };
    let short = Timeouts {
        headers: Duration::ZERO,
        ..Timeouts::default()
    };
    let error = ask_at(&TestServer::start(vec![silent]).url, "openai/m", short).unwrap_err();
    assert!(
        matches!(&error, ModelError::Unavailable { message, .. } if message == "no response within 0 s"),
        "{error}"
    );

    let mut flood = Answer::events("data: ");
    flood
        .pieces
        .extend(std::iter::repeat_n(vec![b'x'; 1 << 20], 50));
    let error = ask("openai/m", vec![flood]).unwrap_err();
    assert!(
        matches!(
            error,
            ModelError::TooLarge {
                limit: MAX_EVENT_BYTES,
                ..
            }
        ),
        "{error}"
    );
    assert!(!error.is_retryable());
    // The control: what goes on to its end is a reply, and so is what has as many bytes in lines of
    // their own.
    assert_eq!(
        ask("openai/m", vec![Answer::events(CHAT)]).unwrap().text,
        "Hé漢🦀"
    );
    let mut lines = Answer::events("");
    lines.pieces.extend(std::iter::repeat_n(
        format!(": {}\n\n", "x".repeat(1 << 20)).into_bytes(),
        17,
    ));
    lines.pieces.push(CHAT.as_bytes().to_vec());
    assert_eq!(ask("openai/m", vec![lines]).unwrap().text, "Hé漢🦀");
}

#[test]
fn nobody_there_is_said_with_the_url() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = ask_at(&url, "openai/m", Timeouts::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "reach openai/m at {url}/v1: Connection refused (os error 111); start the server, or set OPENAI_BASE_URL to its address"
        )
    );
    assert!(error.is_retryable());
    // The control: a server at such an address answers.
    assert_eq!(
        ask("openai/m", vec![Answer::events(CHAT)]).unwrap().text,
        "Hé漢🦀"
    );
    let typed = Models::new(Environment::default(), Some(url))
        .remote(&ModelName::parse("vllm/m").unwrap())
        .unwrap();
    let error = block_on(typed.complete(&request("vllm/m"), &mut |_| {}))
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("or start a new run with another base_url, since a run keeps its setting"),
        "{error}"
    );
}

#[test]
fn the_other_name_for_the_limit_is_learnt_once() {
    let wants = "{\"error\":{\"message\":\"Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.\"}}";
    let server = TestServer::start(vec![Answer::new(400, "", wants), Answer::events(CHAT)]);
    let remote = Models::new(environment(&server.url), None)
        .remote(&ModelName::parse("openai/m").unwrap())
        .unwrap();
    block_on(async {
        for _ in 0..2 {
            remote
                .complete(&request("openai/m"), &mut |_| {})
                .await
                .unwrap();
        }
    });
    let keys: Vec<bool> = server
        .asked()
        .iter()
        .map(|asked| asked.body.get("max_completion_tokens").is_some())
        .collect();
    assert_eq!(keys, [false, true, true]);
}

/// Sends a request for an answer to a server that takes its form at these times, twice.
fn ask_for_an_answer(
    name: &str,
    form: AnswerForm,
    has_tools: bool,
    answers: Vec<Answer>,
) -> Vec<Value> {
    let server = TestServer::start(answers);
    let mut remote = Models::new(environment(&server.url), None)
        .remote(&ModelName::parse(name).unwrap())
        .unwrap();
    // Another server that answers in a provider's place is not known to take it.
    assert_eq!(remote.endpoint.answers, AnswerForm::Never);
    remote.endpoint.answers = form;
    let tool = ToolSpec {
        name: "grep".to_owned(),
        description: "Searches.".to_owned(),
        parameters: json!({"type": "object"}),
    };
    let request = ModelRequest {
        tools: has_tools.then_some(tool).into_iter().collect(),
        answers: Some(json!({
            "title": "Facts", "type": "object", "required": ["colour"],
            "properties": {"colour": {"type": "string"}},
        })),
        ..request(name)
    };
    for _ in 0..2 {
        block_on(remote.complete(&request, &mut |_| {})).unwrap();
    }
    let asked = server.asked();
    asked.into_iter().map(|asked| asked.body).collect()
}

#[test]
fn the_form_of_an_answer_is_sent_where_tools_can_be_called_all_the_same() {
    let schema = json!({
        "type": "object", "required": ["colour"], "additionalProperties": false,
        "properties": {"colour": {"type": "string"}},
    });
    let servers = [
        (
            "openai/m",
            CHAT,
            "response_format",
            json!({
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": true, "schema": schema},
            }),
        ),
        (
            "anthropic/m",
            MESSAGES,
            "output_config",
            json!({"format": {"type": "json_schema", "schema": schema}}),
        ),
    ];
    let times = [
        (AnswerForm::Always, true, true),
        (AnswerForm::WithoutTools, true, false),
        (AnswerForm::WithoutTools, false, true),
        (AnswerForm::Never, false, false),
    ];
    for (name, reply, key, form) in servers {
        for (when, has_tools, is_sent) in times {
            let asked = ask_for_an_answer(name, when, has_tools, vec![Answer::events(reply)]);
            for body in asked {
                let expected = is_sent.then_some(&form);
                assert_eq!(body.get(key), expected, "{name} {when:?} {has_tools}");
                assert_eq!(body.get("tools").is_some(), has_tools);
            }
        }
    }
}

#[test]
fn a_server_that_refuses_the_form_of_an_answer_is_asked_without_it() {
    let refusal = r#"{"error":{"message":"This response_format type is unavailable now"}}"#;
    let answers = vec![Answer::new(400, "", refusal), Answer::events(CHAT)];
    let asked = ask_for_an_answer("openai/m", AnswerForm::Always, true, answers);
    let has_form = asked
        .iter()
        .map(|body| body.get("response_format").is_some());
    assert_eq!(has_form.collect::<Vec<_>>(), [true, false, false]);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test sends one message")]
fn a_dropped_request_closes_its_connection() {
    let mut stalled = Answer::events(&CHAT[..100]);
    stalled.stalls = true;
    let server = TestServer::start(vec![stalled, Answer::events(CHAT)]);
    let remote = Models::new(environment(&server.url), None)
        .remote(&ModelName::parse("openai/m").unwrap())
        .unwrap();
    let seen = Arc::new(AtomicBool::new(false));
    block_on(async {
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        let first = request("openai/m");
        let mut on_delta = move |_: Delta<'_>| {
            let _ = sender.send(());
        };
        tokio::select! {
            reply = remote.complete(&first, &mut on_delta) => panic!("{reply:?}"),
            _ = receiver.recv() => seen.store(true, Ordering::Relaxed),
        }
        drop(on_delta);
        assert_eq!(
            remote.complete(&first, &mut |_| {}).await.unwrap().text,
            "Hé漢🦀"
        );
    });
    assert!(seen.load(Ordering::Relaxed));
}

/// Lets the endpoint of a model search, and returns the reply with what was asked.
fn search(
    name: &str,
    answer: Answer,
) -> (
    Result<SearchReply, ModelError>,
    Vec<crate::test_server::Asked>,
) {
    let server = TestServer::start(vec![answer]);
    let gemini = [
        ("GOOGLE_GEMINI_BASE_URL", server.url.clone()),
        ("GEMINI_API_KEY", "gem-0a1b2c3d".to_owned()),
    ];
    let gemini = gemini.map(|(name, value)| (name.to_owned(), value));
    let environment = gemini.into_iter().chain(pairs(&server.url)).collect();
    let name = ModelName::parse(name).unwrap();
    let model = Models::new(environment, None).open(&name, &[]).unwrap();
    let query = "a query".to_owned();
    let found = block_on(model.search(&SearchRequest {
        model: name.to_string(),
        query,
    }));
    (found, server.asked())
}

#[test]
fn an_endpoint_searches_with_its_own_tool_and_key() {
    let json = |body: serde_json::Value| {
        Answer::new(200, "content-type: application/json\r\n", body.to_string())
    };
    let page = json!({"type": "url_citation", "start_index": 0, "url": "https://a.example/sk-0a1b2c3d4e", "title": "A"});
    let openai = json!({"output": [{"type": "web_search_call"}, {"type": "message", "content": [
        {"type": "output_text", "text": "the key is sk-0a1b2c3d4e", "annotations": [page]}]}]});
    let gemini = json!({"candidates": [{"content": {"parts": [{"text": "x"}]}}]});
    let table = [
        (
            "openai/m",
            openai,
            "POST /v1/responses HTTP/1.1",
            "authorization: Bearer sk-0a1b2c3d4e",
        ),
        (
            "anthropic/m",
            json!({"content": []}),
            "POST /v1/messages HTTP/1.1",
            "x-api-key: ant-secret",
        ),
        (
            "gemini/m",
            gemini,
            "POST /v1beta/models/m:generateContent HTTP/1.1",
            "x-goog-api-key: gem-0a1b2c3d",
        ),
    ];
    for (name, body, line, key) in table {
        let (found, asked) = search(name, json(body));
        let found = found.unwrap();
        let [asked] = asked.as_slice() else {
            panic!("{asked:?}")
        };
        assert_eq!(asked.line, line);
        let keys: Vec<&String> = asked
            .headers
            .iter()
            .filter(|header| {
                header.contains("sk-") || header.contains("secret") || header.contains("gem-")
            })
            .collect();
        assert_eq!(keys, [key], "{name}");
        if name == "openai/m" {
            assert_eq!(found.text, "the key is [redacted:OPENAI_API_KEY]");
            assert_eq!(
                found.results[0].url,
                "https://a.example/[redacted:OPENAI_API_KEY]"
            );
        }
    }
}

#[test]
fn an_endpoint_without_a_search_says_which_setting_to_change() {
    let setting = "the user can choose another service in `tools.web_requests.search_service`: searxng, brave or tavily";
    let (found, asked) = search("ollama/m", Answer::default());
    let error = found.unwrap_err();
    assert!(
        error.to_string().ends_with(setting) && error.is_without_search() && asked.is_empty(),
        "{error}"
    );
    let (found, _) = search("openai/m", Answer::new(404, "", "no such path"));
    let error = found.unwrap_err();
    assert!(
        error.to_string().ends_with(setting)
            && error.to_string().contains("(HTTP 404): no such path"),
        "{error}"
    );
}

#[test]
fn a_search_that_fails_is_not_repeated() {
    for (answer, is_retryable, has_begun, may_be_charged_for) in [
        (Answer::new(503, "", "later"), true, false, false),
        // The endpoint may have searched until the connection ended.
        (Answer::default(), true, false, true),
        (
            Answer::new(504, "", "the endpoint took too long"),
            true,
            false,
            true,
        ),
        (
            Answer::new(200, "content-type: text/html\r\n", "<p>a portal"),
            true,
            true,
            true,
        ),
        (
            Answer::new(400, "", "this model has no web_search"),
            false,
            false,
            false,
        ),
    ] {
        let (found, asked) = search("openai/m", answer);
        let error = found.unwrap_err();
        assert_eq!(
            (
                error.is_retryable(),
                error.had_begun_to_answer(),
                error.may_be_charged_for(),
                asked.len()
            ),
            (is_retryable, has_begun, may_be_charged_for, 1),
            "{error}"
        );
    }
}
