//! The rank of files: how much of what begins at the files that the task names comes to them along
//! the edges of their graph (personalised PageRank). Only files that something comes to are looked
//! at, so the work follows from how much the task reaches, not from the size of the repository.

use std::collections::{BTreeMap, HashMap};

use super::graph::{Edges, Graph, flow};
use crate::error::CodeError;
use crate::source::Stop;

/// What begins at all files together: with a share of it, it still fits into a number.
const ALL: u64 = 1 << 39;
/// Less than this is not followed: it changes no order that a reader would notice.
const LEAST: u64 = ALL >> 14;
/// How many of a hundred parts follow the edges of a file.
const FOLLOWS: u64 = 85;
/// Steps after which ranks hardly change.
const STEPS: usize = 40;

/// The ranks of the files that are reached.
pub(super) struct Ranks {
    /// By file.
    pub(super) of_files: BTreeMap<usize, u64>,
    /// By file; each by the index of the definition in it, as far as any has a rank.
    of_definitions: HashMap<usize, Vec<u64>>,
}

impl Ranks {
    /// Returns the ranks of the definitions of a file, as far as any has one.
    pub(super) fn of_definitions(&self, file: usize) -> &[u64] {
        self.of_definitions.get(&file).map_or(&[], Vec::as_slice)
    }

    /// Adds to the rank of a definition of a file.
    pub(super) fn raise(&mut self, file: usize, definition: usize, part: u64) {
        let of_file = self.of_definitions.entry(file).or_default();
        if of_file.len() <= definition {
            of_file.resize(definition + 1, 0);
        }
        if let Some(rank) = of_file.get_mut(definition) {
            *rank = rank.saturating_add(part);
        }
    }
}

/// What comes to files in one step.
struct Amounts {
    /// By file.
    all: Vec<u64>,
    /// The files to which something comes.
    reached: Vec<usize>,
}

impl Amounts {
    fn none(files: usize) -> Amounts {
        Amounts {
            all: vec![0; files],
            reached: Vec::new(),
        }
    }

    fn add(&mut self, file: usize, amount: u64) {
        let Some(of_file) = self.all.get_mut(file) else {
            return;
        };
        if *of_file == 0 && amount > 0 {
            self.reached.push(file);
        }
        *of_file += amount;
    }

    /// Takes what has come to each file.
    fn take(&mut self) -> Vec<(usize, u64)> {
        let mut taken = Vec::with_capacity(self.reached.len());
        for file in self.reached.drain(..) {
            taken.extend(
                self.all
                    .get_mut(file)
                    .map(|amount| (file, std::mem::take(amount))),
            );
        }
        taken
    }
}

/// Returns the rank of each file that is reached from files with these weights, and of what they
/// declare.
///
/// # Errors
/// [`CodeError::Stopped`] if `stop` said so.
pub(super) fn ranks(
    graph: &Graph<'_>,
    beginnings: &BTreeMap<usize, u64>,
    stop: Stop<'_>,
) -> Result<Ranks, CodeError> {
    let mut edges: HashMap<usize, Edges> = HashMap::new();
    let mut of_files: BTreeMap<usize, u64> = BTreeMap::new();
    let mut next = Amounts::none(graph.files());
    let mut waiting = shares(beginnings);
    for _ in 0..STEPS {
        for (from, amount) in waiting {
            *of_files.entry(from).or_default() += amount;
            if amount < LEAST {
                continue;
            }
            if stop() {
                return Err(CodeError::Stopped);
            }
            let followed = amount / 100 * FOLLOWS;
            for edge in &edges.entry(from).or_insert_with(|| graph.edges(from)).all {
                next.add(edge.to, flow(followed, edge.share));
            }
        }
        waiting = next.take();
        if waiting.is_empty() {
            break;
        }
    }
    let mut ranks = Ranks {
        of_files,
        of_definitions: HashMap::new(),
    };
    for (from, edges) in &edges {
        let rank = ranks.of_files.get(from).copied().unwrap_or_default();
        graph.divide(*from, edges, rank, &mut |file, definition, part| {
            ranks.raise(file, definition, part)
        });
    }
    Ok(ranks)
}

/// Divides [`ALL`] by weights.
fn shares(weights: &BTreeMap<usize, u64>) -> Vec<(usize, u64)> {
    let total: u64 = weights.values().sum();
    let share = |weight: u64| u128::from(ALL) * u128::from(weight) / u128::from(total.max(1));
    let share = |weight: u64| u64::try_from(share(weight)).unwrap_or(ALL);
    weights
        .iter()
        .map(|(file, weight)| (*file, share(*weight)))
        .collect()
}
