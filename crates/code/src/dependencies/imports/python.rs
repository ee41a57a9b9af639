//! Imports of Python.

use tree_sitter::Node;

use super::collector::{Collector, line, unquoted};
use super::model::{Form, Import, ImportKind};
use crate::walk::{Step, named_children};

/// Looks at a node.
pub(super) fn enter(collector: &mut Collector<'_, '_>, node: Node<'_>) -> Step {
    match node.kind() {
        "import_statement" => {
            for name in named_children(node) {
                let name = name.child_by_field_name("name").unwrap_or(name);
                let target = compact(collector.text(name));
                collector.import(node, target, Vec::new());
            }
            Step::Over
        }
        "import_from_statement" => {
            from(collector, node);
            Step::Over
        }
        "function_definition" | "lambda" => {
            if collector.kind() == ImportKind::Plain {
                collector.within(node, ImportKind::Deferred, String::new());
            }
            Step::Into
        }
        "if_statement" => {
            let condition = node
                .child_by_field_name("condition")
                .map(|condition| collector.text(condition));
            if condition
                .is_some_and(|text| text == "TYPE_CHECKING" || text.ends_with(".TYPE_CHECKING"))
            {
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

fn from(collector: &mut Collector<'_, '_>, node: Node<'_>) {
    let Some(module) = node.child_by_field_name("module_name") else {
        return;
    };
    let target = compact(collector.text(module));
    let mut cursor = node.walk();
    let names = node.children_by_field_name("name", &mut cursor);
    let names =
        names.map(|name| compact(collector.text(name.child_by_field_name("name").unwrap_or(name))));
    let mut names: Vec<String> = names.collect();
    if names.is_empty() {
        names.push("*".to_owned());
    }
    collector.import(node, target, names);
}

/// Adds `importlib.import_module("a.b")` and `__import__("a")`.
fn dynamic(collector: &mut Collector<'_, '_>, node: Node<'_>) {
    let function = node
        .child_by_field_name("function")
        .map(|function| collector.text(function));
    if !matches!(
        function,
        Some("importlib.import_module" | "import_module" | "__import__")
    ) {
        return;
    }
    let first = node
        .child_by_field_name("arguments")
        .and_then(|arguments| arguments.named_child(0));
    if let Some(name) = first.and_then(|first| unquoted(collector.text(first)))
        && !name.starts_with('.')
    {
        let (target, line, scope) = (name.to_owned(), line(node), String::new());
        let (kind, form) = (ImportKind::Deferred, Form::Statement);
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

fn compact(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}
