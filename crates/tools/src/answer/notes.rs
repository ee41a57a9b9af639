//! An agent's own notes, which survive a resume.
//!
//! The notes belong to one agent and are part of its [`crate::CallScope`], not of a tool. The
//! recorded end of a call that changed them contains all of them, from which a resumed run restores
//! them with [`Notes::restore`].

use std::sync::Arc;

use orchestrate_core::collections::Mutex;
use serde::{Deserialize, Serialize};

/// Maximum size of all notes of an agent in bytes: they are part of every request.
const MAX_BYTES: usize = 6_000;

/// What a note is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NoteKind {
    /// A thought.
    Thought,
    /// Something that the agent has seen.
    Observation,
}

/// A note of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// What it is.
    pub kind: NoteKind,
    /// Its text.
    pub text: String,
}

/// One agent's notes, oldest first. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Notes(Arc<Mutex<Vec<Note>>>);

impl Notes {
    /// Restores the notes from the recorded ends of an agent's calls, oldest first.
    pub fn restore<'a>(recorded: impl IntoIterator<Item = &'a [Note]>) -> Notes {
        let newest = recorded.into_iter().last().unwrap_or_default();
        Notes(Arc::new(Mutex::new(newest.to_vec())))
    }

    /// Returns all notes.
    pub fn all(&self) -> Vec<Note> {
        self.0.lock().clone()
    }

    /// Adds a note and returns all; fails, with the number of bytes that are left, if they would
    /// become too large.
    pub(crate) fn add(&self, note: Note) -> Result<Vec<Note>, usize> {
        let mut notes = self.0.lock();
        let used: usize = notes.iter().map(|note| note.text.len()).sum();
        let left = MAX_BYTES.saturating_sub(used);
        if note.text.len() > left {
            return Err(left);
        }
        notes.push(note);
        Ok(notes.clone())
    }

    /// Removes all notes.
    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }
}
