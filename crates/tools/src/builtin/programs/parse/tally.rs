//! What a report of tests amounts to.

use crate::answer::{TestError, TestErrorKind, TestFailure};

/// Maximum size of one failure's message in bytes; what a test printed may be of any length.
const MESSAGE_BYTES: usize = 4_000;
/// Maximum number of failures that are kept: more than anybody reads. All are counted, and what is
/// lost is kept whole: there is little of it.
pub(crate) const MAX_KEPT: usize = 1_000;

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
        self.keep(other.failures);
        self.errors.extend(other.errors);
    }

    /// Counts a failed test.
    pub(super) fn fail(
        &mut self,
        name: impl Into<String>,
        message: &str,
        place: Option<(String, u32)>,
    ) {
        let (file, line) = place.unzip();
        self.failed += 1;
        self.keep([TestFailure {
            name: name.into(),
            message: shortened(message),
            file,
            line,
        }]);
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
        self.errors.push(TestError {
            kind,
            name: name.into(),
            message: shortened(message),
            file,
            line,
        });
    }

    fn keep(&mut self, failures: impl IntoIterator<Item = TestFailure>) {
        let free = MAX_KEPT.saturating_sub(self.failures.len());
        self.failures.extend(failures.into_iter().take(free));
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
    let (head, tail) = (message.split_at(head).0, message.split_at(tail).1);
    format!("{head}\n[…]\n{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_failures_are_counted_and_only_so_many_are_kept() {
        let mut one = Tally::default();
        (0..MAX_KEPT - 1).for_each(|number| one.fail(format!("t{number}"), "no", None));
        let mut all = Tally::default();
        all.add(one.clone());
        all.add(one);
        assert_eq!(
            (all.failed, all.failures.len()),
            (2 * MAX_KEPT - 2, MAX_KEPT)
        );
        all.fail("t", "no", None);
        assert_eq!(
            (all.failed, all.failures.len()),
            (2 * MAX_KEPT - 1, MAX_KEPT)
        );
    }
}
