//! Parses the status of a task whose title is struck out.

use memchr::memchr;
use orchestrate_core::task::TaskStatus;
use orchestrate_core::text::parts::Parts;

use crate::fields::identify;
use crate::tasks::status;

/// The maximum length of a word after a reason that is no part of a title: `until`, `to`.
const MAX_SMALL_WORD: usize = 5;

/// What may stand between strikes and a remark, and which of it sets the remark apart.
const BETWEEN: [char; 12] = ['*', '_', ' ', '\t', '.', ',', ':', '：', '-', '–', '—', '→'];
const APART: [char; 8] = ['.', ',', ':', '：', '-', '–', '—', '→'];

/// Returns the status of a title that is struck out but for an id before it, and parentheses or a
/// reason after it: done if these say so, else cancelled. A struck text that another one follows is
/// replaced by that (`~~old~~ new`), unless a dash or a colon sets it apart as a remark, whose
/// language need not be known.
pub(crate) fn status(title: &str) -> Option<TaskStatus> {
    // Most titles have no strikes.
    memchr(b'~', title.as_bytes())?;
    let first = title.lines().next().unwrap_or(title);
    let first = first
        .split("<!--")
        .next()
        .map_or("", |text| text.trim_end());
    // A strike may extend to the end of the last line.
    let text = match first.matches("~~").count().is_multiple_of(2) {
        true => first,
        false => title,
    };
    let (struck, mut after) = without_id(text).strip_prefix("~~")?.split_once("~~")?;
    let mut status = TaskStatus::Cancelled;
    let mut is_apart = false;
    let is_remark = loop {
        let text = after.trim_start_matches(BETWEEN);
        let between = after.head(after.len() - text.len());
        is_apart |= between.contains(APART);
        after = text;
        if let Some((_, rest)) = after
            .strip_prefix("~~")
            .and_then(|rest| rest.split_once("~~"))
        {
            after = rest;
        } else if let Some((remark, rest)) = parenthesis(after) {
            if says_done(remark) {
                status = TaskStatus::Done;
            }
            is_apart = true;
            after = rest;
        } else {
            break begins_remark(between, after);
        }
    };
    let after = after.trim_start_matches(['~', ' ']);
    if after.is_empty() || after.starts_with('@') {
        return Some(status);
    }
    if says_done(after) {
        return Some(TaskStatus::Done);
    }
    let says_why = is_reason(after, is_apart) || after.starts_with(['❌', '🚫', '✗', '✖']);
    (says_why || (is_remark && !is_id(struck))).then_some(TaskStatus::Cancelled)
}

/// Reports whether a text begins with a word for what is not to be done, alone or before a small
/// word: it may be the title that replaces the struck one (`~~Eager~~ Deferred loading`).
fn is_reason(text: &str, is_apart: bool) -> bool {
    let mut words = text.split([' ', ',', '.']).filter(|word| !word.is_empty());
    let status = words
        .next()
        .and_then(|word| status::of_key(&word.to_lowercase()));
    let is_followed_by_title = words.next().is_some_and(|word| word.len() > MAX_SMALL_WORD);
    status.is_some_and(|status| !status.runs()) && (is_apart || !is_followed_by_title)
}

/// Reports whether what stands between strikes and a text sets it apart as a remark that does not
/// say that the task is to be run.
fn begins_remark(between: &str, after: &str) -> bool {
    let is_set_apart = between.contains(['–', '—', ':', '：']) || between.contains(" -");
    let is_arrow = between.contains('→') || after.starts_with('>');
    is_set_apart && !is_arrow && !status::of_text(after).is_some_and(TaskStatus::runs)
}

/// Reports whether a struck text is only the id of a task, whose title follows.
fn is_id(struck: &str) -> bool {
    identify::leading(struck).is_some_and(|found| found.rest == struck.len())
}

/// Returns a title after its id and the marks of emphasis before its strikes.
fn without_id(title: &str) -> &str {
    let body = title.trim_start_matches(['*', '_', ' ']);
    if body.starts_with("~~") {
        return body;
    }
    let text = body.tail(body.len() - length_without_labels(body));
    let rest = identify::leading(text)
        .filter(|found| !found.bare_number)
        .map_or(0, |found| found.rest);
    let text = text.tail(rest);
    text.tail(text.len() - length_without_labels(text))
        .trim_start_matches(['*', '_'])
}

fn length_without_labels(text: &str) -> usize {
    text.trim_start_matches("[P]")
        .trim_start_matches("(P)")
        .trim_start()
        .len()
}

/// Splits a text that begins with a parenthesis into what is in it and what follows it.
fn parenthesis(text: &str) -> Option<(&str, &str)> {
    let (open, close) = [('(', ')'), ('（', '）'), ('[', ']')]
        .into_iter()
        .find(|(open, _)| text.starts_with(*open))?;
    text.get(open.len_utf8()..)?.split_once(close)
}

fn says_done(remark: &str) -> bool {
    status::of_text(remark) == Some(TaskStatus::Done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use TaskStatus::{Cancelled, Done};

    #[test]
    fn struck_titles_are_cancelled_or_done() {
        let table = [
            ("~~Export~~", Some(Cancelled)),
            ("~~Export~~ (moved to v2)", Some(Cancelled)),
            ("~~Export~~ (files: a) (depends: T1)", Some(Cancelled)),
            ("~~Export~~ @tester", Some(Cancelled)),
            ("~~Export~~ - superseded by T9", Some(Cancelled)),
            ("~~Export~~ — no longer needed.", Some(Cancelled)),
            ("~~Export~~ ❌", Some(Cancelled)),
            ("~~Export~~\nfiles: a", Some(Cancelled)),
            ("~~Export that\ngoes on~~", Some(Cancelled)),
            ("**~~Export~~**", Some(Cancelled)),
            ("T4 ~~Export~~", Some(Cancelled)),
            ("[P] **T4**: ~~Export~~", Some(Cancelled)),
            ("T4 [P] ~~Export~~", Some(Cancelled)),
            ("~~T4 Export~~", Some(Cancelled)),
            ("~~Export~~ (done)", Some(Done)),
            ("~~Export~~ ✅", Some(Done)),
            ("~~Export~~ ~~Import~~", Some(Cancelled)),
            ("~~Export~~, ~~import~~ (done)", Some(Done)),
            ("~~Export~~ dropped", Some(Cancelled)),
            ("~~Export~~ moved to backlog", Some(Cancelled)),
            ("~~Export~~ deferred until v2", Some(Cancelled)),
            ("~~Export~~ Removed (too slow)", Some(Cancelled)),
            ("~~Export~~: dropped, too slow", Some(Cancelled)),
            ("~~Export~~ — ersetzt durch T9", Some(Cancelled)),
            ("~~Export~~ - zu langsam", Some(Cancelled)),
            ("**~~Export~~**: trop lent", Some(Cancelled)),
            ("~~导出~~：不再需要", Some(Cancelled)),
            ("~~Export~~ — in progress", None),
            ("~~Export~~-free build", None),
            ("~~Use A~~ -> use B", None),
            ("~~T4~~: Export", None),
            ("~~a~~ — ~~b~~ c", None),
            ("~~Eager~~ Deferred loading", None),
            ("~~Copy~~ Duplicate the project", None),
            ("~~a~~ ~~b~~ c", None),
            ("~~old~~ new", None),
            ("~~Use A~~ → use B", None),
            ("~~Use A~~ (too slow) use B", None),
            ("Use ~~A~~ B", None),
            ("Use ~~A~~", None),
            ("~/a", None),
            ("~~", None),
            ("", None),
        ];
        for (title, expected) in table {
            assert_eq!(status(title), expected, "{title}");
        }
    }
}
