//! What is known of how much the folders of jobs hold, from one job to the next.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What is known of how much some folders hold, from one job to the next.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Account {
    /// What they held when they were last gone through.
    pub(crate) held: u64,
    /// All that their file systems have lost since, whoever took it and whatever came back.
    pub(crate) grown: u64,
    /// What they held then, and what their file systems have lost or won since while jobs ran.
    pub(crate) balance: u64,
    /// The room on their file systems when it was last asked for, by device.
    pub(crate) free: BTreeMap<u64, u64>,
    /// How long jobs have run since.
    pub(crate) rested: Duration,
    /// How long it took to go through them.
    pub(crate) look: Duration,
}

impl Account {
    /// Returns what they hold at most.
    pub(crate) fn bound(&self) -> u64 {
        self.held.saturating_add(self.grown)
    }
}

/// The accounts of all jobs of one sandbox, by the folders that they may write to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Accounts(Arc<Mutex<BTreeMap<Vec<OsString>, Account>>>);

impl Accounts {
    /// Takes an account away: until it is given back nothing is known, for two jobs at once, or one whose end nobody
    /// has seen, would make it wrong.
    pub(crate) fn take(&self, folders: &[OsString]) -> Option<Account> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(folders)
    }

    /// Keeps an account for the next job.
    pub(crate) fn keep(&self, folders: Vec<OsString>, account: Account) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(folders, account);
    }
}
