//! Items of Java.

use tree_sitter::Node;

use super::found::{Draft, Found, PRIVATE, PUBLIC, Place};
use super::{ItemKind, Visibility};
use crate::walk::named_children;

const PACKAGE: Visibility = Visibility::Borrowed("package");
const PROTECTED: Visibility = Visibility::Borrowed("protected");

/// Returns what a node is.
pub(super) fn describe<'n>(node: Node<'n>, place: &Place<'_, '_>) -> Found<'n> {
    let kind = match node.kind() {
        "program"
        | "class_body"
        | "interface_body"
        | "enum_body"
        | "enum_body_declarations"
        | "annotation_type_body"
        | "ERROR" => return Found::Inside,
        "block_comment" | "line_comment" => return Found::Comment,
        "package_declaration" => return package(node, place),
        "field_declaration" | "constant_declaration" => return constant(node, place),
        "class_declaration" => ItemKind::Class,
        "record_declaration" => ItemKind::Struct,
        "interface_declaration" | "annotation_type_declaration" => ItemKind::Interface,
        "enum_declaration" => ItemKind::Enum,
        "method_declaration" | "annotation_type_element_declaration" => ItemKind::Method,
        "constructor_declaration" | "compact_constructor_declaration" => ItemKind::Constructor,
        _ => return Found::Nothing,
    };
    let begin = declaration_begin(node);
    let draft = Draft {
        begin,
        ..Draft::new(kind, place.field(node, "name"), visibility(node, place))
    };
    match kind {
        ItemKind::Method | ItemKind::Constructor => draft.into(),
        _ => draft.with_items().into(),
    }
}

fn package<'n>(node: Node<'n>, place: &Place<'_, '_>) -> Found<'n> {
    let name = named_children(node)
        .into_iter()
        .rfind(|child| child.kind().ends_with("identifier"));
    Draft::new(
        ItemKind::Module,
        name.map(|name| place.source.text_of(name))
            .unwrap_or_default(),
        PUBLIC,
    )
    .into()
}

fn constant<'n>(node: Node<'n>, place: &Place<'_, '_>) -> Found<'n> {
    let modifiers = modifiers(node)
        .map(|modifiers| place.source.text_of(modifiers))
        .unwrap_or_default();
    let has = |word: &str| modifiers.split_whitespace().any(|other| other == word);
    let Some(declarator) = node.child_by_field_name("declarator") else {
        return Found::Nothing;
    };
    if node.kind() == "field_declaration" && !(has("static") && has("final")) {
        return Found::Nothing;
    }
    let begin = declaration_begin(node);
    let name = place.field(declarator, "name");
    Found::Item(Draft {
        begin,
        ..Draft::new(ItemKind::Constant, name, visibility(node, place))
    })
}

fn modifiers(node: Node<'_>) -> Option<Node<'_>> {
    node.child(0).filter(|child| child.kind() == "modifiers")
}

/// Returns where a declaration begins after its annotations.
pub(crate) fn declaration_begin(node: Node<'_>) -> Option<Node<'_>> {
    let modifiers = modifiers(node)?;
    let mut cursor = modifiers.walk();
    let own = modifiers
        .children(&mut cursor)
        .find(|child| !child.kind().ends_with("annotation"));
    own.or_else(|| node.child(1))
}

fn visibility(node: Node<'_>, place: &Place<'_, '_>) -> Visibility {
    let words = modifiers(node)
        .map(|modifiers| place.source.text_of(modifiers))
        .unwrap_or_default();
    let in_interface = place
        .around
        .is_some_and(|around| around.kind == ItemKind::Interface);
    for word in words.split_whitespace() {
        match word {
            "public" => return PUBLIC,
            "protected" => return PROTECTED,
            "private" => return PRIVATE,
            _ => {}
        }
    }
    if in_interface { PUBLIC } else { PACKAGE }
}
