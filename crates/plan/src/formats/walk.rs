//! Reads a document as a format says: finds its tasks, and accounts for every line.
//!
//! The format decides of each heading, item and table what it is ([`Decision`]); how the sections,
//! lists and lines of a task are read is the same for all formats. This is the walk over the
//! blocks; [`crate::formats::items`] reads lists, and [`crate::formats::drafting`] the tasks
//! themselves.

use std::ops::Range;

use crate::fields::names::KnownNames;
use crate::finding::{FindingCode, Findings, Pending};
use crate::formats::collected::Collected;
use crate::formats::document::{Document, Heading};
use crate::formats::format::{Decision, Node, Open, Scope};
use crate::formats::lines::{Lines, Role};
use crate::formats::place::LABEL_LEVEL;
use crate::lines::outline::{Block, Item};
use crate::lines::source::{Inline, Source};
use crate::lines::text;
use crate::mark::Mark;
use crate::tasks::checkbox::looks_like_box;
use crate::tasks::draft::{Group, Location, Reader};
use crate::tasks::handed_down;
use crate::tasks::heading;
use crate::tasks::legend;
use crate::tasks::note::Note;
use crate::tasks::phase;
use crate::tasks::section::{self, Kind, MAX_SHOWN};
use crate::tasks::status;
use crate::tasks::table;
use orchestrate_core::task::TaskStatus;
use orchestrate_core::text::parts::Parts;

/// The maximum number of tasks in a plan: each has a branch, and more branches are not reviewed.
pub(crate) const MAX_TASKS: usize = 10_000;

/// Decides what the parts of a document are.
pub(crate) trait Decide {
    /// Says what a part of the document is.
    fn decide(&self, node: &Node<'_>, scope: &Scope<'_>) -> Decision;

    /// Reports whether `[-]` means in progress.
    fn dash_is_progress(&self) -> bool {
        false
    }
}

/// A document with the tasks that one way to read it finds.
pub(crate) struct Walk<'w, 's, 'a> {
    pub(super) document: &'w Document<'s, 'a>,
    pub(super) reader: Reader<'w, 'a>,
    pub(super) decide: &'w dyn Decide,
    pub(super) found: Collected,
    /// The sections that the current place is in.
    pub(super) open: Vec<Open>,
    pub(super) place: Location,
    /// The items of the current list that are told.
    pub(super) told: Vec<Range<usize>>,
}

/// Reads a document in one way.
pub(crate) fn read(
    document: &Document<'_, '_>,
    decide: &dyn Decide,
    known: &KnownNames,
    findings: &mut Findings,
) -> Collected {
    let source = document.source;
    let notes = vec![Note {
        line: 1,
        ..Note::default()
    }];
    let mut walk = Walk {
        document,
        reader: Reader {
            source,
            legend: &document.legend,
            known,
            findings,
        },
        decide,
        found: Collected {
            notes,
            lines: Lines::new(source),
            ..Collected::default()
        },
        open: Vec::new(),
        place: Location::default(),
        told: Vec::new(),
    };
    let bom = source.text.len() - source.text.trim_start_matches('\u{feff}').len();
    if document.start > bom {
        walk.mark(0..document.start, Role::Settings);
    }
    walk.blocks(0..document.blocks.len());
    // What is nearly a task may stand in what is told.
    for skipped in &walk.reader.findings.skipped {
        let lines = &mut walk.found.lines;
        lines.refuse(source, skipped.offset, &skipped.reason);
    }
    walk.found.lines.fill_between_blocks(source);
    walk.found
}

impl<'w, 's, 'a> Walk<'w, 's, 'a> {
    pub(super) fn source(&self) -> &'s Source<'a> {
        self.document.source
    }

    pub(super) fn mark(&mut self, range: Range<usize>, role: Role) {
        self.found.lines.set(self.document.source, range, role);
    }

    pub(super) fn scope(&self) -> Scope<'_> {
        Scope {
            document: self.document,
            sections: &self.open,
        }
    }

    pub(super) fn decision(&self, node: &Node<'_>) -> Decision {
        self.decide.decide(node, &self.scope())
    }

    /// Records that the lines of a range are not run, and each that looks like work.
    pub(super) fn not_run(&mut self, range: Range<usize>, reason: &str) {
        let source = self.source();
        self.found.lines.not_run(source, range.clone(), reason);
        for (offset, line) in source.lines(range) {
            if looks_like_work(line) {
                self.reader.findings.skip(offset, reason);
            }
        }
    }

    /// Records that an item is not run, which looks like work whether it has a box or not.
    pub(super) fn item_not_run(&mut self, item: &Item, reason: &str) {
        let before = self.reader.findings.skipped.len();
        self.not_run(item.range.clone(), reason);
        if before == self.reader.findings.skipped.len() {
            self.reader.findings.skip(item.range.start, reason);
        }
    }

    fn blocks(&mut self, range: Range<usize>) {
        let document = self.document;
        let mut at = range.start;
        while let Some(block) = document.blocks.get(at).filter(|_| at < range.end) {
            at += 1;
            match block {
                Block::Heading { text, .. } => {
                    self.close_label();
                    if let Some(heading) = document.heading_at(text.start) {
                        self.heading(heading);
                        at = heading.end;
                    }
                }
                Block::List(items) if legend::is_one(self.source(), items) => {
                    for item in items {
                        self.item_not_run(item, "a legend");
                    }
                }
                Block::List(items) => {
                    if self.is_after_rule(items) {
                        self.close_label();
                    }
                    self.outer_list(items);
                }
                Block::Paragraph(paragraph) => {
                    self.close_label();
                    self.paragraph(paragraph.clone());
                    if let Some(Block::List(items)) = document.blocks.get(at) {
                        self.label(paragraph.clone(), items);
                    }
                }
                Block::Opaque { .. } => self.opaque(block),
            }
        }
    }

    fn heading(&mut self, heading: &Heading) {
        match self.decision(&Node::Heading(heading)) {
            Decision::Task | Decision::Nested => self.task_heading(heading),
            Decision::Within => self.within(heading),
            Decision::Told => {
                self.push_note(heading);
                for block in self.document.below(heading) {
                    self.tell(block.range());
                }
                self.mark(heading.range.clone(), Role::Told);
            }
            Decision::NotRun(reason) => {
                self.push_note(heading);
                self.not_run(self.document.section(heading), &reason);
            }
        }
    }

    fn push_note(&mut self, heading: &Heading) {
        self.found.notes.push(Note {
            heading: Some(heading.title.clone()),
            level: heading.level,
            line: self.source().line_of(heading.range.start),
            text: String::new(),
        });
    }

    /// Reads the section of a heading that is no task.
    fn within(&mut self, heading: &Heading) {
        self.push_note(heading);
        self.mark(heading.range.clone(), Role::Structure);
        let is_title = heading.level == 1 && self.found.title.is_none();
        let title = text::shortened(&heading.title, MAX_SHOWN).into_owned();
        if is_title {
            self.found.title = Some(title.clone());
        }
        // The title of the plan is no section of it.
        self.place.section_index += usize::from(!is_title);
        self.place.section = Some(title.clone());
        self.place.close_label();
        let phase = phase::of_heading(&title);
        let is_phase = phase.is_some();
        if let Some(phase) = phase {
            self.place.open_phase(heading.level, phase);
        }
        let boxed = self.boxed_phase(heading);
        let first = self.found.drafts.len();
        let status = self.status_of(heading);
        self.open.push(Open {
            level: heading.level,
            kind: if is_title { Kind::Work } else { heading.kind },
            holds_boxes: self.document.holds_boxes(heading),
            status,
            title,
        });
        self.blocks(heading.at + 1..heading.end);
        self.close_label();
        self.open.pop();
        if is_phase {
            self.place.close_phase();
        }
        self.place.section = self.open.last().map(|open| open.title.clone());
        if let Some(mark) = boxed {
            let leaves = first..self.found.drafts.len();
            self.found.phases.push(Group {
                id: String::new(),
                mark: Some(mark),
                leaves,
            });
        }
    }

    /// Returns the status that the heading of a section says, or one in it that says nothing else
    /// (`Status: Deferred`).
    fn status_of(&mut self, heading: &Heading) -> Option<TaskStatus> {
        let inner = self.document.headings_in(heading).iter();
        let inner = inner.take_while(|_| heading.level > 1);
        let mut said = [heading].into_iter().chain(inner);
        let said = said.find(|own| status::after_status(&own.title).is_some());
        let said = said.filter(|own| own.level <= heading.level + 1);
        let is_said_above = self
            .open
            .last()
            .is_some_and(|it| it.level > 1 && it.status.is_some());
        match said.and_then(|own| Some((own, status::after_status(&own.title)?))) {
            Some(_) if is_said_above => None,
            Some((own, value)) => {
                let holds_boxes = self.document.holds_boxes(heading);
                self.said_of_section(value, own.range.start, holds_boxes)
            }
            None => said_by(&heading.title),
        }
    }

    /// Takes the status that a field right below the heading of a section says.
    fn status_below(&mut self, range: Range<usize>) {
        let is_first = self
            .found
            .notes
            .last()
            .is_some_and(|note| note.text.is_empty());
        let Some(open) = self.open.last().filter(|open| open.level > 1 && is_first) else {
            return;
        };
        let holds_boxes = open.holds_boxes;
        for (offset, line) in self.source().lines(range) {
            let own = line.trim_start_matches(['>', ' ']);
            let Some(place) = status::place_in(own) else {
                continue;
            };
            let at = offset + line.len() - own.len() + place.start;
            let status = self.said_of_section(own.part(place), at, holds_boxes);
            if let Some(open) = self.open.last_mut() {
                open.status = open.status.or(status);
            }
            return;
        }
    }

    /// Returns the status that a value says of a section; with an unknown one, it is not run.
    fn said_of_section(&mut self, value: &str, at: usize, holds_boxes: bool) -> Option<TaskStatus> {
        let known = status::of_cell(value);
        if known.is_some() || !holds_boxes || !status::may_be(value) {
            return known;
        }
        let message = format!("unknown status `{value}`: the tasks below it are not run");
        let found = Pending::new(at, FindingCode::InvalidValue, value, message);
        self.reader.findings.warn(found);
        Some(TaskStatus::Blocked)
    }

    /// Returns the box of the heading of a phase that is not put off.
    fn boxed_phase(&self, heading: &Heading) -> Option<Mark> {
        let line = Inline::new(self.source(), heading.range.clone());
        let title = line.text.trim_start_matches(['#', ' ']);
        phase::of_heading(title)?;
        let mark =
            heading::box_of(title).filter(|mark| handed_down::withheld(mark.status).is_none())?;
        Some(Mark::of_box(
            line.offset(line.text.len() - title.len() + mark.at?),
        ))
    }

    /// Opens the section of a label that ends a paragraph above a list (`**Out of scope:**`); one
    /// in bold above boxes, or one of a phase, begins a part of the section.
    fn label(&mut self, paragraph: Range<usize>, items: &[Item]) {
        let Some((_, line)) = self.source().lines(paragraph).last() else {
            return;
        };
        let Some(label) = section::label(line) else {
            return;
        };
        let is_strong = line.trim_start().starts_with(['*', '_']);
        if !self.open_label(label)
            && (is_strong || phase::begins(label))
            && items
                .iter()
                .any(|item| self.reader.boxed_line(item).is_some())
        {
            self.place.section_index += 1;
            if let Some(phase) = phase::of_heading(label) {
                self.place.open_phase(LABEL_LEVEL, phase);
            }
        }
    }

    /// Opens the section of a label, unless it is work; returns whether it did.
    pub(super) fn open_label(&mut self, label: &str) -> bool {
        let kind = section::kind_of_label(label);
        if kind != Kind::Work {
            self.open.push(Open {
                level: LABEL_LEVEL,
                title: text::shortened(label, MAX_SHOWN).into_owned(),
                kind,
                holds_boxes: false,
                status: None,
            });
        }
        kind != Kind::Work
    }

    pub(super) fn close_label(&mut self) {
        self.open.pop_if(|open| open.level == LABEL_LEVEL);
    }

    /// Reports whether a rule (`---`) is right above a list, so that no label further up is its
    /// own.
    fn is_after_rule(&self, items: &[Item]) -> bool {
        let start = items.first().map_or(0, |item| item.range.start);
        let above = self.source().slice(0..start).trim_end();
        let line = above.rsplit(['\n', '\r']).next().map_or("", str::trim);
        let mark = line.chars().next().filter(|mark| "-*_".contains(*mark));
        line.len() > 2 && line.chars().all(|c| Some(c) == mark || c == ' ')
    }

    /// Tells a block; one that is only a comment says nothing.
    fn tell(&mut self, range: Range<usize>) {
        let role = match self.reader.dedented(range.clone()).is_empty() {
            true => Role::Structure,
            false => Role::Told,
        };
        self.mark(range.clone(), role);
        self.note(range);
    }

    /// Adds a part of the document to what the current section says.
    pub(super) fn note(&mut self, range: Range<usize>) {
        let text = self.reader.dedented(range);
        if let Some(note) = self.found.notes.last_mut() {
            note.push(&text);
        }
    }

    /// Tells a paragraph, unless it is a table of tasks that the format reads; lines in it that are
    /// nearly tasks are not run.
    fn paragraph(&mut self, range: Range<usize>) {
        let source = self.source();
        let Some(table) = table::read(source, range.clone()) else {
            self.status_below(range.clone());
            self.tell(range.clone());
            return self.reader.note_odd_lines(range);
        };
        match self.decision(&Node::Table(&table)) {
            Decision::Task | Decision::Nested => {
                self.mark(range, Role::Structure);
                for row in &table.rows {
                    let draft = self.reader.row(row, &self.place);
                    let at = draft.at;
                    self.found.add(source, draft, at);
                }
            }
            Decision::Within | Decision::Told => self.tell(range),
            Decision::NotRun(reason) => {
                self.tell(range);
                for row in &table.rows {
                    self.reader.findings.skip(row.at, reason.clone());
                }
            }
        }
    }

    /// Tells code, a quote or HTML; boxes in it are not run.
    fn opaque(&mut self, block: &Block) {
        let Block::Opaque { kind, range } = block else {
            return;
        };
        self.tell(range.clone());
        let source = self.source();
        let reason = kind.slip(source.slice(range.clone()));
        let reason = reason.unwrap_or_else(|| kind.place());
        self.work_not_run(range.clone(), reason);
    }

    /// Records that the work in text that is never read for tasks is not run.
    pub(super) fn work_not_run(&mut self, range: Range<usize>, reason: &str) {
        let source = self.source();
        for (offset, line) in source.lines(range) {
            if shows_work(line) {
                let lines = &mut self.found.lines;
                lines.not_run(source, offset..offset + line.len(), reason);
                self.reader.findings.skip(offset, reason);
            }
        }
    }
}

/// Reports whether a line that is not run looks like work: an item with a box, or the heading of a
/// task or a phase.
pub(crate) fn looks_like_work(line: &str) -> bool {
    let title = line.trim_start_matches('#');
    let is_heading = title.len() < line.len() && title.starts_with(' ');
    let title = title.trim();
    let is_task = || {
        heading::task(heading::after_mark(title)).is_some()
            || heading::box_of(title).is_some()
            || phase::begins(title)
    };
    looks_like_box(line) || (is_heading && is_task())
}

/// Reports whether a line of code, a quote or HTML looks like work. A single `#` begins a remark of
/// a script.
fn shows_work(line: &str) -> bool {
    let text = line.trim_start_matches([' ', '>']);
    let is_html = text.contains("<input") && text.contains("checkbox");
    is_html || looks_like_box(line) || (text.starts_with("##") && looks_like_work(text))
}

/// Returns the status that the heading of a section says; a mark before "Tasks" or "Next steps" is
/// an ornament.
fn said_by(title: &str) -> Option<TaskStatus> {
    let is_ornament = status::leading_mark(title).is_some()
        && section::lists_work(title)
        && phase::of_heading(title).is_none();
    let own = match is_ornament {
        true => None,
        false => heading::status(title),
    };
    own.or_else(|| status::of_section(title))
}
