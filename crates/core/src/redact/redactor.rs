//! Finds every form of every secret in a text in one pass, and replaces what it finds.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::forms::{Form, forms_of};
use super::secret::Secret;

/// The length of the pieces of a form that are searched for; what stands around a piece is then compared.
const PIECE_BYTES: usize = 8;

/// So much of a form is redacted also where the rest is missing, since the text was cut or wrapped. Less of it tells
/// little, and could be a word.
const LEAST_PART_BYTES: usize = 16;

/// The most white space that may stand between two characters of a secret: the end of a line and some indentation.
const MOST_GAP_BYTES: usize = 8;

/// How the mark begins that stands in the place of a secret.
const MARK: &str = "[redacted:";

/// Replaces the secrets of one run in texts; cheap to clone, and free where there are none.
#[derive(Clone, Default)]
pub struct Redactor(Option<Arc<Known>>);

struct Known {
    forms: Vec<Form>,
    pieces: AhoCorasick,
    /// Where each piece stands.
    sites: Vec<Site>,
}

/// Where a piece stands in a form.
#[derive(Clone, Copy)]
struct Site {
    form: usize,
    at: usize,
}

/// A part of a text that has to go.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Span {
    bytes: Range<usize>,
    form: usize,
}

impl Redactor {
    /// Creates the redactor of these secrets; what is too short to be told from words is left out.
    pub fn new(secrets: impl IntoIterator<Item = Secret>) -> Self {
        let secrets: Vec<Secret> = secrets.into_iter().filter(Secret::can_be_recognised).collect();
        let forms: Vec<Form> = secrets.iter().flat_map(forms_of).collect();
        let (mut sites, mut texts) = (Vec::new(), Vec::new());
        for (form, Form { text, .. }) in forms.iter().enumerate() {
            let last = text.len().saturating_sub(PIECE_BYTES);
            let starts = (0..last).step_by(PIECE_BYTES).chain([last]);
            for at in starts {
                texts.extend(text.get(at..text.len().min(at + PIECE_BYTES)));
                sites.push(Site { form, at });
            }
        }
        let pieces = AhoCorasick::builder().ascii_case_insensitive(true).match_kind(MatchKind::Standard).build(texts);
        match pieces {
            Ok(pieces) if !forms.is_empty() => Self(Some(Arc::new(Known { forms, pieces, sites }))),
            _ => Self(None),
        }
    }

    /// Reports whether there is nothing to redact.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the text with each secret replaced by `[redacted:NAME]`.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(known) = &self.0 else { return Cow::Borrowed(text) };
        let spans = known.spans(text);
        if spans.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(known.replaced(text, &spans)) }
    }

    /// Replaces the secrets in a text of one's own.
    pub fn owned(&self, text: String) -> String {
        match self.text(&text) {
            Cow::Owned(redacted) => redacted,
            Cow::Borrowed(_) => text,
        }
    }

    /// Returns the name of a secret that the text contains.
    pub fn finds(&self, text: &str) -> Option<&str> {
        let known = self.0.as_ref()?;
        let first = known.spans(text).into_iter().next()?;
        known.forms.get(first.form).map(|form| form.name.as_str())
    }

    /// Returns the name of a secret whose mark stands in the text, where the secret itself has been replaced.
    ///
    /// Such a text is for reading only: whoever wrote it to a file or ran it as a command would change what it says.
    pub fn mark_in(&self, text: &str) -> Option<&str> {
        let known = self.0.as_ref()?;
        let mut names = known.forms.iter().map(|form| form.name.as_str());
        if !text.contains(MARK) {
            return None;
        }
        names.find(|name| text.contains(&mark(name)))
    }

    /// Returns the value with the secrets in its texts and in its keys replaced.
    pub fn value(&self, value: Value) -> Value {
        if self.is_empty() {
            return value;
        }
        match value {
            Value::String(text) => Value::String(self.owned(text)),
            Value::Array(items) => items.into_iter().map(|item| self.value(item)).collect(),
            Value::Object(fields) => {
                fields.into_iter().map(|(name, value)| (self.owned(name), self.value(value))).collect()
            }
            other => other,
        }
    }

    /// Returns anything that can be written as JSON with the secrets in its texts replaced.
    pub fn all_of<T: Serialize + DeserializeOwned>(&self, whole: T) -> T {
        if self.is_empty() {
            return whole;
        }
        let Ok(value) = serde_json::to_value(&whole) else { return whole };
        if !self.is_in(&value) {
            return whole;
        }
        serde_json::from_value(self.value(value)).unwrap_or(whole)
    }

    /// Redacts the beginning of a text of which more may come: what may still become a secret is left in it.
    pub(super) fn take_settled(&self, text: &mut String) -> String {
        let Some(known) = &self.0 else { return std::mem::take(text) };
        let mut end = text.floor_char_boundary(text.len().saturating_sub(self.longest()));
        if end == 0 {
            return String::new();
        }
        let mut spans = known.spans(text);
        // What reaches into the part that is held back waits there as a whole.
        if let Some(across) = spans.iter().find(|span| span.bytes.end > end) {
            end = end.min(across.bytes.start);
        }
        spans.retain(|span| span.bytes.end <= end);
        let rest = text.split_off(end);
        known.replaced(&std::mem::replace(text, rest), &spans)
    }

    fn is_in(&self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.finds(text).is_some(),
            Value::Array(items) => items.iter().any(|item| self.is_in(item)),
            Value::Object(fields) => fields.iter().any(|(name, value)| self.finds(name).is_some() || self.is_in(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// Returns the longest form in bytes, gaps included.
    fn longest(&self) -> usize {
        let forms = self.0.iter().flat_map(|known| &known.forms);
        forms.map(|form| form.text.len()).max().map_or(0, |longest| longest + longest / PIECE_BYTES * MOST_GAP_BYTES)
    }
}

/// Nothing of the secrets, only whether there are any.
impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.is_empty() { "Redactor of nothing" } else { "Redactor" })
    }
}

impl Known {
    /// Returns the parts that have to go, in order and apart from each other.
    fn spans(&self, text: &str) -> Vec<Span> {
        let mut found: Vec<Span> = Vec::new();
        for piece in self.pieces.find_overlapping_iter(text) {
            let inside = |span: &Span| span.bytes.start <= piece.start() && piece.end() <= span.bytes.end;
            if found.last().is_some_and(inside) {
                continue;
            }
            let site = self.sites.get(piece.pattern().as_usize()).copied();
            found.extend(site.and_then(|site| self.extended(text, site, piece.range())));
        }
        found.sort_by_key(|span| span.bytes.start);
        let mut apart: Vec<Span> = Vec::with_capacity(found.len());
        for span in found {
            match apart.last_mut() {
                Some(last) if span.bytes.start <= last.bytes.end => {
                    last.bytes.end = last.bytes.end.max(span.bytes.end);
                }
                _ => apart.push(span),
            }
        }
        apart
    }

    /// Compares what stands around a piece with the rest of its form; none if that is too little of it.
    fn extended(&self, text: &str, site: Site, piece: Range<usize>) -> Option<Span> {
        let form = self.forms.get(site.form)?;
        let bytes = text.as_bytes();
        let before = form.text.get(..site.at)?.iter().rev();
        let after = form.text.get(site.at + piece.len()..)?.iter();
        let back = alike(before, bytes.get(..piece.start)?.iter().rev());
        let on = alike(after, bytes.get(piece.end..)?.iter());
        let matched = back.of_form + piece.len() + on.of_form;
        if matched < form.text.len().min(LEAST_PART_BYTES) {
            return None;
        }
        let start = text.floor_char_boundary(piece.start - back.of_text);
        let end = text.ceil_char_boundary(piece.end + on.of_text);
        Some(Span { bytes: start..end, form: site.form })
    }

    fn replaced(&self, text: &str, spans: &[Span]) -> String {
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        for Span { bytes, form } in spans {
            out.push_str(text.get(from..bytes.start).unwrap_or_default());
            let name = self.forms.get(*form).map_or("secret", |form| form.name.as_str());
            out.push_str(&mark(name));
            from = bytes.end;
        }
        out.push_str(text.get(from..).unwrap_or_default());
        out
    }
}

/// Returns what stands in a text in the place of a secret.
fn mark(name: &str) -> String {
    format!("{MARK}{name}]")
}

/// How much of a form and of a text are alike.
#[derive(Clone, Copy, Default)]
struct Alike {
    of_form: usize,
    of_text: usize,
}

/// Compares a form with a text whatever the case, passing over ends of lines in the text.
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
