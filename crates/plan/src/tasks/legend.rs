//! What a document says that its marks mean: in a list of boxes each of which stands before a
//! status alone, which is no list of tasks, or in lines such as "Legend: `[ ]` open, `[~]`
//! dropped".
//!
//! What it says counts, rather than what the marks usually mean.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::finding::{FindingCode, Findings, Pending};
use crate::lines::outline::{Block, Item};
use crate::lines::source::{Inline, Source};
use crate::tasks::checkbox::{BoxMark, read_box};
use crate::tasks::section;
use crate::tasks::status;
use crate::words;
use orchestrate_core::task::TaskStatus;
use orchestrate_core::text::parts::Parts;

/// The maximum number of words of what a box means.
const MAX_WORDS: usize = 3;

/// The number of boxes from which on a list may be a legend.
const MIN_BOXES: usize = 2;

/// Words of a status that a task may begin with as well.
const VERBS: &[&str] = &["open", "complete", "draft", "new", "next", "ready"];

/// What stands between a mark and its meaning, and what ends that.
const LINKS: &[char] = &[' ', '`', '*', '=', ':', '-', '–', '—', '→', '|'];
const ENDS: &[char] = &['[', ',', ';', '.', '|', '·', '(', ')', '`'];

/// What stands before the box of an item that may be in others.
const BULLETS: &[char] = &[
    '>', '|', ' ', '\t', '-', '*', '+', '.', ')', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9',
];

/// What a document says of a mark.
struct Meaning {
    mark: char,
    /// The status that it stands for, if that is known.
    status: Option<TaskStatus>,
    /// The words for it.
    said: Range<usize>,
    /// Whether a label stands before it, or it begins an item as code.
    is_labelled: bool,
}

impl Meaning {
    /// Returns the status that the mark has where nothing is said of it.
    fn usual(&self) -> Option<TaskStatus> {
        read_box(&format!("[{}]", self.mark)).map(|found| found.status)
    }

    /// Reports whether the mark is the one that is written for a done task.
    fn is_tick(&self) -> bool {
        matches!(self.mark, 'x' | 'X')
    }
}

/// The marks that mean something else in a document than they usually do.
#[derive(Default)]
pub(crate) struct Legend {
    meanings: Vec<Meaning>,
}

impl Legend {
    /// Finds what a document says from `start` on.
    pub(crate) fn read(source: &Source<'_>, start: usize, blocks: &[Block]) -> Self {
        let mut legend = Self::default();
        for block in blocks {
            if let Block::List(items) = block {
                legend.add(of_list(source, items));
            }
        }
        let mut said = Vec::new();
        for (at, line) in source.lines(start..source.text.len()) {
            let own = of_line(at, line);
            if own.is_empty() && !line.trim().is_empty() {
                legend.add(std::mem::take(&mut said));
            }
            said.extend(own);
        }
        legend.add(said);
        legend
    }

    /// Adds what lines beside each other, or a list, say of marks, if they explain several.
    fn add(&mut self, said: Vec<Meaning>) {
        let mut marks = BTreeSet::new();
        let are_different = said.iter().all(|meaning| marks.insert(meaning.mark));
        let mut own = said.iter();
        let is_meant = own.any(|meaning| meaning.status.is_some() || meaning.is_labelled);
        if said.len() < MIN_BOXES || !are_different || !is_meant {
            return;
        }
        for meaning in said {
            let is_plain = meaning.is_tick() || meaning.mark == ' ';
            let is_other = meaning.status.is_some() || !is_plain;
            let is_new = self.meanings.iter().all(|own| own.mark != meaning.mark);
            if is_new && is_other && meaning.status != meaning.usual() {
                self.meanings.push(meaning);
            }
        }
    }

    /// Returns the status that the document says for the mark of a box; a tick is what is written.
    pub(crate) fn status(&self, text: &str, found: &BoxMark) -> Option<TaskStatus> {
        let mark = text.tail(found.at?).chars().next()?;
        let own = self.meanings.iter().find(|meaning| meaning.mark == mark);
        own.filter(|meaning| !meaning.is_tick())?.status
    }

    /// Returns a box with the status that the document says for its mark.
    pub(crate) fn applied(&self, text: &str, found: BoxMark) -> BoxMark {
        let status = self.status(text, &found).unwrap_or(found.status);
        BoxMark { status, ..found }
    }

    /// Refuses ticks that mean no done task, and marks in use whose meaning is not known.
    pub(crate) fn report(&self, source: &Source<'_>, findings: &mut Findings) {
        for meaning in &self.meanings {
            let said = source.slice(meaning.said.clone());
            let mark = meaning.mark;
            let (at, code) = (meaning.said.start, FindingCode::InvalidValue);
            let is_used = source.text.matches(&format!("[{mark}]")).nth(1).is_some();
            let why = match meaning.status {
                _ if meaning.is_tick() => "so no task can be ticked with it",
                None if is_used => "which is no known status",
                _ => continue,
            };
            let message = format!("`[{mark}]` means `{said}` here, {why}");
            findings.error(Pending::new(at, code, said, message));
        }
    }
}

/// Reports whether the boxes of a list all differ, and each stands before a status alone.
pub(crate) fn is_one(source: &Source<'_>, items: &[Item]) -> bool {
    !of_list(source, items).is_empty()
}

/// Returns what a list says of marks; nothing if it is none of boxes that all differ, each before a
/// status alone.
fn of_list(source: &Source<'_>, items: &[Item]) -> Vec<Meaning> {
    let (mut said, mut marks) = (Vec::new(), BTreeSet::new());
    for item in items {
        match explained(source, item) {
            Some(meaning) if marks.insert(meaning.mark) => said.push(meaning),
            _ => return Vec::new(),
        }
    }
    match said.len() < MIN_BOXES {
        true => Vec::new(),
        false => said,
    }
}

/// Returns what a box says whose text is a status.
fn explained(source: &Source<'_>, item: &Item) -> Option<Meaning> {
    let line = Inline::new(source, item.text.clone());
    let found = read_box(&line.text).filter(|_| item.blocks.is_empty())?;
    let mark = line.text.chars().nth(1)?;
    let status = meaning(line.text.tail(found.rest))?;
    // `[ ] Complete the page` is a task.
    let is_meant = !matches!(mark, ' ' | 'x' | 'X') || status == found.status;
    is_meant.then(|| Meaning {
        mark,
        status: Some(status),
        said: line.offset(found.rest)..item.text.end,
        is_labelled: false,
    })
}

/// Returns what a line says of the marks in it; a box before the text of a task says nothing.
fn of_line(at: usize, line: &str) -> Vec<Meaning> {
    let mut said = Vec::new();
    let text = line.trim_start();
    let is_other_row = text.starts_with('|') && !text.trim_start_matches(LINKS).starts_with('[');
    let item = text.trim_start_matches(BULLETS);
    let is_task = item.len() < text.len() && item.starts_with('[');
    if is_other_row || is_task {
        return said;
    }
    for (open, _) in line.match_indices('[') {
        let Some((mark, rest)) = mark_at(line.tail(open)) else {
            continue;
        };
        let rest = rest.trim_start_matches(LINKS);
        let text = rest.split(ENDS).next().unwrap_or(rest);
        let text = text.trim_end_matches([' ', '*', '_']);
        let start = at + line.len() - rest.len();
        if !text.is_empty() {
            said.push(Meaning {
                mark,
                status: meaning(text),
                said: start..start + text.len(),
                is_labelled: is_label(line.head(open)),
            });
        }
    }
    said
}

/// Reports whether what stands before a mark only introduces it: `Legend:`, or a bullet before
/// code.
fn is_label(before: &str) -> bool {
    let is_code = before.ends_with('`');
    let text = before.trim_end_matches(['`', '*', ' ']);
    text.ends_with([':', '：']) || (is_code && text.trim_matches(BULLETS).is_empty())
}

/// Returns the mark of a box, wherever it stands, and what follows the box, unless it is a link.
fn mark_at(text: &str) -> Option<(char, &str)> {
    let mark = text.chars().nth(1)?;
    let (boxed, rest) = text.split_at_checked(mark.len_utf8() + 2)?;
    let is_link = rest.starts_with(['(', '[']);
    read_box(boxed).filter(|_| !is_link)?;
    Some((mark, rest))
}

/// Returns the status that a text says, in no more than that and a remark.
fn meaning(text: &str) -> Option<TaskStatus> {
    if section::each_word(text).nth(MAX_WORDS).is_some() {
        return None;
    }
    let lower = text.to_lowercase();
    let words = section::words(&lower);
    let first = words.first()?;
    let of_all = match words::PUT_OFF.contains(&words.join(" ").as_str()) {
        true => Some(TaskStatus::Cancelled),
        false => status::of_text(text),
    };
    of_all.or_else(|| status::of_key(first).filter(|_| !VERBS.contains(first)))
}
