//! Tokens without their names, and the fingerprints of runs of them.

use std::collections::VecDeque;
use std::ops::Range;

use tree_sitter::Node;

use super::model::{RUN, WINDOW};
use crate::error::CodeError;
use crate::source::{Source, Stop};
use crate::walk::{Step, Visitor, walk};

/// The base of the rolling hash, and what spreads its values.
const BASE: u64 = 0x9e37_79b9_7f4a_7c15;
/// What stands for every name, and for every literal.
const NAME: u64 = 1;
const LITERAL: u64 = 2;
/// Nodes that are one literal whatever is in them.
const STRINGS: [&str; 8] = [
    "string",
    "string_literal",
    "raw_string_literal",
    "raw_string",
    "template_string",
    "interpreted_string_literal",
    "char_literal",
    "concatenated_string",
];

/// A token.
#[derive(Clone, Copy)]
pub(super) struct Token<'t> {
    /// What it is, the same for all names and for all literals.
    kind: u64,
    /// Its text, if it is a name.
    pub(super) name: Option<&'t str>,
    /// Where its name begins in the text.
    at: usize,
    /// Its first and last row.
    pub(super) rows: (usize, usize),
}

impl Token<'_> {
    /// Returns the token in a text that begins after so many bytes of this one.
    pub(super) fn moved_to(self, text: &str, before: usize) -> Token<'_> {
        let begin = self.at.saturating_sub(before);
        let name = self
            .name
            .and_then(|name| text.get(begin..begin + name.len()));
        Token {
            kind: self.kind,
            name,
            at: begin,
            rows: self.rows,
        }
    }
}

/// Returns the tokens in a range of a parsed text, without comments.
pub(super) fn tokens<'t>(
    source: &Source<'t>,
    range: Range<usize>,
    stop: Stop<'_>,
) -> Result<Vec<Token<'t>>, CodeError> {
    let mut reader = Reader {
        source,
        range,
        tokens: Vec::new(),
    };
    walk(source.root(), &mut reader, stop)?;
    Ok(reader.tokens)
}

struct Reader<'s, 't> {
    source: &'s Source<'t>,
    range: Range<usize>,
    tokens: Vec<Token<'t>>,
}

impl<'n> Visitor<'n> for Reader<'_, '_> {
    fn enter(&mut self, node: Node<'n>, _: Option<&'n str>) -> Step {
        let kind = node.kind();
        if node.is_extra() && kind.contains("comment") || node.end_byte() <= self.range.start {
            return Step::Over;
        }
        if STRINGS.contains(&kind) {
            self.push(node, LITERAL);
            return Step::Over;
        }
        if node.child_count() == 0 {
            self.leaf(node);
        }
        Step::Into
    }
}

impl Reader<'_, '_> {
    fn leaf(&mut self, node: Node<'_>) {
        match node.kind() {
            // Whether statements are ended so is a matter of style in some languages.
            ";" | "\n" | "ERROR" => {}
            kind if node.is_named() && is_name(kind) => self.push(node, NAME),
            kind if node.is_named() && is_literal(kind) => self.push(node, LITERAL),
            kind => self.push(node, hash_of(kind)),
        }
    }

    fn push(&mut self, node: Node<'_>, kind: u64) {
        let inside = node.start_byte() >= self.range.start && node.end_byte() <= self.range.end;
        if inside && node.end_byte() > node.start_byte() {
            let name = if kind == NAME {
                Some(self.source.text_of(node))
            } else {
                None
            };
            let rows = (node.start_position().row, node.end_position().row);
            self.tokens.push(Token {
                kind,
                name,
                at: node.start_byte(),
                rows,
            });
        }
    }
}

fn is_name(kind: &str) -> bool {
    kind.contains("identifier")
        || kind.ends_with("_type")
        || matches!(kind, "word" | "variable_name" | "label_name")
}

fn is_literal(kind: &str) -> bool {
    kind.contains("literal")
        || matches!(
            kind,
            "integer" | "float" | "number" | "true" | "false" | "regex"
        )
}

fn hash_of(kind: &str) -> u64 {
    kind.bytes().fold(0xcbf2_9ce4_8422_2325, hash_with)
}

fn hash_with(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
}

/// The hash of a run of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint {
    pub(super) hash: u64,
    /// The place of its first token.
    pub(super) at: usize,
}

/// Returns the fingerprints of tokens, in their order.
pub(super) fn fingerprints(tokens: &[Token<'_>]) -> Vec<Fingerprint> {
    let runs = tokens
        .windows(RUN)
        .enumerate()
        .map(|(at, run)| Fingerprint {
            hash: hash_of_run(run),
            at,
        });
    let mut kept: Vec<Fingerprint> = Vec::new();
    // The runs of the window whose hashes increase, of which the first is the least.
    let mut least: VecDeque<Fingerprint> = VecDeque::new();
    for run in runs {
        while least.back().is_some_and(|last| last.hash >= run.hash) {
            least.pop_back();
        }
        least.push_back(run);
        while least
            .front()
            .is_some_and(|first| first.at + WINDOW <= run.at)
        {
            least.pop_front();
        }
        if let Some(first) = least.front()
            && run.at + 1 >= WINDOW
            && kept.last() != Some(first)
        {
            kept.push(*first);
        }
    }
    kept
}

fn hash_of_run(run: &[Token<'_>]) -> u64 {
    let hash = run.iter().fold(0_u64, |hash, token| {
        hash.wrapping_mul(BASE).wrapping_add(token.kind)
    });
    (hash ^ (hash >> 29)).wrapping_mul(BASE)
}
