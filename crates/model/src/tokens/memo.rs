//! Caches the token counts of texts: every request contains the whole conversation, of which only
//! the newest message is new.
//!
//! A count depends only on its text, and whole texts are compared instead of hashes, so a cached
//! count is exact. The size of the cache is bounded: it has two halves, and when the newer one is
//! full, the older one is dropped.

use std::collections::HashMap;

use orchestrate_core::collections::Mutex;

/// Maximum size of the texts in one half, in bytes: the contexts of twenty agents with 16,000
/// tokens of four bytes.
const HALF_BYTES: usize = 20 * 16_000 * 4;
/// Longer texts than this are not cached: one would evict the conversations of several agents.
const LONGEST_BYTES: usize = HALF_BYTES / 16;

/// A cache of token counts, shared by all threads.
#[derive(Default)]
pub(super) struct Memo {
    halves: Mutex<Halves>,
}

#[derive(Default)]
struct Halves {
    newer: HashMap<Box<str>, usize>,
    older: HashMap<Box<str>, usize>,
    /// Size of the texts in the newer half.
    bytes: usize,
}

impl Memo {
    /// Returns the cached count of a text, or calls `count`, without holding the lock, and caches
    /// its result.
    pub(super) fn count(&self, text: &str, count: impl FnOnce(&str) -> usize) -> usize {
        if text.len() > LONGEST_BYTES {
            return count(text);
        }
        if let Some(known) = self.halves.lock().find(text) {
            return known;
        }
        let counted = count(text);
        self.halves.lock().add(text, counted);
        counted
    }
}

impl Halves {
    /// Finds a cached count, and moves one from the older half to the newer.
    fn find(&mut self, text: &str) -> Option<usize> {
        if let Some(known) = self.newer.get(text) {
            return Some(*known);
        }
        let known = self.older.get(text).copied()?;
        self.add(text, known);
        Some(known)
    }

    fn add(&mut self, text: &str, count: usize) {
        if self.bytes + text.len() > HALF_BYTES {
            self.older = std::mem::take(&mut self.newer);
            self.bytes = 0;
        }
        if self.newer.insert(text.into(), count).is_none() {
            self.bytes += text.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_counted_once_until_it_is_forgotten() {
        let memo = Memo::default();
        let counted = std::cell::Cell::new(0);
        let count = |text: &str| {
            memo.count(text, |text| {
                counted.set(counted.get() + 1);
                text.len()
            })
        };
        assert_eq!((count("one"), count("one"), counted.get()), (3, 3, 1));
        // A text that is counted again and again stays cached, whatever else is counted.
        let others = 3 * HALF_BYTES / LONGEST_BYTES;
        for number in 0..others {
            let other = format!("{number:04}{}", "x".repeat(LONGEST_BYTES - 4));
            assert_eq!((count(&other), count("one")), (LONGEST_BYTES, 3));
        }
        assert_eq!(counted.get(), 1 + others);
        let halves = memo.halves.lock();
        let held: usize = halves
            .newer
            .keys()
            .chain(halves.older.keys())
            .map(|text| text.len())
            .sum();
        assert!(held <= 2 * HALF_BYTES, "{held}");
    }

    #[test]
    fn a_huge_text_pushes_nothing_out() {
        let memo = Memo::default();
        let huge = "x".repeat(LONGEST_BYTES + 1);
        assert_eq!([memo.count(&huge, |_| 1), memo.count(&huge, |_| 2)], [1, 2]);
    }
}
