//! Items of Go.

use tree_sitter::Node;

use super::found::{Draft, Found, PRIVATE, PUBLIC, Place};
use super::{ItemKind, Visibility};

/// Returns what a node is.
pub(super) fn describe<'n>(node: Node<'n>, place: &Place<'_, '_>) -> Found<'n> {
    match node.kind() {
        "source_file" | "interface_type" | "var_spec_list" | "ERROR" => Found::Inside,
        "type_declaration" | "const_declaration" | "var_declaration" => Found::Wrapper,
        "comment" => Found::Comment,
        "package_clause" => {
            let name = node
                .named_child(0)
                .map(|name| place.source.text_of(name))
                .unwrap_or_default();
            Draft::new(ItemKind::Module, name, PUBLIC).into()
        }
        "function_declaration" => named(ItemKind::Function, node, place).into(),
        "method_elem" => named(ItemKind::Method, node, place).into(),
        "method_declaration" => {
            let owner = receiver(place.field(node, "receiver"));
            Found::Item(Draft {
                owner,
                ..named(ItemKind::Method, node, place)
            })
        }
        "type_spec" => declared(node, place),
        "type_alias" => Found::Item(Draft {
            prefix: "type ",
            ..named(ItemKind::Type, node, place)
        }),
        "const_spec" => Found::Item(Draft {
            prefix: "const ",
            ..named(ItemKind::Constant, node, place)
        }),
        "var_spec" => Found::Item(Draft {
            prefix: "var ",
            ..named(ItemKind::Variable, node, place)
        }),
        _ => Found::Nothing,
    }
}

fn named<'n>(kind: ItemKind, node: Node<'n>, place: &Place<'_, '_>) -> Draft<'n> {
    let name = place.field(node, "name");
    Draft::new(kind, name, visibility(name))
}

fn declared<'n>(node: Node<'n>, place: &Place<'_, '_>) -> Found<'n> {
    let kind = match node.child_by_field_name("type").map(|node| node.kind()) {
        Some("struct_type") => ItemKind::Struct,
        Some("interface_type") => ItemKind::Interface,
        _ => ItemKind::Type,
    };
    let draft = Draft {
        prefix: "type ",
        ..named(kind, node, place)
    };
    if kind == ItemKind::Interface {
        draft.with_items().into()
    } else {
        draft.into()
    }
}

fn visibility(name: &str) -> Visibility {
    if name.starts_with(char::is_uppercase) {
        PUBLIC
    } else {
        PRIVATE
    }
}

/// Returns the type of a receiver such as `(p *Point[T])`.
fn receiver(text: &str) -> Option<String> {
    let inner = text.trim_matches(['(', ')']);
    let named = inner.split('[').next()?.split_whitespace().last()?;
    Some(named.trim_start_matches('*').to_owned())
}
