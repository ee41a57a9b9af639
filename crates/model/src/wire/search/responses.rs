//! The tool `web_search` of OpenAI's Responses.
//!
//! Source: the page "Web search" of the provider's documentation, and its types of
//! `web_search_call` and `url_citation`.

use orchestrate_core::Usage;
use orchestrate_core::agent::model_search::{MAX_OUTPUT_TOKENS, SearchReply, SearchRequest};
use serde_json::{Value, json};

use super::pages::{INSTRUCTIONS, Pages, ended_without_answer, items, text};
use crate::wire::content::number;

pub(super) fn body(request: &SearchRequest, model: &str) -> Value {
    json!({
        "model": model,
        "instructions": INSTRUCTIONS,
        "input": request.query,
        "tools": [{"type": "web_search"}],
        "tool_choice": "required",
        "max_tool_calls": 1,
        "max_output_tokens": MAX_OUTPUT_TOKENS,
        "include": ["web_search_call.action.sources"],
        "store": false,
    })
}

pub(super) fn reply(body: &Value) -> Option<SearchReply> {
    let (mut cited, mut sources, mut answer) = (Pages::default(), Vec::new(), String::new());
    let (mut searches, mut failure) = (0, None);
    for item in body.get("output")?.as_array()? {
        match text(item, "/type") {
            "web_search_call" => {
                searches += queries(item);
                for source in items(item, "/action/sources") {
                    sources.push(text(source, "/url"));
                }
                if text(item, "/status") == "failed" {
                    failure = Some("the search failed".to_owned());
                }
            }
            "message" => {
                for part in items(item, "/content") {
                    let said = text(part, "/text");
                    answer.push_str(said);
                    for citation in items(part, "/annotations") {
                        let line = line_at(said, number(citation, "/start_index"));
                        cited.add(text(citation, "/url"), text(citation, "/title"), line);
                    }
                }
            }
            _ => {}
        }
    }
    let failure = failure
        .or_else(|| ended_without_answer(&answer, text(body, "/incomplete_details/reason"), ""));
    // What the model refers to comes first.
    for url in sources {
        cited.add(url, "", "");
    }
    Some(SearchReply {
        text: answer.trim().to_owned(),
        results: cited.0,
        usage: usage(body),
        searches,
        failure,
    })
}

/// Returns how many queries a call has made; opening a page is none.
fn queries(call: &Value) -> u64 {
    match text(call, "/action/type") {
        "search" | "" => u64::try_from(items(call, "/action/queries").len())
            .unwrap_or(u64::MAX)
            .max(1),
        _ => 0,
    }
}

/// Returns the line of a text that contains its character of this number.
fn line_at(text: &str, character: u64) -> &str {
    let mut left = usize::try_from(character).unwrap_or(usize::MAX);
    let mut line = "";
    for next in text.split('\n') {
        line = next;
        let length = line.chars().count();
        if left <= length {
            break;
        }
        left -= length + 1;
    }
    line
}

fn usage(body: &Value) -> Usage {
    Usage {
        input_tokens: number(body, "/usage/input_tokens"),
        cached_tokens: number(body, "/usage/input_tokens_details/cached_tokens"),
        output_tokens: number(body, "/usage/output_tokens"),
    }
}
