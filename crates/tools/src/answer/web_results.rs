//! The structured results of the tools for the web: the `data` of their outputs.

use serde::{Deserialize, Serialize};

use orchestrate_html::Heading;

/// A page that was fetched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebContent {
    /// The address that answered, after redirects.
    pub url: String,
    /// The status.
    pub status: u16,
    /// The type, as the server states it.
    pub content_type: String,
    /// The title; empty if there is none.
    pub title: String,
    /// The content, in the form that was asked for.
    pub content: String,
    /// The size of what arrived in bytes, decompressed.
    pub bytes: usize,
    /// Whether there is more than what arrived.
    pub is_cut: bool,
}

/// A page of documentation, by its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Documentation {
    /// The address that answered, after redirects.
    pub url: String,
    /// The title.
    pub title: String,
    /// The headings, each with those below it.
    pub headings: Vec<Heading>,
    /// The blocks of code, in order.
    pub code_blocks: Vec<CodeBlock>,
    /// The links, each address once.
    pub links: Vec<PageLink>,
    /// Whether there is more than what is here.
    pub is_cut: bool,
}

/// A block of code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeBlock {
    /// The language that the page names.
    pub language: Option<String>,
    /// The code.
    pub code: String,
}

/// A link of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageLink {
    /// Its text.
    pub text: String,
    /// The absolute address that it leads to.
    pub url: String,
}

/// A question on Stack Overflow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackOverflowResult {
    /// The title.
    pub title: String,
    /// The address.
    pub url: String,
    /// The votes.
    pub score: i64,
    /// The number of answers.
    pub answers: u64,
    /// Whether the author has accepted an answer.
    pub is_answered: bool,
    /// The tags.
    pub tags: Vec<String>,
}

/// A repository on GitHub.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitHubResult {
    /// The name with its owner.
    pub name: String,
    /// The address.
    pub url: String,
    /// The description.
    pub description: String,
    /// The main language.
    pub language: Option<String>,
    /// The number of stars.
    pub stars: u64,
    /// When it was pushed to last.
    pub updated: String,
}

/// The documentation of a library.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct APIDocumentation {
    /// The library.
    pub library: String,
    /// The registry: `docs.rs`, `pypi`, `npm` or `pkg.go.dev`.
    pub registry: String,
    /// The version, as far as it is known.
    pub version: Option<String>,
    /// The address of the documentation.
    pub url: String,
    /// What the library is, in a sentence.
    pub summary: String,
    /// The documentation as Markdown.
    pub content: String,
    /// The libraries of the same name in other registries, as a call can name them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<String>,
    /// The registries that might have such a library, but did not answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unanswered: Vec<String>,
    /// The registries that might have such a library, but may not be asked, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<String>,
    /// Whether the registry has more than was read.
    #[serde(default)]
    pub is_cut: bool,
}
