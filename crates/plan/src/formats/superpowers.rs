//! Plans of the superpowers skills, by `writing-plans`: headings `Task N` with files and steps.
//!
//! A task is all from its heading to the next one; the boxes below it are its steps. Everything
//! else is told, and no box outside of the tasks is run (self-review, "done when").

use crate::finding::Findings;
use crate::formats::collected::Collected;
use crate::formats::document::{Document, Heading};
use crate::formats::finish;
use crate::formats::format::{Boxes, Claim, Format};
use crate::formats::numbers::{self, counted};
use crate::formats::task_headings;
use crate::lines::outline::Block;
use crate::tasks::draft::items_of;
use crate::tasks::{heading, phase};

pub(crate) const FORMAT: Format = Format {
    name: "superpowers",
    claims,
    is_task: is_leaf,
    boxes: Boxes::NotRun("a box outside of the tasks, which are headings"),
    finish: Some(number),
    example: include_str!("superpowers.md"),
    ..Format::NONE
};

/// What the quote at the top names: the skill that carries the plan out, of whatever collection.
const SKILLS: &[&str] = &[
    "superpowers:",
    ":executing-plans",
    ":subagent-driven-development",
];

/// What the list of a task's files says of each.
const FILES: &[&str] = &["Create: `", "Modify: `", "Test: `"];

fn claims(document: &Document<'_, '_>) -> Claim {
    let tasks: Vec<&Heading> = document
        .headings
        .iter()
        .filter(|heading| is_task(document, heading))
        .collect();
    let Some(first) = tasks.first() else {
        return Claim::NotMine;
    };
    let mut above = document.blocks.iter().take(first.at);
    let is_named = above.any(|block| names_skill(document, block));
    let is_shaped = tasks
        .iter()
        .any(|task| has_steps(document, task) && lists_files(document, task));
    if !is_named && !is_shaped {
        return Claim::NotMine;
    }
    let mut leaves: Vec<usize> = Vec::with_capacity(tasks.len());
    leaves.extend(
        tasks
            .iter()
            .filter(|it| is_leaf(document, it))
            .map(|it| it.at),
    );
    let mut beside = task_headings::beside(document, &leaves).into_iter();
    if beside.any(|it| it.may_be_task) {
        // The grammar of all other documents asks about it.
        return Claim::NotMine;
    }
    let torn = tasks
        .iter()
        .find(|task| has_steps(document, task) && holds_tasks(document, task));
    match torn {
        Some(torn) => {
            let title = &torn.title;
            Claim::Contradicting(format!("\"{title}\" has steps, and other tasks below it"))
        }
        None => Claim::Mine("its headings of tasks have the files and steps of superpowers"),
    }
}

fn names_skill(document: &Document<'_, '_>, block: &Block) -> bool {
    let names = |text: &str| SKILLS.iter().any(|skill| text.contains(skill));
    document.quote(block).is_some_and(names)
}

/// Reports whether a heading is that of a task: `Task N`, or another word with a number above
/// steps, since people translate it.
fn is_task(document: &Document<'_, '_>, heading: &Heading) -> bool {
    let title = &heading.title;
    numbers::is_task(title) || (counts_alone(title) && has_steps(document, heading))
}

/// Reports whether a title counts something that is neither a step nor a phase.
fn counts_alone(title: &str) -> bool {
    !heading::is_step(title) && !phase::begins(title) && counted(title).is_some()
}

/// Reports whether boxes, or lines `**Step 1: …**`, stand right below a heading.
fn has_steps(document: &Document<'_, '_>, heading: &Heading) -> bool {
    let mut blocks = document.own(heading).iter();
    let has_lines = blocks.any(|block| {
        let text = document.source.slice(block.range()).trim_start();
        text.starts_with("**") && counted(text).is_some()
    });
    has_lines || document.first_box_below(heading).is_some()
}

fn lists_files(document: &Document<'_, '_>, heading: &Heading) -> bool {
    let mut items = document.own(heading).iter().flat_map(items_of);
    items.any(|item| {
        let line = document.source.slice(item.text.clone());
        FILES.iter().any(|file| line.starts_with(file))
    })
}

/// Reports whether the heading of a task stands in the section of another one.
fn holds_tasks(document: &Document<'_, '_>, heading: &Heading) -> bool {
    let mut below = document.headings_in(heading).iter();
    below.any(|it| is_task(document, it))
}

fn is_leaf(document: &Document<'_, '_>, heading: &Heading) -> bool {
    is_task(document, heading) && !holds_tasks(document, heading)
}

fn number(_document: &Document<'_, '_>, found: &mut Collected, _findings: &mut Findings) {
    found.drafts.iter_mut().for_each(finish::count);
}
