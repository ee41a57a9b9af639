//! How a status is written once its task is done: in the plan's own form, so that the plan reads as
//! if its author had changed it.

use std::ops::Range;

use orchestrate_core::task::TaskStatus;

use crate::lines::source::Inline;
use crate::mark::Mark;
use crate::tasks::status;

/// The mark of a done task that belongs to a mark of another status; the usual one belongs to all
/// others.
const COUNTERPARTS: &[(char, &str)] = &[
    ('☐', "☑"),
    ('✗', "✓"),
    ('⚪', "🟢"),
    ('🟡', "🟢"),
    ('🔴', "🟢"),
];
const USUAL_MARK: &str = "✅";

const USUAL_WORD: &str = "done";

/// How a column such as "Done" says that a task is open, and that it is done.
const ANSWERS: &[(&str, &str)] = &[("no", "yes"), ("n", "y"), ("false", "true")];

/// What a cell without a status may contain.
const DASHES: &[&str] = &["-", "–", "—"];

/// What may stand around a status in Markdown.
const DECORATION: [char; 4] = ['*', '_', ' ', '`'];

/// Returns the place of a status in the source, with what stands there once the task is done;
/// `None` if the text says no known status. `at` is the text's offset in the source.
pub(crate) fn mark(said: &str, at: usize) -> Option<Mark> {
    let done = in_the_form_of(said)?;
    Some(Mark {
        range: at..at + said.len(),
        done: done.into(),
    })
}

/// Like [`mark`], for the cell of a table, which may be empty or say no.
pub(crate) fn mark_of_cell(said: &str, at: usize) -> Option<Mark> {
    if said.is_empty() {
        // The cell is in front of a bar.
        return Some(Mark {
            range: at..at,
            done: "Done ".into(),
        });
    }
    if DASHES.contains(&said) {
        return Some(Mark {
            range: at..at + said.len(),
            done: "Done".into(),
        });
    }
    let range = at..at + said.len();
    if is_yes(said) {
        let done = said.to_owned().into();
        return Some(Mark { range, done });
    }
    let answer = ANSWERS.iter().find(|(no, _)| said.eq_ignore_ascii_case(no));
    let Some((_, yes)) = answer else {
        return mark(said, at);
    };
    let done = match said.starts_with(|c: char| c.is_ascii_uppercase()) {
        true => capitalised(yes).into(),
        false => (*yes).into(),
    };
    Some(Mark { range, done })
}

/// Returns the status that the cell of a table says, which may answer whether its task is done, or
/// on which day.
pub(crate) fn status_of_cell(said: &str) -> Option<TaskStatus> {
    if is_yes(said) || status::is_day(said) {
        return Some(TaskStatus::Done);
    }
    let says_no =
        DASHES.contains(&said) || ANSWERS.iter().any(|(no, _)| said.eq_ignore_ascii_case(no));
    if says_no {
        Some(TaskStatus::Todo)
    } else {
        status::of_text(said)
    }
}

/// Reports whether the cell of a table answers that its task is done.
fn is_yes(said: &str) -> bool {
    said.eq_ignore_ascii_case("x")
        || ANSWERS
            .iter()
            .any(|(_, yes)| said.eq_ignore_ascii_case(yes))
}

/// Returns the place of the status that the first line of a task without a box says.
pub(crate) fn own_mark(line: &Inline<'_>) -> Option<Mark> {
    let first = line.text.lines().next().unwrap_or_default();
    let place = status::place(first)?;
    mark(first.get(place.clone())?, line.offset(place.start))
}

fn in_the_form_of(said: &str) -> Option<String> {
    if status::of_text(said)? == TaskStatus::Done {
        return Some(said.to_owned());
    }
    let inner = said.trim_matches(DECORATION);
    let start = said.find(inner)?;
    let words = status::leading_mark(inner).map_or(inner, |(_, words)| words);
    let between = inner.get(first_mark(inner)..inner.len() - words.len())?;
    let mark = match first_mark(inner) {
        0 => "",
        _ => counterpart(inner),
    };
    let done = match status::known_words(words) {
        Range { start: 0, end: 0 } => words.to_owned(),
        known => format!(
            "{}{}",
            word_like(words.get(known.clone())?),
            words.get(known.end..)?
        ),
    };
    let (before, after) = (said.get(..start)?, said.get(start + inner.len()..)?);
    Some(format!("{before}{mark}{between}{done}{after}"))
}

/// Returns the length of the mark that a text begins with, or 0.
pub(crate) fn first_mark(text: &str) -> usize {
    if status::leading_mark(text).is_none() {
        return 0;
    }
    let mark = text.chars().next().map_or(0, char::len_utf8);
    let selector = text
        .get(mark..)
        .filter(|rest| rest.starts_with('\u{fe0f}'))
        .map_or(0, |_| '\u{fe0f}'.len_utf8());
    mark + selector
}

fn counterpart(text: &str) -> &'static str {
    let found = COUNTERPARTS
        .iter()
        .find(|(mark, _)| text.starts_with(*mark));
    found.map_or(USUAL_MARK, |(_, done)| done)
}

/// Returns the word for a done task in the case of another status.
fn word_like(words: &str) -> String {
    let mut letters = words.chars().filter(|letter| letter.is_alphabetic());
    let (first, second) = (letters.next(), letters.next());
    match (is_upper(first), is_upper(second)) {
        (true, true) => USUAL_WORD.to_uppercase(),
        (true, false) => capitalised(USUAL_WORD),
        (false, _) => USUAL_WORD.to_owned(),
    }
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

fn is_upper(letter: Option<char>) -> bool {
    letter.is_some_and(char::is_uppercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_keeps_its_form_and_language() {
        let table = [
            ("⏳", Some("✅")),
            ("⏸️", Some("✅")),
            ("☐", Some("☑")),
            ("🔴", Some("🟢")),
            ("⏳ Pending", Some("✅ Done")),
            ("⏳ Half-way", Some("✅ Half-way")),
            ("todo", Some("done")),
            ("TODO", Some("DONE")),
            ("**Not Started**", Some("**Done**")),
            ("`in progress`", Some("`done`")),
            ("In progress (v2)", Some("Done (v2)")),
            ("Shipped", Some("Shipped")),
            ("✅ Complete", Some("✅ Complete")),
            ("50 %", None),
        ];
        for (said, expected) in table {
            assert_eq!(in_the_form_of(said).as_deref(), expected, "{said}");
        }
    }
}
