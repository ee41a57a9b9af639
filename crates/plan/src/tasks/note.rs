//! What a plan says besides its tasks: its introduction, and the prose of each section.

use serde::{Deserialize, Serialize};

use crate::lines::source::Source;

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

/// Returns the lines below a heading, and the heading itself, up to the next heading of its level
/// or above; `None` if the plan has no such heading. Case and surrounding blanks are ignored.
pub(crate) fn section<'t>(text: &'t str, notes: &[Note], heading: &str) -> Option<&'t str> {
    let is_meant = |note: &Note| {
        note.heading
            .as_ref()
            .is_some_and(|found| found.to_lowercase() == heading.trim().to_lowercase())
    };
    let at = notes.iter().position(is_meant)?;
    let own = notes.get(at)?;
    let next = notes
        .iter()
        .skip(at + 1)
        .find(|note| note.level <= own.level);
    let source = Source::new(text);
    let start = source.line_start(own.line);
    let end = next.map_or(text.len(), |next| source.line_start(next.line));
    text.get(start..end).map(str::trim_end)
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
