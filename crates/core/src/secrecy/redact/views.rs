//! The readings of a text that are searched for secrets: with escapes decoded, without separators
//! between characters, and without the offsets of a dump. Each byte of a view knows its source in
//! the text.

/// The maximum gap between two characters of a secret: the end of a line, some indentation, a
/// separator.
const MOST_GAP: usize = 16;
/// Marks in a view where a gap was too long to be within a secret.
const BARRIER: u8 = 0;
/// A first word of fewer hexadecimal digits is an offset only if the following text shows it.
const LEAST_OFFSET_DIGITS: usize = 4;

/// Names of HTML entities for characters that a key may contain.
const ENTITIES: &[(&str, u8)] = &[
    ("amp", b'&'),
    ("lt", b'<'),
    ("gt", b'>'),
    ("quot", b'"'),
    ("apos", b'\''),
    ("sol", b'/'),
    ("bsol", b'\\'),
    ("plus", b'+'),
    ("equals", b'='),
    ("lowbar", b'_'),
    ("period", b'.'),
    ("colon", b':'),
    ("commat", b'@'),
    ("dollar", b'$'),
    ("percnt", b'%'),
    ("num", b'#'),
    ("excl", b'!'),
    ("ast", b'*'),
    ("grave", b'`'),
];

/// One reading of a text.
#[derive(Clone, Default)]
pub(super) struct View {
    pub(super) bytes: Vec<u8>,
    /// The source of each byte in the text.
    sources: Vec<Source>,
}

/// A position in the text.
#[derive(Clone, Copy, Default)]
struct Source {
    start: usize,
    end: usize,
}

/// A decoded escape at the beginning of a text.
struct Escape {
    stands_for: u32,
    is_byte: bool,
    length: usize,
}

impl View {
    /// Creates the unchanged view of a text.
    pub(super) fn from_text(text: &str) -> Self {
        let sources = (0..text.len())
            .map(|at| Source {
                start: at,
                end: at + 1,
            })
            .collect();
        Self {
            bytes: text.as_bytes().to_vec(),
            sources,
        }
    }

    /// Returns the source of a part of the view in the text.
    pub(super) fn source(&self, part: &std::ops::Range<usize>) -> std::ops::Range<usize> {
        let first = self.source_at(part.start);
        let last = self.source_at(part.end.saturating_sub(1));
        first.start..last.end
    }

    fn source_at(&self, at: usize) -> Source {
        self.sources.get(at).copied().unwrap_or_default()
    }

    /// Returns the view with its escapes decoded, or `None` if there are none.
    pub(super) fn unescaped(&self) -> Option<Self> {
        if !self.bytes.iter().any(|byte| b"\\%&".contains(byte)) {
            return None;
        }
        let mut out = Self::default();
        let mut at = 0;
        while let Some(rest) = self.bytes.get(at..)
            && !rest.is_empty()
        {
            let Some(escape) = escape_at(rest) else {
                out.take(self, at);
                at += 1;
                continue;
            };
            let source = self.source(&(at..at + escape.length));
            out.push_escape(
                &escape,
                Source {
                    start: source.start,
                    end: source.end,
                },
            );
            at += escape.length;
        }
        (out.bytes.len() < self.bytes.len()).then_some(out)
    }

    /// Returns the view without white space, or `None` if it has none.
    pub(super) fn squeezed(&self) -> Option<Self> {
        let is_spaced = self.bytes.iter().any(u8::is_ascii_whitespace);
        is_spaced.then(|| self.only(|byte| !byte.is_ascii_whitespace()))
    }

    /// Returns the view reduced to letters and digits.
    pub(super) fn skeleton(&self) -> Self {
        self.only(is_in_skeleton)
    }

    /// Returns the view without the `0x` of numbers, or `None` if there are no such numbers.
    pub(super) fn without_prefixes(&self) -> Option<Self> {
        let mut out = Self::default();
        let mut at = 0;
        while let Some(rest) = self.bytes.get(at..)
            && !rest.is_empty()
        {
            match rest {
                [b'0', b'x' | b'X', digit, ..] if digit.is_ascii_hexdigit() => at += 2,
                _ => {
                    out.take(self, at);
                    at += 1;
                }
            }
        }
        (out.bytes.len() < self.bytes.len()).then_some(out)
    }

    /// Returns the columns of a dump, its numbers and its text, or `None` if no line looks like
    /// one.
    pub(super) fn columns(&self) -> Option<[Self; 2]> {
        let (mut numbers, mut text) = (Self::default(), Self::default());
        let (mut from, mut is_dump) = (0, false);
        for line in self.bytes.split_inclusive(|byte| *byte == b'\n') {
            let offset = offset_length(line);
            is_dump |= offset > 0;
            let column = text_column(line, offset);
            for at in offset..column.start {
                numbers.take(self, from + at);
            }
            for at in column {
                text.take(self, from + at);
            }
            from += line.len();
        }
        is_dump.then_some([numbers, text])
    }

    fn only(&self, keeps: impl Fn(u8) -> bool) -> Self {
        let mut out = Self::default();
        let mut gap = 0;
        for (at, byte) in self.bytes.iter().enumerate() {
            if !keeps(*byte) {
                gap += 1;
                continue;
            }
            if gap > MOST_GAP {
                out.push(BARRIER, self.source_at(at));
            }
            gap = 0;
            out.take(self, at);
        }
        out
    }

    fn take(&mut self, other: &Self, at: usize) {
        if let (Some(byte), Some(source)) = (other.bytes.get(at), other.sources.get(at)) {
            self.push(*byte, *source);
        }
    }

    fn push_escape(&mut self, escape: &Escape, source: Source) {
        match u8::try_from(escape.stands_for) {
            Ok(byte) if escape.is_byte => self.push(byte, source),
            _ => {
                let stands_for =
                    char::from_u32(escape.stands_for).unwrap_or(char::REPLACEMENT_CHARACTER);
                for byte in stands_for.encode_utf8(&mut [0; 4]).bytes() {
                    self.push(byte, source);
                }
            }
        }
    }

    fn push(&mut self, byte: u8, source: Source) {
        self.bytes.push(byte);
        self.sources.push(source);
    }
}

/// Reports whether a byte is a letter, a digit or a part of one.
pub(super) fn is_in_skeleton(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

fn escape_at(rest: &[u8]) -> Option<Escape> {
    match rest {
        [b'%', ..] => number(rest, 1, 2, 16, true),
        [b'&', b'#', b'x' | b'X', ..] => entity_number(rest, 3, 16),
        [b'&', b'#', ..] => entity_number(rest, 2, 10),
        [b'&', ..] => entity(rest),
        [b'\\', b'x', ..] => number(rest, 2, 2, 16, true),
        [b'\\', b'u', b'{', ..] => {
            let digits = rest
                .iter()
                .skip(3)
                .take(6)
                .take_while(|byte| byte.is_ascii_hexdigit())
                .count();
            if rest.get(3 + digits) != Some(&b'}') {
                return None;
            }
            let found = number(rest, 3, digits, 16, false)?;
            Some(Escape {
                length: found.length + 1,
                ..found
            })
        }
        [b'\\', b'u', ..] => number(rest, 2, 4, 16, false),
        [b'\\', b'U', ..] => number(rest, 2, 8, 16, false),
        [b'\\', b'0', b'0'..=b'3', b'0'..=b'7', b'0'..=b'7', ..] => number(rest, 2, 3, 8, true),
        [b'\\', b'0'..=b'3', ..] => number(rest, 1, 3, 8, true),
        [b'\\', next, ..] if next.is_ascii_punctuation() => Some(Escape {
            stands_for: u32::from(*next),
            is_byte: true,
            length: 2,
        }),
        _ => None,
    }
}

/// Parses a number of this many digits as a character or a byte.
fn number(rest: &[u8], from: usize, digits: usize, radix: u32, is_byte: bool) -> Option<Escape> {
    let text = std::str::from_utf8(rest.get(from..from + digits)?).ok()?;
    if !text.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    let stands_for = u32::from_str_radix(text, radix).ok()?;
    Some(Escape {
        stands_for,
        is_byte,
        length: from + digits,
    })
}

fn entity_number(rest: &[u8], from: usize, radix: u32) -> Option<Escape> {
    let digits = rest
        .iter()
        .skip(from)
        .take(8)
        .take_while(|byte| char::from(**byte).is_digit(radix))
        .count();
    let found = number(rest, from, digits, radix, false)?;
    let end = usize::from(rest.get(found.length) == Some(&b';'));
    Some(Escape {
        length: found.length + end,
        ..found
    })
}

fn entity(rest: &[u8]) -> Option<Escape> {
    let after = rest.get(1..)?;
    for (name, byte) in ENTITIES {
        if let Some([b';', ..]) = after.strip_prefix(name.as_bytes()) {
            return Some(Escape {
                stands_for: u32::from(*byte),
                is_byte: true,
                length: name.len() + 2,
            });
        }
    }
    None
}

/// Returns the length of the offset or line number at the beginning of a line, or 0 if there is
/// none.
fn offset_length(line: &[u8]) -> usize {
    let blank = line.iter().take_while(|byte| **byte == b' ').count();
    let digits = line
        .iter()
        .skip(blank)
        .take_while(|byte| byte.is_ascii_hexdigit())
        .count();
    match line.get(blank + digits) {
        Some(b':' | b'\t') if digits > 0 => blank + digits + 1,
        Some(b' ') if digits >= LEAST_OFFSET_DIGITS => blank + digits,
        _ => 0,
    }
}

/// Returns the range of the text column in a line of a dump: between bars, or after two blanks if
/// the offset has a colon.
fn text_column(line: &[u8], offset: usize) -> std::ops::Range<usize> {
    let text = line.trim_ascii_end();
    let end = text.len();
    if let Some(bar) = line.iter().position(|byte| b"|>".contains(byte)) {
        let closed = text.ends_with(b"|") || text.ends_with(b"<");
        let close = end - usize::from(closed);
        return bar + 1..close.max(bar + 1);
    }
    let has_colon = offset.checked_sub(1).and_then(|at| line.get(at)) == Some(&b':');
    let blanks = line
        .iter()
        .skip(offset + 1)
        .zip(line.iter().skip(offset + 2));
    match blanks.into_iter().position(|pair| pair == (&b' ', &b' ')) {
        Some(gap) if has_colon => (offset + gap + 3).min(end)..end,
        _ => line.len()..line.len(),
    }
}
