//! The integration tests of `orchestrate`: one binary, so that it links once, with a harness of our
//! own.
//!
//! The harness is libtest-mimic instead of libtest, because a test whose outside tool is missing
//! has to be *shown* as ignored with the reason, and libtest hides the output of passing tests.
//! With `ORCHESTRATE_REQUIRE=all` such a test fails instead.
//!
//! With `ORCHESTRATE_PLACE` set to `root`, `without-bubblewrap` or `oldest-git`, only the tests
//! that depend on that place are run.
//!
//! A module of tests returns its cases from `cases() -> Vec<Case>`, the folder's `mod.rs` collects
//! them, and [`cases`] lists the folders. The documentation of [`support`] shows how to write a
//! test.
#![expect(
    clippy::indexing_slicing,
    reason = "a test that indexes what is not there fails, which is what it is for"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "tests are outside: they start programs and read the environment"
)]

mod architecture;
mod bad_input;
mod book;
mod field;
mod hostile;
mod kill;
mod library;
mod limits;
mod person;
mod real_input;
mod reference;
mod run;
mod support;
mod tools;

use std::io::{self, Write as _};
use std::num::NonZeroUsize;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};
use std::thread;

use support::{Case, PLACE, Place, durations};

/// How many tests run at once for each processor: a run waits for processes, disks and deadlines
/// about as long as it computes.
const TESTS_PER_PROCESSOR: usize = 2;

/// Returns the cases of every module. They start in this order: the longest come first, so that
/// none of them runs alone at the end.
fn cases() -> Vec<Case> {
    let modules = [
        real_input::cases,
        kill::cases,
        field::cases,
        support::cases,
        architecture::cases,
        run::cases,
        person::cases,
        library::cases,
        book::cases,
        limits::cases,
        bad_input::cases,
        hostile::cases,
        tools::cases,
        reference::cases,
    ];
    modules.iter().flat_map(|cases| cases()).collect()
}

/// Says that this program was started by [`continue_in_memory`].
const IN_MEMORY: &str = "ORCHESTRATE_TESTS_IN_MEMORY";

/// Replaces this program by itself with its temporary files in memory, where `.ci/in-memory` can:
/// for root, if there is enough memory. On a disk, the kernel takes about twice the processor time,
/// since it searches for an inode that was not deleted just now, and the tests wait for the disk.
/// Does nothing if `TMPDIR` or the place says where the files are.
fn continue_in_memory() {
    let decided = [IN_MEMORY, "TMPDIR", PLACE];
    if decided.iter().any(|name| std::env::var_os(name).is_some()) {
        return;
    }
    let Ok(program) = std::env::current_exe() else {
        return;
    };
    // A failure is no reason to run no tests.
    let _not_replaced = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.ci/in-memory"))
        .arg(program)
        .args(std::env::args_os().skip(1))
        .env(IN_MEMORY, "asked")
        .exec();
}

fn main() -> ExitCode {
    // The sandbox re-executes this program as its helper.
    orchestrate_sandbox::run_helper_if_asked();
    // The kill tests re-execute this program as a coordinator, which they then kill.
    if let Some(code) = kill::coordinate_if_asked() {
        return code;
    }
    continue_in_memory();
    let durations = std::env::var(durations::DURATIONS)
        .ok()
        .and_then(|most| most.parse().ok());
    let mut arguments = libtest_mimic::Arguments::from_args();
    let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    arguments
        .test_threads
        .get_or_insert(processors * TESTS_PER_PROCESSOR);
    let place = match Place::asked() {
        Ok(place) => place,
        Err(failed) => {
            let _ = writeln!(
                io::stderr(),
                "{}",
                failed.message().unwrap_or("the place is not known")
            );
            return ExitCode::from(2);
        }
    };
    let chosen = cases().into_iter().filter(|case| case.runs_in(place));
    let trials = chosen.map(Case::into_trial).collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    if let Some(most) = durations {
        durations::print_longest(most, arguments.test_threads == Some(1));
    }
    conclusion.exit_code()
}
