//! The book in `docs/`: where its links lead, what its summary lists, the page of settings, which
//! is generated, and the snippets for build servers, which are run.

mod ci_page;
mod links;
mod settings_page;

use crate::support::{Case, case, sandboxed};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case(
            "book::every_link_leads_to_a_page_and_a_heading",
            links::pages_hold,
        ),
        case(
            "book::a_broken_link_is_caught",
            links::broken_links_are_caught,
        ),
        case(
            "book::a_page_outside_the_summary_is_caught",
            links::lost_pages_are_caught,
        ),
        case(
            "book::the_page_of_the_settings_is_up_to_date",
            settings_page::is_up_to_date,
        ),
        sandboxed(
            "book::what_the_page_shows_for_github_runs",
            ci_page::github_runs,
        ),
        sandboxed(
            "book::what_the_page_shows_for_gitlab_runs",
            ci_page::gitlab_runs,
        ),
    ]
}
