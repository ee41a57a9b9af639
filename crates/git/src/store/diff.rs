//! Differences between trees, computed by libgit2, which runs no program for this.

use std::path::PathBuf;

use git2::{Delta, DiffOptions};
use orchestrate_core::Oid;
use orchestrate_core::collections::Mutex;

use crate::error::GitError;
use crate::files::openat::path_of;
use crate::repo::repository::tree_of;
use crate::store::objects::Store;

/// The largest file whose lines are compared, in bytes: of one with short lines, libgit2 makes
/// eighty times as much. A larger one counts as binary, and as renamed only if its content is the
/// same.
const MAX_COMPARED_BYTES: usize = 768 << 10;
/// The size at which the text of a difference ends, in bytes: more than any person or agent reads.
const MAX_TEXT_BYTES: usize = 8 << 20;

/// Lines are compared by one thread at a time.
static COMPARING: Mutex<()> = Mutex::new(());

/// One file that differs between two trees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// The current path, or the previous one if the file was deleted.
    pub path: PathBuf,
    /// The previous path, if it was renamed.
    pub old_path: Option<PathBuf>,
    /// The kind of change.
    pub status: ChangeStatus,
    /// The number of added lines.
    pub added: usize,
    /// The number of removed lines.
    pub removed: usize,
    /// Whether its mode (executable, link) changed.
    pub mode_changed: bool,
    /// Whether it is binary, so that lines are not counted.
    pub binary: bool,
}

/// The kind of change of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeStatus {
    /// The file is new.
    Added,
    /// The content or mode differs.
    Modified,
    /// The file is gone.
    Deleted,
    /// The file has another path.
    Renamed,
    /// The file became another kind of file, for example a link.
    TypeChanged,
}

impl Store<'_> {
    /// Lists the files that differ between two trees (or commits), with renames detected.
    ///
    /// # Errors
    /// If a tree is missing.
    pub fn diff(&self, from: &Oid, to: &Oid) -> Result<Vec<FileChange>, GitError> {
        let handle = self.repo.handle()?;
        let _alone = COMPARING.lock();
        let diff = renamed_diff(&handle, from, to, None)?;
        let failed = GitError::library(format!("compare {from} and {to}"));
        let mut changes = Vec::new();
        for (at, delta) in diff.deltas().enumerate() {
            let patch = git2::Patch::from_diff(&diff, at).map_err(&failed)?;
            let (_, added, removed) = patch
                .as_ref()
                .map(git2::Patch::line_stats)
                .transpose()
                .map_err(&failed)?
                .unwrap_or_default();
            let binary = patch
                .as_ref()
                .map_or(delta.flags(), |patch| patch.delta().flags())
                .is_binary();
            changes.push(file_change(&delta, (added, removed), binary));
        }
        changes.sort_by(|one, two| one.path.cmp(&two.path));
        Ok(changes)
    }

    /// Returns the difference of two trees (or commits) as a unified diff. One that is too long
    /// ends with a line that says so.
    ///
    /// # Errors
    /// If a tree is missing.
    pub fn diff_text(&self, from: &Oid, to: &Oid) -> Result<String, GitError> {
        self.diff_text_of(from, to, &[])
    }

    /// Like [`Store::diff_text`], for some files and folders only; an empty list means all.
    ///
    /// # Errors
    /// If a tree is missing.
    pub fn diff_text_of(
        &self,
        from: &Oid,
        to: &Oid,
        paths: &[PathBuf],
    ) -> Result<String, GitError> {
        let handle = self.repo.handle()?;
        let _alone = COMPARING.lock();
        let diff = renamed_diff(&handle, from, to, Some(paths))?;
        let (mut text, mut is_cut) = (Vec::new(), false);
        let printed = diff.print(git2::DiffFormat::Patch, |_, _, line| {
            is_cut = text.len() + line.content().len() > MAX_TEXT_BYTES;
            if is_cut {
                return false;
            }
            if matches!(line.origin(), '+' | '-' | ' ') {
                text.push(u8::try_from(line.origin()).unwrap_or(b' '));
            }
            text.extend_from_slice(line.content());
            true
        });
        if is_cut {
            text.extend_from_slice(
                format!(
                    "[cut: the diff has more than {} MB]\n",
                    MAX_TEXT_BYTES >> 20
                )
                .as_bytes(),
            );
        } else {
            printed.map_err(GitError::library(format!("compare {from} and {to}")))?;
        }
        Ok(String::from_utf8(text)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// Lists the paths that differ between two trees (or commits), sorted and each once. Renames
    /// are not detected, so both paths of a renamed file are in the list.
    ///
    /// # Errors
    /// If a tree is missing.
    pub fn changed_paths(&self, from: &Oid, to: &Oid) -> Result<Vec<PathBuf>, GitError> {
        let handle = self.repo.handle()?;
        let diff = plain_diff(&handle, from, to, None)?;
        let mut paths: Vec<PathBuf> = diff
            .deltas()
            // Without rename detection, both sides of a difference have the same path.
            .filter_map(|delta| {
                delta
                    .new_file()
                    .path_bytes()
                    .or(delta.old_file().path_bytes())
                    .map(path_of)
            })
            .collect();
        paths.sort();
        paths.dedup();
        Ok(paths)
    }
}

impl ChangeStatus {
    /// Returns git's letter for the kind of change.
    pub fn letter(self) -> char {
        match self {
            ChangeStatus::Added => 'A',
            ChangeStatus::Modified => 'M',
            ChangeStatus::Deleted => 'D',
            ChangeStatus::Renamed => 'R',
            ChangeStatus::TypeChanged => 'T',
        }
    }
}

/// Compares two trees without looking for renames.
pub(crate) fn plain_diff<'r>(
    repository: &'r git2::Repository,
    from: &Oid,
    to: &Oid,
    paths: Option<&[PathBuf]>,
) -> Result<git2::Diff<'r>, GitError> {
    let mut options = DiffOptions::new();
    options
        .include_typechange(true)
        .disable_pathspec_match(true);
    options.max_size(i64::try_from(MAX_COMPARED_BYTES).unwrap_or(i64::MAX));
    for path in paths.unwrap_or_default() {
        options.pathspec(path);
    }
    let (old, new) = (tree_of(repository, from)?, tree_of(repository, to)?);
    repository
        .diff_tree_to_tree(Some(&old), Some(&new), Some(&mut options))
        .map_err(GitError::library(format!("compare {from} and {to}")))
}

fn renamed_diff<'r>(
    repository: &'r git2::Repository,
    from: &Oid,
    to: &Oid,
    paths: Option<&[PathBuf]>,
) -> Result<git2::Diff<'r>, GitError> {
    let failed = GitError::library(format!("find what was renamed from {from} to {to}"));
    let mut diff = plain_diff(repository, from, to, paths)?;
    let mut find = git2::DiffFindOptions::new();
    find.renames(true)
        .exact_match_only(has_large(repository, &diff).map_err(&failed)?);
    diff.find_similar(Some(&mut find)).map_err(&failed)?;
    Ok(diff)
}

/// Reports whether a file that may have been renamed is too large for its lines to be compared.
fn has_large(repository: &git2::Repository, diff: &git2::Diff<'_>) -> Result<bool, git2::Error> {
    let odb = repository.odb()?;
    for delta in diff.deltas() {
        let file = match delta.status() {
            Delta::Added => delta.new_file(),
            Delta::Deleted => delta.old_file(),
            _ => continue,
        };
        // What a submodule names is no object of this repository.
        let is_blob = file.mode() != git2::FileMode::Commit;
        if is_blob && odb.read_header(file.id())?.0 > MAX_COMPARED_BYTES {
            return Ok(true);
        }
    }
    Ok(false)
}

fn file_change(delta: &git2::DiffDelta<'_>, lines: (usize, usize), binary: bool) -> FileChange {
    let old = delta.old_file().path_bytes().map(path_of);
    let new = delta.new_file().path_bytes().map(path_of);
    let status = match delta.status() {
        Delta::Added | Delta::Copied | Delta::Untracked => ChangeStatus::Added,
        Delta::Deleted => ChangeStatus::Deleted,
        Delta::Renamed => ChangeStatus::Renamed,
        Delta::Typechange => ChangeStatus::TypeChanged,
        _ => ChangeStatus::Modified,
    };
    let both = !matches!(status, ChangeStatus::Added | ChangeStatus::Deleted);
    FileChange {
        path: new.or_else(|| old.clone()).unwrap_or_default(),
        old_path: old.filter(|_| status == ChangeStatus::Renamed),
        status,
        added: lines.0,
        removed: lines.1,
        mode_changed: both && delta.old_file().mode() != delta.new_file().mode(),
        binary,
    }
}
