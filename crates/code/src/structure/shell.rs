//! Items of scripts for shells.

use tree_sitter::Node;

use super::ItemKind;
use super::found::{Draft, Found, PUBLIC, Place};

/// Returns what a node is.
pub(super) fn describe<'n>(node: Node<'n>, place: &Place<'_, '_>) -> Found<'n> {
    match node.kind() {
        "program" | "if_statement" | "elif_clause" | "else_clause" | "ERROR" => Found::Inside,
        "comment" => Found::Comment,
        "function_definition" => {
            Draft::new(ItemKind::Function, place.field(node, "name"), PUBLIC).into()
        }
        _ => Found::Nothing,
    }
}
