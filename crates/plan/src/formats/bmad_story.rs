//! Stories of the BMAD method: one story a file, with criteria, tasks and notes for the developer.
//!
//! The outer boxes of "Tasks / Subtasks" are the tasks, carried out exactly in their order; those
//! within them are their parts; headings `Task N` are tasks likewise. Other boxes (definition of
//! done, results of a review) are not run.

use crate::finding::Findings;
use crate::formats::collected::Collected;
use crate::formats::document::{BoxedItem, Document, Heading};
use crate::formats::finish;
use crate::formats::format::{Boxes, Claim, Decision, Format, ListItem, Scope};
use crate::formats::numbers;
use crate::lines::text;
use crate::tasks::section::{self, Kind};
use crate::tasks::status;
use orchestrate_core::task::TaskStatus;

pub(crate) const FORMAT: Format = Format {
    name: "bmad-story",
    claims,
    is_task: is_task_heading,
    boxes: Boxes::Are(boxed),
    in_order: true,
    ticks_parts: true,
    finish: Some(refine),
    example: include_str!("bmad_story.md"),
    ..Format::NONE
};

/// Headings of the template.
const SECTIONS: &[&str] = &[
    "Story",
    "Acceptance Criteria",
    "Dev Notes",
    "Dev Agent Record",
    "QA Results",
];

/// Those that tell of the work afterwards, and may repeat the boxes of the tasks.
const AFTERWARDS: &[&str] = &["Dev Agent Record", "QA Results"];

/// How many of them tell a story.
const ENOUGH: usize = 2;

/// What the heading of the tasks says, in lower case: "Tasks / Subtasks" or "Tasks".
const TASKS: &str = "tasks";
const SUBTASKS: &str = "subtasks";

/// What a task that comes from a review begins with.
const OF_REVIEW: &str = "[AI-Review]";

/// What a story is ready for once its tasks are done.
const AFTER_WORK: &[&str] = &["review", "qa", "testing", "merge", "done"];

/// The key, or the heading, of the status.
const STATUS: &str = "status";

fn claims(document: &Document<'_, '_>) -> Claim {
    let known = SECTIONS
        .iter()
        .filter(|title| document.has_heading(title))
        .count();
    let said = status_of(document);
    if known == 0 && said.is_none() {
        return Claim::NotMine;
    }
    let outer = document.boxes.iter().filter(|boxed| boxed.depth == 0);
    let tasks: Vec<&BoxedItem> = outer.filter(|it| is_task(document, it)).collect();
    let has_criteria = tasks.iter().any(|task| names_criteria(document.text(task)));
    let is_story = known >= ENOUGH || (has_criteria && said.is_some());
    if known > 0 && has_only_checks(document) {
        let why = "it is a story without tasks, and its boxes are what it is checked by";
        return Claim::Contradicting(why.to_owned());
    }
    let is_empty = known > 0 && document.boxes.is_empty() && is_titled(document);
    if let Some(word) = said.filter(|said| is_empty && is_over(said)) {
        let why = format!("its status is \"{word}\", and it has no tasks");
        return Claim::Contradicting(why);
    }
    if tasks.is_empty() || !is_story {
        return Claim::NotMine;
    }
    let is_open = tasks.iter().any(|task| task.mark.status.runs());
    match said.filter(|said| is_open && is_over(said)) {
        Some(word) => {
            Claim::Contradicting(format!("its status is \"{word}\", but it has open tasks"))
        }
        None => Claim::Mine("it has the sections of a story, with tasks for its criteria"),
    }
}

/// Reports whether the title of a document is that of a story, and no other heading is a task.
fn is_titled(document: &Document<'_, '_>) -> bool {
    let mut stories = document.headings.iter().filter(|it| it.task().is_some());
    let is_title = stories.next().is_some_and(|it| it.level == 1);
    is_title && stories.next().is_none()
}

/// Reports whether the title of a document is that of a story, and all its boxes, some of them
/// open, stand below headings of checks.
fn has_only_checks(document: &Document<'_, '_>) -> bool {
    let boxes = &document.boxes;
    is_titled(document)
        && boxes.iter().any(|own| own.mark.status.runs())
        && boxes
            .iter()
            .all(|own| document.is_below(own, |it| it.kind == Kind::Checks))
}

fn is_task(document: &Document<'_, '_>, boxed: &BoxedItem) -> bool {
    names_criteria(document.text(boxed)) || document.is_below(boxed, |it| names_tasks(&it.title))
}

fn names_tasks(title: &str) -> bool {
    let lower = title.to_lowercase();
    lower == TASKS || lower.contains(SUBTASKS)
}

/// Reports whether a text names the criteria that it is for: `(AC: 1, 2)`, `(AC1)`, `(ACs 3-4)`.
fn names_criteria(text: &str) -> bool {
    let after = text
        .split_once("(AC")
        .map(|(_, rest)| rest.trim_start_matches('s'));
    after.is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_digit() || matches!(c, ':' | '：' | ' ' | '#'))
    })
}

/// Returns the status in a heading (`## Status: Done`), below the heading "Status", or in a line
/// (`Status: done`) above all boxes.
fn status_of<'a>(document: &Document<'_, 'a>) -> Option<&'a str> {
    let source = document.source;
    let end = document.boxes.first().map_or(source.text.len(), |it| it.at);
    let mut is_heading = false;
    for (_, line) in source.lines(document.start..end) {
        let bare = line.trim_start_matches(['#', '*', ' ']);
        let (word, rest) = bare.split_at(text::position(bare, |c| !c.is_alphabetic()));
        let value = rest.trim_start_matches('*');
        let is_status = text::is_same_word(STATUS, word)
            && (value.is_empty() || value.starts_with([':', '：']));
        let text = match is_heading {
            true => line.trim_matches(['*', ' ']),
            false if is_status => value.trim_matches(['*', ':', ' ', '：']),
            false => continue,
        };
        if !text.is_empty() {
            return Some(text);
        }
        is_heading |= line.starts_with('#');
    }
    None
}

/// Reports whether a status says that nothing is left to do: done, or waiting for a review.
fn is_over(said: &str) -> bool {
    let lower = said.to_lowercase();
    match section::words(&lower).as_slice() {
        ["review", ..] => true,
        ["ready", "for", what, ..] => AFTER_WORK.contains(what),
        _ => status::of_text(said) == Some(TaskStatus::Done),
    }
}

fn is_task_heading(document: &Document<'_, '_>, heading: &Heading) -> bool {
    let is_below_tasks = document.is_in(heading.parent, |it| names_tasks(&it.title));
    is_below_tasks && numbers::is_task(&heading.title)
}

fn boxed(item: &ListItem<'_>, scope: &Scope<'_>) -> Decision {
    let reason = "a box outside of the tasks of the story";
    scope.unless_excluded(Decision::task_if(is_among_tasks(item, scope), reason))
}

fn is_among_tasks(item: &ListItem<'_>, scope: &Scope<'_>) -> bool {
    let is_named = scope.sections.iter().any(|open| names_tasks(&open.title));
    if !is_named && AFTERWARDS.iter().any(|title| scope.is_in(title)) {
        return item.text.starts_with(OF_REVIEW);
    }
    let first = scope.document.first_box_beside(item.item);
    is_named
        || names_criteria(item.text)
        || item.text.starts_with(OF_REVIEW)
        || first.is_some_and(|boxed| names_criteria(scope.document.text(boxed)))
}

fn refine(_document: &Document<'_, '_>, found: &mut Collected, _findings: &mut Findings) {
    for draft in &mut found.drafts {
        if numbers::is_task(&draft.title) {
            finish::count(draft);
        }
    }
}
