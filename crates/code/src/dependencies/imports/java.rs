//! Imports of Java, and the names of types that stand in code: those of the same package need no
//! import.

use tree_sitter::Node;

use super::collector::{Collector, line};
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
            let (text, is_static) = match text.strip_prefix("static ") {
                Some(rest) => (rest, true),
                None => (text, false),
            };
            let path = compact(text);
            // A static import names a member of a type.
            let path = match path.rsplit_once('.') {
                Some((class, _)) if is_static => class.to_owned(),
                _ => path,
            };
            collector.import(node, path, Vec::new());
            Step::Over
        }
        "line_comment" | "block_comment" | "string_literal" => Step::Over,
        "scoped_type_identifier" => {
            let path = compact(collector.text(node).split('<').next().unwrap_or_default());
            collector.mention(line(node), path);
            Step::Into
        }
        "type_identifier" | "identifier" => {
            let name = collector.text(node);
            if name.starts_with(|c: char| c.is_uppercase()) {
                collector.mention(line(node), name);
            }
            Step::Over
        }
        _ => Step::Into,
    }
}

fn compact(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_whitespace() && *c != ';')
        .collect()
}
