//! The tools for the web.

use crate::reference::table::{Line, unit};

/// What calls them before services of the real ones' forms.
const WEB: &str = "crates/tools/tests/suite/builtin/web.rs";

/// The table.
#[rustfmt::skip]
pub(in crate::reference) const WEB_TOOLS: &[Line] = &[
    unit("002-075", "web_search", WEB, "the_chosen_service_searches"),
    unit("002-076", "web_search finds 10 results unless asked otherwise", WEB, "the_chosen_service_searches"),
    unit("002-077", "SearchResult", WEB, "the_chosen_service_searches"),
    unit("002-078", "fetch_url", WEB, "a_page_is_fetched_as_markdown"),
    unit("002-079", "fetch_url waits 30 s unless asked otherwise", WEB, "a_page_is_fetched_as_markdown"),
    unit("002-080", "WebContent", WEB, "a_page_is_fetched_as_markdown"),
    unit("002-081", "parse_documentation", WEB, "a_page_of_documentation_has_its_parts"),
    unit("002-082", "Documentation", WEB, "a_page_of_documentation_has_its_parts"),
    unit("002-083", "search_stackoverflow", WEB, "questions_and_repositories_are_found"),
    unit("002-084", "StackOverflowResult", WEB, "questions_and_repositories_are_found"),
    unit("002-085", "search_github", WEB, "questions_and_repositories_are_found"),
    unit("002-086", "GitHubResult", WEB, "questions_and_repositories_are_found"),
    unit("002-087", "fetch_api_docs", WEB, "the_documentation_of_a_library_is_found"),
    unit("002-088", "APIDocumentation", WEB, "the_documentation_of_a_library_is_found"),
    unit("002-154", "network_access covers web_search and fetch_url", "crates/tools/tests/suite/rules/permissions.rs", "each_covers_the_tools_of_the_reference"),
];
