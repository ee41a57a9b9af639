//! Commits, and the files that they contain; read by libgit2, which runs no program for this.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use orchestrate_core::Oid;
use orchestrate_core::text::git_path::resolved;

use crate::error::GitError;
use crate::files::openat::path_of;
use crate::repo::repository::{Identity, Repo, ours, theirs, tree_of};
use crate::repo::tree_files::RegularFile;

/// The most links in a chain that are followed; a longer chain is taken for a circle.
const MOST_LINKS: usize = 8;

/// The objects of a repository, returned by [`Repo::store`].
#[derive(Clone, Copy, Debug)]
pub struct Store<'r> {
    pub(super) repo: &'r Repo,
}

impl Repo {
    /// Returns the operations on objects: storing a worktree's files, and reading and comparing
    /// what is stored.
    pub fn store(&self) -> Store<'_> {
        Store { repo: self }
    }
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

impl Store<'_> {
    /// Lists the history of a commit, newest first, with at most `limit` commits.
    ///
    /// # Errors
    /// If the commit is missing.
    pub fn log(&self, tip: &Oid, limit: usize) -> Result<Vec<CommitInfo>, GitError> {
        self.log_without(tip, &[], limit)
    }

    /// The same without what other commits contain.
    pub(crate) fn log_without(
        &self,
        tip: &Oid,
        without: &[&Oid],
        limit: usize,
    ) -> Result<Vec<CommitInfo>, GitError> {
        let handle = self.repo.handle()?;
        let failed = GitError::library(format!("read the history of {tip}"));
        let mut walk = handle.revwalk().map_err(&failed)?;
        walk.set_sorting(git2::Sort::TOPOLOGICAL | git2::Sort::TIME)
            .map_err(&failed)?;
        walk.push(theirs(tip)?).map_err(&failed)?;
        for known in without {
            walk.hide(theirs(known)?).map_err(&failed)?;
        }
        walk.take(limit)
            .map(|oid| {
                Ok(commit_info(
                    &handle.find_commit(oid.map_err(&failed)?).map_err(&failed)?,
                ))
            })
            .collect()
    }

    /// Lists the commits from `base` to `tip` along the first parents, oldest first and without
    /// `base`.
    ///
    /// # Errors
    /// If a commit is missing.
    pub fn first_parents(&self, base: &Oid, tip: &Oid) -> Result<Vec<CommitInfo>, GitError> {
        let handle = self.repo.handle()?;
        let failed = GitError::library(format!("read the history of {tip}"));
        let mut walk = handle.revwalk().map_err(&failed)?;
        walk.simplify_first_parent().map_err(&failed)?;
        walk.push(theirs(tip)?).map_err(&failed)?;
        walk.hide(theirs(base)?).map_err(&failed)?;
        let commits = walk.map(|oid| {
            Ok(commit_info(
                &handle.find_commit(oid.map_err(&failed)?).map_err(&failed)?,
            ))
        });
        let mut commits: Vec<CommitInfo> = commits.collect::<Result<_, GitError>>()?;
        commits.reverse();
        Ok(commits)
    }

    /// Lists the newest commits of a history along the first parents, oldest first, as far as they
    /// are not in that of `base`.
    ///
    /// # Errors
    /// If a commit is missing.
    pub fn newest_beyond(
        &self,
        base: &Oid,
        tip: &Oid,
        limit: usize,
    ) -> Result<Vec<CommitInfo>, GitError> {
        let mut commits = Vec::new();
        let mut next = Some(tip.clone());
        while let Some(at) = next.filter(|_| commits.len() < limit) {
            if self.repo.contains(base, &at)? {
                break;
            }
            let commit = self.commit_info(&at)?;
            next = commit.parents.first().cloned();
            commits.push(commit);
        }
        commits.reverse();
        Ok(commits)
    }

    /// Returns the details of a commit.
    ///
    /// # Errors
    /// If it is missing.
    pub fn commit_info(&self, commit: &Oid) -> Result<CommitInfo, GitError> {
        let handle = self.repo.handle()?;
        let found = handle.find_commit(theirs(commit)?);
        found
            .map(|commit| commit_info(&commit))
            .map_err(GitError::library(format!("read the commit {commit}")))
    }

    /// Returns the details of a commit, or `None` if the object is of another kind, such as the
    /// tree of a conflict.
    ///
    /// # Errors
    /// If it is missing.
    pub fn find_commit(&self, object: &Oid) -> Result<Option<CommitInfo>, GitError> {
        let handle = self.repo.handle()?;
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
        let handle = self.repo.handle()?;
        let failed = GitError::library(format!("read {} of {treeish}", path.display()));
        match tree_of(&handle, treeish)?.get_path(path) {
            Ok(entry) if entry.kind() == Some(git2::ObjectType::Blob) => Ok(Some(
                handle
                    .find_blob(entry.id())
                    .map_err(&failed)?
                    .content()
                    .to_vec(),
            )),
            Ok(_) => Ok(None),
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
            Err(error) => Err(failed(error)),
        }
    }

    /// Reads a file of a commit (or tree), or returns `None` if it has none at that path. A link is
    /// followed within the tree.
    ///
    /// # Errors
    /// If the commit is missing; [`GitError::LinkLeadsOut`] if a link leads to no file of the same
    /// tree.
    pub fn read_file(&self, treeish: &Oid, path: &Path) -> Result<Option<Vec<u8>>, GitError> {
        self.read_file_within(treeish, path, usize::MAX)
    }

    /// Like [`Store::read_file`], but fails for a file with more than `limit` bytes without reading
    /// it.
    ///
    /// # Errors
    /// As [`Store::read_file`], and [`GitError::TooLarge`].
    pub fn read_file_within(
        &self,
        treeish: &Oid,
        path: &Path,
        limit: usize,
    ) -> Result<Option<Vec<u8>>, GitError> {
        let handle = self.repo.handle()?;
        let tree = tree_of(&handle, treeish)?;
        let mut at = path.to_owned();
        for _ in 0..=MOST_LINKS {
            let failed = GitError::library(format!("read {} of {treeish}", at.display()));
            let entry = match tree.get_path(&at) {
                Ok(entry) if entry.kind() == Some(git2::ObjectType::Blob) => entry,
                Err(error) if error.code() != git2::ErrorCode::NotFound => {
                    return Err(failed(error));
                }
                _ if at == path => return Ok(None),
                _ => break,
            };
            let (bytes, _) = handle
                .odb()
                .and_then(|odb| odb.read_header(entry.id()))
                .map_err(&failed)?;
            if bytes > limit {
                let (path, limit) = (path.to_owned(), limit as u64);
                return Err(GitError::TooLarge {
                    path,
                    what: "the size in bytes",
                    limit,
                });
            }
            let content = handle
                .find_blob(entry.id())
                .map_err(&failed)?
                .content()
                .to_vec();
            if entry.filemode() != i32::from(git2::FileMode::Link) {
                return Ok(Some(content));
            }
            let Some(target) = at
                .parent()
                .and_then(|folder| resolved(folder, &path_of(&content)))
            else {
                break;
            };
            at = target;
        }
        Err(GitError::LinkLeadsOut {
            path: path.to_owned(),
        })
    }

    /// Lists the files directly in a folder of a commit (or tree). Empty if there is no such
    /// folder.
    ///
    /// # Errors
    /// If the commit is missing.
    pub fn list_files(&self, treeish: &Oid, folder: &Path) -> Result<Vec<PathBuf>, GitError> {
        self.list(treeish, folder, git2::ObjectType::Blob)
    }

    /// Lists all files of a commit (or tree), each with the id of its content; submodules are left
    /// out.
    ///
    /// # Errors
    /// If the commit is missing.
    pub fn all_files(&self, treeish: &Oid) -> Result<BTreeMap<PathBuf, Oid>, GitError> {
        let handle = self.repo.handle()?;
        let mut files = BTreeMap::new();
        let mut open = vec![(PathBuf::new(), tree_of(&handle, treeish)?)];
        while let Some((folder, tree)) = open.pop() {
            for entry in tree.iter() {
                let path = folder.join(path_of(entry.name_bytes()));
                match entry.kind() {
                    Some(git2::ObjectType::Blob) => drop(files.insert(path, ours(entry.id()))),
                    Some(git2::ObjectType::Tree) => open.push((
                        path,
                        handle
                            .find_tree(entry.id())
                            .map_err(GitError::library(format!("list the files of {treeish}")))?,
                    )),
                    _ => {}
                }
            }
        }
        Ok(files)
    }

    /// Lists the regular files of a commit (or tree), in no particular order; neither links nor
    /// submodules are among them.
    ///
    /// # Errors
    /// If the commit or the content of a file is missing.
    pub fn regular_files(&self, treeish: &Oid) -> Result<Vec<RegularFile>, GitError> {
        let handle = self.repo.handle()?;
        let tree = tree_of(&handle, treeish)?.id();
        let listed = self.repo.shared.listed_trees.files(&handle, tree);
        listed.map_err(GitError::library(format!("list the files of {treeish}")))
    }

    /// Reads a content by its id.
    ///
    /// # Errors
    /// If it is missing.
    pub fn read_content(&self, content: &Oid) -> Result<Vec<u8>, GitError> {
        let handle = self.repo.handle()?;
        let failed = GitError::library(format!("read {content}"));
        Ok(handle
            .find_blob(theirs(content)?)
            .map_err(failed)?
            .content()
            .to_vec())
    }

    /// Lists the folders directly in a folder of a commit (or tree). Empty if there is no such
    /// folder.
    ///
    /// # Errors
    /// If the commit is missing.
    pub fn list_folders(&self, treeish: &Oid, folder: &Path) -> Result<Vec<PathBuf>, GitError> {
        self.list(treeish, folder, git2::ObjectType::Tree)
    }

    fn list(
        &self,
        treeish: &Oid,
        folder: &Path,
        kind: git2::ObjectType,
    ) -> Result<Vec<PathBuf>, GitError> {
        let handle = self.repo.handle()?;
        let tree = tree_of(&handle, treeish)?;
        let failed = GitError::library(format!("read {} of {treeish}", folder.display()));
        let entry = match tree.get_path(folder) {
            Ok(entry) if entry.kind() == Some(git2::ObjectType::Tree) => entry,
            Ok(_) => return Ok(Vec::new()),
            Err(error) if error.code() == git2::ErrorCode::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let entries = handle.find_tree(entry.id()).map_err(&failed)?;
        let found = entries.iter().filter(|entry| entry.kind() == Some(kind));
        Ok(found
            .map(|entry| folder.join(path_of(entry.name_bytes())))
            .collect())
    }
}

fn commit_info(commit: &git2::Commit<'_>) -> CommitInfo {
    let author = commit.author();
    CommitInfo {
        id: ours(commit.id()),
        tree: ours(commit.tree_id()),
        parents: commit.parent_ids().map(ours).collect(),
        author: Identity {
            name: lossy(author.name_bytes()),
            email: lossy(author.email_bytes()),
        },
        time_unix: commit.time().seconds(),
        message: lossy(commit.message_bytes()),
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
