//! The graph of files: an edge leads from a file to each file that declares a name which it refers to, and back, since
//! what uses a file has to follow its changes.

use std::collections::BTreeMap;

use super::tags::MappedFile;
use super::task::{Named, Words, is_compound};
use crate::error::CodeError;
use crate::source::Stop;

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
/// A name that is declared in more files than this says nothing.
const MAX_FILES: usize = 20;
/// The root of how often a name is used counts in hundredths.
const HUNDREDTHS: u64 = 10_000;
/// How often what nobody uses counts as used, in the same unit.
const UNUSED: u64 = 10;
/// What flows from a file with few references mostly begins again: ten ordinary ones carry everything on.
const LEAST_TOTAL: u64 = 10 * ORDINARY * HUNDREDTHS.isqrt();
/// After so many files, the caller is asked whether to stop.
pub(super) const FILES_BETWEEN_STOPS: usize = 256;

/// A file with the indices of its definitions of one name.
type Target = (usize, Vec<usize>);

/// A name that files declare.
pub(super) struct Declared {
    /// These files.
    pub(super) files: Vec<Target>,
    /// How clearly the task names it.
    pub(super) named: Named,
    weight: u64,
    /// The number of files that refer to it.
    users: u64,
}

/// The names that files declare, with their weights.
pub(super) struct Names<'f>(BTreeMap<&'f str, Declared>);

impl<'f> Names<'f> {
    /// Collects the names that files declare.
    pub(super) fn of(files: &[MappedFile<'f>], words: &Words<'_>) -> Names<'f> {
        let mut names: BTreeMap<&str, Declared> = BTreeMap::new();
        let mut public: BTreeMap<&str, bool> = BTreeMap::new();
        for (file, definitions) in files.iter().enumerate().filter_map(|(at, file)| Some((at, &file.tags?.definitions)))
        {
            for (at, definition) in definitions.iter().enumerate().filter(|(_, definition)| !definition.name.is_empty())
            {
                let name = definition.name.as_str();
                let declared = names.entry(name).or_insert(Declared {
                    files: Vec::new(),
                    named: words.names(name),
                    weight: 0,
                    users: 0,
                });
                match declared.files.last_mut().filter(|(last, _)| *last == file) {
                    Some((_, definitions)) => definitions.push(at),
                    None => declared.files.push((file, vec![at])),
                }
                *public.entry(name).or_default() |= !definition.private;
            }
        }
        for name in files.iter().filter_map(|file| file.tags).flat_map(|tags| tags.references.keys()) {
            if let Some(declared) = names.get_mut(name.as_str()) {
                declared.users += 1;
            }
        }
        for (name, declared) in &mut names {
            let is_private = name.starts_with('_') || public.get(name) == Some(&false);
            declared.weight = weight(name, declared, is_private);
        }
        Names(names)
    }

    /// Returns what is declared, ordered by its name.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Declared> {
        self.0.values()
    }

    /// Calls `see` with each edge from a file: what declares a name that it uses, and the weight; a name without a use
    /// leads to its own file.
    fn edges(&self, from: usize, file: &MappedFile<'f>, see: &mut dyn FnMut(&Target, u64)) {
        let Some(tags) = file.tags else { return };
        // A name without a weight leads nowhere: thousands of files may declare `new`, each of which uses it as well.
        let weighed = |name: &str| self.0.get(name).filter(|declared| declared.weight > 0);
        for (name, count) in &tags.references {
            let Some(declared) = weighed(name) else { continue };
            let weight = declared.weight * (u64::from(*count) * HUNDREDTHS).isqrt();
            for target in &declared.files {
                let is_own = target.0 == from;
                see(target, if is_own { (weight / STRONG).max(u64::from(weight > 0)) } else { weight });
            }
        }
        for definition in tags.definitions.iter().filter(|definition| !definition.name.is_empty()) {
            let declared = weighed(&definition.name);
            let Some(declared) = declared.filter(|declared| declared.users == 0) else {
                continue;
            };
            let own = declared.files.iter().find(|(file, _)| *file == from);
            if let Some(target) = own {
                see(target, UNUSED * declared.weight);
            }
        }
    }
}

/// Returns the weight of a name: what is unlikely to be another one by chance, and what the task names, counts more;
/// what many files declare or use, and what is meant for one file, counts less.
fn weight(name: &str, declared: &Declared, is_private: bool) -> u64 {
    let files = declared.files.len();
    if files > MAX_FILES {
        return 0;
    }
    let mut weight = match declared.named {
        Named::Code => ORDINARY * STRONG,
        Named::Word => ORDINARY * WORD,
        Named::No => ORDINARY,
    };
    if name.len() >= LONG_NAME && is_compound(name) {
        weight *= STRONG;
    }
    if is_private {
        weight /= STRONG;
    }
    if files > COMMON_FILES {
        weight /= STRONG;
    }
    (weight / declared.users.max(1)).max(1)
}

/// An edge to a file, with its share of what flows from its origin, in parts of [`WHOLE`].
pub(super) struct Edge {
    pub(super) to: usize,
    pub(super) share: u64,
}

/// The whole of what flows from a file.
pub(super) const WHOLE: u64 = 1 << 24;

/// The edges from each file.
pub(super) struct Graph {
    edges: Vec<Vec<Edge>>,
    totals: Vec<u64>,
}

impl Graph {
    /// Finds the edges between files.
    ///
    /// # Errors
    /// [`CodeError::Stopped`] if `stop` said so.
    pub(super) fn of(files: &[MappedFile<'_>], names: &Names<'_>, stop: Stop<'_>) -> Result<Graph, CodeError> {
        let mut weights: Vec<BTreeMap<usize, u64>> = vec![BTreeMap::new(); files.len()];
        for (from, file) in files.iter().enumerate() {
            if from.is_multiple_of(FILES_BETWEEN_STOPS) && stop() {
                return Err(CodeError::Stopped);
            }
            names.edges(from, file, &mut |(to, _), weight| {
                add(&mut weights, from, *to, weight);
                if *to != from {
                    add(&mut weights, *to, from, weight);
                }
            });
        }
        let totals: Vec<u64> = weights.iter().map(|of_file| of_file.values().sum::<u64>().max(LEAST_TOTAL)).collect();
        let edges = weights.into_iter().zip(&totals).map(|(of_file, total)| {
            let shares = of_file.into_iter().map(|(to, weight)| Edge { to, share: share(weight, *total) });
            shares.filter(|edge| edge.share > 0).collect()
        });
        Ok(Graph { edges: edges.collect(), totals })
    }

    /// Returns the edges from each file.
    pub(super) fn edges(&self) -> &[Vec<Edge>] {
        &self.edges
    }

    /// Divides the ranks of files among what they refer to: the rank of each definition of each file.
    ///
    /// # Errors
    /// [`CodeError::Stopped`] if `stop` said so.
    pub(super) fn of_definitions(
        &self,
        files: &[MappedFile<'_>],
        names: &Names<'_>,
        ranks: &[u64],
        stop: Stop<'_>,
    ) -> Result<Vec<Vec<u64>>, CodeError> {
        let sizes = files.iter().map(|file| file.tags.map_or(0, |tags| tags.definitions.len()));
        let mut found: Vec<Vec<u64>> = sizes.map(|size| vec![0; size]).collect();
        for ((from, file), (rank, total)) in files.iter().enumerate().zip(ranks.iter().zip(&self.totals)) {
            if from.is_multiple_of(FILES_BETWEEN_STOPS) && stop() {
                return Err(CodeError::Stopped);
            }
            names.edges(from, file, &mut |(to, definitions), weight| {
                let each = flow(*rank, share(weight, *total)) / definitions.len().max(1) as u64;
                let Some(of_file) = found.get_mut(*to) else { return };
                for definition in definitions {
                    if let Some(own) = of_file.get_mut(*definition) {
                        *own += each;
                    }
                }
            });
        }
        Ok(found)
    }
}

fn add(weights: &mut [BTreeMap<usize, u64>], from: usize, to: usize, weight: u64) {
    if let Some(of_file) = weights.get_mut(from) {
        *of_file.entry(to).or_default() += weight;
    }
}

/// Returns a weight's share of a total.
fn share(weight: u64, total: u64) -> u64 {
    u64::try_from(u128::from(weight) * u128::from(WHOLE) / u128::from(total.max(1))).unwrap_or(WHOLE)
}

/// Returns a share of a rank.
pub(super) fn flow(rank: u64, share: u64) -> u64 {
    rank.saturating_mul(share) / WHOLE
}

#[cfg(test)]
mod tests {
    use super::super::tags::{Definition, Tags};
    use super::*;

    /// Every file declares `new` and uses it, so that each two of them would have an edge.
    #[test]
    fn a_name_that_too_many_files_declare_leads_nowhere() {
        let definition = |name: &str| {
            let (name, signature) = (name.to_owned(), String::new());
            Definition { name, line: 1, parent: None, private: false, signature }
        };
        let tags = Tags {
            definitions: vec![definition("new"), definition("unused")],
            references: BTreeMap::from([("new".to_owned(), 1)]),
        };
        let edges = |count: usize| {
            let paths: Vec<String> = (0..count).map(|number| format!("f{number}.rs")).collect();
            let files: Vec<MappedFile<'_>> = paths.iter().map(|path| MappedFile { path, tags: Some(&tags) }).collect();
            let names = Names::of(&files, &Words::of(""));
            let mut edges = 0_usize;
            for (from, file) in files.iter().enumerate() {
                names.edges(from, file, &mut |_, _| edges += 1);
            }
            edges
        };
        // To each file that declares `new`, and to the file itself for what nothing uses.
        assert_eq!(edges(MAX_FILES), MAX_FILES * (MAX_FILES + 1));
        assert_eq!(edges(MAX_FILES + 1), 0);
    }
}
