//! Imports of JavaScript and TypeScript.

use tree_sitter::Node;

use super::collector::{Collector, line, unquoted};
use super::model::{Form, Import, ImportKind};
use crate::walk::{Step, named_children};

/// Looks at a node.
pub(super) fn enter(collector: &mut Collector<'_, '_>, node: Node<'_>) -> Step {
    match node.kind() {
        "import_statement" | "export_statement" => {
            let source = node.child_by_field_name("source");
            let required = || {
                let clause = named_children(node)
                    .into_iter()
                    .find(|child| child.kind() == "import_require_clause");
                clause.and_then(|clause| clause.child_by_field_name("source"))
            };
            match source.or_else(required) {
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
            }
        }
        "call_expression" => {
            call(collector, node);
            Step::Into
        }
        "comment" | "string" | "regex" => Step::Over,
        _ => Step::Into,
    }
}

/// Reports whether a statement imports types alone, by `import type` or `export type`.
fn is_of_types(node: Node<'_>) -> bool {
    let mut cursor = node.walk();
    node.children(&mut cursor)
        .any(|child| child.kind() == "type")
}

fn call(collector: &mut Collector<'_, '_>, node: Node<'_>) {
    let Some(function) = node.child_by_field_name("function") else {
        return;
    };
    let kind = match function.kind() {
        "import" => ImportKind::Deferred,
        "identifier" if collector.text(function) == "require" => ImportKind::Plain,
        "member_expression" if collector.text(function) == "require.resolve" => {
            ImportKind::Deferred
        }
        _ => return,
    };
    let arguments = node.child_by_field_name("arguments");
    if let Some(first) = arguments.and_then(|arguments| arguments.named_child(0)) {
        add(collector, first, kind);
    }
}

fn add(collector: &mut Collector<'_, '_>, source: Node<'_>, kind: ImportKind) {
    if let Some(target) = unquoted(collector.text(source)) {
        let (target, line, form, scope) = (
            target.to_owned(),
            line(source),
            Form::Statement,
            String::new(),
        );
        collector.add(Import {
            target,
            line,
            kind,
            form,
            names: Vec::new(),
            scope,
        });
    }
}
