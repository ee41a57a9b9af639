//! Walks the worktree in order, without following links and without what ignore files exclude.

use std::cmp::Ordering;

use super::entry::Entry;
use super::listing::{Listed, Listing, WalkLimits, WalkSummary};
use super::open::Files;
use super::path::split;
use crate::answer::ToolError;

/// Whether a walk continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Continue with the next entry.
    Continue,
    /// End the walk without an error.
    Stop,
}

impl Files {
    /// Visits the entries of a directory and, if recursive, of its subdirectories; the entries of
    /// each directory are ordered by name.
    ///
    /// # Errors
    /// As [`Files::open`]; `TooBroad` after the deadline or too many entries, `Interrupted` if
    /// cancelled.
    pub fn walk(
        &self,
        start: &str,
        limits: &WalkLimits,
        visit: &mut dyn FnMut(&Entry) -> Result<Flow, ToolError>,
    ) -> Result<WalkSummary, ToolError> {
        self.visit(start, true, limits, visit)
    }

    /// Visits the same entries, and those that ignore files exclude.
    ///
    /// # Errors
    /// As [`Files::walk`].
    pub(crate) fn walk_all(
        &self,
        start: &str,
        limits: &WalkLimits,
        visit: &mut dyn FnMut(&Entry) -> Result<Flow, ToolError>,
    ) -> Result<WalkSummary, ToolError> {
        self.visit(start, false, limits, visit)
    }

    fn visit(
        &self,
        start: &str,
        honours_rules: bool,
        limits: &WalkLimits,
        visit: &mut dyn FnMut(&Entry) -> Result<Flow, ToolError>,
    ) -> Result<WalkSummary, ToolError> {
        let listing = Listing::new(self, honours_rules, limits);
        let mut summary = WalkSummary::default();
        let mut pending = vec![listing.start(start)?];
        while let Some(directory) = pending.pop() {
            let Listed {
                entries,
                below,
                left_out,
            } = listing.list(&directory)?;
            summary.add(left_out);
            for entry in &entries {
                limits.check()?;
                if visit(entry)? == Flow::Stop {
                    return Ok(summary);
                }
            }
            pending.extend(below.into_iter().rev());
        }
        Ok(summary)
    }
}

/// Compares two entries' paths by the order of [`Files::walk`]: all entries of a directory come
/// before those of its subdirectories.
pub(crate) fn walk_order(left: &str, right: &str) -> Ordering {
    let ((above_left, left), (above_right, right)) = (split(left), split(right));
    above_left
        .split('/')
        .cmp(above_right.split('/'))
        .then_with(|| left.cmp(right))
}

/// Returns what compares as [`walk_order`] compares the paths, for a sort that makes it once for
/// each of many.
pub(crate) fn walk_key(path: &str) -> (String, String) {
    let (above, name) = split(path);
    // No name has this character, which comes before every other one.
    (above.replace('/', "\0"), name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_the_order_of_a_walk() {
        let sorted = [
            "b", "z", "a/b", "a/b/c", "a/b/d/e", "a/c/d", "a b/c", "a-b/c", "a.b/c", "ab/c", "b/a",
        ];
        for (place, left) in sorted.iter().enumerate() {
            for (other, right) in sorted.iter().enumerate() {
                assert_eq!(walk_order(left, right), place.cmp(&other), "{left} {right}");
                assert_eq!(
                    walk_key(left).cmp(&walk_key(right)),
                    place.cmp(&other),
                    "{left} {right}"
                );
            }
        }
    }
}
