//! Makes one task, the goal, of a document that describes work in prose, without marking any tasks.
//!
//! A document that says nothing, or only what is done already, is no goal.

use orchestrate_core::task::TaskStatus;
use orchestrate_core::text::parts::Parts;

use crate::fields::attributes;
use crate::read::headings::collect::Collected;
use crate::read::headings::note::Note;
use crate::read::headings::section;
use crate::read::lists::task_line::Draft;
use crate::read::states::status;

/// What the task's agent is told before the document itself, which stands in the message anyway.
const INSTRUCTION: &str = "The goal is everything that the whole of this plan describes.";

/// The maximum number of characters of a title that is taken from the text.
const MAX_TITLE_CHARS: usize = 80;

/// The length from which on a text may describe work.
const MIN_WORDS: usize = 3;
const MIN_IDEOGRAPHS: usize = 6;

/// The maximum level of a section that concerns the whole document.
const SECTION_LEVEL: u8 = 2;

/// First words of a heading below which everything is done.
const DONE: &[&str] = &[
    "done",
    "completed",
    "complete",
    "finished",
    "archive",
    "archived",
    "changelog",
    "history",
];

/// Beginnings of sentences which say that there is no work.
const NO_WORK: &[&str] = &[
    "all done",
    "all tasks are done",
    "all tasks are complete",
    "all tasks complete",
    "all work is done",
    "all work is complete",
    "everything is done",
    "everything is complete",
    "nothing to do",
    "nothing left",
    "nothing remains",
    "no tasks",
    "no open tasks",
    "no remaining",
    "no more tasks",
    "no further",
    "no work",
    "tbd",
    "todo",
    "to be done",
    "to be written",
];

/// Returns the document as one task; `None` if it describes no work.
pub(crate) fn task(found: &Collected, at: usize) -> Option<Draft> {
    let notes: Vec<&Note> = open_notes(&found.notes);
    let first = notes
        .iter()
        .map(|note| note.text.trim())
        .find(|text| !text.is_empty())?;
    let is_stub = !notes.iter().any(|note| is_sentence(&note.text));
    if is_stub
        || notes.iter().any(|note| says_no_work(&note.text))
        || found.notes.iter().any(says_over)
    {
        return None;
    }
    let title = found.title.clone().unwrap_or_else(|| headline(first));
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
    let words = heading.to_lowercase();
    let first = words
        .split(|c: char| !c.is_alphanumeric())
        .find(|word| !word.is_empty())
        .unwrap_or_default();
    DONE.contains(&first)
        || status::of_text(heading) == Some(TaskStatus::Done)
        || !matches!(
            section::kind(heading),
            section::Kind::Work | section::Kind::Optional
        )
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

/// Reports whether a note says that the work of the whole document is over, or not to be done: in a
/// heading `Status: done`, a section "Status", or a line `**Status**: done` above all sections.
fn says_over(note: &Note) -> bool {
    // A bullet after prose belongs to what that is about.
    let mut after_prose = false;
    let is_own_line = |line: &str| {
        let line = line.trim();
        let is_bullet = line.starts_with('-');
        let value = attributes::detail_key(line)
            .and_then(|(_, at)| line.get(at..))
            .unwrap_or_default();
        after_prose |= !is_bullet && !line.is_empty() && value.trim().is_empty();
        is_over_in_line(line) && !(is_bullet && after_prose)
    };
    let heading = note
        .heading
        .as_deref()
        .filter(|_| note.level <= SECTION_LEVEL)
        .unwrap_or_default();
    heading
        .split_once(':')
        .is_some_and(|(word, value)| is_status(word) && is_over(value))
        || (is_status(heading) && note.text.lines().next().is_some_and(is_over))
        || (note.level <= 1 && outside_code(&note.text).any(is_own_line))
}

fn is_over_in_line(line: &str) -> bool {
    let line = line.trim_start_matches(['-', '>', ' ']);
    attributes::detail_key(line)
        .and_then(|(word, at)| line.get(at..).filter(|_| is_status(word)))
        .is_some_and(|value| is_over(value.trim_start_matches(['*', '_'])))
}

fn is_over(text: &str) -> bool {
    status::of_text(text.trim()).is_some_and(|status| !status.runs())
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
    match line.char_indices().nth(MAX_TITLE_CHARS) {
        Some((end, _)) => format!("{}…", line.head(end)),
        None => line,
    }
}
