//! `#include` of C and C++.

use tree_sitter::Node;

use super::collector::Collector;
use super::model::Form;
use crate::walk::Step;

/// Looks at a node.
pub(super) fn enter(collector: &mut Collector<'_, '_>, node: Node<'_>) -> Step {
    if node.kind() != "preproc_include" {
        return Step::Into;
    }
    let path = match node.child_by_field_name("path") {
        Some(path) => collector.text(path),
        None => "",
    };
    // A name of a macro says nothing.
    let form = match path.chars().next() {
        Some('"') => Form::Statement,
        Some('<') => Form::System,
        _ => return Step::Over,
    };
    let target = path.trim_matches(['"', '<', '>']).trim();
    collector.mention(node, target, form);
    Step::Over
}
