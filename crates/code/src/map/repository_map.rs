//! The map itself: what is shown first, and how much of it fits.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::graph::{Graph, Names};
use super::rank::ranks;
use super::render::{Shown, render};
use super::tags::{Definition, MappedFile};
use super::task::{MapTask, Named, Words, beginnings, declared_whole};
use crate::error::CodeError;
use crate::source::Stop;

/// How many entries are tried first.
const FIRST_TRIED: usize = 16;

/// A map of a repository for one task, with everything that it could show.
pub struct RepositoryMap<'f> {
    /// Ordered by path.
    files: Vec<MappedFile<'f>>,
    /// What is shown first comes first.
    entries: Vec<Entry>,
}

/// Something that a map can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    Definition { file: usize, definition: usize },
    File(usize),
}

impl<'f> RepositoryMap<'f> {
    /// Ranks what the files of a repository declare, for a task. Neither the order of the files matters, nor a second
    /// one of the same path.
    ///
    /// # Errors
    /// [`CodeError::Stopped`] if `stop` said so.
    pub fn of(files: &[MappedFile<'f>], task: &MapTask<'_>, stop: Stop<'_>) -> Result<RepositoryMap<'f>, CodeError> {
        let mut files = files.to_vec();
        files.sort_by_key(|file| file.path);
        files.dedup_by_key(|file| file.path);
        let words = Words::of(task.text);
        let names = Names::of(&files, &words);
        let graph = Graph::of(&files, &names, stop)?;
        let paths: Vec<&str> = files.iter().map(|file| file.path).collect();
        let named = named(&names);
        let declaring = named.iter().map(|(file, _)| *file).collect();
        let ranks = ranks(&graph, &beginnings(&paths, task, &words, &declaring), stop)?;
        let mut of_definitions = graph.of_definitions(&files, &names, &ranks, stop)?;
        raise(&mut of_definitions, &named, &ranks);
        let known = Known { files: declared_whole(&paths, task), named: &named };
        Ok(RepositoryMap { entries: entries(&ranks, &of_definitions, &known), files })
    }

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
        let mut shown: Vec<Option<BTreeSet<usize>>> = vec![None; self.files.len()];
        for entry in self.entries.iter().take(entries) {
            let (Entry::Definition { file, .. } | Entry::File(file)) = *entry;
            let Some(of_file) = shown.get_mut(file) else { continue };
            let of_file = of_file.get_or_insert_default();
            if let Entry::Definition { definition, .. } = *entry {
                of_file.extend(with_parents(self.definitions(file), definition));
            }
        }
        let of_file = |(at, definitions): (usize, Option<BTreeSet<usize>>)| {
            let path = self.files.get(at)?.path;
            Some(Shown { path, all: self.definitions(at), definitions: definitions? })
        };
        render(shown.into_iter().enumerate().filter_map(of_file).collect())
    }

    fn definitions(&self, file: usize) -> &'f [Definition] {
        self.files.get(file).and_then(|file| file.tags).map_or(&[], |tags| &tags.definitions)
    }
}

/// Returns a definition and those around it.
fn with_parents(all: &[Definition], definition: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(definition), |at| {
        // What is around a definition stands before it.
        all.get(*at).and_then(|inner| inner.parent).filter(|parent| parent < at)
    })
}

/// Returns the definitions whose names the task's text writes as code, with their files, if they say which is meant.
fn named(names: &Names<'_>) -> Vec<(usize, Vec<usize>)> {
    /// A name that more files declare says nothing about which of them is meant.
    const MAX_DECLARING: usize = 5;
    let named = names.iter().filter(|declared| declared.named == Named::Code && declared.files.len() <= MAX_DECLARING);
    named.flat_map(|declared| declared.files.iter().cloned()).collect()
}

/// Adds the rank of their files to those of definitions that the task names.
fn raise(of_definitions: &mut [Vec<u64>], named: &[(usize, Vec<usize>)], ranks: &[u64]) {
    for (file, definitions) in named {
        let (Some(of_file), Some(rank)) = (of_definitions.get_mut(*file), ranks.get(*file)) else { continue };
        for definition in definitions {
            if let Some(own) = of_file.get_mut(*definition) {
                *own = own.saturating_add(rank / definitions.len().max(1) as u64);
            }
        }
    }
}

/// What an agent reads in any case, and so is shown last: the files that its task declares, except what of them its
/// text names.
struct Known<'n> {
    files: BTreeSet<usize>,
    named: &'n [(usize, Vec<usize>)],
}

impl Known<'_> {
    fn has(&self, file: usize, definition: usize) -> bool {
        let is_named = |(of, definitions): &(usize, Vec<usize>)| *of == file && definitions.contains(&definition);
        self.files.contains(&file) && !self.named.iter().any(is_named)
    }
}

/// Returns what a map shows. The files of the highest rank come first, each with what is most used of it: half as much
/// of the next definition counts as of the one before, so that many files are shown before any is shown whole. Then
/// come files of which no definition has a rank.
fn entries(ranks: &[u64], of_definitions: &[Vec<u64>], known: &Known<'_>) -> Vec<Entry> {
    let mut definitions: Vec<(bool, Reverse<u64>, usize, usize, usize)> = Vec::new();
    let mut bare: Vec<(Reverse<u64>, usize)> = Vec::new();
    for (file, (rank, of_file)) in ranks.iter().zip(of_definitions).enumerate() {
        let ranked = of_file.iter().enumerate().filter(|(_, rank)| **rank > 0);
        let mut ranked: Vec<(Reverse<u64>, usize)> = ranked.map(|(at, rank)| (Reverse(*rank), at)).collect();
        ranked.sort_unstable();
        if ranked.is_empty() {
            bare.push((Reverse(*rank), file));
        }
        for (position, (_, definition)) in ranked.into_iter().enumerate() {
            let left = rank.checked_shr(u32::try_from(position).unwrap_or(u32::MAX)).unwrap_or(0);
            definitions.push((known.has(file, definition), Reverse(left), position, file, definition));
        }
    }
    definitions.sort_unstable();
    bare.sort_unstable();
    let definitions = definitions.into_iter().map(|(.., file, definition)| Entry::Definition { file, definition });
    definitions.chain(bare.into_iter().map(|(_, file)| Entry::File(file))).collect()
}
