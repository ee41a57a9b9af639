//! The note of a switch that is under way: what whoever comes next needs to know if we do not come back from it.
//!
//! It is one file in our folder of the repository, and only ever whole: a new one is written beside it, synced, and
//! takes its place. It says nothing of what git has done since; that is seen from the files (`switching.rs`).

use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use orchestrate_core::Oid;

use crate::error::GitError;
use crate::repo::repository::{Repo, theirs};
use crate::store::openat::path_of;
use crate::worktree::checkout::Checkout;

/// The note's file in our folder of the repository: one that came with the repository would name any folder.
const NOTE: &str = "switch";
/// Where it is written before it takes its place.
const NEXT_NOTE: &str = "switch.new";

/// What is told of a file: the user had deleted it, or had it, or it gets its old version again.
const ABSENT: &[u8] = b"absent";
const PRESENT: &[u8] = b"present";
const BACK: &[u8] = b"back";

/// A checkout that is being brought from one commit's files to another's.
pub(crate) struct Switch {
    pub(crate) place: Checkout,
    pub(crate) from: Oid,
    pub(crate) to: Oid,
    /// How the file of the index looked before.
    pub(crate) index: String,
    /// What git is to write over or to delete, sorted.
    pub(crate) old: Vec<OldFile>,
    pub(crate) stage: Stage,
}

/// A file of the old version.
pub(crate) struct OldFile {
    pub(crate) path: PathBuf,
    /// How the index knew it before.
    pub(crate) known_as: String,
    /// Whether the user had deleted it.
    pub(crate) is_absent: bool,
}

/// How far a switch has come.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Git writes the new version.
    Writing,
    /// It failed, and these files get their old version again: at least one, sorted, each of which was removed before.
    PuttingBack(Vec<PathBuf>),
}

impl Repo {
    /// Makes a note, in the place of the one before, before what it speaks of begins.
    pub(crate) fn note(&self, switch: &Switch) -> Result<(), GitError> {
        let place = self.own_folder().join(NOTE);
        let written = orchestrate_files::replace_by_way_of(NEXT_NOTE, &place, &switch.text());
        written.map_err(GitError::io("write", &place))
    }

    /// Reads the note, if there is one; what has never been one of ours says nothing.
    pub(crate) fn noted(&self) -> Result<Option<Switch>, GitError> {
        let place = self.own_folder().join(NOTE);
        match std::fs::read(&place) {
            Ok(text) => Ok(Switch::read(&text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(GitError::io("read", &place)(error)),
        }
    }

    /// Removes the note.
    pub(crate) fn forget_note(&self) -> Result<(), GitError> {
        let place = self.own_folder().join(NOTE);
        std::fs::remove_file(&place).map_err(GitError::io("remove", &place))
    }
}

impl Switch {
    /// Returns the note's text: its fields, each with a zero byte behind it, and a line break at the end. The last ones
    /// are three for each file.
    fn text(&self) -> Vec<u8> {
        let Switch { place: Checkout { path, git_dir }, from, to, index, old, stage } = self;
        let mut fields: Vec<&[u8]> = [from, to].map(|oid| oid.as_str().as_bytes()).into();
        fields.extend([path, git_dir].map(|path| path.as_os_str().as_bytes()));
        fields.push(index.as_bytes());
        for OldFile { path, known_as, is_absent } in old {
            let told = match stage {
                _ if *is_absent => ABSENT,
                Stage::PuttingBack(back) if back.binary_search(path).is_ok() => BACK,
                _ => PRESENT,
            };
            fields.extend([path.as_os_str().as_bytes(), known_as.as_bytes(), told]);
        }
        let mut text = fields.into_iter().flat_map(|field| [field, b"\0"]).collect::<Vec<_>>().concat();
        text.push(b'\n');
        text
    }

    fn read(text: &[u8]) -> Option<Switch> {
        let mut fields = text.strip_suffix(b"\0\n")?.split(|byte| *byte == 0);
        let string = |text: &[u8]| String::from_utf8(text.to_vec()).ok();
        let oid = |text: &[u8]| Some(Oid::new(string(text)?)).filter(|oid| theirs(oid).is_ok());
        let (from, to) = (oid(fields.next()?)?, oid(fields.next()?)?);
        let (path, git_dir) = (path_of(fields.next()?), path_of(fields.next()?));
        let index = string(fields.next()?)?;
        let (mut old, mut back) = (Vec::new(), Vec::new());
        while let Some(path) = fields.next().map(path_of) {
            let (known_as, told) = (string(fields.next()?)?, fields.next()?);
            if told == BACK {
                back.push(path.clone());
            }
            old.push(OldFile { path, known_as, is_absent: told == ABSENT });
        }
        let stage = if back.is_empty() { Stage::Writing } else { Stage::PuttingBack(back) };
        Some(Switch { place: Checkout { path, git_dir }, from, to, index, old, stage })
    }
}
