//! Parses the box at the head of a task: `[ ]`, `[x]` and the other marks, and text that is nearly
//! a box.

use orchestrate_core::task::TaskStatus;
use orchestrate_core::text::parts::Parts;

use crate::tasks::status;

/// The maximum number of blanks in what is nearly a box.
const MAX_BLANKS: usize = 4;

/// The length of a box with a mark of one byte.
const BOX_BYTES: usize = 3;

/// Characters that look like bullets.
const NO_BULLETS: [char; 14] = [
    '–', '—', '−', '‐', '‑', '•', '◦', '▪', '▫', '‣', '⁃', '·', '●', '○',
];

/// Characters that look like boxes.
const DRAWN_BOXES: [char; 6] = ['☐', '☒', '⬜', '🔲', '□', '▢'];

/// Brackets of Chinese and Japanese that look like those of a box.
const WIDE_BRACKETS: [(char, char); 3] = [('［', '］'), ('【', '】'), ('〔', '〕')];

/// The maximum number of bytes of a number or a letter in front of a line's box.
const MAX_MARKER_BYTES: usize = 8;

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

/// Returns the reason why something that is nearly a box is not one.
pub(crate) fn odd_box(text: &str) -> Option<String> {
    if read_box(text).is_some() {
        return None;
    }
    let bare = text.trim_start_matches(['*', '_']);
    if bare.len() < text.len() {
        let is_odd = has_box(bare) || is_box_before_marks(bare);
        return is_odd.then(|| "the box is emphasised: write `[ ]` before the marks".to_owned());
    }
    if let Some(escaped) = text.strip_prefix("\\[") {
        let plain = format!("[{}", escaped.replacen("\\]", "]", 1));
        return has_box(&plain).then(|| "the box is escaped: write `[ ]`".to_owned());
    }
    if text.starts_with(|c: char| !c.is_ascii()) {
        return drawn_box(text);
    }
    let (within, after) = text.strip_prefix('[')?.split_once(']')?;
    if is_glued(text) {
        return Some(format!("no blank after `[{within}]`, so it is not a box"));
    }
    let mut marks = within.trim().chars();
    let mark = marks.next();
    // `[P]` is a label, which plans also explain in their notes.
    let is_short = marks.next().is_none()
        && mark != Some('P')
        && within.len() <= MAX_BLANKS + mark.map_or(0, char::len_utf8);
    let advice = match mark {
        _ if !is_short || !after.starts_with(' ') => return None,
        None => "write `[ ]`".to_owned(),
        Some(mark) if status_of(mark).is_some() => format!("write `[{mark}]`"),
        Some(_) => "use one of `[ ]`, `[x]`, `[~]`, `[/]`, `[-]`, `[!]`".to_owned(),
    };
    Some(format!("`[{within}]` is not a box: {advice}"))
}

/// Reports whether marks of emphasis end right after the box that a text begins with, and other
/// text follows.
fn is_box_before_marks(text: &str) -> bool {
    let Some((boxed, rest)) = text.split_at_checked(BOX_BYTES) else {
        return false;
    };
    let after = rest.trim_start_matches(['*', '_']).trim_end();
    read_box(boxed).is_some() && after.starts_with([' ', '\t'])
}

/// Returns the reason why a drawn box, or one in other brackets, is none.
fn drawn_box(text: &str) -> Option<String> {
    let first = text.chars().next()?;
    if DRAWN_BOXES.contains(&first) {
        return Some(format!("`{first}` is no box: write `[ ]`"));
    }
    let (_, close) = WIDE_BRACKETS.into_iter().find(|(open, _)| *open == first)?;
    let (within, _) = text.strip_prefix(first)?.split_once(close)?;
    let mark = within.trim();
    let is_mark = mark.chars().all(|mark| status_of(mark).is_some());
    let is_box = is_mark && mark.chars().nth(1).is_none() && within.len() <= MAX_BLANKS;
    is_box.then(|| "wide brackets are no box: write `[ ]`".to_owned())
}

/// Reports whether a text begins with a box that other text follows.
fn has_box(text: &str) -> bool {
    read_box(text).is_some_and(|mark| mark.rest < text.len())
}

/// Reports whether a text begins with a box that its text follows without a blank. A link does not.
fn is_glued(text: &str) -> bool {
    let Some((boxed, after)) = text.split_at_checked(BOX_BYTES) else {
        return false;
    };
    read_box(boxed).is_some() && after.starts_with(begins_text) && read_box(text).is_none()
}

fn begins_text(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '`' | '*' | '_' | '"' | '\'' | '\u{a0}')
}

/// Returns the reason why a line of a paragraph that looks like an item with a box is none.
pub(crate) fn odd_item(line: &str) -> Option<String> {
    let line = line.trim_start();
    let first = line.chars().next()?;
    if first == '|' {
        let reason = "a row of a table without columns that are named Task and Status";
        let is_row = line.split('|').nth(1).is_some_and(is_box)
            || line.split('|').any(|cell| has_box(cell.trim()));
        return is_row.then(|| reason.to_owned());
    }
    if has_box(line.get(length_of_marker(line)..)?) || is_drawn_item(line) {
        return Some("no bullet before the box: write `- [ ]`".to_owned());
    }
    if NO_BULLETS.contains(&first) {
        let rest = line.get(first.len_utf8()..)?.trim_start();
        return begins_box(rest)
            .then(|| format!("`{first}` is no bullet of Markdown: write `- [ ]`"));
    }
    let unnumbered = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let bullets: &[char] = if unnumbered.len() < line.len() {
        &['.', ')']
    } else {
        &['-', '*', '+']
    };
    let rest = unnumbered.strip_prefix(bullets)?;
    let reason = match rest.starts_with('[') {
        true => "no blank before the box, so this is no item of a list: write `- [ ]`",
        // It is indented by too many blanks, or one of them is none of Markdown's.
        false => "its blanks make it part of a paragraph: write `- [ ]` at the beginning of a line",
    };
    begins_box(rest.trim_start()).then(|| reason.to_owned())
}

fn is_box(cell: &str) -> bool {
    read_box(cell.trim()).is_some_and(|mark| mark.rest == cell.trim().len())
}

fn begins_box(text: &str) -> bool {
    has_box(text) || is_glued(text)
}

/// Reports whether a line begins with a drawn box, or one in wide brackets, and goes on with the
/// text of a task rather than with what the mark means (`⬜ Not started`, `☐ = open`).
fn is_drawn_item(line: &str) -> bool {
    if line.starts_with(|c: char| c.is_ascii()) || drawn_box(line).is_none() {
        return false;
    }
    let drawn = line.trim_start_matches(is_mark);
    let rest = match drawn.len() < line.len() {
        true => drawn,
        false => line
            .split_once(WIDE_BRACKETS.map(|(_, close)| close))
            .map_or("", |(_, rest)| rest.trim_start()),
    };
    rest.starts_with(begins_text) && status::of_text(rest).is_none()
}

fn is_mark(c: char) -> bool {
    DRAWN_BOXES.contains(&c) || matches!(c, '\u{fe0f}' | ' ' | '\t')
}

/// Returns the length of a number or a letter that a line begins with (`a.`, `(b)`, `1.1`), with
/// the blanks after it; 0 if there is none.
fn length_of_marker(line: &str) -> usize {
    let Some((marker, rest)) = line.split_once([' ', '\t']) else {
        return 0;
    };
    let is_counted = marker.ends_with(['.', ')']) || marker.contains(|c: char| c.is_ascii_digit());
    match marker.len() <= MAX_MARKER_BYTES && is_counted && !marker.contains('[') {
        true => line.len() - rest.trim_start().len(),
        false => 0,
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
            "［ ］ a",
            "【x】a",
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
            "【重要】 a",
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
            "［ ］ a",
            "【x】a",
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
            "【重要】 a",
        ] {
            assert_eq!(odd_item(line), None, "{line}");
        }
    }
}
