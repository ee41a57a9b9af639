//! One stored result: its format, and how it is read.
//!
//! ```text
//! magic
//! key, commit, agent        each with its length before it
//! pieces                    1 (output) or 2 (error output), length, bytes
//! 0, SHA-256                over everything before the hash
//! ```

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Result, Seek as _};

use orchestrate_core::policy::cache::CacheKey;
use sha2::{Digest as _, Sha256};

/// The beginning of every entry: its format. The first one also had results of commands that had
/// changed files.
pub(crate) const MAGIC: &[u8] = b"orchestrate-cache 2\n";
/// The bytes before the hash.
pub(crate) const END: u8 = 0;
/// The longest piece, in bytes, so that a damaged length needs little memory.
pub(crate) const LONGEST_PIECE: usize = 1 << 20;
/// The bytes of a hash.
const HASH_BYTES: usize = 32;

/// Whose result an entry is; a result is found only by all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The key.
    pub key: CacheKey,
    /// The short commit id.
    pub commit: String,
    /// The agent.
    pub agent: String,
}

impl Identity {
    pub(crate) fn parts(&self) -> [&[u8]; 3] {
        [
            self.key.as_str().as_bytes(),
            self.commit.as_bytes(),
            self.agent.as_bytes(),
        ]
    }
}

/// Which output a piece was written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Errors,
}

impl Stream {
    pub(crate) fn tag(self) -> u8 {
        match self {
            Stream::Output => 1,
            Stream::Errors => 2,
        }
    }

    fn of_tag(tag: u8) -> Option<Stream> {
        [Stream::Output, Stream::Errors]
            .into_iter()
            .find(|stream| stream.tag() == tag)
    }
}

/// A stored result that is whole.
#[derive(Debug)]
pub struct Entry {
    file: BufReader<File>,
}

impl Entry {
    /// Opens an entry; returns `None` if it is damaged, or another one's.
    pub(crate) fn open(file: File, identity: &Identity) -> Result<Option<Entry>> {
        let mut entry = Entry {
            file: BufReader::new(file),
        };
        if !entry.is_whole()? {
            return Ok(None);
        }
        entry.file.rewind()?;
        match entry.skip_header(identity) {
            Err(error) if error.kind() != ErrorKind::UnexpectedEof => Err(error),
            header => Ok(header?.then_some(entry)),
        }
    }

    /// Replaces the content of `piece` by the next piece; returns which output it was written to,
    /// or `None` at the end.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn next(&mut self, piece: &mut Vec<u8>) -> Result<Option<Stream>> {
        let [tag] = self.array()?;
        let Some(stream) = Stream::of_tag(tag) else {
            return Ok(None);
        };
        self.sized(piece)?;
        Ok(Some(stream))
    }

    /// Reads all of the file, and compares its hash.
    fn is_whole(&mut self) -> Result<bool> {
        let length = self.file.get_ref().metadata()?.len();
        let Some(hashed) = length.checked_sub(HASH_BYTES as u64) else {
            return Ok(false);
        };
        let mut hash = Sha256::new();
        let mut left = hashed;
        let mut buffer = vec![0; LONGEST_PIECE];
        while left > 0 {
            let most = usize::try_from(left)
                .unwrap_or(usize::MAX)
                .min(buffer.len());
            let Some(room) = buffer.get_mut(..most) else {
                break;
            };
            self.file.read_exact(room)?;
            hash.update(room);
            left -= most as u64;
        }
        let written: [u8; HASH_BYTES] = self.array()?;
        Ok(hash.finalize()[..] == written)
    }

    /// Reads up to the first piece, and reports whether the entry belongs to this identity.
    fn skip_header(&mut self, identity: &Identity) -> Result<bool> {
        let mut part = vec![0; MAGIC.len()];
        self.file.read_exact(&mut part)?;
        let mut is_same = part == MAGIC;
        for expected in identity.parts() {
            self.sized(&mut part)?;
            is_same &= part == expected;
        }
        Ok(is_same)
    }

    fn sized(&mut self, bytes: &mut Vec<u8>) -> Result<()> {
        let length = u32::from_be_bytes(self.array()?) as usize;
        if length > LONGEST_PIECE {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        bytes.resize(length, 0);
        self.file.read_exact(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        self.file.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}
