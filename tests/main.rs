//! The integration tests of `orchestrate`: one binary, so that it links once, with a harness of our own.
//!
//! The harness is libtest-mimic instead of libtest, because a test whose outside tool is absent has to be
//! *shown* as ignored with the reason, and libtest hides the output of what passes. With
//! `ORCHESTRATE_REQUIRE=all` such a test fails instead.
//!
//! A module of tests gives its cases as `pub(crate) fn cases() -> Vec<Case>`, and [`cases`] lists the modules.
#![expect(clippy::indexing_slicing, reason = "a test that indexes what is not there fails, which is what it is for")]
#![expect(clippy::disallowed_methods, reason = "tests are outside: they start programs and read the environment")]

mod approvals;
mod architecture;
mod attacks;
mod bad_input;
mod cancel;
mod check;
mod children;
mod cli;
mod commands;
mod demo;
mod ends;
mod hostile;
mod kill;
mod land;
mod limits;
mod messages;
mod models;
mod next_steps;
mod output;
mod private;
mod programs;
mod real_input;
mod repair;
mod review;
mod run;
mod run_land;
mod secrets;
mod settings;
mod shown;
mod standing;
mod support;
mod told;
mod verifier;
mod waiting;
mod words;

use std::process::ExitCode;

use support::{Case, Need};

/// Returns every case of every module. All cases of the second list start a run; elsewhere, those that do say so.
fn cases() -> Vec<Case> {
    let others = [
        support::cases,
        architecture::cases,
        check::cases,
        cli::cases,
        commands::cases,
        demo::cases,
        attacks::cases,
        bad_input::cases,
        hostile::cases,
        next_steps::cases,
        private::cases,
        programs::cases,
        real_input::cases,
        settings::cases,
        standing::cases,
    ];
    let runs = [
        ends::cases,
        kill::cases,
        land::cases,
        repair::cases,
        review::cases,
        approvals::cases,
        cancel::cases,
        children::cases,
        limits::cases,
        messages::cases,
        models::cases,
        output::cases,
        run::cases,
        run_land::cases,
        secrets::cases,
        verifier::cases,
        told::cases,
        waiting::cases,
        words::cases,
        shown::cases,
    ];
    let runs = runs.iter().flat_map(|cases| cases()).map(|case| case.needs(Need::SANDBOX));
    others.iter().flat_map(|cases| cases()).chain(runs).collect()
}

fn main() -> ExitCode {
    // The sandbox starts this very program again inside its walls.
    orchestrate_sandbox::run_helper_if_asked();
    // The kill test starts it as a coordinator, to kill it.
    if let Some(code) = kill::coordinate_if_asked() {
        return code;
    }
    let arguments = libtest_mimic::Arguments::from_args();
    let trials = cases().into_iter().map(Case::into_trial).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}
