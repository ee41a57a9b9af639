//! What files declare.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::language::Language;
use crate::syntax_errors::SyntaxErrors;

/// The structure of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeStructure {
    /// The language that it was read in.
    pub language: Language,
    /// The number of lines.
    pub lines: usize,
    /// What it declares, in its order.
    pub items: Vec<Item>,
    /// Where it is not valid; what is around these places may be missing.
    pub syntax_errors: SyntaxErrors,
}

/// Something that a file declares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// What it is.
    pub kind: ItemKind,
    /// The name, without that of what it is in.
    pub name: String,
    /// The names of what it is in, from the outermost, joined by `.`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// How many items it is in.
    #[serde(skip)]
    pub depth: usize,
    /// The number of the first line, from 1.
    pub line: usize,
    /// The number of the last line.
    pub end_line: usize,
    /// Who may use it.
    pub visibility: Visibility,
    /// The declaration without its body, on one line.
    pub signature: String,
    /// The first paragraph of its documentation, on one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doc: Option<String>,
}

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ItemKind {
    /// A module, a namespace or a package.
    Module,
    /// A class.
    Class,
    /// A record of fields.
    Struct,
    /// A union of fields.
    Union,
    /// An enumeration.
    Enum,
    /// A trait.
    Trait,
    /// An interface.
    Interface,
    /// An implementation of a type's functions.
    Impl,
    /// Another name of a type, or a concept.
    Type,
    /// A function, or the declaration of one.
    Function,
    /// A function of a type.
    Method,
    /// What creates a value of a class.
    Constructor,
    /// A constant.
    Constant,
    /// A variable of a module.
    Variable,
    /// A macro.
    Macro,
}

/// Who may use an item, in words of its language: `public`, `private`, `protected`, `package`,
/// `pub(crate)`, or `inherited` from the trait that it belongs to.
pub type Visibility = Cow<'static, str>;

/// A structure with its first items alone.
#[derive(Serialize)]
struct Outline<'s> {
    language: Language,
    lines: usize,
    items: &'s [Item],
    syntax_errors: &'s SyntaxErrors,
}

impl CodeStructure {
    /// Returns it as JSON, with at most so many of its items.
    #[must_use]
    pub fn to_json(&self, most_items: usize) -> Value {
        let CodeStructure {
            language,
            lines,
            items,
            syntax_errors,
        } = self;
        let items = items.get(..most_items).unwrap_or(items);
        json!(Outline {
            language: *language,
            lines: *lines,
            items,
            syntax_errors
        })
    }
}

pub(super) fn memory_of_texts(item: &Item) -> usize {
    let [within, doc] = [&item.within, &item.doc].map(|text| text.as_ref().map_or(0, String::len));
    item.name.len() + item.signature.len() + item.visibility.len() + within + doc
}
