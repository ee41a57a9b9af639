//! What a user sees, types and decides: status, review, approval, landing, settings.

mod deciding;
mod landing;
mod showing;
mod starting;

pub(crate) use landing::land::look;

use crate::support::{Case, Need, Place};
use deciding::{approvals, by_hand, dropping, kept_out, permissions, requests, review, waiting};
use landing::{discard, land, land_styles, propose, prune, run_land};
use showing::{display, json, next_steps, output, status, trees, watch};
use starting::{cli, doctor, init, settings, subcommands, vendors};

/// Returns the cases of every module. All cases of the second list start a run, so they need a
/// sandbox; in the first list, the cases that do say so themselves.
pub(crate) fn cases() -> Vec<Case> {
    let others = [
        cli::cases,
        doctor::cases,
        init::cases,
        next_steps::cases,
        permissions::cases,
        requests::cases,
        settings::cases,
        status::cases,
        subcommands::cases,
        vendors::cases,
    ];
    let landing = [
        land::cases,
        land_styles::cases,
        propose::cases,
        prune::cases,
        run_land::cases,
    ];
    let afterwards = [
        by_hand::cases,
        discard::cases,
        dropping::cases,
        kept_out::cases,
        review::cases,
    ];
    let with_git = landing.iter().chain(&afterwards).flat_map(|cases| cases());
    let with_git = with_git.map(|case| case.depends_on(&[Place::OldestGit]));
    let approvals = approvals::cases()
        .into_iter()
        .map(|case| case.depends_on(&[Place::WithoutBubblewrap]));
    let runs = [
        display::cases,
        json::cases,
        output::cases,
        trees::cases,
        waiting::cases,
        watch::cases,
    ];
    let runs = runs
        .iter()
        .flat_map(|cases| cases())
        .chain(with_git)
        .chain(approvals);
    let runs = runs.map(|case| case.needs(Need::SANDBOX));
    others
        .iter()
        .flat_map(|cases| cases())
        .chain(runs)
        .collect()
}
