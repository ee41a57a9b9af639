//! The map itself: what is shown first, and how much of it fits.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::graph::Graph;
use super::index::{Declaration, IndexedDefinition, MapIndex};
use super::rank::{Ranks, ranks};
use super::render::{Shown, render};
use super::task::{MapTask, Named, Words, beginnings, declared_whole};
use crate::error::CodeError;
use crate::source::Stop;

/// How many entries are tried first.
const FIRST_TRIED: usize = 16;
/// A name that more files declare says nothing about which of them is meant.
const MAX_DECLARING: usize = 5;
/// The same for a name that is written like any other word.
const MAX_DECLARING_WORD: usize = 2;

/// A map of a repository for one task, with everything that it could show: what the task names, and
/// what that reaches.
pub struct RepositoryMap<'i> {
    index: &'i MapIndex,
    /// What is shown first comes first.
    entries: Vec<Entry>,
}

/// Something that a map can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    Definition { file: usize, definition: usize },
    File(usize),
}

impl MapIndex {
    /// Ranks what files declare for a task; `None` if it names nothing of the repository.
    ///
    /// # Errors
    /// [`CodeError::Stopped`] if `stop` said so.
    pub fn map(
        &self,
        task: &MapTask<'_>,
        stop: Stop<'_>,
    ) -> Result<Option<RepositoryMap<'_>>, CodeError> {
        let words = Words::from_text(task.text);
        let graph = Graph::new(self, &words);
        let paths: Vec<&str> = self.files.iter().map(|file| &*file.path).collect();
        let named = Declared::from_graph(&graph);
        let beginnings = beginnings(&paths, task, &words, &named.files());
        if beginnings.is_empty() {
            return Ok(None);
        }
        let mut ranks = ranks(&graph, &beginnings, stop)?;
        raise(&mut ranks, &named.as_code);
        let known = Known {
            files: declared_whole(&paths, task),
            named: &named.as_code,
        };
        Ok(Some(RepositoryMap {
            entries: entries(&ranks, &known),
            index: self,
        }))
    }
}

/// The declarations of names that the task's text has, if they say which is meant.
struct Declared {
    /// Of names that it writes as code.
    as_code: Vec<Declaration>,
    /// Of names that need not be meant as such.
    as_word: Vec<Declaration>,
}

impl Declared {
    fn from_graph(graph: &Graph<'_>) -> Declared {
        let (mut as_code, mut as_word) = (Vec::new(), Vec::new());
        for (name, named) in graph.named() {
            match (named, name.declared.len()) {
                (Named::Code, 1..=MAX_DECLARING) => as_code.extend(name.declared.iter().cloned()),
                (Named::Word, 1..=MAX_DECLARING_WORD) => {
                    as_word.extend(name.declared.iter().cloned())
                }
                _ => {}
            }
        }
        Declared { as_code, as_word }
    }

    /// Returns their files, with how clearly the text names what each declares.
    fn files(&self) -> BTreeMap<usize, Named> {
        let mut files: BTreeMap<usize, Named> = BTreeMap::new();
        files.extend(
            self.as_word
                .iter()
                .map(|declaration| (declaration.file, Named::Word)),
        );
        files.extend(
            self.as_code
                .iter()
                .map(|declaration| (declaration.file, Named::Code)),
        );
        files
    }
}

impl RepositoryMap<'_> {
    /// Returns as much of the map as `fits` accepts; `None` if that is nothing.
    pub fn fit(&self, fits: &dyn Fn(&str) -> bool) -> Option<String> {
        let all = self.entries.len();
        let (mut fitting, mut best) = (0, None);
        let mut tried = FIRST_TRIED.min(all);
        while tried > fitting {
            let text = self.first(tried);
            if !fits(&text) {
                break;
            }
            (fitting, best) = (tried, Some(text));
            tried = tried.saturating_mul(2).min(all);
        }
        while tried > fitting + 1 {
            let middle = fitting.midpoint(tried);
            let text = self.first(middle);
            if fits(&text) {
                (fitting, best) = (middle, Some(text));
            } else {
                tried = middle;
            }
        }
        best
    }

    /// Returns the map with so many entries.
    fn first(&self, entries: usize) -> String {
        let mut shown: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for entry in self.entries.iter().take(entries) {
            let (Entry::Definition { file, .. } | Entry::File(file)) = *entry;
            let of_file = shown.entry(file).or_default();
            if let Entry::Definition { definition, .. } = *entry {
                of_file.extend(with_parents(self.definitions(file), definition));
            }
        }
        let mut files = Vec::with_capacity(shown.len());
        for (at, definitions) in shown {
            let Some(file) = self.index.file(at) else {
                continue;
            };
            files.push(Shown {
                path: &file.path,
                all: &file.definitions,
                definitions,
            });
        }
        render(files)
    }

    fn definitions(&self, file: usize) -> &[IndexedDefinition] {
        self.index.file(file).map_or(&[], |file| &file.definitions)
    }
}

/// Returns a definition and those around it.
fn with_parents(all: &[IndexedDefinition], definition: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(definition), |at| {
        // What is around a definition stands before it.
        all.get(*at)
            .and_then(|inner| inner.parent)
            .filter(|parent| parent < at)
    })
}

/// Adds the rank of their files to those of definitions that the task names.
fn raise(ranks: &mut Ranks, named: &[Declaration]) {
    for Declaration { file, definitions } in named {
        let rank = ranks.of_files.get(file).copied().unwrap_or_default();
        for definition in definitions {
            ranks.raise(*file, *definition, rank / definitions.len().max(1) as u64);
        }
    }
}

/// What an agent reads in any case, and so is shown last: the files that its task declares, except
/// what of them its text names.
struct Known<'n> {
    files: BTreeSet<usize>,
    named: &'n [Declaration],
}

impl Known<'_> {
    fn has(&self, file: usize, definition: usize) -> bool {
        let is_named = |of: &Declaration| of.file == file && of.definitions.contains(&definition);
        self.files.contains(&file) && !self.named.iter().any(is_named)
    }
}

/// A definition in the order in which a map shows them.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    is_known: bool,
    rank: Reverse<u64>,
    position: usize,
    file: usize,
    definition: usize,
}

/// Returns what a map shows. The files of the highest rank come first, each with what is most used
/// of it: half as much of the next definition counts as of the one before, so that many files are
/// shown before any is shown whole. Then come files of which no definition has a rank.
fn entries(ranks: &Ranks, known: &Known<'_>) -> Vec<Entry> {
    let mut candidates: Vec<Candidate> = Vec::new();
    let mut bare: Vec<(Reverse<u64>, usize)> = Vec::new();
    for (file, rank) in &ranks.of_files {
        let ranked = ranks
            .of_definitions(*file)
            .iter()
            .enumerate()
            .filter(|(_, rank)| **rank > 0);
        let mut ranked: Vec<(Reverse<u64>, usize)> =
            ranked.map(|(at, rank)| (Reverse(*rank), at)).collect();
        ranked.sort_unstable();
        if ranked.is_empty() {
            bare.push((Reverse(*rank), *file));
        }
        for (position, (_, definition)) in ranked.into_iter().enumerate() {
            let left = rank
                .checked_shr(u32::try_from(position).unwrap_or(u32::MAX))
                .unwrap_or(0);
            let is_known = known.has(*file, definition);
            candidates.push(Candidate {
                is_known,
                rank: Reverse(left),
                position,
                file: *file,
                definition,
            });
        }
    }
    candidates.sort_unstable();
    bare.sort_unstable();
    let mut entries = Vec::with_capacity(candidates.len() + bare.len());
    for Candidate {
        file, definition, ..
    } in candidates
    {
        entries.push(Entry::Definition { file, definition });
    }
    entries.extend(bare.into_iter().map(|(_, file)| Entry::File(file)));
    entries
}
