//! The times of modification of a project's files, the same in all worktrees of a run.
//!
//! Builds take a source for changed if its time differs from the one that they have recorded, or is
//! later than what was made of it. So a new worktree gets for each file that is the same as in the
//! run's base the time that is recorded for it: that of the user's file if it has this content,
//! from which the user's own outputs were made, and else the time of the recording. Files that
//! differ from the base's keep the time of their checkout.
//!
//! Times are set only in a new worktree. Later, a file may have become the base's again, and what
//! was made of another version of it would seem to be new enough.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::SystemTime;

use git2::{Index, IndexEntry, ObjectType, Repository, TreeWalkMode, TreeWalkResult};
use orchestrate_core::Oid;
use orchestrate_files::if_there;
use rustix::fs::{AtFlags, FileType, Stat, Timespec, Timestamps};
use rustix::io::Errno;

use crate::error::GitError;
use crate::error::lock_wait::Work;
use crate::files::index_entry::{entry_of, looks_same};
use crate::files::openat;
use crate::files::openat::path_of;
use crate::repo::repository::tree_of;
use crate::repo::worktree::Worktree;
use crate::worktree::checkout::Checkout;
use crate::worktree::worktrees::Worktrees;

/// How many bytes of files are read whose metadata is not that of the user's index. Beyond it, they
/// count as changed, which costs builds their time and nothing else.
const MOST_READ: i64 = 64 << 20;
/// The mode of links in trees.
const LINK: i32 = 0o120_000;

/// A file or a folder of a tree.
struct Listed {
    /// The path of a folder ends with a slash.
    path: Vec<u8>,
    id: git2::Oid,
    mode: i32,
}

/// The recorded times of a base.
struct SourceTimes {
    base: Oid,
    /// By path, as in [`Listed`].
    times: BTreeMap<Vec<u8>, Timespec>,
}

impl Worktrees<'_> {
    /// Records the times of a base's files in `file`, unless that exists.
    ///
    /// # Errors
    /// If the base or the user's index cannot be read, or the file not written.
    pub fn record_times(&self, file: &Path, base: &Oid) -> Result<(), GitError> {
        if file.exists() {
            return Ok(());
        }
        let handle = self.repo.handle()?;
        let mut users = UsersFiles::open(self)?;
        let mut times = BTreeMap::new();
        for listed in listed(&tree_of(&handle, base)?)? {
            times.insert(listed.path.clone(), users.time_of(&listed)?);
        }
        let recorded = SourceTimes {
            base: base.clone(),
            times,
        };
        let _held = self.repo.lock(Work::Worktree)?;
        if file.exists() {
            // Another process was quicker, and its worktrees have these times.
            return Ok(());
        }
        let folder = file.parent().unwrap_or(file);
        orchestrate_files::create_folder(folder).map_err(GitError::io("make", folder))?;
        orchestrate_files::replace(file, &recorded.text()).map_err(GitError::io("write", file))
    }

    /// Sets the recorded times in a new worktree that contains the files of this commit or tree.
    /// Without a record, nothing changes.
    pub(crate) fn set_recorded_times(
        &self,
        worktree: &Worktree,
        file: &Path,
        treeish: &Oid,
    ) -> Result<(), GitError> {
        let Some(mut recorded) = SourceTimes::read(file)? else {
            return Ok(());
        };
        let handle = self.repo.handle()?;
        for changed in changed_between(&handle, &recorded.base, treeish)? {
            recorded.times.remove(&changed);
        }
        // The deepest first: a folder's time changes only with its own entries.
        for (path, time) in recorded.times.iter().rev() {
            set_time(worktree, path, *time)?;
        }
        let index_path = worktree.admin_dir().join("index");
        let failed = GitError::library(format!("update {}", index_path.display()));
        let mut index = Index::open(&index_path).map_err(&failed)?;
        // An entry without metadata is of a file that has to be read: its metadata alone would not
        // tell its content.
        let is_known = |entry: &IndexEntry| {
            entry.mtime.seconds() != 0 && recorded.times.contains_key(&entry.path)
        };
        let known: Vec<IndexEntry> = index.iter().filter(is_known).collect();
        for entry in known {
            let place = || worktree.path().join(path_of(&entry.path));
            let found = openat::look(worktree.root(), &entry.path)
                .map_err(GitError::errno("look at", place()))?;
            let Some(stat) = found else { continue };
            index.add(&as_found(entry, &stat)).map_err(&failed)?;
        }
        // Keeps the metadata, and restores what git knows of whole folders.
        index
            .read_tree(&tree_of(&handle, treeish)?)
            .map_err(&failed)?;
        index.write().map_err(&failed)
    }
}

impl SourceTimes {
    fn read(file: &Path) -> Result<Option<Self>, GitError> {
        let found = if_there(std::fs::read(file)).map_err(GitError::io("read", file))?;
        let Some(bytes) = found else {
            return Ok(None);
        };
        Self::parsed(&bytes).map(Some).ok_or_else(|| {
            let damaged =
                std::io::Error::new(std::io::ErrorKind::InvalidData, "it is damaged; delete it");
            GitError::io("read", file)(damaged)
        })
    }

    fn parsed(bytes: &[u8]) -> Option<Self> {
        let mut records = bytes.split(|byte| *byte == 0);
        let base = Oid::new(std::str::from_utf8(records.next()?).ok()?);
        let mut times = BTreeMap::new();
        for record in records.filter(|record| !record.is_empty()) {
            let mut words = record.splitn(3, |byte| *byte == b' ');
            let mut number = || std::str::from_utf8(words.next()?).ok();
            let (seconds, nanoseconds) = (number()?.parse().ok()?, number()?.parse().ok()?);
            times.insert(
                words.next()?.to_vec(),
                Timespec {
                    tv_sec: seconds,
                    tv_nsec: nanoseconds,
                },
            );
        }
        Some(Self { base, times })
    }

    fn text(&self) -> Vec<u8> {
        let mut text = self.base.as_str().as_bytes().to_vec();
        for (path, time) in &self.times {
            text.push(0);
            text.extend_from_slice(format!("{} {} ", time.tv_sec, time.tv_nsec).as_bytes());
            text.extend_from_slice(path);
        }
        text
    }
}

/// The files of the user's checkout.
struct UsersFiles {
    root: OwnedFd,
    index: Index,
    /// When the index was written: a file that is not older may have changed since with the same
    /// metadata.
    indexed: (i64, i64),
    left_to_read: i64,
    now: Timespec,
}

impl UsersFiles {
    fn open(worktrees: &Worktrees<'_>) -> Result<Self, GitError> {
        let path = worktrees.repo.workdir().to_owned();
        let git_dir = worktrees.repo.shared.git_dir.clone();
        let place = Checkout { path, git_dir };
        let root = openat::open_root(&place.path).map_err(GitError::errno("open", &place.path))?;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.map_or(
            Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            |since| Timespec {
                tv_sec: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: since.subsec_nanos().into(),
            },
        );
        let indexed = rustix::fs::stat(place.index_path()).map_or((0, 0), |stat| modified(&stat));
        Ok(Self {
            root,
            index: place.index()?,
            indexed,
            left_to_read: MOST_READ,
            now,
        })
    }

    /// Returns the time of the user's file if it is this one, and else that of now.
    fn time_of(&mut self, listed: &Listed) -> Result<Timespec, GitError> {
        let name = listed.path.strip_suffix(b"/").unwrap_or(&listed.path);
        let found = match openat::look(&self.root, name) {
            Err(Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => None,
            found => found.map_err(GitError::errno("look at", path_of(name)))?,
        };
        let Some(stat) = found else {
            return Ok(self.now);
        };
        let is_same = match openat::kind(&stat) {
            FileType::Directory => listed.path.ends_with(b"/"),
            FileType::Symlink => listed.mode == LINK && self.is_unchanged(listed, &stat),
            FileType::RegularFile => {
                let is_executable = listed.mode & 0o111 != 0;
                let has_mode = listed.mode != LINK && (stat.st_mode & 0o100 != 0) == is_executable;
                has_mode && self.is_unchanged(listed, &stat)
            }
            _ => false,
        };
        let (seconds, nanoseconds) = modified(&stat);
        Ok(if is_same {
            Timespec {
                tv_sec: seconds,
                tv_nsec: nanoseconds,
            }
        } else {
            self.now
        })
    }

    /// Reports whether a file has the content of the tree's.
    fn is_unchanged(&mut self, listed: &Listed, stat: &Stat) -> bool {
        let entry = self.index.get_path(&path_of(&listed.path), 0);
        if let Some(entry) =
            entry.filter(|entry| looks_same(stat, entry) && modified(stat) < self.indexed)
        {
            return entry.id == listed.id;
        }
        self.left_to_read = self.left_to_read.saturating_sub(stat.st_size);
        self.left_to_read > 0 && self.read_id(listed).is_some_and(|id| id == listed.id)
    }

    /// Returns the id that a file's content has without filters.
    fn read_id(&self, listed: &Listed) -> Option<git2::Oid> {
        let (folder, name) = openat::split(&listed.path);
        let folder = openat::open_folder(&self.root, folder).ok()?;
        let most = u64::try_from(MOST_READ).ok()?;
        let bytes = match listed.mode {
            LINK => openat::read_link(&folder, name).ok()?,
            _ => openat::read(&folder, name, most).ok()??.0,
        };
        git2::Oid::hash_object(ObjectType::Blob, &bytes).ok()
    }
}

fn modified(stat: &Stat) -> (i64, i64) {
    (stat.st_mtime, stat.st_mtime_nsec.cast_signed())
}

/// Lists the files and folders of a tree.
fn listed(tree: &git2::Tree<'_>) -> Result<Vec<Listed>, GitError> {
    let mut all = Vec::new();
    let walked = tree.walk(TreeWalkMode::PreOrder, |folder, entry| {
        let end: &[u8] = match entry.kind() {
            Some(ObjectType::Blob) => b"",
            Some(ObjectType::Tree) => b"/",
            _ => return TreeWalkResult::Ok,
        };
        let path = [folder.as_bytes(), entry.name_bytes(), end].concat();
        all.push(Listed {
            path,
            id: entry.id(),
            mode: entry.filemode(),
        });
        TreeWalkResult::Ok
    });
    walked.map_err(GitError::library("list the files of a commit"))?;
    Ok(all)
}

/// Lists the files that differ between a base and a commit or tree, and the folders that contain
/// them.
fn changed_between(
    handle: &Repository,
    base: &Oid,
    treeish: &Oid,
) -> Result<BTreeSet<Vec<u8>>, GitError> {
    let (old, new) = (tree_of(handle, base)?, tree_of(handle, treeish)?);
    let diff = handle.diff_tree_to_tree(Some(&old), Some(&new), None);
    let diff = diff.map_err(GitError::library("compare two commits"))?;
    let mut changed = BTreeSet::new();
    for delta in diff.deltas() {
        for path in [delta.old_file().path_bytes(), delta.new_file().path_bytes()]
            .into_iter()
            .flatten()
        {
            changed.insert(path.to_vec());
            let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
            changed.extend(slashes.filter_map(|(at, _)| Some(path.get(..=at)?.to_vec())));
        }
    }
    Ok(changed)
}

fn set_time(worktree: &Worktree, path: &[u8], time: Timespec) -> Result<(), GitError> {
    let path = path.strip_suffix(b"/").unwrap_or(path);
    let stamps = Timestamps {
        last_access: time,
        last_modification: time,
    };
    match rustix::fs::utimensat(
        worktree.root(),
        OsStr::from_bytes(path),
        &stamps,
        AtFlags::SYMLINK_NOFOLLOW,
    ) {
        // A submodule's files are not in the worktree, for example.
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(()),
        done => done.map_err(GitError::errno(
            "set the time of",
            worktree.path().join(path_of(path)),
        )),
    }
}

/// Returns an entry of the index with the metadata that its file has.
fn as_found(entry: IndexEntry, stat: &Stat) -> IndexEntry {
    let found = entry_of(&[], entry.mode, entry.id, stat);
    let IndexEntry {
        ctime,
        mtime,
        dev,
        ino,
        uid,
        gid,
        file_size,
        ..
    } = found;
    IndexEntry {
        ctime,
        mtime,
        dev,
        ino,
        uid,
        gid,
        file_size,
        ..entry
    }
}
