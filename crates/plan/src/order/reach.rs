//! Finds out whether a task waits for another, be it through others.

use std::collections::HashSet;

/// The maximum number of steps spent on finding out what waits for what. Beyond it, two writers of
/// a path are ordered again, which costs only a warning.
const MAX_SEARCH_STEPS: usize = 1_000_000;

/// Finds out what tasks wait for indirectly.
#[derive(Default)]
pub(crate) struct Reach {
    /// The number of search steps so far.
    steps: usize,
}

impl Reach {
    /// Reports whether lists of predecessors lead from a task to another; `false` once all searches
    /// together have taken `MAX_SEARCH_STEPS`.
    pub(crate) fn leads(&mut self, lists: &[&[Vec<usize>]], at: usize, earlier: usize) -> bool {
        let mut seen = HashSet::from([at]);
        let mut open = vec![at];
        while let Some(current) = open.pop().filter(|_| self.steps <= MAX_SEARCH_STEPS) {
            for before in lists.iter().filter_map(|list| list.get(current)).flatten() {
                self.steps += 1;
                if *before == earlier {
                    return true;
                }
                if seen.insert(*before) {
                    open.push(*before);
                }
            }
        }
        false
    }
}
