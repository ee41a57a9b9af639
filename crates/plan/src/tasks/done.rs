//! How a status is written once its task is done: in the plan's own form, so that the plan reads as
//! if its author had changed it.

use orchestrate_core::task::TaskStatus;
use orchestrate_core::text::parts::Parts;

use crate::lines::source::Inline;
use crate::mark::Mark;
use crate::tasks::status;

/// The mark of a done task that belongs to colours; the usual one belongs to all others.
const COLOURS: [char; 3] = ['⚪', '🟡', '🔴'];
const GREEN: &str = "🟢";
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
    let answer = ANSWERS.iter().find(|(no, _)| said.eq_ignore_ascii_case(no));
    let done = if said.is_empty() {
        // The cell is in front of a bar.
        "Done ".into()
    } else if DASHES.contains(&said) {
        "Done".into()
    } else if status::is_answer(said) {
        said.to_owned().into()
    } else if let Some((_, yes)) = answer {
        match said.starts_with(|c: char| c.is_ascii_uppercase()) {
            true => capitalised(yes).into(),
            false => (*yes).into(),
        }
    } else {
        return mark(said, at);
    };
    let range = at..at + said.len();
    Some(Mark { range, done })
}

/// Returns the status that the cell of a table says, which may answer whether its task is done, or
/// on which day.
pub(crate) fn status_of_cell(said: &str) -> Option<TaskStatus> {
    let says_no =
        DASHES.contains(&said) || ANSWERS.iter().any(|(no, _)| said.eq_ignore_ascii_case(no));
    if says_no {
        Some(TaskStatus::Todo)
    } else {
        status::of_cell(said)
    }
}

/// Returns the place of the status that the first line of a task without a box says.
pub(crate) fn own_mark(line: &Inline<'_>) -> Option<Mark> {
    let first = line.text.lines().next().unwrap_or_default();
    let place = status::place(first)?;
    mark(first.get(place.clone())?, line.offset(place.start))
}

/// Returns what a text that says a status says once its task is done: a mark instead of its marks,
/// and a word instead of its words; the rest stays.
fn in_the_form_of(said: &str) -> Option<String> {
    if status::of_text(said)? == TaskStatus::Done {
        return Some(said.to_owned());
    }
    let inner = said.trim_matches(DECORATION);
    let start = said.find(inner)?;
    let words = status::after_pictographs(inner).unwrap_or(inner);
    let marks = inner.head(inner.len() - words.len());
    let between = marks.tail(marks.trim_end_matches([' ', ':', '-']).len());
    let mark = match inner.chars().next() {
        _ if marks.is_empty() => "",
        Some(first) if COLOURS.contains(&first) => GREEN,
        _ => USUAL_MARK,
    };
    let known = status::known_words(words);
    let word = match known.is_empty() {
        true => String::new(),
        false => word_like(words.part(known.clone())),
    };
    let (before, after) = (said.head(start), said.tail(start + inner.len()));
    let (bracket, further) = (words.head(known.start), words.tail(known.end));
    Some([before, mark, between, bracket, &word, further, after].concat())
}

/// Returns the word for a done task in the case of another status.
fn word_like(words: &str) -> String {
    let letters = words.chars().filter(|letter| letter.is_alphabetic());
    let mut are_upper = letters.map(char::is_uppercase);
    match (are_upper.next(), are_upper.next()) {
        (Some(true), Some(true)) => USUAL_WORD.to_uppercase(),
        (Some(true), _) => capitalised(USUAL_WORD),
        _ => USUAL_WORD.to_owned(),
    }
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_keeps_its_form_and_language() {
        let table = [
            ("⏳", Some("✅")),
            ("⏸️", Some("✅")),
            ("☐", Some("✅")),
            ("🔴", Some("🟢")),
            ("⏳ Pending", Some("✅ Done")),
            ("⏳ Half-way", Some("✅ Half-way")),
            ("📅 Planned", Some("✅ Done")),
            ("🔴 Open", Some("🟢 Done")),
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
