//! The entry point of the helper: the program's first argument, checked before anything else in
//! `main`.

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, Ordering};

use super::supervisor;

/// The first argument with which a program is executed as the sandbox's helper.
pub const HELPER_ARG: &str = "__sandbox";

/// The exit code of a helper that was started without its descriptors; a coordinator never sees it.
const MISUSED: i32 = 125;

static INSTALLED: AtomicBool = AtomicBool::new(false);

/// Runs as the sandbox's helper and never returns, if this process was started as one; must be the
/// first line of `main`.
#[expect(clippy::disallowed_methods, reason = "the helper ends here, at the edge of its own process")]
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

/// Reports whether this process called [`run_helper_if_asked`], so that it can serve as its own helper.
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
