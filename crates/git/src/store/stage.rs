//! Staging a worktree without running a program: its files are stored exactly as git would store
//! them.
//!
//! Code can run in an agent's tree: `git add` and `git status` follow a nested repository's
//! configuration whatever they are told. So no git process ever examines an agent's tree to stage
//! it. We read the files ourselves below the worktree's descriptor, decide ourselves which are
//! ignored (see [`crate::files::ignore`]), and libgit2 converts line ends in our own process;
//! neither starts a program. If git would need a program, or libgit2 is known to store something
//! else than git, we fail: for a changed file with a configured `filter`, or with a
//! `working-tree-encoding`. A file of Git LFS is stored as its pointer, if its content is one that
//! the user's repository has, and so is not new.
//!
//! A file whose metadata matches the index is not read again, unless it is not older than the index
//! (git's own rule for "racy" entries). Such a file is only compared with what the index has of it:
//! in each fresh worktree, that is every file which git wrote in the last milliseconds.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use git2::{AttrCheckFlags, AttrValue, Index, IndexEntry, Repository};
use orchestrate_core::Oid;
use orchestrate_core::text::git_path::is_storable;
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

use crate::error::{GitError, says_read_only};
use crate::files::ignore::Standard;
use crate::files::index_entry::{
    EXECUTABLE, GITLINK, LINK, MAX_FILE_BYTES, REGULAR, entry_of, has_still, is_blob, looks_same,
    nanoseconds, seconds,
};
use crate::files::openat::path_of;
use crate::files::{bounds, openat};
use crate::program::{full_disk, retry};
use crate::repo::lfs::{LfsStore, Pointer};
use crate::repo::repository::{Repo, theirs};
use crate::repo::worktree::Worktree;
use crate::repo::{lfs, probe};
use crate::store::brought;
use crate::store::conflicts::{drop_conflicts, require_decided};
use crate::store::walk::{Found, Sorting, TakenFiles, Walk};

/// The most files that one snapshot may add or change: an unignored `node_modules` has ten times as
/// many.
const MAX_NEW_FILES: usize = 50_000;
/// The most bytes that one snapshot may add or change.
const MAX_NEW_BYTES: u64 = 1 << 30;
/// The attributes that can make git store other bytes than the file has.
const CONVERTING: [&str; 4] = ["text", "crlf", "eol", "ident"];

/// The most new files that are synced one by one, at some milliseconds each. Syncing everything at
/// once takes a tenth of a second and waits for the writes of other processes.
const SYNCED_ONE_BY_ONE: usize = 64;

/// A worktree's files as an index, and the differences from the index that git has of it.
pub(crate) struct Staged<'a> {
    pub(crate) index: Index,
    pub(crate) store: Store<'a>,
    pub(crate) found: Found,
    /// Whether anything differed.
    pub(crate) changed: bool,
    /// Whether its objects still have to be made durable.
    pub(crate) unsynced: bool,
    /// The tree that this process made durable last, if it still exists.
    pub(crate) synced: Option<Oid>,
}

/// Libgit2 on a worktree. It is opened for the first file that is stored: most looks at a worktree
/// find none.
pub(crate) struct Store<'a> {
    repo: &'a Repo,
    worktree: &'a Worktree,
    /// Whether each object is synced when it is written.
    is_synced: bool,
    opened: OnceCell<Repository>,
}

impl Store<'_> {
    /// Returns libgit2 on the worktree, whose attributes decide how files are stored.
    fn opened(&self) -> Result<&Repository, GitError> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let admin_dir = self.worktree.admin_dir();
        let opened = if self.is_synced {
            self.repo.open_git_dir(admin_dir)?
        } else {
            self.repo.open_unsynced(admin_dir)?
        };
        Ok(self.opened.get_or_init(|| opened))
    }

    /// Writes the tree of an index.
    pub(crate) fn write_tree(&self, index: &mut Index) -> Result<git2::Oid, GitError> {
        let mut write = |repository: &Repository| {
            retry::while_swept(|| index.write_tree_to(repository))
                .map_err(GitError::library("write the tree of a snapshot"))
        };
        match self.opened.get() {
            Some(opened) => write(opened),
            None => write(&*self.repo.handle()?),
        }
    }
}

/// The state of one staging.
struct Stager<'a> {
    walk: Walk<'a>,
    worktree: &'a Worktree,
    store: &'a Store<'a>,
    conversion: Conversion,
    /// The contents that are stored with Git LFS.
    lfs: LfsStore,
    /// The modification time of the index in seconds and nanoseconds. Files that are not older are
    /// read.
    index_time: (i64, i64),
    /// The folder that was opened last. The index is sorted, so the next file is mostly in the same
    /// one.
    last_folder: Option<(Vec<u8>, Option<OwnedFd>)>,
    new_files: usize,
    new_bytes: u64,
}

/// The configuration that decides how files are stored.
struct Conversion {
    trust_mode: bool,
    links: bool,
    auto_crlf: bool,
    filters: Vec<String>,
}

/// Stages a worktree's files into a copy of its index in memory. Objects are stored, and nothing
/// else is written.
pub(crate) fn stage<'a>(
    repo: &'a Repo,
    worktree: &'a Worktree,
    taken: &TakenFiles,
) -> Result<Staged<'a>, GitError> {
    worktree.verify_untampered()?;
    let handle = repo.handle()?;
    let index_path = worktree.admin_dir().join("index");
    let mut index = Index::open(&index_path)
        .map_err(GitError::library(format!("read {}", index_path.display())))?;
    let tracked: BTreeMap<Vec<u8>, IndexEntry> = index
        .iter()
        .map(|entry| (entry.path.clone(), entry))
        .collect();
    // For a merge that a person started there, the contents of the files are decisive. A path in
    // conflict has no ordinary entry.
    let conflicted = index.has_conflicts();
    require_decided(worktree, &index)?;
    drop_conflicts(&mut index)?;
    let sorting = Sorting {
        rules: &repo.rules,
        taken,
    };
    let mut walk = Walk::new(worktree, Standard::read(&handle)?, Some(sorting));
    require_submodules_unchanged(worktree, &tracked, &walk)?;
    let found = walk.untracked(&tracked)?;
    let many = found.new.len() > SYNCED_ONE_BY_ONE;
    // Looked up before anything is stored: if `git gc` has removed objects since, they are stored
    // again.
    let synced = match repo.synced_tree(worktree.admin_dir()) {
        Some(tree) if is_on_disk(repo, &tree)? => Some(tree),
        _ => None,
    };
    let store = Store {
        repo,
        worktree,
        is_synced: !many,
        opened: OnceCell::new(),
    };
    let mut stager = Stager {
        walk,
        worktree,
        store: &store,
        conversion: Conversion::read(repo, &handle)?,
        lfs: LfsStore::from_configuration(&repo.shared.configuration, repo.common_dir()),
        index_time: modified(&index_path)?,
        last_folder: None,
        new_files: 0,
        new_bytes: 0,
    };
    let changed = stager.update(&mut index, &tracked, &found.new);
    if many && changed.is_err() {
        // Objects that exist are not written again, so no later snapshot would make these durable.
        repo.sync_objects()?;
    }
    let changed = changed? || conflicted;
    Ok(Staged {
        index,
        store,
        found,
        changed,
        unsynced: many,
        synced,
    })
}

/// Reports whether a tree is there now. An open handle remembers objects that are gone.
fn is_on_disk(repo: &Repo, tree: &Oid) -> Result<bool, GitError> {
    let opened = repo.open_git_dir(repo.common_dir())?;
    Ok(opened.find_tree(theirs(tree)?).is_ok())
}

/// Requires that nothing was changed in the folders of submodules, since no tree of this repository
/// could hold that.
fn require_submodules_unchanged(
    worktree: &Worktree,
    tracked: &BTreeMap<Vec<u8>, IndexEntry>,
    walk: &Walk<'_>,
) -> Result<(), GitError> {
    let links = tracked.iter().filter(|(_, entry)| entry.mode == GITLINK);
    let links = links
        .map(|(path, entry)| (path.clone(), entry.id))
        .collect();
    brought::require_unchanged(
        worktree.root(),
        worktree.admin_dir(),
        &links,
        walk.standard(),
    )
}

/// The result of staging one path.
enum Fate {
    Same,
    Gone,
    Stored(Box<IndexEntry>),
}

impl Stager<'_> {
    /// Updates the index to the files, and reports whether anything differed.
    fn update(
        &mut self,
        index: &mut Index,
        tracked: &BTreeMap<Vec<u8>, IndexEntry>,
        new: &[Vec<u8>],
    ) -> Result<bool, GitError> {
        let mut deleted = Vec::new();
        let mut stored = Vec::new();
        for (path, entry) in tracked {
            match self.restage(path, Some(entry))? {
                Fate::Same => {}
                Fate::Gone => deleted.push(path),
                Fate::Stored(entry) => stored.push(entry),
            }
        }
        for path in new {
            if let Fate::Stored(entry) = self.restage(path, None)? {
                stored.push(entry);
            }
        }
        for path in deleted.iter().map(|path| path_of(path)) {
            // A path that was in conflict has no entry any more.
            if index.get_path(&path, 0).is_some() {
                index
                    .remove(&path, 0)
                    .map_err(GitError::library("remove a file from the index"))?;
            }
        }
        for entry in &stored {
            index
                .add(entry)
                .map_err(|error| unstorable(&entry.path, error.message()))?;
        }
        Ok(!deleted.is_empty() || !stored.is_empty())
    }

    fn restage(&mut self, path: &[u8], known: Option<&IndexEntry>) -> Result<Fate, GitError> {
        if known.is_some_and(|entry| entry.mode == GITLINK) {
            return Ok(Fate::Same);
        }
        let shown = || self.worktree.path().join(path_of(path));
        let (folder, name) = openat::split(path);
        let Some(folder) = self.folder(folder)? else {
            return Ok(Fate::Gone);
        };
        let stat = openat::look(&folder, name).map_err(GitError::errno("look at", shown()))?;
        let Some(stat) = stat else {
            return Ok(Fate::Gone);
        };
        let mode = match openat::kind(&stat) {
            FileType::RegularFile => self.conversion.mode(&stat, known),
            FileType::Symlink => LINK,
            _ => return Ok(Fate::Gone),
        };
        if let Some(entry) = known.filter(|entry| entry.mode == mode && looks_same(&stat, entry))
            && (self.is_older_than_index(&stat) || has_still(&folder, name, entry))
        {
            return Ok(Fate::Same);
        }
        if !is_storable(path, mode == LINK) {
            return Err(unstorable(
                path,
                "git does not accept this path, since part of it is a reserved name on some system",
            ));
        }
        let (id, stat) = match openat::kind(&stat) {
            FileType::Symlink => (self.store_link(&folder, name, path)?, stat),
            _ => self.store_file(&folder, name, path, known)?,
        };
        Ok(Fate::Stored(Box::new(entry_of(path, mode, id, &stat))))
    }

    fn store_link(
        &mut self,
        folder: &OwnedFd,
        name: &[u8],
        path: &[u8],
    ) -> Result<git2::Oid, GitError> {
        let target = openat::read_link(folder, name)
            .map_err(GitError::errno("read the link", path_of(path)))?;
        self.count(path, target.len() as u64)?;
        let store = self.store.opened()?;
        retry::while_swept(|| store.blob(&target)).map_err(self.uncommitted(path, target.len()))
    }

    fn store_file(
        &mut self,
        folder: &OwnedFd,
        name: &[u8],
        path: &[u8],
        known: Option<&IndexEntry>,
    ) -> Result<(git2::Oid, Stat), GitError> {
        let read = match openat::read(folder, name, MAX_FILE_BYTES) {
            Err(Errno::INVAL | Errno::LOOP | Errno::NOENT) => {
                return Err(unstorable(path, "it changed while it was read"));
            }
            other => other.map_err(GitError::errno(
                "read",
                self.worktree.path().join(path_of(path)),
            ))?,
        };
        let Some((bytes, stat)) = read else {
            return Err(GitError::TooLarge {
                path: path_of(path),
                what: "the size in bytes",
                limit: MAX_FILE_BYTES,
            });
        };
        self.count(path, bytes.len() as u64)?;
        // Checking out the commit would hang git.
        if bounds::is_patterns(name)
            && let Some(reason) = bounds::excess(&bytes)
        {
            return Err(unstorable(path, format!("git cannot use it: {reason}")));
        }
        self.walk.require_plain_attributes_for(path)?;
        if self.attribute(path, "filter")?.as_deref() == Some(lfs::FILTER) {
            return Ok((self.store_lfs(path, &bytes, known)?, stat));
        }
        let failed = || self.uncommitted(path, bytes.len());
        let store = self.store.opened()?;
        let converts = match self.converts(path) {
            // A file that was checked out without its filter and not changed since is stored as in
            // the index.
            Err(_) if known.is_some_and(|entry| is_blob(&bytes, entry.id)) => false,
            other => other?,
        };
        let id = if converts {
            let convert = || {
                let mut writer = store.blob_writer(Some(&path_of(path)))?;
                std::io::Write::write_all(&mut writer, &bytes)
                    .map_err(|error| git2::Error::from_str(&error.to_string()))?;
                writer.commit()
            };
            retry::while_swept(convert).map_err(failed())?
        } else {
            retry::while_swept(|| store.blob(&bytes)).map_err(failed())?
        };
        Ok((id, stat))
    }

    /// Stores a file as Git LFS would, if its content is the one that was there, or the user's
    /// repository has it.
    fn store_lfs(
        &self,
        path: &[u8],
        bytes: &[u8],
        known: Option<&IndexEntry>,
    ) -> Result<git2::Oid, GitError> {
        if let Some(entry) = known.filter(|entry| is_blob(bytes, entry.id)) {
            return Ok(entry.id);
        }
        let pointer = Pointer::parse(bytes).unwrap_or_else(|| Pointer::to(bytes));
        let store = self.store.opened()?;
        let before =
            known.and_then(|entry| store.find_blob(entry.id).ok().map(|blob| (entry.id, blob)));
        let before = before.and_then(|(id, blob)| Some((id, Pointer::parse(blob.content())?)));
        if let Some((id, _)) = before.filter(|(_, before)| *before == pointer) {
            return Ok(id);
        }
        // Git LFS stores an empty file as it is.
        let text = if bytes.is_empty() {
            String::new()
        } else {
            pointer.text()
        };
        if !text.is_empty() && !self.lfs.has(&pointer) {
            let reason = "its attributes store it with Git LFS, and a new content cannot be stored \
                          there; restore the file, or leave it out, and report what has to change \
                          there";
            return Err(unstorable(path, reason));
        }
        retry::while_swept(|| store.blob(text.as_bytes()))
            .map_err(self.uncommitted(path, text.len()))
    }

    /// Returns the value of an attribute that is set to a string, as the files of the worktree say.
    fn attribute(&self, path: &[u8], name: &str) -> Result<Option<String>, GitError> {
        let store = self.store.opened()?;
        let value = store.get_attr_bytes(&path_of(path), name, AttrCheckFlags::FILE_THEN_INDEX);
        value
            .map(|value| named(value.map(<[u8]>::to_vec)))
            .map_err(|error| unstorable(path, error.message()))
    }

    /// Returns why a file was not stored: because of the file, unless the disk is full or the
    /// repository is read-only.
    fn uncommitted(&self, path: &[u8], bytes: usize) -> impl FnOnce(git2::Error) -> GitError {
        let of_repository = move |error: git2::Error| {
            GitError::library(format!("store {}", path_of(path).display()))(error)
        };
        move |error| match full_disk::reason(&error, self.store.repo.common_dir(), bytes) {
            Some(full) => of_repository(full),
            None if says_read_only(error.message()) => of_repository(error),
            None => unstorable(path, error.message()),
        }
    }

    /// Reports whether git would store other bytes than the file has. Fails if that needs a
    /// program.
    fn converts(&self, path: &[u8]) -> Result<bool, GitError> {
        let store = self.store.opened()?;
        let attribute = |name: &str| {
            let flags = AttrCheckFlags::FILE_THEN_INDEX;
            let value = store.get_attr_bytes(&path_of(path), name, flags);
            value
                .map(|value| value.map(<[u8]>::to_vec))
                .map_err(|error| unstorable(path, error.message()))
        };
        if let Some(filter) = self.attribute(path, "filter")?
            && self.conversion.filters.contains(&filter)
        {
            return Err(GitError::FilterAsked {
                path: path_of(path),
                filter,
            });
        }
        if let Some(name) = self
            .attribute(path, "working-tree-encoding")?
            .filter(|name| !probe::is_utf8(name))
        {
            return Err(unstorable(
                path,
                format!("its attributes name the encoding {name}, which is not supported"),
            ));
        }
        if self.conversion.auto_crlf {
            return Ok(true);
        }
        for name in CONVERTING {
            let value = attribute(name)?;
            if !matches!(
                AttrValue::from_bytes(value.as_deref()),
                AttrValue::Unspecified | AttrValue::False
            ) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn folder(&mut self, folder: &[u8]) -> Result<Option<OwnedFd>, GitError> {
        let again = |fd: &OwnedFd| {
            fd.try_clone()
                .map_err(GitError::io("open", path_of(folder)))
        };
        if let Some((last, opened)) = &self.last_folder
            && last == folder
        {
            return opened.as_ref().map(again).transpose();
        }
        let opened = match openat::open_folder(self.worktree.root(), folder) {
            Ok(opened) => Some(opened),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => None,
            Err(error) => {
                return Err(GitError::errno(
                    "open",
                    self.worktree.path().join(path_of(folder)),
                )(error));
            }
        };
        let result = opened.as_ref().map(again).transpose()?;
        self.last_folder = Some((folder.to_vec(), opened));
        Ok(result)
    }

    fn is_older_than_index(&self, stat: &Stat) -> bool {
        (seconds(stat.st_mtime), nanoseconds(stat.st_mtime_nsec)) < self.index_time
    }

    fn count(&mut self, path: &[u8], bytes: u64) -> Result<(), GitError> {
        self.new_files += 1;
        self.new_bytes += bytes;
        let too_large = |what, limit| {
            Err(GitError::TooLarge {
                path: path_of(path),
                what,
                limit,
            })
        };
        if self.new_files > MAX_NEW_FILES {
            too_large("the number of new and changed files", MAX_NEW_FILES as u64)
        } else if self.new_bytes > MAX_NEW_BYTES {
            too_large("the size of new and changed files", MAX_NEW_BYTES)
        } else {
            Ok(())
        }
    }
}

impl Conversion {
    fn read(repo: &Repo, repository: &Repository) -> Result<Conversion, GitError> {
        let config = repository
            .config()
            .map_err(GitError::library("read the configuration"))?;
        let flag = |key, default| config.get_bool(key).unwrap_or(default);
        let auto_crlf = config
            .get_string("core.autocrlf")
            .is_ok_and(|text| !matches!(text.as_str(), "false" | "0" | "no" | "off"));
        Ok(Conversion {
            trust_mode: flag("core.filemode", true),
            links: flag("core.symlinks", true),
            auto_crlf,
            filters: repo.shared.configuration.storing_filters(),
        })
    }

    fn mode(&self, stat: &Stat, known: Option<&IndexEntry>) -> u32 {
        match known.map(|entry| entry.mode) {
            Some(LINK) if !self.links => LINK,
            Some(mode @ (REGULAR | EXECUTABLE)) if !self.trust_mode => mode,
            _ if self.trust_mode && stat.st_mode & 0o100 != 0 => EXECUTABLE,
            _ => REGULAR,
        }
    }
}

/// Returns the value of an attribute that is set to a string, or `None` if it is only set or unset.
fn named(value: Option<Vec<u8>>) -> Option<String> {
    let value = value?;
    match AttrValue::from_bytes(Some(&value)) {
        AttrValue::String(_) | AttrValue::Bytes(_) => {
            Some(String::from_utf8_lossy(&value).into_owned())
        }
        _ => None,
    }
}

fn modified(path: &std::path::Path) -> Result<(i64, i64), GitError> {
    use std::os::unix::fs::MetadataExt;
    let meta = path.metadata().map_err(GitError::io("look at", path))?;
    Ok((meta.mtime(), meta.mtime_nsec()))
}

fn unstorable(path: &[u8], reason: impl Into<String>) -> GitError {
    GitError::Unstorable {
        path: path_of(path),
        reason: reason.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::time::SystemTime;

    use super::*;
    use crate::store::sample::Sample;

    #[test]
    fn a_file_as_young_as_the_index_is_compared_and_no_change() {
        let sample = Sample::with(&[("a", "before\n"), ("b", "before\n")]);
        let (Sample { repo, worktree, .. }, path) = (&sample, sample.path());
        let index = File::options()
            .write(true)
            .open(worktree.admin_dir().join("index"))
            .unwrap();
        index.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(
            !stage(repo, worktree, &TakenFiles::default())
                .unwrap()
                .changed
        );
        fs::write(path.join("b"), "after!\n").unwrap();
        let staged = stage(repo, worktree, &TakenFiles::default()).unwrap();
        let id = |name: &str| staged.index.get_path(name.as_ref(), 0).unwrap().id;
        assert!(staged.changed && is_blob(b"before\n", id("a")) && is_blob(b"after!\n", id("b")));
    }
}
