//! TOML with the lines of its keys.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::model::{DependencySource, Lines, ManifestError};

/// An entry of a table.
pub(super) struct Entry<'t, 'i> {
    pub(super) key: &'t str,
    /// The byte at which it begins.
    pub(super) at: usize,
    pub(super) value: &'t DeValue<'i>,
}

/// Parses a text.
pub(super) fn parse<'t>(text: &'t str, lines: &Lines) -> Result<DeTable<'t>, ManifestError> {
    DeTable::parse(text)
        .map(Spanned::into_inner)
        .map_err(|error| ManifestError {
            line: error.span().map_or(1, |span| lines.at(span.start)),
            message: error.message().to_owned(),
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
pub(super) fn text(table: Option<&DeTable<'_>>, key: &str) -> Option<String> {
    table?.get(key)?.get_ref().as_str().map(str::to_owned)
}

/// Reports whether a key is true.
pub(super) fn flag(table: Option<&DeTable<'_>>, key: &str) -> bool {
    table
        .and_then(|table| table.get(key)?.get_ref().as_bool())
        .unwrap_or(false)
}

/// Returns the texts of an array, each with the byte at which it begins.
pub(super) fn placed_texts(table: Option<&DeTable<'_>>, key: &str) -> Vec<(String, usize)> {
    let array = table.and_then(|table| table.get(key)?.get_ref().as_array());
    let texts = array.into_iter().flat_map(|array| array.iter());
    texts
        .filter_map(|value| Some((value.get_ref().as_str()?.to_owned(), value.span().start)))
        .collect()
}

/// Returns the texts of an array.
pub(super) fn texts(table: Option<&DeTable<'_>>, key: &str) -> Vec<String> {
    let placed = placed_texts(table, key).into_iter();
    placed.map(|(text, _)| text).collect()
}

/// Returns the entries of a table, in the order of the file.
pub(super) fn entries<'t, 'i>(table: Option<&'t DeTable<'i>>) -> Vec<Entry<'t, 'i>> {
    let entries = table.into_iter().flat_map(|table| table.iter());
    let mut entries: Vec<Entry<'t, 'i>> = entries
        .map(|(key, value)| Entry {
            key: key.get_ref().as_ref(),
            at: key.span().start,
            value: value.get_ref(),
        })
        .collect();
    entries.sort_unstable_by_key(|entry| entry.at);
    entries
}

/// Returns where a table says that a dependency comes from.
pub(super) fn source(table: Option<&DeTable<'_>>) -> DependencySource {
    if flag(table, "workspace") {
        return DependencySource::Workspace;
    }
    let path = text(table, "path").map(DependencySource::Path);
    let git = text(table, "git").map(DependencySource::Git);
    let url = text(table, "url").map(DependencySource::Url);
    path.or(git).or(url).unwrap_or_default()
}
