//! What a language's rules say of one node.

use tree_sitter::Node;

use super::{ItemKind, Visibility};
use crate::source::Source;

pub(super) const PUBLIC: Visibility = Visibility::Borrowed("public");
pub(super) const PRIVATE: Visibility = Visibility::Borrowed("private");

/// What a node is in the structure.
pub(super) enum Found<'n> {
    /// An item.
    Item(Draft<'n>),
    /// Something that may have items in it.
    Inside,
    /// Something around one item, whose docs stand before it.
    Wrapper,
    /// An attribute or a decorator, which may stand between docs and their item.
    Annotation,
    /// A comment.
    Comment,
    /// Nothing of interest.
    Nothing,
}

/// An item that was found.
pub(super) struct Draft<'n> {
    pub(super) kind: ItemKind,
    pub(super) name: String,
    /// The type that it belongs to, if it stands outside of it.
    pub(super) owner: Option<String>,
    pub(super) visibility: Visibility,
    /// Where its declaration begins, if not with the node.
    pub(super) begin: Option<Node<'n>>,
    /// What begins its signature, if not its own text.
    pub(super) prefix: &'static str,
    /// Documentation that stands in it.
    pub(super) doc: Option<String>,
    /// Whether it may have items in it.
    pub(super) has_items: bool,
}

impl<'n> Draft<'n> {
    /// Creates an item without anything in it.
    pub(super) fn new(
        kind: ItemKind,
        name: impl Into<String>,
        visibility: Visibility,
    ) -> Draft<'n> {
        let (name, owner, begin, doc) = (name.into(), None, None, None);
        Draft {
            kind,
            name,
            owner,
            visibility,
            begin,
            prefix: "",
            doc,
            has_items: false,
        }
    }

    /// The same, with items in it.
    pub(super) fn with_items(self) -> Draft<'n> {
        Draft {
            has_items: true,
            ..self
        }
    }
}

impl<'n> From<Draft<'n>> for Found<'n> {
    fn from(draft: Draft<'n>) -> Found<'n> {
        Found::Item(draft)
    }
}

/// Where a node stands.
pub(super) struct Place<'a, 't> {
    pub(super) source: &'a Source<'t>,
    /// The innermost item around it.
    pub(super) around: Option<Around<'a>>,
    /// Whether it is part of an export.
    pub(super) exported: bool,
}

/// An item around a node.
#[derive(Clone, Copy)]
pub(super) struct Around<'a> {
    pub(super) kind: ItemKind,
    pub(super) visibility: &'a str,
    /// The access specifier that holds from here on, as in C++.
    pub(super) access: Option<&'a str>,
}

impl Place<'_, '_> {
    /// Returns the text of a field of a node; empty without one.
    pub(super) fn field(&self, node: Node<'_>, field: &str) -> &str {
        node.child_by_field_name(field)
            .map(|child| self.source.text_of(child))
            .unwrap_or_default()
    }

    /// Reports whether it is a member of a type.
    pub(super) fn in_type(&self) -> bool {
        self.around
            .is_some_and(|around| around.kind != ItemKind::Module)
    }

    /// Returns what a function is here.
    pub(super) fn function(&self) -> ItemKind {
        if self.in_type() {
            ItemKind::Method
        } else {
            ItemKind::Function
        }
    }
}
