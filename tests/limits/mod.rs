//! What limits a run: budgets, time, resources, the policy, privacy and secrets.

mod bounds;
mod costs;
mod git_programs;
mod journal_size;
mod memory;
mod private;
mod programs;
mod reports;
mod secrets;
mod tool_settings;

use crate::support::{Case, Need, Place};

/// Returns the cases of every module. All cases of the second list start a run, so they need a
/// sandbox; in the first list, the cases that do say so themselves.
pub(crate) fn cases() -> Vec<Case> {
    let elsewhere = [Place::Root, Place::WithoutBubblewrap];
    let private = private::cases()
        .into_iter()
        .map(|case| case.depends_on(&elsewhere));
    let bounds = bounds::cases()
        .into_iter()
        .map(|case| case.depends_on(&[Place::WithoutBubblewrap]));
    let others = [programs::cases, tool_settings::cases];
    let runs = [
        costs::cases,
        git_programs::cases,
        journal_size::cases,
        memory::cases,
        reports::cases,
        secrets::cases,
    ];
    let runs = runs
        .iter()
        .flat_map(|cases| cases())
        .chain(bounds)
        .map(|case| case.needs(Need::SANDBOX));
    others
        .iter()
        .flat_map(|cases| cases())
        .chain(private)
        .chain(runs)
        .collect()
}
