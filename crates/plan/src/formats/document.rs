//! A document as formats see it: its blocks, and what its headings and boxes say.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ops::Range;

use crate::formats::numbers::{self, named};
use crate::lines::fences::Fences;
use crate::lines::outline::{self, Block, Item, Opaque};
use crate::lines::source::{Inline, Source};
use crate::lines::text;
use crate::tasks::checkbox::{BoxMark, read_box};
use crate::tasks::code_boxes;
use crate::tasks::heading::{self, TaskHeading};
use crate::tasks::legend::{self, Legend};
use crate::tasks::phase;
use crate::tasks::section::{self, Kind};
use crate::tasks::table::{self, Table};
use crate::words;
use orchestrate_core::text::parts::Parts;

/// The blocks of a document below its front matter.
pub(crate) struct Document<'s, 'a> {
    pub(crate) source: &'s Source<'a>,
    /// The offset of what is below the front matter.
    pub(crate) start: usize,
    pub(crate) blocks: Vec<Block>,
    /// All headings, in their order.
    pub(crate) headings: Vec<Heading>,
    /// All items that begin with a box, outside code, quotes and HTML, in their order.
    pub(crate) boxes: Vec<BoxedItem>,
    /// The top-level keys of the front matter.
    pub(crate) keys: Vec<&'a str>,
    /// The places of fenced code.
    pub(crate) fences: Vec<Range<usize>>,
    /// The offset of a fence that nothing closes.
    pub(crate) unclosed: Option<usize>,
    /// What it says of its marks.
    pub(crate) legend: Legend,
    boxes_named: OnceCell<BTreeMap<String, usize>>,
    headings_named: OnceCell<BTreeMap<String, usize>>,
}

/// A heading, with the section that it begins.
#[derive(Debug)]
pub(crate) struct Heading {
    /// Its index among the blocks.
    pub(crate) at: usize,
    /// The index after the last block of its section.
    pub(crate) end: usize,
    pub(crate) level: u8,
    /// Its place, with the `#` marks.
    pub(crate) range: Range<usize>,
    /// Its text without marks.
    pub(crate) title: String,
    /// The index of the heading whose section it is in.
    pub(crate) parent: Option<usize>,
    /// What its words say of the boxes below it.
    pub(crate) kind: Kind,
    /// Whether it begins a phase.
    pub(crate) is_phase: bool,
}

/// An item with a box.
#[derive(Debug)]
pub(crate) struct BoxedItem {
    /// How many items it is in.
    pub(crate) depth: usize,
    pub(crate) mark: BoxMark,
    /// The offset of the mark in the box.
    pub(crate) at: usize,
    /// The place of the text after the box.
    pub(crate) text: Range<usize>,
    /// The index of the innermost heading above it.
    pub(crate) heading: Option<usize>,
}

/// What the headings beside each other share.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Siblings {
    parent: Option<usize>,
    level: u8,
}

impl Heading {
    /// Returns what it shares with the headings beside it.
    pub(crate) fn siblings(&self) -> Siblings {
        Siblings {
            parent: self.parent,
            level: self.level,
        }
    }

    /// Returns what the words `Task N`, `Step N`, `T1`, `US-1` at its beginning say.
    pub(crate) fn task(&self) -> Option<TaskHeading<'_>> {
        heading::task(heading::after_mark(&self.title))
    }

    /// Reports whether it describes the whole document, as `Background` does.
    pub(crate) fn describes(&self) -> bool {
        let mut words = section::each_word(&self.title);
        let first = words.find(|word| !word.bytes().all(|byte| byte.is_ascii_digit()));
        first.is_some_and(|first| text::is_one_of(first, words::DOCUMENT))
    }

    /// Reports whether it speaks of work.
    pub(crate) fn is_work(&self) -> bool {
        matches!(self.kind, Kind::Work | Kind::Optional)
    }

    /// Returns the word that counts it in a series (`Phase`, be it by letters), or none (`2.
    /// Client`).
    pub(crate) fn series(&self) -> Option<&str> {
        let counted = numbers::series(&self.title);
        let is_phase = counted.is_none() && phase::begins(&self.title);
        let first = text::next_word(&self.title).filter(|_| is_phase);
        counted.or(first.map(|(word, _)| word))
    }

    /// Returns its whole number in a series.
    pub(crate) fn place(&self) -> Option<u32> {
        numbers::place(&self.title)
    }

    /// Reports whether its title, without marks of status, is this one, in any case.
    pub(crate) fn is(&self, title: &str) -> bool {
        heading::after_mark(&self.title)
            .trim_end_matches(':')
            .eq_ignore_ascii_case(title)
    }
}

impl<'s, 'a> Document<'s, 'a> {
    /// Reads what is below the front matter.
    pub(crate) fn read(source: &'s Source<'a>, start: usize) -> Self {
        let fences = Fences::read(source, start);
        let mut blocks = outline::read(source, start, &fences);
        code_boxes::unwrap(source, &mut blocks);
        let legend = Legend::read(source, start, &blocks);
        let mut document = Self {
            source,
            start,
            headings: headings(&blocks),
            blocks,
            boxes: Vec::new(),
            keys: keys(source, start),
            fences: fences.outer,
            unclosed: fences.unclosed,
            legend,
            boxes_named: OnceCell::new(),
            headings_named: OnceCell::new(),
        };
        document.boxes = document.find_boxes();
        document
    }

    /// Returns the blocks of the section of a heading.
    pub(crate) fn below(&self, heading: &Heading) -> &[Block] {
        self.blocks.part(heading.at + 1..heading.end)
    }

    /// Returns the blocks below a heading up to the next one.
    pub(crate) fn own(&self, heading: &Heading) -> &[Block] {
        let below = self.below(heading);
        let own = below
            .iter()
            .position(|block| matches!(block, Block::Heading { .. }));
        below.part(0..own.unwrap_or(below.len()))
    }

    /// Returns the text of a block that is a quote.
    pub(crate) fn quote(&self, block: &Block) -> Option<&'a str> {
        match block {
            Block::Opaque {
                kind: Opaque::Quote,
                range,
            } => Some(self.source.slice(range.clone())),
            _ => None,
        }
    }

    /// Returns the text after a box.
    pub(crate) fn text(&self, boxed: &BoxedItem) -> &'a str {
        self.source.slice(boxed.text.clone())
    }

    /// Returns the place of the section of a heading, with the heading.
    pub(crate) fn section(&self, heading: &Heading) -> Range<usize> {
        let last = self.below(heading).last();
        heading.range.start..last.map_or(heading.range.end, |block| block.range().end)
    }

    /// Returns the headings in the section of another one.
    pub(crate) fn headings_in(&self, heading: &Heading) -> &[Heading] {
        let first = self.headings.partition_point(|it| it.at <= heading.at);
        let last = self.headings.partition_point(|it| it.at < heading.end);
        self.headings.part(first..last)
    }

    /// Returns the heading that begins at an offset.
    pub(crate) fn heading_at(&self, offset: usize) -> Option<&Heading> {
        let starts = |it: &Heading| it.range.start;
        let at = self.headings.binary_search_by_key(&offset, starts).ok()?;
        self.headings.get(at)
    }

    /// Returns the boxes below a heading and those in its section.
    pub(crate) fn boxes_below(&self, heading: &Heading) -> &[BoxedItem] {
        let first = self.headings.partition_point(|own| own.at < heading.at);
        let last = self.headings.partition_point(|own| own.at < heading.end);
        self.boxes
            .part(self.boxes_before(first)..self.boxes_before(last))
    }

    /// Returns the number of boxes above a heading, given by its index.
    fn boxes_before(&self, heading: usize) -> usize {
        self.boxes
            .partition_point(|own| own.heading.is_none_or(|above| above < heading))
    }

    /// Returns the first of the outermost boxes with each name (`Phase 2`), by index.
    pub(crate) fn boxes_named(&self) -> &BTreeMap<String, usize> {
        self.boxes_named.get_or_init(|| {
            let outer = |own: &BoxedItem| named(self.text(own)).filter(|_| own.depth == 0);
            let names: Vec<Option<&str>> = self.boxes.iter().map(outer).collect();
            first_places(&names)
        })
    }

    /// Returns the first heading with each name (`Phase 2`), by index.
    pub(crate) fn headings_named(&self) -> &BTreeMap<String, usize> {
        self.headings_named.get_or_init(|| {
            let names: Vec<Option<&str>> =
                self.headings.iter().map(|own| named(&own.title)).collect();
            first_places(&names)
        })
    }

    /// Returns the heading above a box.
    pub(crate) fn heading_of(&self, boxed: &BoxedItem) -> Option<&Heading> {
        self.headings.get(boxed.heading?)
    }

    /// Reports whether a box stands anywhere below a heading that is such a one.
    pub(crate) fn is_below(&self, boxed: &BoxedItem, is: impl Fn(&Heading) -> bool) -> bool {
        self.is_in(boxed.heading, is)
    }

    /// Reports whether a box stands below a heading of checks.
    pub(crate) fn is_check(&self, boxed: &BoxedItem) -> bool {
        self.is_below(boxed, |heading| heading.kind == Kind::Checks)
    }

    /// Reports whether a heading, or one whose section it is in, is such a one.
    pub(crate) fn is_in(&self, mut next: Option<usize>, is: impl Fn(&Heading) -> bool) -> bool {
        while let Some(heading) = next.and_then(|at| self.headings.get(at)) {
            if is(heading) {
                return true;
            }
            next = heading.parent;
        }
        false
    }

    /// Returns the first box right below a heading, above the next one.
    pub(crate) fn first_box_below(&self, heading: &Heading) -> Option<&BoxedItem> {
        let first = self.boxes_below(heading).first()?;
        let above = self.heading_of(first)?;
        (above.at == heading.at).then_some(first)
    }

    /// Returns the first box below the heading that stands right above an item with a box.
    pub(crate) fn first_box_beside(&self, item: &Item) -> Option<&BoxedItem> {
        let start = item.range.start;
        let own = self.boxes.partition_point(|boxed| boxed.at < start);
        let heading = self.boxes.get(own)?.heading;
        let first = self.boxes.partition_point(|boxed| boxed.heading < heading);
        self.boxes.get(first)
    }

    /// Reports whether a box or a table of tasks stands below a heading.
    pub(crate) fn holds_work(&self, heading: &Heading) -> bool {
        let mut tables = self
            .below(heading)
            .iter()
            .filter_map(|block| self.table(block));
        self.holds_boxes(heading) || tables.any(|table| table.is_tracked)
    }

    /// Reads a block that is a table with a column for tasks.
    pub(crate) fn table(&self, block: &Block) -> Option<Table> {
        match block {
            Block::Paragraph(range) => table::read(self.source, range.clone()),
            _ => None,
        }
    }

    /// Returns the status that the front matter says.
    pub(crate) fn status(&self) -> Option<&'a str> {
        let lines = self.source.lines(0..self.start);
        let mut values = lines.filter_map(|(_, line)| line.strip_prefix("status:"));
        let value = values.next()?.trim().trim_matches(['"', '\'']);
        Some(value).filter(|value| !value.is_empty())
    }

    /// Reports whether an item with a box stands anywhere below a heading.
    pub(crate) fn holds_boxes(&self, heading: &Heading) -> bool {
        !self.boxes_below(heading).is_empty()
    }

    /// Reports whether the front matter has a key.
    pub(crate) fn has_key(&self, key: &str) -> bool {
        self.keys.contains(&key)
    }

    /// Reports whether a heading with this title stands in it.
    pub(crate) fn has_heading(&self, title: &str) -> bool {
        self.headings.iter().any(|heading| heading.is(title))
    }

    /// Reports whether its text contains another one, in code and HTML as well.
    pub(crate) fn contains(&self, text: &str) -> bool {
        memchr::memmem::find(self.source.text.as_bytes(), text.as_bytes()).is_some()
    }

    /// Returns the tables with a column for tasks, with the index of the heading above each.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (Option<usize>, Table)> {
        self.blocks.iter().enumerate().filter_map(|(at, block)| {
            let table = self.table(block)?;
            let above = self.headings.partition_point(|heading| heading.at < at);
            Some((above.checked_sub(1), table))
        })
    }

    fn find_boxes(&self) -> Vec<BoxedItem> {
        let mut found = Vec::new();
        let mut headings = self.headings.iter().enumerate().peekable();
        let mut heading = None;
        for (at, block) in self.blocks.iter().enumerate() {
            while let Some((index, _)) = headings.next_if(|(_, heading)| heading.at <= at) {
                heading = Some(index);
            }
            if let Block::List(items) = block {
                self.boxes_of(items, 0, heading, &mut found);
            }
        }
        found
    }

    fn boxed(&self, item: &Item, depth: usize, heading: Option<usize>) -> Option<BoxedItem> {
        // Most items below a task have no box.
        let text = self.source.slice(item.text.clone()).trim_start();
        if !text.starts_with('[') {
            return None;
        }
        let line = Inline::new(self.source, item.text.clone());
        let mark = read_box(&line.text)?;
        let first = line.text.lines().next().map_or(0, str::len);
        Some(BoxedItem {
            depth,
            mark: self.legend.applied(&line.text, mark),
            at: line.offset(1),
            text: line.offset(mark.rest.min(first))..line.offset(0) + first,
            heading,
        })
    }

    fn boxes_of(
        &self,
        items: &[Item],
        depth: usize,
        heading: Option<usize>,
        found: &mut Vec<BoxedItem>,
    ) {
        if depth == 0 && legend::is_one(self.source, items) {
            return;
        }
        for item in items {
            found.extend(self.boxed(item, depth, heading));
            for block in &item.blocks {
                if let Block::List(items) = block {
                    self.boxes_of(items, depth + 1, heading, found);
                }
            }
        }
    }
}

/// Returns the first index of each of these names.
fn first_places(names: &[Option<&str>]) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    for (at, name) in names.iter().enumerate() {
        if let Some(name) = name {
            found.entry((*name).to_owned()).or_insert(at);
        }
    }
    found
}

/// Returns the headings with the ends of their sections.
fn headings(blocks: &[Block]) -> Vec<Heading> {
    let mut found: Vec<Heading> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for (at, block) in blocks.iter().enumerate() {
        let Block::Heading { level, text, title } = block else {
            continue;
        };
        let level = &level_of(*level, title, &open, &found);
        while let Some(index) =
            open.pop_if(|index| found.get(*index).is_some_and(|it| it.level >= *level))
        {
            if let Some(over) = found.get_mut(index) {
                over.end = at;
            }
        }
        let parent = open.last().copied();
        open.push(found.len());
        found.push(Heading {
            at,
            end: blocks.len(),
            level: *level,
            range: text.clone(),
            title: title.clone(),
            parent,
            kind: section::kind(title),
            is_phase: phase::of_heading(title).is_some(),
        });
    }
    found
}

/// Returns the level that a heading counts as: `Task 3` is no part of `Task 2`, however deep it is.
fn level_of(level: u8, title: &str, open: &[usize], found: &[Heading]) -> u8 {
    let Some(own) = heading::task(heading::after_mark(title)) else {
        return level;
    };
    let around = open.iter().filter_map(|at| found.get(*at));
    let beside = around.filter(|outer| outer.level < level).find(|outer| {
        let task = outer.task();
        task.is_some_and(|outer| outer.is_beside(&own))
    });
    beside.map_or(level, |outer| outer.level)
}

/// Returns the keys at the beginning of the lines of a front matter that ends at this offset.
fn keys<'a>(source: &Source<'a>, end: usize) -> Vec<&'a str> {
    let mut keys = Vec::new();
    for (_, line) in source.lines(0..end) {
        if let Some((key, _)) = line.split_once(':')
            && !key.is_empty()
            && !key.contains([' ', '#', '-'])
        {
            keys.push(key);
        }
    }
    keys
}
