//! Reads the to-dos in a front matter, as Cursor writes them, as tasks: `id`, `content`, `status`,
//! `dependencies`.
//!
//! They are read line by line, since a YAML parser does not say where a status stands, which is
//! written back.

use std::borrow::Cow;
use std::ops::Range;

use orchestrate_core::ids::TaskId;
use orchestrate_core::task::TaskStatus;

use crate::fields::attributes::Located;
use crate::mark::Mark;
use crate::read::lines::source::Source;
use crate::read::lists::task_line::Draft;
use crate::read::states::status;

/// The key whose value is the list of to-dos.
pub(crate) const KEY: &str = "todos";

/// What the status of a to-do is once it is done.
const DONE: &str = "completed";

/// Returns the to-dos of the front matter that ends at this offset as tasks, which go in their
/// order.
pub(crate) fn tasks(source: &Source<'_>, end: usize) -> Vec<Draft> {
    let mut drafts: Vec<Draft> = Vec::new();
    let (mut column_of_items, mut column_of_fields, mut key) = (None, 0, "");
    for (offset, line) in source
        .lines(0..end)
        .skip_while(|&(_, line)| !is_key(line))
        .skip(1)
    {
        let text = line.trim_start();
        let column = line.len() - text.len();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        if column == 0 && !text.starts_with("- ") {
            break;
        }
        let own = text
            .strip_prefix("- ")
            .filter(|_| column_of_items.is_none_or(|items| items == column));
        let body = own.unwrap_or(text).trim_start();
        let column_of_body = line.len() - body.len();
        if own.is_some() {
            (column_of_items, column_of_fields) = (Some(column), column_of_body);
            // In a section of its own, each goes after the one before it.
            drafts.push(Draft {
                at: offset + column,
                section_index: drafts.len(),
                ..Draft::default()
            });
        }
        let Some(draft) = drafts.last_mut() else {
            break;
        };
        let at = offset + column_of_body;
        // What is further in is a part of the field above, whatever it looks like.
        let field = body
            .split_once(':')
            .filter(|(_, value)| value.is_empty() || value.starts_with(' '));
        match field.filter(|_| column_of_body <= column_of_fields) {
            Some((name, value)) => {
                key = name;
                let start = at + body.len() - value.trim_start().len();
                set(draft, key, source, start..start + value.trim().len());
            }
            None => go_on(draft, key, body.trim_end(), at),
        }
    }
    for draft in &mut drafts {
        draft.title = unquoted(&draft.title);
    }
    drafts.retain(|draft| !draft.title.is_empty());
    drafts
}

fn is_key(line: &str) -> bool {
    line.trim_end().strip_suffix(':') == Some(KEY)
}

/// Stores the value of a field.
fn set(draft: &mut Draft, key: &str, source: &Source<'_>, place: Range<usize>) {
    let start = place.start;
    let written = source.slice(place);
    let value = scalar(written);
    let offset = start + written.find(value).unwrap_or_default();
    match key {
        "id" if TaskId::is_plain(value) => {
            draft.id = Some(Located {
                text: value.to_owned(),
                offset,
            })
        }
        // The marks of a text in several lines.
        "content" | "title" if matches!(written, ">" | ">-" | ">+" | "|" | "|-" | "|+") => {}
        "content" | "title" => written.clone_into(&mut draft.title),
        "status" => {
            draft.status = status::of_text(value).unwrap_or_default();
            let is_done = draft.status == TaskStatus::Done;
            let done = if is_done {
                Cow::Owned(value.to_owned())
            } else {
                Cow::Borrowed(DONE)
            };
            let mark = Mark {
                range: offset..offset + value.len(),
                done,
            };
            draft.marks = if value.is_empty() {
                Vec::new()
            } else {
                vec![mark]
            };
        }
        "dependencies" | "depends_on" => depend(draft, written, start),
        _ => {}
    }
}

/// Stores a further line of the field above it.
fn go_on(draft: &mut Draft, key: &str, line: &str, at: usize) {
    match key {
        "content" | "title" => {
            let blank = if draft.title.is_empty() { "" } else { " " };
            draft.title.push_str(blank);
            draft.title.push_str(line);
        }
        "dependencies" | "depends_on" => depend(draft, line, at),
        _ => {}
    }
}

/// Adds the dependencies in a line, which may be a list in brackets or an item of one.
fn depend(draft: &mut Draft, line: &str, at: usize) {
    let item = line.trim_start_matches("- ");
    let offset = at + line.len() - item.len();
    let list = item.trim_matches(['[', ']']).replace(['"', '\''], " ");
    draft
        .attributes
        .depends
        .extend((!list.trim().is_empty()).then_some(Located { text: list, offset }));
}

/// Returns the value of a field of one line, without its quotes and a comment after it.
fn scalar(written: &str) -> &str {
    let in_quotes = |quote: char| written.strip_prefix(quote)?.split_once(quote);
    match in_quotes('"').or_else(|| in_quotes('\'')) {
        Some((value, _)) => value,
        None => written.split(" #").next().unwrap_or_default().trim_end(),
    }
}

/// Returns a text without the quotes around the whole of it.
fn unquoted(text: &str) -> String {
    for (quote, escaped) in [('"', "\\\""), ('\'', "''")] {
        let inner = text
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote));
        if let Some(inner) = inner.filter(|inner| !inner.replace(escaped, "").contains(quote)) {
            return inner.replace(escaped, &quote.to_string());
        }
    }
    text.to_owned()
}
