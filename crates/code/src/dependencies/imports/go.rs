//! Imports of Go.

use tree_sitter::Node;

use super::collector::{Collector, unquoted};
use super::model::ImportKind;
use crate::walk::Step;

/// Looks at a node.
pub(super) fn enter(collector: &mut Collector<'_, '_>, node: Node<'_>) -> Step {
    match node.kind() {
        "source_file" | "import_declaration" | "import_spec_list" => Step::Into,
        "import_spec" => {
            let path = collector.field(node, "path");
            if let Some(path) = unquoted(path) {
                collector.import_as(node, path, ImportKind::Plain);
            }
            Step::Over
        }
        // Nothing else imports.
        _ => Step::Over,
    }
}
