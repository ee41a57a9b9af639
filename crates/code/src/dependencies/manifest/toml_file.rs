//! TOML with the lines of its keys.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::lines::Lines;
use super::model::ManifestError;

/// Parses a text.
pub(super) fn parse<'t>(text: &'t str, lines: &Lines) -> Result<DeTable<'t>, ManifestError> {
    DeTable::parse(text)
        .map(Spanned::into_inner)
        .map_err(|error| {
            let line = error.span().map_or(1, |span| lines.at(span.start));
            ManifestError {
                line,
                message: error.message().to_owned(),
            }
        })
}

/// Returns the table at a path of keys.
pub(super) fn table<'t, 'i>(table: &'t DeTable<'i>, keys: &[&str]) -> Option<&'t DeTable<'i>> {
    let mut found = table;
    for key in keys {
        found = found.get(*key)?.get_ref().as_table()?;
    }
    Some(found)
}

/// Returns the text of a key.
pub(super) fn text(table: &DeTable<'_>, key: &str) -> Option<String> {
    table.get(key)?.get_ref().as_str().map(str::to_owned)
}

/// Returns whether a key is true.
pub(super) fn flag(table: &DeTable<'_>, key: &str) -> bool {
    table
        .get(key)
        .and_then(|value| value.get_ref().as_bool())
        .unwrap_or(false)
}

/// Returns the texts of an array, each with its byte.
pub(super) fn placed_texts(table: &DeTable<'_>, key: &str) -> Vec<(String, usize)> {
    let array = table.get(key).and_then(|value| value.get_ref().as_array());
    let texts = array.into_iter().flat_map(|array| array.iter());
    texts
        .filter_map(|value| Some((value.get_ref().as_str()?.to_owned(), value.span().start)))
        .collect()
}

/// Returns the texts of an array.
pub(super) fn texts(table: &DeTable<'_>, key: &str) -> Vec<String> {
    placed_texts(table, key)
        .into_iter()
        .map(|(text, _)| text)
        .collect()
}

/// Returns the entries of a table, in the order of the file.
pub(super) fn entries<'t, 'i>(table: &'t DeTable<'i>) -> Vec<(&'t str, usize, &'t DeValue<'i>)> {
    let mut entries: Vec<_> = table
        .iter()
        .map(|(key, value)| (key.get_ref().as_ref(), key.span().start, value.get_ref()))
        .collect();
    entries.sort_unstable_by_key(|(_, at, _)| *at);
    entries
}
