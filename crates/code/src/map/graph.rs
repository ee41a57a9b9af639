//! The graph of files: an edge leads from a file to each file that declares a name which it refers
//! to, and back, since what uses a file has to follow its changes. The edges of a file are found
//! when a walk comes to it.

use std::collections::BTreeMap;

use super::index::{Declaration, IndexedFile, MapIndex, Name, NameId};
use super::task::{Named, Words};

/// The weight of a reference to an ordinary name that no other file refers to.
const ORDINARY: u64 = 1_000;
/// What multiplies and divides weights.
const STRONG: u64 = 10;
/// What multiplies the weight of a name that is a word of the task.
const WORD: u64 = 3;
/// The length of a name of several words from which on it is rarely another one's by chance.
const LONG_NAME: usize = 8;
/// A name that is declared in more files than this says little about which of them is meant.
const COMMON_FILES: usize = 5;
/// The root of how often a name is used counts in hundredths.
const HUNDREDTHS: u64 = 10_000;
/// How often what nobody uses counts as used, in the same unit.
const UNUSED: u64 = 10;
/// What flows from a file with few references mostly begins again: ten ordinary ones carry
/// everything on.
const LEAST_TOTAL: u64 = 10 * ORDINARY * HUNDREDTHS.isqrt();
/// The whole of what flows from a file.
const WHOLE: u64 = 1 << 24;

/// The graph of the files of an index, for one task.
pub(super) struct Graph<'i> {
    index: &'i MapIndex,
    named: BTreeMap<NameId, Named>,
}

/// The edges from a file.
pub(super) struct Edges {
    /// Ordered by the file to which they lead.
    pub(super) all: Vec<Edge>,
    total: u64,
}

/// An edge to a file, with its share of what flows from its origin, in parts of [`WHOLE`].
pub(super) struct Edge {
    pub(super) to: usize,
    pub(super) share: u64,
}

/// A use of a name by a file, and where it leads.
struct Lead<'i> {
    to: &'i Declaration,
    weight: u64,
}

impl<'i> Graph<'i> {
    pub(super) fn new(index: &'i MapIndex, words: &Words<'_>) -> Graph<'i> {
        let mut named = BTreeMap::new();
        for word in words.iter() {
            if let Some(name) = index.find(word) {
                named.insert(name, words.names(word));
            }
        }
        Graph { index, named }
    }

    /// Returns the number of files.
    pub(super) fn files(&self) -> usize {
        self.index.files.len()
    }

    /// Returns the names that the task's text has, with how clearly it names them.
    pub(super) fn named(&self) -> impl Iterator<Item = (&'i Name, Named)> {
        self.named
            .iter()
            .filter_map(|(id, named)| Some((self.index.name(*id)?, *named)))
    }

    /// Returns the edges from a file.
    pub(super) fn edges(&self, from: usize) -> Edges {
        let mut weights: Vec<(usize, u64)> = Vec::new();
        let Some(file) = self.index.file(from) else {
            return Edges {
                all: Vec::new(),
                total: LEAST_TOTAL,
            };
        };
        for lead in self.leads(from, file) {
            weights.push((lead.to.file, lead.weight));
        }
        let mut names: Vec<NameId> = file
            .definitions
            .iter()
            .filter_map(|definition| definition.name)
            .collect();
        names.sort_unstable();
        names.dedup();
        for id in names {
            let Some(name) = self.index.name(id) else {
                continue;
            };
            let weight = self.weight(id, name);
            for user in name.users.iter().filter(|user| user.file != from) {
                weights.push((user.file, weight * root(user.count)));
            }
        }
        let total = weights
            .iter()
            .map(|(_, weight)| weight)
            .sum::<u64>()
            .max(LEAST_TOTAL);
        weights.sort_unstable();
        let mut all: Vec<Edge> = Vec::new();
        for to_one in weights.chunk_by(|(one, _), (other, _)| one == other) {
            let share = share(to_one.iter().map(|(_, weight)| weight).sum(), total);
            if let Some((to, _)) = to_one.first().filter(|_| share > 0) {
                all.push(Edge { to: *to, share });
            }
        }
        Edges { all, total }
    }

    /// Divides the rank of a file among the definitions that it refers to: calls `see` with the
    /// file and the index of each, and its part.
    pub(super) fn divide(
        &self,
        from: usize,
        edges: &Edges,
        rank: u64,
        see: &mut dyn FnMut(usize, usize, u64),
    ) {
        let Some(file) = self.index.file(from) else {
            return;
        };
        for lead in self.leads(from, file) {
            let definitions = &lead.to.definitions;
            let each =
                flow(rank, share(lead.weight, edges.total)) / definitions.len().max(1) as u64;
            for definition in definitions {
                see(lead.to.file, *definition, each);
            }
        }
    }

    /// Returns what leads from a file: to each declaration of a name that it uses, and to its own
    /// declarations of names that nobody uses.
    fn leads(&self, from: usize, file: &'i IndexedFile) -> Vec<Lead<'i>> {
        let mut leads = Vec::new();
        for reference in &file.references {
            let Some(name) = self.index.name(reference.name) else {
                continue;
            };
            let weight = self.weight(reference.name, name) * root(reference.count);
            for to in &name.declared {
                let weight = if to.file == from {
                    (weight / STRONG).max(1)
                } else {
                    weight
                };
                leads.push(Lead { to, weight });
            }
        }
        for id in file
            .definitions
            .iter()
            .filter_map(|definition| definition.name)
        {
            let Some(name) = self.index.name(id).filter(|name| name.users.is_empty()) else {
                continue;
            };
            if let Some(to) = name
                .declared
                .iter()
                .find(|declaration| declaration.file == from)
            {
                leads.push(Lead {
                    to,
                    weight: UNUSED * self.weight(id, name),
                });
            }
        }
        leads
    }

    /// Returns the weight of a name: what is unlikely to be another one by chance, and what the
    /// task names, counts more; what many files declare or use, and what is meant for one file,
    /// counts less.
    fn weight(&self, id: NameId, name: &Name) -> u64 {
        let mut weight = match self.named.get(&id) {
            Some(Named::Code) => ORDINARY * STRONG,
            Some(Named::Word) => ORDINARY * WORD,
            Some(Named::No) | None => ORDINARY,
        };
        if name.text.len() >= LONG_NAME && name.is_compound {
            weight *= STRONG;
        }
        if name.is_private || name.text.starts_with('_') {
            weight /= STRONG;
        }
        if name.declared.len() > COMMON_FILES {
            weight /= STRONG;
        }
        (weight / name.users.len().max(1) as u64).max(1)
    }
}

/// Returns the root of how often a name is used, in hundredths.
fn root(count: u32) -> u64 {
    (u64::from(count) * HUNDREDTHS).isqrt()
}

/// Returns a weight's share of a total.
fn share(weight: u64, total: u64) -> u64 {
    if let Some(parts) = weight.checked_mul(WHOLE) {
        return parts / total.max(1);
    }
    u64::try_from(u128::from(weight) * u128::from(WHOLE) / u128::from(total.max(1)))
        .unwrap_or(WHOLE)
}

/// Returns a share of a rank.
pub(super) fn flow(rank: u64, share: u64) -> u64 {
    rank.saturating_mul(share) / WHOLE
}
