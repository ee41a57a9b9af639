//! Brings objects from an agent's own git directory into the repository.
//!
//! An object is stored after everything that it names is, so whatever is stored is whole, wherever
//! an import ends. The repository computes each id from the bytes; folders may contain only names
//! that git accepts in every file system.

use std::collections::{HashMap, HashSet};

use git2::{ObjectType, OdbLookupFlags, Oid, Repository};
use orchestrate_core::text::git_path::is_storable;

use crate::error::GitError;
use crate::program::retry;
use crate::repo::repository::{Handle, Repo};
use crate::worktree::private::objects::{ID, Object, PrivateObjects, Unreadable};

/// The most objects that are synced one by one; a sync of everything waits for other processes.
const SYNCED_ONE_BY_ONE: usize = 32;
/// How deep folders may lie in each other. Libraries and git itself follow them by recursion, and
/// git refuses to go deeper than 2,048.
pub(super) const DEEPEST: usize = 256;
/// The longest name of a file that file systems take.
const LONGEST_NAME: usize = 255;
/// The most parents of a commit.
const MOST_PARENTS: usize = 1_000;
/// The most folders of the repository that are looked at to find how deep they are.
const MOST_FOLDERS: usize = 200_000;
/// The most digits of a time.
const MOST_DIGITS: usize = 12;
/// How many objects may be open at once: folders in each other, and commits before one another.
const MOST_OPEN: usize = 50_000;

/// What is said of an object that a commit or a folder names as something else.
const OF_ANOTHER_KIND: &str = "is of another kind than what names it says";

/// Why an object was not brought.
#[derive(Debug)]
pub(super) enum NotBrought {
    /// What the agent's git holds is not usable, for this reason.
    Unusable(String),
    /// The repository could not be read or written.
    Failed(GitError),
}

impl From<GitError> for NotBrought {
    fn from(error: GitError) -> Self {
        Self::Failed(error)
    }
}

/// An import.
pub(super) struct Import<'a> {
    repo: &'a Repo,
    synced: Handle<'a>,
    /// Opened once many objects are stored.
    unsynced: Option<Repository>,
    from: PrivateObjects,
    known: HashSet<Oid>,
    /// How many folders lie in each other below and with a folder.
    depths: HashMap<Oid, usize>,
    written: usize,
}

/// An object whose parts are brought before it is stored.
struct Open {
    id: Oid,
    object: Object,
    /// What it names and has not been looked at.
    parts: Vec<Part>,
}

/// What an object names.
struct Part {
    id: Oid,
    /// `None` for the target of a tag.
    kind: Option<ObjectType>,
}

impl<'a> Import<'a> {
    pub(super) fn new(repo: &'a Repo, from: PrivateObjects) -> Result<Import<'a>, GitError> {
        Ok(Import {
            repo,
            synced: repo.handle()?,
            unsynced: None,
            from,
            known: HashSet::new(),
            depths: HashMap::new(),
            written: 0,
        })
    }

    /// Brings a commit, or what a tag stands for, with everything that it names; returns the
    /// commit. All of it is durable then, so a ref may name it.
    pub(super) fn commit(&mut self, id: Oid) -> Result<Oid, NotBrought> {
        self.bring(&Part { id, kind: None })?;
        self.sync()?;
        let object = self
            .synced
            .find_object(id, None)
            .and_then(|object| object.peel_to_commit());
        match object {
            Ok(commit) => Ok(commit.id()),
            Err(_) => Err(NotBrought::Unusable(format!("{id} is no commit"))),
        }
    }

    /// Brings the content of a file.
    pub(super) fn content(&mut self, id: Oid) -> Result<(), NotBrought> {
        self.bring(&Part {
            id,
            kind: Some(ObjectType::Blob),
        })
    }

    /// Makes everything durable that was brought.
    pub(super) fn finish(mut self) -> Result<(), GitError> {
        self.sync()
    }

    fn sync(&mut self) -> Result<(), GitError> {
        if self.written > SYNCED_ONE_BY_ONE {
            self.repo.sync_objects()?;
            self.unsynced = None;
            self.written = 0;
        }
        Ok(())
    }

    fn bring(&mut self, part: &Part) -> Result<(), NotBrought> {
        let mut open: Vec<Open> = self.open(part)?.into_iter().collect();
        while let Some(last) = open.last_mut() {
            if let Some(part) = last.parts.pop() {
                open.extend(self.open(&part)?);
                if open.len() > MOST_OPEN {
                    return Err(unusable(&part.id, "has too long a history"));
                }
                continue;
            }
            if let Some(Open { id, object, .. }) = open.pop() {
                if object.kind == ObjectType::Tree {
                    self.measure(id, &object.bytes)?;
                }
                self.store(id, &object)?;
            }
        }
        Ok(())
    }

    /// Reads an object, unless the repository has it.
    fn open(&mut self, part: &Part) -> Result<Option<Open>, NotBrought> {
        let id = part.id;
        if self.known.contains(&id) {
            return Ok(None);
        }
        let objects = self
            .synced
            .odb()
            .map_err(GitError::library("open the objects"))?;
        if objects.exists_ext(id, OdbLookupFlags::NO_REFRESH) {
            let header = objects.read_header(id);
            let (_, found) = header.map_err(GitError::library("look at an object"))?;
            if part.kind.is_some_and(|kind| kind != found) {
                return Err(unusable(&id, OF_ANOTHER_KIND));
            }
            self.known.insert(id);
            return Ok(None);
        }
        let object = match self.from.read(id) {
            Ok(object) => object,
            // The user may have packed what the repository has since it was opened.
            Err(Unreadable::Missing) if objects.exists(id) => {
                self.known.insert(id);
                return Ok(None);
            }
            Err(Unreadable::Missing) => return Err(unusable(&id, "is missing")),
            Err(Unreadable::Corrupt) => return Err(unusable(&id, "is damaged")),
            Err(Unreadable::TooLarge) => return Err(unusable(&id, "holds too much")),
        };
        if part.kind.is_some_and(|kind| kind != object.kind) {
            return Err(unusable(&id, OF_ANOTHER_KIND));
        }
        let parts = match object.kind {
            ObjectType::Commit => commit_parts(&object.bytes),
            ObjectType::Tree => tree_parts(&object.bytes),
            ObjectType::Tag => tag_parts(&object.bytes),
            _ => Some(Vec::new()),
        };
        let Some(parts) = parts else {
            return Err(unusable(&id, "is not as git writes it"));
        };
        Ok(Some(Open { id, object, parts }))
    }

    /// Finds how deep a folder is whose parts are in the repository.
    fn measure(&mut self, id: Oid, bytes: &[u8]) -> Result<(), NotBrought> {
        let mut open = vec![(id, folders(bytes))];
        while let Some((_, inner)) = open.last_mut() {
            if let Some(next) = inner.iter().find(|next| !self.depths.contains_key(*next)) {
                let next = *next;
                if open.len() >= DEEPEST || self.depths.len() >= MOST_FOLDERS {
                    return Err(unusable(&next, "is a folder in too many others"));
                }
                let objects = self
                    .synced
                    .odb()
                    .map_err(GitError::library("open the objects"))?;
                // A partial clone may lack it; what has been brought is there.
                let inner = match objects.read(next) {
                    Ok(object) => folders(object.data()),
                    Err(_) => Vec::new(),
                };
                open.push((next, inner));
                continue;
            }
            let Some((id, inner)) = open.pop() else {
                break;
            };
            let below = inner
                .iter()
                .filter_map(|inner| self.depths.get(inner))
                .max();
            let depth = 1 + below.copied().unwrap_or(0);
            if depth > DEEPEST {
                return Err(unusable(&id, "has too many folders in each other"));
            }
            self.depths.insert(id, depth);
        }
        Ok(())
    }

    fn store(&mut self, id: Oid, object: &Object) -> Result<(), NotBrought> {
        self.written += 1;
        if self.written > SYNCED_ONE_BY_ONE && self.unsynced.is_none() {
            self.unsynced = Some(self.repo.open_unsynced(self.repo.common_dir())?);
        }
        let objects = self
            .unsynced
            .as_ref()
            .unwrap_or(&self.synced)
            .odb()
            .map_err(GitError::library("open the objects"))?;
        let written = retry::while_swept(|| objects.write(object.kind, &object.bytes));
        let written = written.map_err(GitError::library("store an object of an agent's git"))?;
        if written != id {
            return Err(unusable(&id, "is damaged"));
        }
        self.known.insert(id);
        Ok(())
    }
}

fn unusable(id: &Oid, how: &str) -> NotBrought {
    NotBrought::Unusable(format!("{id} {how}"))
}

/// Returns what a commit names, or `None` if it is not as git writes it.
fn commit_parts(bytes: &[u8]) -> Option<Vec<Part>> {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let mut parts = vec![part(lines.next()?, b"tree ", ObjectType::Tree)?];
    let author = loop {
        let line = lines.next()?;
        if !line.starts_with(b"parent ") {
            break line;
        }
        parts.push(part(line, b"parent ", ObjectType::Commit)?);
    };
    let is_whole = is_signed(author, b"author ") && is_signed(lines.next()?, b"committer ");
    (is_whole && parts.len() <= MOST_PARENTS).then_some(parts)
}

/// Reports whether a line says who, with an address, and when, as git writes it.
fn is_signed(line: &[u8], key: &[u8]) -> bool {
    let Some(who) = line.strip_prefix(key) else {
        return false;
    };
    let Some(end) = who.iter().position(|byte| *byte == b'>') else {
        return false;
    };
    let (address, time) = who.split_at(end);
    let Some(time) = time.strip_prefix(b"> ") else {
        return false;
    };
    let mut words = time.split(|byte| *byte == b' ');
    let (seconds, zone) = (words.next().unwrap_or(b""), words.next().unwrap_or(b""));
    let is_time = !seconds.is_empty()
        && seconds.len() <= MOST_DIGITS
        && seconds.iter().all(u8::is_ascii_digit)
        && zone.len() == 5
        && zone.starts_with(b"+") | zone.starts_with(b"-")
        && zone.iter().skip(1).all(u8::is_ascii_digit)
        && words.next().is_none();
    is_time && address.iter().filter(|byte| **byte == b'<').count() == 1
}

/// Lists the folders in a folder.
fn folders(bytes: &[u8]) -> Vec<Oid> {
    let mut folders = Vec::new();
    for part in tree_parts(bytes).into_iter().flatten() {
        if part.kind == Some(ObjectType::Tree) {
            folders.push(part.id);
        }
    }
    folders
}

/// Returns what a tag names.
fn tag_parts(bytes: &[u8]) -> Option<Vec<Part>> {
    let first = bytes.split(|byte| *byte == b'\n').next()?;
    let named = part(first, b"object ", ObjectType::Any)?;
    Some(vec![Part {
        id: named.id,
        kind: None,
    }])
}

fn part(line: &[u8], key: &[u8], kind: ObjectType) -> Option<Part> {
    let id = std::str::from_utf8(line.strip_prefix(key)?).ok()?;
    if id.len() != ID * 2 {
        return None;
    }
    Some(Part {
        id: Oid::from_str(id).ok()?,
        kind: Some(kind),
    })
}

/// Returns what a folder contains, or `None` if something in it has a name or a mode that git does
/// not accept, or is not in git's order.
fn tree_parts(bytes: &[u8]) -> Option<Vec<Part>> {
    let (mut parts, mut rest) = (Vec::new(), bytes);
    let mut names = HashSet::new();
    let mut before: Vec<u8> = Vec::new();
    while !rest.is_empty() {
        let space = rest.iter().position(|byte| *byte == b' ')?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        let mode = rest.get(..space)?;
        let name = rest.get(space + 1..end)?;
        let id = Oid::from_bytes(rest.get(end + 1..end + 1 + ID)?).ok()?;
        rest = rest.get(end + 1 + ID..)?;
        let kind = match mode {
            b"40000" => Some(ObjectType::Tree),
            b"100644" | b"100755" | b"120000" | b"100664" => Some(ObjectType::Blob),
            // Its commit is in another repository.
            b"160000" => None,
            _ => return None,
        };
        let is_plain = !name.contains(&b'/')
            && name.len() <= LONGEST_NAME
            && is_storable(name, mode == b"120000");
        // A folder is sorted as if its name ended with a slash.
        let mut sorted = name.to_vec();
        if kind == Some(ObjectType::Tree) {
            sorted.push(b'/');
        }
        if !is_plain || !names.insert(name) || sorted <= before {
            return None;
        }
        before = sorted;
        parts.extend(kind.map(|kind| Part {
            id,
            kind: Some(kind),
        }));
    }
    Some(parts)
}
