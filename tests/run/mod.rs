//! A run from its plan to its merged result: agents, models, messages, checks, conflicts, and being
//! stopped.

pub(crate) mod agents;
mod cancel;
mod checking;
mod demo;
mod end_to_end;
mod failures;
mod hooks;
mod merging;
mod model_fallback;
pub(crate) mod models;
mod planning;
mod signals;

use crate::support::{Case, Need};

/// Returns the cases of every module. All cases of the second list start a run, so they need a
/// sandbox; in the first list, the cases that do say so themselves.
pub(crate) fn cases() -> Vec<Case> {
    let others = [demo::cases, planning::reading_cases];
    let runs = [
        agents::cases,
        cancel::cases,
        checking::cases,
        end_to_end::cases,
        failures::cases,
        hooks::cases,
        merging::cases,
        model_fallback::cases,
        models::cases,
        planning::cases,
        signals::cases,
    ];
    let runs = runs
        .iter()
        .flat_map(|cases| cases())
        .map(|case| case.needs(Need::SANDBOX));
    others
        .iter()
        .flat_map(|cases| cases())
        .chain(runs)
        .collect()
}
