//! Cuts a result to the size that the model's context allows: head and tail, with a visible mark
//! between them.
//!
//! The functions are pure. A cut never splits a character, and is made at a line end if there is
//! one near. The whole text is stored elsewhere, under the handle that the mark names.

/// Maximum size of any result in bytes, even if the context has more room: about 10,000 tokens.
pub(crate) const MAX_RESULT_BYTES: usize = 30_000;
/// Bytes per token, a low estimate for ordinary text; the context cuts again by the exact count.
const BYTES_PER_TOKEN: u64 = 3;
/// Minimum size of a result in tokens: fewer cannot hold a message and the mark.
pub const MIN_RESULT_TOKENS: u64 = 64;
/// The head's share of the shown text, in per cent. Commands print most at the start, and errors at
/// the end.
const HEAD_PERCENT: usize = 60;

/// Returns the maximum size of a result in bytes.
pub fn allowed_bytes(result_tokens: u64) -> usize {
    usize::try_from(result_tokens.saturating_mul(BYTES_PER_TOKEN))
        .unwrap_or(usize::MAX)
        .min(MAX_RESULT_BYTES)
}

/// Cuts the middle out of a text and puts a mark in its place, which names the handle of the whole
/// text.
pub(crate) fn cut_middle(text: &str, allowed: usize, whole: Option<&str>) -> String {
    if text.len() <= allowed {
        return text.to_owned();
    }
    let head = head_end(text, allowed.saturating_mul(HEAD_PERCENT) / 100);
    let tail = tail_start(text, allowed.saturating_sub(head)).max(head);
    let (first, rest) = text.split_at(head);
    let (middle, last) = rest.split_at(tail - head);
    let lines = middle.lines().count();
    let kept = match whole {
        Some(handle) => format!("full text: read_file with path `artifact:{handle}`"),
        None => "the rest could not be kept".to_owned(),
    };
    let mark = format!(
        "[… {lines} lines / {} left out; {kept} …]",
        size(middle.len() as u64)
    );
    let gap = if first.ends_with('\n') || first.is_empty() {
        ""
    } else {
        "\n"
    };
    let end = if last.is_empty() { "" } else { "\n" };
    format!("{first}{gap}{mark}{end}{last}")
}

/// Formats a size for display, rounded down to a whole unit.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "kB")];
    let unit = UNITS.iter().find(|(unit, _)| bytes >= *unit);
    unit.map_or_else(
        || format!("{bytes} B"),
        |(unit, name)| format!("{} {name}", bytes / unit),
    )
}

/// Returns a number of things, such as `1 file` or `2 files`.
pub(crate) fn counted(number: usize, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{ending}")
}

fn head_end(text: &str, at_most: usize) -> usize {
    let end = text.floor_char_boundary(at_most);
    let line = text
        .get(..end)
        .and_then(|head| head.rfind('\n'))
        .map(|at| at + 1);
    line.filter(|line| *line * 2 >= end).unwrap_or(end)
}

fn tail_start(text: &str, at_most: usize) -> usize {
    let start = text.ceil_char_boundary(text.len().saturating_sub(at_most));
    let line = text
        .get(start..)
        .and_then(|tail| tail.find('\n'))
        .map(|at| start + at + 1);
    line.filter(|line| (text.len() - line) * 2 >= at_most)
        .unwrap_or(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_text_stays_as_it_is() {
        assert_eq!(cut_middle("abc", 3, None), "abc");
    }

    #[test]
    fn a_long_text_keeps_head_and_tail_at_line_ends() {
        let text: String = (1..=20).map(|n| format!("line {n:02}\n")).collect();
        let expected = "line 01\nline 02\nline 03\nline 04\n\
            [… 13 lines / 104 B left out; full text: read_file with path `artifact:h1` …]\n\
            line 18\nline 19\nline 20\n";
        assert_eq!(cut_middle(&text, 60, Some("h1")), expected);
    }

    #[test]
    fn one_long_line_is_cut_between_characters() {
        let cut = cut_middle(&"é".repeat(1000), 101, None);
        assert!(
            cut.starts_with("ééé")
                && cut.ends_with('é')
                && cut.contains("the rest could not be kept"),
            "{cut}"
        );
        assert!(cut.len() < 200);
    }
}
