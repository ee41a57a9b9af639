//! Which reading of a document counts: that of its format, that of the one way that fits, or the
//! first of several, which is asked about.

use serde::{Deserialize, Serialize};

use crate::fields::names::{KnownNames, ReadAs};
use crate::finding::{FindingCode, Findings, Pending};
use crate::formats::collected::Collected;
use crate::formats::document::Document;
use crate::formats::generic::FirstRead;
use crate::formats::held;
use crate::formats::left_over;
use crate::formats::table::Claimed;
use crate::formats::verdict::{self, Verdict};
use crate::formats::whole;
use crate::lines::text;
use crate::tasks::draft::Draft;
use crate::tasks::note::Note;
use crate::tasks::status;
use orchestrate_core::task::TaskStatus;

/// How many titles of a reading are shown.
const SHOWN_TITLES: usize = 3;

/// One way to read a document that can be read in several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Reading {
    /// The word that chooses it.
    pub read: String,
    /// How many tasks are open.
    pub tasks: usize,
    /// What to say of its tasks if none of them is open: `2 tasks, all done`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
    /// The titles of the first of them.
    pub titles: Vec<String>,
    /// Why it fits.
    pub why: String,
}

/// A document that was read; nothing if it cannot be read.
#[derive(Default)]
pub(crate) struct Read {
    pub(crate) collected: Collected,
    /// The name of its format, or the way in which it was read.
    pub(crate) format: &'static str,
    /// The ways to read it, if there are several.
    pub(crate) readings: Vec<Reading>,
}

/// One way to read a document, with what it finds.
struct Found {
    way: ReadAs,
    why: String,
    collected: Collected,
    findings: Findings,
}

impl Found {
    /// Returns the document as it was read, and adds what was found to other findings.
    fn into_read(self, findings: &mut Findings) -> Read {
        findings.append(self.findings);
        Read {
            collected: self.collected,
            format: self.way.word(),
            readings: Vec::new(),
        }
    }
}

/// Reads a document in its format, or in the one way that fits; if several do, or if its format is
/// contradicted, that is an error, and the first way counts.
pub(crate) fn read(
    document: &Document<'_, '_>,
    way: Option<ReadAs>,
    known: &KnownNames,
    findings: &mut Findings,
) -> Read {
    let claimed = Claimed::new(document);
    if let Some(way) = way {
        return chosen(document, way, &claimed, known, findings);
    }
    if let Some(format) = claimed.only() {
        let mut collected = format.read(document, known, findings);
        end_all(document, &mut collected, findings);
        return Read {
            collected,
            format: format.name,
            readings: Vec::new(),
        };
    }
    let (why, ways) = match verdict::judge(document, known) {
        Verdict::Certain(first) if claimed.mine.is_empty() => {
            if !is_goal_in_part(document, &first) {
                let mut found = finished(document, *first, known);
                end_all(document, &mut found.collected, &mut found.findings);
                return found.into_read(findings);
            }
            ("its text marks work as done, but no task", vec![first.way])
        }
        Verdict::Ambiguous(why, ways) => (why, ways),
        Verdict::Certain(_) => ("", verdict::ways(document, known)),
    };
    let why = match (claimed.mine.is_empty(), &claimed.contradiction) {
        (true, _) => why,
        (false, Some(why)) => why,
        (false, None) => "it has the marks of several formats",
    };
    let mut all = of_formats(document, &claimed, known);
    for way in ways {
        if all.iter().all(|found| found.way != way) {
            all.push(in_way(document, way, known));
        }
    }
    all.retain(|found| is_choosable(document, &found.collected));
    if let [only] = all.as_mut_slice()
        && claimed.contradiction.is_none()
    {
        end_all(document, &mut only.collected, &mut only.findings);
    }
    let readings: Vec<Reading> = all.iter().map(reading).collect();
    let is_over = matches!(readings.as_slice(), [only] if only.over.is_some());
    let first = all.into_iter().next();
    let first = first.unwrap_or_else(|| in_way(document, ReadAs::Whole, known));
    if is_over && claimed.contradiction.is_none() {
        return first.into_read(findings);
    }
    findings.error(ambiguous(document, why, &readings));
    Read {
        format: "ambiguous",
        readings,
        ..first.into_read(findings)
    }
}

/// Reads a document in the chosen way, which is that of a format if the document is not certain.
fn chosen(
    document: &Document<'_, '_>,
    way: ReadAs,
    claimed: &Claimed,
    known: &KnownNames,
    findings: &mut Findings,
) -> Read {
    let formats = match claimed.only() {
        Some(_) => Vec::new(),
        None => of_formats(document, claimed, known),
    };
    let of_format = formats.into_iter().find(|found| found.way == way);
    // Who chooses a way wants its tasks, whatever the document says of its status.
    let found = of_format.unwrap_or_else(|| in_way(document, way, known));
    found.into_read(findings)
}

/// Reads a document in each format that claims it, as long as their tasks are different things: the
/// word for these chooses the format.
fn of_formats(document: &Document<'_, '_>, claimed: &Claimed, known: &KnownNames) -> Vec<Found> {
    let mut all: Vec<Found> = Vec::new();
    for (format, why) in &claimed.mine {
        let mut findings = Findings::default();
        let collected = format.read(document, known, &mut findings);
        let way = way_of(document, &collected);
        // One that finds no tasks would choose nothing.
        if !collected.drafts.is_empty() && all.iter().all(|found| found.way != way) {
            all.push(Found {
                way,
                why: why.clone(),
                collected,
                findings,
            });
        }
    }
    all
}

/// Returns the way whose word says what the tasks of a format are in a document.
fn way_of(document: &Document<'_, '_>, found: &Collected) -> ReadAs {
    let Some(at) = found.drafts.first().map(|draft| draft.at) else {
        return ReadAs::Whole;
    };
    let source = document.source;
    // The front matter is one task, or has a list of them.
    if at < document.start {
        let line = source.slice(source.line_start(source.line_of(at))..document.start);
        return match line.trim_start().starts_with('-') {
            true => ReadAs::Items,
            false => ReadAs::Whole,
        };
    }
    let next = document.boxes.partition_point(|boxed| boxed.at < at);
    let next_box = document.boxes.get(next);
    let begins_box = next_box.is_some_and(|boxed| source.line_of(boxed.at) == source.line_of(at));
    if document.heading_at(at).is_some() {
        ReadAs::Headings
    } else if begins_box {
        ReadAs::Boxes
    } else if document
        .tables()
        .any(|(_, table)| table.rows.iter().any(|row| row.at == at))
    {
        ReadAs::Table
    } else {
        ReadAs::Items
    }
}

/// Reports whether a document would be one goal, although a mark says that some of it is done.
fn is_goal_in_part(document: &Document<'_, '_>, first: &FirstRead) -> bool {
    first.way == ReadAs::Whole
        && document.source.text.contains('✅')
        && whole::task(&first.found, document.start).is_some()
}

/// Reports whether a reading has tasks, or makes a goal of the document.
fn is_choosable(document: &Document<'_, '_>, found: &Collected) -> bool {
    !found.drafts.is_empty() || whole::task(found, document.start).is_some()
}

/// Takes the open tasks for what the document says of all its work, if that is not to be done.
fn end_all(document: &Document<'_, '_>, found: &mut Collected, findings: &mut Findings) {
    let notes = found.notes.iter();
    let of_all: Vec<&Note> = notes
        .filter(|note| !is_of_its_own(document, note, found))
        .collect();
    // Other documents have a front matter, too, and their drafts wait for no approval.
    let in_front = document
        .status()
        .filter(|text| !found.owns_front_matter && !text::is_same_word("draft", text));
    let said: Vec<&str> = in_front.into_iter().chain(whole::said(&of_all)).collect();
    if let Some(status) = said.iter().find_map(|text| whole::over(text)) {
        for draft in &mut found.drafts {
            let reason = "the document says that all its work is done, or not to be done";
            draft.hold(status, reason);
        }
        return held::say(found, findings);
    }
    let is_open = found.drafts.iter().any(|draft| draft.status.runs());
    let mut doubtful = said.into_iter().filter(|text| whole::is_doubtful(text));
    if let Some(text) = doubtful.next().filter(|_| is_open) {
        let at = document.source.text.find(text).unwrap_or(document.start);
        let message = format!("the status `{text}` is no word for done, so the open tasks are run");
        findings.warn(Pending::new(at, FindingCode::LookAlike, text, message));
    }
}

/// Reports whether a note is below a heading such as `Status: Deferred` that has tasks of its own.
fn is_of_its_own(document: &Document<'_, '_>, note: &Note, found: &Collected) -> bool {
    let title = note.heading.as_deref().and_then(status::after_status);
    let source = document.source;
    let mut headings = document.headings.iter();
    let own = headings.find(|it| title.is_some() && source.line_of(it.range.start) == note.line);
    own.is_some_and(|own| !found.drafts_in(&document.section(own)).is_empty())
}

/// Reads a document in a way.
fn in_way(document: &Document<'_, '_>, way: ReadAs, known: &KnownNames) -> Found {
    finished(document, FirstRead::new(document, way, known), known)
}

fn finished(document: &Document<'_, '_>, first: FirstRead, known: &KnownNames) -> Found {
    let way = first.way;
    let mut findings = Findings::default();
    let mut collected = first.finish(document, known, &mut findings);
    held::settle(&mut collected, &mut findings);
    left_over::record(document, false, &mut collected, &mut findings);
    Found {
        way,
        why: way.tasks().to_owned(),
        collected,
        findings,
    }
}

fn reading(found: &Found) -> Reading {
    let drafts = &found.collected.drafts;
    let open = drafts.iter().filter(|draft| draft.status.runs());
    let titles: Vec<String> = open.map(|draft| draft.title.clone()).collect();
    let tasks = match drafts.is_empty() {
        true => 1,
        false => titles.len(),
    };
    Reading {
        read: found.way.word().to_owned(),
        tasks,
        over: (tasks == 0).then(|| over(drafts)),
        titles: titles.into_iter().take(SHOWN_TITLES).collect(),
        why: found.why.clone(),
    }
}

/// Says of tasks, none of which is open, how many they are.
fn over(drafts: &[Draft]) -> String {
    let are_done = drafts.iter().all(|it| it.status == TaskStatus::Done);
    let noun = if drafts.len() == 1 { "task" } else { "tasks" };
    let how = if are_done { "all done" } else { "none open" };
    format!("{} {noun}, {how}", drafts.len())
}

fn ambiguous(document: &Document<'_, '_>, why: &str, readings: &[Reading]) -> Pending {
    let message = format!("this plan can be read in several ways, since {why}");
    let found = Pending::new(document.start, FindingCode::Ambiguous, "", message);
    let words: Vec<&str> = readings.iter().map(|own| own.read.as_str()).collect();
    let Some((last, others)) = words.split_last() else {
        return found;
    };
    let choice = match others.is_empty() {
        true => (*last).to_owned(),
        false => format!("{} or {last}", others.join(", ")),
    };
    let advice = format!("choose {choice}; `read:` in the front matter keeps the choice");
    found.suggest(advice)
}
