//! Which version of which file an agent has seen, so that it never overwrites what it has not.
//!
//! The ledger belongs to one agent and lives in its [`crate::CallScope`], not in a tool. Every recorded end of
//! a call carries the versions that the call saw or made, so a resumed run folds them back with
//! [`ReadLedger::restore`]; a file without an entry is not protected, since an edit still has to find its text.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use orchestrate_core::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// One version of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenFile {
    /// The path relative to the worktree.
    pub path: String,
    /// SHA-256 of its bytes in lower-case hexadecimal; nothing once the agent deleted it.
    pub sha256: Option<String>,
}

/// The versions that one agent has seen. Clones share the same ledger.
#[derive(Clone, Debug, Default)]
pub struct ReadLedger {
    seen: Arc<Mutex<BTreeMap<String, String>>>,
    /// Held by a file tool from looking at a file until what it saw or wrote is noted, so that calls of one
    /// turn that run side by side do not overwrite each other's work.
    turn: Arc<Mutex<()>>,
}

impl ReadLedger {
    /// Folds what the recorded ends of an agent's calls carried, oldest first.
    pub fn restore<'a>(files: impl IntoIterator<Item = &'a SeenFile>) -> ReadLedger {
        let ledger = ReadLedger::default();
        for file in files {
            ledger.note(file);
        }
        ledger
    }

    /// Lets one file tool of the agent at a time look, write and note; blocks, so only where blocking is allowed.
    pub fn exclusively(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes one version over.
    pub fn note(&self, file: &SeenFile) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match &file.sha256 {
            Some(hash) => seen.insert(file.path.clone(), hash.clone()),
            None => seen.remove(&file.path),
        };
    }

    /// Reports whether the file now holds something else than what the agent saw last.
    pub fn is_stale(&self, path: &str, content: &[u8]) -> bool {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.get(path).is_some_and(|hash| *hash != sha256_hex(content))
    }
}

impl SeenFile {
    /// Notes that a file holds these bytes.
    pub fn holding(path: &str, content: &[u8]) -> SeenFile {
        SeenFile { path: path.to_owned(), sha256: Some(sha256_hex(content)) }
    }

    /// Notes that a file is gone.
    pub fn gone(path: &str) -> SeenFile {
        SeenFile { path: path.to_owned(), sha256: None }
    }
}

/// Hashes bytes with SHA-256 into lower-case hexadecimal.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}
