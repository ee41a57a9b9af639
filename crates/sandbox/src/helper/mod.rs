//! What this program does when it is executed as the sandbox's helper.
//!
//! The helper is the supervisor of one job: it starts the program under its restrictions, outlives every descendant of
//! it, and ends all of them when the program ends, when it is told to, or when the coordinator dies. It is not itself
//! confined by Landlock and seccomp (in the full tier it is by bubblewrap's namespaces); the job cannot reach it.
//!
//! Deliberately not here: deciding anything. What is allowed stands in the [`protocol::Spec`].

mod confine;
mod landlock;
mod modes;
pub(crate) mod protocol;
mod seccomp;
mod supervisor;
mod tree;

pub(crate) use landlock::machine_facts;

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// The first argument with which a program is executed as the sandbox's helper.
pub const HELPER_ARG: &str = "__sandbox";

/// The exit code of a helper that was called without its descriptors; never seen by a coordinator.
const MISUSED: i32 = 125;

static INSTALLED: AtomicBool = AtomicBool::new(false);

/// Acts as the sandbox's helper and never returns, if this process was started as one; must be the first line of `main`.
pub fn run_helper_if_asked() {
    INSTALLED.store(true, Ordering::SeqCst);
    let mut args = std::env::args_os().skip(1);
    if args.next().is_none_or(|first| first != HELPER_ARG) {
        return;
    }
    let mut descriptor = || args.next()?.to_str()?.parse::<RawFd>().ok();
    let (Some(control), Some(spec)) = (descriptor(), descriptor()) else { std::process::exit(MISUSED) };
    std::process::exit(supervisor::run(control, spec).map_or(MISUSED, |()| 0));
}

/// Tells whether this process called [`run_helper_if_asked`], so that it can serve as its own helper.
#[must_use]
pub fn helper_installed() -> bool {
    INSTALLED.load(Ordering::SeqCst)
}

/// Lets test programs with libtest's own `main` serve as the helper: runs before `main`.
#[cfg(feature = "fault-injection")]
mod before_main {
    #![expect(unsafe_code, reason = "the link section is what runs before main")]

    extern "C" fn helper_before_main() {
        super::run_helper_if_asked();
    }

    // SAFETY: the section holds pointers to functions that the C runtime calls before main; this is one. The standard
    // library's arguments are already set there on Linux with glibc, which this test-only feature is for.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static BEFORE_MAIN: extern "C" fn() = helper_before_main;
}
