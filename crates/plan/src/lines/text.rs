//! Finds and removes markup in text: code spans, comments, hidden characters, parentheses,
//! emphasis.
//!
//! Every function is linear in the length of the text, for any input.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use memchr::{memchr_iter, memchr2};
use orchestrate_core::text::invisible::without_hidden;
use orchestrate_core::text::parts::Parts;

/// Returns the offset of the first character for which a predicate holds; the length of the text if
/// there is none.
pub(crate) fn position(text: &str, is: impl Fn(char) -> bool) -> usize {
    // Most characters are ASCII, which needs no decoding.
    let ascii = text
        .bytes()
        .take_while(|byte| byte.is_ascii() && !is(char::from(*byte)))
        .count();
    let rest = text.get(ascii..).and_then(|rest| rest.find(is));
    rest.map_or(text.len(), |found| ascii + found)
}

/// Returns the beginning of a text: at most this many characters.
pub(crate) fn first_chars(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let end = text.char_indices().nth(most);
    end.map_or(text, |(end, _)| text.head(end))
}

/// Returns a text that has at most this many characters and a mark where it is cut.
pub(crate) fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    let short = first_chars(text, most);
    match short.len() < text.len() {
        true => Cow::Owned(format!("{short}…")),
        false => Cow::Borrowed(text),
    }
}

/// The columns from one stop of a tab to the next, in Markdown.
const TAB: usize = 4;

/// Returns the bytes of the blanks that begin a line, up to the one that ends at a column or beyond
/// it.
pub(crate) fn blanks_before(line: &str, column: usize) -> usize {
    let mut width = 0;
    for (at, byte) in line.bytes().enumerate() {
        match byte {
            b' ' if width < column => width += 1,
            b'\t' if width < column => width = (width / TAB + 1) * TAB,
            _ => return at,
        }
    }
    line.len()
}

/// Returns the first word of a text, which is made of letters and digits, and what follows it.
pub(crate) fn next_word(text: &str) -> Option<(&str, &str)> {
    let from = text
        .get(position(text, char::is_alphanumeric)..)
        .filter(|from| !from.is_empty())?;
    Some(from.split_at(position(from, |c| !c.is_alphanumeric())))
}

/// Reports whether a predicate holds for all bytes of a text. It has to be free of branches, so
/// that many bytes are compared at once.
pub(crate) fn all_bytes(text: &str, is: impl Fn(u8) -> bool) -> bool {
    let mut chunks = text.as_bytes().chunks(16);
    chunks.all(|chunk| chunk.iter().fold(true, |all, byte| all & is(*byte)))
}

/// Reports whether a word is one of some ASCII words, in any case.
#[inline]
pub(crate) fn is_one_of(word: &str, known: &[&str]) -> bool {
    known.iter().any(|known| is_same_word(known, word))
}

/// Reports whether a text is a number, be it with parts (`1.2`).
pub(crate) fn is_number(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// Reports whether a text is a whole number.
pub(crate) fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Reports whether a text is one capital letter.
pub(crate) fn is_capital(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(char::is_uppercase) && letters.next().is_none()
}

/// Reports whether two words are the same, whichever ASCII letters are capitals.
#[inline]
pub(crate) fn is_same_word(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

/// The byte ranges of the code spans and HTML comments of a text, in order and without overlap.
pub(crate) struct Spans {
    /// Text between equally long runs of backticks, including the backticks.
    pub(crate) code: Vec<Range<usize>>,
    /// Comments including their marks; an unclosed one extends to the end.
    pub(crate) comments: Vec<Range<usize>>,
}

impl Spans {
    /// Returns all of them in order.
    pub(crate) fn all(&self) -> Vec<Range<usize>> {
        let mut all: Vec<Range<usize>> = self.code.iter().chain(&self.comments).cloned().collect();
        all.sort_unstable_by_key(|range| range.start);
        all
    }
}

/// Finds code spans and comments; whichever begins first wins.
pub(crate) fn spans(text: &str) -> Spans {
    let mut found = Spans {
        code: Vec::new(),
        comments: Vec::new(),
    };
    let begins = |at: usize| Some(at + memchr2(b'`', b'<', text.as_bytes().get(at..)?)?);
    if begins(0).is_none() {
        return found;
    }
    let runs = backticks(text);
    let mut runs = runs.iter().peekable();
    let mut at = 0;
    while let Some(next) = begins(at) {
        let rest = text.tail(next);
        while runs.next_if(|run| run.range.end <= next).is_some() {}
        at = match runs.peek() {
            Some(run) if run.range.start <= next => {
                found.code.extend(run.closed_at.map(|end| next..end));
                run.closed_at.unwrap_or(run.range.end)
            }
            _ if rest.starts_with("<!--") => {
                let close = rest.get(4..).and_then(|body| body.find("-->"));
                let end = close.map_or(text.len(), |close| next + 4 + close + 3);
                found.comments.push(next..end);
                end
            }
            _ => next + 1,
        };
    }
    found
}

/// A run of backticks.
struct Backticks {
    range: Range<usize>,
    /// The end of the next run of the same length, if there is one.
    closed_at: Option<usize>,
}

/// Finds all runs of backticks.
fn backticks(text: &str) -> Vec<Backticks> {
    let mut runs: Vec<Backticks> = Vec::new();
    for at in memchr_iter(b'`', text.as_bytes()) {
        match runs.last_mut() {
            Some(run) if run.range.end == at => run.range.end += 1,
            _ => runs.push(Backticks {
                range: at..at + 1,
                closed_at: None,
            }),
        }
    }
    let mut next_of_length: BTreeMap<usize, usize> = BTreeMap::new();
    for run in runs.iter_mut().rev() {
        run.closed_at = next_of_length.insert(run.range.len(), run.range.end);
    }
    runs
}

/// Keeps the ranges, which are in order, that begin outside parentheses, code spans and comments.
pub(crate) fn retain_outside(text: &str, ranges: &mut Vec<Range<usize>>) {
    let opaque = spans(text).all();
    let mut enclosing = parentheses(text, &opaque);
    enclosing.extend(opaque.iter().map(|range| (range.start, range.end)));
    enclosing.sort_unstable();
    let mut enclosing = enclosing.into_iter().peekable();
    let mut outside = 0;
    ranges.retain(|range| {
        while let Some((_, end)) = enclosing.next_if(|(start, _)| *start < range.start) {
            outside = outside.max(end + 1);
        }
        range.start >= outside
    });
}

/// Returns each opening parenthesis outside the given ranges, in order, with its closing one, also
/// wide ones, as Chinese and Japanese have them; `\(` and `\)` do not count.
pub(crate) fn parentheses(text: &str, outside: &[Range<usize>]) -> Vec<(usize, usize)> {
    let (mut open, mut wide_open) = (Vec::new(), Vec::new());
    let mut pairs = Vec::new();
    let mut ranges = outside.iter().peekable();
    let mut escaped = None;
    for (at, mark) in text.match_indices(['(', ')', '（', '）', '\\']) {
        while ranges.next_if(|range| range.end <= at).is_some() {}
        if escaped == Some(at) || ranges.peek().is_some_and(|range| range.contains(&at)) {
            continue;
        }
        match mark {
            "\\" => escaped = Some(at + 1),
            "(" => open.push(at),
            "（" => wide_open.push(at),
            ")" => pairs.extend(open.pop().map(|start| (start, at))),
            _ => pairs.extend(wide_open.pop().map(|start| (start, at))),
        }
    }
    pairs.sort_unstable();
    pairs
}

/// Returns a text from `start` on without the given ranges, which are in the order of their starts,
/// and without hidden characters: its first line and the others, with blanks collapsed.
pub(crate) fn without(text: &str, start: usize, cuts: &[Range<usize>]) -> (String, Vec<String>) {
    let mut kept = Cow::Borrowed(text.tail(start));
    if !cuts.is_empty() {
        let mut at = start;
        let mut own = String::with_capacity(text.len() - start);
        for cut in cuts {
            if cut.start > at {
                own.push_str(text.part(at..cut.start));
            }
            at = at.max(cut.end);
        }
        own.push_str(text.tail(at));
        kept = Cow::Owned(own);
    }
    if !kept.is_ascii() {
        kept = Cow::Owned(without_hidden(&kept));
    }
    let mut lines = kept.split('\n').map(collapsed);
    (lines.next().unwrap_or_default(), lines.collect())
}

/// Like [`without`], in one line.
pub(crate) fn line_without(text: &str, cuts: &[Range<usize>]) -> String {
    match without(text, 0, cuts) {
        (line, further) if further.is_empty() => line,
        (first, further) => [vec![first], further].concat().join(" "),
    }
}

/// Returns a line whose words are separated by single blanks.
fn collapsed(line: &str) -> String {
    let bytes = line.as_bytes();
    let is_plain = all_bytes(line, |byte| byte.is_ascii_graphic() | (byte == b' '));
    // Most lines need no change.
    if is_plain && !bytes.windows(2).any(|pair| pair == b"  ") {
        return line.trim_matches(' ').to_owned();
    }
    let mut words = String::with_capacity(line.len());
    for word in line.split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
    }
    words
}

/// Returns the length of the punctuation that ends a line, or 0.
pub(crate) fn length_of_ending(text: &str) -> usize {
    let rest = text.trim_start_matches(['.', ',', ';', '!', '?']);
    if rest.trim_start_matches([' ', '\t']).is_empty() {
        text.len() - rest.len()
    } else {
        0
    }
}

/// Removes a pair of marks that encloses the whole text: backticks, quotes or emphasis.
pub(crate) fn unwrap_marks(text: &str) -> &str {
    let text = text.trim();
    if !text.starts_with(['`', '*', '_', '"', '\'']) {
        return text;
    }
    for mark in ["```", "``", "`", "**", "__", "\"", "'"] {
        let inner = text
            .strip_prefix(mark)
            .and_then(|rest| rest.strip_suffix(mark));
        if let Some(inner) = inner.filter(|inner| !inner.is_empty() && !inner.contains(mark)) {
            return inner.trim();
        }
    }
    text
}

/// Removes the marks of strong emphasis outside code spans.
pub(crate) fn without_strong(text: &str) -> String {
    if !text.contains("**") {
        return line_without(text, &[]);
    }
    let code = spans(text).code;
    let cuts: Vec<Range<usize>> = text
        .match_indices("**")
        .map(|(at, mark)| at..at + mark.len())
        .filter(|cut| {
            code.get(code.partition_point(|span| span.end <= cut.start))
                .is_none_or(|span| span.start >= cut.end)
        })
        .collect();
    line_without(text, &cuts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_and_comments_are_found_whichever_begins_first() {
        let found = spans("a `<!--` b <!-- `x` --> ``c`d`` `open");
        assert_eq!(found.code, vec![2..8, 24..31]);
        assert_eq!(found.comments, vec![11..23]);
    }

    #[test]
    fn parentheses_in_code_do_not_count() {
        let text = "(a `)` (b)) (c";
        let pairs = parentheses(text, &spans(text).code);
        assert_eq!(pairs, [(0, 10), (7, 9)]);
    }

    #[test]
    fn strong_marks_go_and_code_stays() {
        assert_eq!(without_strong("**Do** `a**b` **it**"), "Do `a**b` it");
    }
}
