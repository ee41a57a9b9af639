//! A run from its plan to its merged result: agents, models, messages, checks, conflicts, and being stopped.

mod aggregate;
mod approver;
mod base;
mod cancel;
mod check;
mod children;
mod demo;
mod end_to_end;
mod evidence;
mod failures;
mod flaky;
mod git_remotes;
mod git_tools;
mod goals;
pub(crate) mod hand_back;
mod map;
mod merge_targets;
mod messages;
mod model_fallback;
pub(crate) mod models;
mod plan_styles;
mod project_texts;
mod questions;
mod repair;
mod setup;
mod signals;
mod spawning;
mod task_message;
mod trackers;
mod verdict;
mod verifier;
pub(crate) mod waits;

use crate::support::{Case, Need};

/// Returns the cases of every module. All cases of the second list start a run, so they need a
/// sandbox; in the first list, the cases that do say so themselves.
pub(crate) fn cases() -> Vec<Case> {
    let others = [check::cases, demo::cases, plan_styles::cases];
    let runs = [
        aggregate::cases,
        approver::cases,
        base::cases,
        cancel::cases,
        children::cases,
        end_to_end::cases,
        evidence::cases,
        failures::cases,
        flaky::cases,
        git_remotes::cases,
        git_tools::cases,
        hand_back::cases,
        goals::cases,
        map::cases,
        model_fallback::cases,
        merge_targets::cases,
        messages::cases,
        models::cases,
        project_texts::cases,
        questions::cases,
        repair::cases,
        setup::cases,
        signals::cases,
        spawning::cases,
        task_message::cases,
        trackers::cases,
        verdict::cases,
        verifier::cases,
        waits::cases,
    ];
    let runs = runs.iter().flat_map(|cases| cases()).map(|case| case.needs(Need::SANDBOX));
    others.iter().flat_map(|cases| cases()).chain(runs).collect()
}
