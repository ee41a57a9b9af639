//! What headings and boxes count by, in any language: `Task 3: …`, `任务 3：…`, `2.1 …`.

use crate::fields::identify;
use crate::lines::text;
use crate::tasks::heading;
use orchestrate_core::text::parts::Parts;

/// The maximum length of the words before the number of a heading.
const MAX_WORDS_BYTES: usize = 40;

/// Why a box among numbered ones is no task.
pub(crate) const NO_NUMBER: &str = "a box without a number, in a section without tasks";

/// A heading that a number counts: `Task 3: Build it`, `3. Build it`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Counted<'t> {
    /// What stands before its number: one word, several or none.
    pub(crate) words: &'t str,
    /// Its number, which a letter may follow (`2.1`, `3b`).
    pub(crate) number: &'t str,
    pub(crate) title: &'t str,
    /// The words with the number, as written.
    name: &'t str,
    /// Whether a word goes on right behind the number: `第2步`.
    is_glued: bool,
}

/// Parses a heading, or a line in bold, that a number counts after words or none.
fn parse(text: &str) -> Option<Counted<'_>> {
    let text = heading::after_mark(text).trim_start_matches(['*', '`', '~']);
    let (before, rest) = text.split_at(text::position(text, |c| c.is_ascii_digit()));
    let words = before.trim_end_matches([' ', '#']);
    let are_words = words.chars().all(|c| c.is_alphabetic() || c == ' ');
    if !are_words || words.len() > MAX_WORDS_BYTES {
        return None;
    }
    let digits = text::position(rest, |c| !c.is_ascii_digit() && c != '.');
    let (_, after) = rest.split_at(digits);
    let has_letter = !words.is_empty() && after.starts_with(|c: char| c.is_ascii_lowercase());
    let (number, title) = rest.split_at(digits + usize::from(has_letter));
    let number = number.trim_end_matches('.');
    let is_glued = title.starts_with(char::is_alphanumeric);
    let is_unit = is_glued && (words.is_empty() || title.starts_with(|c: char| c.is_ascii()));
    (digits > 0 && !is_unit).then(|| Counted {
        words,
        number,
        title: title.trim_start_matches(|c: char| !c.is_alphanumeric() && !"`[(\"'".contains(c)),
        name: text.head(before.len() + number.len()),
        is_glued,
    })
}

/// Parses a heading, or a line in bold, whose first words count it.
pub(crate) fn counted(text: &str) -> Option<Counted<'_>> {
    parse(text).filter(|it| !it.words.is_empty() && !it.is_glued)
}

/// Returns the word that counts a heading in a series, in any language: `Phase`, or none for `2.
/// Client`. A letter may belong to the number: `Phase A1`, `Phase 1a`.
pub(crate) fn series(title: &str) -> Option<&str> {
    let words = parse(title)?.words;
    let word = match words.rsplit_once(' ') {
        Some((word, letter)) if text::is_capital(letter) => word,
        _ => words,
    };
    (!word.contains(' ')).then_some(word)
}

/// Returns the whole number of a heading in a series.
pub(crate) fn place(title: &str) -> Option<u32> {
    let number = parse(title)?.number;
    let digits = text::position(number, |c| !c.is_ascii_digit());
    number.head(digits).parse().ok()
}

/// Returns the word and the number that a text begins with, as a phase does in any language:
/// `Phase 2`, `第2`.
pub(crate) fn named(text: &str) -> Option<&str> {
    let found = parse(text).filter(|it| !it.words.is_empty())?;
    let is_apart = found.name.len() > found.words.len() + found.number.len();
    let is_named = is_apart || !found.words.is_ascii();
    (is_named && !found.words.contains(' ')).then_some(found.name)
}

/// Reports whether a heading, or the title of a task, begins with `Task N`.
pub(crate) fn is_task(title: &str) -> bool {
    counted(title).is_some_and(|counted| text::is_same_word("task", counted.words))
}

/// Returns the number that the text of a box, or a heading, begins with: `2`, `2.1`.
pub(crate) fn number(text: &str) -> Option<&str> {
    let id = identify::of_item(text)?.id;
    text::is_number(id).then_some(id)
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
    fn series_have_a_word_or_none() {
        let table = [
            ("Phase 2: Build", Some("Phase"), Some(2), Some("Phase 2")),
            ("Phase A1: Build", Some("Phase"), Some(1), None),
            ("Phase 1a: Build", Some("Phase"), Some(1), Some("Phase 1a")),
            ("2.1 Client", Some(""), Some(2), None),
            ("第2步", Some("第"), Some(2), Some("第2")),
            ("10ms", None, None, None),
            ("T3: Build", Some("T"), Some(3), None),
            ("Task Group 2", None, Some(2), None),
            ("Build it", None, None, None),
        ];
        for (title, word, number, name) in table {
            let found = (series(title), place(title), named(title));
            assert_eq!(found, (word, number, name), "{title}");
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
