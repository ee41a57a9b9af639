//! How an item of a list becomes a task, and what one that groups others passes on to them.

use crate::fields::identify;
use crate::read::headings::collect::Walk;
use crate::read::headings::handed_down::{self, Inherited};
use crate::read::lines::outline::Item;
use crate::read::lines::source::Inline;
use crate::read::lines::style::Style;
use crate::read::lists::checkbox::BoxMark;
use crate::read::lists::entry::Boxed;
use crate::read::lists::taken::Taken;
use crate::read::lists::task_line::{Draft, TaskLine, items_of};
use crate::read::states::done;
use crate::read::states::status;
use orchestrate_core::task::TaskStatus;
use orchestrate_core::text::parts::Parts;

impl Walk<'_, '_> {
    /// Returns what an item without a box passes to the tasks below it.
    pub(crate) fn handed_down_unboxed(
        &mut self,
        item: &Item,
        line: &Inline<'_>,
        inherited: &Inherited,
    ) -> Inherited {
        let written = identify::leading(&line.text).map(|found| found.id);
        let id = written
            .or_else(|| self.list_number(item))
            .unwrap_or_default()
            .to_owned();
        let mark = BoxMark {
            status: TaskStatus::Todo,
            optional: false,
            at: None,
            rest: 0,
        };
        self.handed_down(&Boxed { item, line, mark }, &id, inherited)
    }

    /// Returns what a group passes to each of its tasks.
    pub(crate) fn handed_down(
        &mut self,
        boxed: &Boxed<'_, '_>,
        id: &str,
        inherited: &Inherited,
    ) -> Inherited {
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
        let mut parent = self.reader.draft_line(&task_line, &self.sections.place);
        if mark.at.is_some() {
            self.reader.note_said(&parent, line.text.tail(mark.rest));
        }
        parent.attributes.inherit(&inherited.attributes);
        let mut own = Inherited {
            attributes: parent.attributes,
            details: inherited.details.clone(),
            withheld: handed_down::withheld(parent.status).or(inherited.withheld),
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

    /// Parses an item with a box as a task; its parts, if it has such, are tasks of their own.
    pub(crate) fn draft(
        &mut self,
        boxed: &Boxed<'_, '_>,
        has_parts: bool,
        inherited: &Inherited,
    ) -> Draft {
        let Boxed { item, line, mark } = *boxed;
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
        let mut draft = self.reader.draft_line(&task_line, &self.sections.place);
        draft.extends = inherited.extends;
        if let Some(number) = self.list_number(item) {
            draft.counts = true;
            draft.number.get_or_insert(number.to_owned());
        }
        // A record of progress lists its steps one after the other.
        draft.counts |= self.style == Style::ProgressBoxes && !self.sections.is_checklist();
        if mark.at.is_none() {
            draft.marks.extend(done::own_mark(line));
            self.reader.note_doubtful_status(&draft);
            if let Some((_, title)) = status::trailing(&draft.title) {
                draft.title = title.to_owned();
            }
            for field in item.blocks.iter().flat_map(items_of) {
                self.reader
                    .status_field(&self.reader.first_line(field), &mut draft);
            }
        }
        draft.optional |= self.sections.is_optional() || inherited.optional;
        draft
            .details
            .splice(0..0, inherited.details.iter().cloned());
        let taken = Taken {
            attributes: &mut draft.attributes,
            details: &mut draft.details,
        };
        self.reader.item_body(item, open, has_parts, taken);
        draft.attributes.inherit(&inherited.attributes);
        if let Some(status) = inherited.withheld.filter(|_| draft.status.runs()) {
            draft.status = status;
        }
        if mark.at.is_some() {
            self.note_said(&draft, line.text.tail(mark.rest));
        }
        match has_parts {
            true => item
                .blocks
                .iter()
                .for_each(|block| self.reader.skip_boxes(block)),
            false => self.reader.note_steps(&item.blocks, draft.status),
        }
        draft
    }

    /// Warns of an open box whose text, or whose heading, says that its work is over.
    pub(crate) fn note_said(&mut self, draft: &Draft, text: &str) {
        if !self.reader.note_said(draft, text) {
            self.note_said_above(draft);
        }
    }

    /// Warns of an open task whose heading above says that its work is over.
    pub(crate) fn note_said_above(&mut self, draft: &Draft) {
        if draft.status.runs()
            && let Some((at, heading, status)) = self.sections.say_status()
        {
            self.reader.note_said_above(at, heading, status);
        }
    }
}
