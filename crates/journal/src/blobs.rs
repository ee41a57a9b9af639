//! Content-addressed texts and bytes: model replies and the parts of requests, tool results, logs.
//!
//! A blob is stored once, however many facts name it. A blob of at most [`INLINE_BYTES`] is stored
//! in the database and becomes durable with the facts that name it. A larger one is a file, which
//! is complete and synced before those facts are written, so a fact never names a missing blob.
//! A blob is deleted only together with the last run that names it ([`crate::removal`]).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use orchestrate_core::ids::BlobId;
use rusqlite::{Connection, OptionalExtension, params};

use crate::database;
use crate::error::JournalError;

/// The size of the largest blob in the database. For larger ones, the pages of one value scatter
/// and checkpoints copy them twice, while a file costs two syncs.
pub const INLINE_BYTES: usize = 1024 * 1024;

/// Bytes, and the id that is derived from them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    id: BlobId,
    bytes: Vec<u8>,
}

impl Blob {
    /// Wraps bytes and computes their id, so that facts can name the blob before it is stored.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self {
            id: BlobId::from_content(&bytes),
            bytes,
        }
    }

    /// Returns the id: the SHA-256 of the content in lower-case hexadecimal.
    pub fn id(&self) -> &BlobId {
        &self.id
    }

    /// Returns the content.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The folder of the blobs that are too large for the database.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    folder: PathBuf,
}

impl Files {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Writes and syncs a blob that is too large for the database; does nothing for smaller ones.
    pub(crate) fn keep(&self, blob: &Blob) -> Result<(), JournalError> {
        if blob.bytes.len() <= INLINE_BYTES {
            return Ok(());
        }
        let path = self.path(&blob.id);
        write_synced(&path, &blob.bytes).map_err(JournalError::at(&path))
    }

    pub(crate) fn path(&self, id: &BlobId) -> PathBuf {
        let name = id.as_str();
        match name.split_at_checked(2) {
            Some((shelf, rest)) => self.folder.join(shelf).join(rest),
            None => self.folder.join(name),
        }
    }
}

/// Inserts a blob into the database, with its bytes unless they are in a file.
pub(crate) fn insert(tx: &Connection, blob: &Blob) -> rusqlite::Result<()> {
    let inline = (blob.bytes.len() <= INLINE_BYTES).then_some(blob.bytes.as_slice());
    let size = database::to_sql(blob.bytes.len() as u64);
    tx.prepare_cached("INSERT OR IGNORE INTO blobs (id, size, bytes) VALUES (?1, ?2, ?3)")?
        .execute(params![blob.id.as_str(), size, inline])?;
    Ok(())
}

/// Reads a blob and checks that its content matches its id.
pub(crate) fn read(
    database: &Path,
    connection: &Connection,
    files: &Files,
    id: &BlobId,
) -> Result<Vec<u8>, JournalError> {
    let found: Option<Option<Vec<u8>>> = connection
        .prepare_cached("SELECT bytes FROM blobs WHERE id = ?1")
        .and_then(|mut query| query.query_row([id.as_str()], |row| row.get(0)).optional())
        .map_err(JournalError::in_database(database))?;
    let bytes = match found {
        None => return Err(JournalError::NoSuchBlob(id.clone())),
        Some(Some(bytes)) => bytes,
        Some(None) => {
            let path = files.path(id);
            fs::read(&path).map_err(JournalError::at(&path))?
        }
    };
    if BlobId::from_content(&bytes) == *id {
        Ok(bytes)
    } else {
        Err(JournalError::DamagedBlob { id: id.clone() })
    }
}

/// Writes a file atomically: readers see all of it or nothing, also after a power failure. Skips an
/// existing file of the same length.
fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|found| found.len() == bytes.len() as u64) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(path);
    orchestrate_files::create_folder(folder)?;
    orchestrate_files::replace(path, bytes)?;
    // The folder itself may be new.
    folder
        .parent()
        .map_or(Ok(()), orchestrate_files::sync_folder)
}
