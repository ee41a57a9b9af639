//! Removes a whole run from the journal: the only way in which facts are ever deleted.
//!
//! The run's lease is held from the beginning, so no process works on it or lands it meanwhile. Its
//! facts, requests and answers go in one transaction, together with the blobs that no fact of
//! another run reaches: a blob is stored once, however many runs name it. A fact names blobs in its
//! own text, and the end of a call in its result, too.

use std::collections::BTreeSet;

use orchestrate_core::ids::{BlobId, RunId};
use orchestrate_core::run::request::Purpose;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use crate::blobs;
use crate::database::{self, from_sql};
use crate::error::JournalError;
use crate::lease::Lease;
use crate::reader::Store;

/// The number of digits of a blob's id.
const ID_DIGITS: usize = 64;

/// A run that is about to be removed; no other process can record its facts meanwhile.
#[derive(Debug)]
pub struct Removal {
    store: Store,
    connection: Connection,
    run: RunId,
    /// The number of its facts.
    facts: u64,
    lease: Lease,
}

impl Store {
    /// Prepares to remove a run, whatever state its facts are in.
    ///
    /// # Errors
    ///
    /// Fails if there is no such run, or if a process works on it.
    pub fn begin_removal(&self, run: &RunId) -> Result<Removal, JournalError> {
        let connection = database::connect(self.database())?;
        let lease = Lease::take(self.leases(), run, (self.clock().date)(), Purpose::Clean)?;
        let facts: Option<i64> = connection
            .query_row(
                "SELECT (SELECT count(*) FROM events WHERE run = runs.id) FROM runs WHERE run = ?1",
                [run.as_str()],
                |row| row.get(0),
            )
            .optional()
            .map_err(JournalError::in_database(self.database()))?;
        match facts {
            Some(facts) => Ok(Removal {
                store: self.clone(),
                connection,
                run: run.clone(),
                facts: from_sql(facts),
                lease,
            }),
            None => Err(JournalError::NoSuchRun(run.to_string())),
        }
    }
}

impl Removal {
    /// Returns the number of the run's facts.
    pub fn facts(&self) -> u64 {
        self.facts
    }

    /// Removes the run's facts, requests and blobs.
    ///
    /// # Errors
    ///
    /// Fails if the database cannot be written; nothing is removed then. A large blob that cannot
    /// be deleted stays as a file that nothing names.
    pub fn finish(mut self) -> Result<(), JournalError> {
        let removed = remove(&mut self.connection, &self.run)
            .map_err(JournalError::in_database(self.store.database()))?;
        for id in removed {
            self.store.files().forget(&id);
        }
        self.lease.remove(self.store.leases(), &self.run)
    }
}

/// Removes a run's rows, and returns the blobs that went with them and may have a file.
fn remove(connection: &mut Connection, run: &RunId) -> rusqlite::Result<Vec<BlobId>> {
    let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let removed = remove_rows(&tx, run)?;
    tx.commit()?;
    Ok(removed)
}

fn remove_rows(tx: &Transaction<'_>, run: &RunId) -> rusqlite::Result<Vec<BlobId>> {
    let key: i64 = tx.query_row(
        "SELECT id FROM runs WHERE run = ?1",
        [run.as_str()],
        |row| row.get(0),
    )?;
    let own = reached(tx, "SELECT type, body FROM events WHERE run = ?1", key)?;
    let others = reached(tx, "SELECT type, body FROM events WHERE run <> ?1", key)?;
    // The trigger keeps everything else from deleting facts; it is gone for this transaction alone.
    tx.execute_batch("DROP TRIGGER events_stay")?;
    for table in ["events", "inbox"] {
        tx.execute(&format!("DELETE FROM {table} WHERE run = ?1"), [key])?;
    }
    tx.execute("DELETE FROM runs WHERE id = ?1", [key])?;
    tx.execute_batch(database::FACTS_STAY)?;
    let mut removed = Vec::new();
    for id in own.difference(&others) {
        if tx
            .prepare_cached("DELETE FROM blobs WHERE id = ?1")?
            .execute([id.as_str()])?
            > 0
        {
            removed.push(id.clone());
        }
    }
    Ok(removed)
}

/// Returns the ids of all blobs that these facts reach.
fn reached(tx: &Transaction<'_>, facts: &str, key: i64) -> rusqlite::Result<BTreeSet<BlobId>> {
    let (mut found, mut results) = (BTreeSet::new(), BTreeSet::new());
    let mut query = tx.prepare(facts)?;
    let mut rows = query.query([key])?;
    while let Some(row) = rows.next()? {
        let (kind, body): (String, String) = (row.get(0)?, row.get(1)?);
        let ids = ids_in(body.as_bytes());
        if kind == "tool.finished" {
            results.extend(ids.iter().cloned());
        }
        found.extend(ids);
    }
    for id in results {
        // A result that is too large for the database names nothing: what it names is kept beside
        // it.
        let bytes: Option<Option<Vec<u8>>> = tx
            .prepare_cached("SELECT bytes FROM blobs WHERE id = ?1")?
            .query_row(params![id.as_str()], |row| row.get(0))
            .optional()?;
        if let Some(Some(bytes)) = bytes {
            found.extend(ids_in(&bytes));
        }
    }
    Ok(found)
}

/// Returns everything in a text that has the form of a blob's id.
fn ids_in(text: &[u8]) -> Vec<BlobId> {
    let mut ids = Vec::new();
    for word in text.split(|byte| !is_digit(byte)) {
        if word.len() == ID_DIGITS
            && let Ok(word) = std::str::from_utf8(word)
        {
            ids.push(BlobId::new(word));
        }
    }
    ids
}

fn is_digit(byte: &u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

impl blobs::Files {
    /// Deletes the file of a blob, if it has one.
    fn forget(&self, id: &BlobId) {
        if let Err(error) = std::fs::remove_file(self.path(id))
            && error.kind() != std::io::ErrorKind::NotFound
        {
            tracing::warn!(%id, %error, "a blob of a discarded run could not be deleted");
        }
    }
}
