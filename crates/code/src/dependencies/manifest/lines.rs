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

    /// Returns the byte at which a line begins, by its number.
    pub(super) fn begin(&self, number: usize) -> usize {
        number
            .checked_sub(2)
            .and_then(|place| self.0.get(place))
            .copied()
            .unwrap_or_default()
    }
}
