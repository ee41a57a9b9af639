//! Imports of Java, and the names of types that stand in code: those of the same package need no
//! import.

use tree_sitter::Node;

use super::collector::{Collector, compact};
use super::model::Form;
use crate::walk::{Step, named_children};

/// Looks at a node.
pub(super) fn enter(collector: &mut Collector<'_, '_>, node: Node<'_>) -> Step {
    match node.kind() {
        "package_declaration" => {
            // Annotations may stand before the name.
            let name = named_children(node)
                .into_iter()
                .rfind(|child| child.kind().ends_with("identifier"));
            collector.found.package = name.map(|name| compact(collector.text(name)));
            Step::Over
        }
        "import_declaration" => {
            let text = collector.text(node).trim_start_matches("import").trim();
            let text = text.trim_end_matches(';');
            // A static import names a member of a type.
            let path = match text.strip_prefix("static ") {
                Some(member) => member.rsplit_once('.').map_or(member, |(class, _)| class),
                None => text,
            };
            collector.import(node, compact(path), Vec::new());
            Step::Over
        }
        "line_comment" | "block_comment" | "string_literal" => Step::Over,
        "scoped_type_identifier" => {
            let path = collector.text(node).split('<').next().map(compact);
            if let Some(path) = path {
                collector.mention(node, path, Form::Mention);
            }
            Step::Into
        }
        "type_identifier" | "identifier" => {
            let name = collector.text(node);
            if name.starts_with(|c: char| c.is_uppercase()) {
                collector.mention(node, name, Form::Mention);
            }
            Step::Over
        }
        _ => Step::Into,
    }
}
