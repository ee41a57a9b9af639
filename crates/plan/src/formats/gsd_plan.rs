//! The plans of phases of GSD (get-shit-done): `.planning/phases/*/*-PLAN.md`, whose tasks are
//! `<task>` elements.
//!
//! They go in their order. A checkpoint is work of a person, and what stands after it waits. What
//! is outside of them is told to all.

use std::ops::Range;

use crate::fields::attributes::{Field, Located};
use crate::fields::key::Key;
use crate::fields::programs;
use crate::finding::{FindingCode, Findings, Pending};
use crate::formats::collected::Collected;
use crate::formats::document::Document;
use crate::formats::format::{Claim, Format};
use crate::formats::whole;
use crate::lines::source::Source;
use crate::lines::text;
use crate::tasks::checkbox::looks_like_box;
use crate::tasks::draft::Draft;
use crate::tasks::heading;
use crate::tasks::note::Note;
use crate::tasks::section;
use orchestrate_core::task::TaskStatus;
use orchestrate_core::text::parts::Parts;

pub(crate) const FORMAT: Format = Format {
    name: "gsd-plan",
    claims,
    owns_front_matter: true,
    finish: Some(finish),
    example: include_str!("gsd_plan.md"),
    ..Format::NONE
};

/// The elements of which at least one is in a task without a title, and what one without a name is
/// about.
const PARTS: &[&str] = &["name", "action", "what-built", "decision", "files"];
const SUBJECTS: &[&str] = &["what-built", "decision", "action"];

/// Why a box is no task.
const NO_ELEMENT: &str = "the plan's tasks are its `<task>` elements";

/// How the type of an element begins that is work of a person.
const CHECKPOINT: &str = "checkpoint";

/// An element that is a task.
struct Element<'a> {
    /// Its place, with its tags.
    range: Range<usize>,
    /// The place of what is between them.
    inner: Range<usize>,
    attributes: Attributes<'a>,
    is_closed: bool,
}

/// What stands in the opening tag of an element.
struct Attributes<'a>(&'a str);

impl<'a> Attributes<'a> {
    /// Returns the value of an attribute; empty if there is none.
    fn value(&self, name: &str) -> &'a str {
        for quote in ['"', '\''] {
            let begin = format!(" {name}={quote}");
            if let Some((_, value)) = self.0.split_once(&begin) {
                return value.split(quote).next().unwrap_or(value);
            }
        }
        ""
    }

    /// Returns the type of the element.
    fn kind(&self) -> &'a str {
        self.value("type")
    }

    /// Returns what the element is called.
    fn title(&self) -> &'a str {
        match self.value("title").trim() {
            "" => self.value("name").trim(),
            title => title,
        }
    }
}

/// How many `>` may stand between the quotes of an opening tag.
const MAX_ENDS: usize = 8;

/// Returns what stands in an opening tag, before the `>` that ends it: the first one behind which
/// no quote is open.
fn in_tag(rest: &str) -> Option<&str> {
    let ends = rest.match_indices('>').map(|(at, _)| rest.head(at));
    let mut closed = ends
        .take(MAX_ENDS)
        .filter(|tag| tag.matches('"').count().is_multiple_of(2));
    closed.next()
}

fn claims(document: &Document<'_, '_>) -> Claim {
    let elements = elements(document);
    if elements.is_empty() {
        return Claim::NotMine;
    }
    let last = elements.last().map_or(0, |last| last.range.end);
    if document.unclosed.is_some_and(|at| at < last) {
        let why = "a fence that never closes hides its `<task>` elements";
        return Claim::Contradicting(why.to_owned());
    }
    match elements.iter().all(|own| own.is_closed) {
        true => Claim::Mine("it has `<task>` elements with a name or an action"),
        false => Claim::Contradicting("one of its `<task>` elements is not closed".to_owned()),
    }
}

fn finish(document: &Document<'_, '_>, found: &mut Collected, findings: &mut Findings) {
    let source = document.source;
    let elements = elements(document);
    // Elements are blocks of HTML, quotes and lists by chance.
    findings.skipped.clear();
    let mut told = Vec::new();
    let mut from = document.start;
    let ends = source.text.len()..source.text.len();
    for place in elements.iter().map(|own| &own.range).chain([&ends]) {
        let outside = from..place.start;
        from = place.end;
        told.push(source.slice(outside.clone()).trim());
        for (offset, line) in source.lines(outside) {
            if looks_like_box(line) {
                let end = offset + line.len();
                found.lines.not_run(source, offset..end, NO_ELEMENT);
                findings.skip(offset, NO_ELEMENT);
            }
        }
    }
    told.retain(|text| !text.is_empty());
    found.notes = vec![Note {
        line: 1,
        text: told.join("\n\n"),
        ..Note::default()
    }];
    found.title = child(source, document.start..source.text.len(), "objective")
        .map(|objective| whole::headline(source.slice(objective).trim()));
    let mut phase = 0;
    for (at, own) in elements.into_iter().enumerate() {
        let mut draft = read(source, &own, findings);
        draft.section_index = at;
        draft.attributes.by_person = section::is_person(own.attributes.kind());
        let is_checkpoint = own.attributes.kind().starts_with(CHECKPOINT);
        phase += usize::from(is_checkpoint);
        draft.phase = phase;
        phase += usize::from(is_checkpoint);
        if is_checkpoint {
            let reason = format!("it is work of a person ({})", own.attributes.kind());
            draft.hold(TaskStatus::Blocked, reason);
        }
        found.add(source, draft, own.range.end);
    }
    if let Some(first) = found.drafts.iter().find(|draft| draft.status.runs()) {
        let message = "tasks of GSD have no status, so landing will not mark them as done";
        findings.warn(Pending::new(first.at, FindingCode::NoStatus, "", message));
    }
}

/// Returns the tasks outside of code; a plan of the type `tdd` has one feature instead.
fn elements<'a>(document: &Document<'_, 'a>) -> Vec<Element<'a>> {
    let tasks = elements_named(document, "task");
    if tasks.is_empty() && document.has_key("phase") && document.has_key("plan") {
        return elements_named(document, "feature");
    }
    tasks
}

fn elements_named<'a>(document: &Document<'_, 'a>, name: &str) -> Vec<Element<'a>> {
    let source = document.source;
    let length = source.text.len();
    let (opening, closing) = (format!("<{name}"), format!("</{name}>"));
    let mut found: Vec<Element<'a>> = Vec::new();
    let mut end = document.start;
    for (offset, line) in source.lines(document.start..length) {
        let text = line.trim_start();
        let rest = text.strip_prefix(&opening);
        let Some(attributes) = rest.and_then(in_tag) else {
            continue;
        };
        let is_longer = !attributes.is_empty() && !attributes.starts_with([' ', '\t']);
        if is_longer || offset < end || is_in_code(document, offset) {
            continue;
        }
        let start = offset + line.len() - text.len();
        let after = start + opening.len() + attributes.len() + 1;
        let closed = place_of(document, &closing, after);
        end = closed.map_or(length, |at| at + closing.len());
        found.push(Element {
            range: start..end,
            inner: after..closed.unwrap_or(length),
            attributes: Attributes(attributes),
            is_closed: closed.is_some(),
        });
    }
    found.retain(|own| has_part(source, own));
    found
}

/// Returns the first place of a text outside of code, from an offset on.
fn place_of(document: &Document<'_, '_>, text: &str, mut from: usize) -> Option<usize> {
    let source = document.source;
    loop {
        let at = from + source.slice(from..source.text.len()).find(text)?;
        if !is_in_code(document, at) {
            return Some(at);
        }
        from = at + text.len();
    }
}

/// Reports whether a place is in a fence. One that never closes may be a slip.
fn is_in_code(document: &Document<'_, '_>, at: usize) -> bool {
    let next = document.fences.partition_point(|fence| fence.end <= at);
    let fence = document.fences.get(next).filter(|own| own.contains(&at));
    fence.is_some_and(|own| Some(own.start) != document.unclosed)
}

fn has_part(source: &Source<'_>, own: &Element<'_>) -> bool {
    let mut parts = PARTS.iter();
    !own.attributes.title().is_empty()
        || parts.any(|part| child(source, own.inner.clone(), part).is_some())
}

/// Returns the place of what is in the first element with this name.
fn child(source: &Source<'_>, within: Range<usize>, name: &str) -> Option<Range<usize>> {
    let (opening, closing) = (format!("<{name}>"), format!("</{name}>"));
    let text = source.slice(within.clone());
    let start = text.find(&opening)? + opening.len();
    let length = text.get(start..)?.find(&closing)?;
    let start = within.start + start;
    Some(start..start + length)
}

/// Returns the places of what is in each element with this name.
fn children(source: &Source<'_>, within: Range<usize>, name: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut from = within.start;
    while let Some(place) = child(source, from..within.end, name) {
        from = place.end;
        found.push(place);
    }
    found
}

/// Returns the place of what an element in a task says, unless it is blank.
fn said(source: &Source<'_>, own: &Element<'_>, name: &str) -> Option<Range<usize>> {
    let place = child(source, own.inner.clone(), name)?;
    Some(place).filter(|place| !source.slice(place.clone()).trim().is_empty())
}

/// Returns an element as a task.
fn read(source: &Source<'_>, own: &Element<'_>, findings: &mut Findings) -> Draft {
    let mut draft = Draft {
        at: own.range.start,
        counts: true,
        ..Draft::default()
    };
    let mut details = source.slice(own.inner.clone()).to_owned();
    let place = said(source, own, "name");
    let written = place.clone().map_or("", |place| source.slice(place));
    details = details.replace(&format!("<name>{written}</name>"), "");
    let name = match written {
        "" => own.attributes.title(),
        written => written,
    };
    draft.title = name.split_whitespace().collect::<Vec<_>>().join(" ");
    let offset = place.map_or(own.range.start, |place| place.start);
    if let Some(found) = heading::task(&draft.title) {
        draft.number = Some(found.number.to_owned());
        draft.id = Some(Located::new(found.id(), offset));
        draft.title = draft.title.tail(found.rest).to_owned();
    }
    let id = own.attributes.value("id");
    if draft.id.is_none() && !id.is_empty() {
        draft.id = Some(Located::new(id, offset));
    }
    if name.is_empty()
        && let Some(place) = SUBJECTS.iter().find_map(|name| said(source, own, name))
    {
        draft.title = whole::headline(source.slice(place).trim());
    }
    draft.details = vec![details.trim().to_owned()];
    if let Some(files) = child(source, own.inner.clone(), "files") {
        for (offset, line) in source.lines(files) {
            set(&mut draft, Key::Files, offset, line, findings);
        }
    }
    verify(source, own, &mut draft, findings);
    draft
}

/// Takes what verifies a task: its automated checks one after the other, else what it says without
/// them.
fn verify(source: &Source<'_>, own: &Element<'_>, draft: &mut Draft, findings: &mut Findings) {
    let mut places = children(source, own.inner.clone(), "automated");
    if places.is_empty() {
        places.extend(child(source, own.inner.clone(), "verify"));
    }
    places.retain(|place| !source.slice(place.clone()).trim().is_empty());
    let Some(first) = places.first() else {
        return;
    };
    let mut commands = Vec::with_capacity(places.len());
    for place in &places {
        let written = source.slice(place.clone()).trim();
        let command = text::unwrap_marks(written);
        let is_command = command != written || programs::is_command(written);
        if !is_command && places.len() > 1 {
            let message = "not all of these checks are commands, so none of them is run";
            let found = Pending::new(place.start, FindingCode::InvalidValue, written, message);
            findings.warn(found.suggest("put each command in backticks"));
        }
        if !is_command {
            return;
        }
        commands.push(command);
    }
    let all = match commands.as_slice() {
        [_] => source.slice(first.clone()).to_owned(),
        several => format!("set -e\n(\n{}\n)", several.join("\n)\n(\n")),
    };
    set(draft, Key::Verify, first.start, &all, findings);
}

/// Sets an attribute to a text that is not blank.
fn set(draft: &mut Draft, key: Key, start: usize, written: &str, findings: &mut Findings) {
    let value = written.trim();
    let offset = start + written.len() - written.trim_start().len();
    if !value.is_empty() {
        let field = Field::new(key, value, offset);
        draft.attributes.set(&field, findings);
    }
}
