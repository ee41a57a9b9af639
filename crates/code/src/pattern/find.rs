//! Matches patterns with the nodes of a tree.

use std::cell::Cell;
use std::cmp::Reverse;
use std::ops::Range;

use tree_sitter::Node;

use super::compile::is_compared;
use super::macros::Calls;
use super::model::{Capture, Part, Pattern, PatternMatch};
use crate::error::CodeError;
use crate::language::Language;
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
    pub fn find(
        &self,
        source: &Source<'_>,
        stop: Stop<'_>,
    ) -> Result<Vec<PatternMatch>, CodeError> {
        let mut found = self.search(&self.root, source, stop)?;
        let calls = if source.language() == Language::Rust {
            Calls::read(source, stop)?
        } else {
            None
        };
        if let Some(calls) = calls {
            found = self.with_macros(found, source, &calls, stop)?;
        }
        Ok(found.into_iter().map(|found| found.shown).collect())
    }

    /// Adds what matches in the arguments of macros, or as a macro.
    fn with_macros(
        &self,
        mut found: Vec<Found>,
        source: &Source<'_>,
        calls: &Calls,
        stop: Stop<'_>,
    ) -> Result<Vec<Found>, CodeError> {
        let mut others = Vec::new();
        if let Some(call) = &self.call {
            let whole = calls.parsed(source, None, stop)?;
            // Whose arguments are read has been compared with them, and not with tokens.
            found.retain(|one| !is_code(&whole, &one.range));
            others.extend(self.search(call, &whole, stop)?);
        }
        let root = self.call.as_ref().unwrap_or(&self.root);
        for range in &calls.ranges {
            let text = source.text().get(range.start_byte..range.end_byte);
            if text.is_some_and(|text| self.may_match(text)) {
                others.extend(self.search(
                    root,
                    &calls.parsed(source, Some(*range), stop)?,
                    stop,
                )?);
            }
        }
        found.extend(others.into_iter().filter(|one| one.is_code));
        found.sort_by_key(|one| (one.range.start, Reverse(one.range.end)));
        found.dedup_by(|next, one| next.range == one.range);
        found.truncate(MAX_MATCHES);
        Ok(found)
    }

    fn search(
        &self,
        root: &Part,
        source: &Source<'_>,
        stop: Stop<'_>,
    ) -> Result<Vec<Found>, CodeError> {
        let (compared, is_stopped) = (Cell::new(0), Cell::new(false));
        let mut finder = Finder {
            pattern: self,
            root,
            source,
            stop,
            compared,
            is_stopped,
            found: Vec::new(),
        };
        walk(source.root(), &mut finder, stop)?;
        if finder.is_stopped.get() {
            Err(CodeError::Stopped)
        } else {
            Ok(finder.found)
        }
    }
}

/// Reports whether a range is a node without an error.
fn is_code(source: &Source<'_>, range: &Range<usize>) -> bool {
    let node = source
        .root()
        .descendant_for_byte_range(range.start, range.end);
    node.is_some_and(|node| node.byte_range() == *range && !node.has_error())
}

/// A match with its place.
struct Found {
    range: Range<usize>,
    /// Whether it has no error.
    is_code: bool,
    shown: PatternMatch,
}

struct Finder<'a, 't> {
    pattern: &'a Pattern,
    root: &'a Part,
    source: &'a Source<'t>,
    stop: Stop<'a>,
    compared: Cell<usize>,
    is_stopped: Cell<bool>,
    found: Vec<Found>,
}

/// What the names stand for so far, by their index.
type Captured = Vec<Option<Range<usize>>>;

impl<'n> Visitor<'n> for Finder<'_, '_> {
    fn enter(&mut self, node: Node<'n>, _: Option<&'n str>) -> Step {
        if self.is_stopped.get() || self.found.len() >= MAX_MATCHES {
            return Step::Over;
        }
        if !self.root.may_be(node.kind_id()) {
            return Step::Into;
        }
        let mut captured = vec![None; self.pattern.names.len()];
        if self.is_match(self.root, node, &mut captured) {
            self.add(node, captured);
        }
        Step::Into
    }
}

impl Finder<'_, '_> {
    fn add(&mut self, node: Node<'_>, captured: Captured) {
        let mut captures = Vec::new();
        for (name, range) in self.pattern.names.iter().zip(captured) {
            if let Some(range) = range {
                captures.push(Capture {
                    name: name.clone(),
                    text: self.shown(&range),
                });
            }
        }
        let (begin, end) = (node.start_position(), node.end_position());
        let shown = PatternMatch {
            line: begin.row + 1,
            column: begin.column + 1,
            end_line: end.row + 1,
            text: self.shown(&node.byte_range()),
            captures,
        };
        self.found.push(Found {
            range: node.byte_range(),
            is_code: !node.has_error(),
            shown,
        });
    }

    /// Reports whether a node matches a part of the pattern, and notes what its names stand for.
    /// The recursion is no deeper than the pattern.
    fn is_match(&self, part: &Part, node: Node<'_>, captured: &mut Captured) -> bool {
        self.compared.set(self.compared.get() + 1);
        if self
            .compared
            .get()
            .is_multiple_of(COMPARISONS_BETWEEN_STOPS)
            && (self.stop)()
        {
            self.is_stopped.set(true);
        }
        match part {
            _ if self.is_stopped.get() => false,
            Part::One(index) => {
                node.is_named()
                    && !self.is_macro(node)
                    && self.capture(*index, node.byte_range(), captured)
            }
            Part::Macro(index) => {
                let name = node.start_byte()..node.end_byte().saturating_sub(1);
                self.is_macro(node) && self.capture(*index, name, captured)
            }
            Part::Any(_) => false,
            Part::Token { kind, text } => {
                node.kind_id() == *kind && self.source.text_of(node) == text
            }
            Part::Node { kinds, children } => {
                if !kinds.contains(&node.kind_id()) {
                    return false;
                }
                let mut cursor = node.walk();
                let nodes: Vec<Node<'_>> = node
                    .children(&mut cursor)
                    .filter(|child| is_compared(*child))
                    .collect();
                self.are_matches(children, &nodes, captured)
            }
        }
    }

    /// Reports whether a node is the name of a macro that is read as a call.
    fn is_macro(&self, node: Node<'_>) -> bool {
        node.kind().ends_with("identifier") && self.source.text_of(node).ends_with('!')
    }

    /// Reports whether nodes match parts, in their order. Of several ways that differ in how many
    /// nodes a `$$$` stands for, the last `$$$` is extended first.
    fn are_matches(&self, parts: &[Part], nodes: &[Node<'_>], captured: &mut Captured) -> bool {
        let (mut part, mut node) = (0, 0);
        let mut retry: Option<Retry> = None;
        loop {
            match (parts.get(part), nodes.get(node)) {
                (Some(Part::Any(index)), _) => {
                    retry = Some(Retry {
                        part,
                        from: node,
                        to: node,
                        index: *index,
                        captured: captured.clone(),
                    });
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
            match retry
                .as_mut()
                .and_then(|again| self.extend(again, nodes, captured))
            {
                Some(next) => (part, node) = next,
                None => return false,
            }
        }
    }

    /// Lets a `$$$` stand for more nodes, as few as its name allows; returns where the comparison
    /// goes on.
    fn extend(
        &self,
        again: &mut Retry,
        nodes: &[Node<'_>],
        captured: &mut Captured,
    ) -> Option<(usize, usize)> {
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
        let Some(slot) = index.and_then(|index| captured.get_mut(index)) else {
            return true;
        };
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
        let mut nodes = nodes.iter().take(range.end).skip(range.start);
        let Some(first) = nodes.next() else {
            return self.capture(index, 0..0, captured);
        };
        let (begin, last) = (first.start_byte(), nodes.next_back().unwrap_or(first));
        // A list of Go ends with the end of a line.
        let text = self.source.text_between(begin, last.end_byte());
        self.capture(index, begin..begin + text.trim_end().len(), captured)
    }

    /// Reports whether two pieces of code differ at most in white space.
    fn is_same(&self, left: Range<usize>, right: Range<usize>) -> bool {
        let left = self.source.text_between(left.start, left.end);
        let right = self.source.text_between(right.start, right.end);
        let right = right.chars().filter(is_visible);
        left.chars().filter(is_visible).eq(right)
    }

    fn shown(&self, range: &Range<usize>) -> String {
        cut(self.source.text_between(range.start, range.end), MAX_TEXT)
    }
}

fn is_visible(c: &char) -> bool {
    !c.is_whitespace()
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
