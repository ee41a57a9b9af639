//! The walk over the items of lists: which are tasks, and which only group the tasks below them or
//! beside them.

use std::ops::Range;

use crate::fields::attributes;
use crate::fields::identify;
use crate::finding::Findings;
use crate::formats::format::{Decision, ListItem, Node};
use crate::formats::lines::Role;
use crate::formats::walk::Walk;
use crate::lines::outline::{Block, Item};
use crate::mark::Mark;
use crate::tasks::checkbox::{BoxMark, odd_box, read_box};
use crate::tasks::draft::{Group, items_of};
use crate::tasks::entry::Entry;
use crate::tasks::handed_down::{self, Inherited};
use crate::tasks::parts::{self, Parent};
use crate::tasks::phase;
use crate::tasks::section::{self, Kind};
use crate::tasks::strike;
use orchestrate_core::task::TaskStatus;
use orchestrate_core::text::parts::Parts;

/// The maximum depth of groups among the items of one list (`1`, `1.1`, `1.1.1` one below the
/// other).
const MAX_GROUPS_BESIDE: usize = 4;

/// An item that is no task, but whose parts are.
struct Grouping<'g, 'i, 'a> {
    entry: &'g Entry<'i, 'a>,
    /// The name that its tasks know it by; empty if it has none.
    id: &'g str,
    /// Whether its tasks wait for what stands before it.
    is_phase: bool,
    /// The items after it that are numbered under it.
    beside: &'g [Entry<'i, 'a>],
    /// How many such groups it is in.
    depth: usize,
}

impl<'a> Walk<'_, '_, 'a> {
    /// Reads a list that is in no other one, and tells what is told of it.
    pub(super) fn outer_list(&mut self, items: &[Item]) {
        self.list(items, &Inherited::default());
        for told in std::mem::take(&mut self.told) {
            self.note(told);
        }
    }

    fn list(&mut self, items: &[Item], inherited: &Inherited) {
        let entries: Vec<Entry<'_, 'a>> = items.iter().map(|item| self.entry(item)).collect();
        self.entries(&entries, inherited, 0);
    }

    /// Reads the lists below an item, which are told what it hands down.
    fn below(&mut self, item: &Item, own: &Inherited) {
        for block in &item.blocks {
            if let Block::List(items) = block {
                self.list(items, own);
            }
        }
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
        if let Some(said) = self.document.legend.status(text, &mark) {
            mark.status = said;
            return Some(mark);
        }
        mark.status = match mark.status {
            TaskStatus::Cancelled if self.decide.dash_is_progress() => TaskStatus::InProgress,
            TaskStatus::Todo => strike::status(title).unwrap_or(TaskStatus::Todo),
            status => status,
        };
        Some(mark)
    }

    fn entries(&mut self, entries: &[Entry<'_, 'a>], inherited: &Inherited, depth: usize) {
        // The other items below a parent are remarks, which its tasks are told.
        let knows_remarks = inherited.knows_remarks;
        let has_boxes = entries.iter().any(|entry| entry.mark.is_some());
        let has_parents = entries.iter().any(|entry| self.is_numbered_parent(entry));
        let mut rest = entries;
        while let Some((entry, after)) = rest.split_first() {
            rest = after;
            let below = match entry.mark.is_some() && depth < MAX_GROUPS_BESIDE {
                true => entry.children_beside(after),
                false => 0,
            };
            let node = ListItem {
                item: entry.item,
                mark: entry.mark,
                text: entry.text(),
                number: self.list_number(entry.item),
                is_above_boxes: parts::is_above_box(&self.reader, entry.item),
                is_beside_boxes: !knows_remarks && (has_boxes || has_parents),
                is_among_parents: !knows_remarks && !has_boxes && has_parents,
            };
            match self.decision(&Node::Item(&node)) {
                Decision::Nested => {
                    let (beside, next) = after.split_at(below);
                    rest = next;
                    self.nested(entry, beside, inherited, depth);
                }
                Decision::Task => self.task_item(entry, false, inherited),
                Decision::Within => self.parent(entry, inherited),
                Decision::Told => self.tell_item(entry, inherited),
                Decision::NotRun(reason) => {
                    let odd = odd_box(&entry.line.text);
                    self.item_not_run(entry.item, odd.unwrap_or(&reason));
                    self.left_out(entry);
                }
            }
        }
    }

    /// Counts a box that is not run. What the work is checked by is told to who does it.
    fn left_out(&mut self, entry: &Entry<'_, 'a>) {
        let excluded = self.scope().excluded().map(|open| open.kind);
        let boxes = usize::from(entry.mark.is_some());
        match excluded {
            Some(Kind::Checks) => self.found.boxes_in_checks += boxes,
            Some(_) => {}
            None => self.found.boxes_outside += boxes,
        }
        if self.open.iter().any(|open| open.kind == Kind::Checks) {
            self.push_told(entry.item.range.clone());
        }
    }

    /// Reports whether an item has a number, or is a phase, and boxes stand below it.
    fn is_numbered_parent(&self, entry: &Entry<'_, 'a>) -> bool {
        let is_place = self.list_number(entry.item).is_some() || phase::begins(entry.text());
        is_place && parts::is_above_box(&self.reader, entry.item)
    }

    /// Returns the number of an item of an ordered list.
    pub(super) fn list_number(&self, item: &Item) -> Option<&'a str> {
        let text = self.source().slice(item.range.clone());
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        text.get(..digits).filter(|number| !number.is_empty())
    }

    /// Tells an item without a box; one that is nearly a box is not run.
    fn tell_item(&mut self, entry: &Entry<'_, 'a>, inherited: &Inherited) {
        if let Some(reason) = odd_box(&entry.line.text) {
            return self.item_not_run(entry.item, reason);
        }
        self.mark(entry.item.range.clone(), Role::Told);
        // What a parent hands down was told already.
        if !inherited.knows_remarks {
            if entry.mark.is_none() {
                self.reader.note_odd_lines(entry.item.text.clone());
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

    pub(super) fn boxes_in_code(&mut self, blocks: &[Block]) {
        for block in blocks {
            if let Block::Opaque { kind, range } = block {
                self.work_not_run(range.clone(), kind.place());
            }
        }
    }

    /// Reads an item that is no task as the group of those below it.
    fn parent(&mut self, entry: &Entry<'_, 'a>, inherited: &Inherited) {
        let line = &entry.line;
        let number = self.list_number(entry.item);
        let label = section::label(&line.text).unwrap_or(&line.text);
        let is_label = number.is_none()
            && entry.mark.is_none()
            && line.is_one_line()
            && self.open_label(label);
        let text = entry.text();
        let written = identify::leading(text).map(|found| found.id);
        let group = Grouping {
            entry,
            id: written.or(number).unwrap_or(""),
            is_phase: number.is_some() || phase::begins(text),
            beside: &[],
            depth: 0,
        };
        self.group(&group, inherited);
        if is_label {
            self.close_label();
        }
    }

    /// Reads an item as a task, or, if its parts below it or beside it are tasks, as their group.
    fn nested(
        &mut self,
        entry: &Entry<'_, 'a>,
        beside: &[Entry<'_, 'a>],
        inherited: &Inherited,
        depth: usize,
    ) {
        let Some(mark) = entry.mark else {
            return self.task_item(entry, false, inherited);
        };
        let text = entry.text();
        if text.trim().is_empty() {
            return self.item_not_run(entry.item, "the box has no text");
        }
        let parent = match (beside, entry.id()) {
            ([_, ..], Some(id)) => {
                let is_task = parts::has_requirements(&self.reader, entry.item)
                    || beside.iter().all(Entry::is_optional)
                        && parts::has_only_extras(&self.reader, entry.item);
                Some(match is_task && !mark.optional {
                    true => Parent::Task,
                    false => Parent::Group(id.to_owned()),
                })
            }
            _ => parts::parent(&self.reader, entry, self.list_number(entry.item)),
        };
        match parent {
            Some(Parent::Group(id)) => {
                let group = Grouping {
                    entry,
                    id: &id,
                    is_phase: phase::of_heading(&id).is_some(),
                    beside,
                    depth,
                };
                self.group(&group, inherited);
            }
            Some(Parent::Task) => {
                let own = self.extended(entry, inherited);
                self.below(entry.item, &own);
                self.entries(beside, &own, depth + 1);
            }
            None => {
                let is_phase = phase::begins(text);
                self.place.border(is_phase);
                self.task_item(entry, false, inherited);
                self.place.border(is_phase);
            }
        }
    }

    /// Reads the parts of a group, which are told of it; its box, if it has one, is ticked with the
    /// last of them.
    fn group(&mut self, group: &Grouping<'_, '_, 'a>, inherited: &Inherited) {
        let entry = group.entry;
        let marked = self.marked_id(entry);
        let id = marked.as_deref().unwrap_or(group.id);
        self.mark(entry.item.range.clone(), Role::Told);
        // Who ticks some of the parts has left the others open.
        let ends_parts = group.beside.is_empty() && !self.has_ticked(entry.item);
        let own = self.hand_down(entry, id, ends_parts, inherited);
        let first = self.found.drafts.len();
        self.place.border(group.is_phase);
        self.place.section_index += usize::from(group.is_phase);
        self.below(entry.item, &own);
        self.entries(group.beside, &own, group.depth + 1);
        self.place.border(group.is_phase);
        if let Some(at) = entry.own_mark().at {
            self.found.groups.push(Group {
                id: id.to_owned(),
                mark: Some(Mark::of_box(entry.line.offset(at))),
                leaves: first..self.found.drafts.len(),
            });
        }
        if self.found.drafts.len() == first {
            let source = self.source();
            for (offset, _) in source.lines(entry.item.range.clone()) {
                let lines = &mut self.found.lines;
                lines.refuse(source, offset, "nothing below it is run");
            }
        }
    }

    /// Reports whether a box below an item is ticked.
    fn has_ticked(&self, item: &Item) -> bool {
        let mut parts = item.blocks.iter().flat_map(items_of);
        parts.any(|part| {
            let own = self.reader.boxed_line(part);
            own.is_some_and(|(_, mark)| mark.status == TaskStatus::Done) || self.has_ticked(part)
        })
    }

    /// Returns the id in a comment or in braces behind the text of an item.
    fn marked_id(&self, entry: &Entry<'_, 'a>) -> Option<String> {
        let (known, mut unread) = (self.reader.known, Findings::default());
        let line = attributes::read_line(&entry.line, entry.own_mark().rest, known, &mut unread);
        Some(line.marked_id?.text)
    }

    /// Returns what a group passes to each of its tasks.
    fn hand_down(
        &mut self,
        entry: &Entry<'_, 'a>,
        id: &str,
        ends_parts: bool,
        inherited: &Inherited,
    ) -> Inherited {
        let mut group = self.draft_item(entry, entry.own_mark(), true);
        if entry.own_mark().at.is_some() {
            self.reader.take_said(&mut group, entry.text());
        }
        group.attributes.inherit(&inherited.attributes);
        let at = entry.item.range.start;
        handed_down::require_short(&mut group.attributes, at, self.reader.findings);
        let mut details = inherited.details.clone();
        details.push(handed_down::part_of(id, &group.title));
        details.extend(group.details);
        // Its open tasks have the status that its own box says.
        let said = Some(group.status).filter(|status| !status.runs());
        let said = said.filter(|status| *status != TaskStatus::Done || ends_parts);
        Inherited {
            attributes: group.attributes,
            details: vec![handed_down::shortened(&details.join("\n"))],
            withheld: said.or(inherited.withheld),
            optional: inherited.optional || group.optional,
            extends: inherited.extends,
            knows_remarks: true,
        }
    }

    /// Adds an item as a task, and returns what its optional parts, which come after it, inherit:
    /// its words, but not its attributes.
    fn extended(&mut self, entry: &Entry<'_, 'a>, inherited: &Inherited) -> Inherited {
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
}
