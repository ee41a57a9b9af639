//! The text of a plan with its lines, and excerpts that can be mapped back to it.
//!
//! Offsets are bytes of the original text, including BOM and CRLF, so that writing back changes
//! exactly the bytes that were read.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr2, memchr2_iter};
use orchestrate_core::text::parts::Parts;

/// A plan's text with an index of its lines.
pub(crate) struct Source<'a> {
    /// The whole text, unchanged.
    pub(crate) text: &'a str,
    line_starts: Vec<usize>,
}

impl<'a> Source<'a> {
    /// Indexes the lines; a line ends with LF, CRLF or a lone CR.
    pub(crate) fn new(text: &'a str) -> Self {
        let mut line_starts = vec![0];
        for at in memchr2_iter(b'\n', b'\r', text.as_bytes()) {
            let is_half = text.as_bytes().get(at..at + 2) == Some(b"\r\n");
            line_starts.extend((!is_half).then_some(at + 1));
        }
        Self { text, line_starts }
    }

    /// Returns the number, from 1, of the line that contains a byte.
    pub(crate) fn line_of(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset)
    }

    /// Returns the byte offset of a line (from 1); the length of the text for a line after the
    /// last.
    pub(crate) fn line_start(&self, line: usize) -> usize {
        self.line_starts
            .get(line.saturating_sub(1))
            .copied()
            .unwrap_or(self.text.len())
    }

    /// Returns the text of a range, empty if the range is invalid.
    pub(crate) fn slice(&self, range: Range<usize>) -> &'a str {
        self.text.part(range)
    }

    /// Returns the lines of a range with the offset of each, without their line endings.
    pub(crate) fn lines(
        &self,
        range: Range<usize>,
    ) -> impl Iterator<Item = (usize, &'a str)> + use<'a> {
        let mut start = range.start;
        let mut rest = self.slice(range);
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let end = memchr2(b'\n', b'\r', rest.as_bytes()).unwrap_or(rest.len());
            let next = match rest.as_bytes().get(end..) {
                Some([b'\r', b'\n', ..]) => end + 2,
                _ => end + 1,
            };
            let found = (start, rest.head(end));
            start += next;
            rest = rest.tail(next);
            Some(found)
        })
    }

    /// Returns the offsets of all lines.
    pub(crate) fn line_starts(&self) -> impl Iterator<Item = usize> + '_ {
        self.line_starts.iter().copied()
    }

    /// Returns the number of bytes between the beginning of a line and a place in it.
    pub(crate) fn column(&self, offset: usize) -> usize {
        self.slice(0..offset)
            .bytes()
            .rev()
            .take_while(|byte| !ends_line(*byte))
            .count()
    }

    /// Returns a cursor that converts increasing offsets into positions.
    pub(crate) fn cursor(&self) -> Cursor<'_, 'a> {
        Cursor {
            source: self,
            line: 1,
            offset: 0,
            column: 1,
        }
    }
}

/// Reports whether a byte ends a line, alone or with the other one of CRLF.
pub(crate) fn ends_line(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Converts increasing offsets into lines and columns, reading every character once.
pub(crate) struct Cursor<'s, 'a> {
    source: &'s Source<'a>,
    line: usize,
    offset: usize,
    column: usize,
}

impl Cursor<'_, '_> {
    /// Returns line and column (both from 1, the column in characters without BOM) of an offset not
    /// below the previous one.
    pub(crate) fn position(&mut self, offset: usize) -> (usize, usize) {
        let line = self.source.line_of(offset);
        if line != self.line {
            (self.line, self.offset, self.column) = (line, self.source.line_start(line), 1);
        }
        let between = self.source.slice(self.offset..offset.max(self.offset));
        self.column += between.chars().filter(|c| *c != '\u{feff}').count();
        self.offset = offset.max(self.offset);
        (self.line, self.column)
    }
}

/// Text joined from lines of the source, each byte of which can be mapped back to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inline<'a> {
    /// The lines, trimmed, joined by `\n`; most texts are one line, which is borrowed.
    pub(crate) text: Cow<'a, str>,
    /// The offset of the first line in the source.
    start: usize,
    /// The offsets of each further line in `text` and in the source.
    further: Vec<(usize, usize)>,
}

impl<'a> Inline<'a> {
    /// Joins the lines of a range of the source.
    pub(crate) fn new(source: &Source<'a>, range: Range<usize>) -> Self {
        let mut lines = source.lines(range.clone());
        let (offset, line) = lines.next().unwrap_or((range.start, ""));
        let text = line.trim_start();
        let mut inline = Self {
            text: Cow::Borrowed(text.trim_end()),
            start: offset + line.len() - text.len(),
            further: Vec::new(),
        };
        for (offset, line) in lines {
            inline.push(offset + line.len() - line.trim_start().len(), line.trim());
        }
        inline
    }

    /// Adds a line that begins at an offset of the source.
    fn push(&mut self, offset: usize, line: &str) {
        let text = self.text.to_mut();
        text.push('\n');
        self.further.push((text.len(), offset));
        text.push_str(line);
    }

    /// Returns the offset in the source of a byte of the text.
    pub(crate) fn offset(&self, at: usize) -> usize {
        let line = self.further.partition_point(|(start, _)| *start <= at);
        let (start, offset) = match line.checked_sub(1).and_then(|line| self.further.get(line)) {
            Some(further) => *further,
            None => (0, self.start),
        };
        offset + at.saturating_sub(start)
    }

    /// Returns the text of a range, empty if the range is invalid.
    pub(crate) fn slice(&self, range: Range<usize>) -> &str {
        self.text.part(range)
    }

    /// Reports whether it has no further line.
    pub(crate) fn is_one_line(&self) -> bool {
        self.further.is_empty()
    }

    /// Returns the place in the source of all lines but the first.
    pub(crate) fn further_lines(&self) -> Range<usize> {
        let start = self.further.first().map_or(0, |(_, offset)| *offset);
        start
            ..self
                .further
                .last()
                .map_or(start, |_| self.offset(self.text.len()))
    }

    /// Returns the ranges of its lines.
    pub(crate) fn lines(&self) -> impl Iterator<Item = Range<usize>> {
        let further = self.further.iter().map(|(start, _)| *start);
        let ends = further
            .clone()
            .map(|start| start - 1)
            .chain([self.text.len()]);
        [0].into_iter()
            .chain(further)
            .zip(ends)
            .flat_map(|(start, end)| self.fields(start..end))
    }

    /// Splits a line of several fields: `**Priority**: high | **Status**: done`.
    fn fields(&self, line: Range<usize>) -> Vec<Range<usize>> {
        const BAR: &str = " | ";
        let text = self.slice(line.clone());
        let mut parts = Vec::new();
        let mut start = line.start;
        if text.starts_with("**") && text.split(BAR).all(|part| part.starts_with("**")) {
            for (at, _) in text.match_indices(BAR) {
                parts.push(start..line.start + at);
                start = line.start + at + BAR.len();
            }
        }
        parts.push(start..line.end);
        parts
    }

    /// Returns the ranges of the lines that begin in none of these ranges, which are in order.
    pub(crate) fn lines_outside(
        &self,
        ranges: &[Range<usize>],
    ) -> impl Iterator<Item = Range<usize>> {
        let mut ranges = ranges.iter().peekable();
        self.lines().filter(move |line| {
            while ranges.next_if(|range| range.end <= line.start).is_some() {}
            ranges.peek().is_none_or(|range| range.start > line.start)
        })
    }

    /// Returns the range of a line in the source.
    pub(crate) fn place(&self, line: &Range<usize>) -> Range<usize> {
        let start = self.offset(line.start);
        start..start + line.len()
    }

    /// Returns a range of the text as a text of its own. What follows its first line cannot be
    /// mapped back.
    pub(crate) fn part(&self, range: Range<usize>) -> Inline<'_> {
        let start = self.offset(range.start);
        Inline {
            text: Cow::Borrowed(self.slice(range)),
            start,
            further: Vec::new(),
        }
    }

    /// Returns the text without the lines that begin in some ranges, which are in order.
    pub(crate) fn without_lines(&self, ranges: &[Range<usize>]) -> Inline<'a> {
        let mut lines = self.lines_outside(ranges);
        let first = lines.next().unwrap_or_default();
        let mut kept = Inline {
            start: self.offset(first.start),
            text: Cow::Owned(self.slice(first).to_owned()),
            further: Vec::new(),
        };
        for line in lines {
            kept.push(self.offset(line.start), self.slice(line));
        }
        kept
    }
}
