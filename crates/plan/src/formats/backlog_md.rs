//! Backlog.md: `backlog/tasks/*.md`, each of which is one task.
//!
//! Its front matter has the task's id, title and status; criteria, plan and notes stand below, and
//! are parts of it. What it depends on is in other files.

use std::ops::Range;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_saphyr::Spanned;

use crate::finding::{FindingCode, Findings, Pending};
use crate::formats::collected::Collected;
use crate::formats::document::{BoxedItem, Document};
use crate::formats::format::{Claim, Format};
use crate::formats::yaml::{Front, one_line};
use crate::mark::Mark;
use crate::tasks::draft::Draft;
use crate::tasks::section;
use orchestrate_core::task::TaskStatus;

pub(crate) const FORMAT: Format = Format {
    name: "backlog-md",
    claims,
    owns_front_matter: true,
    finish: Some(finish),
    example: include_str!("backlog_md.md"),
    ..Format::NONE
};

/// One of these stands in each beside `id`, `title` and `status`.
const OTHERS: &[&str] = &["created_date", "assignee", "dependencies", "parent_task_id"];

/// What the status of a task is once it is done.
const DONE: &str = "Done";

/// The status of a task that a person has not accepted.
const DRAFT: &str = "draft";

/// The front matter.
#[derive(Deserialize)]
struct Task {
    id: Spanned<String>,
    title: Option<String>,
    status: Option<Spanned<String>>,
    dependencies: Option<Vec<Spanned<String>>>,
    labels: Option<Labels>,
}

/// What a task is labelled with; other values than a list say nothing.
#[derive(Deserialize)]
#[serde(untagged)]
enum Labels {
    List(Vec<String>),
    Other(IgnoredAny),
}

fn claims(document: &Document<'_, '_>) -> Claim {
    let is_task = ["id", "title", "status"]
        .iter()
        .all(|key| document.has_key(key));
    let has_other = OTHERS.iter().any(|key| document.has_key(key));
    if !is_task || !(has_other || document.contains("<!-- AC:BEGIN -->")) {
        return Claim::NotMine;
    }
    if Front::<Task>::read(document.source).is_none() {
        return Claim::Contradicting("its front matter cannot be read".to_owned());
    }
    let sections = sections(document);
    let mut boxes = document.boxes.iter();
    match boxes.all(|own| is_within(own, &sections) || document.is_check(own)) {
        true => Claim::Mine("its front matter is that of one task of Backlog.md"),
        false => {
            let why = "its front matter says that it is one task, but it has boxes of its own";
            Claim::Contradicting(why.to_owned())
        }
    }
}

/// Reports whether a box stands in one of these places, which are in order.
fn is_within(own: &BoxedItem, places: &[Range<usize>]) -> bool {
    let at = own.text.start;
    let before = places.partition_point(|place| place.start <= at);
    let last = before.checked_sub(1).and_then(|last| places.get(last));
    last.is_some_and(|place| place.contains(&at))
}

/// Returns the places of what stands between `<!-- AC:BEGIN -->` and the comment that ends it.
fn sections(document: &Document<'_, '_>) -> Vec<Range<usize>> {
    let source = document.source;
    let mut found = Vec::new();
    let mut begun = None;
    for (offset, line) in source.lines(document.start..source.text.len()) {
        let line = line.trim();
        if line.starts_with("<!--") && line.ends_with(":BEGIN -->") {
            begun = Some(offset);
        } else if line.starts_with("<!--") && line.ends_with(":END -->") {
            found.extend(begun.take().map(|from| from..offset));
        }
    }
    found
}

fn finish(document: &Document<'_, '_>, found: &mut Collected, findings: &mut Findings) {
    let Some(front) = Front::<Task>::read(document.source) else {
        return;
    };
    let id = front.word(&front.keys.id);
    let mut draft = Draft {
        at: id.offset,
        id: Some(id),
        title: one_line(front.keys.title.as_ref()),
        ..Draft::default()
    };
    if let Some(Labels::List(labels)) = &front.keys.labels {
        draft.attributes.by_person = labels.iter().any(|label| section::is_person(label));
    }
    let mut is_draft = false;
    if let Some(status) = &front.keys.status {
        is_draft = status.value.eq_ignore_ascii_case(DRAFT);
        front.set_status(status, DONE, &mut draft, findings);
    }
    let others = front.words(front.keys.dependencies.as_ref());
    if is_draft {
        draft.hold(
            TaskStatus::Blocked,
            "it is a draft, which a person has to accept",
        );
    }
    for on in others.iter().filter(|_| draft.status.runs()) {
        let message = format!(
            "it depends on {}, which is not in this file: is it done?",
            on.text
        );
        let code = FindingCode::UnknownDependency;
        findings.warn(Pending::new(on.offset, code, &on.text, message));
    }
    for own in &document.boxes {
        if own.mark.status != TaskStatus::Cancelled {
            draft.marks.push(Mark::of_box(own.at));
        }
    }
    // The body is told as notes, and is a part of the only task.
    let source = document.source;
    let at = draft.at;
    found.add(source, draft, at);
    found.add_part(source, document.start..source.text.len());
}
