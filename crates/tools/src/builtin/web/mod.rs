//! The tools for the web. Whatever they return was written by others; a model reads it in a block.

mod api_docs;
mod fetch_url;
mod github;
mod page;
mod parse_documentation;
mod request;
mod stackoverflow;
mod web_search;

pub(super) use api_docs::FetchApiDocs;
pub(super) use fetch_url::FetchUrl;
pub(super) use github::SearchGithub;
pub(super) use parse_documentation::ParseDocumentation;
pub(super) use stackoverflow::SearchStackOverflow;
pub(super) use web_search::WebSearch;
