//! Fences that nest: an example of Markdown holds fences of its own.
//!
//! A CommonMark parser ends the outer fence at the first inner one that is closed. Here a fence
//! with an info string inside an open one opens another, if the document closes all of them.

use std::ops::Range;

use crate::lines::source::Source;

/// What fences a text has.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Fences {
    /// The offsets and lengths of the marks of fences that are inside another one.
    pub(crate) nested: Vec<(usize, usize)>,
    /// The places of those that are in no other one, with their marks.
    pub(crate) outer: Vec<Range<usize>>,
    /// The offset of the first fence that nothing closes.
    pub(crate) unclosed: Option<usize>,
}

/// A line that opens or closes a fence.
struct Fence {
    /// The offset of its marks.
    at: usize,
    mark: u8,
    length: usize,
    has_info: bool,
}

impl Fences {
    /// Finds the fences from `start` to the end of the source.
    pub(crate) fn read(source: &Source<'_>, start: usize) -> Self {
        let found: Vec<Fence> = source
            .lines(start..source.text.len())
            .filter_map(|(offset, line)| fence(offset, line))
            .collect();
        let nesting = Self::pair(&found, true);
        if nesting.unclosed.is_none() {
            return nesting;
        }
        let mut flat = Self::pair(&found, false);
        let end = source.text.len();
        flat.outer.extend(flat.unclosed.map(|at| at..end));
        flat
    }

    /// Pairs fences, as CommonMark does unless they may nest.
    fn pair(found: &[Fence], may_nest: bool) -> Self {
        let mut fences = Self::default();
        let mut open: Vec<&Fence> = Vec::new();
        for own in found {
            match open.last().copied() {
                Some(begun) if own.closes(begun) => {
                    open.pop();
                    match open.is_empty() {
                        true => fences.outer.push(begun.at..own.at + own.length),
                        false => fences.nested.push((own.at, own.length)),
                    }
                }
                Some(begun) if may_nest && own.opens_in(begun) => {
                    open.push(own);
                    fences.nested.push((own.at, own.length));
                }
                Some(_) => {}
                None => open.push(own),
            }
        }
        fences.unclosed = open.first().map(|fence| fence.at);
        fences
    }
}

impl Fence {
    fn closes(&self, outer: &Fence) -> bool {
        self.mark == outer.mark && self.length >= outer.length && !self.has_info
    }

    fn opens_in(&self, outer: &Fence) -> bool {
        self.mark == outer.mark && self.length >= outer.length && self.has_info
    }
}

/// Parses a line that begins with the marks of a fence, in a list or not.
fn fence(offset: usize, line: &str) -> Option<Fence> {
    let text = line.trim_start();
    let mark = *text
        .as_bytes()
        .first()
        .filter(|mark| matches!(mark, b'`' | b'~'))?;
    let length = text.bytes().take_while(|byte| *byte == mark).count();
    let info = text.get(length..)?.trim();
    // Code in a line is no fence.
    let is_fence = length >= 3 && !(mark == b'`' && info.contains('`'));
    is_fence.then(|| Fence {
        at: offset + line.len() - text.len(),
        mark,
        length,
        has_info: !info.is_empty(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (usize, Option<usize>) {
        let fences = Fences::read(&Source::new(text), 0);
        (fences.nested.len(), fences.unclosed)
    }

    #[test]
    fn fences_nest_if_all_are_closed() {
        assert_eq!(read("```sh\na\n```\n"), (0, None));
        assert_eq!(read("```md\n```sh\na\n```\n```\n"), (2, None));
        assert_eq!(read("````md\n```sh\na\n```\n````\n"), (0, None));
        assert_eq!(read("```md\n~~~sh\na\n~~~\n```\n"), (0, None));
        assert_eq!(read("a\n```sh\n# b\n"), (0, Some(2)));
        // One that is left open in an example of one language is text of it.
        assert_eq!(read("```text\n```sh\n```\n"), (0, None));
        assert_eq!(read("```a``` b\n"), (0, None));
    }
}
