//! Differences between trees, and history; read by libgit2, which runs no program for this.

use std::path::{Component, Path, PathBuf};

use git2::{Delta, DiffOptions};
use orchestrate_core::Oid;

use crate::error::GitError;
use crate::repo::repository::{Identity, Repo, ours, theirs, tree_of};
use crate::store::openat::path_of;

/// The most links in a chain that are followed; a longer chain is taken for a circle.
const MOST_LINKS: usize = 8;

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

/// A commit of the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitInfo {
    /// The commit's id.
    pub id: Oid,
    /// The commit's tree.
    pub tree: Oid,
    /// The commit's parents, in order.
    pub parents: Vec<Oid>,
    /// The commit's author.
    pub author: Identity,
    /// The commit time in seconds since 1970.
    pub time_unix: i64,
    /// The whole message.
    pub message: String,
}

impl CommitInfo {
    /// Returns the first line of the message.
    pub fn subject(&self) -> &str {
        self.message.lines().next().unwrap_or_default()
    }
}

impl Repo {
    /// Lists the files that differ between two trees (or commits), with renames detected.
    ///
    /// # Errors
    /// If a tree is missing.
    pub fn diff(&self, from: &Oid, to: &Oid) -> Result<Vec<FileChange>, GitError> {
        let handle = self.handle()?;
        let diff = renamed_diff(&handle, from, to, None)?;
        let failed = || GitError::library(format!("compare {from} and {to}"));
        let mut changes = Vec::new();
        for (at, delta) in diff.deltas().enumerate() {
            let patch = git2::Patch::from_diff(&diff, at).map_err(failed())?;
            let (_, added, removed) =
                patch.as_ref().map(git2::Patch::line_stats).transpose().map_err(failed())?.unwrap_or_default();
            let binary = patch.as_ref().map_or(delta.flags(), |patch| patch.delta().flags()).is_binary();
            changes.push(file_change(&delta, (added, removed), binary));
        }
        changes.sort_by(|one, two| one.path.cmp(&two.path));
        Ok(changes)
    }

    /// Returns the difference of two trees (or commits) as a unified diff.
    ///
    /// # Errors
    /// If a tree is missing.
    pub fn diff_text(&self, from: &Oid, to: &Oid) -> Result<String, GitError> {
        self.diff_text_of(from, to, &[])
    }

    /// Like [`Repo::diff_text`], for some files and folders only; an empty list means all.
    ///
    /// # Errors
    /// If a tree is missing.
    pub fn diff_text_of(&self, from: &Oid, to: &Oid, paths: &[PathBuf]) -> Result<String, GitError> {
        let handle = self.handle()?;
        let diff = renamed_diff(&handle, from, to, Some(paths))?;
        let mut text = Vec::new();
        diff.print(git2::DiffFormat::Patch, |_, _, line| {
            if matches!(line.origin(), '+' | '-' | ' ') {
                text.push(u8::try_from(line.origin()).unwrap_or(b' '));
            }
            text.extend_from_slice(line.content());
            true
        })
        .map_err(GitError::library(format!("compare {from} and {to}")))?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// Lists the paths that differ between two trees (or commits), sorted and each once. Renames are
    /// not detected, so both paths of a renamed file are in the list.
    ///
    /// # Errors
    /// If a tree is missing.
    pub fn changed_paths(&self, from: &Oid, to: &Oid) -> Result<Vec<PathBuf>, GitError> {
        let handle = self.handle()?;
        let diff = plain_diff(&handle, from, to, None)?;
        let mut paths: Vec<PathBuf> = diff
            .deltas()
            // Without rename detection, both sides of a difference have the same path.
            .filter_map(|delta| delta.new_file().path_bytes().or(delta.old_file().path_bytes()).map(path_of))
            .collect();
        paths.sort();
        paths.dedup();
        Ok(paths)
    }

    /// Lists the history of a commit, newest first, with at most `limit` commits.
    ///
    /// # Errors
    /// If the commit is missing.
    pub fn log(&self, tip: &Oid, limit: usize) -> Result<Vec<CommitInfo>, GitError> {
        let handle = self.handle()?;
        let failed = || GitError::library(format!("read the history of {tip}"));
        let mut walk = handle.revwalk().map_err(failed())?;
        walk.set_sorting(git2::Sort::TOPOLOGICAL | git2::Sort::TIME).map_err(failed())?;
        walk.push(theirs(tip)?).map_err(failed())?;
        walk.take(limit)
            .map(|oid| Ok(commit_info(&handle.find_commit(oid.map_err(failed())?).map_err(failed())?)))
            .collect()
    }

    /// Returns the details of a commit.
    ///
    /// # Errors
    /// If it is missing.
    pub fn commit_info(&self, commit: &Oid) -> Result<CommitInfo, GitError> {
        let handle = self.handle()?;
        let found = handle.find_commit(theirs(commit)?);
        found.map(|commit| commit_info(&commit)).map_err(GitError::library(format!("read the commit {commit}")))
    }

    /// Returns the details of a commit, or `None` if the object is of another kind, such as the
    /// tree of a conflict.
    ///
    /// # Errors
    /// If it is missing.
    pub fn find_commit(&self, object: &Oid) -> Result<Option<CommitInfo>, GitError> {
        let handle = self.handle()?;
        let found = handle.find_object(theirs(object)?, None);
        let found = found.map_err(GitError::library(format!("read {object}")))?;
        Ok(found.as_commit().map(commit_info))
    }

    /// Reads the content that a commit (or tree) stores at a path; for a link, that is its target.
    /// Returns `None` if it stores no file there.
    ///
    /// # Errors
    /// If the commit is missing.
    pub fn read_stored(&self, treeish: &Oid, path: &Path) -> Result<Option<Vec<u8>>, GitError> {
        let handle = self.handle()?;
        let failed = || GitError::library(format!("read {} of {treeish}", path.display()));
        match tree_of(&handle, treeish)?.get_path(path) {
            Ok(entry) if entry.kind() == Some(git2::ObjectType::Blob) => {
                Ok(Some(handle.find_blob(entry.id()).map_err(failed())?.content().to_vec()))
            }
            Ok(_) => Ok(None),
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
            Err(error) => Err(failed()(error)),
        }
    }

    /// Reads a file of a commit (or tree), or returns `None` if it has none at that path. A link is
    /// followed within the tree.
    ///
    /// # Errors
    /// If the commit is missing, or if a link leads to no file of the same tree.
    pub fn read_file(&self, treeish: &Oid, path: &Path) -> Result<Option<Vec<u8>>, GitError> {
        self.read_file_within(treeish, path, usize::MAX)
    }

    /// Like [`Repo::read_file`], but fails for a file with more than `limit` bytes without reading it.
    ///
    /// # Errors
    /// As [`Repo::read_file`], and [`GitError::TooLarge`].
    pub fn read_file_within(&self, treeish: &Oid, path: &Path, limit: usize) -> Result<Option<Vec<u8>>, GitError> {
        let handle = self.handle()?;
        let tree = tree_of(&handle, treeish)?;
        let mut at = path.to_owned();
        for _ in 0..=MOST_LINKS {
            let failed = || GitError::library(format!("read {} of {treeish}", at.display()));
            let entry = match tree.get_path(&at) {
                Ok(entry) if entry.kind() == Some(git2::ObjectType::Blob) => entry,
                Err(error) if error.code() != git2::ErrorCode::NotFound => return Err(failed()(error)),
                _ if at == path => return Ok(None),
                _ => break,
            };
            let (bytes, _) = handle.odb().and_then(|odb| odb.read_header(entry.id())).map_err(failed())?;
            if bytes > limit {
                let (path, limit) = (path.to_owned(), limit as u64);
                return Err(GitError::TooLarge { path, what: "the size in bytes", limit });
            }
            let content = handle.find_blob(entry.id()).map_err(failed())?.content().to_vec();
            if entry.filemode() != i32::from(git2::FileMode::Link) {
                return Ok(Some(content));
            }
            let Some(target) = link_target(&at, &path_of(&content)) else { break };
            at = target;
        }
        let source = std::io::Error::other("it is a link to a file that this commit does not contain");
        Err(GitError::Io { doing: "read", path: path.to_owned(), source })
    }

    /// Lists the files directly in a folder of a commit (or tree). Empty if there is no such folder.
    ///
    /// # Errors
    /// If the commit is missing.
    pub fn list_files(&self, treeish: &Oid, folder: &Path) -> Result<Vec<PathBuf>, GitError> {
        let handle = self.handle()?;
        let tree = tree_of(&handle, treeish)?;
        let failed = || GitError::library(format!("read {} of {treeish}", folder.display()));
        let entry = match tree.get_path(folder) {
            Ok(entry) if entry.kind() == Some(git2::ObjectType::Tree) => entry,
            Ok(_) => return Ok(Vec::new()),
            Err(error) if error.code() == git2::ErrorCode::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed()(error)),
        };
        let entries = handle.find_tree(entry.id()).map_err(failed())?;
        let files = entries.iter().filter(|entry| entry.kind() == Some(git2::ObjectType::Blob));
        Ok(files.map(|entry| folder.join(path_of(entry.name_bytes()))).collect())
    }
}

/// Returns the path to which a link leads, relative to the tree's root, or `None` if that is outside.
fn link_target(link: &Path, target: &Path) -> Option<PathBuf> {
    let mut path = link.parent()?.to_owned();
    for part in target.components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::ParentDir => path.pop().then_some(())?,
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
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
    options.include_typechange(true).disable_pathspec_match(true);
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
    let mut diff = plain_diff(repository, from, to, paths)?;
    let mut find = git2::DiffFindOptions::new();
    diff.find_similar(Some(find.renames(true)))
        .map_err(GitError::library(format!("find what was renamed from {from} to {to}")))?;
    Ok(diff)
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

fn commit_info(commit: &git2::Commit<'_>) -> CommitInfo {
    let author = commit.author();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    CommitInfo {
        id: ours(commit.id()),
        tree: ours(commit.tree_id()),
        parents: commit.parent_ids().map(ours).collect(),
        author: Identity { name: text(author.name_bytes()), email: text(author.email_bytes()) },
        time_unix: commit.time().seconds(),
        message: text(commit.message_bytes()),
    }
}
