//! Brings objects from an agent's own git directory into the repository.
//!
//! An object is stored after everything that it names is, so whatever is stored is whole, wherever
//! an import ends. The repository computes each id from the bytes; folders may contain only names
//! that git accepts in every file system.

use std::collections::HashSet;

use git2::{ObjectType, OdbLookupFlags, Oid, Repository};
use orchestrate_core::text::git_path::is_storable;

use crate::error::GitError;
use crate::files::index_entry::{EXECUTABLE, GITLINK, LINK, REGULAR};
use crate::program::retry;
use crate::repo::repository::{Handle, Repo};
use crate::worktree::private::objects::{ID, Object, PrivateObjects, Unreadable};

/// The mode of a folder in a tree.
const FOLDER: u32 = 0o040_000;
/// The mode with which old versions of git stored files that their group could write.
const OF_GROUP: u32 = 0o100_664;
/// The most objects that are synced one by one; a sync of everything waits for other processes.
const SYNCED_ONE_BY_ONE: usize = 32;
/// How many objects may be open at once: folders in each other, and commits before one another.
const MOST_OPEN: usize = 50_000;

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
            written: 0,
        })
    }

    /// Brings a commit, or what a tag stands for, with everything that it names; returns the
    /// commit.
    pub(super) fn commit(&mut self, id: Oid) -> Result<Oid, NotBrought> {
        self.bring(&Part { id, kind: None })?;
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
    pub(super) fn finish(self) -> Result<(), GitError> {
        if self.written > SYNCED_ONE_BY_ONE {
            self.repo.sync_objects()?;
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
            return Err(unusable(&id, "is of another kind than what names it says"));
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
    let is_whole = author.starts_with(b"author ") && lines.next()?.starts_with(b"committer ");
    is_whole.then_some(parts)
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
/// not accept.
fn tree_parts(bytes: &[u8]) -> Option<Vec<Part>> {
    let (mut parts, mut rest) = (Vec::new(), bytes);
    let mut names = HashSet::new();
    while !rest.is_empty() {
        let space = rest.iter().position(|byte| *byte == b' ')?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        let mode = std::str::from_utf8(rest.get(..space)?).ok()?;
        let mode = u32::from_str_radix(mode, 8).ok()?;
        let name = rest.get(space + 1..end)?;
        let id = Oid::from_bytes(rest.get(end + 1..end + 1 + ID)?).ok()?;
        rest = rest.get(end + 1 + ID..)?;
        let kind = match mode {
            FOLDER => Some(ObjectType::Tree),
            REGULAR | EXECUTABLE | LINK | OF_GROUP => Some(ObjectType::Blob),
            // Its commit is in another repository.
            GITLINK => None,
            _ => return None,
        };
        let is_plain = !name.contains(&b'/') && is_storable(name, mode == LINK);
        if !is_plain || !names.insert(name) {
            return None;
        }
        parts.extend(kind.map(|kind| Part {
            id,
            kind: Some(kind),
        }));
    }
    Some(parts)
}
