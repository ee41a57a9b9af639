//! Items of Python.

use tree_sitter::Node;

use super::docs;
use super::found::{Draft, Found, PRIVATE, PUBLIC, Place};
use super::{ItemKind, Visibility};

/// Returns what a node is.
pub(super) fn describe<'n>(node: Node<'n>, place: &Place<'_, '_>) -> Found<'n> {
    match node.kind() {
        "module" | "block" | "if_statement" | "elif_clause" | "else_clause" | "try_statement"
        | "except_clause" | "finally_clause" | "with_statement" | "ERROR" => Found::Inside,
        "decorated_definition" | "expression_statement" => Found::Wrapper,
        "decorator" => Found::Annotation,
        "comment" => Found::Comment,
        "class_definition" => {
            let draft = named(ItemKind::Class, place.field(node, "name")).with_items();
            Found::Item(Draft {
                doc: docstring(node, place),
                ..draft
            })
        }
        "function_definition" => {
            let name = place.field(node, "name");
            let kind = if name == "__init__" && place.in_type() {
                ItemKind::Constructor
            } else {
                place.function()
            };
            Found::Item(Draft {
                doc: docstring(node, place),
                ..named(kind, name)
            })
        }
        "type_alias_statement" => named(ItemKind::Type, place.field(node, "left")).into(),
        "assignment" => constant(place.field(node, "left")),
        _ => Found::Nothing,
    }
}

fn named<'n>(kind: ItemKind, name: &str) -> Draft<'n> {
    Draft::new(kind, name, visibility(name))
}

/// Returns a constant, which only its name tells from a variable.
fn constant<'n>(name: &str) -> Found<'n> {
    if name.chars().all(is_capital) && name.chars().any(|c| c.is_ascii_uppercase()) {
        named(ItemKind::Constant, name).into()
    } else {
        Found::Nothing
    }
}

fn is_capital(c: char) -> bool {
    c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'
}

fn visibility(name: &str) -> Visibility {
    let is_special = name.starts_with("__") && name.ends_with("__");
    if name.starts_with('_') && !is_special {
        PRIVATE
    } else {
        PUBLIC
    }
}

fn docstring(node: Node<'_>, place: &Place<'_, '_>) -> Option<String> {
    let first = node.child_by_field_name("body")?.named_child(0)?;
    let string = if first.kind() == "expression_statement" {
        first.named_child(0)?
    } else {
        first
    };
    if string.kind() == "string" {
        docs::of_string(place.source.text_of(string))
    } else {
        None
    }
}
