//! What an agent's own git directory says, read as bytes: HEAD, refs, the stash's log, what is
//! staged, and which operation is in progress.
//!
//! The agent's commands write there, so no program and no library of git's opens it, its
//! configuration and its hooks are not looked at, links are not followed, and everything is
//! bounded.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;

use git2::Oid;
use rustix::fs::FileType;

use crate::files::index_entry::{EXECUTABLE, GITLINK, LINK, REGULAR};
use crate::files::openat;
use crate::worktree::private::import::DEEPEST;
use crate::worktree::private::objects::ID;
use crate::worktree::private::shown_refs::{PACKED, REFS};

/// The largest file of a ref.
const REF_BYTES: u64 = 4 << 10;
/// The largest file of packed refs, and the largest log of a stash.
const LIST_BYTES: u64 = 64 << 20;
/// The largest index.
const INDEX_BYTES: u64 = 256 << 20;
/// How many folders and files of refs are looked at.
const MOST_REFS: usize = 20_000;
/// How deep folders of refs may lie in each other.
const MOST_FOLDERS: usize = 32;
/// How many refs in a row may stand for one another.
const MOST_STEPS: usize = 5;
/// The beginning of a ref that stands for another one.
const SYMBOLIC: &[u8] = b"ref: ";
/// The ref of the newest changes that were set aside.
const STASH: &[u8] = b"refs/stash";
/// The length of the fixed part of an index's entry.
const FIXED: usize = 62;
/// The length of an index's heading.
const HEADING: usize = 12;
/// The bit of an entry's flags that says that there are more.
const EXTENDED: u16 = 0x4000;
/// The bits with the side of a conflict.
const SIDE: u16 = 0x3000;
/// The bits with the length of the path.
const LENGTH: u16 = 0x0fff;
/// The bit of the further flags of a path that is to be added later.
const TO_ADD: u16 = 0x2000;

/// What says that an operation is in progress, in the order in which git looks.
const OPERATIONS: [(&[u8], &str); 6] = [
    (b"rebase-merge", "a rebase"),
    (b"rebase-apply", "a rebase"),
    (b"MERGE_HEAD", "a merge"),
    (b"CHERRY_PICK_HEAD", "a cherry-pick"),
    (b"REVERT_HEAD", "a revert"),
    (b"BISECT_LOG", "a bisection"),
];

/// What a git directory says.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The commit that is checked out.
    pub(super) head: Option<Oid>,
    /// The full name of the ref that HEAD stands for; `None` if it is detached.
    pub(super) on: Option<Vec<u8>>,
    /// The refs by their full names, without those that stand for others.
    pub(super) refs: BTreeMap<Vec<u8>, Oid>,
    /// The changes that are set aside, oldest first.
    pub(super) stashes: Vec<Oid>,
    /// What is staged, or `None` if that cannot be told.
    pub(super) staged: Option<Staged>,
    /// The commit that is being merged.
    pub(super) merging: Option<Oid>,
    /// The operation in progress.
    pub(super) operation: Option<&'static str>,
    /// Whether git works with the directory, so that what is missing there was removed on purpose.
    pub(super) is_whole: bool,
}

/// What is staged.
#[derive(Debug, Default)]
pub(super) struct Staged {
    /// The mode and the content of each file, by its path.
    pub(super) files: BTreeMap<Vec<u8>, (u32, Oid)>,
    /// The paths in conflict.
    pub(super) conflicts: BTreeSet<Vec<u8>>,
}

impl Found {
    /// Reads a git directory; what is not as git writes it is left out.
    pub(super) fn read(git_dir: &OwnedFd) -> Found {
        let mut found = Found::default();
        let packed = bytes(git_dir, PACKED.as_bytes(), LIST_BYTES);
        for line in packed.split(|byte| *byte == b'\n') {
            if let Some((id, name)) = split_at_space(line)
                && let Some(id) = id_of(id)
                && name.starts_with(b"refs/")
                && found.refs.len() < MOST_REFS
            {
                found.refs.insert(name.to_vec(), id);
            }
        }
        let mut symbolic = BTreeMap::new();
        let mut left = MOST_REFS;
        if let Ok(folder) = openat::open_folder(git_dir, REFS.as_bytes()) {
            found.read_refs(&folder, REFS.as_bytes(), &mut symbolic, &mut left);
        }
        found.read_head(git_dir, &symbolic);
        found.stashes = stashes(git_dir, found.refs.get(STASH).copied());
        found.staged = staged(&bytes(git_dir, b"index", INDEX_BYTES));
        let merging = bytes(git_dir, b"MERGE_HEAD", REF_BYTES);
        found.merging = id_of(merging.trim_ascii_end());
        for (name, operation) in OPERATIONS {
            if found.operation.is_none() && matches!(openat::look(git_dir, name), Ok(Some(_))) {
                found.operation = Some(operation);
            }
        }
        found
    }

    /// Reads the refs that have a file of their own, which counts more than what was packed.
    fn read_refs(
        &mut self,
        folder: &OwnedFd,
        name: &[u8],
        symbolic: &mut BTreeMap<Vec<u8>, Vec<u8>>,
        left: &mut usize,
    ) {
        for (entry, is_folder) in openat::list(folder).into_iter().flatten() {
            let Some(fewer) = left.checked_sub(1) else {
                return;
            };
            *left = fewer;
            let name = openat::join(name, &entry);
            if is_folder {
                let depth = name.iter().filter(|byte| **byte == b'/').count();
                if let Ok(inner) = openat::open_folder(folder, &entry)
                    && depth < MOST_FOLDERS
                {
                    self.read_refs(&inner, &name, symbolic, left);
                }
                continue;
            }
            let content = bytes(folder, &entry, REF_BYTES);
            let content = content.trim_ascii_end();
            if let Some(id) = id_of(content) {
                self.refs.insert(name, id);
            } else if let Some(target) = content.strip_prefix(SYMBOLIC) {
                self.refs.remove(&name);
                symbolic.insert(name, target.to_vec());
            }
        }
    }

    fn read_head(&mut self, git_dir: &OwnedFd, symbolic: &BTreeMap<Vec<u8>, Vec<u8>>) {
        let head = bytes(git_dir, b"HEAD", REF_BYTES);
        let head = head.trim_ascii_end();
        let Some(target) = head.strip_prefix(SYMBOLIC) else {
            self.head = id_of(head);
            return;
        };
        let mut target = target.to_vec();
        for _ in 0..MOST_STEPS {
            match symbolic.get(&target) {
                Some(next) => target.clone_from(next),
                None => break,
            }
        }
        self.head = self.refs.get(&target).copied();
        self.on = Some(target);
    }
}

/// Reads the changes that are set aside from their log.
fn stashes(git_dir: &OwnedFd, newest: Option<Oid>) -> Vec<Oid> {
    let Some(newest) = newest else {
        return Vec::new();
    };
    let log = openat::open_folder(git_dir, b"logs/refs")
        .ok()
        .map(|folder| bytes(&folder, b"stash", LIST_BYTES));
    let mut stashes = Vec::new();
    for line in log.iter().flat_map(|log| log.split(|byte| *byte == b'\n')) {
        let mut ids = line.splitn(3, |byte| *byte == b' ');
        let (_, new) = (ids.next(), ids.next());
        if let Some(id) = new.and_then(id_of)
            && !stashes.contains(&id)
            && stashes.len() < MOST_REFS
        {
            stashes.push(id);
        }
    }
    if stashes.last() != Some(&newest) {
        stashes.retain(|id| *id != newest);
        stashes.push(newest);
    }
    stashes
}

/// The longest path of a file.
const LONGEST_PATH: usize = 4096;

/// Reads an index of the versions 2 and 3, which git writes unless it is told otherwise.
fn staged(index: &[u8]) -> Option<Staged> {
    let heading = index.get(..HEADING)?;
    let version = number(heading.get(4..8)?)?;
    if !heading.starts_with(b"DIRC") || !matches!(version, 2 | 3) {
        return None;
    }
    let (count, mut at) = (number(heading.get(8..)?)?, HEADING);
    let mut staged = Staged::default();
    for _ in 0..count {
        let entry = index.get(at..)?;
        let mode = number(entry.get(24..28)?)?;
        let id = Oid::from_bytes(entry.get(40..40 + ID)?).ok()?;
        let flags = short(entry.get(60..FIXED)?)?;
        let (more, from) = if flags & EXTENDED != 0 {
            (short(entry.get(FIXED..FIXED + 2)?)?, FIXED + 2)
        } else {
            (0, FIXED)
        };
        let rest = entry.get(from..)?;
        let length = rest.iter().position(|byte| *byte == 0)?;
        let told = flags & LENGTH;
        if told != LENGTH && usize::from(told) != length {
            return None;
        }
        let path = rest.get(..length)?.to_vec();
        let depth = path.iter().filter(|byte| **byte == b'/').count();
        if length > LONGEST_PATH || depth >= DEEPEST {
            return None;
        }
        if flags & SIDE != 0 {
            staged.conflicts.insert(path);
        } else if !matches!(mode, REGULAR | EXECUTABLE | LINK | GITLINK) {
            // A folder of a sparse checkout: what is in it is not told.
            return None;
        } else if more & TO_ADD == 0 {
            staged.files.insert(path, (mode, id));
        }
        // Each entry is filled up to a multiple of eight, with at least one zero.
        at += (from + length + 8) & !7;
    }
    // With an index that is split, most entries are in another file.
    let is_split = index
        .get(at..)
        .is_some_and(|rest| rest.starts_with(b"link"));
    (!is_split).then_some(staged)
}

fn number(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

fn short(bytes: &[u8]) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.try_into().ok()?))
}

/// Reads a plain file; anything else, and one that is missing or too large, counts as empty.
fn bytes(folder: &OwnedFd, name: &[u8], limit: u64) -> Vec<u8> {
    // Opening a device may do something.
    let is_plain = openat::look(folder, name)
        .is_ok_and(|stat| stat.is_some_and(|stat| openat::kind(&stat) == FileType::RegularFile));
    if !is_plain {
        return Vec::new();
    }
    match openat::read(folder, name, limit) {
        Ok(Some((bytes, _))) => bytes,
        _ => Vec::new(),
    }
}

fn split_at_space(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = line.iter().position(|byte| *byte == b' ')?;
    Some((line.get(..at)?, line.get(at + 1..)?))
}

fn id_of(text: &[u8]) -> Option<Oid> {
    if text.len() != ID * 2 {
        return None;
    }
    let id = Oid::from_str(std::str::from_utf8(text).ok()?).ok()?;
    (!id.is_zero()).then_some(id)
}
