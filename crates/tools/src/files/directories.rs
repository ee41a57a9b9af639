//! The names in directories, kept for the next walk: a directory whose metadata has not changed has
//! the same ones.
//!
//! Every change of a directory's names changes its times, whichever program makes it. What an entry
//! is behind its name, above all its content, is none of this.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::SystemTime;

use orchestrate_core::collections::Mutex;
use orchestrate_core::text::git_path::is_git_name;
use rustix::fs::{AtFlags, FileType, RawDir, statat};
use rustix::io::Errno;

use super::entry::{EntryKind, kind};
use crate::answer::FileStamp;

/// How many names the agents of a run keep: those of a few worktrees of a large repository, in tens
/// of megabytes.
const MAX_KEPT: usize = 500_000;
/// The bytes of names that are read from a directory at a time.
const NAMES_BYTES: usize = 32 << 10;

/// The directories that the agents of a run have listed.
#[derive(Debug, Default)]
pub(super) struct Directories(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// By the numbers of the file system and of the inode.
    by_inode: HashMap<(u64, u64), Listed>,
    names: usize,
}

/// A directory, as of when it was listed last.
#[derive(Debug)]
struct Listed {
    stamp: FileStamp,
    names: Arc<[Name]>,
}

/// An entry of a directory, as it was listed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) name: Box<str>,
    pub(super) kind: EntryKind,
}

impl Directories {
    /// Returns the names in a directory in order, but at most so many; without those that belong to
    /// git, and those that are not UTF-8, since tool calls are JSON and cannot name them.
    pub(super) fn names(&self, directory: &OwnedFd, most: usize) -> Result<Arc<[Name]>, Errno> {
        // Before its names are read: what changes meanwhile changes it.
        let stamp = FileStamp::now(directory);
        if let Some(names) = stamp.as_ref().and_then(|stamp| self.find(stamp)) {
            return Ok(names);
        }
        let names = read(directory, most)?;
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        if let Some(stamp) = stamp.filter(|stamp| stamp.is_settled(now) && names.len() < most) {
            self.keep(stamp, &names);
        }
        Ok(names)
    }

    fn find(&self, stamp: &FileStamp) -> Option<Arc<[Name]>> {
        let kept = self.0.lock();
        let listed = kept
            .by_inode
            .get(&(stamp.device, stamp.inode))
            .filter(|listed| listed.stamp == *stamp);
        listed.map(|listed| Arc::clone(&listed.names))
    }

    fn keep(&self, stamp: FileStamp, names: &Arc<[Name]>) {
        let mut kept = self.0.lock();
        let count = names.len() + 1;
        if kept.names + count > MAX_KEPT {
            *kept = Kept::default();
        }
        if count > MAX_KEPT {
            return;
        }
        kept.names += count;
        let listed = Listed {
            stamp,
            names: Arc::clone(names),
        };
        if let Some(former) = kept.by_inode.insert((stamp.device, stamp.inode), listed) {
            kept.names -= former.names.len() + 1;
        }
    }
}

fn read(directory: &OwnedFd, most: usize) -> Result<Arc<[Name]>, Errno> {
    let mut buffer = [MaybeUninit::uninit(); NAMES_BYTES];
    let mut found = RawDir::new(directory, &mut buffer);
    let mut names = Vec::new();
    while let Some(entry) = found.next() {
        let entry = entry?;
        let Ok(name) = entry.file_name().to_str() else {
            continue;
        };
        if name == "." || name == ".." || is_git_name(name) {
            continue;
        }
        let Some(file_type) = type_of(directory, name, entry.file_type()) else {
            continue;
        };
        names.push(Name {
            name: name.into(),
            kind: kind(file_type),
        });
        if names.len() >= most {
            break;
        }
    }
    names.sort_unstable_by(|left, right| left.name.cmp(&right.name));
    Ok(names.into())
}

/// Returns the type of an entry, which some file systems do not list; `None` if it is gone.
fn type_of(directory: impl AsFd, name: &str, listed: FileType) -> Option<FileType> {
    if listed != FileType::Unknown {
        return Some(listed);
    }
    let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileType::from_raw_mode(stat.st_mode))
}

#[cfg(test)]
#[expect(
    clippy::disallowed_methods,
    reason = "changes directories as other programs do"
)]
mod tests {
    use std::fs::{self, File};
    use std::time::Duration;

    use super::*;

    fn names(directories: &Directories, path: &std::path::Path, most: usize) -> Vec<String> {
        let opened = OwnedFd::from(File::open(path).unwrap());
        directories
            .names(&opened, most)
            .unwrap()
            .iter()
            .map(|name| name.name.to_string())
            .collect()
    }

    fn stamp(seconds: i64) -> FileStamp {
        FileStamp {
            device: 1,
            inode: 2,
            size: 3,
            modified: (seconds - 100, 0),
            changed: (seconds, 5),
        }
    }

    #[test]
    fn only_a_directory_that_is_at_rest_is_kept() {
        let now = Duration::from_millis(100_500);
        for (changed, expected) in [
            (97, true),
            (98, false),
            (99, false),
            (100, false),
            (200, false),
            (-1, false),
        ] {
            assert_eq!(stamp(changed).is_settled(now), expected, "{changed}");
        }
    }

    /// A new directory is read each time; one that is said to be at rest is read again once its
    /// times are others.
    #[test]
    fn a_change_of_a_directory_is_seen() {
        let (folder, directories) = (tempfile::tempdir().unwrap(), Directories::default());
        for name in ["b", "a", ".git"] {
            File::create(folder.path().join(name)).unwrap();
        }
        assert_eq!(names(&directories, folder.path(), 10), ["a", "b"]);
        let opened = File::open(folder.path()).unwrap();
        let before = FileStamp::now(&opened).unwrap();
        assert_eq!(directories.find(&before), None, "it was changed just now");

        let other: Arc<[Name]> = [Name {
            name: "kept".into(),
            kind: EntryKind::File,
        }]
        .into();
        directories.keep(before, &other);
        assert_eq!(names(&directories, folder.path(), 10), ["kept"]);
        // Until the clock of the file system has gone on.
        for number in 0.. {
            fs::rename(folder.path().join("a"), folder.path().join("c")).unwrap();
            fs::rename(folder.path().join("c"), folder.path().join("a")).unwrap();
            if FileStamp::now(&opened).unwrap() != before {
                break;
            }
            assert!(number < 10_000_000, "its times stay the same");
        }
        assert_eq!(names(&directories, folder.path(), 10), ["a", "b"]);
        assert_eq!(names(&directories, folder.path(), 1).len(), 1);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let directories = Directories::default();
        let many: Arc<[Name]> = (0..MAX_KEPT / 3)
            .map(|number| Name {
                name: number.to_string().into(),
                kind: EntryKind::File,
            })
            .collect();
        for inode in 0..10 {
            directories.keep(FileStamp { inode, ..stamp(1) }, &many);
            // The same directory, changed: it replaces the former one.
            directories.keep(FileStamp { inode, ..stamp(2) }, &many);
            let kept = directories.0.lock();
            assert!(kept.names <= MAX_KEPT && kept.names == kept.by_inode.len() * (many.len() + 1));
            assert!(kept.by_inode.contains_key(&(1, inode)));
        }
    }
}
