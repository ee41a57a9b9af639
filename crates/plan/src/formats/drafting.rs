//! How an item or a heading becomes a task: its line, what stands below it, and what the sections
//! and the groups around it say of it.

use std::ops::Range;

use crate::fields::attributes::{self, Located};
use crate::fields::identify;
use crate::formats::document::Heading;
use crate::formats::held;
use crate::formats::walk::Walk;
use crate::lines::outline::Block;
use crate::lines::source::Inline;
use crate::lines::text;
use crate::tasks::checkbox::BoxMark;
use crate::tasks::done;
use crate::tasks::draft::{Draft, TaskLine, items_of};
use crate::tasks::entry::Entry;
use crate::tasks::handed_down::Inherited;
use crate::tasks::heading;
use crate::tasks::phase;
use crate::tasks::section::{self, Kind};
use crate::tasks::status;
use crate::tasks::strike;
use orchestrate_core::ids::TaskId;
use orchestrate_core::task::TaskStatus;
use orchestrate_core::text::parts::Parts;

/// The keys of a field that says the id of a task.
const ID_KEYS: &[&str] = &["id", "task id"];

/// Why an open box with boxes below it that are all ticked is not run: nothing says what is left.
const ALL_TICKED: &str = "all boxes below it are ticked: tick it, or open the one that is left";

/// Why an open box below a done task is no task.
pub(super) const OPEN_STEP_OF_DONE: &str =
    "it is an open step of a task that is done: write it beside that task to have it carried out";

impl<'a> Walk<'_, '_, 'a> {
    /// Adds an item as a task; its parts, if it has such, are tasks of their own.
    pub(super) fn task_item(
        &mut self,
        entry: &Entry<'_, 'a>,
        has_parts: bool,
        inherited: &Inherited,
    ) {
        let (item, line) = (entry.item, &entry.line);
        let mark = entry.mark.unwrap_or_else(|| self.mark_without_box(line));
        let mut draft = self.draft_item(entry, mark, has_parts);
        draft.extends = inherited.extends;
        if let Some(number) = self.list_number(item) {
            draft.counts = true;
            draft.number.get_or_insert(number.to_owned());
        }
        draft.optional |= inherited.optional;
        draft
            .details
            .splice(0..0, inherited.details.iter().cloned());
        draft.attributes.inherit(&inherited.attributes);
        let fields = item.blocks.iter().flat_map(items_of);
        if mark.at.is_some() {
            self.reader.take_said(&mut draft, line.text.tail(mark.rest));
            for field in fields {
                let field = self.reader.first_line(field);
                self.reader.unknown_status(&field, &mut draft);
            }
        } else {
            draft.marks.extend(done::own_mark(line));
            if let Some((_, title)) = status::trailing(&draft.title) {
                draft.title = title.to_owned();
            }
            for field in fields {
                let field = self.reader.first_line(field);
                self.reader.status_field(&field, &mut draft);
            }
        }
        let steps: &[Block] = match has_parts {
            true => &[],
            false => &item.blocks,
        };
        if mark.at.is_some() && self.reader.are_ticked(steps) {
            draft.hold(TaskStatus::Done, ALL_TICKED);
        }
        self.add(draft, item.range.end, inherited.withheld, steps);
    }

    /// Reads the line of an item, and what is below it but for its parts if it has such.
    pub(super) fn draft_item(
        &mut self,
        entry: &Entry<'_, 'a>,
        mark: BoxMark,
        has_parts: bool,
    ) -> Draft {
        let item = entry.item;
        let line = TaskLine {
            inline: &entry.line,
            mark,
            at: item.range.start,
            is_group: has_parts,
            next: item.blocks.first(),
        };
        let mut draft = self.reader.draft_line(&line, &self.place);
        self.reader.item_body(item, has_parts, &mut draft);
        draft
    }

    /// Adds a task, up to the end of its lines, with its steps; it may be withheld.
    fn add(&mut self, mut draft: Draft, end: usize, of_group: Option<TaskStatus>, steps: &[Block]) {
        draft.optional |= self.open.iter().any(|open| open.kind == Kind::Optional);
        self.hold(&mut draft, of_group);
        let status = draft.status;
        self.found.add(self.document.source, draft, end);
        self.steps(steps, status);
    }

    /// Takes an open task for done, blocked or cancelled if the group or the heading that it is in
    /// says so.
    fn hold(&mut self, draft: &mut Draft, of_group: Option<TaskStatus>) {
        let is_done = of_group == Some(TaskStatus::Done);
        // A group is done without its optional tasks.
        match of_group.filter(|_| !(is_done && draft.optional)) {
            Some(TaskStatus::Done) => return draft.hold(TaskStatus::Done, OPEN_STEP_OF_DONE),
            Some(status) => draft.hold(
                status,
                format!("it is a part of what is {}", held::said(status)),
            ),
            None => {}
        }
        let Some(above) = self.open.iter().rfind(|open| open.status.is_some()) else {
            return;
        };
        let Some(status) = above
            .status
            .filter(|said| !said.runs() && draft.status.runs())
        else {
            return;
        };
        let reason = format!(
            "under \"{}\", which says that it is {}",
            above.title,
            held::said(status)
        );
        draft.hold(status, reason);
    }

    /// Returns the mark of a task without a box: an emoji or words that say its status.
    fn mark_without_box(&self, line: &Inline<'_>) -> BoxMark {
        let own = status::leading_mark(&line.text).or_else(|| status::leading_word(&line.text));
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

    /// Returns the id that a field right below the heading of a task says: `- **ID**: T-1`.
    fn said_id(&self, body: &[Block]) -> Option<Located> {
        let source = self.source();
        let own = body
            .iter()
            .take_while(|block| !matches!(block, Block::Heading { .. }));
        for block in own {
            let mut places: Vec<Range<usize>> =
                items_of(block).iter().map(|it| it.text.clone()).collect();
            if let Block::Paragraph(range) = block {
                places.push(range.clone());
            }
            for (offset, line) in places.into_iter().flat_map(|place| source.lines(place)) {
                let said = attributes::detail_key(line);
                let Some((_, at)) = said.filter(|(word, _)| text::is_one_of(word, ID_KEYS)) else {
                    continue;
                };
                let value = line.tail(at).trim_start_matches(['*', '_', '`', ' ']);
                let offset = offset + line.len() - value.len();
                let value = value.trim_end_matches(['*', '_', '`', ' ']);
                if is_id(value) {
                    return Some(Located::new(value, offset));
                }
            }
        }
        None
    }

    /// Reads the boxes below a task, which are its steps: open ones of a task that is done are not
    /// run.
    fn steps(&mut self, blocks: &[Block], task: TaskStatus) {
        for item in blocks.iter().flat_map(items_of) {
            let open = self.reader.boxed_line(item);
            let open = open.filter(|(_, mark)| mark.status.runs());
            if task == TaskStatus::Done && open.is_some() {
                self.not_run(item.range.start..item.text.end, OPEN_STEP_OF_DONE);
            }
            // A line that is nearly an item belongs to the paragraph above it.
            let first = self.reader.first_line(item);
            self.reader.note_odd_lines(first.further_lines());
            self.steps(&item.blocks, task);
        }
        self.boxes_in_code(blocks);
    }

    /// Returns the status that the nearest heading with one says.
    fn status_above(&self) -> Option<TaskStatus> {
        self.open.iter().rev().find_map(|open| open.status)
    }

    /// Adds a heading as a task, with all that stands below it.
    pub(super) fn task_heading(&mut self, heading: &Heading) {
        let body = self.document.below(heading);
        let Range { start, end } = heading.range.clone();
        let written = self.source().slice(start..end);
        let marks = written.len() - written.trim_start_matches(['#', ' ']).len();
        let inline = Inline::new(self.source(), start + marks..end);
        let status = heading::status(&inline.text);
        let without_box = BoxMark {
            status: status.unwrap_or(TaskStatus::Todo),
            optional: section::is_optional(&heading.title.to_lowercase()),
            at: None,
            rest: inline.text.len() - heading::after_mark(&inline.text).len(),
        };
        let mark = heading::box_of(&inline.text).unwrap_or(without_box);
        let mark = self.document.legend.applied(&inline.text, mark);
        let line = TaskLine {
            inline: &inline,
            mark,
            at: start,
            is_group: false,
            next: None,
        };
        let mut draft = self.reader.draft_line(&line, &self.place);
        if mark.at.is_none() {
            draft.marks.extend(done::own_mark(&inline));
        }
        name_heading(&mut draft, &inline, mark);
        let steps = self.reader.fields(body, &mut draft);
        if let Some(id) = self.said_id(body) {
            draft.set_id(id);
        }
        let is_said = !draft.marks.is_empty() || status.is_some();
        draft.add_steps(steps, is_said);
        if mark.at.is_some() {
            self.reader
                .take_said(&mut draft, inline.text.tail(mark.rest));
        }
        self.add(draft, self.document.section(heading).end, None, body);
    }
}

/// Takes the id and the title of a task from its heading.
fn name_heading(draft: &mut Draft, inline: &Inline<'_>, mark: BoxMark) {
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
        draft.id.get_or_insert(Located::new(found.id(), offset));
    } else if let Some(found) = identify::leading(text).filter(|_| head == 0 && mark.at.is_some()) {
        draft.set_id(Located::new(found.id, offset));
    } else if let Some(text) = phase::of_heading(&inline.text).and_then(|phase| phase.label) {
        draft.counts = true;
        draft.phase_label = Some(text.as_str().into());
        draft.id.get_or_insert(Located { text, offset });
    }
    if let Some(found) = heading::task(&draft.title) {
        let title = draft.title.tail(found.rest);
        draft.title = title.trim_start_matches([' ', ':']).to_owned();
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

/// Reports whether a value is an id with a number, rather than the type of one (`uuid`).
fn is_id(value: &str) -> bool {
    let begins = value.starts_with(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit());
    begins && value.contains(|c: char| c.is_ascii_digit()) && TaskId::refusal(value).is_none()
}
