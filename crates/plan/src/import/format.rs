//! What a format of JSON is: fields by which a file is recognised, and what it makes of them.

use crate::formats::format::Claim;
use crate::import::assemble::Contents;
use crate::import::json::Json;
use crate::import::record::Reader;

/// The format of another tracker.
pub(crate) struct JsonFormat {
    /// The name that a check shows.
    pub(crate) name: &'static str,
    /// Says whether a file is its own, from its fields alone.
    pub(crate) claims: fn(&File<'_>) -> Claim,
    /// Makes records of what is in the file.
    pub(crate) read: for<'a> fn(&File<'a>, &mut Reader<'_>) -> Contents,
    /// A file of its kind, which is a test and a part of the documentation.
    pub(crate) example: &'static str,
}

/// The values of a file: one, or one for each line.
pub(crate) struct File<'a> {
    pub(crate) values: Vec<Json<'a>>,
}

impl<'a> File<'a> {
    /// Returns the only value, if it is an object.
    pub(crate) fn object(&self) -> Option<Json<'a>> {
        match self.values.as_slice() {
            [one] if one.is_object() => Some(*one),
            _ => None,
        }
    }

    /// Returns the items of the list that the file is, or the values of its lines.
    pub(crate) fn list(&self) -> Vec<Json<'a>> {
        match self.values.as_slice() {
            [one] => one.items(),
            lines => lines.to_vec(),
        }
    }

    /// Reports whether each line has a value of its own.
    pub(crate) fn has_lines(&self) -> bool {
        self.values.len() > 1
    }
}

/// Reports whether one of some objects has one of these fields.
pub(crate) fn have(items: &[Json<'_>], names: &[&str]) -> bool {
    let mut members = items.iter().flat_map(|item| item.members());
    members.any(|member| names.contains(&member.name))
}
