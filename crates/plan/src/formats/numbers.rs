//! What headings and boxes count by, in any language: `Task 3: …`, `任务 3：…`, `2.1 …`.

use crate::fields::identify;
use crate::formats::document::{BoxedItem, Document, Heading};
use crate::lines::outline::Item;
use crate::lines::text;
use crate::tasks::heading;

/// The maximum length of the words before the number of a heading.
const MAX_WORDS_BYTES: usize = 40;

/// Why a box among numbered ones is no task.
pub(crate) const NO_NUMBER: &str = "a box without a number, in a section without tasks";

/// A heading of the form `Task 3: Build it`, with one word or several before its number.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Counted<'t> {
    pub(crate) words: &'t str,
    /// Its number, which a letter may follow (`2.1`, `3b`).
    pub(crate) number: &'t str,
    pub(crate) title: &'t str,
}

/// Parses a heading, or a line in bold, whose first words count it.
pub(crate) fn counted(text: &str) -> Option<Counted<'_>> {
    let text = heading::after_mark(text).trim_start_matches(['*', '`']);
    let (words, rest) = text.split_at(text::position(text, |c| c.is_ascii_digit()));
    let words = words.trim_end_matches([' ', '#']);
    let are_words = words.chars().all(|c| c.is_alphabetic() || c == ' ');
    if words.is_empty() || !are_words || words.len() > MAX_WORDS_BYTES {
        return None;
    }
    let digits = text::position(rest, |c| !c.is_ascii_digit() && c != '.');
    let (_, after) = rest.split_at(digits);
    let has_letter = after.starts_with(|c: char| c.is_ascii_lowercase());
    let (number, title) = rest.split_at(digits + usize::from(has_letter));
    let is_ended = !title.starts_with(char::is_alphanumeric);
    (digits > 0 && is_ended).then(|| Counted {
        words,
        number: number.trim_end_matches('.'),
        title: title.trim_start_matches(|c: char| !c.is_alphanumeric() && !"`[(\"'".contains(c)),
    })
}

/// Reports whether a heading, or the title of a task, begins with `Task N`.
pub(crate) fn is_task(title: &str) -> bool {
    counted(title).is_some_and(|counted| text::is_same_word("task", counted.words))
}

/// Returns the number that the text of a box, or a heading, begins with: `2`, `2.1`.
pub(crate) fn number(text: &str) -> Option<&str> {
    let id = identify::of_item(text)?.id;
    let is_number = id.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    is_number.then_some(id)
}

/// Reports whether a box is numbered under a heading above it: `2.1` under `## 2. Login`.
pub(crate) fn is_below_heading(document: &Document<'_, '_>, boxed: &BoxedItem) -> bool {
    let Some(own) = number(document.text(boxed)) else {
        return false;
    };
    document.is_below(boxed, |heading| {
        let outer = number(heading::after_mark(&heading.title));
        outer.is_some_and(|outer| is_below(own, outer))
    })
}

/// Reports whether the boxes right below the heading above an item begin with a numbered one.
pub(crate) fn is_among_numbered(document: &Document<'_, '_>, item: &Item) -> bool {
    let first = document.first_box_beside(item);
    first.is_some_and(|boxed| number(document.text(boxed)).is_some())
}

/// Reports whether the first box right below a heading is numbered under this number.
pub(crate) fn begins_with_part(document: &Document<'_, '_>, heading: &Heading, of: &str) -> bool {
    let first = document.first_box_below(heading);
    let own = first.and_then(|boxed| number(document.text(boxed)));
    own.is_some_and(|own| is_below(own, of))
}

/// Reports whether a number stands below another one: `2.1` below `2`.
pub(crate) fn is_below(number: &str, outer: &str) -> bool {
    let rest = number.strip_prefix(outer);
    rest.is_some_and(|rest| rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_count_by_words_in_any_language() {
        let table = [
            ("Task 3: Build it", Some(("Task", "3", "Build it"))),
            ("**Step 1.2** - `x`", Some(("Step", "1.2", "`x`"))),
            ("任务 3：构建", Some(("任务", "3", "构建"))),
            ("任务3", Some(("任务", "3", ""))),
            ("Task Group 2: Login", Some(("Task Group", "2", "Login"))),
            ("Task 3b. Build it", Some(("Task", "3b", "Build it"))),
            ("✅ Tarea #4 — Probar", Some(("Tarea", "4", "Probar"))),
            ("2. Build it", None),
            ("Build it", None),
            ("Use HTTP/2 for it", None),
            ("Serve 10ms answers", None),
        ];
        for (text, expected) in table {
            let found = counted(text).map(|it| (it.words, it.number, it.title));
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn texts_begin_with_numbers() {
        let table = [
            ("2.1 Build it", Some("2.1")),
            ("2. Build it", Some("2")),
            ("**2.1** Build it", Some("2.1")),
            ("2.0 Complete it", Some("2.0")),
            ("T001 Build it", None),
            ("Build it", None),
        ];
        for (text, expected) in table {
            assert_eq!(number(text), expected, "{text}");
        }
        assert!(is_below("2.10", "2") && !is_below("2.10", "2.1") && !is_below("2", "2"));
    }
}
