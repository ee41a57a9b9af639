//! Matches patterns with the nodes of a tree.

use std::cell::Cell;
use std::ops::Range;

use tree_sitter::Node;

use super::compile::is_compared;
use super::model::{Capture, Part, Pattern, PatternMatch};
use crate::error::CodeError;
use crate::source::{Source, Stop};
use crate::structure::cut;
use crate::walk::{Step, Visitor, walk};

/// Maximum number of matches in one file.
const MAX_MATCHES: usize = 10_000;
/// Maximum number of characters of code that a match shows.
const MAX_TEXT: usize = 400;
/// After so many comparisons, a search asks whether to stop.
const COMPARISONS_BETWEEN_STOPS: usize = 1_024;

impl Pattern {
    /// Finds the code that matches, in its order. A match may be inside another.
    ///
    /// # Errors
    /// [`CodeError::Stopped`] if `stop` said so.
    pub fn find(&self, source: &Source<'_>, stop: Stop<'_>) -> Result<Vec<PatternMatch>, CodeError> {
        let compared = Cell::new(0);
        let mut finder =
            Finder { pattern: self, source, stop, compared, is_stopped: Cell::new(false), found: Vec::new() };
        walk(source.root(), &mut finder, stop)?;
        if finder.is_stopped.get() { Err(CodeError::Stopped) } else { Ok(finder.found) }
    }
}

struct Finder<'a, 't> {
    pattern: &'a Pattern,
    source: &'a Source<'t>,
    stop: Stop<'a>,
    compared: Cell<usize>,
    is_stopped: Cell<bool>,
    found: Vec<PatternMatch>,
}

/// What the names stand for so far, by their index.
type Captured = Vec<Option<Range<usize>>>;

impl<'n> Visitor<'n> for Finder<'_, '_> {
    fn enter(&mut self, node: Node<'n>, _: Option<&'n str>) -> Step {
        if self.is_stopped.get() || self.found.len() >= MAX_MATCHES {
            return Step::Over;
        }
        if !self.pattern.root.may_be(node.kind_id()) {
            return Step::Into;
        }
        let mut captured = vec![None; self.pattern.names.len()];
        if self.is_match(&self.pattern.root, node, &mut captured) {
            self.add(node, captured);
        }
        Step::Into
    }
}

impl Finder<'_, '_> {
    fn add(&mut self, node: Node<'_>, captured: Captured) {
        let text = |range: Range<usize>| cut(self.source.text().get(range).unwrap_or_default(), MAX_TEXT);
        let captures = self
            .pattern
            .names
            .iter()
            .zip(captured)
            .filter_map(|(name, range)| range.map(|range| Capture { name: name.clone(), text: text(range) }));
        let (begin, end) = (node.start_position(), node.end_position());
        let found = PatternMatch {
            line: begin.row + 1,
            column: begin.column + 1,
            end_line: end.row + 1,
            text: text(node.byte_range()),
            captures: captures.collect(),
        };
        self.found.push(found);
    }

    /// Reports whether a node matches a part of the pattern, and notes what its names stand for. The recursion is no
    /// deeper than the pattern.
    fn is_match(&self, part: &Part, node: Node<'_>, captured: &mut Captured) -> bool {
        self.compared.set(self.compared.get() + 1);
        if self.compared.get().is_multiple_of(COMPARISONS_BETWEEN_STOPS) && (self.stop)() {
            self.is_stopped.set(true);
        }
        match part {
            _ if self.is_stopped.get() => false,
            Part::One(index) => node.is_named() && self.capture(*index, node.byte_range(), captured),
            Part::Any(_) => false,
            Part::Token { kind, text } => node.kind_id() == *kind && self.source.text_of(node) == text,
            Part::Node { kinds, children } => {
                if !kinds.contains(&node.kind_id()) {
                    return false;
                }
                let mut cursor = node.walk();
                let nodes: Vec<Node<'_>> = node.children(&mut cursor).filter(|child| is_compared(*child)).collect();
                self.are_matches(children, &nodes, captured)
            }
        }
    }

    /// Reports whether nodes match parts, in their order. Of several ways that differ in how many nodes a `$$$` stands
    /// for, the last `$$$` is extended first.
    fn are_matches(&self, parts: &[Part], nodes: &[Node<'_>], captured: &mut Captured) -> bool {
        let (mut part, mut node) = (0, 0);
        let mut retry: Option<Retry> = None;
        loop {
            match (parts.get(part), nodes.get(node)) {
                (Some(Part::Any(index)), _) => {
                    retry = Some(Retry { part, from: node, to: node, index: *index, captured: captured.clone() });
                    part += 1;
                    if self.capture_all(*index, nodes, node..node, captured) {
                        continue;
                    }
                }
                (Some(wanted), Some(found)) if self.is_match(wanted, *found, captured) => {
                    (part, node) = (part + 1, node + 1);
                    continue;
                }
                // A token without a name that only the code has.
                (_, Some(found)) if !found.is_named() => {
                    node += 1;
                    continue;
                }
                (None, None) => return true,
                _ => {}
            }
            match retry.as_mut().and_then(|again| self.extend(again, nodes, captured)) {
                Some(next) => (part, node) = next,
                None => return false,
            }
        }
    }

    /// Lets a `$$$` stand for more nodes, as few as its name allows; returns where the comparison goes on.
    fn extend(&self, again: &mut Retry, nodes: &[Node<'_>], captured: &mut Captured) -> Option<(usize, usize)> {
        while again.to < nodes.len() && !self.is_stopped.get() {
            again.to += 1;
            captured.clone_from(&again.captured);
            if self.capture_all(again.index, nodes, again.from..again.to, captured) {
                return Some((again.part + 1, again.to));
            }
        }
        None
    }

    /// Notes what a name stands for; returns `false` if it stands for something else already.
    fn capture(&self, index: Option<usize>, range: Range<usize>, captured: &mut Captured) -> bool {
        let Some(slot) = index.and_then(|index| captured.get_mut(index)) else { return true };
        match slot {
            Some(known) => self.is_same(known.clone(), range),
            None => {
                *slot = Some(range);
                true
            }
        }
    }

    fn capture_all(
        &self,
        index: Option<usize>,
        nodes: &[Node<'_>],
        range: Range<usize>,
        captured: &mut Captured,
    ) -> bool {
        let nodes = nodes.get(range).unwrap_or_default();
        let (begin, end) = match (nodes.first(), nodes.last()) {
            (Some(first), Some(last)) => (first.start_byte(), last.end_byte()),
            _ => (0, 0),
        };
        // A list of Go ends with the end of a line.
        let text = self.source.text().get(begin..end).unwrap_or_default();
        self.capture(index, begin..begin + text.trim_end().len(), captured)
    }

    /// Reports whether two pieces of code differ at most in white space.
    fn is_same(&self, left: Range<usize>, right: Range<usize>) -> bool {
        let code = |range: Range<usize>| self.source.text().get(range).unwrap_or_default();
        let visible = |c: &char| !c.is_whitespace();
        code(left).chars().filter(visible).eq(code(right).chars().filter(visible))
    }
}

/// Where to continue if what follows a `$$$` does not match.
struct Retry {
    part: usize,
    /// The nodes that it stands for.
    from: usize,
    to: usize,
    index: Option<usize>,
    captured: Captured,
}
