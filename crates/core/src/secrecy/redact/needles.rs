//! Finds forms of secrets in one pass over a view, whole or in parts that are long enough.

use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};

/// The length of the pieces of a form that are searched for; the text around a match is then
/// compared.
pub(super) const PIECE_BYTES: usize = 8;

/// The length from which part of a form is redacted although the rest is missing, because the text
/// was cut or wrapped. A shorter part reveals little, and could be a word.
pub(super) const LEAST_PART_BYTES: usize = 16;

/// The maximum white space between two characters of a secret: the end of a line and some
/// indentation.
pub(super) const MOST_GAP_BYTES: usize = 8;

/// One form of a secret.
pub(super) struct Form {
    /// The index of the secret.
    pub(super) secret: usize,
    pub(super) text: Vec<u8>,
}

/// A set of forms to search for together.
pub(super) struct Needles {
    pub(super) forms: Vec<Form>,
    pieces: Option<AhoCorasick>,
    /// Where each piece occurs.
    sites: Vec<Site>,
}

/// The position of a piece in a form.
#[derive(Clone, Copy)]
struct Site {
    form: usize,
    at: usize,
}

/// A part of a text that is a form or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) bytes: Range<usize>,
    pub(super) form: usize,
}

impl Needles {
    /// Creates the search for these forms.
    pub(super) fn new(forms: Vec<Form>) -> Self {
        let (mut sites, mut texts) = (Vec::new(), Vec::new());
        for (form, Form { text, .. }) in forms.iter().enumerate() {
            let last = text.len().saturating_sub(PIECE_BYTES);
            let starts = (0..last).step_by(PIECE_BYTES).chain([last]);
            for at in starts {
                texts.extend(text.get(at..text.len().min(at + PIECE_BYTES)));
                sites.push(Site { form, at });
            }
        }
        let pieces = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .build(texts);
        Self {
            forms,
            pieces: pieces.ok(),
            sites,
        }
    }

    /// Returns the matches of forms or parts of them, ordered by their ends.
    pub(super) fn found_in(&self, bytes: &[u8]) -> Vec<Found> {
        let mut found: Vec<Found> = Vec::new();
        let Some(pieces) = &self.pieces else {
            return found;
        };
        for piece in pieces.find_overlapping_iter(bytes) {
            if let Some(last) = found.last()
                && last.bytes.start <= piece.start()
                && piece.end() <= last.bytes.end
            {
                continue;
            }
            if let Some(site) = self.sites.get(piece.pattern().as_usize()) {
                found.extend(self.extended(bytes, *site, piece.range()));
            }
        }
        found
    }

    /// Extends the match of a piece to as much of its form as matches, or returns `None` if that is
    /// too little.
    fn extended(&self, bytes: &[u8], site: Site, piece: Range<usize>) -> Option<Found> {
        let form = self.forms.get(site.form)?;
        let before = form.text.get(..site.at)?.iter().rev();
        let after = form.text.get(site.at + piece.len()..)?.iter();
        let back = alike(before, bytes.get(..piece.start)?.iter().rev());
        let on = alike(after, bytes.get(piece.end..)?.iter());
        let matched = back.of_form + piece.len() + on.of_form;
        if matched < form.text.len().min(LEAST_PART_BYTES) {
            return None;
        }
        Some(Found {
            bytes: piece.start - back.of_text..piece.end + on.of_text,
            form: site.form,
        })
    }
}

/// How much of a form and of a text match.
#[derive(Clone, Copy, Default)]
struct Alike {
    of_form: usize,
    of_text: usize,
}

/// Compares a form with a text ignoring case and line ends in the text.
fn alike<'a>(form: impl Iterator<Item = &'a u8>, text: impl Iterator<Item = &'a u8>) -> Alike {
    let mut alike = Alike::default();
    let mut form = form.peekable();
    let mut gap = 0;
    for byte in text {
        match form.peek() {
            Some(wanted) if wanted.eq_ignore_ascii_case(byte) => {
                form.next();
                alike.of_form += 1;
                alike.of_text += gap + 1;
                gap = 0;
            }
            Some(_) if byte.is_ascii_whitespace() && gap < MOST_GAP_BYTES => gap += 1,
            _ => break,
        }
    }
    alike
}
