//! Reads a document as a format says: drafts its tasks, and accounts for every line.
//!
//! The format decides of each heading, item and table what it is ([`Decision`]); how a task's line
//! and what stands below it are read is the same for all formats.

use std::ops::Range;

use crate::fields::attributes;
use crate::fields::attributes::Located;
use crate::fields::identify;
use crate::fields::names::KnownNames;
use crate::finding::Findings;
use crate::formats::collected::Collected;
use crate::formats::document::{Document, Heading};
use crate::formats::format::{Decision, ListItem, Node, Open, Scope};
use crate::formats::lines::{Lines, Role};
use crate::lines::outline::{Block, Item};
use crate::lines::source::{Inline, Source};
use crate::mark::Mark;
use crate::tasks::checkbox::{BoxMark, looks_like_box, odd_box, odd_item, read_box};
use crate::tasks::done;
use crate::tasks::draft::{Draft, Group, Location, Reader, TaskLine, items_of};
use crate::tasks::entry::{Boxed, Entry};
use crate::tasks::handed_down::{self, Inherited};
use crate::tasks::heading;
use crate::tasks::note::Note;
use crate::tasks::parts::{self, Parent};
use crate::tasks::phase;
use crate::tasks::section::{self, Kind};
use crate::tasks::status;
use crate::tasks::strike;
use crate::tasks::table;
use crate::tasks::taken::Taken;
use orchestrate_core::task::TaskStatus;
use orchestrate_core::text::parts::Parts;

/// The maximum number of tasks in a plan: each has a branch, and more branches are not reviewed.
pub(crate) const MAX_TASKS: usize = 10_000;

/// The maximum depth of groups among the items of one list (`1`, `1.1`, `1.1.1` one below the
/// other).
const MAX_GROUPS_BESIDE: usize = 4;

/// The level of a label above a list, which is below every heading.
const LABEL_LEVEL: u8 = 7;

/// The minimum length of a rule.
const MIN_RULE: usize = 3;

/// Why an open box below a done task is no task.
const OPEN_STEP_OF_DONE: &str =
    "it is an open step of a task that is done: write it beside that task to have it carried out";

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
    document: &'w Document<'s, 'a>,
    reader: Reader<'w, 'a>,
    decide: &'w dyn Decide,
    found: Collected,
    /// The sections that the current place is in.
    open: Vec<Open>,
    place: Location,
    /// The items of the current list that are told.
    told: Vec<Range<usize>>,
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
    fn source(&self) -> &'s Source<'a> {
        self.document.source
    }

    fn mark(&mut self, range: Range<usize>, role: Role) {
        self.found.lines.set(self.document.source, range, role);
    }

    fn decision(&self, node: &Node<'_>) -> Decision {
        let scope = Scope {
            document: self.document,
            sections: &self.open,
        };
        self.decide.decide(node, &scope)
    }

    /// Records that the lines of a range are not run, and each that looks like work.
    fn not_run(&mut self, range: Range<usize>, reason: &str) {
        let source = self.source();
        self.found.lines.not_run(source, range.clone(), reason);
        for (offset, line) in source.lines(range) {
            if looks_like_work(line) {
                self.reader.findings.skip(offset, reason);
            }
        }
    }

    /// Records that an item is not run, which looks like work whether it has a box or not.
    fn item_not_run(&mut self, item: &Item, reason: &str) {
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
                Block::Heading { .. } => {
                    self.close_label();
                    let index = document
                        .headings
                        .binary_search_by_key(&(at - 1), |heading| heading.at);
                    if let Some(heading) = index.ok().and_then(|at| document.headings.get(at)) {
                        self.heading(heading);
                        at = heading.end;
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
        let title = section::shown(&heading.title).into_owned();
        if is_title {
            self.found.title = Some(title.clone());
        }
        // The title of the plan is no section of it.
        self.place.section_index += usize::from(!is_title);
        self.place.section = Some(title.clone());
        if self.place.phase_level == Some(LABEL_LEVEL) {
            self.place.phase += 1;
            self.place.phase_level = None;
            self.place.phase_label = None;
        }
        let phase = phase::of_heading(&title);
        let is_phase = phase.is_some();
        if let Some(phase) = phase {
            self.place.phase += 1;
            self.place.phase_level = Some(heading.level);
            self.place.phase_label = phase.label.map(Into::into);
        }
        let boxed = self.boxed_phase(heading);
        let first = self.found.drafts.len();
        self.open.push(Open {
            level: heading.level,
            kind: if is_title { Kind::Work } else { heading.kind },
            holds_boxes: self.document.holds_boxes(heading),
            status: said_by(&heading.title),
            title,
        });
        self.blocks(heading.at + 1..heading.end);
        self.close_label();
        self.open.pop();
        if is_phase {
            self.place.phase += 1;
            self.place.phase_level = None;
            self.place.phase_label = None;
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
                self.place.phase += 1;
                self.place.phase_level = Some(LABEL_LEVEL);
                self.place.phase_label = phase.label.map(Into::into);
            }
        }
    }

    /// Opens the section of a label, unless it is work; returns whether it did.
    fn open_label(&mut self, label: &str) -> bool {
        let kind = section::kind_of_label(label);
        if kind != Kind::Work {
            self.open.push(Open {
                level: LABEL_LEVEL,
                title: section::shown(label).into_owned(),
                kind,
                holds_boxes: false,
                status: None,
            });
        }
        kind != Kind::Work
    }

    fn close_label(&mut self) {
        self.open.pop_if(|open| open.level == LABEL_LEVEL);
    }

    /// Reports whether a rule (`---`) is right above a list, so that no label further up is its
    /// own.
    fn is_after_rule(&self, items: &[Item]) -> bool {
        let start = items.first().map_or(0, |item| item.range.start);
        let above = self.source().slice(0..start).trim_end();
        let line = above
            .rsplit(['\n', '\r'])
            .next()
            .map_or("", |line| line.trim());
        let mark = line.chars().next().filter(|mark| "-*_".contains(*mark));
        line.len() >= MIN_RULE && line.chars().all(|c| Some(c) == mark || c == ' ')
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
    fn note(&mut self, range: Range<usize>) {
        let text = self.reader.dedented(range);
        if let Some(note) = self.found.notes.last_mut() {
            note.push(&text);
        }
    }

    /// Tells a paragraph, unless it is a table of tasks that the format reads; lines in it that are
    /// nearly tasks are not run.
    fn paragraph(&mut self, range: Range<usize>) {
        let source = self.source();
        let Some(rows) = table::rows(source, range.clone()) else {
            self.tell(range.clone());
            return self.odd_lines(range);
        };
        match self.decision(&Node::Table) {
            Decision::Task | Decision::Nested => {
                self.mark(range, Role::Structure);
                for column in table::columns(&rows) {
                    self.reader.note_column(column.clone());
                }
                for row in &rows {
                    let draft = self.reader.row(row, &self.place);
                    self.push(draft, row.at..row.at, row.at..row.at);
                }
            }
            Decision::Within | Decision::Told => self.tell(range),
            Decision::NotRun(reason) => {
                self.tell(range);
                for row in &rows {
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
        for (offset, line) in source.lines(range.clone()) {
            if looks_like_box(line) {
                self.not_run(offset..offset + line.len(), reason);
            }
        }
    }

    /// Records lines of a paragraph that are nearly items with a box or headings of tasks.
    fn odd_lines(&mut self, range: Range<usize>) {
        let source = self.source();
        for (offset, line) in source.lines(range) {
            let reason = odd_item(line).or_else(|| heading::odd(line).map(str::to_owned));
            if let Some(reason) = reason {
                self.reader.findings.skip(offset, reason);
            }
        }
    }

    /// Reads a list that is in no other one, and tells what is told of it.
    fn outer_list(&mut self, items: &[Item]) {
        self.list(items, &Inherited::default(), 0);
        for told in std::mem::take(&mut self.told) {
            self.note(told);
        }
    }

    fn list(&mut self, items: &[Item], inherited: &Inherited, depth: usize) {
        let entries: Vec<Entry<'_, 'a>> = items.iter().map(|item| self.entry(item)).collect();
        self.entries(&entries, inherited, depth);
    }

    fn entry<'i>(&self, item: &'i Item) -> Entry<'i, 'a> {
        let line = self.reader.first_line(item);
        let mark = self.box_of(&line.text);
        let rest = mark.map_or(0, |mark| mark.rest);
        let id = identify::of_item(line.text.tail(rest)).map(|found| {
            let start = rest + found.start;
            start..start + found.id.len()
        });
        Entry {
            item,
            line,
            mark,
            id,
        }
    }

    /// Returns the box that a text begins with.
    fn box_of(&self, text: &str) -> Option<BoxMark> {
        let mut mark = read_box(text)?;
        let title = text.tail(mark.rest).trim_end();
        mark.status = match mark.status {
            TaskStatus::Cancelled if self.decide.dash_is_progress() => TaskStatus::InProgress,
            TaskStatus::Todo => strike::status(title).unwrap_or(TaskStatus::Todo),
            status => status,
        };
        Some(mark)
    }

    fn entries(&mut self, entries: &[Entry<'_, 'a>], inherited: &Inherited, depth: usize) {
        // The other items below a parent are remarks, which its tasks are told.
        let is_beside_boxes =
            !inherited.knows_remarks && entries.iter().any(|entry| self.is_box_or_above(entry));
        let mut rest = entries;
        while let Some((entry, after)) = rest.split_first() {
            rest = after;
            let below = match depth < MAX_GROUPS_BESIDE {
                true => entry.children_beside(after),
                false => 0,
            };
            let (children, next) = after.split_at(below);
            let number = self.list_number(entry.item);
            let node = ListItem {
                item: entry.item,
                mark: entry.mark,
                text: node_text(entry),
                number,
                is_above_boxes: parts::is_above_box(&self.reader, entry.item),
                is_beside_boxes,
            };
            match self.decision(&Node::Item(&node)) {
                Decision::Nested if below > 0 => {
                    rest = next;
                    self.group_beside(entry, children, inherited, depth);
                }
                Decision::Nested => self.nested(entry, inherited),
                Decision::Task => self.task_item(entry, false, inherited),
                Decision::Within => self.parent(entry, inherited),
                Decision::Told => self.tell_item(entry, inherited),
                Decision::NotRun(reason) => {
                    let odd = odd_box(&entry.line.text);
                    self.item_not_run(entry.item, odd.as_deref().unwrap_or(&reason));
                    // What the work is checked by is told to who does it.
                    if self.open.iter().any(|open| open.kind == Kind::Checks) {
                        self.push_told(entry.item.range.clone());
                    }
                }
            }
        }
    }

    /// Reports whether an item has a box, or is a place in an order with boxes below it.
    fn is_box_or_above(&self, entry: &Entry<'_, 'a>) -> bool {
        let is_place = || self.list_number(entry.item).is_some();
        entry.mark.is_some() || (is_place() && parts::is_above_box(&self.reader, entry.item))
    }

    /// Returns the number of an item of an ordered list.
    fn list_number(&self, item: &Item) -> Option<&'a str> {
        let text = self.source().slice(item.range.clone());
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        text.get(..digits).filter(|number| !number.is_empty())
    }

    /// Tells an item without a box; one that is nearly a box is not run.
    fn tell_item(&mut self, entry: &Entry<'_, 'a>, inherited: &Inherited) {
        if let Some(reason) = odd_box(&entry.line.text) {
            return self.item_not_run(entry.item, &reason);
        }
        self.mark(entry.item.range.clone(), Role::Told);
        // What a parent hands down was told already.
        if !inherited.knows_remarks {
            if entry.mark.is_none() {
                self.odd_lines(entry.item.text.clone());
            }
            self.push_told(entry.item.range.clone());
        }
        self.boxes_in_code(&entry.item.blocks);
    }

    /// Adds an item to what is told of its list.
    fn push_told(&mut self, item: Range<usize>) {
        let source = self.source();
        match self.told.last_mut() {
            Some(last) if source.slice(last.end..item.start).trim().is_empty() => {
                last.end = item.end;
            }
            _ => self.told.push(item),
        }
    }

    fn boxes_in_code(&mut self, blocks: &[Block]) {
        let source = self.source();
        for block in blocks {
            if let Block::Opaque { kind, range } = block {
                for (offset, line) in source.lines(range.clone()) {
                    if looks_like_box(line) {
                        self.not_run(offset..offset + line.len(), kind.place());
                    }
                }
            }
        }
    }

    /// Reads the lists below an item that is no task, which its tasks are told; its box, if it has
    /// one, is ticked with the last of them.
    fn parent(&mut self, entry: &Entry<'_, 'a>, inherited: &Inherited) {
        let Entry { item, line, .. } = entry;
        self.mark(item.range.clone(), Role::Told);
        let number = self.list_number(item);
        let label = section::label(&line.text).unwrap_or(&line.text);
        let is_label = number.is_none()
            && entry.mark.is_none()
            && line.is_one_line()
            && self.open_label(label);
        let mark = entry.mark.unwrap_or(BoxMark {
            status: TaskStatus::Todo,
            optional: false,
            at: None,
            rest: 0,
        });
        let text = line.text.tail(mark.rest);
        let boxed = entry.boxed(mark);
        let marked = self.marked_id(&boxed);
        let written = identify::leading(text).map(|found| found.id).or(number);
        let id = marked.or_else(|| written.map(str::to_owned));
        let id = id.map_or(String::new(), |id| id);
        let own = self.hand_down(&boxed, &id, inherited);
        let first = self.found.drafts.len();
        let is_place = number.is_some() || phase::begins(text);
        self.place.phase += usize::from(is_place);
        self.place.section_index += usize::from(is_place);
        for block in &item.blocks {
            if let Block::List(items) = block {
                self.list(items, &own, 0);
            }
        }
        self.place.phase += usize::from(is_place);
        if is_label {
            self.close_label();
        }
        if mark.at.is_some() {
            self.push_group(&boxed, &id, first);
        }
        self.refuse_without_tasks(item, first);
    }

    /// Says that what a parent tells its tasks is not run if it has none, from this draft on.
    fn refuse_without_tasks(&mut self, item: &Item, first: usize) {
        let source = self.source();
        if self.found.drafts.len() == first {
            for (offset, _) in source.lines(item.range.clone()) {
                let lines = &mut self.found.lines;
                lines.refuse(source, offset, "nothing below it is run");
            }
        }
    }

    /// Reads an item with a box as a task, or as the group of the tasks below it.
    fn nested(&mut self, entry: &Entry<'_, 'a>, inherited: &Inherited) {
        let Some(mark) = entry.mark else {
            return self.task_item(entry, false, inherited);
        };
        let text = entry.line.text.tail(mark.rest);
        if text.trim().is_empty() {
            return self.item_not_run(entry.item, "the box has no text");
        }
        let boxed = entry.boxed(mark);
        match parts::parent(&self.reader, &boxed, self.list_number(entry.item)) {
            Some(Parent::Group(id)) => self.group(&boxed, &id, inherited),
            Some(Parent::Task(_)) => self.extended(entry, inherited),
            None => {
                let begins_phase = phase::begins(text);
                self.place.phase += usize::from(begins_phase);
                self.task_item(entry, false, inherited);
                self.place.phase += usize::from(begins_phase);
            }
        }
    }

    fn group(&mut self, boxed: &Boxed<'_, 'a>, title: &str, inherited: &Inherited) {
        let marked = self.marked_id(boxed);
        let id = marked.as_deref().unwrap_or(title);
        self.mark(boxed.item.range.clone(), Role::Told);
        let own = self.hand_down(boxed, id, inherited);
        let first = self.found.drafts.len();
        let is_phase = phase::of_heading(id).is_some();
        self.place.phase += usize::from(is_phase);
        self.parts(boxed.item, &own);
        self.place.phase += usize::from(is_phase);
        self.push_group(boxed, id, first);
        self.refuse_without_tasks(boxed.item, first);
    }

    /// Returns the id in a comment or in braces behind the text of an item.
    fn marked_id(&self, boxed: &Boxed<'_, 'a>) -> Option<String> {
        let (known, mut unread) = (self.reader.known, Findings::default());
        let line = attributes::read_line(boxed.line, boxed.mark.rest, known, &mut unread);
        Some(line.marked_id?.text)
    }

    fn push_group(&mut self, boxed: &Boxed<'_, 'a>, id: &str, first: usize) {
        let mark = boxed.mark.at.map(|at| Mark::of_box(boxed.line.offset(at)));
        self.found.groups.push(Group {
            id: id.to_owned(),
            mark,
            leaves: first..self.found.drafts.len(),
        });
    }

    /// Reads the boxes below a group, also those below an item without a box. Its other items are
    /// remarks, which its tasks are told.
    fn parts(&mut self, item: &Item, own: &Inherited) {
        for child in item.blocks.iter().flat_map(items_of) {
            let entry = self.entry(child);
            if entry.mark.is_some() {
                self.nested(&entry, own);
            } else if odd_box(&entry.line.text).is_some() {
                self.tell_item(&entry, own);
            } else if parts::is_above_box(&self.reader, child) {
                self.parent(&entry, own);
            }
        }
    }

    /// Adds an item as a task, and the boxes below it as its parts, which are optional and come
    /// after it.
    fn extended(&mut self, entry: &Entry<'_, 'a>, inherited: &Inherited) {
        let own = self.push_extended(entry, inherited);
        self.parts(entry.item, &own);
    }

    /// Adds an item as a task, and returns what its optional parts inherit: its words, but not its
    /// attributes.
    fn push_extended(&mut self, entry: &Entry<'_, 'a>, inherited: &Inherited) -> Inherited {
        let at = self.found.drafts.len();
        self.task_item(entry, true, inherited);
        let mut details = inherited.details.clone();
        let mut withheld = inherited.withheld;
        if let Some(draft) = self.found.drafts.get(at) {
            let id = entry.id().or(self.list_number(entry.item)).unwrap_or("");
            details.push(handed_down::part_of(id, &draft.title));
            details.extend(draft.details.iter().skip(inherited.details.len()).cloned());
            withheld = handed_down::withheld(draft.status).or(withheld);
        }
        Inherited {
            attributes: inherited.attributes.clone(),
            details: vec![handed_down::shortened(&details.join("\n"))],
            withheld,
            optional: inherited.optional,
            extends: Some(at),
            knows_remarks: true,
        }
    }

    /// Reads a line that sums up the ones after it (`1` before `1.1`, `1.2`) as their group, or as
    /// a task if these are all optional; boxes below it are parts of that, too.
    fn group_beside(
        &mut self,
        entry: &Entry<'_, 'a>,
        children: &[Entry<'_, 'a>],
        inherited: &Inherited,
        depth: usize,
    ) {
        let (Some(mark), Some(id)) = (entry.mark, entry.id()) else {
            return;
        };
        let has_only_extras = children.iter().all(Entry::is_optional)
            && parts::has_only_extras(&self.reader, entry.item);
        if has_only_extras && !mark.optional {
            let own = self.push_extended(entry, inherited);
            self.parts(entry.item, &own);
            return self.entries(children, &own, depth + 1);
        }
        let boxed = entry.boxed(mark);
        self.mark(entry.item.range.clone(), Role::Told);
        let own = self.hand_down(&boxed, id, inherited);
        let first = self.found.drafts.len();
        self.parts(entry.item, &own);
        self.entries(children, &own, depth + 1);
        self.push_group(&boxed, id, first);
        self.refuse_without_tasks(boxed.item, first);
    }

    /// Returns what a group passes to each of its tasks.
    fn hand_down(&mut self, boxed: &Boxed<'_, 'a>, id: &str, inherited: &Inherited) -> Inherited {
        let Boxed { item, line, mark } = *boxed;
        let split = self.reader.split_key(item, line);
        let (line, open) = split
            .as_ref()
            .map_or((line, None), |(line, key)| (line, Some(*key)));
        let task_line = TaskLine {
            inline: line,
            mark,
            at: item.range.start,
            is_group: true,
        };
        let mut parent = self.reader.draft_line(&task_line, &self.place);
        if mark.at.is_some() {
            self.reader.note_said(&parent, line.text.tail(mark.rest));
        }
        parent.attributes.inherit(&inherited.attributes);
        let withheld = over(&parent).or(inherited.withheld);
        let mut own = Inherited {
            attributes: parent.attributes,
            details: inherited.details.clone(),
            withheld,
            optional: inherited.optional || parent.optional,
            knows_remarks: true,
            extends: inherited.extends,
        };
        own.details.push(handed_down::part_of(id, &parent.title));
        own.details.extend(parent.details);
        let taken = Taken {
            attributes: &mut own.attributes,
            details: &mut own.details,
        };
        self.reader.item_body(item, open, true, taken);
        own.details = vec![handed_down::shortened(&own.details.join("\n"))];
        handed_down::require_short(&mut own.attributes, item.range.start, self.reader.findings);
        own
    }

    /// Adds an item as a task; its parts, if it has such, are tasks of their own.
    fn task_item(&mut self, entry: &Entry<'_, 'a>, has_parts: bool, inherited: &Inherited) {
        let (item, line) = (entry.item, &entry.line);
        let mark = entry.mark.unwrap_or_else(|| self.mark_without_box(line));
        let split = self.reader.split_key(item, line);
        let (line, open) = split
            .as_ref()
            .map_or((line, None), |(line, key)| (line, Some(*key)));
        let task_line = TaskLine {
            inline: line,
            mark,
            at: item.range.start,
            is_group: has_parts,
        };
        let mut draft = self.reader.draft_line(&task_line, &self.place);
        draft.extends = inherited.extends;
        if let Some(number) = self.list_number(item) {
            draft.counts = true;
            draft.number.get_or_insert(number.to_owned());
        }
        if mark.at.is_none() {
            draft.marks.extend(done::own_mark(line));
            self.reader.note_doubtful_status(&draft);
            if let Some((_, title)) = status::trailing(&draft.title) {
                draft.title = title.to_owned();
            }
            for field in item.blocks.iter().flat_map(items_of) {
                let field = self.reader.first_line(field);
                self.reader.status_field(&field, &mut draft);
            }
        }
        draft.optional |= self.is_optional() || inherited.optional;
        draft
            .details
            .splice(0..0, inherited.details.iter().cloned());
        let taken = Taken {
            attributes: &mut draft.attributes,
            details: &mut draft.details,
        };
        self.reader.item_body(item, open, has_parts, taken);
        draft.attributes.inherit(&inherited.attributes);
        if mark.at.is_some() {
            self.reader.note_said(&draft, line.text.tail(mark.rest));
        }
        let withheld = self.withhold(&mut draft, inherited.withheld);
        let task_status = draft.status;
        self.push(draft, item.text.clone(), item.range.clone());
        if let Some(reason) = withheld {
            self.reader.findings.skip(item.range.start, reason);
        }
        if !has_parts {
            self.steps(&item.blocks, task_status);
        }
    }

    /// Takes an open task for done, blocked or cancelled if the group or the heading that it is in
    /// says so, and returns the reason why it is not run.
    fn withhold(&self, draft: &mut Draft, of_group: Option<TaskStatus>) -> Option<String> {
        if !draft.status.runs() {
            return None;
        }
        let is_done = of_group == Some(TaskStatus::Done);
        // A group is done without its optional tasks.
        if let Some(status) = of_group.filter(|_| !(is_done && draft.optional)) {
            draft.status = status;
            return is_done.then(|| OPEN_STEP_OF_DONE.to_owned());
        }
        if section::is_of_person(&draft.title) {
            draft.status = TaskStatus::Blocked;
            return Some("it is work of a person".to_owned());
        }
        let above = self.open.iter().rfind(|open| open.status.is_some())?;
        let status = above.status.filter(|status| !status.runs())?;
        draft.status = status;
        Some(format!(
            "under \"{}\", which says that it is {}",
            above.title,
            said(status)
        ))
    }

    /// Returns the mark of a task without a box: an emoji or words that say its status.
    fn mark_without_box(&self, line: &Inline<'_>) -> BoxMark {
        let own = status::leading_mark(&line.text);
        let first = line.text.lines().next().map_or("", |first| first);
        let status = own
            .map(|(status, _)| status)
            .or_else(|| strike::status(&line.text))
            .or_else(|| status::trailing(first).map(|(status, _)| status))
            .or_else(|| self.status_above());
        BoxMark {
            status: status.map_or(TaskStatus::Todo, |status| status),
            optional: false,
            at: None,
            rest: own.map_or(0, |(_, rest)| line.text.len() - rest.len()),
        }
    }

    /// Adds a task, and says which lines are its own.
    fn push(&mut self, draft: Draft, line: Range<usize>, whole: Range<usize>) {
        let at = self.found.drafts.len();
        let first = whole.start..whole.start.max(line.start.min(whole.end));
        self.mark(first, Role::Task(at));
        self.mark(whole, Role::Part(at));
        self.found.drafts.push(draft);
    }

    /// Reads the boxes below a task, which are its steps: open ones of a task that is done are not
    /// run, and attributes of a step have no effect.
    fn steps(&mut self, blocks: &[Block], task: TaskStatus) {
        for item in blocks.iter().flat_map(items_of) {
            if let Some((line, mark)) = self.reader.boxed_line(item) {
                if task == TaskStatus::Done && mark.status.runs() {
                    self.not_run(item.range.start..item.text.end, OPEN_STEP_OF_DONE);
                }
                self.reader.warn_of_step(item, &line, mark.rest);
            }
            // A line that is nearly an item belongs to the paragraph above it.
            let first = self.reader.first_line(item);
            self.reader.note_odd_lines(&first, 0);
            self.steps(&item.blocks, task);
        }
        self.boxes_in_code(blocks);
    }

    fn is_optional(&self) -> bool {
        self.open.iter().any(|open| open.kind == Kind::Optional)
    }

    /// Returns the status that the nearest heading with one says.
    fn status_above(&self) -> Option<TaskStatus> {
        self.open.iter().rev().find_map(|open| open.status)
    }

    /// Adds a heading as a task, with all that stands below it.
    fn task_heading(&mut self, heading: &Heading) {
        let document = self.document;
        let body = document.below(heading);
        let range = heading.range.clone();
        let mut inline = Inline::new(self.source(), range.clone());
        let marks = inline.text.len() - inline.text.trim_start_matches(['#', ' ']).len();
        inline = Inline::new(self.source(), range.start + marks..range.end);
        let phase = phase::of_heading(&inline.text);
        let without_box = BoxMark {
            status: heading::status(&inline.text).map_or(TaskStatus::Todo, |status| status),
            optional: section::is_optional(&heading.title.to_lowercase()),
            at: None,
            rest: inline.text.len() - heading::after_mark(&inline.text).len(),
        };
        let mark = heading::box_of(&inline.text).unwrap_or(without_box);
        let line = TaskLine {
            inline: &inline,
            mark,
            at: range.start,
            is_group: false,
        };
        let mut draft = self.reader.draft_line(&line, &self.place);
        if mark.at.is_none() {
            draft.marks.extend(done::own_mark(&inline));
            self.reader.note_doubtful_status(&draft);
        }
        name_heading(
            &mut draft,
            &inline,
            mark,
            phase.and_then(|phase| phase.label),
        );
        let steps = self.reader.fields(body, &mut draft);
        let is_said = !draft.marks.is_empty() || heading::status(&inline.text).is_some();
        draft.add_steps(steps, is_said);
        if mark.at.is_some() {
            self.reader.note_said(&draft, inline.text.tail(mark.rest));
        }
        draft.optional |= self.is_optional();
        let withheld = self.withhold(&mut draft, None);
        let task_status = draft.status;
        self.push(draft, range.clone(), self.document.section(heading));
        if let Some(reason) = withheld {
            self.reader.findings.skip(range.start, reason);
        }
        self.steps(body, task_status);
    }
}

/// Returns the status that the open tasks of a group have as well, since its own box says so.
fn over(group: &Draft) -> Option<TaskStatus> {
    Some(group.status).filter(|status| !status.runs())
}

/// Takes the id and the title of a task from its heading.
fn name_heading(draft: &mut Draft, inline: &Inline<'_>, mark: BoxMark, phase: Option<String>) {
    // A number before the box is not part of the text after it.
    let head = match mark.at.is_some_and(|at| at > 1) {
        true => 0,
        false => mark.rest,
    };
    let text = inline.text.tail(head);
    let offset = inline.offset(head);
    if let Some(found) = heading::task(text) {
        draft.number = Some(found.number.to_owned());
        draft.counts |= found.counts;
        let text = found.id();
        draft.id.get_or_insert(Located { text, offset });
    } else if let Some(found) = identify::leading(text).filter(|_| head == 0 && mark.at.is_some()) {
        let text = found.id.to_owned();
        draft.set_id(Located { text, offset });
    } else if let Some(text) = phase {
        draft.counts = true;
        draft.phase_label = Some(text.as_str().into());
        draft.id.get_or_insert(Located { text, offset });
    }
    if let Some(found) = heading::task(&draft.title) {
        draft.title = draft.title.tail(found.rest).to_owned();
    }
    let said = status::trailing(&draft.title)
        .filter(|(status, _)| mark.at.is_none() || *status == draft.status);
    if let Some((_, title)) = said {
        draft.title = title.to_owned();
    }
    let struck = strike::status(&draft.title).or_else(|| strike::status(&inline.text));
    if let Some(status) = struck.filter(|_| draft.status.runs()) {
        draft.status = status;
        draft.title = draft.title.trim_matches('~').to_owned();
    }
}

/// Returns the text of an item after its box.
fn node_text<'e>(entry: &'e Entry<'_, '_>) -> &'e str {
    entry.line.text.tail(entry.mark.map_or(0, |mark| mark.rest))
}

/// Describes a status of what is not run.
fn said(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Done => "done",
        TaskStatus::Blocked => "blocked or put off",
        _ => "cancelled",
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
