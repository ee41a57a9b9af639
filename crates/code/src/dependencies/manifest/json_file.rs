//! JSON as programs for JavaScript read it, with comments and commas before ends, and the lines of
//! its keys.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::lines::Lines;
use super::model::ManifestError;

/// A parsed object.
pub(super) struct Json {
    pub(super) root: Map<String, Value>,
    /// The lines of the keys of the objects that are values of the root's keys.
    lines: BTreeMap<(String, String), usize>,
}

impl Json {
    /// Parses a text.
    pub(super) fn parse(text: &str) -> Result<Json, ManifestError> {
        let scanned = Scan::from_text(text);
        match serde_json::from_str(&scanned.clean) {
            Ok(Value::Object(root)) => Ok(Json {
                root,
                lines: scanned.keys,
            }),
            Ok(_) => Err(ManifestError {
                line: 1,
                message: "not an object".to_owned(),
            }),
            Err(error) => {
                let message = error.to_string();
                let message = message
                    .split(" at line ")
                    .next()
                    .unwrap_or_default()
                    .to_owned();
                Err(ManifestError {
                    line: error.line(),
                    message,
                })
            }
        }
    }

    /// Returns the entries of an object of texts, each with its line.
    pub(super) fn texts_of(&self, section: &str) -> Vec<(&str, &str, usize)> {
        let object = self.root.get(section).and_then(Value::as_object);
        let entries = object.into_iter().flat_map(|object| object.iter());
        entries
            .filter_map(|(key, value)| {
                let line = self
                    .lines
                    .get(&(section.to_owned(), key.clone()))
                    .copied()
                    .unwrap_or(1);
                Some((key.as_str(), value.as_str()?, line))
            })
            .collect()
    }

    /// Returns a text of the root.
    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.root.get(key).and_then(Value::as_str)
    }
}

/// A pass over a text.
struct Scan {
    /// The same text without comments and without commas before ends.
    clean: String,
    keys: BTreeMap<(String, String), usize>,
}

impl Scan {
    fn from_text(text: &str) -> Scan {
        let lines = Lines::from_text(text);
        let (mut clean, mut keys) = (String::with_capacity(text.len()), BTreeMap::new());
        let (mut depth, mut at) = (0_usize, 0_usize);
        let mut section = String::new();
        // The place of a comma after which only white space has followed.
        let mut comma = None;
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let first = rest.chars().next().unwrap_or_default();
            let skipped = comment(rest);
            if skipped > 0 {
                // Line ends stay, so that errors have their line.
                clean.extend(
                    rest.get(..skipped)
                        .unwrap_or_default()
                        .chars()
                        .filter(|c| *c == '\n'),
                );
                at += skipped;
                continue;
            }
            let length = if first == '"' {
                string_length(rest)
            } else {
                first.len_utf8()
            };
            let token = rest.get(..length).unwrap_or(rest);
            match first {
                '{' | '[' => depth += 1,
                '}' | ']' => {
                    depth = depth.saturating_sub(1);
                    if let Some(place) = comma {
                        clean.replace_range(place..place + 1, " ");
                    }
                }
                '"' if is_key(rest.get(length..).unwrap_or_default()) => {
                    let key: String = serde_json::from_str(token).unwrap_or_default();
                    match depth {
                        1 => section = key,
                        2 => {
                            keys.entry((section.clone(), key)).or_insert(lines.at(at));
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
            comma = match first {
                ',' => Some(clean.len()),
                _ if first.is_whitespace() => comma,
                _ => None,
            };
            clean.push_str(token);
            at += token.len().max(1);
        }
        Scan { clean, keys }
    }
}

/// Returns the length of the comment at the begin of a text; 0 if there is none.
fn comment(rest: &str) -> usize {
    if rest.starts_with("//") {
        rest.find('\n').unwrap_or(rest.len())
    } else if rest.starts_with("/*") {
        rest.find("*/").map_or(rest.len(), |end| end + 2)
    } else {
        0
    }
}

/// Returns the length of the string at the begin of a text.
fn string_length(rest: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in rest.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

fn is_key(after: &str) -> bool {
    after.trim_start().starts_with(':')
}
