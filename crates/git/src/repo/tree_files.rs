//! The regular files of trees, each of which is listed once: a tree's id names the same files for
//! ever.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use git2::{ObjectType, Repository};
use orchestrate_core::Oid;
use orchestrate_core::collections::Mutex;

use crate::files::openat::path_of;

/// How many entries of folders are kept: those of a few large repositories, in tens of megabytes.
const MAX_KEPT: usize = 200_000;

/// A regular file of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegularFile {
    /// Its path in the repository.
    pub path: PathBuf,
    /// The id of its content.
    pub content: Oid,
    /// Its size in bytes.
    pub bytes: u64,
}

/// The trees that were listed, by their ids.
#[derive(Debug, Default)]
pub(crate) struct ListedTrees(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    by_id: HashMap<git2::Oid, Arc<ListedTree>>,
    entries: usize,
}

/// What is directly in a folder.
#[derive(Debug)]
struct ListedTree {
    /// Its files, by their names.
    files: Vec<RegularFile>,
    folders: Vec<(PathBuf, git2::Oid)>,
}

impl ListedTrees {
    /// Lists the regular files of a tree. Whoever asks for a tree that another thread is listing
    /// waits for it.
    pub(crate) fn files(
        &self,
        repository: &Repository,
        tree: git2::Oid,
    ) -> Result<Vec<RegularFile>, git2::Error> {
        let mut kept = self.0.lock();
        let (mut files, mut open) = (Vec::new(), vec![(PathBuf::new(), tree)]);
        while let Some((folder, id)) = open.pop() {
            let listed = kept.listed(repository, id)?;
            let below = |name: &Path| folder.join(name);
            files.extend(listed.files.iter().map(|file| RegularFile {
                path: below(&file.path),
                ..file.clone()
            }));
            open.extend(listed.folders.iter().map(|(name, id)| (below(name), *id)));
        }
        Ok(files)
    }
}

impl Kept {
    fn listed(
        &mut self,
        repository: &Repository,
        id: git2::Oid,
    ) -> Result<Arc<ListedTree>, git2::Error> {
        if let Some(listed) = self.by_id.get(&id) {
            return Ok(Arc::clone(listed));
        }
        let listed = Arc::new(ListedTree::read(repository, id)?);
        let entries = 1 + listed.files.len() + listed.folders.len();
        if self.entries + entries > MAX_KEPT {
            *self = Kept::default();
        }
        if entries <= MAX_KEPT {
            self.entries += entries;
            self.by_id.insert(id, Arc::clone(&listed));
        }
        Ok(listed)
    }
}

impl ListedTree {
    fn read(repository: &Repository, id: git2::Oid) -> Result<ListedTree, git2::Error> {
        let (objects, tree) = (repository.odb()?, repository.find_tree(id)?);
        let mut listed = ListedTree {
            files: Vec::new(),
            folders: Vec::new(),
        };
        for entry in tree.iter() {
            let name = path_of(entry.name_bytes());
            match entry.kind() {
                Some(ObjectType::Blob) if entry.filemode() != i32::from(git2::FileMode::Link) => {
                    let (bytes, _) = objects.read_header(entry.id())?;
                    let content = Oid::new(entry.id().to_string());
                    listed.files.push(RegularFile {
                        path: name,
                        content,
                        bytes: bytes as u64,
                    });
                }
                Some(ObjectType::Tree) => listed.folders.push((name, entry.id())),
                _ => {}
            }
        }
        Ok(listed)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::error::GitError;
    use crate::repo::repository::{Repo, ours};
    use crate::store::sample::Sample;

    /// Two agents of a run whose bases differ in one folder: the second one's listing reads only
    /// that folder.
    #[test]
    fn a_folder_is_listed_once() {
        let sample = Sample::with(&[("a", "one")]);
        let project = sample.folder.path().join("project");
        let made = git2::Repository::open(&project).unwrap();
        let tree = |entries: &[(&str, git2::Oid, i32)]| {
            let mut tree = made.treebuilder(None).unwrap();
            entries
                .iter()
                .for_each(|(name, id, mode)| drop(tree.insert(name, *id, *mode).unwrap()));
            tree.write().unwrap()
        };
        let (file, below) = (made.blob(b"one").unwrap(), made.blob(b"below").unwrap());
        let link = made.blob(b"target").unwrap();
        let inner = tree(&[("x", below, 0o100_755), ("link", link, 0o120_000)]);
        let outer = tree(&[("inner", inner, 0o040_000)]);
        let first = tree(&[("a", file, 0o100_644), ("outer", outer, 0o040_000)]);
        let second = tree(&[("b", file, 0o100_644), ("outer", outer, 0o040_000)]);
        let list = |repo: &Repo, tree: git2::Oid| -> Result<Vec<(String, u64)>, GitError> {
            let mut files: Vec<(String, u64)> = repo
                .store()
                .regular_files(&ours(tree))?
                .into_iter()
                .map(|file| (file.path.display().to_string(), file.bytes))
                .collect();
            files.sort();
            Ok(files)
        };
        assert_eq!(
            list(&sample.repo, first).unwrap(),
            [("a".to_owned(), 3), ("outer/inner/x".to_owned(), 5)]
        );
        for id in [outer, inner, below] {
            let name = id.to_string();
            fs::remove_file(
                made.path()
                    .join("objects")
                    .join(&name[..2])
                    .join(&name[2..]),
            )
            .unwrap();
        }
        assert_eq!(
            list(&sample.repo, second).unwrap(),
            [("b".to_owned(), 3), ("outer/inner/x".to_owned(), 5)]
        );
        let other = Repo::open(&project, sample.folder.path()).unwrap();
        assert!(list(&other, second).is_err(), "nothing was listed by it");
    }
}
