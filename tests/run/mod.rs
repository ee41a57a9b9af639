//! A run from its plan to its merged result: agents, models, messages, checks, conflicts, and being
//! stopped.

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
mod one_path;
mod plan_styles;
mod project_texts;
mod questions;
mod referred_files;
mod repair;
mod setup;
mod signals;
mod spawning;
mod task_message;
mod trackers;
mod verdict;
mod verifier;
pub(crate) mod waits;
mod warm;

use crate::support::{Case, Need, Place};

/// Returns the cases of every module. All cases of the second list start a run, so they need a
/// sandbox; in the first list, the cases that do say so themselves.
pub(crate) fn cases() -> Vec<Case> {
    let others = [check::cases, demo::cases, plan_styles::cases];
    let with_git = [git_remotes::cases, git_tools::cases, merge_targets::cases];
    let with_git = with_git
        .iter()
        .flat_map(|cases| cases())
        .map(|case| case.depends_on(&[Place::OldestGit]));
    let confined = [base::cases, evidence::cases, setup::cases];
    let confined = confined
        .iter()
        .flat_map(|cases| cases())
        .map(|case| case.depends_on(&[Place::WithoutBubblewrap, Place::Root]));
    let runs = [
        aggregate::cases,
        approver::cases,
        cancel::cases,
        children::cases,
        end_to_end::cases,
        failures::cases,
        flaky::cases,
        hand_back::cases,
        goals::cases,
        map::cases,
        model_fallback::cases,
        messages::cases,
        models::cases,
        one_path::cases,
        project_texts::cases,
        questions::cases,
        referred_files::cases,
        repair::cases,
        signals::cases,
        spawning::cases,
        task_message::cases,
        trackers::cases,
        verdict::cases,
        verifier::cases,
        warm::cases,
        waits::cases,
    ];
    let runs = runs
        .iter()
        .flat_map(|cases| cases())
        .chain(with_git)
        .chain(confined);
    let runs = runs.map(|case| case.needs(Need::SANDBOX));
    others
        .iter()
        .flat_map(|cases| cases())
        .chain(runs)
        .collect()
}
