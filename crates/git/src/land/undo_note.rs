//! The note of an undo in progress: what a later landing needs to know if this process is killed.
//!
//! Undoing switches the files of a checkout before it moves the branch back. A checkout whose index
//! is as before a landing that its branch contains may also be the user's own work, taken back by
//! hand and staged. Only the note tells the two apart.

use orchestrate_files::if_there;

use crate::error::GitError;
use crate::land::move_branch::{Landing, Move};

/// The note's file name in our folder.
const NOTE: &str = "undo";
/// The name under which it is written before it is renamed.
const NEXT_NOTE: &str = "undo.new";

impl Landing<'_> {
    /// Notes that the files of a landing are about to be taken back, replacing the note of another
    /// landing.
    pub(crate) fn note_undo(&self, landing: &Move) -> Result<(), GitError> {
        let place = self.repo.own_folder().join(NOTE);
        let written =
            orchestrate_files::replace_by_way_of(NEXT_NOTE, &place, text(landing).as_bytes());
        written.map_err(GitError::io("write", &place))
    }

    /// Reports whether a landing began to be undone, and that was not completed.
    pub(crate) fn is_undo_noted(&self, landing: &Move) -> Result<bool, GitError> {
        let place = self.repo.own_folder().join(NOTE);
        let found = if_there(std::fs::read(&place)).map_err(GitError::io("read", &place))?;
        Ok(found.is_some_and(|found| found == text(landing).as_bytes()))
    }

    /// Removes the note of a landing, if there is one.
    pub(crate) fn forget_undo(&self, landing: &Move) -> Result<(), GitError> {
        if !self.is_undo_noted(landing)? {
            return Ok(());
        }
        let place = self.repo.own_folder().join(NOTE);
        std::fs::remove_file(&place).map_err(GitError::io("remove", &place))
    }
}

fn text(Move { branch, from, to }: &Move) -> String {
    format!("{branch}\n{from}\n{to}\n")
}
