//! Parses the status of a task whose title is struck out.

use memchr::memchr;
use orchestrate_core::task::TaskStatus;
use orchestrate_core::text::parts::Parts;

use crate::fields::identify;
use crate::tasks::status;

/// The maximum length of a word after a reason that is no part of a title: `until`, `to`.
const MAX_SMALL_WORD: usize = 5;

/// What may stand between strikes and a remark.
const BETWEEN: [char; 11] = ['*', '_', ' ', '\t', '.', ',', ':', '：', '-', '–', '—'];

/// Returns the status of a title that is struck out but for an id before it, and a remark after it:
/// done if the remark says so, else cancelled. A struck text that another one follows is replaced
/// by that (`~~old~~ new`), unless parentheses, a dash or a colon set it apart as a remark, whose
/// language need not be known.
pub(crate) fn status(title: &str) -> Option<TaskStatus> {
    // Most titles have no strikes.
    memchr(b'~', title.as_bytes())?;
    let first = title.lines().next().unwrap_or(title);
    let first = first.split("<!--").next().map_or("", str::trim_end);
    // A strike may extend to the end of the last line.
    let text = match first.matches("~~").count().is_multiple_of(2) {
        true => first,
        false => title,
    };
    let (struck, mut after) = without_id(text).strip_prefix("~~")?.split_once("~~")?;
    // Several texts may be struck, one behind the other.
    while let Some(next) = after.trim_start_matches(BETWEEN).strip_prefix("~~") {
        after = next.split_once("~~")?.1;
    }
    let remark = after.trim_start_matches(BETWEEN);
    let between = after.head(after.len() - remark.len());
    let said = status::of_text(remark.trim_matches(['(', ')', '[', ']']));
    let is_id = identify::leading(struck).is_some_and(|found| found.rest == struck.len());
    let is_set_apart = between.contains(['–', '—', ':', '：']) || between.contains(" -");
    if remark.is_empty() || remark.starts_with('@') {
        Some(TaskStatus::Cancelled)
    } else if said == Some(TaskStatus::Done) {
        said
    } else if remark.starts_with(['(', '（', '[']) && !remark.starts_with("[ ") {
        ends_with_remark(remark).then_some(TaskStatus::Cancelled)
    } else if is_reason(remark) || remark.starts_with(['❌', '🚫', '✗', '✖']) {
        Some(TaskStatus::Cancelled)
    } else {
        let is_remark = is_set_apart && !is_id && !remark.starts_with('>');
        (is_remark && !said.is_some_and(TaskStatus::runs)).then_some(TaskStatus::Cancelled)
    }
}

/// Reports whether a text begins with a word for what is not to be done, alone or before a small
/// word: it may be the title that replaces the struck one (`~~Eager~~ Deferred loading`).
fn is_reason(text: &str) -> bool {
    let mut words = text.split([' ', ',', '.']).filter(|word| !word.is_empty());
    let said = words
        .next()
        .and_then(|word| status::of_key(&word.to_lowercase()));
    let is_alone = words.next().is_none_or(|word| word.len() <= MAX_SMALL_WORD);
    is_alone && said.is_some_and(|status| !status.runs())
}

/// Reports whether nothing follows the parenthesis that a text begins with, but for a remark after
/// a dash or the name of a role.
fn ends_with_remark(text: &str) -> bool {
    let after = text
        .split_once([')', '）', ']'])
        .map_or("", |(_, after)| after);
    let rest = after.trim_start();
    rest.is_empty() || rest.starts_with(['–', '—', '-', '@', '(', '~'])
}

/// Returns a title after its id and the marks of emphasis before its strikes.
fn without_id(title: &str) -> &str {
    let body = title.trim_start_matches(['*', '_', ' ']);
    if body.starts_with("~~") {
        return body;
    }
    let text = without_label(body);
    let id = identify::leading(text).filter(|found| !found.bare_number);
    let text = text.tail(id.map_or(0, |found| found.rest));
    without_label(text).trim_start_matches(['*', '_'])
}

fn without_label(text: &str) -> &str {
    text.trim_start_matches("[P]")
        .trim_start_matches("(P)")
        .trim_start()
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
