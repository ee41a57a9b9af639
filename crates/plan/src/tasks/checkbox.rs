//! Parses the box at the head of a task: `[ ]`, `[x]` and the other marks, and text that is nearly
//! a box.

use orchestrate_core::task::TaskStatus;
use orchestrate_core::text::parts::Parts;

use crate::tasks::status;

/// Why what is nearly a box, or nearly an item with one, is none, and how that begins.
pub(crate) const NEARLY: &str = "nearly";
const NEARLY_BOX: &str = "nearly a box: write `[ ]` or `[x]`, and a blank after it";
const NEARLY_ITEM: &str = "nearly an item with a box: write `- [ ]` at the beginning of a line";

/// The maximum number of bytes in what is nearly a box, and of a number in front of a line's box.
const MAX_BYTES: usize = 8;

/// The length of a box with a mark of one byte.
const BOX_BYTES: usize = 3;

/// Characters that look like bullets.
const NO_BULLETS: [char; 14] = [
    '–', '—', '−', '‐', '‑', '•', '◦', '▪', '▫', '‣', '⁃', '·', '●', '○',
];

/// Characters that look like boxes.
const DRAWN_BOXES: [char; 6] = ['☐', '☒', '⬜', '🔲', '□', '▢'];

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

impl BoxMark {
    /// Returns what stands for the box of a task without one.
    pub(crate) fn without_box(status: TaskStatus) -> Self {
        Self {
            status,
            optional: false,
            at: None,
            rest: 0,
        }
    }
}

/// Parses `[ ]`, `[x]`, `[~]`, `[/]`, `[-]`, `[!]`, each followed by a `*` if the task is optional.
pub(crate) fn read_box(text: &str) -> Option<BoxMark> {
    let mark = text.strip_prefix('[')?.chars().next()?;
    let status = status_of(mark)?;
    let after = text.get(1 + mark.len_utf8()..)?.strip_prefix(']')?;
    // Formatters escape the star.
    let star = after
        .strip_prefix('*')
        .or_else(|| after.strip_prefix("\\*"));
    let star = star.filter(|rest| rest.is_empty() || rest.starts_with([' ', '\t']));
    // What is left of backticks around the box.
    let code = after.strip_prefix('`').filter(|rest| rest.starts_with(' '));
    let (optional, after) = (star.is_some(), star.or(code).unwrap_or(after));
    let stands_alone = after.is_empty() || after.starts_with([' ', '\t', '\n']);
    stands_alone.then(|| BoxMark {
        status,
        optional,
        // Only a mark of one byte is written over.
        at: mark.is_ascii().then_some(1),
        rest: text.len() - after.trim_start().len(),
    })
}

fn status_of(mark: char) -> Option<TaskStatus> {
    Some(match mark {
        ' ' => TaskStatus::Todo,
        'x' | 'X' | '✓' | '✔' | '✅' => TaskStatus::Done,
        '~' | '/' | '>' | '🚧' => TaskStatus::InProgress,
        '-' => TaskStatus::Cancelled,
        '!' => TaskStatus::Blocked,
        _ => return None,
    })
}

/// Returns the reason why something that is nearly a box is not one: it is emphasised, escaped
/// or drawn, its mark is unknown, or no blank follows it.
pub(crate) fn odd_box(text: &str) -> Option<&'static str> {
    let bare = text.trim_start_matches(['*', '_', '\\']);
    let first = bare.chars().next()?;
    if read_box(text).is_some() {
        return None;
    }
    if DRAWN_BOXES.contains(&first) {
        return Some(NEARLY_BOX);
    }
    let (within, after) = bare.strip_prefix('[')?.split_once(']')?;
    let mut marks = within.trim_end_matches('\\').trim().chars();
    let mark = marks.next();
    // `[P]` is a label, which plans also explain in their notes.
    let is_short = marks.next().is_none() && mark != Some('P') && within.len() <= MAX_BYTES;
    let is_apart = after
        .trim_start_matches(['*', '_'])
        .starts_with([' ', '\t']);
    let is_known = mark.is_none_or(|mark| status_of(mark).is_some());
    let is_marked = is_apart && (is_known || bare.len() == text.len());
    (is_short && (is_marked || is_glued(bare))).then_some(NEARLY_BOX)
}

/// Reports whether a text begins with a box that other text follows.
fn has_box(text: &str) -> bool {
    read_box(text).is_some_and(|mark| mark.rest < text.len())
}

/// Reports whether a text begins with a box that its text follows without a blank. A link does not.
fn is_glued(text: &str) -> bool {
    let boxed = text.split_at_checked(BOX_BYTES);
    boxed.is_some_and(|(own, after)| {
        let has_text = after.contains(char::is_alphanumeric) && after.starts_with(begins_text);
        read_box(own).is_some() && has_text
    })
}

fn begins_text(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '`' | '*' | '_' | '"' | '\'' | '\u{a0}')
}

/// Returns the reason why a line of a paragraph that looks like an item with a box is none.
pub(crate) fn odd_item(line: &str) -> Option<&'static str> {
    let line = line.trim_start();
    if line.starts_with('|') {
        let mut cells = line.split('|').map(str::trim);
        let first = cells.clone().nth(1).and_then(read_box);
        let is_row = first.is_some() || cells.any(has_box);
        return is_row.then_some("nearly a row of tasks: name columns Task and Status");
    }
    let body = line.trim_start_matches(is_marker);
    let numbered = after_marker(line);
    // Without a bullet, a drawn box is one only before the text of a task (`⬜ Not started`).
    let is_bare = body.len() == line.len();
    let is_drawn = line.starts_with(DRAWN_BOXES) && !says_only_status(line);
    let is_odd = has_box(numbered) || has_box(body) || (!is_bare && is_glued(body)) || is_drawn;
    is_odd.then_some(NEARLY_ITEM)
}

/// Reports whether a drawn mark stands before a status or an explanation alone.
fn says_only_status(line: &str) -> bool {
    let is_drawn = |c| DRAWN_BOXES.contains(&c) || "\u{fe0f} \t".contains(c);
    let rest = line.trim_start_matches(is_drawn);
    !rest.starts_with(begins_text) || status::of_text(rest).is_some()
}

/// Reports whether a character is of a bullet or a number, or looks like a bullet.
fn is_marker(c: char) -> bool {
    c.is_ascii_digit() || " \t\u{a0}-*+.)".contains(c) || NO_BULLETS.contains(&c)
}

/// Returns what follows a number or a letter that a line begins with (`a.`, `(b)`, `1.1`).
fn after_marker(line: &str) -> &str {
    let Some((marker, rest)) = line.split_once([' ', '\t']) else {
        return line;
    };
    let is_counted = marker.ends_with(['.', ')']) || marker.contains(|c: char| c.is_ascii_digit());
    match marker.len() <= MAX_BYTES && is_counted && !marker.contains('[') {
        true => rest.trim_start(),
        false => line,
    }
}

/// Reports whether a line, at any indentation or in a quote, is a bullet with a box.
pub(crate) fn looks_like_box(line: &str) -> bool {
    box_in_line(line).is_some()
}

/// Returns the box of a line that is a bullet, at any indentation or in a quote; its places are
/// those in the text after the bullet.
pub(crate) fn box_in_line(line: &str) -> Option<BoxMark> {
    let line = line.trim_start_matches(['>', ' ', '\t']);
    let marker = line.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
    let body = line.tail(marker).strip_prefix(['-', '*', '+', '.', ')'])?;
    let text = body.trim_start_matches([' ', '\t']);
    read_box(text).filter(|_| text.len() < body.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_nearly_a_box_has_a_reason() {
        for text in [
            "[] a",
            "[?] a",
            "[ ]a",
            "[x]a",
            "[ ]`a`",
            "[ ]\u{a0}a",
            "[  ] a",
            "[x ] a",
            "[ x ] a",
            "\\[ ] a",
            "\\[x\\] a",
            "**[ ] a**",
            "**[x]** a",
            "☐ a",
            "□ a",
        ] {
            assert!(
                read_box(text).is_none() && odd_box(text).is_some(),
                "{text}"
            );
        }
        for text in [
            "[ ] a",
            "[x]* a",
            "[x](a)",
            "[x][a]",
            "[x]: a",
            "[P] a",
            "[id] a",
            "[a b] c",
            "[]a",
            "a",
            "",
            "[",
            "[ ",
            "[é]",
            "**a**",
            "**[x]**",
            "**[x](a)** b",
            "\\[a] b",
            "[x]-axis",
            "[          ] a",
            "é",
        ] {
            assert_eq!(odd_box(text), None, "{text}");
        }
    }

    #[test]
    fn a_line_that_is_nearly_an_item_has_a_reason() {
        for line in [
            "-[ ] a",
            "*[ ] a",
            "+[x] a",
            "  -[ ] a",
            "1.[ ] a",
            "2)[ ] a",
            "-[ ]a",
            "– [ ] a",
            "—[ ] a",
            "• [x] a",
            "●\t[ ] a",
            "[ ] a",
            "\t[x] a",
            "2. [ ] a",
            "      - [ ] a",
            "-\u{a0}[ ] a",
            "\u{a0}- [ ] a",
            "a. [ ] a",
            "(b) [x] a",
            "T1 [ ] a",
            "| [ ] | a |",
            "| 1 | [ ] a | b |",
            "☐ a",
            "  ⬜\u{fe0f} a",
            "□ **a**",
        ] {
            assert!(odd_item(line).is_some(), "{line}");
        }
        for line in [
            "a [ ] b",
            "- a",
            "-[a](b)",
            "*[1] a",
            "– a",
            "[x](a) b",
            "[ ]",
            "1. a",
            "-5 [ ]",
            "`[ ]` a",
            "| a | [ ] |",
            "",
            "-",
            "é",
            "☐",
            "⬜ Not started",
            "☐ = open",
            "☑ a",
        ] {
            assert_eq!(odd_item(line), None, "{line}");
        }
    }
}
