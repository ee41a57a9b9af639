//! The common parts of the replies of all protocols: the pages that they name, and how their values
//! are read.

use orchestrate_core::agent::model_search::SearchResult;
use serde_json::Value;

/// The instructions to the model besides the query.
pub(super) const INSTRUCTIONS: &str = "Search the web once for the user's query. Then answer it in \
                                       a few plain sentences, from what the search has found \
                                       alone, and say so if it has found nothing.";
/// The most pages that are read: more than any provider returns for one query.
pub(super) const MAX_RESULTS: usize = 50;
/// The maximum number of characters of a snippet.
pub(super) const MAX_SNIPPET_CHARS: usize = 500;

/// The pages of a reply, each once, in the order in which they are first named.
#[derive(Debug, Default)]
pub(super) struct Pages(pub(super) Vec<SearchResult>);

impl Pages {
    /// Adds a page, or what is not known of one yet.
    pub(super) fn add(&mut self, url: &str, title: &str, snippet: &str) {
        let snippet = snippet.trim();
        if let Some(known) = self.0.iter_mut().find(|page| page.url == url) {
            if known.title.is_empty() {
                title.clone_into(&mut known.title);
            }
            if !snippet.is_empty() && !known.snippet.contains(snippet) {
                let joined = if known.snippet.is_empty() {
                    snippet.to_owned()
                } else {
                    format!("{} … {snippet}", known.snippet)
                };
                known.snippet = joined.chars().take(MAX_SNIPPET_CHARS).collect();
            }
        } else if !url.is_empty() && self.0.len() < MAX_RESULTS {
            let snippet = snippet.chars().take(MAX_SNIPPET_CHARS).collect();
            self.0.push(SearchResult {
                title: title.to_owned(),
                url: url.to_owned(),
                snippet,
            });
        }
    }
}

/// Returns why a reply without an answer ended, unless for the usual reason; `None` if there is an
/// answer.
pub(super) fn ended_without_answer(answer: &str, reason: &str, usual: &str) -> Option<String> {
    let is_odd = answer.trim().is_empty() && !reason.is_empty() && reason != usual;
    is_odd.then(|| format!("the reply ended without an answer: {reason}"))
}

/// Returns a text; empty if there is none.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or("")
}

/// Returns the items of a list; none if it is none.
pub(super) fn items<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}
