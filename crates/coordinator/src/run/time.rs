//! The time of the machine, as git records it.

use orchestrate_journal::unix_ms;

/// Returns the time for a commit.
pub(crate) fn unix_seconds() -> i64 {
    i64::try_from(unix_ms() / 1_000).unwrap_or(i64::MAX)
}
