//! The clock of the markers.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the time in Unix milliseconds.
pub(super) fn now() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
