//! Reads the to-dos in a front matter, as Cursor writes them, as tasks: `id`, `content`, `status`, `dependencies`.
//!
//! They are read line by line, since a YAML parser does not say where a status stands, which is written back.

use std::borrow::Cow;
use std::ops::Range;

use orchestrate_core::ids::TaskId;
use orchestrate_core::task::TaskStatus;

use crate::fields::attributes::Located;
use crate::mark::Mark;
use crate::read::source::Source;
use crate::read::status;
use crate::read::task_line::Draft;
use crate::read::text;

/// The key whose value is the list of to-dos.
pub(crate) const KEY: &str = "todos";

/// The fields of a to-do that are read.
const FIELDS: &[&str] = &["id", "content", "title", "status", "dependencies", "depends_on"];

/// What the status of a to-do is once it is done.
const DONE: &str = "completed";

/// Returns the to-dos of the front matter that ends at this offset as tasks, which go in their order.
pub(crate) fn tasks(source: &Source<'_>, end: usize) -> Vec<Draft> {
    let is_key = |line: &str| line.trim_end().strip_suffix(':') == Some(KEY);
    let mut drafts: Vec<Draft> = Vec::new();
    let (mut column_of_items, mut key) = (None, "");
    for (offset, line) in source.lines(0..end).skip_while(|&(_, line)| !is_key(line)).skip(1) {
        let text = line.trim_start();
        let column = line.len() - text.len();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        if column == 0 && !text.starts_with("- ") {
            break;
        }
        let own = text.strip_prefix("- ").filter(|_| column_of_items.is_none_or(|items| items == column));
        if own.is_some() {
            column_of_items = Some(column);
            // In a section of its own, each goes after the one before it.
            drafts.push(Draft { at: offset + column, section_index: drafts.len(), ..Draft::default() });
        }
        let Some(draft) = drafts.last_mut() else { break };
        let body = own.unwrap_or(text).trim_start();
        let at = offset + line.len() - body.len();
        match body.split_once(':').filter(|(name, value)| is_field(name, value)) {
            Some((name, value)) => {
                key = name;
                let start = at + body.len() - value.trim_start().len();
                set(draft, key, source, start..start + value.trim().len());
            }
            None => {
                let item = body.trim_start_matches("- ");
                set(draft, key, source, at + body.len() - item.len()..at + body.trim_end().len());
            }
        }
    }
    drafts.retain(|draft| !draft.title.is_empty());
    drafts
}

fn is_field(name: &str, value: &str) -> bool {
    FIELDS.contains(&name) && (value.is_empty() || value.starts_with(' '))
}

/// Stores the value of a field, or a further line of it.
fn set(draft: &mut Draft, key: &str, source: &Source<'_>, place: Range<usize>) {
    let start = place.start;
    let written = source.slice(place);
    let value = text::unwrap_marks(written);
    let offset = start + written.find(value).unwrap_or_default();
    match key {
        "id" if TaskId::is_plain(value) => draft.id = Some(Located { text: value.to_owned(), offset }),
        // The marks of a text in several lines.
        "content" | "title" if matches!(value, ">" | ">-" | "|" | "|-" | "") => {}
        "content" | "title" => {
            let blank = if draft.title.is_empty() { "" } else { " " };
            draft.title.push_str(blank);
            draft.title.push_str(value);
        }
        "status" => {
            draft.status = status::of_text(value).unwrap_or_default();
            let is_done = draft.status == TaskStatus::Done;
            let done = if is_done { Cow::Owned(value.to_owned()) } else { Cow::Borrowed(DONE) };
            let mark = Mark { range: offset..offset + value.len(), done };
            draft.marks.extend((!value.is_empty()).then_some(mark));
        }
        "dependencies" | "depends_on" => {
            let list = value.trim_matches(['[', ']']).replace(['"', '\''], " ");
            draft.attributes.depends.extend((!list.trim().is_empty()).then_some(Located { text: list, offset }));
        }
        _ => {}
    }
}
