//! Parses the status of a task from an emoji or from words, as tables, headings and bullets show
//! it.

use std::ops::Range;

use memchr::{memchr2, memchr3};
use orchestrate_core::task::TaskStatus;
use orchestrate_core::text::parts::Parts;

use crate::fields::attributes;
use crate::lines::text::all_digits;
use crate::tasks::phase;
use crate::tasks::section;
use crate::words;

/// The marks that people put where others have a box. A cross stands for work that is not done yet:
/// a plan says in words that something is cancelled.
const MARKS: &[(char, TaskStatus)] = &[
    ('✅', TaskStatus::Done),
    ('☑', TaskStatus::Done),
    ('✔', TaskStatus::Done),
    ('✓', TaskStatus::Done),
    ('⏳', TaskStatus::InProgress),
    ('⌛', TaskStatus::InProgress),
    ('🚧', TaskStatus::InProgress),
    ('🔄', TaskStatus::InProgress),
    ('❌', TaskStatus::Todo),
    ('✗', TaskStatus::Todo),
    ('⬜', TaskStatus::Todo),
    ('🔲', TaskStatus::Todo),
    ('☐', TaskStatus::Todo),
    ('📋', TaskStatus::Todo),
    ('🔜', TaskStatus::Todo),
    ('🚫', TaskStatus::Blocked),
    ('⏸', TaskStatus::Blocked),
];

/// Colours, which are as often priorities: they say a status alone in a cell or a field.
const COLOURS: &[(char, TaskStatus)] = &[
    ('🟢', TaskStatus::Done),
    ('🟡', TaskStatus::InProgress),
    ('⚪', TaskStatus::Todo),
    ('🔴', TaskStatus::Todo),
];

/// Returns the text after the pictographs that a text begins with.
pub(crate) fn after_pictographs(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches(is_pictograph);
    (rest.len() < text.len()).then(|| rest.trim_start_matches([' ', ':', '-']))
}

fn is_pictograph(c: char) -> bool {
    matches!(c, '\u{2300}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}' | '\u{fe0f}' | '\u{200d}')
        || c >= '\u{1f000}'
}

/// Reports whether a character is a circle or a square in one colour.
fn is_colour(c: char) -> bool {
    matches!(c, '🔴' | '🔵' | '\u{1f7e0}'..='\u{1f7eb}' | '⚪' | '⚫')
}

/// Returns the status of a text that is only a colour.
pub(crate) fn of_colour(text: &str) -> Option<TaskStatus> {
    let text = text.trim_matches(['*', '_', ' ', '`', '\u{fe0f}']);
    let (_, status) = COLOURS
        .iter()
        .find(|(colour, _)| text.strip_prefix(*colour) == Some(""))?;
    Some(*status)
}

/// Returns the status of a leading mark, be it a word in brackets (`[done] …`), and the text after
/// it.
pub(crate) fn leading_mark(text: &str) -> Option<(TaskStatus, &str)> {
    if let Some(inner) = text.strip_prefix('[') {
        let (word, rest) = inner.split_once("] ")?;
        return Some((words::sure_status(word)?, rest.trim_start()));
    }
    let first = text.chars().next().filter(|first| !first.is_ascii())?;
    let (_, status) = MARKS.iter().find(|(mark, _)| *mark == first)?;
    let rest = text.get(first.len_utf8()..)?.trim_start_matches('\u{fe0f}');
    Some((*status, rest.trim_start_matches([' ', ':', '-'])))
}

/// Returns the text after a mark or a colour that a title begins with.
pub(crate) fn after_mark(title: &str) -> Option<&str> {
    let after_colour = after_pictographs(title).filter(|_| title.starts_with(is_colour));
    leading_mark(title).map(|(_, rest)| rest).or(after_colour)
}

/// Returns the status of words, of a mark, or of a mark and words; of the latter, known words
/// decide. `None` if they say nothing known.
pub(crate) fn of_text(text: &str) -> Option<TaskStatus> {
    let text = text.trim_matches(['*', '_', ' ', '`']);
    match (leading_mark(text), after_pictographs(text)) {
        (Some((mark, "")), _) => Some(mark),
        (Some((mark, words)), _) => of_words(words).or(Some(mark)),
        (None, Some("")) => of_colour(text),
        (None, Some(words)) => of_words(words),
        (None, None) => of_words(text),
    }
}

/// Returns the status that the cell of a table or a field says, where work may also be in review:
/// that waits for a person.
pub(crate) fn of_cell(text: &str) -> Option<TaskStatus> {
    if is_answer(text) {
        return Some(TaskStatus::Done);
    }
    let words = after_pictographs(text).unwrap_or(text);
    let key = key_of(words);
    let (before, last) = key.rsplit_once('_').unwrap_or(("", &key));
    let is_in_review = last == words::REVIEW && !before.contains('_');
    of_text(text)
        .or_else(|| is_in_review.then_some(TaskStatus::Blocked))
        .or_else(|| of_remark(text).filter(|status| !status.runs()))
}

/// Returns the status in the parentheses at the end of words that are not known: `DNF
/// (superseded)`.
fn of_remark(text: &str) -> Option<TaskStatus> {
    in_parentheses(text).and_then(|(_, inner)| of_text(inner))
}

/// Reports whether a text answers whether something is done: with yes, all of it, or the day.
pub(crate) fn is_answer(text: &str) -> bool {
    let answers = ["x", "yes", "y", "true", "100%", "100 %"];
    let mut answers = answers.iter();
    answers.any(|answer| text.eq_ignore_ascii_case(answer)) || is_day(text)
}

/// Returns the status that the first word of a text says, or the first two.
pub(crate) fn first_words(text: &str) -> Option<TaskStatus> {
    let text = after_pictographs(text).unwrap_or(text).to_lowercase();
    let mut words = text.split([' ', '-', '_']);
    let first = words.next().filter(|first| !first.is_empty())?;
    let second = words.next().unwrap_or("");
    of_key(&format!("{first}_{second}")).or_else(|| of_key(first))
}

/// Returns the status that a title begins with as a word before a colon (`DONE: lexer`), and the
/// text after it.
pub(crate) fn leading_word(title: &str) -> Option<(TaskStatus, &str)> {
    let (word, rest) = title.split_once(": ")?;
    let status = words::sure_status(word)?;
    let is_mark = !word.contains(char::is_lowercase) || !status.runs();
    is_mark.then_some((status, rest))
}

/// Reports whether the whole of a text says that work is done, also when or in which change, but
/// for no part of it: `Completed ✅ 2025-01-31`, not `Completed (design only)`.
pub(crate) fn is_done_without_limit(text: &str) -> bool {
    let mut is_done = false;
    for part in text.split_whitespace() {
        let Some(word) = bare_word(part) else {
            continue;
        };
        let is_known = says_done(word) || (is_done && says_where(word));
        if !is_known {
            return false;
        }
        is_done = true;
        // What follows is a sentence of its own.
        if part.ends_with(['.', '!']) {
            break;
        }
    }
    is_done
}

fn bare_word(word: &str) -> Option<&str> {
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
    Some(bare).filter(|bare| !bare.is_empty())
}

fn says_done(word: &str) -> bool {
    of_key(&word.to_lowercase()) == Some(TaskStatus::Done)
}

/// Reports whether a word is a part of the day or of the change in which something was done.
fn says_where(word: &str) -> bool {
    let is_link = matches!(word.to_lowercase().as_str(), "on" | "in" | "pr" | "commit");
    is_link || word.contains("://") || word.contains(|c: char| c.is_ascii_digit())
}

/// Reports whether a text that says no known status may say another one, rather than a number, code
/// or the values that there are.
pub(crate) fn may_be(text: &str) -> bool {
    let is_number = text.starts_with(|c: char| c.is_ascii_digit());
    !is_number && !text.contains('`') && !lists_values(text)
}

/// Returns the status of words, which a remark in parentheses or after a dash may follow, and of a
/// done task also when or where it was done.
fn of_words(text: &str) -> Option<TaskStatus> {
    let within = text.strip_prefix('(').and_then(|it| it.strip_suffix(')'));
    let text = within.unwrap_or(text);
    if lists_values(text) {
        return None;
    }
    of_key(&key_of(text))
        .or_else(|| says_when_done(text).then_some(TaskStatus::Done))
        .or_else(|| until_when(text))
}

/// Returns the status of a word for what is put off with the time of that (`deferred until May`),
/// or of one for what is dropped with who did so (`superseded by plan B`).
fn until_when(text: &str) -> Option<TaskStatus> {
    let lower = text.trim_matches(['*', '_', ' ', '`']).to_lowercase();
    let mut words = lower.split(' ');
    let status = of_key(words.next()?).filter(|status| !status.runs())?;
    let is_known = match words.next()? {
        "until" | "till" | "to" | "for" => true,
        "by" => status == TaskStatus::Cancelled,
        _ => false,
    };
    is_known.then_some(status)
}

/// Returns the status of a known word or two, joined by `_`.
pub(crate) fn of_key(key: &str) -> Option<TaskStatus> {
    if key.is_empty() {
        return Some(TaskStatus::Todo);
    }
    let found = words::STATUS
        .iter()
        .find(|known| known.sure.contains(&key) || known.of_things.contains(&key));
    found.map(|known| known.status)
}

/// Reports whether a word in parentheses at the end of a title rather says what its task is about
/// (`Handle sockets (closed)`) than how far it is; behind a phase it is a status.
fn is_of_things(key: &str) -> bool {
    let mut known = words::STATUS.iter();
    known.any(|known| known.of_things.contains(&key))
}

/// Reports whether a text names a word for a done task beside one for another (`open, done`), which
/// are values that a task is about rather than its status.
fn lists_values(text: &str) -> bool {
    let Some((first, second)) = text.split_once(',') else {
        return false;
    };
    let statuses = [first, second].map(|text| of_key(&key_of(text)));
    let is_empty = [first, second].map(|text| key_of(text).is_empty());
    let is_done = statuses.map(|status| status == Some(TaskStatus::Done));
    !is_empty.contains(&true) && !statuses.contains(&None) && is_done[0] != is_done[1]
}

/// Reports whether a text is a word for a done task with the day or the place of that (`completed
/// 2025-01-31`, `merged in #12`, `done: see the log`), rather than with how much is done (`done
/// 3/5`).
fn says_when_done(text: &str) -> bool {
    let text = text.trim_matches(['*', '_', ' ', '`', '[', ']']);
    let Some((word, rest)) = text.split_once([' ', ':']) else {
        return false;
    };
    if of_key(&word.to_lowercase()) != Some(TaskStatus::Done) {
        return false;
    }
    let is_remark = text.tail(word.len()).starts_with(": ")
        && !rest.trim_start().starts_with(|c: char| c.is_ascii_digit());
    let names_change = ["#", "commit ", "://", "PR "]
        .into_iter()
        .any(|mark| rest.contains(mark));
    is_remark || is_day(rest.trim_start()) || rest.starts_with("on ") || names_change
}

/// Reports whether a text begins with a day in digits.
pub(crate) fn is_day(text: &str) -> bool {
    let day = text.split(' ').next().map_or("", |day| day);
    let parts = || day.split(['-', '.', '/']);
    parts().count() == 3 && parts().all(|part| part.len() <= 4 && all_digits(part))
}

/// Returns the part of a text that may be a status, without a remark after it, as it stands in the
/// table.
pub(crate) fn key_of(text: &str) -> String {
    without_remark(text).to_lowercase().replace(['-', ' '], "_")
}

fn without_remark(text: &str) -> &str {
    let end = text.find(['(', '–', '—', ',', '.', ';']);
    let text = text.get(..end.unwrap_or(text.len())).unwrap_or(text);
    let text = text.split_once(" - ").map_or(text, |(words, _)| words);
    text.trim_matches(['*', '_', ' ', '`', '[', ']'])
}

/// Returns the place of the words in a text that say a status; an empty range at 0 if none do.
pub(crate) fn known_words(text: &str) -> Range<usize> {
    let words = without_remark(text);
    match (words.is_empty(), of_words(text), text.find(words)) {
        (false, Some(_), Some(at)) => at..at + words.len(),
        _ => 0..0,
    }
}

/// The maximum length of a heading that is a status, and of the blanks in it.
const MAX_SECTION_BYTES: usize = 40;
const MAX_SECTION_BLANKS: usize = 3;

/// Returns the status that the whole of a section's heading says, unless its work is open: `Done`,
/// `Completed tasks`.
pub(crate) fn of_section(heading: &str) -> Option<TaskStatus> {
    if let Some(said) = after_status(heading) {
        return of_cell(said);
    }
    // Most headings are longer.
    if heading.len() > MAX_SECTION_BYTES
        || heading.bytes().filter(|byte| *byte == b' ').count() > MAX_SECTION_BLANKS
    {
        return None;
    }
    let lower = heading.trim_end_matches([':', ' ']).to_lowercase();
    let noun = lower
        .rsplit_once(' ')
        .filter(|(_, noun)| section::is_any_of(noun, words::NOUNS));
    let words = noun.map_or(lower.as_str(), |(words, _)| words);
    let words = words.strip_prefix("already ").unwrap_or(words);
    // The mark of `✅ Tasks` is an ornament, and `Complete steps` says what to do.
    let says_none = words == "complete" || !words.contains(char::is_alphanumeric);
    if (noun.is_some() && says_none) || of_colour(words).is_some() {
        return None;
    }
    of_text(words).filter(|status| *status != TaskStatus::Todo)
}

/// Returns the place of what a line such as `**Status**: done`, `Done: yes` or `(shipped in v1)`
/// says.
pub(crate) fn place_in(line: &str) -> Option<Range<usize>> {
    if let Some(inner) = line.strip_prefix('(') {
        let inner = inner.trim_end().strip_suffix(')')?;
        let first = first_words(inner).filter(|status| !status.runs());
        return first.map(|_| 1..1 + inner.len());
    }
    let (word, at) = attributes::detail_key(line)?;
    let said = line.tail(at);
    let value = said.trim_matches(['*', '_', ' ', '`']);
    let is_said = match word.to_ascii_lowercase().as_str() {
        "status" => true,
        // What a program keeps is a state, too.
        "state" | "progress" => of_cell(value).is_some_and(|it| it != TaskStatus::Todo),
        // What is done when is a criterion.
        word => of_key(word) == Some(TaskStatus::Done) && is_answer(value),
    };
    let start = at + said.find(value)?;
    (is_said && !value.is_empty()).then_some(start..start + value.len())
}

/// Returns what a heading such as `Status: Deferred` says.
pub(crate) fn after_status(heading: &str) -> Option<&str> {
    let (word, said) = heading.split_once(':')?;
    let said = said.trim();
    (word.trim().eq_ignore_ascii_case("status") && !said.is_empty()).then_some(said)
}

/// Removes a status at the end of a heading (`… ✅`, `… ✅ COMPLETED`, `… (done)`) and returns it
/// with the rest.
pub(crate) fn trailing(title: &str) -> Option<(TaskStatus, &str)> {
    let (status, rest, _) = split_trailing(title)?;
    Some((status, rest))
}

/// Returns the place of the status that a line says at its beginning or at its end.
pub(crate) fn place(line: &str) -> Option<Range<usize>> {
    match leading_mark(line).or_else(|| leading_word(line)) {
        Some((_, rest)) => Some(0..mark_before(line, rest)?.len()),
        None => split_trailing(line).map(|(_, _, place)| place),
    }
}

/// Returns the mark that a text begins with, before the rest of it.
fn mark_before<'t>(text: &'t str, rest: &str) -> Option<&'t str> {
    let mark = text.get(..text.len() - rest.len())?;
    Some(mark.trim_end_matches([' ', ':', '-']))
}

/// Splits a line into its status at the end, the text before it, and the place of the status.
fn split_trailing(title: &str) -> Option<(TaskStatus, &str, Range<usize>)> {
    let title = title.trim_end();
    let last = title.rfind(is_mark).filter(|at| *at > 0);
    if let Some(at) = last {
        let said = title.get(at..)?;
        let status = of_text(said).filter(|_| of_colour(said).is_none())?;
        let words = after_pictographs(said).unwrap_or("");
        let ends = words.is_empty() || of_words(words).is_some();
        let rest = title.head(at).trim_end_matches([' ', '-', '–', '—']);
        return ends.then_some((status, rest, at..title.len()));
    }
    let Some((open, inner)) = in_parentheses(title) else {
        return after_dash(title);
    };
    let status = of_text(inner)?;
    if is_of_things(&key_of(inner)) && phase::of_heading(title).is_none() {
        return None;
    }
    Some((
        status,
        title.get(..open)?.trim_end(),
        open + 1..title.len() - 1,
    ))
}

/// Splits a line into the status behind its last dash or `@`, the text before that, and its place.
fn after_dash(title: &str) -> Option<(TaskStatus, &str, Range<usize>)> {
    // Most titles have none.
    if title.is_ascii() && memchr2(b'-', b'@', title.as_bytes()).is_none() {
        return None;
    }
    let dashes = [" - ", " – ", " — ", " @"].into_iter();
    let (at, dash) = dashes
        .filter_map(|dash| Some((title.rfind(dash)?, dash)))
        .max()?;
    let words = at + dash.len()..title.len();
    let status = of_text(title.get(words.clone())?).filter(|status| *status != TaskStatus::Todo)?;
    Some((status, title.get(..at)?.trim_end(), words))
}

fn is_mark(c: char) -> bool {
    !c.is_ascii() && MARKS.iter().chain(COLOURS).any(|(mark, _)| *mark == c)
}

/// Returns the text in the parentheses or brackets that end a title, and the offset of the opening
/// one.
fn in_parentheses(title: &str) -> Option<(usize, &str)> {
    let open = title.strip_suffix([')', ']'])?.rfind(['(', '['])?;
    let inner = title
        .get(open + 1..title.len() - 1)
        .filter(|inner| !inner.trim().is_empty())?;
    Some((open, inner))
}

/// Returns the words of a title beside an open box that say another status, with that status: a
/// mark of what is done or blocked at its beginning, or a mark or words at its end, in parentheses
/// or after a dash or an `@`.
pub(crate) fn beside_box(title: &str) -> Option<(TaskStatus, &str)> {
    let title = title.trim_end();
    // Most titles have neither marks nor parentheses, a dash, an `@` or a colon.
    let has_mark = memchr3(b'-', b':', b'@', title.as_bytes()).is_some();
    if !has_mark && title.is_ascii() && !title.ends_with([')', ']']) {
        return None;
    }
    let mark = leading_mark(title).or_else(|| leading_word(title));
    if let Some((status, rest)) = mark.filter(|(status, _)| !status.runs()) {
        return Some((status, mark_before(title, rest)?));
    }
    if let Some((status, _, place)) = split_trailing(title) {
        return Some((status, title.get(place)?)).filter(|(status, _)| *status != TaskStatus::Todo);
    }
    let (status, _, place) = after_dash(title)?;
    Some((status, title.get(place)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use TaskStatus::{Blocked, Cancelled, Done, InProgress, Todo};

    #[test]
    fn words_and_marks_say_a_status() {
        let table = [
            ("✅", Some(Done)),
            ("✅ Done", Some(Done)),
            ("⏳ Pending", Some(Todo)),
            ("⏳", Some(InProgress)),
            ("🚧 In progress", Some(InProgress)),
            ("❌", Some(Todo)),
            ("❌ Cancelled", Some(Cancelled)),
            ("⬜", Some(Todo)),
            ("🔲 ", Some(Todo)),
            ("**Complete**", Some(Done)),
            ("Not Started", Some(Todo)),
            ("on hold", Some(Blocked)),
            ("done (v2)", Some(Done)),
            ("", Some(Todo)),
            ("Done - merged", Some(Done)),
            ("Blocked - no key", Some(Blocked)),
            ("Done, merged in #12", Some(Done)),
            ("In progress, blocked", Some(InProgress)),
            ("open, done", None),
            ("`done`, `open`, `closed`", None),
            ("Completed 2025-01-31", Some(Done)),
            ("**completed on 31.1.2025**", Some(Done)),
            ("✅ Merged in PR #12", Some(Done)),
            ("Done: see the log", Some(Done)),
            ("Done in commit 1a2b3c", Some(Done)),
            ("Done: 2025-01-31", Some(Done)),
            ("Done: 3 of 5", None),
            ("done 3/5", None),
            ("done in 2 of 5", None),
            ("done in part", None),
            ("Fixed 2 bugs", None),
            ("fixed in v2", None),
            ("blocked by 2.1", None),
            ("Done:", None),
            ("🟢 Low", None),
            ("🔴 High", None),
            ("🟢 Done", Some(Done)),
            ("📅 Planned", Some(Todo)),
            ("🗓️ Planned", Some(Todo)),
            ("📅", None),
            ("🟢", Some(Done)),
            ("50 %", None),
        ];
        for (text, expected) in table {
            assert_eq!(of_text(text), expected, "{text}");
        }
    }

    #[test]
    fn done_may_be_limited() {
        for whole in [
            "Done",
            "✅ Complete",
            "**COMPLETED** ✅ (2025-01-31)",
            "Merged in PR #12",
            "Completed. It was merged.",
        ] {
            assert!(is_done_without_limit(whole), "{whole}");
        }
        for part in [
            "Completed (design only)",
            "Completed: nothing yet",
            "🟢",
            "",
        ] {
            assert!(!is_done_without_limit(part), "{part}");
        }
    }

    #[test]
    fn a_title_beside_an_open_box_may_say_a_status() {
        let table = [
            ("✅ Parse", Some((Done, "✅"))),
            ("⏸\u{fe0f} Parse", Some((Blocked, "⏸\u{fe0f}"))),
            ("Parse ✅", Some((Done, "✅"))),
            ("Parse (done)", Some((Done, "done"))),
            ("Parse (in progress)", Some((InProgress, "in progress"))),
            ("Parse (closed)", None),
            ("Parse — DONE", Some((Done, "DONE"))),
            ("Parse - cancelled", Some((Cancelled, "cancelled"))),
            ("🔄 Synchronise", None),
            ("🟢 Polish", None),
            ("Polish 🟢", None),
            ("Parse (todo)", None),
            ("Parse ❌", None),
            ("Parse - the dates", None),
            ("Show what is done", None),
            ("", None),
        ];
        for (title, expected) in table {
            assert_eq!(beside_box(title), expected, "{title}");
        }
    }

    #[test]
    fn a_heading_may_end_with_its_status() {
        let table = [
            ("Phase 1: Setup ✅", Some((Done, "Phase 1: Setup"))),
            (
                "Task 2 - Build ✅ COMPLETED",
                Some((Done, "Task 2 - Build")),
            ),
            ("Stage 3 (in progress)", Some((InProgress, "Stage 3"))),
            ("Use ✅ as a mark", None),
            (
                "Task 11: Paint ✓ (DONE - 2025-01-31)",
                Some((Done, "Task 11: Paint")),
            ),
            (
                "Task 12: Oil ✓ (In Progress)",
                Some((InProgress, "Task 12: Oil")),
            ),
            ("Task 13: Sand ✓ (Current)", None),
            ("Priority 3 🟢", None),
            ("Phase 2: Setup 🟢 Done", Some((Done, "Phase 2: Setup"))),
            ("Task 4 (optional)", None),
            ("Task 6: Handle sockets (closed)", None),
            ("Task 6: Handle (done) sockets", None),
            ("Task 6: Filter orders (done, open)", None),
            ("Task 7: Crash (fixed)", Some((Done, "Task 7: Crash"))),
            (
                "Task 8: Parse (completed 2025-01-31)",
                Some((Done, "Task 8: Parse")),
            ),
            ("Task 9: Show (blocked by Task 1)", None),
            (
                "Phase 3: Sockets (closed)",
                Some((Done, "Phase 3: Sockets")),
            ),
            ("Task 5", None),
        ];
        for (title, expected) in table {
            assert_eq!(trailing(title), expected, "{title}");
        }
    }
}
