//! What one file declares, and the names that it refers to.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};
use tree_sitter::Node;

use crate::analysis::FileAnalysis;
use crate::error::CodeError;
use crate::language::Language;
use crate::source::{Source, Stop};
use crate::structure::{CodeStructure, Item, ItemKind, cut};
use crate::walk::{Step, Visitor, walk};

/// Maximum number of characters of a signature: what a line of a map is worth.
const MAX_SIGNATURE: usize = 120;
/// Lengths of names in bytes; shorter ones say nothing, and longer ones are generated.
const NAME_BYTES: std::ops::RangeInclusive<usize> = 3..=100;
/// Maximum number of different names that a file refers to; more are generated code.
const MAX_NAMES: usize = 5_000;
/// Maximum number of definitions of a file; more are generated code.
const MAX_DEFINITIONS: usize = 2_000;
/// After so many questions whether to stop, a file is given up: some parsers recover from errors in
/// quadratic time.
const MAX_ASKED: usize = 5_000;

/// What one file declares, and the names that it refers to: a function of its language and its
/// text.
///
/// Its texts are of the type `S`: borrowed where they are read again and not kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tags<S = String> {
    /// What it declares, in its order.
    pub definitions: Vec<Definition<S>>,
    /// How often it refers to each name, ordered by name.
    pub references: Vec<(S, u32)>,
}

/// A text of tags that is borrowed from what they are read from, if it stands there as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagText<'a>(#[serde(borrow)] Cow<'a, str>);

impl AsRef<str> for TagText<'_> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl<S> Default for Tags<S> {
    fn default() -> Self {
        Self {
            definitions: Vec::new(),
            references: Vec::new(),
        }
    }
}

/// Something that a file declares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition<S = String> {
    /// The name by which it is referred to; empty for what is only around others, such as a module.
    pub name: S,
    /// The number of its line, from 1.
    pub line: usize,
    /// The index of the definition that it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<usize>,
    /// Whether it is meant for its own file or type.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub private: bool,
    /// The declaration without its body, on one line.
    pub signature: S,
}

impl Tags {
    /// Is raised with every change of what tags contain, also by a grammar: those of another
    /// version are not used.
    pub const VERSION: u32 = 2;

    /// Finds the tags of a text. One whose parse does not come to an end has none.
    ///
    /// # Errors
    /// As [`Source::parse`].
    pub fn find(language: Language, text: &str, stop: Stop<'_>) -> Result<Tags, CodeError> {
        let asked = AtomicUsize::new(0);
        let within = || asked.fetch_add(1, Ordering::Relaxed) > MAX_ASKED || stop();
        match Source::parse(language, text, &within)
            .and_then(|source| Tags::of_source(&source, &within))
        {
            Err(CodeError::Stopped) if !stop() => Ok(Tags::default()),
            other => other,
        }
    }

    /// Finds the tags of a parsed text.
    ///
    /// # Errors
    /// [`CodeError::Stopped`] if `stop` said so.
    pub fn of_source(source: &Source<'_>, stop: Stop<'_>) -> Result<Tags, CodeError> {
        let definitions = definitions(&CodeStructure::analyze(source, stop)?.items);
        let mut names = Names {
            source,
            found: BTreeMap::new(),
        };
        walk(source.root(), &mut names, stop)?;
        let mut references = names.found;
        // Each definition was counted with the uses of its name.
        for definition in &definitions {
            if let Some(count) = references.get_mut(definition.name.as_str()) {
                *count = count.saturating_sub(1);
            }
        }
        references.retain(|_, count| *count > 0);
        let references = references
            .into_iter()
            .map(|(name, count)| (name.to_owned(), count))
            .collect();
        Ok(Tags {
            definitions,
            references,
        })
    }
}

fn definitions(items: &[Item]) -> Vec<Definition> {
    // The indices of the items around the next one, the outermost first.
    let mut around: Vec<usize> = Vec::new();
    let mut definitions = Vec::new();
    for (at, item) in items.iter().take(MAX_DEFINITIONS).enumerate() {
        around.truncate(item.depth);
        definitions.push(Definition {
            name: referred_name(item),
            line: item.line,
            parent: around.last().copied(),
            private: item.visibility == "private",
            signature: cut(&item.signature, MAX_SIGNATURE),
        });
        around.push(at);
    }
    definitions
}

/// Returns the name by which an item is referred to.
fn referred_name(item: &Item) -> String {
    if matches!(item.kind, ItemKind::Module | ItemKind::Impl) {
        return String::new();
    }
    let name = item.name.trim_end_matches('!');
    let name = name.rsplit(['.', ':']).next().unwrap_or(name);
    if NAME_BYTES.contains(&name.len()) {
        name.to_owned()
    } else {
        String::new()
    }
}

/// Counts the names in a tree.
struct Names<'s, 't> {
    source: &'s Source<'t>,
    found: BTreeMap<&'t str, u32>,
}

impl<'n> Visitor<'n> for Names<'_, '_> {
    fn enter(&mut self, node: Node<'n>, _: Option<&'n str>) -> Step {
        if node.child_count() == 0 && node.is_named() && is_name(node.kind()) {
            let name = self.source.text_of(node);
            if let Some(count) = self.found.get_mut(name) {
                *count = count.saturating_add(1);
            } else if NAME_BYTES.contains(&name.len()) && self.found.len() < MAX_NAMES {
                self.found.insert(name, 1);
            }
        }
        Step::Into
    }
}

/// Reports whether a leaf of this kind is a name; a word is one in scripts.
fn is_name(kind: &str) -> bool {
    kind.ends_with("identifier") || kind.ends_with("identifier_pattern") || kind == "word"
}
