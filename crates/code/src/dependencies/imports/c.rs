//! `#include` of C and C++.

use tree_sitter::Node;

use super::collector::{Collector, line};
use super::model::{Form, Import, ImportKind};
use crate::walk::Step;

/// Looks at a node.
pub(super) fn enter(collector: &mut Collector<'_, '_>, node: Node<'_>) -> Step {
    if node.kind() != "preproc_include" {
        return Step::Into;
    }
    let path = node
        .child_by_field_name("path")
        .map(|path| collector.text(path))
        .unwrap_or_default();
    let quoted = path
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    let system = path
        .strip_prefix('<')
        .and_then(|rest| rest.strip_suffix('>'));
    let (kind, scope, line) = (ImportKind::Plain, String::new(), line(node));
    // A name of a macro says nothing.
    if let Some(target) = quoted.or(system) {
        let form = if system.is_some() {
            Form::System
        } else {
            Form::Statement
        };
        collector.add(Import {
            target: target.trim().to_owned(),
            line,
            kind,
            form,
            names: Vec::new(),
            scope,
        });
    }
    Step::Over
}
