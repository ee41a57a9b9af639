//! Finds every form of every secret in a text in a few passes, and replaces what it finds.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::forms::{forms_of, skeletons_of};
use super::needles::{MOST_GAP_BYTES, Needles, PIECE_BYTES};
use super::secret::Secret;
use super::views::View;
use crate::text::{REDACTED, parts};

/// How many layers of escapes are decoded: text in JSON in a URL in JSON.
const MOST_LAYERS: usize = 3;

/// Why something cannot be recorded without its secrets, so that nothing of it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize, thiserror::Error)]
pub enum RedactionError {
    /// A secret is part of a field whose text must stay exact.
    #[error(
        "redact the secret {secret} in `{fields}`, where the text must stay exact, so nothing was \
         recorded; remove the secret from that text, or change the value of {secret}, and try again"
    )]
    Fixed {
        /// The fields that contain secrets, by their paths.
        fields: String,
        /// The name of the first secret.
        secret: String,
    },
    /// It cannot be converted to JSON to search it for secrets.
    #[error("look for secrets: {0}")]
    Unreadable(String),
}

/// Replaces the secrets of one run in texts; cheap to clone, and free if there are none.
#[derive(Clone, Default)]
pub struct Redactor(Option<Arc<Known>>);

struct Known {
    exact: Needles,
    /// The forms reduced to letters and digits, and secrets that are searched for only in that
    /// form.
    skeletons: Needles,
    /// The names of the secrets; forms refer to them by index.
    names: Vec<String>,
}

/// A field that contains a secret.
struct SecretField {
    field: String,
    secret: String,
}

/// A part of a text to be replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Span {
    bytes: Range<usize>,
    secret: usize,
}

impl Redactor {
    /// Creates the redactor of these secrets; those too short to distinguish from words are left
    /// out.
    pub fn new(secrets: impl IntoIterator<Item = Secret>) -> Self {
        let secrets: Vec<Secret> = secrets
            .into_iter()
            .filter(Secret::can_be_recognised)
            .collect();
        if secrets.is_empty() {
            return Self(None);
        }
        let mut forms = Vec::new();
        let mut skeletons = Vec::new();
        let mut names = Vec::new();
        for (at, secret) in secrets.into_iter().enumerate() {
            forms.extend(forms_of(at, &secret.value));
            skeletons.extend(skeletons_of(at, &secret.value));
            names.push(secret.name);
        }
        Self(Some(Arc::new(Known {
            exact: Needles::new(forms),
            skeletons: Needles::new(skeletons),
            names,
        })))
    }

    /// Reports whether there is nothing to redact.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the text with each secret replaced by `[redacted:NAME]`.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(known) = &self.0 else {
            return Cow::Borrowed(text);
        };
        let spans = known.spans(text);
        if spans.is_empty() {
            Cow::Borrowed(text)
        } else {
            Cow::Owned(known.replaced(text, &spans))
        }
    }

    /// Replaces the secrets in an owned text.
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
        known.names.get(first.secret).map(String::as_str)
    }

    /// Returns the name of a secret whose mark the text contains, so that the secret itself has
    /// been replaced.
    ///
    /// Such a text is for reading only: writing it to a file or running it as a command would
    /// change its meaning.
    pub fn mark_in(&self, text: &str) -> Option<&str> {
        let known = self.0.as_ref()?;
        let mut names = known.names.iter().map(String::as_str);
        if !text.contains(REDACTED) {
            return None;
        }
        names.find(|name| text.contains(&mark(name)))
    }

    /// Returns the value with the secrets in its strings and keys replaced.
    pub fn value(&self, value: Value) -> Value {
        if self.is_empty() {
            return value;
        }
        match value {
            Value::String(text) => Value::String(self.owned(text)),
            Value::Array(items) => items.into_iter().map(|item| self.value(item)).collect(),
            Value::Object(fields) => fields
                .into_iter()
                .map(|(name, value)| (self.owned(name), self.value(value)))
                .collect(),
            other => other,
        }
    }

    /// Returns a serializable value with the secrets in its texts replaced.
    ///
    /// # Errors
    ///
    /// Fails if a secret is part of a field that must stay exact, so that the value cannot be kept
    /// without it.
    pub fn all_of<T: Serialize + DeserializeOwned>(&self, whole: T) -> Result<T, RedactionError> {
        if self.is_empty() {
            return Ok(whole);
        }
        let value = serde_json::to_value(&whole)
            .map_err(|error| RedactionError::Unreadable(error.to_string()))?;
        let mut places = Vec::new();
        self.add_places(&value, "", &mut places);
        let Some(first) = places.first() else {
            return Ok(whole);
        };
        serde_json::from_value(self.value(value)).map_err(|_| {
            let fields: Vec<&str> = places.iter().map(|place| place.field.as_str()).collect();
            RedactionError::Fixed {
                fields: fields.join("`, `"),
                secret: first.secret.clone(),
            }
        })
    }

    /// Redacts the beginning of a growing text, leaving in it the end that may still become a
    /// secret.
    fn take_settled(&self, text: &mut String) -> String {
        let Some(known) = &self.0 else {
            return std::mem::take(text);
        };
        let mut end = text.floor_char_boundary(text.len().saturating_sub(self.longest()));
        if end == 0 {
            return String::new();
        }
        let mut spans = known.spans(text);
        // A match that reaches into the retained part stays there as a whole.
        if let Some(across) = spans.iter().find(|span| span.bytes.end > end) {
            end = end.min(across.bytes.start);
        }
        spans.retain(|span| span.bytes.end <= end);
        let rest = text.split_off(end);
        known.replaced(&std::mem::replace(text, rest), &spans)
    }

    /// Adds the fields of a value that contain secrets, each by its path.
    fn add_places(&self, value: &Value, path: &str, places: &mut Vec<SecretField>) {
        match value {
            Value::String(text) => self.add_place(text, path, places),
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.add_places(item, &below(path, &at.to_string()), places);
                }
            }
            Value::Object(fields) => {
                for (name, value) in fields {
                    let field = below(path, &self.text(name));
                    self.add_place(name, &field, places);
                    self.add_places(value, &field, places);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Adds a field if its text contains a secret.
    fn add_place(&self, text: &str, field: &str, places: &mut Vec<SecretField>) {
        if let Some(secret) = self.finds(text) {
            places.push(SecretField {
                field: field.to_owned(),
                secret: secret.to_owned(),
            });
        }
    }

    /// Returns the length of the longest form in bytes, gaps included.
    fn longest(&self) -> usize {
        let Some(known) = &self.0 else {
            return 0;
        };
        let mut longest = 0;
        for form in &known.exact.forms {
            longest = longest.max(form.text.len());
        }
        longest + longest / PIECE_BYTES * MOST_GAP_BYTES
    }
}

/// Shows only whether there are secrets.
impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.is_empty() {
            "Redactor of nothing"
        } else {
            "Redactor"
        })
    }
}

impl Known {
    /// Returns the parts to be replaced, in order and disjoint.
    fn spans(&self, text: &str) -> Vec<Span> {
        let mut found: Vec<Span> = Vec::new();
        let mut layer = Some(View::from_text(text));
        for _ in 0..=MOST_LAYERS {
            let Some(view) = layer else { break };
            self.look_at(&view, &mut found);
            layer = view.unescaped();
        }
        for span in &mut found {
            span.bytes =
                text.floor_char_boundary(span.bytes.start)..text.ceil_char_boundary(span.bytes.end);
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

    /// Searches a view for the secrets, and the same view without separators.
    fn look_at(&self, view: &View, found: &mut Vec<Span>) {
        look_for(&self.exact, view, found);
        if let Some(squeezed) = view.squeezed() {
            look_for(&self.exact, &squeezed, found);
        }
        look_for(&self.skeletons, &view.skeleton(), found);
        if let Some(numbers) = view.without_prefixes() {
            look_for(&self.skeletons, &numbers.skeleton(), found);
        }
        for column in view.columns().into_iter().flatten() {
            let squeezed = column.squeezed();
            look_for(&self.exact, squeezed.as_ref().unwrap_or(&column), found);
            look_for(&self.skeletons, &column.skeleton(), found);
        }
    }

    fn replaced(&self, text: &str, spans: &[Span]) -> String {
        let mut marks = Vec::new();
        for span in spans {
            let name = self.names.get(span.secret);
            let mark = mark(name.map_or("secret", String::as_str));
            marks.push((span.bytes.clone(), mark));
        }
        parts::replaced(text, marks)
    }
}

/// Adds the places of the text where these needles are in a view of it.
fn look_for(needles: &Needles, view: &View, found: &mut Vec<Span>) {
    for part in needles.found_in(&view.bytes) {
        let form = needles.forms.get(part.form);
        found.push(Span {
            bytes: view.source(&part.bytes),
            secret: form.map_or(usize::MAX, |form| form.secret),
        });
    }
}

/// Returns the path of a field below a path.
fn below(path: &str, field: &str) -> String {
    if path.is_empty() {
        field.to_owned()
    } else {
        format!("{path}.{field}")
    }
}

/// Returns the mark that replaces a secret.
fn mark(name: &str) -> String {
    format!("{REDACTED}{name}]")
}

/// Retains the end of a text that may be the beginning of a secret.
#[derive(Debug)]
pub struct RedactedStream {
    redactor: Redactor,
    held: String,
}

impl RedactedStream {
    /// Creates the stream of one text.
    pub fn new(redactor: &Redactor) -> Self {
        Self {
            redactor: redactor.clone(),
            held: String::new(),
        }
    }

    /// Adds the next piece, and returns the text that can be shown now.
    #[must_use]
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        self.redactor.take_settled(&mut self.held)
    }

    /// Returns the retained rest at the end of the text.
    #[must_use]
    pub fn finish(&mut self) -> String {
        self.redactor.owned(std::mem::take(&mut self.held))
    }
}
