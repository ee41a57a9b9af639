//! Finds the tasks in the blocks of a plan: boxes at the outermost level, and headings with a box
//! or with fields; in a plan without any of these, whatever else people mark tasks with
//! ([`Style`]).
//!
//! Whatever looks like a task but is not is recorded as skipped, with the reason; nothing is
//! dropped silently. Ids, dependencies and order are determined later, when all tasks are known.

use std::ops::Range;

use crate::check::finding::{Findings, SkippedKind};
use crate::fields::attributes::Located;
use crate::fields::identify;
use crate::fields::names::KnownNames;
use crate::mark::Mark;
use crate::read::headings::handed_down::{self, Inherited};
use crate::read::headings::heading;
use crate::read::headings::note::Note;
use crate::read::headings::phase;
use crate::read::headings::section;
use crate::read::headings::sections::{NotesHold, OpenSection, OpenStep, Sections};
use crate::read::lines::outline::{Block, Item, Opaque};
use crate::read::lines::parts::{self, Parent};
use crate::read::lines::source::{Inline, Source};
use crate::read::lines::strike;
use crate::read::lines::style::{Style, is_kiro};
use crate::read::lists::below::{self, TaskLevels};
use crate::read::lists::checkbox::{BoxMark, looks_like_box, odd_box, odd_item, read_box};
use crate::read::lists::entry::{Boxed, Entry};
use crate::read::lists::label;
use crate::read::lists::table;
use crate::read::lists::task_line::{Draft, Reader, TaskLine, items_of};
use crate::read::states::done;
use crate::read::states::status;
use orchestrate_core::task::TaskStatus;
use orchestrate_core::text::parts::Parts;

/// The minimum length of a rule.
const MIN_RULE: usize = 3;

/// The maximum number of tasks in a plan: each has a branch, and more branches are not reviewed.
pub(crate) const MAX_TASKS: usize = 10_000;

/// The maximum depth of groups among the items of one list (`1`, `1.1`, `1.1.1` one below the
/// other).
const MAX_GROUPS_BESIDE: usize = 4;

/// A parent that only groups tasks; a reference to it means all its tasks.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) id: String,
    /// Its box, which is ticked once all its tasks are done.
    pub(crate) mark: Option<Mark>,
    /// Indices of its drafts.
    pub(crate) leaves: Range<usize>,
}

/// The tasks, groups and title of a document.
#[derive(Default)]
pub(crate) struct Collected {
    pub(crate) drafts: Vec<Draft>,
    pub(crate) groups: Vec<Group>,
    /// The phases whose headings have boxes, as groups without ids.
    pub(crate) phases: Vec<Group>,
    /// The first heading of level one.
    pub(crate) title: Option<String>,
    /// The prose of each section, beginning with the one before the first heading.
    pub(crate) notes: Vec<Note>,
}

/// Finds all tasks of a document, in the first style that has any; to-dos stand in for some of the
/// styles.
pub(crate) fn collect(
    source: &Source<'_>,
    blocks: &[Block],
    has_todos: bool,
    known: &KnownNames,
    findings: &mut Findings,
) -> Collected {
    let (is_kiro, levels) = (is_kiro(source), TaskLevels::read(source, blocks, known));
    // Most tasks are headings, or items of a list that is in no other one.
    let likely = blocks
        .iter()
        .map(|block| items_of(block).len() + usize::from(matches!(block, Block::Heading { .. })));
    let room = likely.sum::<usize>().min(MAX_TASKS);
    let mut without_tasks = None;
    for style in Style::ALL
        .into_iter()
        .filter(|style| !has_todos || style.precedes_todos())
    {
        let mut own = Findings::default();
        let reader = Reader {
            source,
            known,
            findings: &mut own,
        };
        let notes = vec![Note {
            line: 1,
            ..Note::default()
        }];
        let found = Collected {
            notes,
            drafts: Vec::with_capacity(room),
            ..Collected::default()
        };
        let sections = Sections::default();
        let phases = Vec::new();
        let mut walk = Walk {
            reader,
            found,
            style,
            is_kiro,
            sections,
            levels,
            phases,
            open_step: None,
        };
        walk.document(blocks);
        let found = Collected {
            title: walk.sections.title,
            ..walk.found
        };
        if !found.drafts.is_empty() {
            findings.append(own);
            return found;
        }
        without_tasks.get_or_insert((found, own));
    }
    let (found, own) = without_tasks.unwrap_or_default();
    findings.append(own);
    found
}

/// A walk over the blocks of a document in one style.
pub(crate) struct Walk<'s, 'a> {
    pub(crate) reader: Reader<'s, 'a>,
    found: Collected,
    pub(crate) style: Style,
    /// Whether `[-]` means in progress.
    is_kiro: bool,
    pub(crate) sections: Sections,
    levels: TaskLevels,
    /// The phases whose headings have boxes and that are not over, with the levels of these; the
    /// outermost is first.
    phases: Vec<(u8, Group)>,
    /// A heading such as `Task N` that is no task itself and has none below it so far.
    open_step: Option<OpenStep>,
}

impl<'a> Walk<'_, 'a> {
    fn entry<'i>(&self, item: &'i Item) -> Entry<'i, 'a> {
        let line = self.reader.first_line(item);
        let mark = self.mark(item, &line);
        let rest = mark.map_or(line.text.len(), |mark| mark.rest);
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
}

impl Walk<'_, '_> {
    fn document(&mut self, blocks: &[Block]) {
        let reader = &self.reader;
        let marks_task = |blocks: &[Block]| below::marks_task(reader.source, blocks, reader.known);
        let with_fields = (0..blocks.len()).any(|at| marks_task(blocks.tail(at)));
        let mut rest = blocks;
        while let Some((block, after)) = rest.split_first() {
            rest = after;
            match block {
                Block::Heading { level, text, title } => {
                    self.sections.close_label();
                    if self.begins_task(*level, title, after, with_fields) {
                        let is_step = heading::is_step(title);
                        let ends = |block: &Block| self.ends_task(*level, is_step, block);
                        let body = after.iter().take_while(|block| !ends(block)).count();
                        let (body, next) = after.split_at_checked(body).unwrap_or((after, &[]));
                        self.close_step(*level);
                        self.sections.close(*level);
                        self.task_heading(*level, text.clone(), title, body);
                        rest = next;
                    } else {
                        self.section_heading(*level, text.clone(), title, after);
                        if below::continues_numbers(self.reader.source, title, after) {
                            self.sections.hold_tasks();
                        }
                    }
                }
                Block::List(items) => {
                    if self.is_after_rule(items) {
                        self.sections.close_label();
                    }
                    if self.excluded().is_some() || !self.holds_tasks(block) {
                        self.note(block);
                    }
                    self.outer_list(items);
                }
                Block::Paragraph(range) => {
                    self.sections.close_label();
                    self.paragraph(block, range.clone());
                    if let Some(Block::List(items)) = after.first() {
                        self.label(range.clone(), items);
                    }
                }
                Block::Opaque { .. } => {
                    self.note(block);
                    self.reader.skip_boxes(block);
                }
            }
        }
        self.close_step(0);
    }

    /// Opens the section of a label that ends a paragraph above a list (`**Out of scope:**`); one
    /// in bold above boxes, or one of a phase, begins a part of the section.
    fn label(&mut self, paragraph: Range<usize>, items: &[Item]) {
        let Some((at, line)) = self.reader.source.lines(paragraph).last() else {
            return;
        };
        let Some(label) = label::of_line(line) else {
            return;
        };
        let is_strong = line.trim_start().starts_with(['*', '_']);
        if !self.sections.open_label(label, at)
            && (is_strong || phase::begins(label))
            && items
                .iter()
                .any(|item| self.reader.boxed_line(item).is_some())
        {
            self.sections.begin_part(label);
        }
    }

    /// Reports whether a rule (`---`) is right above a list, so that no label further up is its
    /// own.
    fn is_after_rule(&self, items: &[Item]) -> bool {
        let start = items.first().map_or(0, |item| item.range.start);
        let above = self.reader.source.slice(0..start).trim_end();
        let line = above.rsplit(['\n', '\r']).next().unwrap_or_default().trim();
        let is_of = |mark: char| line.chars().all(|c| c == mark || c == ' ');
        line.len() >= MIN_RULE && ['-', '*', '_'].into_iter().any(is_of)
    }

    /// Adds a block to what the current section says.
    fn note(&mut self, block: &Block) {
        if matches!(
            block,
            Block::Opaque {
                kind: Opaque::Html,
                ..
            }
        ) {
            return;
        }
        let text = self.reader.dedented(block.range());
        if let Some(note) = self.found.notes.last_mut() {
            note.push(&text);
        }
    }

    fn holds_tasks(&self, block: &Block) -> bool {
        let is_task = |item: &Item| self.mark(item, &self.reader.first_line(item)).is_some();
        self.reader
            .source
            .lines(block.range())
            .any(|(_, line)| looks_like_box(line))
            || items_of(block).iter().any(is_task)
    }

    /// Reports whether a heading is a task itself, given the blocks after it.
    fn begins_task(&self, level: u8, title: &str, after: &[Block], with_fields: bool) -> bool {
        if self.excluded().is_some_and(|section| section.holds(level)) {
            return false;
        }
        let is_step = || heading::task(heading::after_mark(title)).is_some();
        if heading::box_of(title).is_some() {
            // A box at the end of a heading without a number may as well sum up those below it.
            let sums_up = || {
                heading::box_at_end(title).is_some() && !is_step() && self.reader.holds_boxes(after)
            };
            return phase::of_heading(title).is_none()
                && !below::groups_headings(level, after)
                && !sums_up();
        }
        let is_numbered = || {
            let parent = self.sections.parent(level);
            parent.is_some_and(|parent| section::lists_work(&parent.title))
                && identify::leading(heading::after_mark(title))
                    .is_some_and(|found| !found.bare_number)
        };
        let source = self.reader.source;
        let is_stage = || phase::of_heading(title).is_some() && below::says_status(source, after);
        // The title of a plan may be that of a story.
        let is_title =
            || level == 1 && self.sections.title.is_none() && !below::has_fields(source, after);
        let is_group = || below::groups_tasks(level, title, after);
        match self.style {
            Style::StepHeadings => (is_step() && !is_group()) || is_numbered() || is_stage(),
            _ => {
                (with_fields && is_step() && !is_title() && !is_group())
                    || below::is_fielded(source, level, title, after, self.reader.known)
            }
        }
    }

    /// Reports whether a block ends the task whose heading has this level; the steps below a task
    /// belong to it.
    fn ends_task(&self, task_level: u8, is_step: bool, block: &Block) -> bool {
        let Block::Heading { level, title, .. } = block else {
            return false;
        };
        let is_own_step = || !is_step && heading::is_step(title);
        let is_task = || heading::task(heading::after_mark(title)).is_some() && !is_own_step();
        *level <= task_level || heading::box_of(title).is_some() || is_task()
    }

    /// Opens the section of a heading that is no task.
    fn section_heading(&mut self, level: u8, text: Range<usize>, title: &str, after: &[Block]) {
        let line = self.reader.source.line_of(text.start);
        self.found.notes.push(Note {
            heading: Some(title.to_owned()),
            level,
            line,
            text: String::new(),
        });
        self.close_step(level);
        if heading::box_of(title).is_some() {
            let reason = match self.excluded().filter(|section| section.holds(level)) {
                Some(heading) => heading.reason(),
                None => "it groups the tasks below it".to_owned(),
            };
            self.reader.findings.skip(text.start, reason);
            let phase = self.boxed_phase(level, text.clone());
            self.phases.extend(phase);
        } else if self.open_step.is_none()
            && let Some(reason) = self.levels.reason(self.reader.source, level, title, after)
        {
            let own = heading::after_mark(title);
            let own = heading::task(own).map_or(own, |found| own.tail(found.rest));
            let is_open = heading::status(title).is_none_or(TaskStatus::runs)
                && strike::status(own).is_none();
            let drafts = self.found.drafts.len();
            self.open_step = Some(OpenStep {
                at: text.start,
                level,
                drafts,
                reason,
                is_open,
            });
        }
        self.sections.open(level, title, text.start);
    }

    /// Returns the phase of a heading with a box that does not put it off.
    fn boxed_phase(&self, level: u8, range: Range<usize>) -> Option<(u8, Group)> {
        let line = Inline::new(self.reader.source, range);
        let title = line.text.trim_start_matches(['#', ' ']);
        phase::of_heading(title)?;
        let mark =
            heading::box_of(title).filter(|mark| handed_down::withheld(mark.status).is_none())?;
        let mark = Mark::of_box(line.offset(line.text.len() - title.len() + mark.at?));
        let leaves = self.found.drafts.len()..self.found.drafts.len();
        Some((
            level,
            Group {
                id: String::new(),
                mark: Some(mark),
                leaves,
            },
        ))
    }

    /// Ends the phases that a heading of this level ends.
    fn close_phases(&mut self, level: u8) {
        let end = self.found.drafts.len();
        while let Some((_, phase)) = self.phases.pop_if(|(of_phase, _)| level <= *of_phase) {
            self.found.phases.push(Group {
                leaves: phase.leaves.start..end,
                ..phase
            });
        }
    }

    /// Records a heading `Task N` as skipped if its section is over and held no task.
    fn close_step(&mut self, level: u8) {
        self.close_phases(level);
        if let Some(step) = self.open_step.take_if(|step| level <= step.level)
            && step.drafts == self.found.drafts.len()
            && self
                .excluded()
                .is_none_or(|section| section.begins_at(step.at))
        {
            let reason = format!("{}; {}", step.reason, self.style.tasks());
            let kind = if step.is_open {
                SkippedKind::OddBox
            } else {
                SkippedKind::Other
            };
            self.reader.findings.skip_as(kind, step.at, reason);
        }
    }

    /// Returns the enclosing heading, if any, under which boxes are not tasks.
    fn excluded(&self) -> Option<&OpenSection> {
        self.sections.excluded(match self.style {
            Style::ProgressBoxes => NotesHold::Progress,
            Style::ChecklistBoxes => NotesHold::Checklists,
            Style::NoteBoxes => NotesHold::Tasks,
            _ => NotesHold::NoTasks,
        })
    }

    /// Reads a list that is in no other one.
    fn outer_list(&mut self, items: &[Item]) {
        let before = (self.found.drafts.len(), self.reader.findings.skipped.len());
        self.list(items, &Inherited::default());
        if before != (self.found.drafts.len(), self.reader.findings.skipped.len()) {
            return;
        }
        if self.excluded().is_some() {
            if let Some((at, section)) = self.sections.say_excluded() {
                let reason = format!("the list {}", section.reason());
                self.reader.findings.skip_as(section.skipped(), at, reason);
            }
            return;
        }
        // A list of work beside the plan's tasks.
        let names_list = self.sections.names_list();
        if names_list || self.sections.lists_work() || self.sections.place.phase_level.is_some() {
            for item in items {
                if names_list || self.is_ordered(item) {
                    self.reader.findings.skip(
                        item.range.start,
                        format!("no checkbox; {}", self.style.tasks()),
                    );
                }
            }
        }
    }

    /// Reads a paragraph, which is prose unless it is a table of tasks.
    fn paragraph(&mut self, block: &Block, range: Range<usize>) {
        let rows = table::rows(self.reader.source, range.clone());
        if let Some(rows) = &rows
            && self.excluded().is_none()
        {
            if self.style == Style::Table {
                table::columns(rows)
                    .into_iter()
                    .for_each(|column| self.reader.note_column(column.clone()));
            }
            for row in rows {
                match self.style {
                    Style::Table => self
                        .found
                        .drafts
                        .push(self.reader.row(row, &self.sections.place)),
                    other => self
                        .reader
                        .findings
                        .skip(row.at, format!("a row of a table; {}", other.tasks())),
                }
            }
        }
        if self.style == Style::Marks {
            for (offset, line) in self.reader.source.lines(range.clone()) {
                let is_open = status::leading_mark(line.trim_start())
                    .is_some_and(|(status, _)| status.runs());
                if is_open && odd_item(line).is_none() {
                    self.reader
                        .findings
                        .skip(offset, format!("no item of a list; {}", self.style.tasks()));
                }
            }
        }
        if rows.is_none() {
            self.odd_paragraph(range);
        }
        if rows.is_none() || self.style != Style::Table {
            self.note(block);
        }
    }

    fn is_ordered(&self, item: &Item) -> bool {
        self.list_number(item).is_some()
    }

    /// Returns the number of an item of an ordered list.
    pub(crate) fn list_number(&self, item: &Item) -> Option<&str> {
        let text = self.reader.source.slice(item.range.clone());
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        text.get(..digits).filter(|number| !number.is_empty())
    }

    /// Returns the box that a text begins with.
    fn box_of(&self, text: &str) -> Option<BoxMark> {
        let mut mark = read_box(text)?;
        let title = text.tail(mark.rest).trim_end();
        mark.status = match mark.status {
            TaskStatus::Cancelled if self.is_kiro => TaskStatus::InProgress,
            TaskStatus::Todo => strike::status(title).unwrap_or(TaskStatus::Todo),
            status => status,
        };
        Some(mark)
    }

    /// Returns the box of an item, or what marks it as a task in the plan's style.
    fn mark(&self, item: &Item, line: &Inline<'_>) -> Option<BoxMark> {
        if let Some(mark) = self.box_of(&line.text) {
            return Some(mark);
        }
        let own = status::leading_mark(&line.text);
        let marks_tasks = match self.style {
            Style::Marks => own.is_some(),
            Style::OrderedLists => self.is_ordered(item) && self.sections.lists_work(),
            Style::PhaseBullets => self.sections.lists_bullets(),
            _ => false,
        };
        if !marks_tasks || line.text.is_empty() {
            return None;
        }
        let struck = strike::status(&line.text);
        let status = match own {
            Some((status, _)) => Some(status),
            None if struck.is_some() => struck,
            None => status::trailing(line.text.lines().next().unwrap_or_default())
                .map(|(status, _)| status),
        };
        let status = status
            .or_else(|| self.sections.status())
            .unwrap_or_default();
        let rest = own.map_or(0, |(_, rest)| line.text.len() - rest.len());
        Some(BoxMark {
            status,
            optional: false,
            at: None,
            rest,
        })
    }

    fn list(&mut self, items: &[Item], inherited: &Inherited) {
        let entries: Vec<Entry<'_, '_>> = items.iter().map(|item| self.entry(item)).collect();
        self.entries(&entries, inherited, 0);
    }

    /// Reports whether an item has a box, or is a place in an order with boxes below it.
    fn has_box(&self, entry: &Entry<'_, '_>) -> bool {
        entry.mark.is_some()
            || (self.is_ordered(entry.item) && parts::is_above_box(&self.reader, entry.item))
    }

    fn entries(&mut self, entries: &[Entry<'_, '_>], inherited: &Inherited, depth: usize) {
        // The other items of a list below a parent are remarks, which its tasks are told.
        let any_box = !inherited.knows_remarks && entries.iter().any(|entry| self.has_box(entry));
        let mut rest = entries;
        while let Some((entry, after)) = rest.split_first() {
            rest = after;
            let Some(mark) = entry.mark else {
                self.unboxed(entry.item, &entry.line, any_box, inherited);
                continue;
            };
            let below = if depth < MAX_GROUPS_BESIDE {
                entry.children_beside(after)
            } else {
                0
            };
            match after.split_at_checked(below) {
                Some((children, next)) if below > 0 && self.excluded().is_none() => {
                    rest = next;
                    self.group_beside(entry, children, inherited, depth);
                }
                _ => self.boxed(&entry.boxed(mark), inherited),
            }
        }
    }

    fn unboxed(
        &mut self,
        item: &Item,
        line: &Inline<'_>,
        beside_boxes: bool,
        inherited: &Inherited,
    ) {
        let before = (self.found.drafts.len(), self.reader.findings.skipped.len());
        if let Some(reason) = odd_box(&line.text) {
            self.reader
                .findings
                .skip_as(SkippedKind::OddBox, item.range.start, reason);
        }
        let is_parent = !line.text.is_empty() && parts::is_above_box(&self.reader, item);
        // What the boxes below it are is said as by a heading.
        let label = label::of_line(&line.text).unwrap_or(&line.text);
        let is_label =
            is_parent && line.is_one_line() && self.sections.open_label(label, item.range.start);
        let own = (is_parent && self.excluded().is_none())
            .then(|| self.handed_down_unboxed(item, line, inherited));
        let is_place = own.is_some() && (self.is_ordered(item) || phase::begins(&line.text));
        self.sections.place.phase += usize::from(is_place);
        for block in &item.blocks {
            match block {
                Block::List(items) => self.list(items, own.as_ref().unwrap_or(inherited)),
                // What is handed down was looked at.
                Block::Paragraph(_) if own.is_some() => {}
                other => self.skip_boxes(other),
            }
        }
        self.sections.place.phase += usize::from(is_place);
        if is_label {
            self.sections.close_label();
        }
        if beside_boxes && before == (self.found.drafts.len(), self.reader.findings.skipped.len()) {
            self.reader
                .findings
                .skip(item.range.start, "no checkbox, unlike its neighbours");
        }
        if own.is_none() {
            self.reader.note_odd_lines(line, 0);
        }
    }

    fn boxed(&mut self, boxed: &Boxed<'_, '_>, inherited: &Inherited) {
        let Boxed { item, line, mark } = *boxed;
        if let Some(heading) = self.excluded() {
            let (kind, reason) = (heading.skipped(), heading.reason());
            return self.reader.skip_all(item, &kind, &reason);
        }
        let text = line.text.tail(mark.rest);
        if text.trim().is_empty() {
            self.reader
                .findings
                .skip(item.range.start, "the box has no text");
            return self.nested(item, inherited);
        }
        match parts::parent(&self.reader, boxed, self.list_number(item)) {
            Some(Parent::Group(id)) => self.group(boxed, id, inherited),
            Some(Parent::Task(id)) => {
                self.extended(boxed, &id, inherited);
            }
            None => {
                // A record of progress lists its steps one after the other anyway.
                let begins_phase = self.style != Style::ProgressBoxes && phase::begins(text);
                self.sections.place.phase += usize::from(begins_phase);
                let draft = self.draft(boxed, false, inherited);
                self.found.drafts.push(draft);
                self.sections.place.phase += usize::from(begins_phase);
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

    fn group(&mut self, boxed: &Boxed<'_, '_>, id: String, inherited: &Inherited) {
        let Boxed { item, line, mark } = *boxed;
        let own = self.handed_down(boxed, &id, inherited);
        self.reader
            .findings
            .skip(item.range.start, "it groups the tasks below it");
        let first = self.found.drafts.len();
        let is_phase = phase::of_heading(&id).is_some();
        self.sections.place.phase += usize::from(is_phase);
        self.parts(item, &own);
        self.sections.place.phase += usize::from(is_phase);
        let leaves = first..self.found.drafts.len();
        self.found.groups.push(Group {
            id,
            mark: mark.at.map(|at| Mark::of_box(line.offset(at))),
            leaves,
        });
    }

    /// Reads the boxes below a group, also those below an item without a box. Its other items are
    /// remarks, which its tasks are told.
    fn parts(&mut self, item: &Item, own: &Inherited) {
        for child in item.blocks.iter().flat_map(items_of) {
            let line = self.reader.first_line(child);
            match self.box_of(&line.text) {
                Some(mark) => {
                    let boxed = Boxed {
                        item: child,
                        line: &line,
                        mark,
                    };
                    self.boxed(&boxed, own)
                }
                None if parts::is_no_remark(&self.reader, child) => {
                    self.unboxed(child, &line, false, own)
                }
                None => {}
            }
        }
    }

    /// Adds an item as a task, and the boxes below it as its parts, which are optional and come
    /// after it. Returns what these inherit: its words, but not its attributes.
    fn extended(&mut self, boxed: &Boxed<'_, '_>, id: &str, inherited: &Inherited) -> Inherited {
        let draft = self.draft(boxed, true, inherited);
        let mut details = inherited.details.clone();
        details.push(handed_down::part_of(id, &draft.title));
        details.extend(draft.details.iter().skip(inherited.details.len()).cloned());
        let own = Inherited {
            attributes: inherited.attributes.clone(),
            details: vec![handed_down::shortened(&details.join("\n"))],
            withheld: handed_down::withheld(draft.status).or(inherited.withheld),
            optional: inherited.optional,
            extends: Some(self.found.drafts.len()),
            knows_remarks: true,
        };
        self.found.drafts.push(draft);
        self.parts(boxed.item, &own);
        own
    }

    /// Reads a line that sums up the ones after it (`1` before `1.1`, `1.2`) as their group, or as
    /// a task if these are all optional; boxes below it are parts of that, too.
    fn group_beside(
        &mut self,
        entry: &Entry<'_, '_>,
        children: &[Entry<'_, '_>],
        inherited: &Inherited,
        depth: usize,
    ) {
        let (Some(mark), Some(id)) = (entry.mark, entry.id()) else {
            return;
        };
        let has_only_extras = children.iter().all(Entry::is_optional)
            && parts::has_only_extras(&self.reader, entry.item);
        if has_only_extras && !mark.optional {
            let own = self.extended(&entry.boxed(mark), id, inherited);
            return self.entries(children, &own, depth + 1);
        }
        let own = self.handed_down(&entry.boxed(mark), id, inherited);
        self.reader
            .findings
            .skip(entry.item.range.start, "it groups the tasks after it");
        let first = self.found.drafts.len();
        self.parts(entry.item, &own);
        self.entries(children, &own, depth + 1);
        let leaves = first..self.found.drafts.len();
        let mark = mark.at.map(|at| Mark::of_box(entry.line.offset(at)));
        self.found.groups.push(Group {
            id: id.to_owned(),
            mark,
            leaves,
        });
    }

    /// Parses a heading that is a task, and the blocks below it.
    fn task_heading(&mut self, level: u8, range: Range<usize>, title: &str, body: &[Block]) {
        let mut inline = Inline::new(self.reader.source, range.clone());
        let marks = inline.text.len() - inline.text.trim_start_matches(['#', ' ']).len();
        inline = Inline::new(self.reader.source, range.start + marks..range.end);
        let phase = phase::of_heading(&inline.text);
        if phase.is_some() {
            self.sections.open(level, title, range.start);
            self.sections.forget_status();
        }
        let without_box = BoxMark {
            status: heading::status(&inline.text).unwrap_or_default(),
            optional: false,
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
        let mut draft = self.reader.draft_line(&line, &self.sections.place);
        if mark.at.is_none() {
            draft.marks.extend(done::own_mark(&inline));
            self.reader.note_doubtful_status(&draft);
        }
        // A number before the box is not part of the text after it.
        let head = if mark.at.is_some_and(|at| at > 1) {
            0
        } else {
            mark.rest
        };
        let text = inline.text.tail(head);
        let id = |text: String| Located {
            text,
            offset: inline.offset(head),
        };
        if let Some(found) = heading::task(text) {
            draft.number = Some(found.number.to_owned());
            draft.counts |= found.counts;
            draft.id.get_or_insert(id(found.id()));
        } else if let Some(found) =
            identify::leading(text).filter(|_| head == 0 && mark.at.is_some())
        {
            draft.set_id(id(found.id.to_owned()));
        } else if let Some(label) = phase.and_then(|phase| phase.label) {
            draft.counts = true;
            draft.id.get_or_insert(id(label));
        }
        if let Some(found) = heading::task(&draft.title) {
            draft.title = draft.title.tail(found.rest).to_owned();
        }
        let said = status::trailing(&draft.title)
            .filter(|(status, _)| mark.at.is_none() || *status == draft.status);
        if let Some((_, title)) = said {
            draft.title = title.to_owned();
        }
        if let Some(status) = strike::status(&draft.title).filter(|_| draft.status.runs()) {
            draft.status = status;
        }
        let steps = self.reader.fields(body, &mut draft);
        let is_said = !draft.marks.is_empty() || heading::status(&inline.text).is_some();
        let above = self
            .sections
            .status()
            .filter(|status| !is_said && !status.runs() && !steps.are_open());
        draft.status = above.unwrap_or(draft.status);
        let has_open_steps = steps.are_open();
        draft.add_steps(steps, is_said);
        if mark.at.is_some() {
            self.note_said(&draft, text);
        } else if has_open_steps && !is_said {
            self.note_said_above(&draft);
        }
        self.reader.note_steps(body, draft.status);
        draft.optional |= self.sections.is_optional();
        self.found.drafts.push(draft);
    }

    /// Records the lines of a paragraph that look like items with a box or like headings of tasks.
    fn odd_paragraph(&mut self, range: Range<usize>) {
        let section = self
            .excluded()
            .map(|section| (section.skipped(), section.reason()));
        self.reader.note_odd_paragraph(range, section.as_ref());
    }

    /// Records lines that look like boxes in a block that is never read for tasks.
    fn skip_boxes(&mut self, block: &Block) {
        if let Block::Paragraph(range) = block {
            return self.odd_paragraph(range.clone());
        }
        self.reader.skip_boxes(block);
    }
}
