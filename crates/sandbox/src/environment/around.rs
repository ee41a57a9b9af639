//! Lists the rest of a path of which a part must not be seen.

use std::path::{Path, PathBuf};

/// Lists what is left of a path without the hidden ones below it: the siblings along the way,
/// instead of the path itself.
pub(crate) fn around(path: &Path, hidden: &[&Path]) -> Vec<PathBuf> {
    if hidden.contains(&path) {
        return Vec::new();
    }
    if !hidden.iter().any(|mask| mask.starts_with(path)) {
        return vec![path.to_owned()];
    }
    let mut left = Vec::new();
    if let Ok(entries) = std::fs::read_dir(path) {
        for entry in entries.flatten() {
            let entry = entry.path();
            if entry.exists() {
                left.extend(around(&entry, hidden));
            }
        }
    }
    left
}
