//! What a user sees, types and decides: status, review, approval, landing, settings.

mod approvals;
mod cli;
mod discard;
mod display;
mod dropping;
mod land;
mod land_styles;
mod next_steps;
mod output;
mod permissions;
mod propose;
mod prune;
mod review;
mod run_land;
mod settings;
mod status;
mod subcommands;
mod trees;
mod waiting;
mod watch;

pub(crate) use land::look;

use crate::support::{Case, Need};

/// Returns the cases of every module. All cases of the second list start a run, so they need a
/// sandbox; in the first list, the cases that do say so themselves.
pub(crate) fn cases() -> Vec<Case> {
    let others =
        [cli::cases, next_steps::cases, permissions::cases, settings::cases, status::cases, subcommands::cases];
    let landing = [land::cases, land_styles::cases, propose::cases, prune::cases, run_land::cases];
    let afterwards = [discard::cases, dropping::cases, review::cases];
    let runs = [approvals::cases, display::cases, output::cases, trees::cases, waiting::cases, watch::cases];
    let runs =
        runs.iter().chain(&landing).chain(&afterwards).flat_map(|cases| cases()).map(|case| case.needs(Need::SANDBOX));
    others.iter().flat_map(|cases| cases()).chain(runs).collect()
}
