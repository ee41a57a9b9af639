//! Remembers the counts of texts: every request holds its conversation again, and only the newest message is new.
//!
//! A count is a function of its text, so a remembered one is exact; whole texts are compared, not their hashes. What
//! is remembered is bounded: it stands in two halves, and when the newer is full, the older is forgotten.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Bytes of text that one half holds: the contexts of twenty agents of 16,000 tokens at four bytes each.
const HALF_BYTES: usize = 20 * 16_000 * 4;
/// Longer texts than this are counted again: one would push out the conversations of several agents.
const LONGEST_BYTES: usize = HALF_BYTES / 16;

/// Counts that are remembered.
#[derive(Default)]
pub(super) struct Memo {
    halves: Mutex<Halves>,
}

#[derive(Default)]
struct Halves {
    newer: HashMap<Box<str>, usize>,
    older: HashMap<Box<str>, usize>,
    /// Bytes of the texts in the newer half.
    bytes: usize,
}

impl Memo {
    /// Returns the count of a text, by counting if it is not remembered; others are not kept waiting by that.
    pub(super) fn count(&self, text: &str, count: impl FnOnce(&str) -> usize) -> usize {
        if text.len() > LONGEST_BYTES {
            return count(text);
        }
        if let Some(known) = self.halves.lock().unwrap_or_else(PoisonError::into_inner).find(text) {
            return known;
        }
        let counted = count(text);
        self.halves.lock().unwrap_or_else(PoisonError::into_inner).add(text, counted);
        counted
    }
}

impl Halves {
    /// Finds a count; one from the older half is kept for longer.
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
        // What is asked for again and again outlives any number of others.
        let others = 3 * HALF_BYTES / LONGEST_BYTES;
        for number in 0..others {
            let other = format!("{number:04}{}", "x".repeat(LONGEST_BYTES - 4));
            assert_eq!((count(&other), count("one")), (LONGEST_BYTES, 3));
        }
        assert_eq!(counted.get(), 1 + others);
        let halves = memo.halves.lock().unwrap();
        let held: usize = halves.newer.keys().chain(halves.older.keys()).map(|text| text.len()).sum();
        assert!(held <= 2 * HALF_BYTES, "{held}");
    }

    #[test]
    fn a_huge_text_pushes_nothing_out() {
        let memo = Memo::default();
        let huge = "x".repeat(LONGEST_BYTES + 1);
        assert_eq!([memo.count(&huge, |_| 1), memo.count(&huge, |_| 2)], [1, 2]);
    }
}
