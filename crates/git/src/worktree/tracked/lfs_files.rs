//! Puts contents that are stored with Git LFS in the place of their pointers, as `git lfs` would.
//!
//! A content comes from the user's own repository, and its hash is checked; a pointer whose content
//! is not there stays. The index records the pointer together with the metadata of the content, so
//! that no git takes it for a change.

use git2::{AttrCheckFlags, AttrValue, Index, IndexEntry, Repository};
use orchestrate_core::Oid;

use crate::error::GitError;
use crate::error::refusal::Warning;
use crate::files::index_entry::{EXECUTABLE, REGULAR, entry_of, unread_entry};
use crate::files::openat;
use crate::files::openat::path_of;
use crate::repo::lfs::{FILTER, LfsStore, MAX_POINTER_BYTES, Pointer};
use crate::repo::probe;
use crate::repo::repository::{Repo, tree_of};
use crate::repo::worktree::Worktree;
use crate::worktree::worktrees::Worktrees;

impl Worktrees<'_> {
    /// Replaces the pointers in a worktree whose contents are there.
    pub(super) fn bring_lfs_files(&self, worktree: &Worktree) -> Result<(), GitError> {
        let place = worktree.admin_dir().join("index");
        let failed = GitError::library(format!("write {}", place.display()));
        let mut index = Index::open(&place).map_err(&failed)?;
        if !asks_for_lfs(&*self.repo.handle()?, &index)? {
            return Ok(());
        }
        // Which files are stored there is said by the attributes of the worktree's own index.
        let repository = self.repo.open_git_dir(worktree.admin_dir())?;
        let store =
            LfsStore::from_configuration(&self.repo.shared.configuration, self.repo.common_dir());
        let mut brought = Vec::new();
        for (entry, pointer) in pointers(&repository, &index)? {
            brought.extend(bring(worktree, &store, &entry, &pointer)?);
        }
        if brought.is_empty() {
            return Ok(());
        }
        for entry in &brought {
            index.add(entry).map_err(&failed)?;
        }
        index.write().map_err(&failed)
    }
}

impl Repo {
    /// Returns how many files of a commit remain pointers in worktrees; `None` if none does. The
    /// attributes are those of the user's index.
    pub(crate) fn missing_lfs_files(
        &self,
        handle: &Repository,
        commit: &Oid,
    ) -> Result<Option<Warning>, GitError> {
        let failed = GitError::library(format!("read the files of {commit}"));
        let mut index = Index::new().map_err(&failed)?;
        index
            .read_tree(&tree_of(handle, commit)?)
            .map_err(&failed)?;
        let store = LfsStore::from_configuration(&self.shared.configuration, self.common_dir());
        let pointers = pointers(handle, &index)?;
        let files = pointers
            .iter()
            .filter(|(_, pointer)| !store.has(pointer))
            .count();
        Ok((files > 0).then_some(Warning::Pointers { files }))
    }
}

/// Lists the entries of an index that are pointers, of files that its attributes store with Git
/// LFS.
pub(crate) fn pointers(
    repository: &Repository,
    index: &Index,
) -> Result<Vec<(IndexEntry, Pointer)>, GitError> {
    let mut pointers = Vec::new();
    if !asks_for_lfs(repository, index)? {
        return Ok(pointers);
    }
    for entry in index.iter() {
        // The size of a file that was not read yet is 0; that of a pointer whose content was
        // brought is larger.
        let is_candidate = matches!(entry.mode, REGULAR | EXECUTABLE)
            && entry.file_size as u64 <= MAX_POINTER_BYTES;
        if !is_candidate || !is_lfs(repository, &entry.path)? {
            continue;
        }
        let failed = GitError::library(format!("read {}", path_of(&entry.path).display()));
        let (bytes, _) = repository
            .odb()
            .and_then(|odb| odb.read_header(entry.id))
            .map_err(&failed)?;
        if bytes as u64 > MAX_POINTER_BYTES {
            continue;
        }
        let blob = repository.find_blob(entry.id).map_err(&failed)?;
        if let Some(pointer) = Pointer::parse(blob.content()) {
            pointers.push((entry, pointer));
        }
    }
    Ok(pointers)
}

/// Reports whether any attributes that apply to an index ask for Git LFS.
fn asks_for_lfs(repository: &Repository, index: &Index) -> Result<bool, GitError> {
    if probe::own_attributes_ask_for(repository, FILTER)? {
        return Ok(true);
    }
    for entry in index
        .iter()
        .filter(|entry| openat::split(&entry.path).1 == b".gitattributes")
    {
        let blob = repository.find_blob(entry.id);
        let blob = blob.map_err(GitError::library(format!(
            "read {}",
            path_of(&entry.path).display()
        )))?;
        if probe::asked_filter(blob.content(), &[FILTER.to_owned()]).is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Reports whether the attributes of an index, not those of the files beside it, store a file with
/// Git LFS.
fn is_lfs(repository: &Repository, path: &[u8]) -> Result<bool, GitError> {
    let value = repository.get_attr_bytes(&path_of(path), "filter", AttrCheckFlags::INDEX_ONLY);
    let value = value.map_err(GitError::library("read attributes"))?;
    let value = AttrValue::from_bytes(value);
    Ok(matches!(value, AttrValue::String(FILTER))
        || matches!(value, AttrValue::Bytes(name) if name == FILTER.as_bytes()))
}

/// Replaces a pointer in a worktree, and returns its new entry; `None` if it stays.
fn bring(
    worktree: &Worktree,
    store: &LfsStore,
    entry: &IndexEntry,
    pointer: &Pointer,
) -> Result<Option<IndexEntry>, GitError> {
    let failed = GitError::errno("write", worktree.path().join(path_of(&entry.path)));
    let (folder, name) = openat::split(&entry.path);
    let Ok(folder) = openat::open_folder(worktree.root(), folder) else {
        return Ok(None);
    };
    let length = match openat::read(&folder, name, MAX_POINTER_BYTES) {
        // Another text, or a content that was brought before.
        Ok(Some((bytes, _))) if Pointer::parse(&bytes).as_ref() == Some(pointer) => {
            bytes.len() as u64
        }
        _ => return Ok(None),
    };
    let Some(content) = store.verified(pointer) else {
        return Ok(None);
    };
    openat::write_from(content, &folder, name, entry.mode == EXECUTABLE).map_err(&failed)?;
    if pointer.size == length {
        // By its metadata alone it would be taken for the pointer.
        return Ok(Some(unread_entry(&entry.path, entry.mode, entry.id)));
    }
    let stat = openat::look(&folder, name).map_err(&failed)?;
    Ok(stat.map(|stat| entry_of(&entry.path, entry.mode, entry.id, &stat)))
}
