//! How a line of a plan becomes a task: its box, its attributes, and the fields and details below
//! it.
//!
//! [`crate::read::headings::collect`] finds the lines. Ids are assigned once all lines are known
//! ([`crate::fields::assign`]).

use std::ops::Range;
use std::sync::Arc;

use crate::check::finding::{FindingCode, Findings, Pending, SkippedKind};
use crate::fields::attributes;
use crate::fields::attributes::{Attributes, Field, Form, Located};
use crate::fields::closing;
use crate::fields::identify;
use crate::fields::key::{Key, key_of};
use crate::fields::names;
use crate::fields::names::KnownNames;
use crate::fields::value;
use crate::mark::Mark;
use crate::read::headings::heading;
use crate::read::lines::outline::{Block, Item};
use crate::read::lines::source::{Inline, Source};
use crate::read::lines::text;
use crate::read::lists::checkbox::{BoxMark, looks_like_box, odd_item, read_box};
use crate::read::lists::taken::{OpenKey, Taken};
use crate::read::states::done;
use crate::read::states::status;
use orchestrate_core::ids::TaskId;
use orchestrate_core::task::{Task, TaskStatus, Work};
use orchestrate_core::text::invisible::without_hidden;
use orchestrate_core::text::parts::{self, Parts};

/// The role whose agent carries a goal out.
pub const COORDINATOR: &str = "coordinator";

/// A task as written, before its id and its dependencies are determined.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    /// The byte offset of its first line.
    pub(crate) at: usize,
    /// What is written when it is done; empty for a heading without a box of its own or below it.
    pub(crate) marks: Vec<Mark>,
    /// The written id, if any.
    pub(crate) id: Option<Located>,
    /// The number of `Task N` or `Step N`, if the title begins so.
    pub(crate) number: Option<String>,
    /// Whether its number counts (`1.2`, `Task 3: …`, an item of an ordered list), and so gives an
    /// order.
    pub(crate) counts: bool,
    pub(crate) title: String,
    pub(crate) status: TaskStatus,
    pub(crate) details: Vec<String>,
    pub(crate) section: Option<String>,
    /// The index of its section in the document.
    pub(crate) section_index: usize,
    /// The index of its block; phase barriers separate blocks.
    pub(crate) phase: usize,
    /// The letter and number of its phase, such as `P2`.
    pub(crate) phase_label: Option<Arc<str>>,
    pub(crate) optional: bool,
    /// The index of the task that it is an optional part of.
    pub(crate) extends: Option<usize>,
    /// Whether the whole document is the task.
    pub(crate) goal: bool,
    pub(crate) attributes: Attributes,
}

impl Draft {
    /// Replaces the id.
    pub(crate) fn set_id(&mut self, id: Located) {
        self.counts |= counts(&id.text);
        self.id = Some(id);
    }

    /// Adds the boxes below its heading. They say that the task is done only if nothing else says
    /// its status.
    pub(crate) fn add_steps(&mut self, steps: Steps, is_said: bool) {
        if !is_said && steps.done > 0 && steps.open == 0 {
            self.status = TaskStatus::Done;
        }
        self.marks.extend(steps.marks);
    }

    /// Returns the task. Its line, its dependencies, its review and what it may leave as it is
    /// follow from the rest of the plan.
    pub(crate) fn into_task(self, id: TaskId) -> Task {
        let attributes = self.attributes;
        let agent = attributes.agent.map(|agent| agent.text);
        let agent = agent.or_else(|| self.goal.then(|| COORDINATOR.to_owned()));
        let mut files: Vec<String> = Vec::new();
        for file in attributes.files {
            if !files.contains(&file.text) {
                files.push(file.text);
            }
        }
        Task {
            id,
            title: self.title,
            status: self.status,
            details: self.details,
            section: self.section,
            line: 0,
            depends: Vec::new(),
            after: Vec::new(),
            files,
            work: attributes.run.map_or(Work::Agent(agent), Work::Run),
            verify: attributes.verify,
            model: attributes.model.map(|model| model.text),
            tokens: attributes.tokens,
            turns: attributes.turns,
            timeout_ms: attributes.timeout_ms,
            priority: attributes.priority.unwrap_or_default(),
            review: None,
            verdict: false,
            parallel: attributes.parallel,
            optional: self.optional,
            may_change_nothing: false,
            tests_what_it_follows: false,
            goal: self.goal,
        }
    }
}

/// The boxes below the heading of a task, which are ticked with it.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    marks: Vec<Mark>,
    open: usize,
    done: usize,
}

/// Reports whether an id is a number (`3`, `1.2`) rather than a name (`T1`).
fn counts(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

impl Steps {
    /// Reports whether some are left to do.
    pub(crate) fn are_open(&self) -> bool {
        self.open > 0
    }
}

/// The position of a task in the document.
#[derive(Clone, Default)]
pub(crate) struct Location {
    pub(crate) section: Option<String>,
    pub(crate) section_index: usize,
    pub(crate) phase: usize,
    /// The level of the enclosing phase's heading, if any.
    pub(crate) phase_level: Option<u8>,
    /// The letter and number of that phase.
    pub(crate) phase_label: Option<Arc<str>>,
}

/// The line that a task is read from.
pub(crate) struct TaskLine<'l, 'a> {
    /// The paragraph of the box.
    pub(crate) inline: &'l Inline<'a>,
    pub(crate) mark: BoxMark,
    /// Where the task begins.
    pub(crate) at: usize,
    /// Whether it may group tasks: only a group may have a bare number as its id.
    pub(crate) is_group: bool,
}

/// Parses the text of tasks.
pub(crate) struct Reader<'s, 'a> {
    pub(crate) source: &'s Source<'a>,
    pub(crate) known: &'s KnownNames,
    pub(crate) findings: &'s mut Findings,
}

impl<'a> Reader<'_, 'a> {
    /// Returns the first paragraph of an item as inline text; empty if it begins with another
    /// block.
    pub(crate) fn first_line(&self, item: &Item) -> Inline<'a> {
        Inline::new(self.source, item.text.clone())
    }

    /// Returns the box that an item begins with, and the line that begins with it.
    pub(crate) fn boxed_line(&self, item: &Item) -> Option<(Inline<'a>, BoxMark)> {
        // Most items below a task have none.
        if !self
            .source
            .slice(item.text.clone())
            .trim_start()
            .starts_with('[')
        {
            return None;
        }
        let line = self.first_line(item);
        let mark = read_box(&line.text)?;
        Some((line, mark))
    }

    /// Records every box of an item as skipped, or the item itself if its mark is no box.
    pub(crate) fn skip_all(&mut self, item: &Item, kind: &SkippedKind, reason: &str) {
        let lines = self.source.lines(item.range.clone());
        let mut boxes: Vec<usize> = lines
            .filter(|(_, line)| looks_like_box(line))
            .map(|(offset, _)| offset)
            .collect();
        if boxes.is_empty() {
            boxes.push(item.range.start);
        }
        boxes
            .into_iter()
            .for_each(|offset| self.findings.skip_as(kind.clone(), offset, reason));
    }

    /// Reports whether an item with a box stands right below a heading, given the blocks after it.
    pub(crate) fn holds_boxes(&self, after: &[Block]) -> bool {
        let own = after
            .iter()
            .take_while(|block| !matches!(block, Block::Heading { .. }));
        own.flat_map(items_of)
            .any(|item| self.boxed_line(item).is_some())
    }

    /// Parses the paragraph of a box: id, attributes, and the remaining title; further lines become
    /// a detail.
    pub(crate) fn draft_line(&mut self, line: &TaskLine<'_, '_>, place: &Location) -> Draft {
        let TaskLine {
            inline,
            mark,
            at,
            is_group,
        } = *line;
        // Most tasks have one line.
        let fields = match inline.is_one_line() {
            true => Vec::new(),
            false => {
                self.note_odd_lines(inline, mark.rest);
                self.field_lines_in(inline, Some(mark.rest))
            }
        };
        let without_fields = (!fields.is_empty()).then(|| inline.without_lines(&fields));
        let with_fields = inline;
        let inline = without_fields.as_ref().unwrap_or(inline);
        let mut line = attributes::read_line(inline, mark.rest, self.known, self.findings);
        let mut cuts = line.cuts;
        cuts.sort_unstable_by_key(|cut| cut.start);
        let mut start = skip_cuts(&inline.text, mark.rest, &cuts);
        start += inline
            .text
            .get(start..)
            .and_then(identify::date)
            .unwrap_or_default();
        let leading = identify::of_item(inline.text.tail(start))
            .filter(|found| is_group || !found.bare_number);
        let mut id = line.marked_id;
        let mut is_struck = false;
        if let Some(found) = leading.filter(|_| id.is_none()) {
            is_struck = inline.slice(start..start + found.start).contains("~~");
            id = Some(Located {
                text: found.id.to_owned(),
                offset: inline.offset(start + found.start),
            });
            start += found.rest;
        }
        // A box at the end of a heading.
        cuts.extend(
            mark.at
                .filter(|at| *at > mark.rest)
                .map(|at| at - 1..at + 2),
        );
        let (title, further) = text::without(&inline.text, start, &cuts);
        let title = if title.contains("**") {
            text::without_strong(title)
        } else {
            title
        };
        let title = if is_struck { unstruck(title) } else { title };
        let mut details: Vec<String> = Vec::new();
        push_detail(&mut details, further.join("\n").trim().to_owned());
        self.fields_at(with_fields, &fields, &mut line.attributes, &mut details);
        details.extend(
            line.attributes
                .labels
                .iter()
                .map(|label| format!("Story: {label}")),
        );
        let (number, is_counted) = match heading::task(&title) {
            Some(found) => (Some(found.number.to_owned()), found.counts),
            None => (None, false),
        };
        let is_number = id.as_ref().is_some_and(|id| counts(&id.text));
        Draft {
            at,
            marks: mark
                .at
                .map(|at| Mark::of_box(inline.offset(at)))
                .into_iter()
                .collect(),
            id,
            number,
            counts: is_number || is_counted,
            title,
            status: mark.status,
            details,
            section: place.section.clone(),
            section_index: place.section_index,
            phase: place.phase,
            phase_label: place.phase_label.clone(),
            optional: mark.optional,
            extends: None,
            goal: false,
            attributes: line.attributes,
        }
    }

    /// Records the lines of an item's paragraph after a byte that look like items with a box but
    /// belong to it.
    pub(crate) fn note_odd_lines(&mut self, inline: &Inline<'_>, after: usize) {
        for line in inline.lines().filter(|line| line.start > after) {
            if let Some(reason) = odd_item(inline.slice(line.clone())) {
                self.findings
                    .skip_as(SkippedKind::OddBox, inline.offset(line.start), reason);
            }
        }
    }

    /// Records the lines of a paragraph that look like items with a box or like headings of tasks,
    /// for the given reason if there is another one.
    pub(crate) fn note_odd_paragraph(
        &mut self,
        paragraph: Range<usize>,
        reason: Option<&(SkippedKind, String)>,
    ) {
        for (offset, line) in self.source.lines(paragraph) {
            if let Some(own) = odd_item(line).or_else(|| heading::odd(line).map(str::to_owned)) {
                let (kind, reason) = reason.cloned().unwrap_or((SkippedKind::OddBox, own));
                self.findings.skip_as(kind, offset, reason);
            }
        }
    }

    /// Returns the places of the lines of a paragraph, or of those after a byte, that are
    /// attributes, as a bullet with the same text is, each with the lines that continue its list,
    /// after a comma or with nothing else in them.
    fn field_lines_in(&mut self, inline: &Inline<'_>, after: Option<usize>) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        let mut open: Option<(Key, bool)> = None;
        for line in inline
            .lines()
            .filter(|line| after.is_none_or(|after| line.start > after))
        {
            let part = inline.part(line.clone());
            let ends_open = part.text.ends_with(',');
            let goes_on =
                open.is_some_and(|(key, is_open)| is_open || value::continues(key, &part.text));
            match attributes::read_detail(&part, Form::Bullet, self.findings)
                .filter(|field| self.is_set_by(field))
            {
                Some(field) => {
                    open = matches!(field.key, Key::Depends | Key::Files)
                        .then_some((field.key, ends_open));
                    found.push(line);
                }
                None if goes_on => {
                    open = open.map(|(key, _)| (key, ends_open));
                    found
                        .last_mut()
                        .into_iter()
                        .for_each(|last| last.end = line.end);
                }
                None => open = None,
            }
        }
        if !found.is_empty() {
            text::retain_outside(&inline.text, &mut found);
        }
        found
    }

    /// Reports whether a line without a bullet sets the attribute that it names; warns if it has no
    /// effect.
    fn is_set_by(&mut self, field: &Field<'_>) -> bool {
        let name = field.value.trim_start_matches('@');
        let (code, message, advice) = if field.value.is_empty() {
            let advice = "write the values behind the key, or as a list below it";
            (
                FindingCode::UnusedKey,
                "this key has no value in its line, so it is a detail".to_owned(),
                Some(advice),
            )
        } else if field.key == Key::Agent && !names::is_meant(name, self.known) {
            let message = format!("`{name}` is no role, so this is a detail of the task");
            (FindingCode::UnknownRole, message, None)
        } else {
            return true;
        };
        let found = Pending::new(field.offset, code, field.value, message);
        self.findings.warn(found.suggest(advice.map(str::to_owned)));
        false
    }

    /// Stores the fields at these places of a paragraph.
    fn fields_at(
        &mut self,
        inline: &Inline<'_>,
        places: &[Range<usize>],
        attributes: &mut Attributes,
        details: &mut Vec<String>,
    ) {
        for place in places {
            if let Some(field) =
                attributes::read_detail(&inline.part(place.clone()), Form::Bullet, self.findings)
            {
                self.field(&field, attributes, details);
            }
        }
    }

    /// Parses one bullet below a task: an attribute, or a detail. A box is always a detail.
    pub(crate) fn item_detail(
        &mut self,
        item: &Item,
        attributes: &mut Attributes,
        details: &mut Vec<String>,
    ) {
        let line = self.first_line(item);
        let is_box = read_box(&line.text).is_some();
        if !is_box && let Some(places) = self.fields_in_bullet(&line) {
            let mut takes_lists = false;
            for place in &places {
                let part = line.part(place.clone());
                let Some(field) = attributes::read_detail(&part, Form::Bullet, self.findings)
                else {
                    push_detail(details, part.text.to_string());
                    continue;
                };
                if !field.value.is_empty() {
                    self.field(&field, attributes, details);
                    continue;
                }
                takes_lists = true;
                let children = item.blocks.iter().flat_map(items_of);
                let (others, values): (Vec<&Item>, Vec<&Item>) =
                    children.partition(|item| self.is_other_field(field.key, item));
                let open = OpenKey::from_field(&field);
                let taken = Taken {
                    attributes: &mut *attributes,
                    details: &mut *details,
                };
                self.listed(open, &values, taken);
                for other in others {
                    self.item_detail(other, attributes, details);
                }
            }
            let prose = line
                .lines_outside(&places)
                .map(|prose| self.dedented(line.place(&prose)));
            push_detail(details, prose.collect::<Vec<_>>().join("\n"));
            let is_taken = |block: &&Block| takes_lists && matches!(block, Block::List(_));
            for block in item.blocks.iter().filter(|block| !is_taken(block)) {
                self.block_detail(block, attributes, details);
            }
            return;
        }
        push_detail(details, self.item_text(item));
    }

    /// Returns the text of an item without its marker; what is nested in it stays indented.
    fn item_text(&self, item: &Item) -> String {
        let (content, nested) = match item.blocks.first() {
            Some(block) if item.text.is_empty() => (block.range().start, item.range.end),
            None if item.text.is_empty() => (item.range.start, item.range.end),
            _ => (item.text.start, item.text.end),
        };
        // The range of an item that a tab sets in begins before it.
        let blanks = self.source.slice(item.range.start..content);
        let marker = item.range.start + blanks.len() - blanks.trim_start().len();
        self.dedented_to(content..item.range.end, nested, marker)
    }

    /// Returns the places of the attributes in the paragraph of a bullet that begins with one, each
    /// with the lines that continue its list or its command; `None` if it is prose.
    fn fields_in_bullet(&mut self, inline: &Inline<'_>) -> Option<Vec<Range<usize>>> {
        let is_field = attributes::read_detail(inline, Form::Bullet, self.findings).is_some();
        if inline.is_one_line() {
            return is_field.then(|| inline.lines().collect());
        }
        let mut findings = Findings::default();
        let mut further = Reader {
            source: self.source,
            known: self.known,
            findings: &mut findings,
        };
        let mut places: Vec<Range<usize>> = Vec::new();
        let mut open = None;
        for line in inline.lines() {
            let is_command = matches!(open, Some(Key::Run | Key::Verify));
            let goes_on = is_command
                && places
                    .last()
                    .is_some_and(|last| closing::goes_on(inline.slice(last.clone())));
            let part = inline.part(line.clone());
            let field = match places.is_empty() {
                true => Some(attributes::read_detail(
                    &part,
                    Form::Bullet,
                    &mut Findings::default(),
                )?),
                false if goes_on => None,
                false => attributes::read_detail(&part, Form::Bullet, further.findings)
                    .filter(|field| further.is_set_by(field)),
            };
            if let Some(field) = field {
                open = Some(field.key);
                places.push(line);
                continue;
            }
            if goes_on || matches!(open, Some(Key::Depends | Key::Files)) {
                places
                    .last_mut()
                    .into_iter()
                    .for_each(|last| last.end = line.end);
                continue;
            }
            if !is_field && places.len() == 1 {
                // Prose that begins like an attribute.
                return None;
            }
            if is_command {
                let message = "this is no part of the command above, so it is a detail of the task";
                let advice = "end the line above with `\\` or `&&` to continue the command";
                let found = Pending::new(
                    inline.offset(line.start),
                    FindingCode::InvalidValue,
                    inline.slice(line),
                    message,
                );
                further
                    .findings
                    .warn(found.suggest(Some(advice.to_owned())));
            }
            open = None;
        }
        self.findings.append(findings);
        text::retain_outside(&inline.text, &mut places);
        (!places.is_empty()).then_some(places)
    }

    /// Stores the value of a field; prose among files remains a detail.
    fn field(&mut self, field: &Field<'_>, attributes: &mut Attributes, details: &mut Vec<String>) {
        attributes.set(field, self.findings);
        if field.key == Key::Files && value::is_prose(field.value) {
            push_detail(details, format!("Files: {}", field.value));
        }
    }

    /// Stores the items below a key, whose value would be at the offset, as its values; one that
    /// says more is a detail as well.
    pub(crate) fn listed(
        &mut self,
        OpenKey { key, offset }: OpenKey,
        items: &[&Item],
        taken: Taken<'_>,
    ) {
        let Taken {
            attributes,
            details,
        } = taken;
        let values: Vec<(String, bool)> = items
            .iter()
            .map(|item| self.list_value(key, item))
            .collect();
        let value = values
            .iter()
            .map(|(value, _)| value.as_str())
            .collect::<Vec<_>>()
            .join(", ");
        self.field(
            &Field {
                key,
                value: &value,
                offset,
            },
            attributes,
            details,
        );
        for (item, _) in items
            .iter()
            .zip(&values)
            .filter(|(_, (_, says_more))| *says_more)
        {
            push_detail(details, self.item_text(item));
        }
    }

    /// Reports whether an item below a key may be a value of it: no box, and no field of its own.
    pub(crate) fn is_value(&self, key: Key, item: &Item) -> bool {
        self.boxed_line(item).is_none() && !self.is_other_field(key, item)
    }

    /// Reports whether an item below a key is a field of another key (`verify: make`) rather than a
    /// value with a remark before it (`Model: src/model.rs`).
    fn is_other_field(&self, key: Key, item: &Item) -> bool {
        let line = self.first_line(item).text;
        let Some((word, at)) = attributes::detail_key(&line) else {
            return false;
        };
        let said = line.tail(at).trim_matches(['*', '_', ' ', '`']);
        let is_path = || {
            said.split_whitespace()
                .next()
                .is_some_and(value::looks_like_path)
        };
        key_of(word).is_some_and(|other| other != key) && !(key == Key::Files && is_path())
    }

    /// Returns the value of a bullet below a key, without a remark such as `Create:` before it and,
    /// of a path, without one after it, and whether the bullet says more than that.
    fn list_value(&self, key: Key, item: &Item) -> (String, bool) {
        let line = self.first_line(item).text;
        let value = match attributes::detail_key(&line) {
            Some((_, value)) => line.tail(value).trim_start_matches(['*', '_']).trim(),
            None => line.as_ref(),
        };
        let has_blocks = !item.blocks.is_empty();
        match key {
            Key::Files => (
                value::first_paths(value),
                has_blocks || value::has_remark(value),
            ),
            _ => (value.to_owned(), has_blocks),
        }
    }

    /// Adds a block below a task as a detail, without the lines of a paragraph that are attributes.
    pub(crate) fn block_detail(
        &mut self,
        block: &Block,
        attributes: &mut Attributes,
        details: &mut Vec<String>,
    ) {
        let Block::Paragraph(range) = block else {
            return push_detail(details, self.dedented(block.range()));
        };
        self.note_odd_paragraph(range.clone(), None);
        let inline = Inline::new(self.source, range.clone());
        let fields = self.field_lines_in(&inline, None);
        if fields.is_empty() {
            return push_detail(details, self.dedented(range.clone()));
        }
        self.fields_at(&inline, &fields, attributes, details);
        let prose: Vec<String> = inline
            .lines_outside(&fields)
            .map(|line| self.dedented(inline.place(&line)))
            .collect();
        push_detail(details, prose.join("\n"));
    }

    /// Returns a range's lines without the indentation of the first, HTML comments and hidden
    /// characters.
    pub(crate) fn dedented(&self, range: Range<usize>) -> String {
        let (end, start) = (range.end, range.start);
        self.dedented_to(range, end, start)
    }

    /// Like [`Self::dedented`], but the lines from an offset on keep their indentation below that
    /// of another place.
    fn dedented_to(&self, range: Range<usize>, nested: usize, outer: usize) -> String {
        let written = self.source.slice(range.clone()).trim();
        if text::all_bytes(written, is_plain) {
            return written.to_owned();
        }
        let column = self.source.column(range.start);
        let nested_column = if nested < range.end {
            self.source.column(outer)
        } else {
            column
        };
        let mut text = String::with_capacity(range.len());
        for (at, (offset, line)) in self.source.lines(range).enumerate() {
            let column = if offset < nested {
                column
            } else {
                nested_column
            };
            let (separator, blanks) = if at == 0 {
                ("", 0)
            } else {
                ("\n", text::blanks_before(line, column))
            };
            text.push_str(separator);
            text.push_str(line.tail(blanks).trim_end());
        }
        let comments = text::spans(&text).comments.into_iter();
        let kept = parts::replaced(&text, comments.map(|comment| (comment, "")));
        without_hidden(&kept).trim().to_owned()
    }

    /// Parses the fields below a task's heading; everything else there is a detail. A field without
    /// a value takes the list after it, up to the first box, which is a step of the task. Returns
    /// the steps.
    pub(crate) fn fields(&mut self, body: &[Block], draft: &mut Draft) -> Steps {
        let mut steps = Steps::default();
        let mut open: Option<OpenKey> = None;
        for block in body {
            match block {
                Block::Paragraph(range) => open = self.field_lines(range.clone(), draft),
                Block::List(items) => {
                    let taken = Taken {
                        attributes: &mut draft.attributes,
                        details: &mut draft.details,
                    };
                    let rest = self.values_below(open.take(), items, taken);
                    for item in rest {
                        self.steps(item, &mut steps);
                        if !self.status_field(&self.first_line(item), draft) {
                            self.item_detail(item, &mut draft.attributes, &mut draft.details);
                        }
                    }
                }
                other => {
                    open = None;
                    self.block_detail(other, &mut draft.attributes, &mut draft.details);
                }
            }
        }
        steps
    }

    /// Adds the boxes of an item and of the lists in it; a cancelled one stays as it is.
    fn steps(&self, item: &Item, steps: &mut Steps) {
        if let Some((line, mark)) = self
            .boxed_line(item)
            .filter(|(_, mark)| mark.status != TaskStatus::Cancelled)
        {
            steps
                .marks
                .extend(mark.at.map(|at| Mark::of_box(line.offset(at))));
            *(if mark.status == TaskStatus::Done {
                &mut steps.done
            } else {
                &mut steps.open
            }) += 1;
        }
        item.blocks
            .iter()
            .flat_map(items_of)
            .for_each(|item| self.steps(item, steps));
    }

    /// Records lines that look like boxes in a block that is never read for tasks.
    pub(crate) fn skip_boxes(&mut self, block: &Block) {
        let Block::Opaque { kind, range } = block else {
            return;
        };
        let source = self.source;
        let boxes = source
            .lines(range.clone())
            .filter(|(_, line)| looks_like_box(line));
        let mut slip = None;
        for (offset, _) in boxes {
            match slip.get_or_insert_with(|| kind.slip(source.slice(range.clone()))) {
                Some(reason) => self.findings.skip_as(SkippedKind::OddBox, offset, *reason),
                None => self.findings.skip(offset, kind.place()),
            }
        }
    }

    /// Parses a paragraph line by line; returns the key of its last line, and the offset after it,
    /// if its value is the list that follows.
    fn field_lines(&mut self, range: Range<usize>, draft: &mut Draft) -> Option<OpenKey> {
        let mut prose = Vec::new();
        let mut open = None;
        let mut list: Option<Key> = None;
        let source = self.source;
        for (offset, line) in source.lines(range) {
            open = None;
            let inline = Inline::new(self.source, offset..offset + line.len());
            if self.status_field(&inline, draft) {
                continue;
            }
            let field = attributes::read_detail(&inline, Form::Line, self.findings);
            let more = list.filter(|key| field.is_none() && value::continues(*key, &inline.text));
            let more = more.map(|key| Field {
                key,
                value: &inline.text,
                offset: inline.offset(0),
            });
            let field = field.or(more);
            list = field
                .as_ref()
                .map(|field| field.key)
                .filter(|key| matches!(key, Key::Depends | Key::Files));
            match field {
                Some(field) if field.value.is_empty() => open = Some(OpenKey::from_field(&field)),
                Some(field) => self.field(&field, &mut draft.attributes, &mut draft.details),
                None => prose.push(self.dedented(offset..offset + line.len())),
            }
        }
        push_detail(&mut draft.details, prose.join("\n"));
        open
    }

    /// Parses a line such as `**Status**: done`; returns whether it set the status.
    pub(crate) fn status_field(&self, line: &Inline<'_>, draft: &mut Draft) -> bool {
        let Some((word, at)) = attributes::detail_key(&line.text) else {
            return false;
        };
        if !word.eq_ignore_ascii_case("status") {
            return false;
        }
        let said = line.text.tail(at);
        let value = said.trim_matches(['*', '_', ' ', '`']);
        let status = status::of_text(value).filter(|_| !value.is_empty());
        if let (Some(status), Some(start)) = (status, said.find(value)) {
            draft.status = status;
            draft
                .marks
                .extend(done::mark(value, line.offset(at + start)));
        }
        status.is_some()
    }

    /// Warns of a word at the end of a title that may be meant as a status.
    pub(crate) fn note_doubtful_status(&mut self, draft: &Draft) {
        let Some(word) = status::doubtful(&draft.title) else {
            return;
        };
        let message =
            format!("`{word}` at the end is read as part of the title, so the task is open");
        let advice = "write `(done)` or `(cancelled)` if it is";
        let found = Pending::new(draft.at, FindingCode::LookAlike, word, message);
        self.findings.warn(found.suggest(Some(advice.to_owned())));
    }
}

fn is_plain(byte: u8) -> bool {
    (byte < 0x80) & (byte != b'\n') & (byte != b'\r') & (byte != b'<') & (byte != b'`')
}

/// Returns the items of a list; empty for any other block.
pub(crate) fn items_of(block: &Block) -> &[Item] {
    match block {
        Block::List(items) => items,
        _ => &[],
    }
}

/// Returns a title without the end of the strikes that begin before its id, or with their beginning
/// if they end within it.
fn unstruck(title: String) -> String {
    if title.matches("~~").count().is_multiple_of(2) {
        return title;
    }
    match title.strip_suffix("~~") {
        Some(own) => own.trim_end().to_owned(),
        None => format!("~~{title}"),
    }
}

fn push_detail(details: &mut Vec<String>, detail: String) {
    if detail.is_empty() {
        return;
    }
    // Most tasks have no other one.
    if details.is_empty() {
        details.reserve_exact(1);
    }
    details.push(detail);
}

/// Returns the offset of the first byte from `start` on that is neither blank nor cut; the cuts are
/// in order.
fn skip_cuts(text: &str, start: usize, cuts: &[Range<usize>]) -> usize {
    let mut at = start;
    let mut cuts = cuts.iter().skip_while(|cut| cut.start < start).peekable();
    loop {
        let rest = text.tail(at);
        at += rest
            .bytes()
            .take_while(|byte| matches!(byte, b' ' | b'\t'))
            .count();
        match cuts.next_if(|cut| cut.start == at) {
            Some(cut) => at = cut.end,
            None => return at,
        }
    }
}
