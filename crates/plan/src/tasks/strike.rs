//! Parses the status of a task whose title is struck out.

use memchr::memchr;
use orchestrate_core::task::TaskStatus;
use orchestrate_core::text::parts::Parts;

use crate::fields::identify;
use crate::tasks::status;

/// What may stand between strikes and a remark.
const BETWEEN: [char; 12] = ['*', '_', ' ', '\t', '.', ',', ':', '：', '-', '–', '—', '~'];

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
    while let Some(next) = after.trim_start().strip_prefix("~~") {
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
    } else if status::first_words(remark).is_some_and(|status| !status.runs()) {
        Some(TaskStatus::Cancelled)
    } else {
        let is_remark = is_set_apart && !is_id && !remark.starts_with('>');
        (is_remark && !said.is_some_and(TaskStatus::runs)).then_some(TaskStatus::Cancelled)
    }
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
