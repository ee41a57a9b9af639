//! Finds the tasks in the blocks of a plan: boxes at the outermost level, and headings with fields.
//!
//! Whatever looks like a task and is none is recorded as skipped, with the reason; nothing is dropped in
//! silence. Ids, dependencies and order are decided later, when all tasks are known.

use std::ops::Range;

use super::attributes::{self, Attributes, Field, Key, Located};
use super::finding::Findings;
use super::heading;
use super::identify;
use super::outline::{Block, Item};
use super::source::{Inline, Source};
use super::text;
use crate::task::TaskStatus;

/// The most text that a group hands down to each of its tasks: its title and a few remarks.
const MAX_HANDED_DOWN_CHARS: usize = 2_000;

/// A task as written, before its id and its dependencies are settled.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    /// Where it begins.
    pub(super) at: usize,
    /// The byte between the brackets of its box; a heading has none.
    pub(super) box_at: Option<usize>,
    /// The id, if one is written.
    pub(super) id: Option<Located>,
    /// The number of `Task N` or `Step N`.
    pub(super) number: Option<String>,
    pub(super) title: String,
    pub(super) status: TaskStatus,
    pub(super) details: Vec<String>,
    pub(super) section: Option<String>,
    /// Counts sections of the document.
    pub(super) section_index: usize,
    /// Counts blocks of the document between which a phase's barrier stands.
    pub(super) phase: usize,
    pub(super) optional: bool,
    pub(super) attributes: Attributes,
}

/// A parent that only groups tasks: naming it means naming them.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) id: String,
    /// Indices of its tasks.
    pub(super) leaves: Range<usize>,
}

/// Everything that a document holds.
#[derive(Default)]
pub(super) struct Collected {
    pub(super) drafts: Vec<Draft>,
    pub(super) groups: Vec<Group>,
    /// The first heading of level one.
    pub(super) title: Option<String>,
}

/// Finds all tasks of a document.
pub(super) fn collect(source: &Source<'_>, blocks: &[Block], findings: &mut Findings) -> Collected {
    let mut walk =
        Walk { source, findings, found: Collected::default(), headings: Vec::new(), place: Place::default() };
    walk.document(blocks);
    walk.found
}

/// Where in the document the walk is.
#[derive(Clone, Default)]
struct Place {
    section: Option<String>,
    section_index: usize,
    phase: usize,
    /// The level of the phase's heading while inside one.
    phase_level: Option<u8>,
}

struct Walk<'s, 'a> {
    source: &'s Source<'a>,
    findings: &'s mut Findings,
    found: Collected,
    /// The open headings: level, and the title if it excludes tasks.
    headings: Vec<(u8, Option<String>)>,
    place: Place,
}

/// What an item's parents give it.
#[derive(Clone, Default)]
struct Inherited {
    attributes: Attributes,
    details: Vec<String>,
}

impl Walk<'_, '_> {
    fn document(&mut self, blocks: &[Block]) {
        let with_fields = (0..blocks.len()).any(|at| self.has_fields(blocks.get(at..).unwrap_or_default()));
        let mut rest = blocks;
        while let Some((block, after)) = rest.split_first() {
            rest = after;
            match block {
                Block::Heading { level, text } => {
                    let title = heading::title(self.source.slice(text.clone()));
                    let is_task = with_fields && heading::task(after_box(&title)).is_some();
                    if is_task && self.excluded().is_none() {
                        let body = after.iter().take_while(|block| !self.ends_task(*level, block)).count();
                        let (body, next) = after.split_at_checked(body).unwrap_or((after, &[]));
                        self.task_heading(text.clone(), body);
                        rest = next;
                    } else {
                        self.open_heading(*level, title);
                    }
                }
                Block::List(items) => self.list(items, &Inherited::default()),
                other => self.skip_boxes(other),
            }
        }
    }

    /// Tells whether the blocks begin with a task's heading that has a field below.
    fn has_fields(&self, blocks: &[Block]) -> bool {
        let Some((Block::Heading { text, .. }, after)) = blocks.split_first() else {
            return false;
        };
        let title = heading::title(self.source.slice(text.clone()));
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
            Block::Paragraph(range) => self.source.lines(range.clone()).iter().any(|(_, line)| is_field(line.trim())),
            Block::List(items) => items.iter().any(|item| is_field(&self.first_line(item).text)),
            _ => false,
        }
    }

    /// Tells whether a block ends the task whose heading has this level.
    fn ends_task(&self, task_level: u8, block: &Block) -> bool {
        let Block::Heading { level, text } = block else {
            return false;
        };
        *level <= task_level || heading::task(after_box(&heading::title(self.source.slice(text.clone())))).is_some()
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

    /// Gives the open heading under which boxes are no tasks.
    fn excluded(&self) -> Option<&str> {
        self.headings.iter().find_map(|(_, excludes)| excludes.as_deref())
    }

    fn first_line(&self, item: &Item) -> Inline {
        match item.blocks.first() {
            Some(Block::Paragraph(range)) => Inline::new(self.source, range.clone()),
            _ => Inline::default(),
        }
    }

    fn list(&mut self, items: &[Item], inherited: &Inherited) {
        let lines: Vec<Inline> = items.iter().map(|item| self.first_line(item)).collect();
        let any_box = lines.iter().any(|line| read_box(&line.text).is_some());
        for (item, line) in items.iter().zip(&lines) {
            match read_box(&line.text) {
                Some(mark) => self.boxed(item, line, mark, inherited),
                None => self.unboxed(item, line, any_box, inherited),
            }
        }
    }

    fn unboxed(&mut self, item: &Item, line: &Inline, beside_boxes: bool, inherited: &Inherited) {
        let before = (self.found.drafts.len(), self.findings.skipped.len());
        if let Some(reason) = odd_box(&line.text) {
            self.findings.skip(item.range.start, reason);
        }
        for block in &item.blocks {
            match block {
                Block::List(items) => self.list(items, inherited),
                other => self.skip_boxes(other),
            }
        }
        if beside_boxes && before == (self.found.drafts.len(), self.findings.skipped.len()) {
            self.findings.skip(item.range.start, "no checkbox, unlike its neighbours");
        }
    }

    fn boxed(&mut self, item: &Item, line: &Inline, mark: BoxMark, inherited: &Inherited) {
        if let Some(heading) = self.excluded() {
            let reason = format!("under \"{heading}\"");
            return self.skip_all(item, &reason);
        }
        if line.text.get(mark.rest..).unwrap_or_default().trim().is_empty() {
            self.findings.skip(item.range.start, "the box has no text");
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

    /// Gives the item's id if all boxes right below it are numbered under it (`2` above `2.1`).
    fn group_id(&self, item: &Item, line: &Inline, mark: BoxMark) -> Option<String> {
        let id = identify::leading(line.text.get(mark.rest..)?)?.id.to_owned();
        let mut boxes = 0;
        for child in item.blocks.iter().flat_map(items_of) {
            let line = self.first_line(child);
            let Some(mark) = read_box(&line.text) else { continue };
            let found = identify::leading(line.text.get(mark.rest..)?)?;
            found.id.strip_prefix(id.as_str())?.strip_prefix('.')?;
            boxes += 1;
        }
        (boxes > 0).then_some(id)
    }

    fn group(&mut self, item: &Item, line: &Inline, (mark, id): (BoxMark, String), inherited: &Inherited) {
        let mut parent = self.draft_line(line, mark, (item.range.start, true));
        parent.attributes.inherit(&inherited.attributes);
        let mut own = Inherited { attributes: parent.attributes, details: inherited.details.clone() };
        own.details.push(format!("Part of {id}: {}", parent.title));
        let first = self.found.drafts.len();
        for block in item.blocks.iter().skip(1) {
            match block {
                Block::List(items) => {
                    for plain in items {
                        if read_box(&self.first_line(plain).text).is_none() {
                            self.item_detail(plain, &mut own.attributes, &mut own.details);
                        }
                    }
                }
                other => self.block_detail(other, &mut own.details),
            }
        }
        let details = own.details.join("\n");
        own.details = vec![handed_down(&details)];
        for child in item.blocks.iter().flat_map(items_of) {
            let line = self.first_line(child);
            if let Some(mark) = read_box(&line.text) {
                self.boxed(child, &line, mark, &own);
            }
        }
        self.found.groups.push(Group { id, leaves: first..self.found.drafts.len() });
    }

    fn draft(&mut self, item: &Item, line: &Inline, mark: BoxMark, inherited: &Inherited) -> Draft {
        let mut draft = self.draft_line(line, mark, (item.range.start, false));
        draft.details.splice(0..0, inherited.details.iter().cloned());
        for block in item.blocks.iter().skip(1) {
            match block {
                Block::List(items) => {
                    for item in items {
                        self.item_detail(item, &mut draft.attributes, &mut draft.details);
                    }
                }
                other => self.block_detail(other, &mut draft.details),
            }
        }
        draft.attributes.inherit(&inherited.attributes);
        draft
    }

    /// Reads the line of a box: id, attributes, and the title that remains. A group may have a bare number as id.
    fn draft_line(&mut self, inline: &Inline, mark: BoxMark, (at, is_group): (usize, bool)) -> Draft {
        let line = attributes::read_line(inline, mark.rest, self.findings);
        let mut cuts = line.cuts;
        let head = skip_cuts(&inline.text, mark.rest, &cuts);
        let leading = identify::leading(inline.text.get(head..).unwrap_or_default())
            .filter(|found| is_group || !found.bare_number);
        let mut id = line.marked_id;
        cuts.push(0..mark.rest);
        if let Some(found) = leading.filter(|_| id.is_none()) {
            id = Some(Located { text: found.id.to_owned(), offset: inline.offset(head) });
            cuts.push(head..head + found.rest);
        }
        let mut lines = text::without(&inline.text, &cuts).into_iter();
        let title = text::without_strong(&lines.next().unwrap_or_default());
        let mut details: Vec<String> = lines.collect::<Vec<_>>().join("\n").trim().lines().map(str::to_owned).collect();
        details = if details.is_empty() { details } else { vec![details.join("\n")] };
        details.extend(line.attributes.labels.iter().map(|label| format!("Story: {label}")));
        let number = heading::task(&title).map(|found| found.number.to_owned());
        Draft {
            at,
            box_at: Some(inline.offset(1)),
            id,
            number,
            title,
            status: mark.status,
            details,
            section: self.place.section.clone(),
            section_index: self.place.section_index,
            phase: self.place.phase,
            optional: mark.optional,
            attributes: line.attributes,
        }
    }

    /// Reads one bullet below a task: an attribute, or a detail.
    fn item_detail(&mut self, item: &Item, attributes: &mut Attributes, details: &mut Vec<String>) {
        let line = self.first_line(item);
        let is_box = read_box(&line.text).is_some();
        if !is_box && let Some((key, mut value)) = attributes::read_detail(&line, self.findings) {
            if value.text.is_empty() {
                value.text = item
                    .blocks
                    .iter()
                    .flat_map(items_of)
                    .map(|child| self.list_value(child))
                    .collect::<Vec<_>>()
                    .join(", ");
            }
            return attributes.set(&Field { key, value: &value.text, offset: value.offset }, self.findings);
        }
        let content = item.blocks.first().map_or(item.range.start, |block| block.range().start);
        push_detail(details, &self.dedented(content..item.range.end));
    }

    /// Gives what a bullet below `files:` names; `Create:` and the like before it is a remark.
    fn list_value(&self, item: &Item) -> String {
        let line = self.first_line(item).text;
        match attributes::detail_key(&line) {
            Some((_, value)) => line.get(value..).unwrap_or_default().trim_start_matches(['*', '_']).trim().to_owned(),
            None => line,
        }
    }

    fn block_detail(&mut self, block: &Block, details: &mut Vec<String>) {
        push_detail(details, &self.dedented(block.range()));
    }

    /// Gives a range's lines as written, less the indentation of the first and less what is hidden.
    fn dedented(&self, range: Range<usize>) -> String {
        let column = range.start - self.source.line_start(self.source.line_of(range.start));
        let lines = self.source.lines(range);
        let dedent = |line: &str| {
            let blanks = line.bytes().take(column).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
            line.get(blanks..).unwrap_or_default().trim_end().to_owned()
        };
        let text = lines.iter().enumerate().map(
            |(at, (_, line))| {
                if at == 0 { line.trim_end().to_owned() } else { dedent(line) }
            },
        );
        let text = text.collect::<Vec<_>>().join("\n");
        let mut kept = String::new();
        let mut at = 0;
        for comment in text::spans(&text).comments {
            kept.push_str(text.get(at..comment.start).unwrap_or_default());
            at = comment.end;
        }
        kept.push_str(text.get(at..).unwrap_or_default());
        kept.retain(|c| !text::is_hidden(c));
        kept.trim().to_owned()
    }

    /// Reads a heading of the form `Task N: …` and the blocks below it.
    fn task_heading(&mut self, range: Range<usize>, body: &[Block]) {
        let mut inline = Inline::new(self.source, range.clone());
        let marks = inline.text.len() - inline.text.trim_start_matches(['#', ' ']).len();
        inline = Inline::new(self.source, range.start + marks..range.end);
        let mark = read_box(&inline.text);
        let rest = mark.map_or(0, |mark| mark.rest);
        let plain = BoxMark { status: TaskStatus::Todo, optional: false, rest };
        let mut draft = self.draft_line(&inline, mark.unwrap_or(plain), (range.start, false));
        draft.box_at = mark.and(draft.box_at);
        if let Some(found) = heading::task(inline.text.get(rest..).unwrap_or_default()) {
            draft.number = Some(found.number.to_owned());
            let id = Located { text: found.id, offset: inline.offset(rest) };
            draft.id.get_or_insert(id);
        }
        if let Some(found) = heading::task(&draft.title) {
            draft.title = draft.title.get(found.rest..).unwrap_or_default().to_owned();
        }
        self.fields(body, &mut draft);
        self.found.drafts.push(draft);
    }

    /// Reads the fields below a task's heading; everything else there is a detail.
    fn fields(&mut self, body: &[Block], draft: &mut Draft) {
        let mut open: Option<(Key, Located)> = None;
        for block in body {
            match block {
                Block::Paragraph(range) => open = self.field_lines(range.clone(), draft),
                Block::List(items) => match open.take() {
                    Some((key, mut value)) => {
                        value.text = items.iter().map(|item| self.list_value(item)).collect::<Vec<_>>().join(", ");
                        draft.attributes.set(&Field { key, value: &value.text, offset: value.offset }, self.findings);
                    }
                    None => {
                        for item in items {
                            if !self.status_field(&self.first_line(item).text, draft) {
                                self.item_detail(item, &mut draft.attributes, &mut draft.details);
                            }
                        }
                    }
                },
                other => self.block_detail(other, &mut draft.details),
            }
        }
    }

    /// Reads a paragraph line by line; gives a key at its end whose value is the list that follows.
    fn field_lines(&mut self, range: Range<usize>, draft: &mut Draft) -> Option<(Key, Located)> {
        let mut prose = Vec::new();
        let mut open = None;
        for (offset, line) in self.source.lines(range) {
            open = None;
            let inline = Inline::new(self.source, offset..offset + line.len());
            if self.status_field(&inline.text, draft) {
                continue;
            }
            match attributes::read_detail(&inline, self.findings) {
                Some((key, value)) if value.text.is_empty() => open = Some((key, value)),
                Some((key, value)) => {
                    draft.attributes.set(&Field { key, value: &value.text, offset: value.offset }, self.findings);
                }
                None => prose.push(self.dedented(offset..offset + line.len())),
            }
        }
        push_detail(&mut draft.details, &prose.join("\n"));
        open
    }

    /// Reads `**Status**: done`.
    fn status_field(&self, line: &str, draft: &mut Draft) -> bool {
        let Some((word, value)) = attributes::detail_key(line) else {
            return false;
        };
        let value = line.get(value..).unwrap_or_default().trim_matches(['*', '_', ' ', '`']).to_lowercase();
        let status = match value.replace(['-', ' '], "_").as_str() {
            "todo" | "to_do" | "open" | "pending" => TaskStatus::Todo,
            "done" | "complete" | "completed" => TaskStatus::Done,
            "in_progress" => TaskStatus::InProgress,
            "cancelled" | "canceled" => TaskStatus::Cancelled,
            "blocked" => TaskStatus::Blocked,
            _ => return false,
        };
        let is_status = word.eq_ignore_ascii_case("status");
        if is_status {
            draft.status = status;
        }
        is_status
    }

    /// Records every box of an item as skipped.
    fn skip_all(&mut self, item: &Item, reason: &str) {
        for (offset, line) in self.source.lines(item.range.clone()) {
            if looks_like_box(line) {
                self.findings.skip(offset, reason);
            }
        }
    }

    /// Records what looks like a box inside text that is never read for tasks.
    fn skip_boxes(&mut self, block: &Block) {
        let Block::Opaque { kind, range } = block else { return };
        for (offset, line) in self.source.lines(range.clone()) {
            if looks_like_box(line) {
                self.findings.skip(offset, kind.place());
            }
        }
    }
}

fn items_of(block: &Block) -> &[Item] {
    match block {
        Block::List(items) => items,
        _ => &[],
    }
}

fn push_detail(details: &mut Vec<String>, detail: &str) {
    if !detail.is_empty() {
        details.push(detail.to_owned());
    }
}

/// Gives the first byte from `start` that is neither blank nor cut.
fn skip_cuts(text: &str, start: usize, cuts: &[Range<usize>]) -> usize {
    let mut cuts: Vec<&Range<usize>> = cuts.iter().collect();
    cuts.sort_by_key(|cut| cut.start);
    let mut at = start;
    let mut cuts = cuts.into_iter().skip_while(|cut| cut.start < start).peekable();
    loop {
        let rest = text.get(at..).unwrap_or_default();
        at += rest.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        match cuts.next_if(|cut| cut.start == at) {
            Some(cut) => at = cut.end,
            None => return at,
        }
    }
}

/// Gives the text after a box, or all of it.
fn after_box(text: &str) -> &str {
    read_box(text).and_then(|mark| text.get(mark.rest..)).unwrap_or(text)
}

/// Shortens what a group hands down to each of its tasks, so that a long one does not multiply.
fn handed_down(detail: &str) -> String {
    match detail.char_indices().nth(MAX_HANDED_DOWN_CHARS) {
        Some((end, _)) => format!("{}…", detail.get(..end).unwrap_or_default()),
        None => detail.to_owned(),
    }
}

/// The box at the head of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct BoxMark {
    status: TaskStatus,
    optional: bool,
    /// The byte where the text goes on.
    rest: usize,
}

/// Reads `[ ]`, `[x]`, `[~]`, `[-]`, `[!]`, each with a `*` after it if it is optional.
fn read_box(text: &str) -> Option<BoxMark> {
    let mark = text.strip_prefix('[')?.chars().next()?;
    let status = match mark {
        ' ' => TaskStatus::Todo,
        'x' | 'X' => TaskStatus::Done,
        '~' => TaskStatus::InProgress,
        '-' => TaskStatus::Cancelled,
        '!' => TaskStatus::Blocked,
        _ => return None,
    };
    let after = text.get(2..)?.strip_prefix(']')?;
    let optional =
        after.starts_with('*') && after.get(1..).is_none_or(|rest| rest.is_empty() || rest.starts_with([' ', '\t']));
    let after = if optional { after.get(1..).unwrap_or_default() } else { after };
    let stands_alone = after.is_empty() || after.starts_with([' ', '\t', '\n']);
    stands_alone.then(|| BoxMark { status, optional, rest: text.len() - after.trim_start().len() })
}

/// Says what is odd about something that is nearly a box.
fn odd_box(text: &str) -> Option<String> {
    let inner = text.strip_prefix('[')?;
    if inner.starts_with("] ") {
        return Some("an empty `[]` is no box: write `[ ]`".to_owned());
    }
    let mark = inner.chars().next()?;
    let after = inner.get(mark.len_utf8()..)?.strip_prefix(']')?;
    (after.starts_with(' ')).then(|| format!("`[{mark}]` is no box: use one of `[ ]`, `[x]`, `[~]`, `[-]`, `[!]`"))
}

/// Tells whether a line, wherever it stands, is a bullet with a box.
fn looks_like_box(line: &str) -> bool {
    let line = line.trim_start_matches(['>', ' ', '\t']);
    let marker = line.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
    let body = line.get(marker..).unwrap_or_default();
    let Some(body) = body.strip_prefix(['-', '*', '+', '.', ')']) else {
        return false;
    };
    body.starts_with([' ', '\t']) && read_box(body.trim_start()).is_some()
}
