//! Imports of Go.

use tree_sitter::Node;

use super::collector::{Collector, unquoted};
use crate::walk::Step;

/// Looks at a node.
pub(super) fn enter(collector: &mut Collector<'_, '_>, node: Node<'_>) -> Step {
    match node.kind() {
        "source_file" | "import_declaration" | "import_spec_list" => Step::Into,
        "package_clause" => {
            let name = node
                .named_child(0)
                .map(|name| collector.text(name).to_owned());
            collector.found.package = name;
            Step::Over
        }
        "import_spec" => {
            let path = node
                .child_by_field_name("path")
                .and_then(|path| unquoted(collector.text(path)));
            if let Some(path) = path {
                collector.import(node, path, Vec::new());
            }
            Step::Over
        }
        // Nothing else imports.
        _ => Step::Over,
    }
}
