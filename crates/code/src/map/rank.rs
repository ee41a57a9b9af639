//! The rank of files: how often a walk along the edges of their graph meets them, which begins again and again at what
//! the task names (personalised PageRank).

use super::graph::{Graph, flow};
use crate::error::CodeError;
use crate::source::Stop;

/// The rank of all files together: with a share of it, it still fits into a number.
const ALL: u64 = 1 << 39;
/// How many of a hundred steps follow an edge; the others begin again.
const FOLLOWS: u64 = 85;
/// How many of ten walks begin at what the task names, if it names anything; the others begin anywhere.
const AIMED: u64 = 9;
/// Steps after which ranks hardly change.
const STEPS: usize = 40;

/// Returns the rank of each file, for walks that begin at files by these weights.
///
/// # Errors
/// [`CodeError::Stopped`] if `stop` said so.
pub(super) fn ranks(graph: &Graph, beginnings: &[u64], stop: Stop<'_>) -> Result<Vec<u64>, CodeError> {
    let begins = shares(beginnings);
    let mut ranks = begins.clone();
    for _ in 0..STEPS {
        if stop() {
            return Err(CodeError::Stopped);
        }
        let mut next = vec![0_u64; ranks.len()];
        let mut ended = 0_u64;
        for (rank, edges) in ranks.iter().zip(graph.edges()) {
            let mut rest = *rank;
            for edge in edges {
                let carried = flow(*rank, edge.share);
                if let Some(to) = next.get_mut(edge.to) {
                    *to += carried;
                }
                rest = rest.saturating_sub(carried);
            }
            ended += rest;
        }
        for (rank, begin) in next.iter_mut().zip(&begins) {
            let again = u128::from(ended) * u128::from(*begin) / u128::from(ALL);
            let followed = rank.saturating_add(u64::try_from(again).unwrap_or(0));
            *rank = followed / 100 * FOLLOWS + begin / 100 * (100 - FOLLOWS);
        }
        ranks = next;
    }
    Ok(ranks)
}

/// Divides [`ALL`] by weights.
fn shares(weights: &[u64]) -> Vec<u64> {
    let total: u64 = weights.iter().sum();
    let anywhere = ALL / weights.len().max(1) as u64;
    if total == 0 {
        return vec![anywhere; weights.len()];
    }
    let aimed = |weight: &u64| u128::from(ALL / 10 * AIMED) * u128::from(*weight) / u128::from(total);
    weights.iter().map(|weight| u64::try_from(aimed(weight)).unwrap_or(0) + anywhere / 10 * (10 - AIMED)).collect()
}
