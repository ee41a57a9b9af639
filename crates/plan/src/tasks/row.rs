//! How a row of a table becomes a task.

use std::ops::Range;

use crate::fields::attributes::{Field, Located};
use crate::fields::key::{Key, key_of};
use crate::fields::names;
use crate::fields::value;
use crate::lines::source::Inline;
use crate::lines::text;
use crate::mark::Mark;
use crate::tasks::checkbox::{BoxMark, read_box};
use crate::tasks::done;
use crate::tasks::draft::{Draft, Location, Reader, TaskLine, UNKNOWN};
use crate::tasks::status;
use crate::tasks::strike;
use crate::tasks::table::Row;
use orchestrate_core::task::TaskStatus;

/// The maximum number of characters of a column's heading, which each row of the table repeats.
const MAX_COLUMN_CHARS: usize = 200;

/// The marks around the heading of a table's column.
const MARKS: [char; 4] = ['*', '_', '`', ' '];

impl Reader<'_, '_> {
    /// Returns a row of a table as a task.
    pub(crate) fn row(&mut self, row: &Row, place: &Location) -> Draft {
        let source = self.source;
        let said = source.slice(row.status.clone());
        // A box may be shown as code.
        let bare = said.trim_start_matches('`');
        let in_cell = read_box(bare.trim_end_matches('`'));
        let in_cell = in_cell.map(|mark| self.legend.applied(bare, mark));
        let status = in_cell
            .map(|mark| mark.status)
            .or_else(|| done::status_of_cell(said))
            .filter(|status| !(row.is_beside_marks && is_done_by_colour(said, *status)));
        let inline = Inline::new(source, row.title.clone());
        let own = read_box(&inline.text).filter(|own| own.rest < inline.text.len());
        // Of an unknown status it is not known whether it is to be run.
        let without_box = BoxMark::without_box(TaskStatus::Blocked);
        let mut mark = own.unwrap_or(without_box);
        if let Some(status) = status.filter(|_| !(own.is_some() && said.is_empty())) {
            mark.status = status;
        }
        let line = TaskLine {
            inline: &inline,
            mark,
            at: row.at,
            is_group: false,
            next: None,
        };
        let mut draft = self.draft_line(&line, place);
        if let Some(id) = &row.id {
            let text = text::unwrap_marks(source.slice(id.clone()).trim_matches('~'))
                .trim_start_matches('#');
            draft.set_id(Located::new(text, id.start));
        }
        let mut others = row.others.as_slice();
        if let Some(((_, cell), rest)) = others.split_first().filter(|_| draft.title.is_empty()) {
            // The column of the task has its id alone.
            draft.title = source.slice(cell.clone()).to_owned();
            others = rest;
        }
        for (column, cell) in others {
            self.cell(source.slice(column.clone()), cell.clone(), &mut draft);
        }
        draft.title = draft.title.replace("\\|", "|");
        let is_open = draft.status.runs() || status.is_none();
        if let Some(struck) = strike::status(&draft.title).filter(|_| is_open) {
            draft.status = struck;
        }
        if status.is_none() {
            draft.details.push(format!("Status: {said}"));
            let is_held = draft.status == TaskStatus::Blocked;
            draft.held = is_held.then_some(UNKNOWN.into());
            self.note_unknown_status(&draft, said, row.status.start);
        }
        // A row that is too short has no such cell, and one with a box needs none.
        if row.status.start > row.at && !(own.is_some() && said.is_empty()) {
            let start = row.status.start + said.len() - bare.len();
            let at = in_cell.and_then(|mark| mark.at);
            let of_box = at.map(|at| Mark::of_box(start + at));
            let of_cell = of_box.or_else(|| done::mark_of_cell(said, row.status.start));
            draft.marks.extend(of_cell);
        }
        draft
    }

    /// Parses a cell of a table's row: an attribute if its column is named like one, else a detail.
    fn cell(&mut self, column: &str, cell: Range<usize>, draft: &mut Draft) {
        let column = text::first_chars(column.trim_matches(MARKS), MAX_COLUMN_CHARS);
        let value = self.source.slice(cell.clone());
        let is_none = matches!(value, "-" | "–" | "—" | "n/a" | "N/A");
        let key = key_of(column);
        let is_valid = match key {
            Some(Key::Priority) => value::priority(value).is_some(),
            Some(Key::Agent) => names::is_meant(value.trim_start_matches('@'), self.known),
            Some(key) => is_in_tables(key),
            None => false,
        };
        let offset = cell.start;
        match key.filter(|_| is_valid) {
            _ if is_none => {}
            Some(key) => {
                let field = Field::new(key, value, offset);
                draft.attributes.set(&field, self.findings);
            }
            None => {
                draft.details.push(format!("{column}: {value}"));
            }
        }
    }
}

/// Reports whether a cell says only by its colour that its task is done.
fn is_done_by_colour(said: &str, status: TaskStatus) -> bool {
    status == TaskStatus::Done && status::of_colour(said).is_some()
}

/// Reports whether a column may set an attribute. Commands in tables are mostly prose.
fn is_in_tables(key: Key) -> bool {
    matches!(key, Key::Depends | Key::Files | Key::Priority | Key::Agent)
}
