//! Imports of Python.

use tree_sitter::Node;

use super::collector::{Collector, compact, unquoted};
use super::model::ImportKind;
use crate::walk::{Step, named_children};

/// Looks at a node.
pub(super) fn enter(collector: &mut Collector<'_, '_>, node: Node<'_>) -> Step {
    match node.kind() {
        "import_statement" => {
            for name in named_children(node) {
                collector.import(node, name_of(collector, name), Vec::new());
            }
            Step::Over
        }
        "import_from_statement" => {
            let target = compact(collector.field(node, "module_name"));
            let mut cursor = node.walk();
            let names = node.children_by_field_name("name", &mut cursor);
            let mut names: Vec<String> = names.map(|name| name_of(collector, name)).collect();
            if names.is_empty() {
                names.push("*".to_owned());
            }
            collector.import(node, target, names);
            Step::Over
        }
        "function_definition" | "lambda" => {
            if collector.kind() == ImportKind::Plain {
                collector.within(node, ImportKind::Deferred, String::new());
            }
            Step::Into
        }
        "if_statement" => {
            let condition = collector.field(node, "condition");
            if condition.rsplit('.').next() == Some("TYPE_CHECKING") {
                collector.within(node, ImportKind::Type, String::new());
            }
            Step::Into
        }
        "call" => {
            dynamic(collector, node);
            Step::Into
        }
        "comment" | "string" => Step::Over,
        _ => Step::Into,
    }
}

/// Returns a name without the one that `as` gives it.
fn name_of(collector: &Collector<'_, '_>, name: Node<'_>) -> String {
    let name = name.child_by_field_name("name").unwrap_or(name);
    compact(collector.text(name))
}

/// Adds `importlib.import_module("a.b")` and `__import__("a")`.
fn dynamic(collector: &mut Collector<'_, '_>, node: Node<'_>) {
    let function = collector.field(node, "function");
    if !matches!(
        function,
        "importlib.import_module" | "import_module" | "__import__"
    ) {
        return;
    }
    let arguments = node.child_by_field_name("arguments");
    if let Some(first) = arguments.and_then(|arguments| arguments.named_child(0))
        && let Some(name) = unquoted(collector.text(first))
        && !name.starts_with('.')
    {
        collector.import_as(node, name, ImportKind::Deferred);
    }
}
