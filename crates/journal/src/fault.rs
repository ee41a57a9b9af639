//! Faults on purpose, to prove that a run survives them: death before or after an append, and a full disk.
//!
//! Appends are counted per process from 1, in the order in which they reach the writer; only those that write
//! something count. While a fault is set, each append is a transaction of its own, so that "after append k" says
//! exactly what is durable. This module exists only with the feature `fault-injection`.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The environment variable that [`from_env`] reads.
pub const VARIABLE: &str = "ORCHESTRATE_FAULT";

/// What goes wrong, and at which append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// SIGKILL right before the append is written: `before:K`.
    Before(u64),
    /// SIGKILL right after the append is durable, before its requester knows: `after:K`.
    After(u64),
    /// The append fails as on a full disk: `full:K`.
    Full(u64),
    /// This append and all later ones fail as on a full disk: `full:K..`.
    FullFrom(u64),
}

/// A text in [`VARIABLE`] that names no fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("understand {VARIABLE}={0}: use before:K, after:K, full:K or full:K..")]
pub struct UnknownFault(String);

static FAULT: OnceLock<Fault> = OnceLock::new();
static APPENDS: AtomicU64 = AtomicU64::new(0);

/// Sets the fault that the environment names, if it names one; the first fault of a process stays.
///
/// # Errors
///
/// Fails if the variable is set to something else.
#[expect(clippy::disallowed_methods, reason = "a test hook is switched on from outside")]
pub fn from_env() -> Result<(), UnknownFault> {
    let Some(text) = std::env::var_os(VARIABLE) else {
        return Ok(());
    };
    let text = text.to_string_lossy();
    install(parse(&text).ok_or_else(|| UnknownFault(text.into_owned()))?);
    Ok(())
}

/// Sets the fault of this process; the first one stays.
pub fn install(fault: Fault) {
    let _ = FAULT.set(fault);
}

/// Returns the number of appends that reached the writer of any journal in this process.
pub fn appends() -> u64 {
    APPENDS.load(Ordering::Relaxed)
}

fn parse(text: &str) -> Option<Fault> {
    let (kind, number) = text.split_once(':')?;
    match (kind, number.strip_suffix("..")) {
        ("before", None) => Some(Fault::Before(number.parse().ok()?)),
        ("after", None) => Some(Fault::After(number.parse().ok()?)),
        ("full", None) => Some(Fault::Full(number.parse().ok()?)),
        ("full", Some(from)) => Some(Fault::FullFrom(from.parse().ok()?)),
        _ => None,
    }
}

/// Reports whether a fault is set, so that appends must not share a transaction.
pub(crate) fn is_set() -> bool {
    FAULT.get().is_some()
}

/// Counts an append that is about to be written; dies, or tells that the disk is full.
pub(crate) fn before_write() -> Result<u64, DiskFull> {
    let number = APPENDS.fetch_add(1, Ordering::Relaxed) + 1;
    match FAULT.get() {
        Some(Fault::Before(at)) if *at == number => die(),
        Some(Fault::Full(at)) if *at == number => Err(DiskFull),
        Some(Fault::FullFrom(from)) if *from <= number => Err(DiskFull),
        _ => Ok(number),
    }
}

/// Dies if this append is the one after which the process ends.
pub(crate) fn after_write(number: u64) {
    if FAULT.get() == Some(&Fault::After(number)) {
        die();
    }
}

/// The disk is full, or so the writer is told.
pub(crate) struct DiskFull;

/// Ends the process as `kill -9` would: nothing is flushed and nothing is cleaned up.
#[expect(clippy::disallowed_methods, reason = "a test hook dies as a killed process does")]
fn die() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    // The signal is delivered before the call returns to this thread, so nothing below runs.
    std::process::abort()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_from_text() {
        let table = [
            ("before:3", Some(Fault::Before(3))),
            ("after:12", Some(Fault::After(12))),
            ("full:1", Some(Fault::Full(1))),
            ("full:2..", Some(Fault::FullFrom(2))),
            ("before:2..", None),
            ("after", None),
            ("after:x", None),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
