//! In which ways a document of no known format can be read: in one, or in several, which is asked
//! about.

use std::collections::HashSet;

use crate::fields::names::{KnownNames, ReadAs};
use crate::formats::document::{Document, Heading};
use crate::formats::generic::{self, FirstRead};
use crate::formats::numbered_lists;
use crate::formats::numbers::named;
use crate::formats::task_headings::{self, TaskHeadings};
use crate::formats::walk;
use crate::tasks::draft::Draft;
use crate::tasks::section;

/// How a document of no known format is to be read.
pub(crate) enum Verdict {
    /// Only one way fits, and this is what it finds.
    Certain(Box<FirstRead>),
    /// Several do, for this reason.
    Ambiguous(&'static str, Vec<ReadAs>),
}

/// Returns the ways in which a document can be read at all.
pub(crate) fn ways(document: &Document<'_, '_>, known: &KnownNames) -> Vec<ReadAs> {
    Seen::new(document, known).ways()
}

/// Finds out in which ways a document can be read.
pub(crate) fn judge(document: &Document<'_, '_>, known: &KnownNames) -> Verdict {
    let mut seen = Seen::new(document, known);
    if let Some(why) = seen.doubt(document) {
        seen.count_items(document, known);
        return Verdict::Ambiguous(why, seen.ways());
    }
    let way = match seen {
        Seen { headings: 1.., .. } => ReadAs::Headings,
        _ if !document.boxes.is_empty() => ReadAs::Boxes,
        Seen { items: 1.., .. } => ReadAs::Items,
        _ => ReadAs::Whole,
    };
    let mut reads = seen.reads.into_iter();
    let first = reads.find(|read| read.way == way);
    let first = first.unwrap_or_else(|| FirstRead::new(document, way, known));
    Verdict::Certain(Box::new(first))
}

/// What a document has that may be tasks.
#[derive(Default)]
struct Seen {
    /// What was read to find that out.
    reads: Vec<FirstRead>,
    /// Headings of tasks.
    headings: usize,
    /// Why some of them may be none, or why those of a series may be the tasks rather than boxes.
    heading_doubt: Option<&'static str>,
    /// Boxes that are tasks if none of these headings is one.
    boxes: usize,
    /// Boxes below headings of checks.
    boxes_in_checks: usize,
    has_phase_of_checks: bool,
    /// Lines that are nearly boxes.
    nearly_boxes: usize,
    /// Boxes outside the headings of tasks and of checks.
    boxes_outside: usize,
    /// Rows of tables of tasks.
    tables: usize,
    /// Items of lists that are tasks.
    items: usize,
    /// Numbered headings, and phases without tasks.
    sections: usize,
    /// Whether numbers of tasks begin anew.
    restarts: bool,
}

impl Seen {
    fn new(document: &Document<'_, '_>, known: &KnownNames) -> Self {
        let mut seen = Self::default();
        let headings = TaskHeadings::find(document);
        seen.heading_doubt = headings.doubt;
        if !headings.are_sections {
            let read = FirstRead::with_headings(document, ReadAs::Headings, headings, known);
            seen.headings = read.found.drafts.len();
            seen.boxes_outside = read.found.boxes_outside;
            seen.restarts = restarts(&read.found.drafts);
            seen.reads.push(read);
        } else {
            seen.sections = headings.tasks.len();
        }
        if !document.boxes.is_empty() {
            let read = FirstRead::new(document, ReadAs::Boxes, known);
            seen.boxes = read.found.drafts.len();
            seen.boxes_in_checks = read.found.boxes_in_checks;
            seen.nearly_boxes = read.nearly_boxes();
            seen.reads.push(read);
            seen.has_phase_of_checks = generic::has_phase_of_checks(document);
        }
        if document.tables().next().is_some() {
            let read = FirstRead::new(document, ReadAs::Table, known);
            seen.tables = read.found.drafts.len();
        }
        if seen.headings == 0 && seen.boxes == 0 {
            seen.count_items(document, known);
        }
        if seen.ways() == [ReadAs::Whole] {
            seen.sections = task_headings::chosen(document).len();
        }
        seen
    }

    /// Counts the items of lists that are tasks where no box is one.
    fn count_items(&mut self, document: &Document<'_, '_>, known: &KnownNames) {
        if self.items == 0 && self.boxes == 0 {
            let read = FirstRead::new(document, ReadAs::Items, known);
            self.items = read.found.drafts.len();
            self.restarts |= restarts(&read.found.drafts);
            let has_items = |it: &Heading| {
                let place = document.section(it);
                !read.found.drafts_in(&place).is_empty()
            };
            if !task_headings::left_out(document, has_items).is_empty() {
                self.sections = task_headings::chosen(document).len();
            }
            self.reads.push(read);
        }
    }

    /// Returns the ways that find something.
    fn ways(&self) -> Vec<ReadAs> {
        let found = [
            (ReadAs::Headings, self.headings + self.sections),
            (ReadAs::Boxes, self.boxes + self.boxes_in_checks),
            (ReadAs::Table, self.tables),
            (ReadAs::Items, self.items),
            (ReadAs::Whole, 1),
        ];
        let ways = found.into_iter().filter(|(_, count)| *count > 0);
        ways.map(|(way, _)| way).collect()
    }

    /// Returns why several ways fit, if they do.
    fn doubt(&self, document: &Document<'_, '_>) -> Option<&'static str> {
        if document.unclosed.is_some_and(|at| hides_work(document, at)) {
            return Some("a fence that never closes hides tasks");
        }
        let has_boxes = !document.boxes.is_empty();
        if self.headings > 0 {
            self.doubt_of_headings(document)
        } else if has_boxes {
            self.doubt_of_boxes(document)
        } else if self.sections > 0 {
            Some("headings in a series may be tasks or chapters")
        } else if self.tables > 0 && (self.items > 0 || tables_are_work(document)) {
            Some("the rows of a table may be tasks or facts")
        } else if self.restarts {
            Some("numbers begin anew outside of phases")
        } else if self.items > 0 && numbered_lists::items_alike(document).is_some() {
            Some("lists with numbers or ids may be tasks")
        } else if self.items > 0 && !numbered_lists::lines_in_text(document).is_empty() {
            Some("numbered lines below a text may go on with the list above it")
        } else {
            None
        }
    }

    fn doubt_of_headings(&self, document: &Document<'_, '_>) -> Option<&'static str> {
        if self.boxes_outside > 0 {
            Some("headings and boxes outside of them look like tasks")
        } else if self.tables > 0 && !generic::tables_retell(document) {
            Some("headings and rows of a table look like tasks")
        } else if self.heading_doubt.is_some() {
            self.heading_doubt
        } else if self.restarts {
            Some("numbers begin anew outside of phases")
        } else {
            None
        }
    }

    fn doubt_of_boxes(&self, document: &Document<'_, '_>) -> Option<&'static str> {
        if self.boxes == 0 && self.boxes_in_checks > 0 {
            Some("all boxes stand below headings of checks")
        } else if self.has_phase_of_checks {
            Some("all boxes of a phase stand below headings of checks")
        } else if is_gone_through_again(document) {
            Some("its title or the text below it speaks of checks")
        } else if self.heading_doubt.is_some() {
            self.heading_doubt
        } else if self.nearly_boxes > 1 && self.nearly_boxes * 2 >= document.boxes.len() {
            Some("many lines are nearly boxes")
        } else if self.sections > 0 {
            Some("boxes and headings in a series look like tasks")
        } else if self.tables > 0 && !generic::tables_retell(document) {
            Some("boxes and rows of a table look like tasks")
        } else {
            None
        }
    }
}

/// Reports whether a document is a list of checks that are made again and again: by its title
/// (`Pre-commit checklist`), or by the text below that (`Before each commit: …`).
fn is_gone_through_again(document: &Document<'_, '_>) -> bool {
    let title = document.headings.first().filter(|it| it.level == 1);
    title.is_some_and(|title| {
        let end = document
            .own(title)
            .last()
            .map_or(title.range.end, |last| last.range().end);
        let first_box = document.boxes.first().map_or(end, |own| own.at);
        let text = title.range.start..end.min(first_box).max(title.range.end);
        section::names_checks(&title.title) || section::recurs(document.source.slice(text))
    })
}

/// Reports whether what a fence that never closes hides looks like work.
fn hides_work(document: &Document<'_, '_>, at: usize) -> bool {
    let source = document.source;
    let mut hidden = source.lines(at..source.text.len());
    hidden.any(|(_, line)| walk::looks_like_work(line))
}

/// Reports whether a table says how far its tasks are, or stands below a heading that speaks of
/// work.
fn tables_are_work(document: &Document<'_, '_>) -> bool {
    document.tables().any(|(heading, table)| {
        table.is_tracked || document.is_in(heading, |it| section::lists_work(&it.title))
    })
}

/// Reports whether open tasks have the same number, in one section or in several. Each phase may
/// have a numbering of its own.
fn restarts(drafts: &[Draft]) -> bool {
    let mut seen = HashSet::with_capacity(drafts.len());
    drafts.iter().filter(|it| it.status.runs()).any(|draft| {
        let Some(number) = &draft.number else {
            return false;
        };
        let id = draft.id.as_ref().map(|id| id.text.as_str());
        let id = id.filter(|id| id.ends_with(number.as_str()));
        let section = draft.section.as_deref();
        let phase = draft.phase_label.as_deref().or(section.and_then(named));
        !seen.insert((phase, id.unwrap_or(number)))
    })
}
