//! Which version of each file an agent has seen, so that it does not overwrite changes that it has
//! not seen.
//!
//! The ledger belongs to one agent and is part of its [`crate::CallScope`], not of a tool. Every
//! recorded end of a call contains the versions that the call read or wrote, from which a resumed
//! run rebuilds the ledger with [`ReadLedger::restore`]. A file without an entry is not protected:
//! an edit still has to match its text, but writing the whole file replaces it.

use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard};

use orchestrate_core::collections::Mutex;
use orchestrate_core::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A version of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenFile {
    /// The path relative to the worktree.
    pub path: String,
    /// SHA-256 of its content in lower-case hexadecimal; `None` if the agent deleted it.
    pub sha256: Option<String>,
}

/// The versions that one agent has seen. Clones share the same ledger.
#[derive(Clone, Debug, Default)]
pub struct ReadLedger {
    seen: Arc<Mutex<BTreeMap<String, String>>>,
    /// Held by a file tool from reading a file until the version that it read or wrote is noted, so
    /// that concurrent calls of one turn do not overwrite each other's changes.
    turn: Arc<Mutex<()>>,
}

impl ReadLedger {
    /// Rebuilds a ledger from the versions in the recorded ends of an agent's calls, oldest first.
    pub fn restore<'a>(files: impl IntoIterator<Item = &'a SeenFile>) -> ReadLedger {
        let ledger = ReadLedger::default();
        for file in files {
            ledger.note(file);
        }
        ledger
    }

    /// Locks the agent's files for one tool at a time. This blocks, so it must not be called on an
    /// async thread.
    pub fn exclusively(&self) -> MutexGuard<'_, ()> {
        self.turn.lock()
    }

    /// Records a version as the last seen one.
    pub fn note(&self, file: &SeenFile) {
        let mut seen = self.seen.lock();
        match &file.sha256 {
            Some(hash) => seen.insert(file.path.clone(), hash.clone()),
            None => seen.remove(&file.path),
        };
    }

    /// Reports whether the content differs from the version that the agent saw last; false for a
    /// file without an entry.
    pub fn is_stale(&self, path: &str, content: &[u8]) -> bool {
        let seen = self.seen.lock();
        seen.get(path)
            .is_some_and(|hash| *hash != sha256_hex(content))
    }
}

impl SeenFile {
    /// Creates the version of a file with this content.
    pub fn holding(path: &str, content: &[u8]) -> SeenFile {
        SeenFile {
            path: path.to_owned(),
            sha256: Some(sha256_hex(content)),
        }
    }

    /// Creates the version of a deleted file.
    pub fn gone(path: &str) -> SeenFile {
        SeenFile {
            path: path.to_owned(),
            sha256: None,
        }
    }
}

/// Returns the SHA-256 of bytes in lower-case hexadecimal.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}
