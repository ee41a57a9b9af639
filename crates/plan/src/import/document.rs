//! Recognises the format of a plan in JSON by its content, and reads it.

use std::collections::HashMap;
use std::ops::Range;

use crate::finding::{FindingCode, Findings, Pending};
use crate::formats::collected::Collected;
use crate::formats::format::Claim;
use crate::formats::held;
use crate::formats::lines::{Lines, Role};
use crate::front_matter::Order;
use crate::import::assemble::assemble;
use crate::import::format::{File, JsonFormat};
use crate::import::json::{Json, Malformed};
use crate::import::record::{Part, Reader, Record};
use crate::import::{beads, ralph, task_master};
use crate::lines::source::Source;
use crate::tasks::draft::Draft;

/// The formats of JSON; those of Markdown are in [`crate::formats::table`].
pub(crate) const FORMATS: &[JsonFormat] = &[ralph::FORMAT, task_master::FORMAT, beads::FORMAT];

/// What is told where no format is recognised.
const KNOWN: &str = "known are Ralph's `userStories` with `passes`, task-master's `tasks`, and the issues of beads, \
                     one on each line";

/// The contents of a plan in JSON.
pub(crate) struct Imported {
    pub(crate) collected: Collected,
    pub(crate) order: Order,
    /// The name of the format.
    pub(crate) format: &'static str,
}

/// Returns what a format says of a text.
pub(crate) fn claim(format: &JsonFormat, source: &Source<'_>) -> Claim {
    match values(source, 0, &mut Findings::default()) {
        Some(values) => (format.claims)(&File { values }),
        None => Claim::NotMine,
    }
}

/// Reports whether a text is meant as JSON, which comments may precede. In Markdown a list or a
/// link begins with `[` but not with `[{`, and what begins with `{` is a template's tag or an
/// attribute.
pub(crate) fn is_json(text: &str) -> bool {
    let mut text = text.trim_start();
    while text.starts_with("//") {
        text = text
            .split_once('\n')
            .map_or("", |(_, rest)| rest.trim_start());
    }
    if let Some(rest) = text.strip_prefix('[') {
        return rest.trim_start().starts_with('{');
    }
    text.strip_prefix('{')
        .is_some_and(|rest| !rest.starts_with(['{', '%', '#', ':', '.', '!']))
}

/// Reads the text from `start` on, of several tags the one with this name; `None` after an error
/// that leaves nothing to read.
pub(crate) fn read(
    source: &Source<'_>,
    start: usize,
    tag: Option<&str>,
    findings: &mut Findings,
) -> Option<Imported> {
    let file = File {
        values: values(source, start, findings)?,
    };
    let format = recognise(&file, findings)?;
    let mut reader = Reader {
        findings,
        tag,
        parts: Vec::new(),
    };
    let contents = (format.read)(&file, &mut reader);
    let parts = reader.parts;
    let order = contents.order;
    let mut collected = assemble(&contents, findings);
    collected.lines = account(source, &contents.records, &parts, &collected.drafts);
    held::settle(&mut collected, findings);
    Some(Imported {
        collected,
        order,
        format: format.name,
    })
}

/// Returns the one format that a file has; none and several are errors.
fn recognise(file: &File<'_>, findings: &mut Findings) -> Option<&'static JsonFormat> {
    let (mut mine, mut weakly) = (Vec::new(), Vec::new());
    for format in FORMATS {
        match (format.claims)(file) {
            Claim::NotMine => {}
            Claim::Weakly(_) => weakly.push(format),
            Claim::Mine(_) | Claim::Contradicting(_) => mine.push(format),
        }
    }
    if mine.is_empty() {
        mine = weakly;
    }
    let at = file.values.first().map_or(0, |first| first.offset);
    match mine.as_slice() {
        [only] => Some(only),
        [] => {
            let message = "this JSON is no plan that is known";
            let found = Pending::new(at, FindingCode::NoTasks, "", message);
            findings.error(found.suggest(KNOWN));
            None
        }
        several => {
            let names: Vec<&str> = several.iter().map(|format| format.name).collect();
            let message = format!("this JSON has the fields of {}", names.join(" and of "));
            findings.error(Pending::new(at, FindingCode::Ambiguous, "", message));
            None
        }
    }
}

/// A record, or what is beside the tasks.
struct Place<'p> {
    range: Range<usize>,
    /// The index of the task that it is.
    task: Option<usize>,
    /// Why it is not run.
    reason: Option<&'p str>,
}

/// Says what each line is: a task or a part of it where its record is; a group is told to its
/// parts.
fn account(source: &Source<'_>, records: &[Record], parts: &[Part], drafts: &[Draft]) -> Lines {
    let tasks: HashMap<usize, usize> = (0..).zip(drafts).map(|(at, it)| (it.at, at)).collect();
    let mut places = Vec::new();
    for record in records {
        places.push(Place {
            range: record.draft.at..record.end,
            task: tasks.get(&record.draft.at).copied(),
            reason: None,
        });
    }
    for part in parts {
        places.push(Place {
            range: part.range.clone(),
            task: None,
            reason: part.reason.as_deref(),
        });
    }
    // What is within another record comes after it.
    places.sort_by_key(|place| place.range.start);
    let mut lines = Lines::new(source);
    for Place {
        range,
        task,
        reason,
    } in places
    {
        match (task, reason) {
            (Some(at), _) => {
                lines.set(source, range.start..range.start, Role::Task(at));
                lines.set(source, range, Role::Part(at));
            }
            (None, Some(reason)) => lines.not_run(source, range, reason),
            (None, None) => lines.set(source, range, Role::Told),
        }
    }
    lines.fill(Role::Structure);
    lines
}

/// Returns the value of the text, or one for each line; `None` after an error.
fn values<'a>(source: &Source<'a>, start: usize, findings: &mut Findings) -> Option<Vec<Json<'a>>> {
    let text = source.slice(start..source.text.len());
    let whole = match Json::read(text, start) {
        Ok(whole) => return Some(vec![whole]),
        Err(error) => error,
    };
    let mut lines: Vec<(usize, &str)> = source.lines(start..source.text.len()).collect();
    lines.retain(|(_, line)| !line.trim().is_empty());
    let first = lines
        .first()
        .map(|(offset, line)| Json::read(line, *offset));
    if !matches!(first, Some(Ok(value)) if value.is_object()) {
        malformed(&whole, findings);
        return None;
    }
    let before = findings.errors.len();
    let mut values = Vec::new();
    for (offset, line) in lines {
        match Json::read(line, offset) {
            Ok(value) => values.push(value),
            Err(error) => malformed(&error, findings),
        }
    }
    (findings.errors.len() == before).then_some(values)
}

fn malformed(error: &Malformed, findings: &mut Findings) {
    let message = format!("this is not valid JSON: {}", error.reason);
    findings.error(Pending::new(error.offset, FindingCode::Json, "", message));
}
