//! The rank of files: how much of what begins at the files that the task names comes to them along the edges of their
//! graph (personalised PageRank). Only files that something comes to are looked at, so the work follows from how much
//! the task reaches, not from the size of the repository.

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
    /// By file, and the index of a definition in it.
    pub(super) of_definitions: BTreeMap<(usize, usize), u64>,
}

/// Returns the rank of each file that is reached from files with these weights, and of what they declare.
///
/// # Errors
/// [`CodeError::Stopped`] if `stop` said so.
pub(super) fn ranks(graph: &Graph<'_>, beginnings: &BTreeMap<usize, u64>, stop: Stop<'_>) -> Result<Ranks, CodeError> {
    let mut edges: HashMap<usize, Edges> = HashMap::new();
    let mut of_files: BTreeMap<usize, u64> = BTreeMap::new();
    let mut waiting = shares(beginnings);
    for _ in 0..STEPS {
        let mut next: BTreeMap<usize, u64> = BTreeMap::new();
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
                *next.entry(edge.to).or_default() += flow(followed, edge.share);
            }
        }
        if next.is_empty() {
            break;
        }
        waiting = next;
    }
    let mut of_definitions: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for (from, rank) in &of_files {
        let Some(edges) = edges.get(from) else { continue };
        graph.divide(*from, edges, *rank, &mut |file, definition, part| {
            *of_definitions.entry((file, definition)).or_default() += part;
        });
    }
    Ok(Ranks { of_files, of_definitions })
}

/// Divides [`ALL`] by weights.
fn shares(weights: &BTreeMap<usize, u64>) -> BTreeMap<usize, u64> {
    let total: u64 = weights.values().sum();
    let share = |weight: u64| u128::from(ALL) * u128::from(weight) / u128::from(total.max(1));
    let share = |weight: u64| u64::try_from(share(weight)).unwrap_or(ALL);
    weights.iter().map(|(file, weight)| (*file, share(*weight))).collect()
}
