//! Task ids: the one that a title begins with, or a stable slug of the title.

use std::collections::{HashMap, HashSet};

use crate::lines::text::{self, all_digits, first_chars};
use crate::words;
use orchestrate_core::ids::TaskId;
use orchestrate_core::text::invisible::is_invisible;
use orchestrate_core::text::parts::Parts;

/// The maximum number of characters of a slug with its index: short enough for a table and to be
/// typed.
const MAX_SLUG_CHARS: usize = 16;

/// The number of characters that every index leaves of a slug: slugs that share them share their
/// indices, so that no index is tried twice.
const COMMON_CHARS: usize = 10;

/// The maximum number of characters of a title that are compared: a longer one is not typed as a
/// reference.
const MAX_KEY_CHARS: usize = 200;

/// The maximum numbers of letters and of digits of an id that nothing sets apart from the title.
const MAX_BARE_LETTERS: usize = 5;
const MAX_BARE_DIGITS: usize = 4;

/// An id at the head of a text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Leading<'a> {
    /// The id as written.
    pub(crate) id: &'a str,
    /// The byte offset of the id, after marks such as `**`.
    pub(crate) start: usize,
    /// The byte offset of the title after it.
    pub(crate) rest: usize,
    /// Whether it is a number that no mark ends, which is an id only for a group.
    pub(crate) bare_number: bool,
}

/// Finds a leading id: `T1`, `T001`, `US-001`, `F5:`, `1.2`, `1.`, `[id]`, each also in bold or
/// backticks, and after emoji.
pub(crate) fn leading(text: &str) -> Option<Leading<'_>> {
    let marked = without_emoji(text).trim_start_matches(['*', '`']);
    // The number of an issue (`**#7** Make it`).
    let issue = marked.strip_prefix('#');
    let body = issue.unwrap_or(marked);
    let start = text.len() - body.len();
    if let Some(inner) = body.strip_prefix('[') {
        let (id, after) = inner.split_once(']')?;
        // `[text](link)` and `[text][reference]` are links.
        let linked = after.starts_with(['(', '[']);
        return (TaskId::is_plain(id) && !linked && label(id).is_none()).then(|| Leading {
            id,
            start: start + 1,
            rest: rest_after(text, start + id.len() + 2),
            bare_number: false,
        });
    }
    // Most titles begin with a word that is none: after its capitals, an id has a digit or a
    // hyphen.
    let after_capitals = body.bytes().find(|byte| !byte.is_ascii_uppercase());
    after_capitals.filter(|byte| byte.is_ascii_digit() || *byte == b'-')?;
    let length = body
        .bytes()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'))
        .count();
    let word = body.get(..length)?.trim_end_matches(['.', '-']);
    let after = body.get(word.len()..)?;
    let is_marked = after.starts_with(['.', ':', ')', '：', '、', '．']);
    let ends = is_marked
        || after.is_empty()
        || after.starts_with([' ', '\t', '\n', '*', '`', '-'])
        || after.starts_with("~~");
    let dashed = after.trim_start_matches([' ', '*']);
    let is_closed = is_marked
        || after.is_empty()
        || after.starts_with("**")
        || dashed.starts_with(['–', '—'])
        || dashed.starts_with("- ");
    let has_form = match issue {
        Some(_) => is_closed && all_digits(word),
        None => is_usual(word, after.starts_with(':')) || (is_closed && is_unusual(word)),
    };
    (ends && has_form).then(|| Leading {
        id: word,
        start,
        rest: rest_after(text, start + word.len()),
        bare_number: issue.is_none() && !is_marked && all_digits(word),
    })
}

/// Returns the text after a word such as `Task` and the blank or the `#` that follows it.
pub(crate) fn without_word(text: &str) -> Option<&str> {
    let (_, _, rest) = first_word(text)?;
    let number = rest.trim_start_matches([' ', '#']);
    (number.len() < rest.len()).then_some(number)
}

/// Returns the word for a task or a step, in any case, that a text begins with, the letter of its
/// id, and the rest.
pub(crate) fn first_word(text: &str) -> Option<(&'static str, &'static str, &str)> {
    let (own, rest) = text.split_at(text::position(text, |c| !c.is_alphabetic()));
    let mut known = words::TASKS.iter();
    let (word, letter) = known.find(|(word, _)| text::is_same_word(word, own))?;
    Some((word, letter, rest))
}

/// Finds the id that the text of an item begins with: a leading one, also in strikes (`~~T4 Drop
/// it~~`) or as the text of a link (`[T6](url) Make it`).
pub(crate) fn of_item(text: &str) -> Option<Leading<'_>> {
    let body = text.strip_prefix("~~").unwrap_or(text);
    let found = leading(body).or_else(|| linked(body))?;
    let marks = text.len() - body.len();
    Some(Leading {
        start: marks + found.start,
        rest: marks + found.rest,
        ..found
    })
}

/// Finds a leading id that is the whole text of a link.
fn linked(text: &str) -> Option<Leading<'_>> {
    let body = without_emoji(text).trim_start_matches(['*', '`']);
    let start = text.len() - body.len() + 1;
    let (label, after) = body.strip_prefix('[')?.split_once(']')?;
    let found = leading(label).filter(|found| found.rest == label.len() && !found.bare_number)?;
    let target = match after.as_bytes().first() {
        Some(b'(') => after.find(')')?,
        Some(b'[') => after.find(']')?,
        _ => return None,
    };
    let end = start + label.len() + 1 + target + 1;
    Some(Leading {
        start: start + found.start,
        rest: rest_after(text, end),
        ..found
    })
}

/// Returns a text without the emoji that it begins with, and the blanks after them.
pub(crate) fn without_emoji(text: &str) -> &str {
    let rest = text.trim_start_matches(is_emoji);
    if rest.len() < text.len() {
        rest.trim_start_matches([' ', '\t'])
    } else {
        text
    }
}

fn is_emoji(c: char) -> bool {
    let is_symbol =
        matches!(c, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}') && !c.is_alphanumeric();
    is_symbol || matches!(c, '\u{fe0f}' | '\u{200d}')
}

/// Reports whether a word looks like an id wherever it stands; several letters and a hyphen count
/// only before a colon.
fn is_usual(word: &str, before_colon: bool) -> bool {
    let letters = word.bytes().take_while(u8::is_ascii_uppercase).count();
    let (prefix, rest) = word.split_at(letters);
    match (prefix, rest.strip_prefix('-')) {
        ("", _) => word.split('.').all(all_digits),
        ("T", None) => rest
            .trim_end_matches(|c: char| c.is_ascii_lowercase())
            .split('.')
            .all(all_digits),
        ("US" | "T" | "TASK", Some(number)) => all_digits(number),
        (_, Some(number)) => before_colon && letters <= 8 && all_digits(number),
        _ => false,
    }
}

/// Reports whether a word looks like an id only if a mark follows it: one or two capitals and a
/// number (`F5: …`), since such words are names of things, too (`S3 upload`), or that and another
/// number (`P1-01: …`). `P1` is a priority, and `T1` usual.
pub(crate) fn is_unusual(word: &str) -> bool {
    let letters = word.bytes().take_while(u8::is_ascii_uppercase).count();
    let number = word.tail(letters);
    let is_within = number
        .split_once('-')
        .is_some_and(|(part, own)| all_digits(part) && all_digits(own));
    let is_usual = word.starts_with('T') && letters == 1;
    let is_other = is_usual || is_priority(word);
    (1..=2).contains(&letters) && (is_within || (all_digits(number) && !is_other))
}

/// Returns the letters of a word that is an id only among others of its kind, or if a task depends
/// on it: up to five capitals and a number (`F5`, `FE-12`, `F1.2`). `P1` is a priority.
pub(crate) fn bare_letters(word: &str) -> Option<&str> {
    let length = word.bytes().take_while(u8::is_ascii_uppercase).count();
    let (letters, rest) = word.split_at(length);
    let number = rest.strip_prefix('-').unwrap_or(rest);
    let whole = number.split('.').next()?;
    let is_number = number.split('.').all(all_digits) && whole.len() <= MAX_BARE_DIGITS;
    let has_form = (1..=MAX_BARE_LETTERS).contains(&length) && is_number;
    (has_form && !is_priority(word)).then_some(letters)
}

fn is_priority(word: &str) -> bool {
    matches!(word.as_bytes(), [b'P', b'0'..=b'9'])
}

/// Returns the offset of the title after an id and its separators.
fn rest_after(text: &str, end: usize) -> usize {
    let rest = text.tail(end);
    let title = rest.trim_start_matches(is_separator);
    // Strikes may end with the id.
    let title = title.strip_prefix("~~").unwrap_or(title).trim_start();
    let dashed = title
        .strip_prefix(['-', '–', '—'])
        .filter(|rest| rest.starts_with(' '));
    let title = dashed.unwrap_or(title);
    text.len() - title.trim_start().len()
}

fn is_separator(c: char) -> bool {
    matches!(c, '*' | '`' | ':' | '.' | ')' | '：' | '、' | '．')
}

/// Returns the length of a date in parentheses before a title, with the blanks after it:
/// `(2025-10-01 13:00Z)`.
pub(crate) fn date(text: &str) -> Option<usize> {
    let (inner, _) = text.strip_prefix('(')?.split_once(')')?;
    let (day, time) = inner.split_at_checked(10)?;
    let is_day = day.split('-').all(all_digits) && day.matches('-').count() == 2;
    let is_time = |c: char| c.is_ascii_alphanumeric() || " :+-.".contains(c);
    let is_date = is_day && time.chars().all(is_time);
    let rest = text.get(inner.len() + 2..)?;
    is_date.then(|| text.len() - rest.trim_start_matches(' ').len())
}

/// Returns the id of a comment `<!-- id: 0 -->`, which other programs write; such a comment hides
/// nothing.
pub(crate) fn comment_id(comment: &str) -> Option<&str> {
    let inner = comment.strip_prefix("<!--")?.strip_suffix("-->")?.trim();
    let id = inner
        .strip_prefix("id")?
        .trim_start()
        .strip_prefix(':')?
        .trim();
    TaskId::is_plain(id).then_some(id)
}

/// A mark in brackets that is not an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label<'a> {
    /// `[P]`: the task may run in parallel with its neighbours.
    Parallel,
    /// `[US1]`: the story that the task belongs to.
    Story(&'a str),
    /// `[HUMAN]`: a person does the task.
    Human,
    Blocked,
    InProgress,
    Optional,
    /// It belongs to the title: `[NEW]`, and `[DONE]`, since a box says whether a task is.
    Other,
}

/// Parses the text between brackets as a label; but for `P`, in any case.
pub(crate) fn label(text: &str) -> Option<Label<'_>> {
    let story = text.strip_prefix("US").filter(|number| all_digits(number));
    if story.is_some() {
        return Some(Label::Story(text));
    }
    Some(match text.to_ascii_lowercase().as_str() {
        "p" if text == "P" => Label::Parallel,
        "human" | "manual" => Label::Human,
        "blocked" => Label::Blocked,
        "wip" => Label::InProgress,
        "optional" => Label::Optional,
        "delete" | "done" | "modify" | "new" | "todo" => Label::Other,
        _ => return None,
    })
}

/// Returns the slug of a title's key: as many of its words, joined by `_`, as fit into
/// [`MAX_SLUG_CHARS`].
fn slug(key: &str) -> &str {
    let fitting = first_chars(key, MAX_SLUG_CHARS);
    let ends_word = key
        .get(fitting.len()..)
        .is_none_or(|rest| rest.is_empty() || rest.starts_with('_'));
    let words = fitting
        .rsplit_once('_')
        .filter(|_| !ends_word)
        .map_or(fitting, |(words, _)| words);
    match words {
        "" => "task",
        TaskId::INTEGRATION => "integration_task",
        _ => words,
    }
}

/// Returns a title's words in lower case, joined by `_`: titles with the same key are the same to a
/// reader. A mention (`@name`) is left out, so that a task keeps its id whichever roles are known.
pub(crate) fn title_key(title: &str) -> String {
    beginning_of_key(title, MAX_KEY_CHARS)
}

/// Returns at least so many characters of a title's key, if it has them.
fn beginning_of_key(title: &str, least: usize) -> String {
    let words = first_chars(title, MAX_KEY_CHARS).split_whitespace();
    let mut key = String::with_capacity(title.len().min(least));
    for word in words.filter(|word| !is_mention(word)) {
        if key.len() > least && first_chars(&key, least).len() < key.len() {
            break;
        }
        let mut ends_word = true;
        for c in word.chars() {
            // No ASCII character is invisible.
            if !c.is_alphanumeric() || (!c.is_ascii() && is_invisible(c)) {
                ends_word |= c != '\'';
                continue;
            }
            if ends_word && !key.is_empty() {
                key.push('_');
            }
            ends_word = false;
            match c.is_ascii() {
                true => key.push(c.to_ascii_lowercase()),
                false => key.extend(c.to_lowercase().filter(|c| c.is_alphanumeric())),
            }
        }
    }
    key
}

/// Reports whether a word is one that may be a role at the end of a title: `@name`, with or without
/// punctuation.
fn is_mention(word: &str) -> bool {
    let word = word
        .trim_start_matches('(')
        .trim_end_matches(['.', ',', ')', ':', ';', '!', '?']);
    word.strip_prefix('@')
        .is_some_and(|name| name.bytes().all(is_plain))
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_')
}

/// Generates unique slugs.
pub(crate) struct Slugs {
    /// The keys of the ids that are taken.
    taken: HashSet<TaskId>,
    /// The last index given, by the part of a slug that every index leaves.
    last: HashMap<TaskId, usize>,
}

impl Slugs {
    /// Creates a generator for about this many titles that avoids the keys of ids written in the
    /// plan.
    pub(crate) fn new(titles: usize, written: impl IntoIterator<Item = String>) -> Self {
        let mut taken = HashSet::with_capacity(titles);
        taken.extend(written.into_iter().map(TaskId::new));
        Self {
            taken,
            last: HashMap::new(),
        }
    }

    /// Returns the slug of a title, with an index if it is taken.
    pub(crate) fn give(&mut self, title: &str) -> TaskId {
        let key = beginning_of_key(title, MAX_SLUG_CHARS + 1);
        let base = slug(&key);
        if let Some(id) = take(&mut self.taken, base) {
            return id;
        }
        let common = TaskId::from(first_chars(base, COMMON_CHARS));
        let last = self.last.entry(common).or_insert(1);
        loop {
            *last += 1;
            if let Some(id) = take(&mut self.taken, &indexed(base, *last)) {
                return id;
            }
        }
    }
}

/// Takes a slug; returns `None` if it is taken already.
fn take(taken: &mut HashSet<TaskId>, slug: &str) -> Option<TaskId> {
    let key = TaskId::key(slug);
    if taken.contains(key.as_str()) {
        return None;
    }
    let id = TaskId::from(slug);
    taken.insert(match key == slug {
        true => id.clone(),
        false => TaskId::new(key),
    });
    Some(id)
}

/// Adds an index to a slug, shortened so that both fit.
fn indexed(base: &str, index: usize) -> String {
    let index = index.to_string();
    let kept =
        first_chars(base, MAX_SLUG_CHARS.saturating_sub(index.len() + 1)).trim_end_matches('_');
    [kept, "_", index.as_str()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_ids_are_found() {
        let table: [(&str, Option<(&str, &str)>); 40] = [
            ("**P1-01:** Make it", Some(("P1-01", "Make it"))),
            ("P2-3 — Make it", Some(("P2-3", "Make it"))),
            ("**#7** Make it", Some(("7", "Make it"))),
            ("#7: Make it", Some(("7", "Make it"))),
            ("#7 Make it", None),
            ("P5: Make it", None),
            ("T1 Make it", Some(("T1", "Make it"))),
            ("T001: Make it", Some(("T001", "Make it"))),
            ("T3a Make it", Some(("T3a", "Make it"))),
            ("US-001 - Make it", Some(("US-001", "Make it"))),
            ("1.2 Make it", Some(("1.2", "Make it"))),
            ("1. Make it", Some(("1", "Make it"))),
            ("2.1. Make it", Some(("2.1", "Make it"))),
            ("**T1** Make it", Some(("T1", "Make it"))),
            ("**T1: Make** it", Some(("T1", "Make** it"))),
            ("`T1` — Make it", Some(("T1", "Make it"))),
            ("[setup-db] Make it", Some(("setup-db", "Make it"))),
            ("FE-12: Make it", Some(("FE-12", "Make it"))),
            ("⏳ T-003: Make it", Some(("T-003", "Make it"))),
            ("⚠️ **4.** Make it", Some(("4", "Make it"))),
            ("F5: Make it", Some(("F5", "Make it"))),
            ("H2 - Make it", Some(("H2", "Make it"))),
            ("AB12 — Make it", Some(("AB12", "Make it"))),
            ("**F5** Make it", Some(("F5", "Make it"))),
            ("F5) Make it", Some(("F5", "Make it"))),
            ("S3 upload", None),
            ("`S3` upload", None),
            ("H2-based tests", None),
            ("HTTP2: Make it", None),
            ("P1: Make it", None),
            ("1st draft", None),
            ("[HUMAN] Make it", None),
            ("[new] Make it", None),
            ("“1.2 Make it", None),
            ("[P] Make it", None),
            ("[US1] Make it", None),
            ("[link](x) Make it", None),
            ("UTF-8 support", None),
            ("Make it", None),
            ("T Make it", None),
        ];
        for (text, expected) in table {
            let found = leading(text).map(|found| (found.id, text.get(found.rest..).unwrap()));
            assert_eq!(found, expected, "{text}");
        }
        for text in ["2 tests fail", "404 page", "2024 report"] {
            assert!(leading(text).unwrap().bare_number, "{text}");
        }
    }

    #[test]
    fn ids_of_items_are_found_in_strikes_and_links() {
        let table: [(&str, Option<(&str, &str)>); 11] = [
            ("T1 Make it", Some(("T1", "Make it"))),
            ("~~T1 Make it~~", Some(("T1", "Make it~~"))),
            ("~~**T1** Make~~ it", Some(("T1", "Make~~ it"))),
            ("~~T1~~ Make it", Some(("T1", "Make it"))),
            ("[T6](a/6) Make it", Some(("T6", "Make it"))),
            ("**[US-6][ref]**: Make it", Some(("US-6", "Make it"))),
            ("[T6: Make](x) it", None),
            ("[link](x) Make it", None),
            ("[1](x) Make it", None),
            ("~5 things", None),
            ("T1~3 things", None),
        ];
        for (text, expected) in table {
            let found = of_item(text).map(|found| (found.id, text.get(found.rest..).unwrap()));
            assert_eq!(found, expected, "{text}");
            assert!(
                of_item(text)
                    .is_none_or(|found| text.get(found.start..).unwrap().starts_with(found.id)),
                "{text}"
            );
        }
    }

    #[test]
    fn slugs_are_stable_and_never_repeat() {
        let mut slugs = Slugs::new(0, ["refactor_2".to_owned()]);
        let table = [
            ("Refactor database", "refactor"),
            ("Refactor  database!", "refactor_3"),
            ("Refactor", "refactor_4"),
            ("Make `slugify` handle Unicode", "make_slugify"),
            ("Internationalisation", "internationalisa"),
            ("Internationalisation", "internationali_2"),
            ("Don't", "dont"),
            ("🎉", "task"),
            ("Integration", "integration_task"),
            ("é", "é"),
        ];
        for (title, expected) in table {
            assert_eq!(slugs.give(title).as_str(), expected, "{title}");
        }
    }
}
