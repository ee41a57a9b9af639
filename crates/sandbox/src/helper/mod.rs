//! What this program does when it is executed as the sandbox's helper.

use std::sync::atomic::{AtomicBool, Ordering};

/// The first argument with which a program is executed as the sandbox's helper.
pub const HELPER_ARG: &str = "__sandbox";

static INSTALLED: AtomicBool = AtomicBool::new(false);

/// Acts as the sandbox's helper and never returns, if this process was started as one; must be the first line of `main`.
pub fn run_helper_if_asked() {
    INSTALLED.store(true, Ordering::SeqCst);
}

/// Tells whether this process called [`run_helper_if_asked`], so that it can serve as its own helper.
#[must_use]
pub fn helper_installed() -> bool {
    INSTALLED.load(Ordering::SeqCst)
}
