//! Divides the Markdown files of roles and skills into YAML front matter and body, and parses the
//! former. Other products write these files, with byte order marks and any line ends.

use serde::Deserialize;
use serde_json::Value;

use orchestrate_plan::yaml::{self, Entry, Mapping, NotMapping};

/// The front matter of a file, with the lines of its keys.
#[derive(Default)]
pub(crate) struct Front {
    entries: Vec<Entry>,
    text: String,
}

/// A front matter whose `metadata` is a mapping.
#[derive(Deserialize)]
struct WithMetadata {
    metadata: Mapping,
}

impl Front {
    /// Parses the text between the `---` lines.
    ///
    /// # Errors
    /// The text is not a YAML mapping.
    pub(crate) fn parse(text: &str) -> Result<Self, NotMapping> {
        let entries = yaml::read(text).map_err(NotMapping::below_a_line)?;
        Ok(Self {
            entries: yaml::entries(entries, 0),
            text: text.to_owned(),
        })
    }

    /// Returns the top-level keys in the order of the file.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the value of a top-level key, unless it is null.
    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        Some(&entry.value).filter(|value| !value.is_null())
    }

    /// Returns the line of a key, or of one below `metadata`, in the file, from 1.
    pub(crate) fn line(&self, key: &str) -> usize {
        let in_text = line_among(&self.entries, key);
        // Few lines below `metadata` are asked for, so they are read only then.
        let found = in_text.or_else(|| line_among(&entries_of_metadata(&self.text), key));
        // The file's first line opens the front matter.
        found.map_or(1, |line| line + 1)
    }
}

fn line_among(entries: &[Entry], key: &str) -> Option<usize> {
    let entry = entries.iter().find(|entry| entry.key == key)?;
    Some(entry.line)
}

/// Returns the keys below `metadata`, or none if that is not a mapping.
fn entries_of_metadata(text: &str) -> Vec<Entry> {
    let below = yaml::read(text).map(|WithMetadata { metadata }| metadata);
    below.map_or(Vec::new(), |below| yaml::entries(below, 0))
}

/// Returns a file's text without a byte order mark, with `\n` as the line end.
pub(crate) fn normalized(text: &str) -> String {
    text.trim_start_matches('\u{feff}').replace("\r\n", "\n")
}

/// Splits a file into front matter and body, which may contain `---` lines; `None` if the front
/// matter is not closed.
pub(crate) fn split(text: &str) -> Option<(Option<&str>, &str)> {
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else {
        return Some((None, text));
    };
    let mut end = first.len();
    for line in lines {
        if line.trim_end() == "---" {
            let (before, from_line) = text.split_at(end);
            let (_, body) = from_line.split_at(line.len());
            return Some((before.strip_prefix(first), body));
        }
        end += line.len();
    }
    None
}

/// Returns a text or a number as text.
pub(crate) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}
