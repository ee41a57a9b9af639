//! A look at a repository that starts no program and refuses nothing: which commit is checked out, and what the files
//! are like.
//!
//! For commands of the user's own, which run in any repository, also in one that agents could not work in.

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
        let Some(workdir) = repository.workdir().map(Path::to_owned) else { return Ok(None) };
        let common_dir = repository.commondir();
        let common_dir = common_dir.canonicalize().map_err(GitError::io("resolve", common_dir))?;
        Ok(Some(Glance { id: id_of(&common_dir), repository, workdir }))
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

    /// Returns a text that is the same only as long as no file is changed, except those that git ignores: the commit
    /// that is checked out, and the content of every file that differs from it.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub fn content(&self) -> Result<String, GitError> {
        let head = self.repository.revparse_single("HEAD").map_or_else(|_| String::new(), |head| head.id().to_string());
        let mut options = StatusOptions::new();
        options.include_untracked(true).recurse_untracked_dirs(true).include_ignored(false).update_index(false);
        let statuses = self.repository.statuses(Some(&mut options)).map_err(GitError::library("read the status"))?;
        let mut content = format!("{head}\n");
        for entry in statuses.iter() {
            let path = entry.path_bytes();
            let file = self.workdir.join(std::ffi::OsStr::from_bytes(path));
            let is_gone = entry.status().intersects(Status::WT_DELETED);
            let hash = if is_gone { "gone".to_owned() } else { hash_of(&file)? };
            content.push_str(&format!("{hash} {}\n", path.escape_ascii()));
        }
        Ok(content)
    }
}

/// Returns the hash of a file's content and mode, or of where a link leads to. A folder, as of a submodule, has none.
fn hash_of(file: &Path) -> Result<String, GitError> {
    use std::os::unix::fs::MetadataExt;

    let found = match file.symlink_metadata() {
        // A file that was staged and then removed.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok("gone".to_owned()),
        found => found.map_err(GitError::io("read", file))?,
    };
    let hashed = if found.is_symlink() {
        let to = std::fs::read_link(file).map_err(GitError::io("read", file))?;
        git2::Oid::hash_object(ObjectType::Blob, to.as_os_str().as_bytes())
    } else if found.is_file() {
        git2::Oid::hash_file(ObjectType::Blob, file)
    } else {
        return Ok("folder".to_owned());
    };
    let hash = hashed.map_err(GitError::library("hash a file"))?;
    Ok(format!("{:o} {hash}", found.mode()))
}
