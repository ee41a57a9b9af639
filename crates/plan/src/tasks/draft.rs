//! How a line of a plan becomes a task: its box, its attributes, and the fields and details below
//! it.
//!
//! The walk of a document finds the lines. Ids are assigned once all lines are known.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use crate::fields::attributes;
use crate::fields::attributes::{Attributes, Field, Form, Located};
use crate::fields::closing;
use crate::fields::identify;
use crate::fields::key::{Key, key_of};
use crate::fields::names;
use crate::fields::names::KnownNames;
use crate::fields::value;
use crate::fields::value::PathList;
use crate::finding::Findings;
use crate::lines::outline::{Block, Item, Opaque};
use crate::lines::source::{Inline, Source};
use crate::lines::text;
use crate::mark::Mark;
use crate::tasks::checkbox::{BoxMark, odd_item, read_box};
use crate::tasks::done;
use crate::tasks::heading;
use crate::tasks::legend::Legend;
use crate::tasks::status;
use orchestrate_core::ids::TaskId;
use orchestrate_core::task::{Task, TaskStatus, Work};
use orchestrate_core::text::invisible::without_hidden;
use orchestrate_core::text::parts::{self, Parts};

/// The role whose agent carries a goal out.
pub const COORDINATOR: &str = "coordinator";

/// Why a task with a status that is not known is not run.
pub(crate) const UNKNOWN: &str = "its status is not known";

/// The least length of a line that was wrapped, and the maximum length of a title of several lines.
const MIN_WRAPPED: usize = 60;
const MAX_WRAPPED: usize = 240;

/// What ends a sentence, or begins a list.
const ENDS: [char; 8] = ['.', ':', ';', '!', '?', '。', '：', '；'];

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
    /// Why no run may start it, unless its own mark says so.
    pub(crate) held: Option<Cow<'static, str>>,
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
    /// The key that its line ends with, whose values are the list below it.
    pub(crate) open: Option<OpenKey>,
    pub(crate) attributes: Attributes,
}

impl Draft {
    /// Replaces the id.
    pub(crate) fn set_id(&mut self, id: Located) {
        self.counts |= text::is_number(&id.text);
        self.id = Some(id);
    }

    /// Keeps an open task from being run, for a reason.
    pub(crate) fn hold(&mut self, status: TaskStatus, reason: impl Into<Cow<'static, str>>) {
        if self.status.runs() {
            self.status = status;
            self.held = Some(reason.into());
        }
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
            answers: None,
            goal: self.goal,
        }
    }
}

/// A parent that only groups tasks; a reference to it means all its tasks.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) id: String,
    /// Its box, which is ticked once all its tasks are done.
    pub(crate) mark: Option<Mark>,
    /// Indices of its drafts.
    pub(crate) leaves: Range<usize>,
}

/// The boxes below the heading of a task, which are ticked with it.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    marks: Vec<Mark>,
    open: usize,
    done: usize,
}

/// A key whose values are the list below it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenKey {
    pub(crate) key: Key,
    /// The offset at which a value beside the key would be.
    pub(crate) offset: usize,
}

/// The value of a bullet below a key.
struct ListValue {
    text: String,
    /// Whether the bullet says more than that.
    is_less: bool,
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
    /// What stands below it.
    pub(crate) next: Option<&'l Block>,
}

/// Parses the text of tasks.
pub(crate) struct Reader<'s, 'a> {
    pub(crate) source: &'s Source<'a>,
    pub(crate) legend: &'s Legend,
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
        let text = self.source.slice(item.text.clone());
        if !text.trim_start().starts_with('[') {
            return None;
        }
        let line = self.first_line(item);
        let mark = read_box(&line.text)?;
        let mark = self.legend.applied(&line.text, mark);
        Some((line, mark))
    }

    /// Parses the paragraph of a box: id, attributes, and the remaining title; further lines become
    /// a detail.
    pub(crate) fn draft_line(&mut self, line: &TaskLine<'_, '_>, place: &Location) -> Draft {
        let TaskLine {
            inline,
            mark,
            at,
            is_group,
            next,
        } = *line;
        // Most tasks have one line.
        let fields = match inline.is_one_line() {
            true => Vec::new(),
            false => {
                self.note_odd_lines(inline.further_lines());
                self.field_places(inline, Form::Paragraph, Some(mark.rest), next)
            }
        };
        let without_fields = (!fields.is_empty()).then(|| inline.without_lines(&fields));
        let with_fields = inline;
        let inline = without_fields.as_ref().unwrap_or(inline);
        let line = attributes::read_line(inline, mark.rest, self.known, self.findings);
        let mut cuts = line.cuts;
        cuts.sort_unstable_by_key(|cut| cut.start);
        let mut start = skip_cuts(&inline.text, mark.rest, &cuts);
        start += identify::date(inline.text.tail(start)).unwrap_or(0);
        let leading = identify::of_item(inline.text.tail(start));
        let mut id = line.marked_id;
        let mut is_struck = false;
        if let Some(found) = leading.filter(|found| is_group || !found.bare_number)
            && id.is_none()
        {
            is_struck = inline.slice(start..start + found.start).contains("~~");
            let offset = inline.offset(start + found.start);
            id = Some(Located::new(found.id, offset));
            start += found.rest;
        }
        // A box at the end of a heading.
        let at_end = mark.at.filter(|at| *at > mark.rest);
        cuts.extend(at_end.map(|at| at - 1..at + 2));
        let (mut title, mut further) = text::without(&inline.text, start, &cuts);
        join_wrapped(&mut title, &mut further);
        if title.contains("**") {
            title = text::without_strong(&title);
        }
        if is_struck {
            // The strikes that begin before the id end behind the title, or within it.
            title = match title.strip_suffix("~~") {
                Some(own) => own.trim_end().to_owned(),
                None if title.contains("~~") => format!("~~{title}"),
                None => title,
            };
        }
        let counted = heading::task(&title);
        let is_number = id.as_ref().is_some_and(|id| text::is_number(&id.text));
        let mut draft = Draft {
            at,
            marks: Vec::from_iter(mark.at.map(|at| Mark::of_box(inline.offset(at)))),
            id,
            number: counted.as_ref().map(|found| found.number.to_owned()),
            counts: is_number || counted.is_some_and(|found| found.counts),
            status: match mark.status {
                TaskStatus::Todo => line.attributes.said.unwrap_or_default(),
                said => said,
            },
            section: place.section.clone(),
            section_index: place.section_index,
            phase: place.phase,
            phase_label: place.phase_label.clone(),
            optional: mark.optional || line.attributes.optional,
            attributes: line.attributes,
            title,
            ..Draft::default()
        };
        push_detail(&mut draft.details, further.join("\n").trim().to_owned());
        self.fields_at(with_fields, Form::Paragraph, &fields, &mut draft);
        let labels = draft.attributes.labels.iter();
        let labels = labels.map(|label| format!("Story: {label}"));
        draft.details.extend(labels);
        draft
    }

    /// Records the lines of a text that look like items with a box or like headings of tasks.
    pub(crate) fn note_odd_lines(&mut self, text: Range<usize>) {
        for (offset, line) in self.source.lines(text) {
            if let Some(reason) = odd_item(line).or_else(|| heading::odd(line)) {
                self.findings.skip(offset, reason);
            }
        }
    }

    /// Returns the places of the attributes in a paragraph, or in its lines after a byte, each with
    /// the lines that continue its list or its command. An item of a list that does not begin with
    /// one is prose.
    fn field_places(
        &mut self,
        inline: &Inline<'_>,
        form: Form,
        after: Option<usize>,
        next: Option<&Block>,
    ) -> Vec<Range<usize>> {
        let is_item = matches!(form, Form::Bullet | Form::Point);
        let mut places: Vec<Range<usize>> = Vec::new();
        let mut open: Option<Key> = None;
        for line in inline.lines() {
            if after.is_some_and(|after| line.start <= after) {
                continue;
            }
            let part = inline.part(line.clone());
            let so_far = inline.slice(places.last().cloned().unwrap_or_default());
            let is_command = matches!(open, Some(Key::Run | Key::Verify));
            let is_unfinished = is_command && closing::goes_on(so_far);
            let goes_on = match open {
                Some(_) if is_command => is_item || is_unfinished,
                Some(key) => so_far.ends_with(',') || value::continues(key, &part.text),
                None => false,
            };
            let begun = match is_unfinished {
                true => None,
                false => {
                    let is_last = line.end == inline.text.len();
                    self.begins_field(&part, form, is_last && self.begins_with_value(next))
                }
            };
            if let Some(key) = begun {
                let is_long = matches!(key, Key::Depends | Key::Files | Key::Run | Key::Verify);
                open = Some(key).filter(|_| is_long);
                places.push(line);
            } else if goes_on && let Some(last) = places.last_mut() {
                last.end = line.end;
            } else if is_item && places.is_empty() {
                return places;
            } else {
                open = None;
            }
        }
        if !inline.is_one_line() && !places.is_empty() {
            text::retain_outside(&inline.text, &mut places);
        }
        // Whether a command is one shows at its end.
        places.retain(|place| {
            let part = inline.part(place.clone());
            attributes::command_key(&part.text, form).is_none()
                || attributes::read_detail(&part, form, self.findings).is_some()
        });
        places
    }

    /// Returns the key of a line that begins an attribute. One without a value in its line is a
    /// detail, unless a list follows, and so is the name of another thing than a role.
    fn begins_field(&mut self, line: &Inline<'_>, form: Form, may_be_open: bool) -> Option<Key> {
        if let Some(key) = attributes::command_key(&line.text, form) {
            return Some(key);
        }
        let field = attributes::read_detail(line, form, self.findings)?;
        let name = field.value.trim_start_matches('@');
        let is_open = field.value.is_empty() && form == Form::Paragraph && !may_be_open;
        let is_other = field.key == Key::Agent && !names::is_meant(name, self.known);
        (!is_open && !is_other).then_some(field.key)
    }

    /// Stores the fields at these places of a paragraph; a last one that ends it without a value is
    /// the key of the list that follows.
    fn fields_at(
        &mut self,
        inline: &Inline<'_>,
        form: Form,
        places: &[Range<usize>],
        draft: &mut Draft,
    ) {
        draft.open = None;
        for place in places {
            let part = inline.part(place.clone());
            // What there is to say of it has been said.
            let field = attributes::read_detail(&part, form, &mut Findings::default());
            let Some(field) = field else { continue };
            if !field.value.is_empty() {
                self.field(&field, draft);
            } else if place.end == inline.text.len() {
                let (key, offset) = (field.key, field.offset);
                draft.open = Some(OpenKey { key, offset });
            }
        }
    }

    /// Parses one bullet below a task: an attribute, or a detail. A box is always a detail.
    pub(crate) fn item_detail(&mut self, form: Form, item: &Item, draft: &mut Draft) {
        let line = self.first_line(item);
        if self.takes_fence(&line, form, item.blocks.first(), draft) {
            for block in item.blocks.iter().skip(1) {
                self.block_detail(block, draft);
            }
            return;
        }
        let places = match read_box(&line.text) {
            Some(_) => Vec::new(),
            None => self.field_places(&line, form, None, None),
        };
        if places.is_empty() {
            return push_detail(&mut draft.details, self.item_text(item));
        }
        self.fields_at(&line, form, &places, draft);
        let open = draft.open.take();
        if let Some(open) = open {
            let children = item.blocks.iter().flat_map(items_of);
            let (others, values): (Vec<&Item>, Vec<&Item>) =
                children.partition(|item| self.is_other_field(open.key, item));
            self.listed(open, &values, draft);
            for other in others {
                self.item_detail(form, other, draft);
            }
        }
        push_detail(&mut draft.details, self.prose(&line, &places));
        for block in &item.blocks {
            if open.is_none() || !matches!(block, Block::List(_)) {
                self.block_detail(block, draft);
            }
        }
    }

    /// Takes the code in a fence as the command of the key that the line above it ends with, and
    /// reports whether it did. A command of several lines ends with the first that fails.
    fn takes_fence(
        &mut self,
        line: &Inline<'_>,
        form: Form,
        next: Option<&Block>,
        draft: &mut Draft,
    ) -> bool {
        let Some(Block::Opaque { kind, range }) = next else {
            return false;
        };
        let key = attributes::command_key(&line.text, form);
        let value = attributes::detail_key(&line.text).map_or(0, |(_, at)| at);
        let said = line.text.tail(value).trim_matches(['*', '_', ' ']);
        let is_open = said.is_empty() && *kind == Opaque::Code;
        let Some(key) = key.filter(|_| is_open) else {
            return false;
        };
        let written = self.dedented(range.clone());
        let is_fence = kind.slip(&written).is_none();
        let inner = written.split_once('\n').filter(|_| is_fence);
        let Some((code, _)) = inner.and_then(|(_, rest)| rest.rsplit_once('\n')) else {
            return false;
        };
        if code.trim().is_empty() {
            return false;
        }
        let code = match code.contains('\n') {
            true => format!("set -e\n{code}"),
            false => code.to_owned(),
        };
        let field = Field::new(key, &code, range.start);
        draft.attributes.set(&field, self.findings);
        true
    }

    /// Returns the lines of a paragraph that are no attributes.
    fn prose(&self, inline: &Inline<'_>, attributes: &[Range<usize>]) -> String {
        let mut prose = Vec::new();
        for line in inline.lines_outside(attributes) {
            prose.push(self.dedented(inline.place(&line)));
        }
        prose.join("\n")
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

    /// Stores the value of a field; prose among files remains a detail.
    fn field(&mut self, field: &Field<'_>, draft: &mut Draft) {
        draft.attributes.set(field, self.findings);
        if field.says_more() {
            push_detail(&mut draft.details, format!("Files: {}", field.value));
        }
    }

    /// Stores the items below a key, whose value would be at the offset, as its values; one that
    /// says more is a detail as well.
    pub(crate) fn listed(&mut self, open: OpenKey, items: &[&Item], draft: &mut Draft) {
        let OpenKey { key, offset } = open;
        let mut texts = Vec::new();
        let mut others = Vec::new();
        for item in items {
            let value = self.list_value(key, item);
            texts.push(value.text);
            if value.is_less {
                others.push(self.item_text(item));
            }
        }
        self.field(&Field::new(key, &texts.join(", "), offset), draft);
        for other in others {
            push_detail(&mut draft.details, other);
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
        let is_other = key_of(word).is_some_and(|other| other != key);
        let said = line.tail(at).trim_matches(['*', '_', ' ', '`']);
        let first = said.split_whitespace().next();
        is_other && !(key == Key::Files && first.is_some_and(value::looks_like_path))
    }

    /// Returns the value of a bullet below a key, without a remark such as `Create:` before it.
    fn list_value(&self, key: Key, item: &Item) -> ListValue {
        let line = self.first_line(item).text;
        let value = match attributes::detail_key(&line) {
            Some((_, value)) => line.tail(value).trim_start_matches(['*', '_']).trim(),
            None => line.as_ref(),
        };
        let has_blocks = !item.blocks.is_empty();
        if key != Key::Files {
            return ListValue {
                text: value.to_owned(),
                is_less: has_blocks,
            };
        }
        let list = PathList::read(value);
        let paths = list.paths.iter().map(|path| format!("`{path}`"));
        ListValue {
            text: paths.collect::<Vec<_>>().join(", "),
            is_less: has_blocks || list.says_more(),
        }
    }

    /// Adds a block below a task as a detail, without the lines of a paragraph that are attributes.
    pub(crate) fn block_detail(&mut self, block: &Block, draft: &mut Draft) {
        match block {
            Block::Paragraph(range) => {
                self.paragraph_detail(range.clone(), None, draft);
            }
            other => push_detail(&mut draft.details, self.dedented(other.range())),
        }
    }

    /// Adds a paragraph below a task like [`Self::block_detail`]; the block below it may be the
    /// values of the key that it ends with.
    pub(crate) fn paragraph_detail(
        &mut self,
        range: Range<usize>,
        next: Option<&Block>,
        draft: &mut Draft,
    ) {
        self.note_odd_lines(range.clone());
        let inline = Inline::new(self.source, range.clone());
        let places = self.field_places(&inline, Form::Paragraph, None, next);
        self.fields_at(&inline, Form::Paragraph, &places, draft);
        push_detail(
            &mut draft.details,
            match places.is_empty() {
                true => self.dedented(range),
                false => self.prose(&inline, &places),
            },
        );
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
        let first = range.start;
        for (offset, line) in self.source.lines(range) {
            let mut blanks = 0;
            if offset > first {
                text.push('\n');
                let column = if offset < nested {
                    column
                } else {
                    nested_column
                };
                blanks = text::blanks_before(line, column);
            }
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
        let mut blocks = body.iter().peekable();
        while let Some(block) = blocks.next() {
            match block {
                Block::Paragraph(range) => {
                    let mut range = range.clone();
                    let last = self.source.lines(range.clone()).last();
                    let (at, line) = last.unwrap_or((range.start, ""));
                    let line = Inline::new(self.source, at..at + line.len());
                    if self.takes_fence(&line, Form::Line, blocks.peek().copied(), draft) {
                        range.end = at;
                        blocks.next();
                    }
                    self.field_lines(range, draft);
                }
                Block::List(items) => {
                    for item in self.values_below(items, draft) {
                        self.steps(item, &mut steps);
                        if !self.status_field(&self.first_line(item), draft) {
                            self.item_detail(Form::Point, item, draft);
                        }
                    }
                }
                other => {
                    draft.open = None;
                    if let Block::Opaque {
                        kind: Opaque::Quote,
                        range,
                    } = other
                    {
                        for (at, line) in self.source.lines(range.clone()) {
                            let own = line.trim_start_matches(['>', ' ']);
                            let end = at + line.len();
                            let line = Inline::new(self.source, end - own.len()..end);
                            self.status_field(&line, draft);
                        }
                    }
                    self.block_detail(other, draft);
                }
            }
        }
        steps
    }

    /// Reports whether there are boxes in these blocks, and all of them are ticked.
    pub(crate) fn are_ticked(&self, blocks: &[Block]) -> bool {
        let mut steps = Steps::default();
        for item in blocks.iter().flat_map(items_of) {
            self.steps(item, &mut steps);
        }
        steps.done > 0 && steps.open == 0
    }

    /// Adds the boxes of an item and of the lists in it; a cancelled one stays as it is.
    fn steps(&self, item: &Item, steps: &mut Steps) {
        if let Some((line, mark)) = self
            .boxed_line(item)
            .filter(|(_, mark)| mark.status != TaskStatus::Cancelled)
        {
            let place = mark.at.map(|at| Mark::of_box(line.offset(at)));
            steps.marks.extend(place);
            match mark.status {
                TaskStatus::Done => steps.done += 1,
                _ => steps.open += 1,
            }
        }
        for part in item.blocks.iter().flat_map(items_of) {
            self.steps(part, steps);
        }
    }

    /// Parses a paragraph line by line.
    fn field_lines(&mut self, range: Range<usize>, draft: &mut Draft) {
        let inline = Inline::new(self.source, range);
        let places = self.field_places(&inline, Form::Line, None, None);
        self.fields_at(&inline, Form::Line, &places, draft);
        let mut prose = Vec::new();
        for line in inline.lines_outside(&places) {
            if !self.status_field(&inline.part(line.clone()), draft) {
                prose.push(self.dedented(inline.place(&line)));
            }
        }
        push_detail(&mut draft.details, prose.join("\n"));
    }

    /// Parses a line such as `**Status**: done`; returns whether it set the status.
    pub(crate) fn status_field(&mut self, line: &Inline<'_>, draft: &mut Draft) -> bool {
        let Some(said) = status::place_in(&line.text) else {
            return false;
        };
        let value = line.text.part(said.clone());
        let Some(status) = done::status_of_cell(value) else {
            self.unknown_status(line, draft);
            return false;
        };
        draft.status = status;
        let place = line.offset(said.start);
        draft.marks.extend(done::mark_of_cell(value, place));
        true
    }

    /// Withholds an open task whose field says a status that is not known, unless a box or a mark
    /// says how far it is.
    pub(crate) fn unknown_status(&mut self, line: &Inline<'_>, draft: &mut Draft) {
        let Some(said) = status::place_in(&line.text) else {
            return;
        };
        let value = line.text.part(said.clone());
        // What follows text in a plain line may be a part of it: `The page shows: - Status: a
        // badge`.
        let mut details = draft.details.iter();
        let is_first = details.next().is_none_or(|first| *first == line.text);
        let is_field = is_first || line.text.starts_with(['*', '_']);
        let is_known = status::of_cell(value).is_some() || !status::may_be(value);
        if is_known || !is_field || !draft.status.runs() {
            return;
        }
        if draft.marks.is_empty() {
            draft.hold(TaskStatus::Blocked, UNKNOWN);
        }
        self.note_unknown_status(draft, value, line.offset(said.start));
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

/// Adds those lines to a title that it was wrapped into: its last line is long, ends no sentence,
/// and the next one begins none.
fn join_wrapped(title: &mut String, further: &mut Vec<String>) {
    let mut last = title.len();
    while let Some(next) = further.first() {
        let is_wrapped = last >= MIN_WRAPPED && !title.ends_with(ENDS);
        let goes_on = next.starts_with(|c: char| c.is_alphanumeric() && !c.is_uppercase());
        if !is_wrapped || !goes_on || title.len() + next.len() > MAX_WRAPPED {
            return;
        }
        last = next.len();
        title.push(' ');
        title.push_str(next);
        further.remove(0);
    }
}

fn push_detail(details: &mut Vec<String>, detail: String) {
    if !detail.is_empty() {
        // Most tasks have no other one.
        details.reserve_exact(usize::from(details.is_empty()));
        details.push(detail);
    }
}

/// Returns the offset of the first byte from `start` on that is neither blank nor cut; the cuts are
/// in order.
fn skip_cuts(text: &str, start: usize, cuts: &[Range<usize>]) -> usize {
    let mut at = start;
    let mut cuts = cuts.iter().skip_while(|cut| cut.start < start).peekable();
    loop {
        let rest = text.tail(at);
        at += rest.len() - rest.trim_start_matches([' ', '\t']).len();
        match cuts.next_if(|cut| cut.start == at) {
            Some(cut) => at = cut.end,
            None => return at,
        }
    }
}
