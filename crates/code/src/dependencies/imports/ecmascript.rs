//! Imports of JavaScript and TypeScript.

use tree_sitter::Node;

use super::collector::{Collector, unquoted};
use super::model::ImportKind;
use crate::walk::{Step, named_children};

/// Looks at a node.
pub(super) fn enter(collector: &mut Collector<'_, '_>, node: Node<'_>) -> Step {
    match node.kind() {
        "import_statement" | "export_statement" => match source_of(node) {
            Some(source) => {
                let kind = if is_of_types(node) {
                    ImportKind::Type
                } else {
                    ImportKind::Plain
                };
                add(collector, source, kind);
                Step::Over
            }
            None => Step::Into,
        },
        "call_expression" => {
            call(collector, node);
            Step::Into
        }
        "comment" | "string" | "regex" => Step::Over,
        _ => Step::Into,
    }
}

/// Returns the literal that a statement imports from, as in `import "a"` or
/// `import b = require("a")`.
fn source_of(statement: Node<'_>) -> Option<Node<'_>> {
    let required = named_children(statement)
        .into_iter()
        .find(|child| child.kind() == "import_require_clause");
    statement
        .child_by_field_name("source")
        .or_else(|| required?.child_by_field_name("source"))
}

/// Reports whether a statement imports types alone, by `import type` or `export type`.
fn is_of_types(node: Node<'_>) -> bool {
    let mut cursor = node.walk();
    node.children(&mut cursor)
        .any(|child| child.kind() == "type")
}

fn call(collector: &mut Collector<'_, '_>, node: Node<'_>) {
    let kind = match collector.field(node, "function") {
        "import" | "require.resolve" => ImportKind::Deferred,
        "require" => ImportKind::Plain,
        _ => return,
    };
    let arguments = node.child_by_field_name("arguments");
    if let Some(first) = arguments.and_then(|arguments| arguments.named_child(0)) {
        add(collector, first, kind);
    }
}

fn add(collector: &mut Collector<'_, '_>, source: Node<'_>, kind: ImportKind) {
    if let Some(target) = unquoted(collector.text(source)) {
        collector.import_as(source, target, kind);
    }
}
