//! What a plan says besides its tasks: its introduction, and the prose of each section.

use serde::{Deserialize, Serialize};

/// The prose below one heading, or before the first one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The heading without its marks; `None` before the first heading.
    pub heading: Option<String>,
    /// The heading's level from 1; zero before the first heading.
    pub level: u8,
    /// The heading's line from 1.
    pub line: usize,
    /// The text as written, without tasks and comments; empty if there is none.
    pub text: String,
}

impl Note {
    /// Appends a block, separated by an empty line.
    pub(crate) fn push(&mut self, block: &str) {
        if block.is_empty() {
            return;
        }
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.push_str(block);
    }
}
