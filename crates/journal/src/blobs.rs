//! Texts and bytes by their content hash: model requests and replies, tool results, logs.
//!
//! A blob is stored once however often it is named. One of at most [`INLINE_BYTES`] stands in the database and
//! becomes durable with the facts that name it; a larger one is a file, complete and synced before those facts are
//! written, so a fact never names a blob that is not there. Nothing is ever deleted here.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use orchestrate_core::hex;
use orchestrate_core::ids::BlobId;
use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};

use crate::database;
use crate::error::JournalError;

/// The largest blob that stands in the database: above this, pages of one value scatter and checkpoints copy it
/// twice, while one file costs two syncs.
pub const INLINE_BYTES: usize = 1024 * 1024;

/// Some bytes and the id that follows from them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    id: BlobId,
    bytes: Vec<u8>,
}

impl Blob {
    /// Wraps bytes and computes their id, so that facts can name the blob before it is stored.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self { id: id_of(&bytes), bytes }
    }

    /// Returns the id: SHA-256 in lower-case hexadecimal.
    pub fn id(&self) -> &BlobId {
        &self.id
    }

    /// Returns the content.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The place of the large ones.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    folder: PathBuf,
}

impl Files {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Writes and syncs a blob that is too large for the database; does nothing for the others.
    pub(crate) fn keep(&self, blob: &Blob) -> Result<(), JournalError> {
        if blob.bytes.len() <= INLINE_BYTES {
            return Ok(());
        }
        let path = self.path(&blob.id);
        write_synced(&path, &blob.bytes).map_err(|error| JournalError::io(&path, error))
    }

    fn path(&self, id: &BlobId) -> PathBuf {
        let name = id.as_str();
        match name.split_at_checked(2) {
            Some((shelf, rest)) => self.folder.join(shelf).join(rest),
            None => self.folder.join(name),
        }
    }
}

/// Names a blob in the database, with its bytes unless they are in a file.
pub(crate) fn insert(tx: &Connection, blob: &Blob) -> rusqlite::Result<()> {
    let inline = (blob.bytes.len() <= INLINE_BYTES).then_some(blob.bytes.as_slice());
    let size = database::to_sql(blob.bytes.len() as u64);
    tx.prepare_cached("INSERT OR IGNORE INTO blobs (id, size, bytes) VALUES (?1, ?2, ?3)")?.execute(params![
        blob.id.as_str(),
        size,
        inline
    ])?;
    Ok(())
}

/// Reads a blob and checks that it is what its id says.
pub(crate) fn read(
    database: &Path,
    connection: &Connection,
    files: &Files,
    id: &BlobId,
) -> Result<Vec<u8>, JournalError> {
    let found: Option<Option<Vec<u8>>> = connection
        .prepare_cached("SELECT bytes FROM blobs WHERE id = ?1")
        .and_then(|mut query| query.query_row([id.as_str()], |row| row.get(0)).optional())
        .map_err(|error| JournalError::database(database, error))?;
    let bytes = match found {
        None => return Err(JournalError::NoSuchBlob(id.clone())),
        Some(Some(bytes)) => bytes,
        Some(None) => {
            let path = files.path(id);
            fs::read(&path).map_err(|error| JournalError::io(&path, error))?
        }
    };
    if id_of(&bytes) == *id { Ok(bytes) } else { Err(JournalError::DamagedBlob { id: id.clone() }) }
}

fn id_of(bytes: &[u8]) -> BlobId {
    BlobId::new(hex(&Sha256::digest(bytes)))
}

/// Puts a whole file in place: readers see all of it or nothing, also after a power cut.
fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|found| found.len() == bytes.len() as u64) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(path);
    orchestrate_files::create_folder(folder)?;
    orchestrate_files::replace(path, bytes)?;
    // The folder itself may be new.
    folder.parent().map_or(Ok(()), orchestrate_files::sync_folder)
}
