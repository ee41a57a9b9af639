//! Parses headings that may be tasks: `Task N: …`, `1. [ ] …`, and what stands before and after
//! their titles.

use crate::fields::identify;
use crate::lines::text;
use crate::tasks::checkbox::{BoxMark, read_box};
use crate::tasks::phase;
use crate::tasks::status;
use orchestrate_core::ids::TaskId;
use orchestrate_core::task::TaskStatus;

/// A heading of the form `Task N: …`, `Step N: …`, `Task NAME-1: …`, `TASK-N: …`, `TN: …` or
/// `US-N: …`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TaskHeading<'a> {
    /// `T` for a task, `S` for a step, `US-` for a story; empty if no word is written.
    letter: &'static str,
    /// Whether the id is a name (`Task rem-1: …`), which the letter does not precede.
    is_name: bool,
    /// The id as written, or the number that the letter precedes.
    written: &'a str,
    /// The byte offset of the title.
    pub(crate) rest: usize,
    /// The number alone, for references such as `Tasks 1-4`.
    pub(crate) number: &'a str,
    /// Whether it counts (`Task 1`, `Step 2`, `TASK-3`), and so gives an order; `T1` is a name.
    pub(crate) counts: bool,
}

impl TaskHeading<'_> {
    /// Reports whether another heading has the same word or letter, and is not numbered under this
    /// one (`1.1` under `1`).
    pub(crate) fn is_beside(&self, other: &TaskHeading<'_>) -> bool {
        let is_under = other
            .number
            .strip_prefix(self.number)
            .is_some_and(|rest| rest.starts_with('.'));
        self.letter == other.letter && !is_under
    }

    /// Returns the letter with the number, or the id as written.
    pub(crate) fn id(&self) -> String {
        match self.is_name {
            true => self.written.to_owned(),
            false => [self.letter, self.written].concat(),
        }
    }
}

/// Parses the heading of a task; `None` for other headings.
pub(crate) fn task(title: &str) -> Option<TaskHeading<'_>> {
    let body = identify::without_emoji(title).trim_start_matches(['*', '`', '~']);
    let start = title.len() - body.len();
    if let Some(found) = named(body, start) {
        return Some(found);
    }
    // `TASK-3` is an id as written.
    let word = identify::first_word(body).filter(|(_, _, rest)| !rest.starts_with('-'));
    if let Some((word, short, rest)) = word {
        let number_at = rest.len() - rest.trim_start_matches([' ', '#']).len();
        let number = rest.get(number_at..)?;
        let letter = letter_of(number);
        let found = identify::leading(number.get(letter..)?)?;
        let written = match letter {
            0 => found.id,
            _ => number.get(..letter + found.id.len())?,
        };
        let digits = text::is_number(found.id);
        let ends_word = number_at > 0 || !word.is_ascii();
        return (ends_word && digits).then(|| TaskHeading {
            letter: short,
            is_name: false,
            written,
            rest: start + body.len() - rest.len() + number_at + letter + found.rest,
            number: written,
            counts: true,
        });
    }
    let found = identify::leading(body)?;
    let of_task = found.id.strip_prefix("TASK-");
    let number = of_task
        .or_else(|| found.id.strip_prefix("US-"))
        .or_else(|| found.id.strip_prefix('T'))?;
    Some(TaskHeading {
        letter: "",
        is_name: false,
        written: found.id,
        rest: start + found.rest,
        number,
        counts: of_task.is_some(),
    })
}

/// Parses what begins with `Task NAME:` after so many bytes of a title; the name is no number, but
/// has one or is a single letter, so that it is no noun (`Task list: …`).
fn named(body: &str, start: usize) -> Option<TaskHeading<'_>> {
    let (word, letter, rest) = identify::first_word(body)?;
    let from_name = rest.trim_start_matches([' ', '`']);
    let (name, title) = from_name.split_once([':', '：'])?;
    let name = name.trim_end_matches('`');
    // A story with a name may be one of a specification.
    let is_apart = from_name.len() < rest.len() && word != "story" && TaskId::is_plain(name);
    let has_digit = name.contains(|c: char| c.is_ascii_digit());
    let is_name =
        (has_digit && !text::is_number(name) && letter_of(name) == 0) || text::is_capital(name);
    (is_apart && is_name).then(|| TaskHeading {
        letter,
        is_name: !name.starts_with(|c: char| c.is_ascii_digit()),
        written: name,
        rest: start + body.len() - title.trim_start().len(),
        number: name,
        counts: true,
    })
}

/// Returns the length of the letter that a number begins with: `T.1` counts the tests, beside
/// `1.1`.
fn letter_of(number: &str) -> usize {
    match number.as_bytes() {
        [b'A'..=b'Z', b'.', b'0'..=b'9', ..] => 2,
        _ => 0,
    }
}

/// Reports whether a title begins with a task that has no number: `Task: …`, `Final task: …`.
pub(crate) fn ends_with_word(title: &str) -> bool {
    let head = title.split_once([':', '：']).map_or("", |(head, _)| head);
    let last = head.rsplit(' ').next().unwrap_or(head);
    identify::first_word(last).is_some_and(|(_, _, rest)| rest.is_empty())
}

/// Reports whether a heading is that of a step.
pub(crate) fn is_step(title: &str) -> bool {
    task(after_mark(title)).is_some_and(|found| found.letter == "S")
}

/// Returns the box of a heading, which begins it, follows its number (`1. [ ] Set up`) or ends it
/// (`Set up [ ]`), with the offsets in the heading.
pub(crate) fn box_of(title: &str) -> Option<BoxMark> {
    if !title.contains('[') {
        return None;
    }
    leading_box(title).or_else(|| box_at_end(title))
}

/// Returns the box that ends a heading; the text that belongs to it begins at 0.
pub(crate) fn box_at_end(title: &str) -> Option<BoxMark> {
    let bare = title.trim_end().strip_suffix(']')?;
    let start = bare.rfind(" [").filter(|start| *start > 0)? + 1;
    let mark = read_box(title.get(start..)?)
        .filter(|mark| start + mark.rest == title.len() && !mark.optional)?;
    Some(BoxMark {
        at: mark.at.map(|offset| start + offset),
        rest: 0,
        ..mark
    })
}

fn leading_box(title: &str) -> Option<BoxMark> {
    let at = match (read_box(title), task(title)) {
        (Some(_), _) => 0,
        (None, Some(found)) => found.rest,
        (None, None) => identify::leading(title)?.rest,
    };
    let mark = read_box(title.get(at..)?)?;
    Some(BoxMark {
        at: mark.at.map(|offset| at + offset),
        rest: at + mark.rest,
        ..mark
    })
}

/// Returns the text after a box or a mark of status; the whole text if it begins with neither.
pub(crate) fn after_mark(title: &str) -> &str {
    let after_box = read_box(title).and_then(|mark| title.get(mark.rest..));
    after_box
        .or_else(|| status::after_mark(title))
        .unwrap_or(title)
}

/// Returns the status that a heading says at its beginning, in words or by a mark, at its end, or
/// by its box.
pub(crate) fn status(title: &str) -> Option<TaskStatus> {
    let said = status::leading_mark(title).or_else(|| status::trailing(title));
    said.map(|(status, _)| status)
        .or_else(|| box_of(title).map(|mark| mark.status))
}

/// Returns the reason why a line of a paragraph that looks like the heading of a task or a phase is
/// none.
pub(crate) fn odd(line: &str) -> Option<&'static str> {
    let title = line.trim_start_matches('#');
    let is_likely =
        (2..=6).contains(&(line.len() - title.len())) && !title.starts_with([' ', '\t']);
    if !is_likely {
        return None;
    }
    let is_meant =
        task(title).is_some() || box_of(title).is_some() || phase::of_heading(title).is_some();
    is_meant.then_some("no blank after the `#` marks, so this is no heading")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_headings_are_read() {
        let heading = |id: &str, rest, number| {
            let counts = !id.starts_with("US") && id != "T003";
            Some((id.to_owned(), rest, number, counts))
        };
        let table = [
            ("Task 1: Do", heading("T1", 8, "1")),
            ("Step 2. Do", heading("S2", 8, "2")),
            ("**Task 1.2 — Do", heading("T1.2", 15, "1.2")),
            ("T003 - Do", heading("T003", 7, "003")),
            ("US-001: Do", heading("US-001", 8, "001")),
            ("TASK-001: Do", heading("TASK-001", 10, "001")),
            ("Task rem-1: Do", heading("rem-1", 12, "rem-1")),
            ("Task `wire-2`: Do", heading("wire-2", 15, "wire-2")),
            ("Step A: Do", heading("A", 8, "A")),
            ("Task 3b: Do", heading("T3b", 9, "3b")),
            ("Story rem-1: Do", None),
            ("Task list: Do", None),
            ("Task: Do", None),
            ("Task-force: Do", None),
            ("TASK-A: Do", None),
            ("Tasks", None),
            ("Task force", None),
            ("Phase 1", None),
        ];
        for (title, expected) in table {
            let found =
                task(title).map(|found| (found.id(), found.rest, found.number, found.counts));
            assert_eq!(found, expected, "{title}");
        }
    }

    #[test]
    fn a_line_that_is_nearly_a_heading_has_a_reason() {
        for line in ["###Task 1: Do", "##Phase 2", "##[ ] Do", "###T1 Do"] {
            assert!(odd(line).is_some(), "{line}");
        }
        for line in [
            "### Task 1: Do",
            "#Task 1",
            "##Do",
            "##",
            "Task 1",
            "#######Task 1",
            "",
        ] {
            assert_eq!(odd(line), None, "{line}");
        }
    }

    #[test]
    fn a_heading_has_its_box_first_after_its_number_or_at_its_end() {
        let table = [
            ("[ ] Set up", Some((1, "Set up"))),
            ("1. [ ] Set up", Some((4, "Set up"))),
            ("Task 2: [x] Build", Some((9, "Build"))),
            ("T3 [~] Go", Some((4, "Go"))),
            ("Set up [ ] later", None),
            ("Set up [x]", Some((8, "Set up [x]"))),
            ("Task 4: Café [ ]", Some((15, "Task 4: Café [ ]"))),
            ("[x]", Some((1, ""))),
            ("Set up[x]", None),
            ("Set up [y]", None),
            ("1. Set up", None),
        ];
        for (title, expected) in table {
            let found =
                box_of(title).map(|mark| (mark.at.unwrap(), title.get(mark.rest..).unwrap()));
            assert_eq!(found, expected, "{title}");
        }
    }
}
