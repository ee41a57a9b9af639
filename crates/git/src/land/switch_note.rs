//! The note of a switch in progress: what a later process needs to know if this one is killed.
//!
//! The note is one file in our folder for the repository, and it is replaced atomically: a new one
//! is written beside it, synced and renamed. It does not record what git has done since; that is
//! determined from the files (`switching.rs`).

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use orchestrate_core::Oid;
use orchestrate_files::if_there;

use crate::error::GitError;
use crate::files::openat::path_of;
use crate::land::move_branch::Landing;
use crate::repo::repository::theirs;
use crate::worktree::checkout::Checkout;

/// The note's file name in our folder. The note is not kept in the repository, because one that
/// came with a repository could name any folder.
const NOTE: &str = "switch";
/// The name under which it is written before it is renamed.
const NEXT_NOTE: &str = "switch.new";

/// How a file is marked: the user had deleted it, it was present, or its old version is being
/// restored.
const ABSENT: &[u8] = b"absent";
const PRESENT: &[u8] = b"present";
const BACK: &[u8] = b"back";

/// A checkout that is being switched from one commit's files to another's.
pub(crate) struct Switch {
    pub(crate) place: Checkout,
    pub(crate) from: Oid,
    pub(crate) to: Oid,
    /// The identity of the index file before the switch: see `look_of_index` in `switching.rs`.
    pub(crate) index: String,
    /// The files that git overwrites or deletes, sorted by path.
    pub(crate) old: Vec<OldFile>,
    pub(crate) stage: Stage,
}

/// A file of the old version.
pub(crate) struct OldFile {
    pub(crate) path: PathBuf,
    /// The index entry before the switch: see `known_as` in `switching.rs`.
    pub(crate) known_as: String,
    /// Whether the user had deleted it.
    pub(crate) is_absent: bool,
}

/// How far a switch has got.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Git writes the new version.
    Writing,
    /// Git failed, and the old versions of these files are being restored: at least one file,
    /// sorted; each was removed before.
    PuttingBack(Vec<PathBuf>),
}

impl Landing<'_> {
    /// Writes the note, replacing the previous one. It must be written before the step that it
    /// describes.
    pub(crate) fn note(&self, switch: &Switch) -> Result<(), GitError> {
        let place = self.repo.own_folder().join(NOTE);
        let written = orchestrate_files::replace_by_way_of(NEXT_NOTE, &place, &switch.text());
        written.map_err(GitError::io("write", &place))
    }

    /// Reads the note, or returns `None` if there is none or the file is not a note of ours.
    pub(crate) fn noted(&self) -> Result<Option<Switch>, GitError> {
        let place = self.repo.own_folder().join(NOTE);
        let text = if_there(std::fs::read(&place)).map_err(GitError::io("read", &place))?;
        Ok(text.and_then(|text| Switch::read(&text)))
    }

    pub(crate) fn forget_note(&self) -> Result<(), GitError> {
        let place = self.repo.own_folder().join(NOTE);
        std::fs::remove_file(&place).map_err(GitError::io("remove", &place))
    }
}

impl Switch {
    /// Returns the note's text: its fields, each with a zero byte behind it, and a line break at
    /// the end. The last ones are three for each file.
    fn text(&self) -> Vec<u8> {
        let Switch {
            place: Checkout { path, git_dir },
            from,
            to,
            index,
            old,
            stage,
        } = self;
        let mut fields: Vec<&[u8]> = [from, to].map(|oid| oid.as_str().as_bytes()).into();
        fields.extend([path, git_dir].map(|path| path.as_os_str().as_bytes()));
        fields.push(index.as_bytes());
        for OldFile {
            path,
            known_as,
            is_absent,
        } in old
        {
            let told = match stage {
                _ if *is_absent => ABSENT,
                Stage::PuttingBack(back) if back.binary_search(path).is_ok() => BACK,
                _ => PRESENT,
            };
            fields.extend([path.as_os_str().as_bytes(), known_as.as_bytes(), told]);
        }
        let mut text = fields
            .into_iter()
            .flat_map(|field| [field, b"\0"])
            .collect::<Vec<_>>()
            .concat();
        text.push(b'\n');
        text
    }

    fn read(text: &[u8]) -> Option<Switch> {
        let mut fields = text.strip_suffix(b"\0\n")?.split(|byte| *byte == 0);
        let (from, to) = (oid(fields.next()?)?, oid(fields.next()?)?);
        let (path, git_dir) = (path_of(fields.next()?), path_of(fields.next()?));
        let index = string(fields.next()?)?;
        let (mut old, mut back) = (Vec::new(), Vec::new());
        while let Some(path) = fields.next().map(path_of) {
            let (known_as, told) = (string(fields.next()?)?, fields.next()?);
            if told == BACK {
                back.push(path.clone());
            }
            old.push(OldFile {
                path,
                known_as,
                is_absent: told == ABSENT,
            });
        }
        let stage = if back.is_empty() {
            Stage::Writing
        } else {
            Stage::PuttingBack(back)
        };
        Some(Switch {
            place: Checkout { path, git_dir },
            from,
            to,
            index,
            old,
            stage,
        })
    }
}

fn oid(text: &[u8]) -> Option<Oid> {
    Some(Oid::new(string(text)?)).filter(|oid| theirs(oid).is_ok())
}

fn string(text: &[u8]) -> Option<String> {
    String::from_utf8(text.to_vec()).ok()
}
