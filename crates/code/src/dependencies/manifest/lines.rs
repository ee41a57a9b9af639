//! The numbers of lines.

/// Where the lines of a text begin.
pub(super) struct Lines(Vec<usize>);

impl Lines {
    pub(super) fn from_text(text: &str) -> Lines {
        Lines(text.match_indices('\n').map(|(at, _)| at + 1).collect())
    }

    /// Returns the number of the line of a byte, from 1.
    pub(super) fn at(&self, byte: usize) -> usize {
        self.0.partition_point(|start| *start <= byte) + 1
    }
}
