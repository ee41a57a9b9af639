//! What an agent's git and our refs had when they were compared last.

use std::collections::BTreeMap;

use git2::Oid;
use orchestrate_files::if_there;

use crate::error::GitError;
use crate::worktree::private::place::PrivatePlace;

/// A name for a commit, as both sides have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name {
    /// What it names in the agent's git: a commit or a tag.
    pub(super) theirs: Oid,
    /// The commit.
    pub(super) ours: Oid,
}

/// What both sides had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Synced {
    /// The tip of the task's branch.
    pub(super) tip: Option<Oid>,
    /// The tree that the next commit takes.
    pub(super) selected: Option<Oid>,
    /// The metadata of the index, with which that was found.
    pub(super) index: String,
    /// The names for commits.
    pub(super) names: BTreeMap<String, Name>,
    /// The changes that are set aside, oldest first.
    pub(super) stashes: Vec<Oid>,
}

impl Synced {
    /// Reads what was noted of a git directory; nothing was if it is new.
    pub(super) fn read(place: &PrivatePlace) -> Result<Synced, GitError> {
        let path = place.synced();
        let text = if_there(std::fs::read_to_string(&path)).map_err(GitError::io("read", &path))?;
        let mut synced = Synced::default();
        for line in text.iter().flat_map(|text| text.lines()) {
            let (key, rest) = line.split_once(' ').unwrap_or((line, ""));
            match key {
                "tip" => synced.tip = Oid::from_str(rest).ok(),
                "selected" => synced.selected = Oid::from_str(rest).ok(),
                "index" => synced.index = rest.to_owned(),
                "stash" => synced.stashes.extend(Oid::from_str(rest)),
                _ => synced.names.extend(name(key, rest)),
            }
        }
        Ok(synced)
    }

    pub(super) fn write(&self, place: &PrivatePlace) -> Result<(), GitError> {
        let mut text = format!("index {}\n", self.index);
        text.extend(self.tip.map(|tip| format!("tip {tip}\n")));
        text.extend(self.selected.map(|tree| format!("selected {tree}\n")));
        text.extend(self.stashes.iter().map(|id| format!("stash {id}\n")));
        for (name, Name { theirs, ours }) in &self.names {
            text.push_str(&format!("{theirs} {ours} {name}\n"));
        }
        let path = place.synced();
        orchestrate_files::replace(&path, text.as_bytes()).map_err(GitError::io("write", path))
    }
}

fn name(theirs: &str, rest: &str) -> Option<(String, Name)> {
    let (ours, name) = rest.split_once(' ')?;
    let (theirs, ours) = (Oid::from_str(theirs).ok()?, Oid::from_str(ours).ok()?);
    Some((name.to_owned(), Name { theirs, ours }))
}
