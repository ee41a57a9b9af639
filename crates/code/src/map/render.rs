//! The text of a map: folders, their files, and lines of definitions.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::index::IndexedDefinition;

/// Stands after a file of which more is left out.
const LEFT_OUT: &str = " ⋮";

/// A file that a map shows.
pub(super) struct Shown<'f> {
    pub(super) path: &'f str,
    /// Everything that it declares.
    pub(super) all: &'f [IndexedDefinition],
    /// What of it is shown.
    pub(super) definitions: BTreeSet<usize>,
}

impl Shown<'_> {
    fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }
}

/// Returns the text of a map; files of one folder stand below it.
pub(super) fn render(mut shown: Vec<Shown<'_>>) -> String {
    shown.sort_by(|one, other| (one.folder(), one.path).cmp(&(other.folder(), other.path)));
    let mut text = String::new();
    for files in shown.chunk_by(|one, other| one.folder() == other.folder()) {
        match files {
            [one] => file(&mut text, one.path, one, ""),
            [first, ..] if first.folder().is_empty() => {
                for one in files {
                    file(&mut text, one.path, one, "");
                }
            }
            [first, ..] => {
                // Writing to a text never fails.
                let _ = writeln!(text, "{}/", first.folder());
                for one in files {
                    file(
                        &mut text,
                        one.path.rsplit('/').next().unwrap_or(one.path),
                        one,
                        " ",
                    );
                }
            }
            [] => {}
        }
    }
    text
}

fn file(text: &mut String, name: &str, shown: &Shown<'_>, indent: &str) {
    let left_out = if shown.definitions.len() < shown.all.len() {
        LEFT_OUT
    } else {
        ""
    };
    let _ = writeln!(text, "{indent}{name}{left_out}");
    for at in &shown.definitions {
        let Some(definition) = shown.all.get(*at) else {
            continue;
        };
        let depth = " ".repeat(depth(shown.all, *at));
        let _ = writeln!(
            text,
            "{indent} {}: {depth}{}",
            definition.line, definition.signature
        );
    }
}

/// Returns the number of definitions around one.
fn depth(all: &[IndexedDefinition], at: usize) -> usize {
    let parent = |at: &usize| {
        all.get(*at)
            .and_then(|inner| inner.parent)
            .filter(|parent| parent < at)
    };
    std::iter::successors(parent(&at), parent).count()
}
