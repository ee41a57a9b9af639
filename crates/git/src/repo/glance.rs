//! A look at a repository that starts no program and refuses nothing: which commit is checked out,
//! and what the files are like.
//!
//! For commands of the user's own, which run in any repository, also in one that agents could not
//! work in.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{ErrorCode, ObjectType, Repository, RepositoryOpenFlags, Status, StatusOptions};

use crate::error::GitError;
use crate::repo::repository::id_of;

/// What a look at a repository found.
pub struct Glance {
    repository: Repository,
    workdir: PathBuf,
    id: String,
}

/// What the files of a repository are like.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// A text that is the same as long as no file is changed.
    pub all: String,
    /// The same without the written files: those to which the output of this process goes.
    pub others: String,
    written: Vec<(u64, u64)>,
}

impl Content {
    fn push(&mut self, line: &str, of: Option<(u64, u64)>) {
        self.all.push_str(line);
        if !of.is_some_and(|identity| self.written.contains(&identity)) {
            self.others.push_str(line);
        }
    }
}

impl Glance {
    /// Looks at the repository that a folder is in; returns `None` if there is none with files.
    ///
    /// # Errors
    /// Fails if there is a repository that cannot be read.
    pub fn at(folder: &Path) -> Result<Option<Glance>, GitError> {
        let none: [&Path; 0] = [];
        let repository = match Repository::open_ext(folder, RepositoryOpenFlags::empty(), none) {
            Err(error) if error.code() == ErrorCode::NotFound => return Ok(None),
            opened => opened.map_err(GitError::library("open the repository"))?,
        };
        let Some(workdir) = repository.workdir().map(Path::to_owned) else {
            return Ok(None);
        };
        let common_dir = repository.commondir();
        let common_dir = common_dir
            .canonicalize()
            .map_err(GitError::io("resolve", common_dir))?;
        Ok(Some(Glance {
            id: id_of(&common_dir),
            repository,
            workdir,
        }))
    }

    /// Returns the repository's id, as [`crate::Repo::id`].
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the folder with the files.
    pub fn workdir(&self) -> &Path {
        &self.workdir
    }

    /// Returns the short id of the commit that is checked out; `None` before the first one.
    pub fn short_commit(&self) -> Option<String> {
        let commit = self.repository.revparse_single("HEAD").ok()?;
        commit.short_id().ok()?.as_str().ok().map(str::to_owned)
    }

    /// Returns what is the same only as long as no file is changed, except those that git ignores:
    /// the commit that is checked out, and the content of every file that differs from it or that
    /// git does not look at. Submodules and other repositories below the folder belong to it. The
    /// written files are given by their devices and numbers.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub fn content(&self, written: &[(u64, u64)]) -> Result<Content, GitError> {
        let mut content = Content {
            written: written.to_vec(),
            ..Content::default()
        };
        let mut below = differences(&self.repository, &self.workdir, &mut content)?;
        // Without recursion: the depth of nested repositories is not under our control.
        while let Some(folder) = below.pop() {
            content.push(
                &format!("{}\n", folder.as_os_str().as_bytes().escape_ascii()),
                None,
            );
            match Repository::open_ext(&folder, RepositoryOpenFlags::NO_SEARCH, [] as [&Path; 0]) {
                Ok(repository) => {
                    below.append(&mut differences(&repository, &folder, &mut content)?)
                }
                Err(error) if error.code() == ErrorCode::NotFound && is_empty(&folder) => {}
                Err(error) => {
                    return Err(GitError::library(
                        "open a repository inside of the repository",
                    )(error));
                }
            }
        }
        Ok(content)
    }
}

/// How an index marks a file whose changes git is not to look for, among its flags and its extended
/// flags.
const ASSUMED_UNCHANGED: u16 = 1 << 15;
const SKIPPED: u16 = 1 << 14;
/// The kind of an entry of an index that is a submodule.
const SUBMODULE: u32 = 0o160_000;

/// Appends the commit that is checked out, and the content of every file that may differ from it;
/// returns the folders that are repositories of their own.
fn differences(
    repository: &Repository,
    workdir: &Path,
    content: &mut Content,
) -> Result<Vec<PathBuf>, GitError> {
    let place = |path: &[u8]| workdir.join(std::ffi::OsStr::from_bytes(path));
    let mut repositories = BTreeSet::new();
    let head = repository
        .revparse_single("HEAD")
        .map_or_else(|_| String::new(), |head| head.id().to_string());
    content.push(&format!("{head}\n"), None);

    let mut options = StatusOptions::new();
    options
        .include_untracked(true)
        .recurse_untracked_dirs(true)
        .include_ignored(false)
        .update_index(false);
    options.exclude_submodules(true);
    let statuses = repository
        .statuses(Some(&mut options))
        .map_err(GitError::library("read the status"))?;
    for entry in statuses.iter() {
        let (path, status) = (entry.path_bytes(), entry.status());
        let file = place(path);
        let staged = entry
            .head_to_index()
            .map(|delta| delta.new_file().id().to_string())
            .unwrap_or_default();
        let is_gone = status.intersects(Status::WT_DELETED);
        let (hash, identity) = if is_gone {
            ("gone".to_owned(), None)
        } else {
            hash_of(&file)?
        };
        if hash == FOLDER {
            repositories.insert(file);
        }
        content.push(
            &format!(
                "{:x} {staged} {hash} {}\n",
                status.bits(),
                path.escape_ascii()
            ),
            identity,
        );
    }

    let mut index = repository
        .index()
        .map_err(GitError::library("open the index"))?;
    index
        .read(false)
        .map_err(GitError::library("read the index"))?;
    for entry in index.iter() {
        let file = place(&entry.path);
        if entry.mode == SUBMODULE {
            content.push(
                &format!("{} {}\n", entry.id, entry.path.escape_ascii()),
                None,
            );
            repositories.insert(file);
        } else if entry.flags & ASSUMED_UNCHANGED != 0 || entry.flags_extended & SKIPPED != 0 {
            let (hash, identity) = hash_of(&file)?;
            content.push(&format!("{hash} {}\n", entry.path.escape_ascii()), identity);
        }
    }
    Ok(repositories.into_iter().collect())
}

/// Reports whether a folder has no entries, as that of a submodule that is not checked out, or is
/// missing.
fn is_empty(folder: &Path) -> bool {
    match std::fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

/// What stands for a folder instead of a hash.
const FOLDER: &str = "folder";

/// Returns the hash of a file's content and mode, or of where a link leads to, and the file's
/// device and number. A folder, as of a submodule, has none.
fn hash_of(file: &Path) -> Result<(String, Option<(u64, u64)>), GitError> {
    use std::os::unix::fs::MetadataExt;

    let found = match file.symlink_metadata() {
        // A file that was staged and then removed.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok(("gone".to_owned(), None));
        }
        found => found.map_err(GitError::io("read", file))?,
    };
    let hashed = if found.is_symlink() {
        let to = std::fs::read_link(file).map_err(GitError::io("read", file))?;
        git2::Oid::hash_object(ObjectType::Blob, to.as_os_str().as_bytes())
    } else if found.is_file() {
        git2::Oid::hash_file(ObjectType::Blob, file)
    } else {
        return Ok((
            if found.is_dir() { FOLDER } else { "no file" }.to_owned(),
            None,
        ));
    };
    let hash = hashed.map_err(GitError::library("hash a file"))?;
    Ok((
        format!("{:o} {hash}", found.mode()),
        Some((found.dev(), found.ino())),
    ))
}
