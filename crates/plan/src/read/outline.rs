//! The blocks of a plan as a CommonMark parser sees them, with byte offsets; the only module that uses the parser.
//!
//! Code, quotes and HTML are [`Block::Opaque`]: their content is never a task. Nesting is bounded ([`MAX_DEPTH`])
//! before the parser runs, because the parser visits every open block at every blank line: unbounded, a kilobyte of
//! markers would make each later line cost a kilobyte of work.

use std::borrow::Cow;
use std::ops::Range;

use comrak::nodes::{AstNode, NodeValue, Sourcepos};
use comrak::{Arena, Options, parse_document};

use crate::read::source::Source;

/// The maximum nesting of lists and quotes: far more than people write, but shallow enough for recursion.
pub const MAX_DEPTH: usize = 100;

/// One block of a plan.
#[derive(Debug)]
pub(crate) enum Block {
    /// A heading; its text includes the `#` marks, but not an underline.
    Heading { level: u8, text: Range<usize> },
    /// A list with its items.
    List(Vec<Item>),
    /// A paragraph with its byte range.
    Paragraph(Range<usize>),
    /// A block that is never read for tasks.
    Opaque { kind: Opaque, range: Range<usize> },
}

/// One item of a list.
#[derive(Debug)]
pub(crate) struct Item {
    /// From its marker to its end.
    pub(crate) range: Range<usize>,
    pub(crate) blocks: Vec<Block>,
}

/// Why a block is not read for tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opaque {
    /// Fenced or indented code.
    Code,
    Quote,
    /// HTML, including comments.
    Html,
}

impl Opaque {
    /// Describes the place of such text, as the reason why a line was skipped.
    pub(crate) fn place(self) -> &'static str {
        match self {
            Opaque::Code => "in a code block",
            Opaque::Quote => "in a quote",
            Opaque::Html => "in an HTML block or comment",
        }
    }
}

impl Block {
    /// Returns the block's byte range.
    pub(crate) fn range(&self) -> Range<usize> {
        match self {
            Block::Heading { text, .. } => text.clone(),
            Block::Paragraph(range) | Block::Opaque { range, .. } => range.clone(),
            Block::List(items) => {
                let start = items.first().map_or(0, |item| item.range.start);
                start..items.last().map_or(start, |item| item.range.end)
            }
        }
    }
}

/// Returns the offset of the first line whose markers nest deeper than [`MAX_DEPTH`].
pub(crate) fn too_deep(source: &Source<'_>) -> Option<usize> {
    source.lines(0..source.text.len()).find(|(_, line)| depth(line) > MAX_DEPTH).map(|(offset, _)| offset)
}

/// Returns an upper bound of the nesting that a line can continue or open: one level for every two columns, and for
/// every marker with the blank after it.
fn depth(line: &str) -> usize {
    let (mut columns, mut markers) = (0, 0);
    let mut rest = line.bytes().peekable();
    while let Some(byte) = rest.next() {
        match byte {
            b' ' => columns += 1,
            b'\t' => columns += 4,
            b'>' => markers += 1,
            b'-' | b'+' | b'*' | b'.' | b')' if matches!(rest.peek(), None | Some(b' ' | b'\t')) => {
                markers += 1;
                rest.next();
            }
            b'0'..=b'9' => {}
            _ => break,
        }
    }
    // A line without a marker opens no block, at any indentation.
    if markers == 0 { 0 } else { markers + columns / 2 }
}

/// Parses the blocks from `start` to the end of the source.
pub(crate) fn read(source: &Source<'_>, start: usize) -> Vec<Block> {
    let body = source.slice(start..source.text.len());
    // A lone CR ends a line too. The replacements keep the length, so that offsets stay valid.
    let body = match body.contains('\r') {
        true => Cow::Owned(body.replace("\r\n", " \n").replace('\r', "\n")),
        false => Cow::Borrowed(body),
    };
    let arena = Arena::new();
    let root = parse_document(&arena, &body, &Options::default());
    let reader = Reader { source, first_line: source.line_of(start) - 1, first_column: start };
    reader.blocks(root, false)
}

/// Converts the parser's nodes into blocks.
struct Reader<'s, 'a> {
    source: &'s Source<'a>,
    first_line: usize,
    first_column: usize,
}

impl Reader<'_, '_> {
    fn blocks<'n>(&self, parent: &'n AstNode<'n>, in_item: bool) -> Vec<Block> {
        parent.children().filter_map(|node| self.block(node, in_item)).collect()
    }

    fn block<'n>(&self, node: &'n AstNode<'n>, in_item: bool) -> Option<Block> {
        let data = node.data();
        let range = self.range(data.sourcepos);
        let opaque = |kind| Some(Block::Opaque { kind, range: range.clone() });
        match &data.value {
            NodeValue::Heading(heading) if heading.setext => {
                let text = range.start..self.source.line_start(self.source.line_of(range.end.saturating_sub(1)));
                Some(if in_item { Block::Paragraph(text) } else { Block::Heading { level: heading.level, text } })
            }
            NodeValue::Heading(heading) => Some(Block::Heading { level: heading.level, text: range }),
            NodeValue::Paragraph => Some(Block::Paragraph(range)),
            NodeValue::List(_) => Some(Block::List(node.children().map(|item| self.item(item)).collect())),
            NodeValue::CodeBlock(_) => opaque(Opaque::Code),
            NodeValue::BlockQuote => opaque(Opaque::Quote),
            NodeValue::HtmlBlock(_) => opaque(Opaque::Html),
            _ => None,
        }
    }

    fn item<'n>(&self, node: &'n AstNode<'n>) -> Item {
        Item { range: self.range(node.data().sourcepos), blocks: self.blocks(node, true) }
    }

    /// Converts the parser's lines and byte columns (both from 1, the end inclusive) into a byte range.
    fn range(&self, position: Sourcepos) -> Range<usize> {
        let at = |line: usize, column: usize| {
            // The body's first line may begin in the middle of the source's line, after a BOM.
            let line_start = if line == 1 { self.first_column } else { self.source.line_start(line + self.first_line) };
            line_start + column
        };
        let start = at(position.start.line, position.start.column.saturating_sub(1));
        let end = at(position.end.line, position.end.column).min(self.source.text.len());
        start..end.max(start)
    }
}
