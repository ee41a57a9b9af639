//! Decides from the trigrams of a file that a pattern matches nowhere in it, so that the file is
//! not read again.
//!
//! Every run of three bytes is a trigram, with the letters of ASCII in lower case, so that a
//! pattern that ignores case has trigrams, too.

use std::sync::Arc;

use orchestrate_core::Oid;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind};

/// The number of bits for each byte of a file: an ordinary source has an eighth of them set.
const BITS_PER_BYTE: usize = 2;
/// The marks with which a text of UTF-16 begins; a search decodes it, so its bytes say nothing.
const UTF_16_MARKS: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];

/// The memory that the trigrams of a run's files may take, in bytes: those of a quarter of a
/// gigabyte of sources.
const MAX_BYTES: usize = 64 << 20;
/// The memory that an entry takes besides its trigrams, in bytes.
const ENTRY_BYTES: usize = 128;

/// The memory of the trigrams of an ordinary source, in bytes.
const FILE_BYTES: usize = 4 << 10;

/// The trigrams of the files that the agents of a run have searched, by the ids of their bytes,
/// which are the same in every worktree.
pub(crate) struct SeenTrigrams(Cache<Oid, Arc<Trigrams>, Bytes>);

/// Counts the memory of trigrams.
#[derive(Clone)]
struct Bytes;

impl Weighter<Oid, Arc<Trigrams>> for Bytes {
    fn weight(&self, id: &Oid, trigrams: &Arc<Trigrams>) -> u64 {
        (trigrams.bytes() + id.as_str().len() + ENTRY_BYTES) as u64
    }
}

impl Default for SeenTrigrams {
    fn default() -> SeenTrigrams {
        let files = MAX_BYTES / FILE_BYTES;
        SeenTrigrams(Cache::with_weighter(files, MAX_BYTES as u64, Bytes))
    }
}

impl SeenTrigrams {
    /// Reports whether nothing was searched yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the trigrams of the bytes with this id, if they were searched before.
    pub(crate) fn find(&self, id: &Oid) -> Option<Arc<Trigrams>> {
        self.0.get(id)
    }

    /// Keeps the trigrams of the bytes with this id.
    pub(crate) fn keep(&self, id: Oid, trigrams: Trigrams) {
        self.0.insert(id, Arc::new(trigrams));
    }
}

/// Which trigrams a file has: a Bloom filter with one hash. An absent trigram may seem to be there,
/// never the reverse.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Trigrams {
    bits: Box<[u64]>,
}

impl Trigrams {
    /// Returns the trigrams of a file's whole content, in two parts; `None` if a search does not
    /// see these bytes.
    pub(crate) fn from_content([begin, rest]: [&[u8]; 2]) -> Option<Trigrams> {
        if UTF_16_MARKS.iter().any(|mark| begin.starts_with(mark)) {
            return None;
        }
        let count = ((begin.len() + rest.len()) * BITS_PER_BYTE)
            .next_power_of_two()
            .max(64);
        let mut trigrams = Trigrams {
            bits: vec![0; count / 64].into_boxed_slice(),
        };
        let mut trigram = 0;
        for (position, byte) in begin.iter().chain(rest).enumerate() {
            trigram = following(trigram, *byte);
            if position >= 2 {
                let (word, bit) = trigrams.place(trigram);
                trigrams
                    .bits
                    .get_mut(word)
                    .into_iter()
                    .for_each(|word| *word |= bit);
            }
        }
        Some(trigrams)
    }

    /// Reports whether a pattern may match in the file.
    pub(crate) fn may_match(&self, required: &Required) -> bool {
        match required {
            Required::Trigram(trigram) => {
                let (word, bit) = self.place(*trigram);
                self.bits.get(word).is_some_and(|word| word & bit != 0)
            }
            Required::All(parts) => parts.iter().all(|part| self.may_match(part)),
            Required::AnyOf(parts) => parts.iter().any(|part| self.may_match(part)),
        }
    }

    /// Returns the memory that it takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.bits.len() * 8
    }

    /// Returns the word and the bit in it of a trigram.
    fn place(&self, trigram: u32) -> (usize, u64) {
        let hash = trigram.wrapping_mul(0x9e37_79b1) as usize;
        // The upper bits of a product depend on all bits of the factor.
        let place = (hash >> 6) & (self.bits.len() - 1);
        (place, 1 << (hash.rotate_right(26) & 63))
    }
}

/// Returns the trigram that ends with a byte.
fn following(trigram: u32, byte: u8) -> u32 {
    (trigram << 8 | u32::from(byte.to_ascii_lowercase())) & 0x00ff_ffff
}

/// The trigrams that a file must have for a pattern to match in it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Required {
    /// This one.
    Trigram(u32),
    /// Those of each part.
    All(Vec<Required>),
    /// Those of one part.
    AnyOf(Vec<Required>),
}

impl Required {
    /// Returns what a pattern requires; `None` if that is nothing.
    pub(crate) fn by(pattern: &str) -> Option<Required> {
        let parsed = ParserBuilder::new()
            .multi_line(true)
            .utf8(false)
            .build()
            .parse(pattern)
            .ok()?;
        let required = Required::from_pattern(&parsed);
        if required.is_something() {
            Some(required)
        } else {
            None
        }
    }

    fn from_pattern(pattern: &Hir) -> Required {
        let mut parts = Parts::default();
        parts.add(pattern);
        parts.end_run();
        Required::All(parts.found)
    }

    fn is_something(&self) -> bool {
        match self {
            Required::Trigram(_) => true,
            Required::All(parts) => parts.iter().any(Required::is_something),
            Required::AnyOf(parts) => parts.iter().all(Required::is_something),
        }
    }
}

/// What is required by the parts of a pattern that follow each other.
#[derive(Default)]
struct Parts {
    found: Vec<Required>,
    /// The bytes that follow each other in every match.
    run: Vec<u8>,
}

impl Parts {
    /// Adds a part; a pattern is not nested deeper than its parser allows.
    fn add(&mut self, part: &Hir) {
        match part.kind() {
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Literal(literal) => self.run.extend_from_slice(&literal.0),
            HirKind::Class(class) => match one_letter(class) {
                Some(letter) => self.run.push(letter),
                None => self.end_run(),
            },
            HirKind::Capture(capture) => self.add(&capture.sub),
            HirKind::Concat(parts) => parts.iter().for_each(|part| self.add(part)),
            HirKind::Repetition(repetition) => {
                // What is repeated follows what is before it once.
                if repetition.min > 0 {
                    self.add(&repetition.sub);
                }
                self.end_run();
            }
            HirKind::Alternation(choices) => {
                self.end_run();
                self.found.push(Required::AnyOf(
                    choices.iter().map(Required::from_pattern).collect(),
                ));
            }
        }
    }

    fn end_run(&mut self) {
        let run = std::mem::take(&mut self.run);
        self.found.extend(run.windows(3).map(trigram));
    }
}

fn trigram(bytes: &[u8]) -> Required {
    Required::Trigram(
        bytes
            .iter()
            .fold(0, |before, byte| following(before, *byte)),
    )
}

/// Returns the letter of a class whose only members are a letter in both cases.
fn one_letter(class: &Class) -> Option<u8> {
    let found = match class {
        Class::Unicode(class) => letters(class),
        Class::Bytes(class) => letters(&class.to_unicode_class()?),
    };
    match found.as_slice() {
        [(upper, to), (lower, until)]
            if upper == to && lower == until && upper.to_ascii_lowercase() == *lower =>
        {
            u8::try_from(*lower).ok()
        }
        _ => None,
    }
}

fn letters(class: &ClassUnicode) -> Vec<(char, char)> {
    class
        .iter()
        .map(|range| (range.start(), range.end()))
        .collect::<Vec<_>>()
}

#[cfg(test)]
mod tests {
    use grep_regex::{RegexMatcher, RegexMatcherBuilder};
    use grep_searcher::{Searcher, sinks};

    use super::*;

    fn matcher(pattern: &str) -> RegexMatcher {
        RegexMatcherBuilder::new()
            .multi_line(true)
            .line_terminator(Some(b'\n'))
            .build(pattern)
            .unwrap()
    }

    /// Reports whether a search finds a pattern.
    fn is_found(matcher: &RegexMatcher, text: &str) -> bool {
        let mut found = false;
        let sink = sinks::Bytes(|_, _| {
            found = true;
            Ok(false)
        });
        Searcher::new()
            .search_slice(matcher, text.as_bytes(), sink)
            .unwrap();
        found
    }

    /// Texts of up to four words.
    fn texts() -> Vec<String> {
        let words = [
            "fn main",
            "Unwrap()",
            "x",
            "STRASSE",
            "\u{212a}elvin",
            "größe",
            "aaaa",
            "",
        ];
        let mut texts = vec![String::new()];
        for _ in 0..3 {
            let longer = texts
                .iter()
                .flat_map(|text| words.map(|word| format!("{text}{word}\n {text}")));
            texts = longer.collect();
        }
        texts
    }

    #[test]
    fn what_a_pattern_matches_is_never_passed_over() {
        let patterns = [
            "main",
            "(?i)MAIN",
            "unwrap",
            r"unwrap\(\)|main",
            "(?i)kelvin",
            "(?i)strasse",
            "größe",
            "gr.ße",
            "a{2,}",
            "(aa)+b?",
            r"\bfn\s+main",
            "^fn",
            "main$",
            "(x|main)y*",
            "[mM]ain",
            "(?i-u)UNWRAP",
            "",
            "nowhere",
            "(?:fn )?main",
            "Un(wr)+ap",
        ];
        let mut passed_over = 0;
        let texts = texts();
        for pattern in patterns {
            let (matcher, required) = (matcher(pattern), Required::by(pattern));
            for text in &texts {
                let may = required.as_ref().is_none_or(|required| {
                    Trigrams::from_content([text.as_bytes(), b""])
                        .is_none_or(|trigrams| trigrams.may_match(required))
                });
                assert!(
                    may || !is_found(&matcher, text),
                    "{pattern:?} is in {text:?}"
                );
                passed_over += usize::from(!may);
            }
        }
        assert!(passed_over > 3_000, "{passed_over}");
    }

    #[test]
    fn a_pattern_requires_its_trigrams() {
        for pattern in [
            "ab", "a.b.c", "(abc)?", "abc|", "(abc|x)", "[a-z]{9}", r"\w+", "a(b|c)d",
        ] {
            assert_eq!(Required::by(pattern), None, "{pattern}");
        }
        for pattern in ["abc", "(?i)aBc", "x*abc", "(abc|bcd)+", "a(?:b)c", r"ab\bc"] {
            assert!(Required::by(pattern).is_some(), "{pattern}");
        }
    }

    #[test]
    fn a_text_of_utf_16_has_none() {
        assert_eq!(Trigrams::from_content([b"\xff\xfea\0b\0", b""]), None);
    }
}
