//! Patterns, and what they match.

use serde::{Deserialize, Serialize};

use crate::language::Language;

/// A pattern in one language.
#[derive(Clone, Debug)]
pub struct Pattern {
    pub(super) language: Language,
    pub(super) root: Part,
    /// The same with its macros read as calls, if it has some.
    pub(super) call: Option<Part>,
    /// The names of what it captures, without `$`.
    pub(super) names: Vec<String>,
    /// Words that every match contains, the longest first.
    pub(super) words: Vec<Word>,
}

/// A node of a pattern.
#[derive(Clone, Debug)]
pub(super) enum Part {
    /// One node with a name in the grammar, which is captured under this index.
    One(Option<usize>),
    /// Any number of nodes.
    Any(Option<usize>),
    /// The name of a macro that is read as a call.
    Macro(Option<usize>),
    /// A node without children.
    Token { kind: u16, text: String },
    /// A node with children, of one of these kinds.
    Node {
        kinds: Vec<u16>,
        children: Vec<Part>,
    },
}

/// A word that every match contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    /// Whether it is a whole name, so that no letter follows it.
    pub(super) is_name: bool,
}

/// Code that a pattern matches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatternMatch {
    /// The number of the first line, from 1.
    pub line: usize,
    /// The number of the first byte in that line, from 1.
    pub column: usize,
    /// The number of the last line.
    pub end_line: usize,
    /// The code.
    pub text: String,
    /// What the names of the pattern stand for, in the order in which they occur in it.
    pub captures: Vec<Capture>,
}

/// What a name of a pattern stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capture {
    /// The name, without `$`.
    pub name: String,
    /// The code; for `$$$NAME`, all of it with what stands between.
    pub text: String,
}

impl Pattern {
    /// Returns the language.
    pub fn language(&self) -> Language {
        self.language
    }

    /// Reports whether a text may match, so that others need not be parsed.
    pub fn may_match(&self, text: &str) -> bool {
        self.words.iter().all(|word| word.is_in(text))
    }
}

impl Word {
    fn is_in(&self, text: &str) -> bool {
        if !self.is_name {
            return text.contains(&self.text);
        }
        let ends = |(at, word): (usize, &str)| {
            let next = text.as_bytes().get(at + word.len());
            next.is_none_or(|next| !next.is_ascii_alphanumeric() && *next != b'_')
        };
        text.match_indices(&self.text).any(ends)
    }
}

impl Part {
    /// Reports whether it may match nodes of a kind.
    pub(super) fn may_be(&self, kind: u16) -> bool {
        match self {
            Part::One(_) | Part::Any(_) | Part::Macro(_) => true,
            Part::Token { kind: own, .. } => *own == kind,
            Part::Node { kinds, .. } => kinds.contains(&kind),
        }
    }
}
