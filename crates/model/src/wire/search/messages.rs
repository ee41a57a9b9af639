//! The server tool `web_search` of Anthropic's Messages.
//!
//! The version of 2025-03-05 is asked for, which all models have; later ones add a filter by a
//! program, which needs another tool. Source: the page "Web search tool" of the provider's
//! documentation.

use orchestrate_core::Usage;
use orchestrate_core::agent::model_search::{MAX_OUTPUT_TOKENS, SearchReply, SearchRequest};
use serde_json::{Value, json};

use super::pages::{INSTRUCTIONS, Pages, ended_without_answer, items, text};
use crate::wire::content::number;

pub(super) fn body(request: &SearchRequest, model: &str) -> Value {
    json!({
        "model": model,
        "max_tokens": MAX_OUTPUT_TOKENS,
        "system": INSTRUCTIONS,
        "messages": [{"role": "user", "content": request.query}],
        "tools": [{"type": "web_search_20250305", "name": "web_search", "max_uses": 1}],
    })
}

pub(super) fn reply(body: &Value) -> Option<SearchReply> {
    let (mut pages, mut answer, mut failure) = (Pages::default(), String::new(), None);
    for block in body.get("content")?.as_array()? {
        match text(block, "/type") {
            "web_search_tool_result" => {
                for page in items(block, "/content") {
                    pages.add(text(page, "/url"), text(page, "/title"), "");
                }
                let code = text(block, "/content/error_code");
                if !code.is_empty() {
                    failure = Some(code.to_owned());
                }
            }
            // What is said before the results is no answer.
            "server_tool_use" => answer.clear(),
            "text" => {
                answer.push_str(text(block, "/text"));
                for cited in items(block, "/citations") {
                    pages.add(
                        text(cited, "/url"),
                        text(cited, "/title"),
                        text(cited, "/cited_text"),
                    );
                }
            }
            _ => {}
        }
    }
    let failure =
        failure.or_else(|| ended_without_answer(&answer, text(body, "/stop_reason"), "end_turn"));
    Some(SearchReply {
        text: answer.trim().to_owned(),
        results: pages.0,
        usage: usage(body),
        searches: number(body, "/usage/server_tool_use/web_search_requests"),
        failure,
    })
}

/// Returns the usage; `input_tokens` excludes what is read from the cache and written to it.
fn usage(body: &Value) -> Usage {
    let cached = number(body, "/usage/cache_read_input_tokens");
    let written = number(body, "/usage/cache_creation_input_tokens");
    Usage {
        input_tokens: number(body, "/usage/input_tokens")
            .saturating_add(written)
            .saturating_add(cached),
        cached_tokens: cached,
        output_tokens: number(body, "/usage/output_tokens"),
    }
}
