//! Regions of a file with many of a snippet's fingerprints close together.

use std::collections::{BTreeSet, HashMap};

use super::fingerprint::{Fingerprint, Token, fingerprints};
use super::model::{End, Fingerprinted, RUN, SimilarCode};

/// Maximum number of regions in one file.
const MAX_REGIONS: usize = 20;
/// How many times as long as the snippet a region may be: blocks may have been moved apart.
const MAX_LENGTH: usize = 2;

/// Returns the regions that resemble a snippet, the likest first.
pub(super) fn regions(
    snippet: &Fingerprinted,
    tokens: &[Token<'_>],
    percent: usize,
) -> Vec<SimilarCode> {
    let found = fingerprints(tokens)
        .into_iter()
        .filter(|found| snippet.fingerprints.contains(&found.hash));
    let mut found: Vec<Fingerprint> = found.collect();
    let mut regions = Vec::new();
    while regions.len() < MAX_REGIONS {
        let Some(best) = densest(&found, snippet.tokens * MAX_LENGTH) else {
            break;
        };
        let similarity = share(best.distinct, snippet.fingerprints.len());
        if similarity < percent {
            break;
        }
        let inside: Vec<Fingerprint> = found.drain(best.first..best.last).collect();
        if let Some(region) = describe(snippet, tokens, &inside, similarity) {
            regions.push(region);
        }
    }
    regions
}

/// A stretch of fingerprints.
#[derive(Clone, Copy)]
struct Stretch {
    first: usize,
    /// One more than its last.
    last: usize,
    distinct: usize,
}

/// Returns the shortest stretch of at most so many tokens with the most distinct fingerprints.
fn densest(found: &[Fingerprint], length: usize) -> Option<Stretch> {
    let mut counts: HashMap<u64, usize> = HashMap::new();
    let mut best: Option<Stretch> = None;
    let mut first = 0;
    for (index, fingerprint) in found.iter().enumerate() {
        *counts.entry(fingerprint.hash).or_default() += 1;
        // What is too far away goes, and what stands again further on.
        while let Some(oldest) = found.get(first)
            && (oldest.at + length < fingerprint.at + RUN
                || counts.get(&oldest.hash).is_some_and(|count| *count > 1))
        {
            match counts.get_mut(&oldest.hash) {
                Some(count) if *count > 1 => *count -= 1,
                _ => {
                    counts.remove(&oldest.hash);
                }
            }
            first += 1;
        }
        if best.is_none_or(|best| best.distinct < counts.len()) {
            best = Some(Stretch {
                first,
                last: index + 1,
                distinct: counts.len(),
            });
        }
    }
    best
}

fn describe(
    snippet: &Fingerprinted,
    tokens: &[Token<'_>],
    inside: &[Fingerprint],
    similarity: usize,
) -> Option<SimilarCode> {
    let (first, last) = (inside.first()?, inside.last()?);
    let [before, after] = &snippet.ends;
    let begin = first.at.saturating_sub(tokens_beyond(before, first));
    let end = (last.at + RUN + tokens_beyond(after, last)).min(tokens.len());
    let region = tokens.get(begin..end)?;
    let names: BTreeSet<&str> = region.iter().filter_map(|token| token.name).collect();
    let shared = snippet
        .names
        .iter()
        .filter(|name| names.contains(name.as_str()))
        .count();
    Some(SimilarCode {
        line: region.first()?.rows.0 + 1,
        end_line: region.last()?.rows.1 + 1,
        similarity,
        names: share(shared, snippet.names.len()),
    })
}

/// Returns how many tokens at an end of the snippet are in no fingerprint.
fn tokens_beyond(end: &End, found: &Fingerprint) -> usize {
    if end.hash == found.hash {
        end.beyond
    } else {
        0
    }
}

/// Returns a share in percent.
pub(super) fn share(part: usize, whole: usize) -> usize {
    (part * 100).checked_div(whole).unwrap_or(100)
}
