//! Tells a list of boxes that says what each of them means from one of tasks.

use std::collections::BTreeSet;

use crate::lines::outline::Item;
use crate::lines::source::{Inline, Source};
use crate::tasks::checkbox::read_box;
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

/// Reports whether the boxes of a list all differ, and each stands before a status alone.
pub(crate) fn is_one(source: &Source<'_>, items: &[Item]) -> bool {
    let mut marks = BTreeSet::new();
    items.len() >= MIN_BOXES
        && items.iter().all(|item| {
            let mark = explained(source, item);
            mark.is_some_and(|mark| marks.insert(mark))
        })
}

/// Returns the mark of a box whose text is a status.
fn explained(source: &Source<'_>, item: &Item) -> Option<char> {
    let line = Inline::new(source, item.text.clone());
    let found = read_box(&line.text).filter(|_| item.blocks.is_empty())?;
    let mark = line.text.chars().nth(1)?;
    let text = line.text.tail(found.rest);
    if section::each_word(text).nth(MAX_WORDS).is_some() {
        return None;
    }
    let lower = text.to_lowercase();
    let words = section::words(&lower);
    let status = meaning(text, &words)?;
    // `[ ] Complete the page` is a task.
    (!matches!(mark, ' ' | 'x' | 'X') || status == found.status).then_some(mark)
}

/// Returns the status that a text says, in no more than that and a remark.
fn meaning(text: &str, words: &[&str]) -> Option<TaskStatus> {
    let first = words.first()?;
    let of_all = match words::PUT_OFF.contains(&words.join(" ").as_str()) {
        true => Some(TaskStatus::Cancelled),
        false => status::of_text(text),
    };
    of_all.or_else(|| status::of_key(first).filter(|_| !VERBS.contains(first)))
}
