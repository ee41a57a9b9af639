//! What the files of a worktree contain, as far as its index knows it without reading them.
//!
//! An answer is exact: it is given only for a file that has its recorded metadata, is older than
//! the index (git's own rule for "racy" entries), and is as long as its blob. Converting line ends
//! or keywords only ever shortens a file, so a file of the blob's length has the blob's bytes.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use git2::{Index, ObjectType};
use orchestrate_core::Oid;

use crate::error::GitError;
use crate::repo::repository::{BlobLengths, Repo, ours};
use crate::repo::worktree::Worktree;
use crate::store::objects::Store;

/// The types of the index's entries that are regular files.
const REGULAR: [u32; 2] = [0o100_644, 0o100_755];

/// The metadata of a file, by which an unchanged file is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The number of the inode.
    pub inode: u64,
    /// The size in bytes.
    pub size: u64,
    /// The time of the last modification, in seconds and nanoseconds.
    pub modified: (i64, i64),
    /// The time of the last change of the inode.
    pub changed: (i64, i64),
}

/// The contents that a worktree's index knows, as of when it was read.
#[derive(Debug)]
pub struct RecordedContents {
    repo: Repo,
    /// In the order of the index, so that a walk over the files finds them one after the other in
    /// memory.
    files: Vec<Recorded>,
    /// The places of the files by the hashes of their paths. A path only finds a file: its bytes
    /// follow from its metadata, so that another path with the same hash would do no harm.
    places: HashMap<u64, u32>,
    hasher: RandomState,
    index_time: (i64, i64),
}

/// What is recorded of a file.
#[derive(Debug)]
struct Recorded {
    id: git2::Oid,
    stamp: IndexStamp,
    /// The id as it is shown, and the length of its blob, once they were asked for; `None` if it
    /// cannot be read.
    shown: OnceLock<Option<(Oid, u64)>>,
}

/// The part of a file's metadata that an index keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct IndexStamp {
    inode: u32,
    size: u32,
    modified: (i32, u32),
    changed: (i32, u32),
}

impl Store<'_> {
    /// Reads what a worktree's index knows of its files.
    ///
    /// # Errors
    /// If the index cannot be read; [`GitError::Tampered`].
    pub fn recorded(&self, worktree: &Worktree) -> Result<RecordedContents, GitError> {
        worktree.verify_untampered()?;
        let path = index_of(worktree);
        // Before its entries: if the index is replaced meanwhile, more files count as racy, not
        // fewer.
        let index_time = index_time(&path)?;
        let index =
            Index::open(&path).map_err(GitError::library(format!("read {}", path.display())))?;
        let regular = index.iter().filter(|entry| REGULAR.contains(&entry.mode));
        let (hasher, mut places) = (RandomState::new(), HashMap::with_capacity(index.len()));
        let files = regular.zip(0..).map(|(entry, place)| {
            places.insert(hasher.hash_one(entry.path.as_slice()), place);
            let stamp = IndexStamp {
                inode: entry.ino,
                size: entry.file_size,
                modified: (entry.mtime.seconds(), entry.mtime.nanoseconds()),
                changed: (entry.ctime.seconds(), entry.ctime.nanoseconds()),
            };
            Recorded {
                id: entry.id,
                stamp,
                shown: OnceLock::new(),
            }
        });
        let files = files.collect();
        Ok(RecordedContents {
            repo: self.repo.clone(),
            files,
            places,
            hasher,
            index_time,
        })
    }

    /// Returns when the worktree's index was written, so that it need not be read again while this
    /// stays the same.
    ///
    /// # Errors
    /// If there is no index.
    pub fn index_written(&self, worktree: &Worktree) -> Result<SystemTime, GitError> {
        let path = index_of(worktree);
        path.metadata()
            .and_then(|metadata| metadata.modified())
            .map_err(GitError::io("look at", path))
    }
}

impl RecordedContents {
    /// Returns the id of a file's bytes, or `None` if only reading the file shows it.
    pub fn id(&self, path: &str, stamp: &Stamp) -> Option<Oid> {
        let place = self.places.get(&self.hasher.hash_one(path.as_bytes()))?;
        let recorded = self.files.get(usize::try_from(*place).ok()?)?;
        if recorded.stamp != IndexStamp::from_stamp(stamp) || stamp.modified >= self.index_time {
            return None;
        }
        // A walk over a whole worktree asks about each file of it.
        let shown = recorded
            .shown
            .get_or_init(|| Some((ours(recorded.id), self.length(recorded.id)?)));
        shown
            .as_ref()
            .filter(|(_, length)| *length == stamp.size)
            .map(|(id, _)| id.clone())
    }

    /// Returns the length of a blob, or `None` if it cannot be read.
    fn length(&self, id: git2::Oid) -> Option<u64> {
        let known = |lengths: &BlobLengths| lengths.lock().get(&id).copied();
        let lengths = Arc::clone(&self.repo.shared.blob_lengths);
        known(&lengths).or_else(|| {
            let (length, kind) = self.repo.handle().ok()?.odb().ok()?.read_header(id).ok()?;
            let length = (kind == ObjectType::Blob).then_some(length as u64)?;
            lengths.lock().insert(id, length);
            Some(length)
        })
    }
}

impl IndexStamp {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the index keeps the low 32 bits"
    )]
    fn from_stamp(stamp: &Stamp) -> IndexStamp {
        let time = |(seconds, nanoseconds): (i64, i64)| (seconds as i32, nanoseconds as u32);
        IndexStamp {
            inode: stamp.inode as u32,
            size: stamp.size as u32,
            modified: time(stamp.modified),
            changed: time(stamp.changed),
        }
    }
}

/// Returns the id that git gives these bytes, or `None` if they cannot have one.
pub fn blob_id(bytes: &[u8]) -> Option<Oid> {
    git2::Oid::hash_object(ObjectType::Blob, bytes)
        .ok()
        .map(ours)
}

fn index_of(worktree: &Worktree) -> std::path::PathBuf {
    worktree.admin_dir().join("index")
}

fn index_time(path: &std::path::Path) -> Result<(i64, i64), GitError> {
    use std::os::unix::fs::MetadataExt;
    let found = path.metadata().map_err(GitError::io("look at", path))?;
    Ok((found.mtime(), found.mtime_nsec()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    use super::*;
    use crate::store::sample::Sample;

    fn stamp(path: &Path) -> Stamp {
        let found = path.symlink_metadata().unwrap();
        Stamp {
            inode: found.ino(),
            size: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }

    /// Makes the index younger or older than every file.
    fn date_index(worktree: &Worktree, time: SystemTime) {
        fs::File::options()
            .write(true)
            .open(index_of(worktree))
            .unwrap()
            .set_modified(time)
            .unwrap();
    }

    #[test]
    fn only_an_unchanged_file_with_the_bytes_of_its_blob_is_known() {
        let files = [
            ("a", "one\n"),
            ("b", "two\n"),
            ("c", "three\n"),
            (".gitattributes", "c text eol=crlf\n"),
        ];
        let sample = Sample::with(&files);
        let (Sample { repo, worktree, .. }, path) = (&sample, sample.path());
        let known = |name: &str| {
            let recorded = repo.store().recorded(worktree).unwrap();
            recorded.id(name, &stamp(&path.join(name)))
        };
        assert_eq!(fs::read(path.join("c")).unwrap(), b"three\r\n");

        date_index(
            worktree,
            SystemTime::now() + std::time::Duration::from_secs(60),
        );
        assert_eq!(
            (known("a"), known("b")),
            (blob_id(b"one\n"), blob_id(b"two\n"))
        );
        assert_eq!(known("c"), None, "its bytes are not its blob's");
        let recorded = repo.store().recorded(worktree).unwrap();
        assert_eq!(
            recorded.id("d", &stamp(&path.join("a"))),
            None,
            "it has no such file"
        );
        fs::write(path.join("b"), "six\n").unwrap();
        assert_eq!((known("b"), known("a")), (None, blob_id(b"one\n")));
        date_index(worktree, SystemTime::UNIX_EPOCH);
        assert_eq!(known("a"), None, "as young as the index");
    }
}
