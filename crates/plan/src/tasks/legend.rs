//! What a document says that its marks mean: in a list of boxes each of which stands before a
//! status alone, which is no list of tasks, or in lines such as "Legend: `[ ]` open".
//!
//! Marks are read as they usually are, so a document in which one means something else is refused.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::finding::{FindingCode, Findings, Pending};
use crate::lines::outline::{Block, Item};
use crate::lines::source::{Inline, Source};
use crate::tasks::checkbox::read_box;
use crate::tasks::section;
use crate::tasks::status;
use crate::words;
use orchestrate_core::task::TaskStatus;
use orchestrate_core::text::parts::Parts;

/// The maximum number of words of what a box means.
const MAX_WORDS: usize = 3;

/// The number of marks from which on a list or a line may be a legend.
const MIN_MARKS: usize = 2;

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

/// Refuses each mark in use that a document from `start` on explains as another status than it is
/// read as, and warns of each that it explains in unknown words.
pub(crate) fn check(source: &Source<'_>, start: usize, blocks: &[Block], findings: &mut Findings) {
    let mut groups = Vec::new();
    for block in blocks {
        if let Block::List(items) = block {
            groups.push(of_list(source, items));
        }
    }
    // Lines beside each other are one legend.
    let mut group = Vec::new();
    for (at, line) in source.lines(start..source.text.len()) {
        let own = of_line(at, line);
        if own.is_empty() && !line.trim().is_empty() {
            groups.push(std::mem::take(&mut group));
        }
        group.extend(own);
    }
    groups.push(group);
    let mut seen = BTreeSet::new();
    for meaning in groups.into_iter().filter(|it| explains(it)).flatten() {
        if seen.insert(meaning.mark) {
            meaning.check(source, findings);
        }
    }
}

/// Reports whether meanings that stand together explain marks.
fn explains(said: &[Meaning]) -> bool {
    let mut marks = BTreeSet::new();
    let is_meant = said.iter().any(|it| it.status.is_some() || it.is_labelled);
    said.len() >= MIN_MARKS && is_meant && said.iter().all(|it| marks.insert(it.mark))
}

impl Meaning {
    fn check(&self, source: &Source<'_>, findings: &mut Findings) {
        let (mark, said) = (self.mark, source.slice(self.said.clone()));
        let written = format!("[{mark}]");
        let usual = read_box(&written).map(|found| found.status);
        let is_used = source.text.matches(&written).nth(1).is_some();
        let is_plain = matches!(mark, ' ' | 'x' | 'X');
        let message = match self.status {
            Some(_) if self.status.map(kind) != usual.map(kind) => {
                format!("`{written}` means `{said}` here, but is read as it usually is")
            }
            None if !is_plain => format!(
                "`{written}` means `{said}` here, which is no known status, so it is read as it \
                 usually is"
            ),
            _ => return,
        };
        let found = Pending::new(self.said.start, FindingCode::InvalidValue, said, message);
        match self.status {
            _ if !is_used => {}
            None => findings.warn(found),
            Some(_) => {
                let advice =
                    "write `[ ]`, `[x]`, `[~]` in progress, `[-]` cancelled, `[!]` blocked";
                findings.error(found.suggest(Some(advice.to_owned())));
            }
        }
    }
}

/// Returns whether a run carries out tasks with a status, and whether they are done.
fn kind(status: TaskStatus) -> [bool; 2] {
    [status.runs(), status == TaskStatus::Done]
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
    match said.len() < MIN_MARKS {
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
        let before = line.head(open).trim_end_matches(['`', '*', ' ']);
        let is_code = line.head(open).ends_with('`') && before.trim_matches(BULLETS).is_empty();
        if !text.is_empty() {
            said.push(Meaning {
                mark,
                status: meaning(text),
                said: start..start + text.len(),
                is_labelled: is_code || before.ends_with([':', '：']),
            });
        }
    }
    said
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
