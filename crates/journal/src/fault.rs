//! Injected faults, which prove that a run survives them: death before or after an append, and a
//! full disk.
//!
//! Appends are counted per process from 1, in the order in which they reach the writer; only those
//! that write something count. While a fault is set, each append is a transaction of its own, so
//! "after append k" determines exactly what is durable. This module exists only with the feature
//! `fault-injection`.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The environment variable that [`from_env`] reads.
pub const VARIABLE: &str = "ORCHESTRATE_FAULT";

/// A fault, and the append at which it happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// SIGKILL right before the append is written: `before:K`.
    Before(u64),
    /// SIGKILL right after the append is durable, before its caller is notified: `after:K`.
    After(u64),
    /// The append fails as on a full disk: `full:K`.
    Full(u64),
    /// This append and all later ones fail as on a full disk: `full:K..`.
    FullFrom(u64),
    /// The append with the first fact of this type, or with the Nth, fails as on a full disk:
    /// `full:TYPE`, `full:TYPE@N`.
    FullFact(String, u64),
}

/// A text in [`VARIABLE`] that names no fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "understand {VARIABLE}={0}: use before:K, after:K, full:K, full:K.., full:TYPE or full:TYPE@N"
)]
pub struct UnknownFault(String);

static FAULT: OnceLock<Fault> = OnceLock::new();
static APPENDS: AtomicU64 = AtomicU64::new(0);
/// The facts of the type that the fault names, in the appends that reached the writer.
static FACTS: AtomicU64 = AtomicU64::new(0);

/// Sets the fault that the environment names, if any. The first fault of a process is kept.
///
/// # Errors
///
/// Fails if the value of the variable is not a fault.
#[expect(
    clippy::disallowed_methods,
    reason = "a test hook is switched on from outside"
)]
pub fn from_env() -> Result<(), UnknownFault> {
    let Some(text) = std::env::var_os(VARIABLE) else {
        return Ok(());
    };
    let text = text.to_string_lossy();
    install(parse(&text).ok_or_else(|| UnknownFault(text.into_owned()))?);
    Ok(())
}

/// Sets the fault of this process; does nothing if one is set already.
pub fn install(fault: Fault) {
    let _ = FAULT.set(fault);
}

/// Returns the number of appends in this process that reached the writer of any journal.
pub fn appends() -> u64 {
    APPENDS.load(Ordering::Relaxed)
}

fn parse(text: &str) -> Option<Fault> {
    let (kind, number) = text.split_once(':')?;
    match (kind, number.strip_suffix("..")) {
        ("before", None) => Some(Fault::Before(number.parse().ok()?)),
        ("after", None) => Some(Fault::After(number.parse().ok()?)),
        // Every type of a fact has a dot in its name.
        ("full", None) if number.contains('.') => {
            let (fact, count) = number.split_once('@').unwrap_or((number, "1"));
            Some(Fault::FullFact(fact.to_owned(), count.parse().ok()?))
        }
        ("full", None) => Some(Fault::Full(number.parse().ok()?)),
        ("full", Some(from)) => Some(Fault::FullFrom(from.parse().ok()?)),
        _ => None,
    }
}

/// Reports whether a fault is set, so that appends must not share a transaction.
pub(crate) fn is_set() -> bool {
    FAULT.get().is_some()
}

/// Counts an append that is about to be written, with facts of these types. Kills the process or
/// reports a full disk if the fault demands it.
pub(crate) fn before_write<'f>(facts: impl Iterator<Item = &'f str>) -> Result<u64, DiskFull> {
    let number = APPENDS.fetch_add(1, Ordering::Relaxed) + 1;
    match FAULT.get() {
        Some(Fault::Before(at)) if *at == number => die(),
        Some(Fault::Full(at)) if *at == number => Err(DiskFull),
        Some(Fault::FullFrom(from)) if *from <= number => Err(DiskFull),
        Some(Fault::FullFact(fact, count)) if contains(facts, fact, *count) => Err(DiskFull),
        _ => Ok(number),
    }
}

/// Counts the facts of a type in an append, and reports whether the one of this number is among
/// them.
fn contains<'f>(facts: impl Iterator<Item = &'f str>, fact: &str, number: u64) -> bool {
    let found = facts.filter(|of| *of == fact).map(|_| 1_u64).sum::<u64>();
    let before = FACTS.fetch_add(found, Ordering::Relaxed);
    before < number && number <= before + found
}

/// Kills the process if the fault demands it after this append.
pub(crate) fn after_write(number: u64) {
    if FAULT.get() == Some(&Fault::After(number)) {
        die();
    }
}

/// The injected error of a full disk.
pub(crate) struct DiskFull;

/// Ends the process as `kill -9` would: nothing is flushed and nothing is cleaned up.
#[expect(
    clippy::disallowed_methods,
    reason = "a test hook dies as a killed process does"
)]
fn die() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    // The signal is delivered before the call returns to this thread, so the abort is never
    // reached.
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
            (
                "full:agent.waiting",
                Some(Fault::FullFact("agent.waiting".to_owned(), 1)),
            ),
            (
                "full:task.added@2",
                Some(Fault::FullFact("task.added".to_owned(), 2)),
            ),
            ("full:task.added@x", None),
            ("after:agent.waiting", None),
            ("before:2..", None),
            ("after", None),
            ("after:x", None),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text), expected, "{text}");
        }
    }
}
