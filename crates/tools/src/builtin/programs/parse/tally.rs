//! What a report of tests amounts to.

use crate::results::{TestError, TestErrorKind, TestFailure};

/// Maximum size of one failure's message in bytes; what a test printed may be of any length.
const MESSAGE_BYTES: usize = 4_000;

/// The counts of a report, and what failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
    pub(crate) failures: Vec<TestFailure>,
    pub(crate) errors: Vec<TestError>,
}

impl Tally {
    /// Returns the number of tests.
    pub(crate) fn total(&self) -> usize {
        self.passed + self.failed + self.skipped
    }

    /// Adds another report.
    pub(crate) fn add(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.failures.extend(other.failures);
        self.errors.extend(other.errors);
    }

    /// Counts a failed test.
    pub(super) fn fail(&mut self, name: impl Into<String>, message: &str, place: Option<(String, u32)>) {
        let (file, line) = place.unzip();
        self.failed += 1;
        self.failures.push(TestFailure { name: name.into(), message: shortened(message), file, line });
    }

    /// Notes that results are lost.
    pub(crate) fn lose(
        &mut self,
        kind: TestErrorKind,
        name: impl Into<String>,
        message: &str,
        place: Option<(String, u32)>,
    ) {
        let (file, line) = place.unzip();
        self.errors.push(TestError { kind, name: name.into(), message: shortened(message), file, line });
    }
}

/// Cuts a message after its first part and before its last.
pub(super) fn shortened(message: &str) -> String {
    let message = message.trim_matches('\n').trim_end();
    if message.len() <= MESSAGE_BYTES {
        return message.to_owned();
    }
    let head = message.floor_char_boundary(MESSAGE_BYTES / 2);
    let tail = message.ceil_char_boundary(message.len() - MESSAGE_BYTES / 2);
    let (head, tail) = (message.get(..head).unwrap_or_default(), message.get(tail..).unwrap_or_default());
    format!("{head}\n[…]\n{tail}")
}
