//! What a plan, a goal and the project's own texts lead to, and what an agent is told of them.

mod check;
mod goals;
mod map;
mod plan_styles;
mod project_texts;
mod reading;
mod referred_files;
mod task_message;
mod trackers;

use crate::support::Case;

/// Returns the cases of every module that start a run.
pub(super) fn cases() -> Vec<Case> {
    let modules = [
        goals::cases,
        map::cases,
        project_texts::cases,
        reading::cases,
        referred_files::cases,
        task_message::cases,
        trackers::cases,
    ];
    modules.iter().flat_map(|cases| cases()).collect()
}

/// Returns the cases of which only some start a run, and those say so themselves.
pub(super) fn reading_cases() -> Vec<Case> {
    let modules = [check::cases, plan_styles::cases];
    modules.iter().flat_map(|cases| cases()).collect()
}
