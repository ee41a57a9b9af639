//! Merging two commits without a checkout, by `git merge-tree`.
//!
//! Git runs in a room of its own: an empty repository that borrows the real one's objects. So the result
//! depends on the two commits alone. Attributes come from the target, not from whatever the user has checked
//! out, and the repository's configuration, which may name programs, is not there. The user's own
//! configuration and merge drivers are used.
//!
//! A result is held by a ref before it is handed out: `git gc --prune=now` takes what no ref reaches.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use orchestrate_core::Oid;

use crate::beneath::path_of;
use crate::error::GitError;
use crate::program::{Ended, Run};
use crate::repo::{Repo, theirs};
use crate::version::ATTR_SOURCE;

/// What the two sides are called in conflict markers: what was merged before, and the author's own work.
pub(crate) const LABELS: [&str; 2] = ["integration", "yours"];
/// How git merges, whatever the user has configured; the limit of renames is git's own default.
const SETTINGS: [(&str, &str); 6] = [
    ("merge.conflictStyle", "diff3"),
    ("merge.renames", "true"),
    ("merge.renameLimit", "7000"),
    ("merge.directoryRenames", "conflict"),
    ("core.commitGraph", "true"),
    ("core.fsync", "committed,reference"),
];

/// What came of merging two commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merge {
    /// Both sides went together.
    Clean {
        /// The merged tree.
        tree: Oid,
    },
    /// They did not.
    Conflict {
        /// The tree with conflict markers in it.
        tree: Oid,
        /// The files in conflict, sorted by path.
        files: Vec<ConflictFile>,
        /// What git says about it, one line each.
        messages: Vec<String>,
    },
}

/// A file that two sides changed in ways that do not go together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConflictFile {
    /// The file.
    pub path: PathBuf,
    /// Git's name of the conflict, for example `contents` or `modify/delete`.
    pub kind: String,
}

/// An empty repository that borrows the real one's objects.
struct Room {
    folder: tempfile::TempDir,
}

impl Repo {
    /// Merges `candidate` into `target` without a checkout, and holds the merged tree by the ref `anchor`.
    ///
    /// A repeated merge of the same commits moves `anchor` to the same tree.
    ///
    /// # Errors
    /// If git fails. A conflict is no error.
    pub fn merge(&self, target: &Oid, candidate: &Oid, anchor: &str) -> Result<Merge, GitError> {
        let merge = self.merge_unanchored(target, candidate)?;
        let (Merge::Clean { tree } | Merge::Conflict { tree, .. }) = &merge;
        let before = self.read_ref(anchor)?;
        self.advance(anchor, before.as_ref(), tree)?;
        Ok(merge)
    }

    fn merge_unanchored(&self, target: &Oid, candidate: &Oid) -> Result<Merge, GitError> {
        let room = Room::new(&[target, candidate])?;
        let args = ["merge-tree", "--write-tree", "-z", "--messages", "--allow-unrelated-histories"];
        let mut run = self.in_room(&room, args.iter().copied().chain(LABELS));
        if self.shared.program.version() >= ATTR_SOURCE {
            run = run.env("GIT_ATTR_SOURCE", target.as_str());
        } else {
            self.shared.program.require(&self.in_room(&room, ["read-tree", target.as_str()]))?;
        }
        let ended = self.shared.program.run(&run)?;
        match ended.code {
            0 => Ok(Merge::Clean { tree: read_tree(&ended)? }),
            1 if !ended.stdout.is_empty() => read_conflict(&ended),
            _ => Err(ended.failure("merge-tree")),
        }
    }

    fn in_room<'a>(&self, room: &'a Room, args: impl IntoIterator<Item = &'a str>) -> Run<'a> {
        let shallow = self.common_dir().join("shallow");
        let settings = SETTINGS.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let run = Run::new(room.folder.path(), room.folder.path(), args).settings(settings);
        // The working tree is a folder that is not there: nothing is to be read from it.
        let run = run.env("GIT_OBJECT_DIRECTORY", self.common_dir().join("objects"));
        if shallow.exists() { run.env("GIT_SHALLOW_FILE", shallow) } else { run }
    }
}

impl Room {
    fn new(sides: &[&Oid; 2]) -> Result<Room, GitError> {
        let failed = |path: &Path| GitError::io("make a place to merge in", path.to_owned());
        let folder = tempfile::Builder::new().prefix("orchestrate-merge-").tempdir();
        let folder = folder.map_err(failed(&std::env::temp_dir()))?;
        let heads = folder.path().join("refs/heads");
        std::fs::create_dir_all(&heads).map_err(failed(&heads))?;
        std::fs::create_dir(folder.path().join("objects")).map_err(failed(folder.path()))?;
        let write = |path: PathBuf, text: String| std::fs::write(&path, text).map_err(failed(&path));
        write(folder.path().join("HEAD"), "ref: refs/heads/integration\n".to_owned())?;
        write(folder.path().join("config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n".to_owned())?;
        for (label, oid) in LABELS.iter().zip(sides) {
            theirs(oid)?;
            write(heads.join(label), format!("{oid}\n"))?;
        }
        Ok(Room { folder })
    }
}

fn read_tree(ended: &Ended) -> Result<Oid, GitError> {
    let first = ended.stdout.split(|byte| *byte == 0).next().unwrap_or_default();
    let text = String::from_utf8_lossy(first).trim().to_owned();
    let oid = Oid::new(text);
    theirs(&oid)?;
    Ok(oid)
}

/// Reads `tree NUL (mode oid stage TAB path NUL)* NUL (count NUL path NUL … type NUL message NUL)*`.
fn read_conflict(ended: &Ended) -> Result<Merge, GitError> {
    let tree = read_tree(ended)?;
    let broken = || GitError::output("merge-tree", "its list of conflicts is cut off");
    let mut fields = ended.stdout.split(|byte| *byte == 0).skip(1);
    let mut kinds: BTreeMap<Vec<u8>, String> = BTreeMap::new();
    for field in fields.by_ref() {
        if field.is_empty() {
            break;
        }
        let tab = field.iter().position(|byte| *byte == b'\t').ok_or_else(broken)?;
        kinds.insert(field.get(tab + 1..).unwrap_or_default().to_vec(), "conflict".to_owned());
    }
    let mut messages = Vec::new();
    while let Some(count) = fields.next().filter(|field| !field.is_empty()) {
        let count: usize = std::str::from_utf8(count).ok().and_then(|text| text.parse().ok()).ok_or_else(broken)?;
        let paths: Vec<&[u8]> = fields.by_ref().take(count).collect();
        let kind = String::from_utf8_lossy(fields.next().ok_or_else(broken)?).into_owned();
        let message = String::from_utf8_lossy(fields.next().ok_or_else(broken)?).trim_end().to_owned();
        let Some(kind) = kind.strip_prefix("CONFLICT (").and_then(|rest| rest.strip_suffix(')')) else {
            continue;
        };
        messages.push(message);
        for path in paths {
            if let Some(known) = kinds.get_mut(path) {
                kind.clone_into(known);
            }
        }
    }
    let files = kinds.into_iter().map(|(path, kind)| ConflictFile { path: path_of(&path), kind }).collect();
    Ok(Merge::Conflict { tree, files, messages })
}
