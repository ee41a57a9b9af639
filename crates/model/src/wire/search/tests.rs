//! Replies in the forms that the providers' own pages show, shortened.

use super::api::SearchApi;
use super::pages::{MAX_RESULTS, MAX_SNIPPET_CHARS, Pages};
use crate::wire::fault::Fault;
use orchestrate_core::Usage;
use orchestrate_core::agent::model_search::{SearchReply, SearchRequest, SearchResult};
use serde_json::{Value, json};

fn page(title: &str, url: &str, snippet: &str) -> SearchResult {
    SearchResult {
        title: title.to_owned(),
        url: url.to_owned(),
        snippet: snippet.to_owned(),
    }
}

fn request() -> SearchRequest {
    SearchRequest {
        model: "p/m".to_owned(),
        query: "when was Claude Shannon born".to_owned(),
    }
}

/// As <https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool> shows it.
fn of_anthropic() -> Value {
    json!({
        "role": "assistant", "id": "msg_a930390d3a", "stop_reason": "end_turn",
        "content": [
            {"type": "text", "text": "I'll search for when Claude Shannon was born."},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "claude shannon birth date"}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [
                {"type": "web_search_result", "url": "https://en.wikipedia.org/wiki/Claude_Shannon",
                 "title": "Claude Shannon - Wikipedia", "encrypted_content": "EqgfCioIARgB", "page_age": "April 30, 2025"},
                {"type": "web_search_result", "url": "https://other.example/", "title": "Other", "encrypted_content": "E"},
            ]},
            {"type": "text", "text": "Based on the search results, "},
            {"type": "text", "text": "Claude Shannon was born on April 30, 1916.", "citations": [
                {"type": "web_search_result_location", "url": "https://en.wikipedia.org/wiki/Claude_Shannon",
                 "title": "Claude Shannon - Wikipedia", "encrypted_index": "Eo8B",
                 "cited_text": "Claude Elwood Shannon (April 30, 1916 – …"},
            ]},
        ],
        "usage": {"input_tokens": 6039, "cache_read_input_tokens": 10, "cache_creation_input_tokens": 1,
                  "output_tokens": 931, "server_tool_use": {"web_search_requests": 1}},
    })
}

/// As <https://developers.openai.com/api/docs/guides/tools-web-search> and the provider's types
/// show it.
fn of_openai() -> Value {
    json!({
        "id": "resp_1", "object": "response", "status": "completed", "error": null,
        "output": [
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {
                "type": "search", "query": "q", "queries": ["q", "q2"], "sources": [
                    {"type": "url", "url": "https://only-read.example/"}, {"type": "url", "url": "https://cited.example/a"}]}},
            {"type": "web_search_call", "id": "ws_2", "status": "completed", "action": {"type": "open_page", "url": "https://x/"}},
            {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [
                {"type": "output_text", "text": "Früh.\nBorn in 1916 ([cited](https://cited.example/a)).\nEnd.", "annotations": [
                    {"type": "url_citation", "start_index": 20, "end_index": 53, "url": "https://cited.example/a", "title": "Cited"}]},
            ]},
        ],
        "usage": {"input_tokens": 328, "input_tokens_details": {"cached_tokens": 7}, "output_tokens": 356,
                  "output_tokens_details": {"reasoning_tokens": 300}, "total_tokens": 684},
    })
}

/// As <https://ai.google.dev/gemini-api/docs/google-search> shows it.
fn of_gemini() -> Value {
    json!({
        "candidates": [{
            "content": {"role": "model", "parts": [{"text": "thinking", "thought": true}, {"text": "Spain won Euro 2024."}]},
            "groundingMetadata": {
                "webSearchQueries": ["UEFA Euro 2024 winner", "who won euro 2024"],
                "searchEntryPoint": {"renderedContent": "<!-- HTML -->"},
                "groundingChunks": [
                    {"web": {"uri": "https://vertexaisearch.cloud.google.com/1", "title": "aljazeera.com"}},
                    {"web": {"uri": "https://vertexaisearch.cloud.google.com/2", "title": "uefa.com"}}],
                "groundingSupports": [
                    {"segment": {"startIndex": 0, "endIndex": 20, "text": "Spain won Euro 2024."}, "groundingChunkIndices": [1, 9]}],
            },
        }],
        "usageMetadata": {"promptTokenCount": 20, "toolUsePromptTokenCount": 100, "candidatesTokenCount": 6,
                          "thoughtsTokenCount": 4, "totalTokenCount": 130},
    })
}

#[test]
fn each_reply_says_what_was_found_and_what_it_used() {
    let found = SearchApi::Messages.reply(&of_anthropic()).unwrap();
    let expected = SearchReply {
        text: "Based on the search results, Claude Shannon was born on April 30, 1916.".to_owned(),
        results: vec![
            page(
                "Claude Shannon - Wikipedia",
                "https://en.wikipedia.org/wiki/Claude_Shannon",
                "Claude Elwood Shannon (April 30, 1916 – …",
            ),
            page("Other", "https://other.example/", ""),
        ],
        usage: Usage {
            input_tokens: 6050,
            cached_tokens: 10,
            output_tokens: 931,
        },
        searches: 1,
        failure: None,
    };
    assert_eq!(found, expected);

    let found = SearchApi::Responses.reply(&of_openai()).unwrap();
    let line = "Born in 1916 ([cited](https://cited.example/a)).";
    let expected = SearchReply {
        text: format!("Früh.\n{line}\nEnd."),
        results: vec![
            page("Cited", "https://cited.example/a", line),
            page("", "https://only-read.example/", ""),
        ],
        usage: Usage {
            input_tokens: 328,
            cached_tokens: 7,
            output_tokens: 356,
        },
        searches: 2,
        failure: None,
    };
    assert_eq!(found, expected);

    let found = SearchApi::Gemini.reply(&of_gemini()).unwrap();
    let expected = SearchReply {
        text: "Spain won Euro 2024.".to_owned(),
        results: vec![
            page(
                "aljazeera.com",
                "https://vertexaisearch.cloud.google.com/1",
                "",
            ),
            page(
                "uefa.com",
                "https://vertexaisearch.cloud.google.com/2",
                "Spain won Euro 2024.",
            ),
        ],
        usage: Usage {
            input_tokens: 120,
            cached_tokens: 0,
            output_tokens: 10,
        },
        searches: 2,
        failure: None,
    };
    assert_eq!(found, expected);
}

#[test]
fn one_search_with_the_endpoints_own_tool_is_asked_for() {
    let body = |api: SearchApi| (api.path("m"), api.body(&request(), "m"));
    let (path, of) = body(SearchApi::Messages);
    assert_eq!(path, "v1/messages");
    assert_eq!(
        of["tools"],
        json!([{"type": "web_search_20250305", "name": "web_search", "max_uses": 1}])
    );
    assert_eq!(
        (&of["model"], &of["messages"][0]["content"]),
        (&json!("m"), &json!(request().query))
    );
    let (path, of) = body(SearchApi::Responses);
    assert_eq!(path, "responses");
    assert_eq!(
        (&of["tools"], &of["max_tool_calls"]),
        (&json!([{"type": "web_search"}]), &json!(1))
    );
    assert_eq!(
        (&of["input"], &of["store"]),
        (&json!(request().query), &json!(false))
    );
    let (path, of) = body(SearchApi::Gemini);
    assert_eq!(path, "models/m:generateContent");
    assert_eq!(of["tools"], json!([{"google_search": {}}]));
    assert_eq!(of["contents"][0]["parts"][0]["text"], request().query);
}

#[test]
fn a_search_that_failed_is_none_without_results() {
    let mut body = of_anthropic();
    body["content"][2]["content"] =
        json!({"type": "web_search_tool_result_error", "error_code": "unavailable"});
    let reply = SearchApi::Messages.reply(&body).unwrap();
    assert_eq!(
        (reply.failure.as_deref(), reply.usage.output_tokens),
        (Some("unavailable"), 931)
    );
    let body = json!({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 3}});
    let reply = SearchApi::Gemini.reply(&body).unwrap();
    assert_eq!(
        (reply.failure.as_deref(), reply.usage.input_tokens),
        (Some("the query was blocked: SAFETY"), 3)
    );
    let mut body = of_openai();
    body["output"][1]["status"] = json!("failed");
    assert_eq!(
        SearchApi::Responses
            .reply(&body)
            .unwrap()
            .failure
            .as_deref(),
        Some("the search failed")
    );
}

/// A model may have thought, or searched, until it had no token left for an answer.
#[test]
fn a_reply_that_ended_without_an_answer_says_why() {
    let failure = |api: SearchApi, body: &Value| api.reply(body).unwrap().failure;
    let ended = |reason: &str| Some(format!("the reply ended without an answer: {reason}"));
    let mut body = of_anthropic();
    body["stop_reason"] = json!("max_tokens");
    assert_eq!(
        failure(SearchApi::Messages, &body),
        None,
        "there is an answer"
    );
    body["content"] = json!([]);
    assert_eq!(failure(SearchApi::Messages, &body), ended("max_tokens"));
    body["stop_reason"] = json!("end_turn");
    assert_eq!(failure(SearchApi::Messages, &body), None);
    let mut body = of_openai();
    body["status"] = json!("incomplete");
    body["incomplete_details"] = json!({"reason": "max_output_tokens"});
    assert_eq!(
        failure(SearchApi::Responses, &body),
        None,
        "there is an answer"
    );
    body["output"] = json!([{"type": "reasoning", "id": "rs_1", "summary": []}]);
    assert_eq!(
        failure(SearchApi::Responses, &body),
        ended("max_output_tokens")
    );
    for (reason, expected) in [("SAFETY", ended("SAFETY")), ("STOP", None)] {
        let body = json!({"candidates": [{"finishReason": reason}], "usageMetadata": {"promptTokenCount": 3}});
        assert_eq!(failure(SearchApi::Gemini, &body), expected);
    }
}

#[test]
fn what_is_no_reply_is_a_fault() {
    for api in [SearchApi::Messages, SearchApi::Responses, SearchApi::Gemini] {
        for body in [
            json!({}),
            json!([]),
            json!("x"),
            json!({"content": 1, "output": {}, "candidates": []}),
        ] {
            assert!(
                matches!(api.reply(&body), Err(Fault::Malformed(_))),
                "{api:?} {body}"
            );
        }
        let error =
            json!({"error": {"type": "overloaded_error", "code": "server_error", "message": "m"}});
        assert!(
            matches!(api.reply(&error), Err(Fault::Refused(_))),
            "{api:?}"
        );
    }
}

#[test]
fn there_is_a_limit_to_pages_and_snippets() {
    let mut pages = Pages::default();
    for number in 0..200 {
        pages.add(&format!("https://h/{number}"), "t", &"x".repeat(9_000));
    }
    pages.add("", "no address", "");
    pages.add("https://h/0", "other", &"y".repeat(9_000));
    assert_eq!(pages.0.len(), MAX_RESULTS);
    assert!(
        pages
            .0
            .iter()
            .all(|page| page.snippet.chars().count() == MAX_SNIPPET_CHARS && page.title == "t")
    );
}
