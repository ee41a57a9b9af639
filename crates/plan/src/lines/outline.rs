//! The blocks of a plan as a CommonMark parser sees them, with byte offsets; the only module that
//! uses the parser.
//!
//! Code, quotes and HTML are [`Block::Opaque`]: their content is never a task. Nesting is bounded
//! ([`MAX_DEPTH`]) before the parser runs, because the parser compares every line with every open
//! block: unbounded, a kilobyte of markers would make each later line cost a kilobyte of work.

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{Event, OffsetIter, Options, Parser, Tag, TagEnd};

use crate::lines::fences::Fences;
use crate::lines::source::Source;
use crate::lines::text;
use orchestrate_core::text::parts::Parts;

/// The maximum nesting of lists and quotes: far more than people write, but shallow enough for
/// recursion.
pub const MAX_DEPTH: usize = 100;

/// One block of a plan.
#[derive(Debug)]
pub(crate) enum Block {
    /// A heading; its text includes the `#` marks, but not an underline, and its title neither.
    Heading {
        level: u8,
        text: Range<usize>,
        title: String,
    },
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
    /// The paragraph that it begins with; empty if it begins with another block.
    pub(crate) text: Range<usize>,
    /// The blocks after that paragraph.
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

    /// Returns why such text, with its marks, may be meant as Markdown nevertheless: nothing closes
    /// the block, it is indented by chance, or HTML begins right above it.
    pub(crate) fn slip(self, text: &str) -> Option<&'static str> {
        let text = text.trim();
        match self {
            Opaque::Code if text.starts_with("```") || text.starts_with("~~~") => {
                (!is_closed_fence(text)).then_some("in a code block that is not closed")
            }
            Opaque::Code => Some("its indentation makes it code: write `- [ ]` with less of it"),
            Opaque::Html if !text.starts_with("<!--") => {
                Some("in an HTML block: write an empty line above the list")
            }
            Opaque::Html => (!text.contains("-->")).then_some("in a comment that is not closed"),
            Opaque::Quote => None,
        }
    }
}

/// Reports whether the last line of a block that begins with a fence closes it.
fn is_closed_fence(text: &str) -> bool {
    let mark = if text.starts_with('`') { '`' } else { '~' };
    let length = text.len() - text.trim_start_matches(mark).len();
    let last = text.rsplit(['\n', '\r']).next().unwrap_or_default().trim();
    last.len() < text.len() && last.len() >= length && last.chars().all(|c| c == mark)
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
    let mut lines = source.lines(0..source.text.len());
    let found = lines.find(|(_, line)| depth(line) > MAX_DEPTH);
    found.map(|(start, _)| start)
}

/// Returns an upper bound of the nesting that a line can continue or open: one level for every two
/// columns, and for every marker with the blank after it.
fn depth(line: &str) -> usize {
    let (mut columns, mut markers) = (0, 0);
    let mut rest = line.bytes().peekable();
    while let Some(byte) = rest.next() {
        match byte {
            b' ' => columns += 1,
            b'\t' => columns += 4,
            b'>' => markers += 1,
            b'-' | b'+' | b'*' | b'.' | b')'
                if rest.peek().is_none_or(|next| matches!(next, b' ' | b'\t')) =>
            {
                markers += 1;
                rest.next_if(|next| matches!(next, b' ' | b'\t'));
            }
            b'0'..=b'9' => {}
            _ => break,
        }
    }
    // A line without a marker opens no block, at any indentation.
    if markers == 0 {
        0
    } else {
        markers + columns / 2
    }
}

/// Parses the blocks from `start` to the end of the source.
pub(crate) fn read(source: &Source<'_>, start: usize, fences: &Fences) -> Vec<Block> {
    let body = source.slice(start..source.text.len());
    // A lone CR ends a line too. The replacements keep the length, so that offsets stay valid.
    let mut body = match body.contains('\r') {
        true => Cow::Owned(body.replace("\r\n", " \n").replace('\r', "\n")),
        false => Cow::Borrowed(body),
    };
    for (at, length) in &fences.nested {
        let own = at - start..at - start + length;
        body.to_mut().replace_range(own, &".".repeat(*length));
    }
    let events = Parser::new_ext(&body, Options::empty()).into_offset_iter();
    Reader {
        body: &body,
        start,
        events,
    }
    .contents(false)
    .1
}

/// Converts the parser's events into blocks.
struct Reader<'b> {
    body: &'b str,
    /// The offset of the body in the source.
    start: usize,
    events: OffsetIter<'b>,
}

impl Reader<'_> {
    /// Returns the paragraph that an item begins with, and the other blocks up to the end of what
    /// encloses them.
    fn contents(&mut self, in_item: bool) -> (Range<usize>, Vec<Block>) {
        let mut blocks = Vec::new();
        // A paragraph whose text stands in its item without a paragraph around it.
        let mut bare: Option<Range<usize>> = None;
        while let Some((event, range)) = self.events.next() {
            let block = match event {
                Event::End(TagEnd::Emphasis | TagEnd::Strong | TagEnd::Link | TagEnd::Image) => {
                    continue;
                }
                Event::End(_) => break,
                Event::Start(tag) if !is_inline(&tag) => self.block(&tag, range, in_item),
                Event::Rule => None,
                _ => {
                    let begun = bare.get_or_insert_with(|| self.unescaped(range.start)..range.end);
                    begun.end = begun.end.max(range.end);
                    continue;
                }
            };
            blocks.extend(self.paragraph(bare.take()));
            blocks.extend(block);
        }
        blocks.extend(self.paragraph(bare));
        match blocks.first() {
            Some(Block::Paragraph(text)) if in_item => {
                let text = text.clone();
                blocks.remove(0);
                (text, blocks)
            }
            _ => (0..0, blocks),
        }
    }

    fn paragraph(&self, bare: Option<Range<usize>>) -> Option<Block> {
        Some(Block::Paragraph(self.place(bare?)))
    }

    /// Reads the rest of a block that begins with a tag.
    fn block(&mut self, tag: &Tag<'_>, range: Range<usize>, in_item: bool) -> Option<Block> {
        if let Tag::List(_) = tag {
            return Some(Block::List(self.items()));
        }
        self.skip();
        let place = self.place(range.clone());
        let kind = match tag {
            Tag::Heading { level, .. } => return Some(self.heading(*level as u8, place, in_item)),
            Tag::Paragraph => return Some(Block::Paragraph(place)),
            Tag::CodeBlock(_) => Opaque::Code,
            Tag::BlockQuote(_) => Opaque::Quote,
            Tag::HtmlBlock => Opaque::Html,
            _ => return None,
        };
        let range = match kind {
            Opaque::Code => self.ended(range),
            _ => place,
        };
        Some(Block::Opaque { kind, range })
    }

    /// Returns a heading without its underline. In an item, an underlined text is a paragraph,
    /// since people mean a rule there.
    fn heading(&self, level: u8, range: Range<usize>, in_item: bool) -> Block {
        let underline = self.slice(&range).rfind('\n');
        let text = range.start..underline.map_or(range.end, |last| range.start + last + 1);
        if underline.is_some() && in_item {
            return Block::Paragraph(text);
        }
        let title = title(self.slice(&text));
        Block::Heading { level, text, title }
    }

    /// Reads the items of a list.
    fn items(&mut self) -> Vec<Item> {
        // Many lists below a task are a single remark.
        let mut items = Vec::with_capacity(1);
        while let Some((Event::Start(Tag::Item), range)) = self.events.next() {
            let range = self.place(range);
            let (text, blocks) = self.contents(true);
            items.push(Item {
                range,
                text,
                blocks,
            });
        }
        items
    }

    /// Skips the rest of a block, with all that it contains.
    fn skip(&mut self) {
        let mut open = 1;
        while open > 0 {
            match self.events.next() {
                Some((Event::Start(_), _)) => open += 1,
                Some((Event::End(_), _)) | None => open -= 1,
                Some(_) => {}
            }
        }
    }

    /// Returns the offset of the backslash before a text that begins with an escaped character,
    /// which the parser leaves out.
    fn unescaped(&self, start: usize) -> usize {
        start - usize::from(self.body.head(start).ends_with('\\'))
    }

    /// Returns the place of a block in the source, from its first to its last visible character.
    fn place(&self, range: Range<usize>) -> Range<usize> {
        let written = self.body.part(range.clone());
        let blanks = written.len() - written.trim_ascii_start().len();
        self.ended(range.start + blanks..range.end)
    }

    /// Returns the place in the source of a block that may begin with blanks.
    fn ended(&self, range: Range<usize>) -> Range<usize> {
        let written = self.body.part(range.clone()).trim_ascii_end();
        self.start + range.start..self.start + range.start + written.len()
    }

    /// Returns the text of a place in the source.
    fn slice(&self, place: &Range<usize>) -> &str {
        self.body
            .part(place.start - self.start..place.end - self.start)
    }
}

/// Reports whether a tag is markup within a text.
fn is_inline(tag: &Tag<'_>) -> bool {
    matches!(
        tag,
        Tag::Emphasis | Tag::Strong | Tag::Link { .. } | Tag::Image { .. }
    )
}

/// Returns a heading's text without `#` marks, strong emphasis and comments.
fn title(raw: &str) -> String {
    let raw = raw.trim_start_matches('#').trim();
    let open = raw.trim_end_matches('#');
    let raw = if open.ends_with(' ') || open.is_empty() {
        open
    } else {
        raw
    };
    text::without_strong(&text::line_without(raw, &text::spans(raw).comments))
}
