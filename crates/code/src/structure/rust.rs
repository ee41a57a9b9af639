//! Items of Rust.

use tree_sitter::Node;

use super::found::{Draft, Found, PRIVATE, PUBLIC, Place};
use super::{ItemKind, Visibility};

/// The visibility of what a trait names, which has none of its own.
const INHERITED: Visibility = Visibility::Borrowed("inherited");
/// Maximum number of children before a visibility: attributes are no children.
const MODIFIERS: u32 = 3;

/// Returns what a node is.
pub(super) fn describe<'n>(node: Node<'n>, place: &Place<'_, '_>) -> Found<'n> {
    let kind = match node.kind() {
        "source_file" | "declaration_list" | "foreign_mod_item" | "ERROR" => return Found::Inside,
        "line_comment" | "block_comment" => return Found::Comment,
        "attribute_item" | "inner_attribute_item" => return Found::Annotation,
        "impl_item" => return implementation(node, place),
        "function_item" | "function_signature_item" => place.function(),
        "struct_item" => ItemKind::Struct,
        "enum_item" => ItemKind::Enum,
        "union_item" => ItemKind::Union,
        "trait_item" => ItemKind::Trait,
        "mod_item" => ItemKind::Module,
        "type_item" | "associated_type" => ItemKind::Type,
        "const_item" | "static_item" => ItemKind::Constant,
        "macro_definition" => ItemKind::Macro,
        _ => return Found::Nothing,
    };
    let draft = Draft::new(kind, place.field(node, "name"), visibility(node, place));
    match kind {
        ItemKind::Trait | ItemKind::Module => draft.with_items().into(),
        ItemKind::Macro => Found::Item(Draft {
            name: format!("{}!", draft.name),
            ..draft
        }),
        _ => draft.into(),
    }
}

fn implementation<'n>(node: Node<'n>, place: &Place<'_, '_>) -> Found<'n> {
    let of = place.field(node, "type");
    let name = match place.field(node, "trait") {
        "" => of.to_owned(),
        named => format!("{named} for {of}"),
    };
    let visibility = if node.child_by_field_name("trait").is_some() {
        INHERITED
    } else {
        PRIVATE
    };
    Draft::new(ItemKind::Impl, name, visibility)
        .with_items()
        .into()
}

fn visibility(node: Node<'_>, place: &Place<'_, '_>) -> Visibility {
    let own = (0..MODIFIERS)
        .filter_map(|index| node.child(index))
        .find(|child| child.kind() == "visibility_modifier");
    match own.map(|own| place.source.text_of(own)) {
        Some("pub") => PUBLIC,
        Some(restricted) => Visibility::Owned(restricted.to_owned()),
        None => {
            if place.around.as_ref().is_some_and(inherits) {
                INHERITED
            } else {
                PRIVATE
            }
        }
    }
}

fn inherits(around: &super::found::Around<'_>) -> bool {
    around.kind == ItemKind::Trait
        || around.kind == ItemKind::Impl && around.visibility == INHERITED
}
