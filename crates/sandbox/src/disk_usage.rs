//! Keeps the known disk usage of jobs' folders from one job to the next.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The space that files take of file systems, as far as it is limited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Space {
    pub(crate) bytes: u64,
    /// Folders count too.
    pub(crate) files: u64,
}

impl Space {
    /// Returns the limits; `None` is the highest. `None` if there is no limit at all.
    pub(crate) fn limited(bytes: Option<u64>, files: Option<u64>) -> Option<Self> {
        let has_limit = bytes.is_some() || files.is_some();
        has_limit.then(|| Self {
            bytes: bytes.unwrap_or(u64::MAX),
            files: files.unwrap_or(u64::MAX),
        })
    }

    fn each(self, other: Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            bytes: of(self.bytes, other.bytes),
            files: of(self.files, other.files),
        }
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        self.each(other, u64::saturating_add)
    }

    pub(crate) fn minus(self, other: Self) -> Self {
        self.each(other, u64::saturating_sub)
    }

    /// Returns the higher of both numbers each.
    pub(crate) fn max(self, other: Self) -> Self {
        self.each(other, u64::max)
    }

    /// Returns what this exceeds of some limits.
    pub(crate) fn over(self, most: Self) -> Option<Over> {
        match (self.bytes > most.bytes, self.files > most.files) {
            (true, _) => Some(Over::Bytes),
            (false, true) => Some(Over::Files),
            (false, false) => None,
        }
    }

    /// Returns what a job that started with `self` may hold, if it is `room` that full folders get
    /// to be cleared.
    pub(crate) fn allowed_from(self, most: Self, room: Self) -> Self {
        Self {
            bytes: allowed(self.bytes, most.bytes, room.bytes),
            files: allowed(self.files, most.files, room.files),
        }
    }

    /// Returns what of this is over some limits at a job's end, and was not so at its start: a job
    /// that only frees space may leave too much.
    pub(crate) fn left_over(self, most: Self, before: Option<Self>) -> Option<Over> {
        self.over(before.map_or(most, |before| most.max(before)))
    }
}

fn allowed(held: u64, most: u64, room: u64) -> u64 {
    if held > most {
        held.max(most.saturating_add(room))
    } else {
        most
    }
}

/// Which limit is exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    Bytes,
    Files,
}

/// The known disk usage of some folders.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Account {
    /// The space that they held at the last scan.
    pub(crate) held: Space,
    /// All space that their file systems have lost since, whichever process took it and even if
    /// some was freed again.
    pub(crate) grown: Space,
    /// What they held at the last scan, plus the net loss of free space on their file systems while
    /// jobs ran.
    pub(crate) balance: Space,
    /// The free space of their file systems when it was last read, by device.
    pub(crate) free: BTreeMap<u64, Space>,
    /// How long jobs have run since the last scan.
    pub(crate) rested: Duration,
    /// How long the last scan took.
    pub(crate) look: Duration,
}

impl Account {
    /// Returns an upper bound of what they hold.
    pub(crate) fn bound(&self) -> Space {
        self.held.plus(self.grown)
    }
}

/// The accounts of all jobs of one sandbox, by the folders that the jobs may write to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Accounts(Arc<Mutex<BTreeMap<Vec<OsString>, Account>>>);

impl Accounts {
    /// Removes and returns an account. Until it is put back, nothing is known: two jobs at once, or
    /// a job whose end was not observed, would make it wrong.
    pub(crate) fn take(&self, folders: &[OsString]) -> Option<Account> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(folders)
    }

    /// Stores an account for the next job.
    pub(crate) fn keep(&self, folders: Vec<OsString>, account: Account) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(folders, account);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(bytes: u64, files: u64) -> Space {
        Space { bytes, files }
    }

    #[test]
    fn each_limit_is_one_of_its_own() {
        let most = space(100, 10);
        let rows = [
            (space(100, 10), None),
            (space(101, 0), Some(Over::Bytes)),
            (space(0, 11), Some(Over::Files)),
            (space(101, 11), Some(Over::Bytes)),
        ];
        for (held, expected) in rows {
            assert_eq!(held.over(most), expected, "{held:?}");
        }
        assert_eq!(Space::limited(None, None), None);
        assert_eq!(Space::limited(None, Some(10)), Some(space(u64::MAX, 10)));
        assert_eq!(Space::limited(Some(100), None), Some(space(100, u64::MAX)));
    }

    #[test]
    fn full_folders_may_be_cleared_but_not_filled() {
        let (most, room) = (space(100, 10), space(20, 2));
        let allowed = [
            (space(50, 5), most),
            (space(110, 5), space(120, 10)),
            (space(50, 11), space(100, 12)),
            (space(500, 50), space(500, 50)),
        ];
        for (at_start, expected) in allowed {
            assert_eq!(at_start.allowed_from(most, room), expected, "{at_start:?}");
        }
        let ends = [
            (space(150, 5), None, Some(Over::Bytes)),
            (space(150, 5), Some(space(50, 5)), Some(Over::Bytes)),
            (space(150, 5), Some(space(150, 5)), None),
            (space(150, 40), Some(space(200, 50)), None),
            (space(150, 40), Some(space(200, 30)), Some(Over::Files)),
        ];
        for (held, before, expected) in ends {
            assert_eq!(
                held.left_over(most, before),
                expected,
                "{held:?} {before:?}"
            );
        }
    }
}
