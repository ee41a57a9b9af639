//! What is read of a document, before ids and dependencies are resolved.

use std::ops::Range;

use crate::formats::lines::{Lines, Role};
use crate::lines::source::Source;
use crate::tasks::draft::{Draft, Group};
use crate::tasks::note::Note;

/// The tasks, groups and title of a document.
#[derive(Default)]
pub(crate) struct Collected {
    pub(crate) drafts: Vec<Draft>,
    pub(crate) groups: Vec<Group>,
    /// The phases whose headings have boxes, as groups without ids.
    pub(crate) phases: Vec<Group>,
    /// The first heading of level one.
    pub(crate) title: Option<String>,
    /// The prose of each section, beginning with the one before the first heading.
    pub(crate) notes: Vec<Note>,
    /// Boxes that are not run: those below headings of checks, and those below no such heading or
    /// another one that holds no work.
    pub(crate) boxes_in_checks: usize,
    pub(crate) boxes_outside: usize,
    /// What each line is.
    pub(crate) lines: Lines,
    /// Whether the status in the front matter is not that of all the work.
    pub(crate) owns_front_matter: bool,
}

impl Collected {
    /// Adds a task that is in no block, from where it begins to the end of its lines.
    pub(crate) fn add(&mut self, source: &Source<'_>, draft: Draft, end: usize) {
        let at = self.drafts.len();
        self.lines.begin(source, draft.at..end, at);
        self.drafts.push(draft);
    }

    /// Returns the tasks that begin in a place, which are in order.
    pub(crate) fn drafts_in(&self, place: &Range<usize>) -> Range<usize> {
        let first = self.drafts.partition_point(|draft| draft.at < place.start);
        let last = self.drafts.partition_point(|draft| draft.at < place.end);
        first..last
    }

    /// Says that these lines are a part of the last task.
    pub(crate) fn add_part(&mut self, source: &Source<'_>, lines: Range<usize>) {
        let last = self.drafts.len().saturating_sub(1);
        self.lines.set(source, lines, Role::Part(last));
    }
}
