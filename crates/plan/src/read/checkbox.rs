//! Parses the box at the head of a task: `[ ]`, `[x]` and the other marks, and text that is nearly a box.

use orchestrate_core::task::TaskStatus;

/// The box at the head of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BoxMark {
    pub(crate) status: TaskStatus,
    pub(crate) optional: bool,
    /// The byte offset of the mark in the box; `None` for a task without one.
    pub(crate) at: Option<usize>,
    /// The byte offset of the text after the box; 0 if the box ends its heading.
    pub(crate) rest: usize,
}

/// Parses `[ ]`, `[x]`, `[~]`, `[/]`, `[-]`, `[!]`, each followed by a `*` if the task is optional.
pub(crate) fn read_box(text: &str) -> Option<BoxMark> {
    let mark = text.strip_prefix('[')?.chars().next()?;
    let status = match mark {
        ' ' => TaskStatus::Todo,
        'x' | 'X' => TaskStatus::Done,
        '~' | '/' => TaskStatus::InProgress,
        '-' => TaskStatus::Cancelled,
        '!' => TaskStatus::Blocked,
        _ => return None,
    };
    let after = text.get(2..)?.strip_prefix(']')?;
    let optional =
        after.starts_with('*') && after.get(1..).is_none_or(|rest| rest.is_empty() || rest.starts_with([' ', '\t']));
    let after = if optional { after.get(1..).unwrap_or_default() } else { after };
    let stands_alone = after.is_empty() || after.starts_with([' ', '\t', '\n']);
    stands_alone.then(|| BoxMark { status, optional, at: Some(1), rest: text.len() - after.trim_start().len() })
}

/// Returns the reason why something that is nearly a box is not one.
pub(crate) fn odd_box(text: &str) -> Option<String> {
    let inner = text.strip_prefix('[')?;
    if inner.starts_with("] ") {
        return Some("an empty `[]` is not a box: write `[ ]`".to_owned());
    }
    // `[P]` is a label, which plans also explain in their notes.
    let mark = inner.chars().next().filter(|mark| *mark != 'P')?;
    let after = inner.get(mark.len_utf8()..)?.strip_prefix(']')?;
    let known = "`[ ]`, `[x]`, `[~]`, `[/]`, `[-]`, `[!]`";
    (after.starts_with(' ')).then(|| format!("`[{mark}]` is not a box: use one of {known}"))
}

/// Reports whether a line, at any indentation or in a quote, is a bullet with a box.
pub(crate) fn looks_like_box(line: &str) -> bool {
    let line = line.trim_start_matches(['>', ' ', '\t']);
    let marker = line.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
    let body = line.get(marker..).unwrap_or_default();
    let Some(body) = body.strip_prefix(['-', '*', '+', '.', ')']) else {
        return false;
    };
    body.starts_with([' ', '\t']) && read_box(body.trim_start()).is_some()
}
