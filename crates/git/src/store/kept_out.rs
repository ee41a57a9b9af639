//! The files of a tree that stay out of commits, by the rules that snapshots go by: for trees that
//! an agent has made itself, with its own git.

use std::collections::BTreeSet;
use std::path::PathBuf;

use git2::{Delta, Repository, Tree};
use orchestrate_core::Oid;
use orchestrate_core::task::kept_out::{MAX_SEARCHED_BYTES, Untracked};
use orchestrate_core::text::git_path::text;

use crate::error::GitError;
use crate::files::openat::path_of;
use crate::repo::repository::tree_of;
use crate::store::diff::plain_diff;
use crate::store::objects::Store;

impl Store<'_> {
    /// Lists the files of `after` that `before` does not have (both are trees or commits) and that
    /// stay out of commits: what looks like a cache, a build output or a secret.
    ///
    /// # Errors
    /// If a tree or a file of it is missing.
    pub fn kept_out(&self, before: &Oid, after: &Oid) -> Result<Vec<PathBuf>, GitError> {
        let handle = self.repo.handle()?;
        let old = tree_of(&handle, before)?;
        let new = tree_of(&handle, after)?;
        let diff = plain_diff(&handle, before, after, None)?;
        let mut kept_out = BTreeSet::new();
        for delta in diff.deltas() {
            let file = delta.new_file();
            let Some(path) = file.path_bytes().map(path_of) else {
                continue;
            };
            if delta.status() != Delta::Added || old.get_path(&path).is_ok() {
                continue;
            }
            let is_secret = match handle.find_blob(file.id()) {
                Ok(blob) => {
                    let content = blob.content();
                    let start = content.get(..MAX_SEARCHED_BYTES).unwrap_or(content);
                    self.repo.rules.secret(&text(&path), start).is_some()
                }
                // The commit of a submodule.
                Err(_) => false,
            };
            if is_secret || self.is_scratch(&handle, &old, &new, &path) {
                kept_out.insert(path);
            }
        }
        Ok(kept_out.into_iter().collect())
    }

    /// Reports whether a new file, or a new folder that it is in, is a cache or a build output.
    fn is_scratch(
        &self,
        repository: &Repository,
        old: &Tree<'_>,
        new: &Tree<'_>,
        path: &std::path::Path,
    ) -> bool {
        let places = path.ancestors().filter(|place| place.file_name().is_some());
        for place in places {
            if old.get_path(place).is_ok() {
                continue;
            }
            let above = place.parent().filter(|above| above.file_name().is_some());
            let siblings = names(repository, new, above);
            let inside = names(repository, new, Some(place));
            let inside = |name: &str| inside.iter().any(|entry| entry == name);
            let found = self.repo.rules.scratch(&Untracked {
                path: &text(place),
                is_folder: place != path,
                siblings: &siblings,
                inside: &inside,
            });
            if found.is_some() && !self.repo.rules.takes(&text(path)) {
                return true;
            }
        }
        false
    }
}

/// Lists the names in a folder of a tree; there are none in a file.
fn names(
    repository: &Repository,
    tree: &Tree<'_>,
    folder: Option<&std::path::Path>,
) -> Vec<String> {
    let found = match folder {
        None => Some(tree.clone()),
        Some(folder) => tree
            .get_path(folder)
            .and_then(|entry| repository.find_tree(entry.id()))
            .ok(),
    };
    let mut names = Vec::new();
    for entry in found.iter().flatten() {
        names.push(String::from_utf8_lossy(entry.name_bytes()).into_owned());
    }
    names
}
