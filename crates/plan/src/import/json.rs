//! Values of a JSON text, each with its place in the source.
//!
//! A value is a slice of the source that is split on demand, one level at a time; so nothing
//! recurses, however deeply a hostile text nests.

use std::fmt;
use std::ops::Range;

use orchestrate_core::text::invisible::without_hidden;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The depth to which lists and objects are written out as prose; below it stands their JSON.
const MAX_PROSE_DEPTH: usize = 3;

/// A valid JSON value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Json<'a> {
    raw: &'a str,
    /// The byte offset of its first character in the source.
    pub(crate) offset: usize,
}

/// One member of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member<'a> {
    /// The name as written, without its quotes.
    pub(crate) name: &'a str,
    pub(crate) value: Json<'a>,
}

/// The place and the reason of a syntax error.
pub(crate) struct Malformed {
    pub(crate) offset: usize,
    pub(crate) reason: String,
}

impl<'a> Json<'a> {
    /// Reads a text that begins at an offset of the source.
    pub(crate) fn read(text: &'a str, offset: usize) -> Result<Self, Malformed> {
        let outer = Self { raw: text, offset };
        match serde_json::from_str::<&RawValue>(text) {
            Ok(value) => Ok(outer.inner(value)),
            Err(error) => {
                let lines = text
                    .split_inclusive('\n')
                    .take(error.line().saturating_sub(1));
                let at = lines.map(str::len).sum::<usize>() + error.column().saturating_sub(1);
                let said = error.to_string();
                let reason = said
                    .split(" at line ")
                    .next()
                    .unwrap_or_default()
                    .to_owned();
                Err(Malformed {
                    offset: offset + text.floor_char_boundary(at),
                    reason,
                })
            }
        }
    }

    fn inner(self, value: &'a RawValue) -> Self {
        let raw = value.get();
        Self {
            raw,
            offset: self.offset + (raw.as_ptr().addr() - self.raw.as_ptr().addr()),
        }
    }

    /// Returns the value's bytes in the source.
    pub(crate) fn range(self) -> Range<usize> {
        self.offset..self.offset + self.raw.len()
    }

    /// Returns the value as written.
    pub(crate) fn raw(self) -> &'a str {
        self.raw
    }

    pub(crate) fn is_object(self) -> bool {
        self.raw.starts_with('{')
    }

    pub(crate) fn is_array(self) -> bool {
        self.raw.starts_with('[')
    }

    pub(crate) fn is_null(self) -> bool {
        self.raw == "null"
    }

    /// Returns the members of an object in their order; empty for any other value.
    pub(crate) fn members(self) -> Vec<Member<'a>> {
        let entries = serde_json::from_str::<Entries<'a>>(self.raw)
            .map(|entries| entries.0)
            .unwrap_or_default();
        let member = |(name, value): (&'a RawValue, &'a RawValue)| {
            let quoted = name.get();
            let name = quoted
                .strip_prefix('"')
                .and_then(|name| name.strip_suffix('"'))
                .unwrap_or(quoted);
            Member {
                name,
                value: self.inner(value),
            }
        };
        entries.into_iter().map(member).collect()
    }

    /// Returns the member of an object with this name.
    pub(crate) fn member(self, name: &str) -> Option<Self> {
        self.members()
            .into_iter()
            .find(|member| member.name == name)
            .map(|member| member.value)
    }

    /// Returns the items of an array; empty for any other value.
    pub(crate) fn items(self) -> Vec<Self> {
        let items = serde_json::from_str::<Vec<&'a RawValue>>(self.raw).unwrap_or_default();
        items.into_iter().map(|item| self.inner(item)).collect()
    }

    /// Returns the text of a string as it is shown, without control and hidden characters.
    pub(crate) fn text(self) -> Option<String> {
        let text: String = serde_json::from_str(self.raw).ok()?;
        if text.bytes().all(is_plain) {
            return Some(text);
        }
        Some(
            without_hidden(&text)
                .chars()
                .filter(|c| matches!(c, '\n' | '\t') || !c.is_control())
                .collect(),
        )
    }

    /// Returns a string, a number or a truth value as text.
    pub(crate) fn word(self) -> Option<String> {
        let is_compound = self.is_object() || self.is_array() || self.is_null();
        if self.raw.starts_with('"') {
            self.text()
        } else {
            (!is_compound).then(|| self.raw.to_owned())
        }
    }

    /// Returns the value for a reader: a list as bullets, an object as a line for each member.
    pub(crate) fn prose(self) -> String {
        self.prose_at(0)
    }

    fn prose_at(self, depth: usize) -> String {
        if let Some(word) = self.word() {
            return word.trim().to_owned();
        }
        if self.is_null() {
            return String::new();
        }
        if depth >= MAX_PROSE_DEPTH {
            return self.raw.to_owned();
        }
        let of_items = self
            .items()
            .into_iter()
            .map(|item| format!("- {}", indented(&item.prose_at(depth + 1))));
        let of_members = self.members().into_iter().map(|member| {
            let text = member.value.prose_at(depth + 1);
            let separator = if text.contains('\n') { "\n  " } else { " " };
            format!("{}:{separator}{}", member.name, indented(&text))
        });
        of_items.chain(of_members).collect::<Vec<_>>().join("\n")
    }
}

fn is_plain(byte: u8) -> bool {
    byte == b'\n' || byte == b'\t' || (byte.is_ascii() && !byte.is_ascii_control())
}

/// Indents every line after the first, so that it belongs to a bullet.
fn indented(text: &str) -> String {
    text.replace('\n', "\n  ")
}

/// The members of an object as slices of the text.
struct Entries<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor).map(Entries)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Vec<(&'de RawValue, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(entries)
    }
}
