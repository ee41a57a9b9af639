//! Finds conflict markers in files, whatever program wrote them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use orchestrate_core::Oid;

use crate::error::GitError;
use crate::merge::handle::Merging;

/// The starts of the lines that begin and end a conflict. The lines between sides are not
/// distinctive.
const MARKERS: [&[u8]; 2] = [b"<<<<<<< ", b">>>>>>> "];

impl Merging<'_> {
    /// Lists which of the files have conflict markers in a tree, each with the line of its first
    /// one (counted from 1). Marker lines that one of the two sides also has do not count. For a
    /// link, its target path is searched.
    ///
    /// # Errors
    /// If the tree or a side is missing.
    pub fn remaining_markers(
        &self,
        tree: &Oid,
        files: &[PathBuf],
        sides: [&Oid; 2],
    ) -> Result<Vec<(PathBuf, usize)>, GitError> {
        let mut remaining = Vec::new();
        for path in files {
            if let Some(bytes) = self.repo.store().read_stored(tree, path)?
                && let Some(line) = self.new_marker(&bytes, path, sides)?
            {
                remaining.push((path.clone(), line));
            }
        }
        Ok(remaining)
    }

    /// Returns the line, from 1, of the first conflict marker that neither side has in the file at
    /// a path.
    pub(crate) fn new_marker(
        &self,
        bytes: &[u8],
        path: &Path,
        sides: [&Oid; 2],
    ) -> Result<Option<usize>, GitError> {
        if first_marker(bytes, &[]).is_none() {
            return Ok(None);
        }
        let [one, other] = sides.map(|side| self.repo.store().read_stored(side, path));
        let sides: Vec<Vec<u8>> = [one?, other?].into_iter().flatten().collect();
        Ok(first_marker(bytes, &sides))
    }
}

/// Returns the line, from 1, of the first conflict marker that none of the other texts has.
pub(crate) fn first_marker(bytes: &[u8], others: &[Vec<u8>]) -> Option<usize> {
    let known: HashSet<&[u8]> = others
        .iter()
        .flat_map(|other| lines(other))
        .filter(is_marker)
        .collect();
    Some(lines(bytes).position(|line| is_marker(&line) && !known.contains(line))? + 1)
}

fn is_marker(line: &&[u8]) -> bool {
    MARKERS.iter().any(|marker| line.starts_with(marker))
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_lines_that_nobody_had() {
        let table: [(&str, &[&str], Option<usize>); 5] = [
            ("a\n<<<<<<< integration\nb\n", &[], Some(2)),
            (">>>>>>> yours", &["<<<<<<< integration\n"], Some(1)),
            ("=======\n text <<<<<<< HEAD\n<<<<<<<\n", &[], None),
            ("<<<<<<< shown\n", &["a\n<<<<<<< shown\n", ""], None),
            ("<<<<<<< shown\n<<<<<<< HEAD\n", &["<<<<<<< shown"], Some(2)),
        ];
        for (text, others, expected) in table {
            let others: Vec<Vec<u8>> = others
                .iter()
                .map(|other| other.as_bytes().to_vec())
                .collect();
            assert_eq!(first_marker(text.as_bytes(), &others), expected, "{text}");
        }
    }
}
