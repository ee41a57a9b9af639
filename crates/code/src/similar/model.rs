//! Snippets, and what resembles them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::language::Language;

/// The number of tokens of a run.
pub(super) const RUN: usize = 7;
/// The number of neighbouring runs of which one is kept.
pub(super) const WINDOW: usize = 4;
/// Code to compare with, in every language in which files may be.
#[derive(Clone, Debug)]
pub struct Snippet {
    pub(super) languages: BTreeMap<Language, Fingerprinted>,
}

/// The snippet in one language.
#[derive(Clone, Debug)]
pub(super) struct Fingerprinted {
    pub(super) fingerprints: BTreeSet<u64>,
    pub(super) tokens: usize,
    /// The first fingerprint, with the number of tokens before it, and the last with that of tokens
    /// after it.
    pub(super) ends: [End; 2],
    /// The words in it that are names.
    pub(super) names: BTreeSet<String>,
}

/// A fingerprint at an end of a snippet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct End {
    pub(super) hash: u64,
    /// The number of tokens beyond it.
    pub(super) beyond: usize,
}

/// The fingerprints of a file, which show of most files that nothing in them resembles a snippet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeFingerprints {
    pub(super) language: Language,
    /// The ends of the hashes, each once, in their order.
    pub(super) hashes: Box<[u32]>,
}

/// A region that resembles a snippet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SimilarCode {
    /// The number of the first line, from 1.
    pub line: usize,
    /// The number of the last line.
    pub end_line: usize,
    /// How much of the snippet's structure it has, in percent.
    pub similarity: usize,
    /// How many of the snippet's names it has, in percent.
    pub names: usize,
}
