//! Finds the tasks in the blocks of a plan: boxes at the outermost level, and headings with fields.
//!
//! Whatever looks like a task but is not is recorded as skipped, with the reason; nothing is dropped silently. Ids,
//! dependencies and order are determined later, when all tasks are known.

use std::ops::Range;

use crate::check::finding::Findings;
use crate::fields::attributes;
use crate::fields::attributes::{Attributes, Located};
use crate::fields::identify;
use crate::read::checkbox::{BoxMark, after_box, looks_like_box, odd_box, read_box};
use crate::read::heading;
use crate::read::note::Note;
use crate::read::outline::{Block, Item, Opaque};
use crate::read::source::{Inline, Source};
use crate::read::task_line::{Draft, Location, Reader, items_of};
use orchestrate_core::task::TaskStatus;

/// The maximum number of characters that a group passes to each of its tasks: enough for its title and a few remarks.
const MAX_HANDED_DOWN_CHARS: usize = 2_000;

/// A parent that only groups tasks; a reference to it means all its tasks.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) id: String,
    /// Indices of its drafts.
    pub(crate) leaves: Range<usize>,
}

/// The tasks, groups and title of a document.
#[derive(Default)]
pub(crate) struct Collected {
    pub(crate) drafts: Vec<Draft>,
    pub(crate) groups: Vec<Group>,
    /// The first heading of level one.
    pub(crate) title: Option<String>,
    /// The prose of each section, beginning with the one before the first heading.
    pub(crate) notes: Vec<Note>,
}

/// Finds all tasks of a document.
pub(crate) fn collect(source: &Source<'_>, blocks: &[Block], findings: &mut Findings) -> Collected {
    let reader = Reader { source, findings };
    let found = Collected { notes: vec![Note { line: 1, ..Note::default() }], ..Collected::default() };
    let mut walk = Walk { reader, found, headings: Vec::new(), place: Location::default() };
    walk.document(blocks);
    walk.found
}

struct Walk<'s, 'a> {
    reader: Reader<'s, 'a>,
    found: Collected,
    /// The enclosing headings: level, and the title if boxes below it are not tasks.
    headings: Vec<(u8, Option<String>)>,
    place: Location,
}

/// What an item inherits from its parents.
#[derive(Clone, Default)]
struct Inherited {
    attributes: Attributes,
    details: Vec<String>,
    /// The status of a cancelled or blocked group, which applies to all its open tasks.
    withheld: Option<TaskStatus>,
}

impl Walk<'_, '_> {
    fn document(&mut self, blocks: &[Block]) {
        let with_fields = (0..blocks.len()).any(|at| self.has_fields(blocks.get(at..).unwrap_or_default()));
        let mut rest = blocks;
        while let Some((block, after)) = rest.split_first() {
            rest = after;
            match block {
                Block::Heading { level, text } => {
                    let title = heading::title(self.reader.source.slice(text.clone()));
                    let is_task = with_fields && heading::task(after_box(&title)).is_some();
                    if is_task && self.excluded().is_none() {
                        let body = after.iter().take_while(|block| !self.ends_task(*level, block)).count();
                        let (body, next) = after.split_at_checked(body).unwrap_or((after, &[]));
                        self.task_heading(text.clone(), body);
                        rest = next;
                    } else {
                        let line = self.reader.source.line_of(text.start);
                        self.found.notes.push(Note {
                            heading: Some(title.clone()),
                            level: *level,
                            line,
                            text: String::new(),
                        });
                        self.open_heading(*level, title);
                    }
                }
                Block::List(items) => {
                    if self.excluded().is_some() || !self.holds_boxes(block) {
                        self.note(block);
                    }
                    self.list(items, &Inherited::default());
                }
                other => {
                    self.note(other);
                    self.skip_boxes(other);
                }
            }
        }
    }

    /// Adds a block to what the current section says.
    fn note(&mut self, block: &Block) {
        if matches!(block, Block::Opaque { kind: Opaque::Html, .. }) {
            return;
        }
        let text = self.reader.dedented(block.range());
        if let Some(note) = self.found.notes.last_mut() {
            note.push(&text);
        }
    }

    fn holds_boxes(&self, block: &Block) -> bool {
        self.reader.source.lines(block.range()).iter().any(|(_, line)| looks_like_box(line))
    }

    /// Reports whether the first block is a task's heading with a field below it.
    fn has_fields(&self, blocks: &[Block]) -> bool {
        let Some((Block::Heading { text, .. }, after)) = blocks.split_first() else {
            return false;
        };
        let title = heading::title(self.reader.source.slice(text.clone()));
        heading::task(after_box(&title)).is_some()
            && after
                .iter()
                .take_while(|block| !matches!(block, Block::Heading { .. }))
                .any(|block| self.is_field_block(block))
    }

    fn is_field_block(&self, block: &Block) -> bool {
        let is_field = |text: &str| {
            let word = attributes::detail_key(text).map(|(word, _)| word.to_lowercase());
            word.is_some_and(|word| attributes::key_of(&word).is_some() || matches!(word.as_str(), "type" | "status"))
        };
        match block {
            Block::Paragraph(range) => {
                self.reader.source.lines(range.clone()).iter().any(|(_, line)| is_field(line.trim()))
            }
            Block::List(items) => items.iter().any(|item| is_field(&self.reader.first_line(item).text)),
            _ => false,
        }
    }

    /// Reports whether a block ends the task whose heading has this level.
    fn ends_task(&self, task_level: u8, block: &Block) -> bool {
        let Block::Heading { level, text } = block else {
            return false;
        };
        *level <= task_level
            || heading::task(after_box(&heading::title(self.reader.source.slice(text.clone())))).is_some()
    }

    fn open_heading(&mut self, level: u8, title: String) {
        self.headings.retain(|(open, _)| *open < level);
        let is_title = level == 1 && self.found.title.is_none();
        if is_title {
            self.found.title = Some(title.clone());
        }
        let excludes = !is_title && heading::holds_no_tasks(&title);
        if heading::is_phase(&title) {
            self.place.phase += 1;
            self.place.phase_level = Some(level);
        } else if self.place.phase_level.is_some_and(|phase| level <= phase) {
            self.place.phase += 1;
            self.place.phase_level = None;
        }
        self.place.section_index += 1;
        self.place.section = Some(title.clone());
        self.headings.push((level, excludes.then_some(title)));
    }

    /// Returns the enclosing heading, if any, under which boxes are not tasks.
    fn excluded(&self) -> Option<&str> {
        self.headings.iter().find_map(|(_, excludes)| excludes.as_deref())
    }

    fn list(&mut self, items: &[Item], inherited: &Inherited) {
        let lines: Vec<Inline> = items.iter().map(|item| self.reader.first_line(item)).collect();
        let any_box = lines.iter().any(|line| read_box(&line.text).is_some());
        for (item, line) in items.iter().zip(&lines) {
            match read_box(&line.text) {
                Some(mark) => self.boxed(item, line, mark, inherited),
                None => self.unboxed(item, line, any_box, inherited),
            }
        }
    }

    fn unboxed(&mut self, item: &Item, line: &Inline, beside_boxes: bool, inherited: &Inherited) {
        let before = (self.found.drafts.len(), self.reader.findings.skipped.len());
        if let Some(reason) = odd_box(&line.text) {
            self.reader.findings.skip(item.range.start, reason);
        }
        for block in &item.blocks {
            match block {
                Block::List(items) => self.list(items, inherited),
                other => self.skip_boxes(other),
            }
        }
        if beside_boxes && before == (self.found.drafts.len(), self.reader.findings.skipped.len()) {
            self.reader.findings.skip(item.range.start, "no checkbox, unlike its neighbours");
        }
    }

    fn boxed(&mut self, item: &Item, line: &Inline, mark: BoxMark, inherited: &Inherited) {
        if let Some(heading) = self.excluded() {
            let reason = format!("under \"{heading}\"");
            return self.skip_all(item, &reason);
        }
        if line.text.get(mark.rest..).unwrap_or_default().trim().is_empty() {
            self.reader.findings.skip(item.range.start, "the box has no text");
            return self.nested(item, inherited);
        }
        match self.group_id(item, line, mark) {
            Some(id) => self.group(item, line, (mark, id), inherited),
            None => {
                let draft = self.draft(item, line, mark, inherited);
                self.found.drafts.push(draft);
            }
        }
    }

    fn nested(&mut self, item: &Item, inherited: &Inherited) {
        for block in &item.blocks {
            if let Block::List(items) = block {
                self.list(items, inherited);
            }
        }
    }

    /// Returns the item's id if all boxes directly below it are numbered under it (`2` above `2.1`).
    fn group_id(&self, item: &Item, line: &Inline, mark: BoxMark) -> Option<String> {
        let id = identify::leading(line.text.get(mark.rest..)?)?.id.to_owned();
        let mut boxes = 0;
        for child in item.blocks.iter().flat_map(items_of) {
            let line = self.reader.first_line(child);
            let Some(mark) = read_box(&line.text) else { continue };
            let found = identify::leading(line.text.get(mark.rest..)?)?;
            found.id.strip_prefix(id.as_str())?.strip_prefix('.')?;
            boxes += 1;
        }
        (boxes > 0).then_some(id)
    }

    fn group(&mut self, item: &Item, line: &Inline, (mark, id): (BoxMark, String), inherited: &Inherited) {
        let mut parent = self.reader.draft_line(line, mark, (item.range.start, true), &self.place);
        parent.attributes.inherit(&inherited.attributes);
        let withheld =
            Some(parent.status).filter(|status| matches!(status, TaskStatus::Cancelled | TaskStatus::Blocked));
        let mut own = Inherited {
            attributes: parent.attributes,
            details: inherited.details.clone(),
            withheld: withheld.or(inherited.withheld),
        };
        own.details.push(format!("Part of {id}: {}", parent.title));
        let first = self.found.drafts.len();
        for block in item.blocks.iter().skip(1) {
            match block {
                Block::List(items) => {
                    for plain in items {
                        if read_box(&self.reader.first_line(plain).text).is_none() {
                            self.reader.item_detail(plain, &mut own.attributes, &mut own.details);
                        }
                    }
                }
                other => self.reader.block_detail(other, &mut own.details),
            }
        }
        let details = own.details.join("\n");
        own.details = vec![handed_down(&details)];
        for child in item.blocks.iter().flat_map(items_of) {
            let line = self.reader.first_line(child);
            if let Some(mark) = read_box(&line.text) {
                self.boxed(child, &line, mark, &own);
            }
        }
        self.found.groups.push(Group { id, leaves: first..self.found.drafts.len() });
    }

    fn draft(&mut self, item: &Item, line: &Inline, mark: BoxMark, inherited: &Inherited) -> Draft {
        let mut draft = self.reader.draft_line(line, mark, (item.range.start, false), &self.place);
        draft.details.splice(0..0, inherited.details.iter().cloned());
        for block in item.blocks.iter().skip(1) {
            match block {
                Block::List(items) => {
                    for item in items {
                        self.reader.item_detail(item, &mut draft.attributes, &mut draft.details);
                    }
                }
                other => self.reader.block_detail(other, &mut draft.details),
            }
        }
        draft.attributes.inherit(&inherited.attributes);
        if let Some(status) = inherited.withheld.filter(|_| draft.status.runs()) {
            draft.status = status;
        }
        draft
    }

    /// Parses a heading of the form `Task N: …` and the blocks below it.
    fn task_heading(&mut self, range: Range<usize>, body: &[Block]) {
        let mut inline = Inline::new(self.reader.source, range.clone());
        let marks = inline.text.len() - inline.text.trim_start_matches(['#', ' ']).len();
        inline = Inline::new(self.reader.source, range.start + marks..range.end);
        let mark = read_box(&inline.text);
        let rest = mark.map_or(0, |mark| mark.rest);
        let plain = BoxMark { status: TaskStatus::Todo, optional: false, rest };
        let mut draft = self.reader.draft_line(&inline, mark.unwrap_or(plain), (range.start, false), &self.place);
        draft.box_at = mark.and(draft.box_at);
        if let Some(found) = heading::task(inline.text.get(rest..).unwrap_or_default()) {
            draft.number = Some(found.number.to_owned());
            let id = Located { text: found.id, offset: inline.offset(rest) };
            draft.id.get_or_insert(id);
        }
        if let Some(found) = heading::task(&draft.title) {
            draft.title = draft.title.get(found.rest..).unwrap_or_default().to_owned();
        }
        self.reader.fields(body, &mut draft);
        self.found.drafts.push(draft);
    }

    /// Records every box of an item as skipped.
    fn skip_all(&mut self, item: &Item, reason: &str) {
        for (offset, line) in self.reader.source.lines(item.range.clone()) {
            if looks_like_box(line) {
                self.reader.findings.skip(offset, reason);
            }
        }
    }

    /// Records lines that look like boxes in a block that is never read for tasks.
    fn skip_boxes(&mut self, block: &Block) {
        let Block::Opaque { kind, range } = block else { return };
        for (offset, line) in self.reader.source.lines(range.clone()) {
            if looks_like_box(line) {
                self.reader.findings.skip(offset, kind.place());
            }
        }
    }
}

/// Truncates the details that a group passes to each of its tasks, so that long ones do not multiply.
fn handed_down(detail: &str) -> String {
    match detail.char_indices().nth(MAX_HANDED_DOWN_CHARS) {
        Some((end, _)) => format!("{}…", detail.get(..end).unwrap_or_default()),
        None => detail.to_owned(),
    }
}
