//! Mappings of YAML, with the places of their keys and values.
//!
//! The one reader of front matter: of plans, roles and skills. Other products write it, with
//! descriptions that are not quite YAML.

use std::collections::HashMap;
use std::ops::Range;

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_saphyr::{Error, Location, Spanned};

/// The maximum number of words of another template's key.
const MAX_KEY_WORDS: usize = 3;

/// The keys whose values are prose, which other products read to the end of the line.
const PROSE: &[&str] = &["name", "description"];

/// A mapping, each of whose keys and values has a place.
pub type Mapping = HashMap<Spanned<String>, Spanned<Value>>;

/// A key with its value.
pub struct Entry {
    /// The key.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// The line of the key, from 1.
    pub line: usize,
    /// Where the key begins, in bytes.
    pub at: usize,
    /// The place of a value of one word, as written.
    pub place: Range<usize>,
}

/// Why a text is not what it should be.
pub struct NotMapping {
    /// The line, from 1.
    pub line: usize,
    /// The parser's message.
    pub reason: String,
    /// Whether the text stands for more values than anybody writes, as aliases of aliases do.
    pub is_bomb: bool,
}

/// Reads a text; if it is no YAML as written, with quotes around the values that need them.
///
/// # Errors
/// It is no YAML, or not of this type.
pub fn read<T: DeserializeOwned>(text: &str) -> Result<T, NotMapping> {
    serde_saphyr::from_str(text).or_else(|error| {
        if is_bomb(&error) {
            return Err(NotMapping::new(&error));
        }
        let quoted: String = text.split_inclusive('\n').map(with_quotes).collect();
        // The error describes the text as written, not the quoted one.
        serde_saphyr::from_str(&quoted).map_err(|_| NotMapping::new(&error))
    })
}

/// Returns the keys of a mapping in the order of the text, which begins at an offset.
pub fn entries(mapping: Mapping, offset: usize) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (key, value) in mapping {
        entries.push(Entry {
            line: line_of(&key.referenced),
            at: place_of(&key.referenced, offset).start,
            place: place_of(&value.defined, offset),
            key: key.value,
            value: value.value,
        });
    }
    entries.sort_by_key(|entry| entry.at);
    entries
}

/// Returns the line of a place, from 1.
fn line_of(location: &Location) -> usize {
    usize::try_from(location.line()).unwrap_or(1)
}

/// Returns the bytes of a place in a text that begins at an offset.
pub(crate) fn place_of(location: &Location, offset: usize) -> Range<usize> {
    let span = location.span();
    let start = offset + bytes(span.byte_offset());
    start..start + bytes(span.byte_len())
}

fn bytes(count: Option<u64>) -> usize {
    count.map_or(0, |count| usize::try_from(count).unwrap_or(0))
}

impl NotMapping {
    /// Describes an error of the parser without its own place.
    fn new(error: &Error) -> Self {
        let said = error.to_string();
        let reason = said.lines().next().unwrap_or(&said);
        let reason = reason.trim_start_matches("error: ");
        let reason = match reason.split_once(": ") {
            Some((place, why)) if place.starts_with("line ") => why,
            _ => reason,
        };
        // What the library says to programs is no advice for whoever has written the plan.
        let reason = reason
            .split(", set DuplicateKeyPolicy")
            .next()
            .unwrap_or(reason);
        Self {
            line: error.location().map_or(1, |location| line_of(&location)),
            reason: reason.to_owned(),
            is_bomb: is_bomb(error),
        }
    }

    /// Counts the line that opens the front matter, too.
    pub fn below_a_line(self) -> Self {
        Self {
            line: self.line + 1,
            ..self
        }
    }
}

fn is_bomb(error: &Error) -> bool {
    match error {
        Error::AliasError { error, .. } | Error::WithSnippet { error, .. } => is_bomb(error),
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => true,
        _ => false,
    }
}

/// Returns the key that a line begins with, if it is simple enough for one: Markdown begins
/// otherwise.
pub(crate) fn key_at_head(line: &str) -> Option<&str> {
    let (key, value) = line.split_once(':')?;
    let key = key.trim_end().trim_matches(['"', '\'']);
    let is_key = key.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        && key.chars().all(is_simple)
        && !key.contains(". ")
        && key.split(' ').count() <= MAX_KEY_WORDS;
    (is_key && begins_value(value)).then_some(key)
}

/// Reports whether what stands after a colon makes that the end of a key.
pub(crate) fn begins_value(text: &str) -> bool {
    text.is_empty() || text.starts_with([' ', '\t', '\r', '\n'])
}

fn is_simple(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ' ')
}

/// Returns a line, with the plain value of a key between quotes if it has a colon in it. A comment
/// stays one: as a part of `disallowedTools` it would change which tool is forbidden.
fn with_quotes(line: &str) -> String {
    let (Some(key), Some((head, value))) = (key_at_head(line), line.split_once(": ")) else {
        return line.to_owned();
    };
    let is_prose = PROSE.contains(&key);
    let value = match is_prose {
        true => value,
        false => value.split(" #").next().unwrap_or(value),
    };
    let value = value.trim();
    let is_text = !value.starts_with(['"', '\'', '[', '{', '|', '>', '&', '*']);
    let has_colon = value.contains(": ") || value.ends_with(':');
    let has_sign = value.starts_with(['!', '%', '@', '`', '#']);
    match is_text && (is_prose || has_colon && !has_sign) {
        true => format!("{head}: {}\n", Value::from(value)),
        false => line.to_owned(),
    }
}
