//! Searches of the web by an endpoint's own tool: the body of the one request, and what its reply
//! says, both pure.
//!
//! The replies are read whole, not as streams: a search is not watched. Three providers have such a
//! tool in a protocol that is read here; Chat Completions, which most other servers speak, has
//! none.

mod api;
mod gemini;
mod messages;
mod pages;
mod responses;

pub(crate) use api::SearchApi;

#[cfg(test)]
mod tests;
