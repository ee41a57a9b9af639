//! A result that is being stored.

use std::io::{BufWriter, Result, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use orchestrate_files::PRIVATE_FILE;
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use crate::entry::{END, Identity, LONGEST_PIECE, MAGIC, Stream};
use crate::error::CacheError;
use crate::folder::{Folder, UNFINISHED};

/// A result that is being stored; it is found only after [`Recording::keep`], and is removed on
/// drop.
#[derive(Debug)]
pub struct Recording {
    folder: Folder,
    place: PathBuf,
    identity: Identity,
    file: BufWriter<NamedTempFile>,
    hash: Sha256,
    left: u64,
    is_too_large: bool,
    failed: Option<CacheError>,
}

impl Recording {
    pub(crate) fn begin(
        folder: &Folder,
        identity: &Identity,
    ) -> std::result::Result<Self, CacheError> {
        let path = folder.path();
        let file = tempfile::Builder::new()
            .prefix(UNFINISHED)
            .tempfile_in(path)
            .map_err(CacheError::new("create a file in", path))?;
        let mut recording = Recording {
            folder: folder.clone(),
            place: folder.place(identity),
            identity: identity.clone(),
            file: BufWriter::new(file),
            hash: Sha256::new(),
            left: folder.entry_limit(),
            is_too_large: false,
            failed: None,
        };
        recording
            .put_header()
            .map_err(CacheError::new("write to", path))?;
        Ok(recording)
    }

    /// Adds what was written. What does not fit, and an error, are said by [`Recording::keep`]:
    /// storing must not disturb what is stored.
    pub fn add(&mut self, stream: Stream, bytes: &[u8]) {
        for piece in bytes.chunks(LONGEST_PIECE) {
            self.is_too_large |= piece.len() as u64 > self.left;
            if self.is_too_large || self.failed.is_some() {
                return;
            }
            self.left -= piece.len() as u64;
            let written = self
                .put(&[stream.tag()])
                .and_then(|()| self.put_sized(piece));
            self.failed = written
                .err()
                .map(CacheError::new("write to", self.folder.path()));
        }
    }

    /// Stores the result, and removes the results that were used least recently until the cache is
    /// within its limit. Returns whether it was stored: what is too large is not.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn keep(mut self) -> std::result::Result<bool, CacheError> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        if self.is_too_large {
            return Ok(false);
        }
        let place = self.place.clone();
        self.put(&[END])
            .map_err(CacheError::new("write to", self.folder.path()))?;
        let Recording {
            folder, file, hash, ..
        } = self;
        let bytes =
            finish(file, &hash.finalize(), &place).map_err(CacheError::new("write", &place))?;
        folder.grown_by(bytes)?;
        Ok(true)
    }

    fn put_header(&mut self) -> Result<()> {
        self.put(MAGIC)?;
        let identity = self.identity.clone();
        identity
            .parts()
            .into_iter()
            .try_for_each(|part| self.put_sized(part))
    }

    fn put_sized(&mut self, bytes: &[u8]) -> Result<()> {
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.put(&length.to_be_bytes())?;
        self.put(bytes)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.hash.update(bytes);
        self.file.write_all(bytes)
    }
}

/// Makes a whole entry of a file, and returns its size.
fn finish(mut file: BufWriter<NamedTempFile>, hash: &[u8], place: &Path) -> Result<u64> {
    file.write_all(hash)?;
    let file = file
        .into_inner()
        .map_err(std::io::IntoInnerError::into_error)?;
    let opened = file.as_file();
    opened.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(PRIVATE_FILE))?;
    opened.set_modified(SystemTime::now())?;
    let bytes = opened.metadata()?.len();
    file.persist(place)?;
    Ok(bytes)
}
