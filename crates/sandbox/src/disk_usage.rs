//! Keeps the known disk usage of jobs' folders from one job to the next.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The known disk usage of some folders; all sizes are in bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Account {
    /// What they held at the last scan.
    pub(crate) held: u64,
    /// All space that their file systems have lost since, whichever process took it and even if
    /// some was freed again.
    pub(crate) grown: u64,
    /// What they held at the last scan, plus the net loss of free space on their file systems while
    /// jobs ran.
    pub(crate) balance: u64,
    /// The free space of their file systems when it was last read, by device.
    pub(crate) free: BTreeMap<u64, u64>,
    /// How long jobs have run since the last scan.
    pub(crate) rested: Duration,
    /// How long the last scan took.
    pub(crate) look: Duration,
}

impl Account {
    /// Returns an upper bound of what they hold.
    pub(crate) fn bound(&self) -> u64 {
        self.held.saturating_add(self.grown)
    }
}

/// The accounts of all jobs of one sandbox, by the folders that the jobs may write to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Accounts(Arc<Mutex<BTreeMap<Vec<OsString>, Account>>>);

impl Accounts {
    /// Removes and returns an account. Until it is put back, nothing is known: two jobs at once, or
    /// a job whose end was not observed, would make it wrong.
    pub(crate) fn take(&self, folders: &[OsString]) -> Option<Account> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(folders)
    }

    /// Stores an account for the next job.
    pub(crate) fn keep(&self, folders: Vec<OsString>, account: Account) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(folders, account);
    }
}
