//! The claims of each tier, as canaries: each probe must trip without the sandbox and must not
//! within it.
//!
//! The program is its own helper and its own probe, so no claim depends on an installed tool. A
//! tier that cannot start here is reported as not run, and fails with `ORCHESTRATE_REQUIRE=all`.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "tests, and the probes that they run"
)]

mod groups;
mod inodes;
mod lifetime;
mod limits;
mod mounted;
mod probe;
mod proxied;
mod rank;
mod refused;
mod rooms;
mod support;
mod usable;
mod usage;
mod view;
mod watched;

use std::num::NonZeroUsize;
use std::thread;

use libtest_mimic::{Arguments, Completion, Trial};
use orchestrate_sandbox::{Confinement, Helper};

use crate::support::Tested;

const FULL_TIER: &str = "the full sandbox tier (apt install bubblewrap; `orchestrate doctor` says what else is missing)";
const FALLBACK_TIER: &str = "the fallback sandbox tier (Linux 6.2 or newer with Landlock enabled)";

fn main() {
    orchestrate_sandbox::run_helper_if_asked();
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some(probe::ARG) => probe::run(&args),
        Some(support::COORDINATOR_ARG) => lifetime::coordinator(&args),
        Some(groups::ARG) => groups::coordinator(&args),
        _ => libtest_mimic::run(&arguments(), trials()).exit(),
    }
}

/// Returns the arguments of the harness: two tests for each processor, as a test mostly waits for
/// the processes that it has started.
fn arguments() -> Arguments {
    let mut arguments = Arguments::from_args();
    arguments
        .test_threads
        .get_or_insert(2 * thread::available_parallelism().map_or(1, NonZeroUsize::get));
    arguments
}

fn trials() -> Vec<Trial> {
    let probed = orchestrate_sandbox::probe(&Helper::default());
    let tiers = [
        ("full_in_rooms", probed.full.clone()),
        ("full", probed.full),
        ("fallback_in_rooms", probed.fallback.clone()),
        ("fallback", probed.fallback),
        ("unconfined", Ok(())),
    ];
    let mut trials = Vec::new();
    for (name, usable) in tiers {
        let tested = Tested::named(name);
        let mut tests = Vec::new();
        tests.extend(refused::tests(tested));
        tests.extend(proxied::tests(tested));
        tests.extend(view::tests(tested));
        tests.extend(mounted::tests(tested));
        tests.extend(lifetime::tests(tested));
        tests.extend(usable::tests(tested));
        tests.extend(rooms::tests(tested));
        // The restrictions and the supervision are the same in a room and without one, so they are
        // tested where agents' commands run: in rooms.
        if tested.keeps_rooms || tested.confinement == Confinement::Unconfined {
            tests.extend(inodes::tests(tested));
            tests.extend(limits::tests(tested));
            tests.extend(groups::tests(tested));
            tests.extend(rank::tests(tested));
            tests.extend(usage::tests(tested));
            tests.extend(watched::tests(tested));
        }
        for (test, body) in tests {
            trials.push(trial(format!("{name}::{test}"), &usable, body));
        }
    }
    trials
}

/// A test and its name.
type Named = (&'static str, fn(&support::Scene));

type Body = Box<dyn FnOnce() + Send>;

fn trial(name: String, usable: &Result<(), String>, body: Body) -> Trial {
    let tier = if name.starts_with("full") {
        FULL_TIER
    } else {
        FALLBACK_TIER
    };
    let missing = match usable {
        Err(reason) => Some((tier, reason.clone())),
        Ok(()) => usable::missing_tool(&name).map(|tool| (tool, "it does not start".to_owned())),
    };
    Trial::ignorable_test(name, move || {
        let Some((need, reason)) = missing else {
            body();
            return Ok(Completion::Completed);
        };
        let required = std::env::var_os("ORCHESTRATE_REQUIRE").is_some_and(|value| value == "all");
        if required {
            Err(format!("not run: needs {need}: {reason}").into())
        } else {
            Ok(Completion::ignored_with(format!("not run: needs {need}")))
        }
    })
}
