//! Walks a syntax tree without recursion.

use tree_sitter::Node;

use crate::error::CodeError;
use crate::source::Stop;

/// After so many nodes, a walk asks whether to stop.
const NODES_BETWEEN_STOPS: usize = 1_024;

/// Where a walk goes from a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// To its children.
    Into,
    /// Past its children.
    Over,
}

/// Sees the nodes of a tree, parents before their children.
pub(crate) trait Visitor<'t> {
    /// Whether it asks for the fields of nodes, which take time to find.
    const SEES_FIELDS: bool = false;

    /// Is called before the children of a node, with the name of the field of its parent that it
    /// is.
    fn enter(&mut self, node: Node<'t>, field: Option<&'t str>) -> Step;

    /// Is called after the children of each node that was entered.
    fn leave(&mut self, _: Node<'t>) {}
}

/// Visits a node and all below it.
///
/// # Errors
/// [`CodeError::Stopped`] if `stop` said so.
pub(crate) fn walk<'t, V: Visitor<'t>>(
    root: Node<'t>,
    visitor: &mut V,
    stop: Stop<'_>,
) -> Result<(), CodeError> {
    let mut cursor = root.walk();
    let mut visited = 0_usize;
    loop {
        visited += 1;
        if visited.is_multiple_of(NODES_BETWEEN_STOPS) && stop() {
            return Err(CodeError::Stopped);
        }
        let node = cursor.node();
        let field = if V::SEES_FIELDS {
            cursor.field_name()
        } else {
            None
        };
        if visitor.enter(node, field) == Step::Into && cursor.goto_first_child() {
            continue;
        }
        visitor.leave(node);
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return Ok(());
            }
            visitor.leave(cursor.node());
        }
    }
}

/// Returns the direct children of a node that have a name in the grammar.
pub(crate) fn named_children<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).collect()
}
