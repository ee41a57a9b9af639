//! Makes one task, the goal, of a document that describes work in prose, without marking any tasks.
//!
//! A document that says nothing, or only what is done already, is no goal.

use orchestrate_core::task::TaskStatus;
use orchestrate_core::text::parts::Parts;

use crate::fields::attributes;
use crate::formats::collected::Collected;
use crate::lines::text;
use crate::tasks::draft::Draft;
use crate::tasks::note::Note;
use crate::tasks::section::{self, Kind};
use crate::tasks::status;

/// What the task's agent is told before the document itself, which stands in the message anyway.
const INSTRUCTION: &str = "The goal is everything that the whole of this plan describes.";

/// The maximum number of characters of a title that is taken from the text.
const MAX_TITLE_CHARS: usize = 80;

/// The length from which on a text may describe work.
const MIN_WORDS: usize = 3;
const MIN_IDEOGRAPHS: usize = 6;

/// The maximum number of words of a status; more are a sentence.
const MAX_STATUS_WORDS: usize = 8;

/// The maximum level of a section that concerns the whole document.
const SECTION_LEVEL: u8 = 2;

/// What a document without work says, in lower case.
const NO_WORK: &[&str] = &[
    "nothing to do",
    "no tasks",
    "no open tasks",
    "all tasks are done",
    "all done",
];

/// What stands where nothing is written yet, in lower case.
const PLACEHOLDERS: &[&str] = &["tbd", "todo"];

/// First words of headings below which everything was done before.
const HISTORY: &[&str] = &["changelog", "history"];

/// Returns the document as one task; `None` if it describes no work.
pub(crate) fn task(found: &Collected, at: usize) -> Option<Draft> {
    let notes: Vec<&Note> = open_notes(&found.notes);
    let mut texts = notes.iter().map(|note| note.text.trim());
    let is_stub = texts.all(|text| text.is_empty() || is_placeholder(text));
    if is_stub
        || !is_sentence(&words_of(&notes))
        || notes.iter().any(|note| says_no_work(&note.text))
        || said(&found.notes.iter().collect::<Vec<_>>())
            .into_iter()
            .any(|text| over(text).is_some())
    {
        return None;
    }
    goal(found, at)
}

/// Returns the document as one task, as long as it says anything: someone has chosen to read it so.
pub(crate) fn goal(found: &Collected, at: usize) -> Option<Draft> {
    let notes: Vec<&Note> = open_notes(&found.notes);
    let first = notes
        .iter()
        .map(|note| note.text.trim())
        .find(|text| !text.is_empty())?;
    let title = found
        .title
        .clone()
        .unwrap_or_else(|| headline(first.trim_start_matches(['-', '*', '+', ' '])));
    Some(Draft {
        at,
        title,
        details: vec![INSTRUCTION.to_owned()],
        goal: true,
        ..Draft::default()
    })
}

/// Returns the notes that are neither below a heading of done work nor below one that holds no
/// tasks.
fn open_notes(notes: &[Note]) -> Vec<&Note> {
    let mut closed_at: Option<u8> = None;
    let mut open = Vec::new();
    for note in notes {
        if closed_at.is_some_and(|level| note.level > level) {
            continue;
        }
        let is_closed = note.heading.as_deref().is_some_and(is_closed);
        closed_at = is_closed.then_some(note.level);
        if !is_closed {
            open.push(note);
        }
    }
    open
}

fn is_closed(heading: &str) -> bool {
    let is_work = matches!(section::kind(heading), Kind::Work | Kind::Optional);
    let is_history = section::each_word(heading)
        .next()
        .is_some_and(|first| text::is_one_of(first, HISTORY));
    !is_work || is_history || status::of_section(heading) == Some(TaskStatus::Done)
}

/// Returns all that some notes say, with their headings.
fn words_of(notes: &[&Note]) -> String {
    let mut words = String::new();
    for note in notes {
        for text in note.heading.iter().chain([&note.text]) {
            words.push_str(text);
            words.push('\n');
        }
    }
    words
}

/// Reports whether a document says something besides its headings and its code.
pub(crate) fn has_prose(notes: &[Note]) -> bool {
    let lines = notes.iter().flat_map(|note| outside_code(&note.text));
    is_sentence(&lines.collect::<Vec<_>>().join("\n"))
}

fn is_placeholder(text: &str) -> bool {
    let word = text.trim_matches(|c: char| !c.is_alphanumeric());
    PLACEHOLDERS.contains(&word.to_lowercase().as_str())
}

/// Reports whether a text is long enough to describe work; some languages put no blanks between
/// words.
fn is_sentence(text: &str) -> bool {
    let words = text
        .split_whitespace()
        .filter(|word| word.contains(char::is_alphabetic));
    let ideographs = text
        .chars()
        .filter(|c| !c.is_ascii() && c.is_alphabetic())
        .count();
    words.count() >= MIN_WORDS || ideographs >= MIN_IDEOGRAPHS
}

fn says_no_work(text: &str) -> bool {
    outside_code(text).any(says_none)
}

fn says_none(line: &str) -> bool {
    let line = line
        .trim_matches(|c: char| !c.is_alphanumeric())
        .to_lowercase();
    NO_WORK.iter().any(|words| {
        line.strip_prefix(words)
            .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    })
}

/// Iterates over the lines of a text that are not in a fenced code block: what an example says is
/// not said of the plan.
fn outside_code(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let line = line.trim_start();
        let is_fence = line.starts_with("```") || line.starts_with("~~~");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// Returns what a document says of all its work: in a heading `Status: done`, a section "Status" or
/// a field of it, or a line `**Status**: done` above all sections.
pub(crate) fn said<'n>(notes: &[&'n Note]) -> Vec<&'n str> {
    let values = notes.iter().flat_map(|note| values_of(note));
    let values = values.map(|value| value.trim().trim_end_matches(['*', '_']));
    values.collect()
}

/// Returns what a part of the document says of its own status.
fn values_of(note: &Note) -> Vec<&str> {
    let heading = note
        .heading
        .as_deref()
        .filter(|_| note.level <= SECTION_LEVEL)
        .map_or("", |heading| heading);
    let is_section = is_status(heading);
    let mut values = Vec::new();
    let beside = heading.split_once(':').filter(|(word, _)| is_status(word));
    values.extend(beside.map(|(_, value)| value));
    let first = note.text.lines().next().filter(|_| is_section);
    values.extend(first.filter(|line| !line.starts_with("- ")));
    if note.level > 1 && !is_section {
        return values;
    }
    // A bullet after prose belongs to what that is about.
    let mut is_after_prose = false;
    for line in outside_code(&note.text) {
        let line = line.trim();
        let own = line.trim_start_matches(['-', '>', ' ']);
        is_after_prose |=
            !line.starts_with('-') && !line.is_empty() && attributes::detail_key(own).is_none();
        if !(own.starts_with('(') || line.starts_with('-') && is_after_prose) {
            values.extend(status::place_in(own).map(|place| own.part(place)));
        }
    }
    values
}

/// Returns the status of all the work, if it is not to be done. A colour says how well it goes.
pub(crate) fn over(text: &str) -> Option<TaskStatus> {
    let said = status::of_cell(text).filter(|said| !said.runs());
    said.filter(|_| status::of_colour(text).is_none() && !is_limited(text))
}

/// Reports whether a status leaves it open whether work is to be done: it is a draft's, it is not
/// known, or it is more than a word for done.
pub(crate) fn is_doubtful(text: &str) -> bool {
    let is_draft = text::is_same_word("draft", text);
    let is_short = text.split_whitespace().count() <= MAX_STATUS_WORDS;
    let runs = status::first_words(text).is_some_and(TaskStatus::runs);
    let is_unknown = !runs && status::of_cell(text).is_none() && status::may_be(text);
    let is_word = text.contains(char::is_alphanumeric);
    is_draft || is_limited(text) || (is_unknown && is_short && is_word)
}

/// Reports whether a text says of more or less than all the work that it is done.
fn is_limited(text: &str) -> bool {
    let is_done = status::of_cell(text) == Some(TaskStatus::Done);
    is_done && status::of_colour(text).is_none() && !status::is_done_without_limit(text)
}

fn is_status(word: &str) -> bool {
    word.trim().eq_ignore_ascii_case("status")
}

/// Returns the first line of a text as a title.
pub(crate) fn headline(text: &str) -> String {
    let words: Vec<&str> = text
        .lines()
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let line = words.join(" ");
    text::shortened(&line, MAX_TITLE_CHARS).into_owned()
}
