//! The tool `google_search` of Gemini's own protocol, with which it grounds its answers.
//!
//! The addresses of its pages lead through a redirect of the provider's; their titles are the hosts
//! of the pages. Source: the page "Grounding with Google Search" of the provider's documentation.

use orchestrate_core::Usage;
use orchestrate_core::agent::model_search::{MAX_OUTPUT_TOKENS, SearchReply, SearchRequest};
use serde_json::{Value, json};

use super::pages::{INSTRUCTIONS, Pages, ended_without_answer, items, text};
use crate::wire::content::number;

pub(super) fn body(request: &SearchRequest) -> Value {
    json!({
        "systemInstruction": {"parts": [{"text": INSTRUCTIONS}]},
        "contents": [{"role": "user", "parts": [{"text": request.query}]}],
        "tools": [{"google_search": {}}],
        "generationConfig": {"maxOutputTokens": MAX_OUTPUT_TOKENS},
    })
}

pub(super) fn reply(body: &Value) -> Option<SearchReply> {
    let usage = usage(body);
    let blocked = text(body, "/promptFeedback/blockReason");
    if !blocked.is_empty() {
        return Some(SearchReply {
            usage,
            failure: Some(format!("the query was blocked: {blocked}")),
            ..SearchReply::default()
        });
    }
    let candidate = body.pointer("/candidates/0")?;
    let mut answer = String::new();
    for part in items(candidate, "/content/parts") {
        if part.get("thought") != Some(&Value::Bool(true)) {
            answer.push_str(text(part, "/text"));
        }
    }
    let chunks = items(candidate, "/groundingMetadata/groundingChunks");
    let mut pages = Pages::default();
    for chunk in chunks {
        pages.add(text(chunk, "/web/uri"), text(chunk, "/web/title"), "");
    }
    for support in items(candidate, "/groundingMetadata/groundingSupports") {
        for index in items(support, "/groundingChunkIndices") {
            let index = index.as_u64().and_then(|index| usize::try_from(index).ok());
            let Some(chunk) = index.and_then(|index| chunks.get(index)) else {
                continue;
            };
            pages.add(
                text(chunk, "/web/uri"),
                text(chunk, "/web/title"),
                text(support, "/segment/text"),
            );
        }
    }
    let queries = items(candidate, "/groundingMetadata/webSearchQueries").len();
    let searches = u64::try_from(queries).unwrap_or(u64::MAX);
    let failure = ended_without_answer(&answer, text(candidate, "/finishReason"), "STOP");
    Some(SearchReply {
        text: answer.trim().to_owned(),
        results: pages.0,
        usage,
        searches,
        failure,
    })
}

fn usage(body: &Value) -> Usage {
    let prompt = number(body, "/usageMetadata/promptTokenCount");
    let of_tools = number(body, "/usageMetadata/toolUsePromptTokenCount");
    let candidates = number(body, "/usageMetadata/candidatesTokenCount");
    let thoughts = number(body, "/usageMetadata/thoughtsTokenCount");
    Usage {
        input_tokens: prompt.saturating_add(of_tools),
        cached_tokens: number(body, "/usageMetadata/cachedContentTokenCount"),
        output_tokens: candidates.saturating_add(thoughts),
    }
}
