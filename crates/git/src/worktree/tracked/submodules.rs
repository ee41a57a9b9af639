//! Brings the files of submodules into worktrees, as they are pinned, from the user's own
//! repository.
//!
//! Git writes them elsewhere first, in a git directory of ours that borrows the submodule's
//! objects, so that it finds no configuration, filter or hook of the submodule. Then the whole
//! folder is moved into its place, below the worktree's descriptor. What the user's repository does
//! not have is left empty.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use orchestrate_files::{TemporaryFolder, if_there};
use rustix::fs::CWD;
use rustix::io::Errno;

use crate::error::GitError;
use crate::files::ignore::Standard;
use crate::files::index_entry::{GITLINK, entry_of};
use crate::files::openat;
use crate::files::openat::path_of;
use crate::program::run::{Run, in_list};
use crate::program::scratch_repo::ScratchRepo;
use crate::repo::submodules;
use crate::repo::submodules::{Pins, Submodule};
use crate::repo::worktree::Worktree;
use crate::store::brought;
use crate::store::brought::Brought;
use crate::worktree::worktrees::Worktrees;

/// The beginning of the name of a folder beside the worktree in which git writes a submodule's
/// files.
const STAGING: &str = "submodule-";

/// What may be replaced in a worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replace {
    /// Whatever differs from the commit that was checked out: its other files were replaced, too.
    Changed,
    /// Nothing: only what is missing is brought.
    Nothing,
}

impl Worktrees<'_> {
    /// Makes the folders of submodules in a worktree contain what its index pins, as far as it is
    /// there.
    pub(super) fn bring_submodules(
        &self,
        worktree: &Worktree,
        replace: Replace,
    ) -> Result<(), GitError> {
        let place = worktree.admin_dir().join("index");
        let index = git2::Index::open(&place)
            .map_err(GitError::library(format!("read {}", place.display())))?;
        let (pins, mut known) = (Pins::of_index(&index), brought::read(worktree.admin_dir())?);
        if pins.links.is_empty() && known.is_empty() {
            return Ok(());
        }
        let links = pins.links.clone();
        let repository = self.repo.handle()?;
        let places = submodules::places(&self.repo.shared.git_dir, self.repo.common_dir());
        let wanted = submodules::find(&self.repo.program, &repository, &places, pins)?;
        if replace == Replace::Changed {
            let is_left = |path: &[u8]| !links.iter().any(|(link, _)| is_at_or_below(path, link));
            let stale = self.stale(worktree, &known, &wanted)?;
            // The deepest first.
            for path in stale.iter().rev() {
                known.retain(|one| !is_at_or_below(&one.path, path));
                brought::write(worktree.admin_dir(), &known)?;
                empty(worktree, path, is_left(path))?;
            }
        }
        for module in &wanted {
            let Ok(objects) = &module.objects else {
                continue;
            };
            if known.iter().any(|one| one.path == module.path) {
                continue;
            }
            if let Some(staged) = self.write_submodule(worktree, module, objects)? {
                // Recorded before it is there: a folder that is empty by then is filled again.
                known.push(Brought {
                    path: module.path.clone(),
                    commit: module.commit,
                });
                known.sort_by(|one, other| one.path.cmp(&other.path));
                brought::write(worktree.admin_dir(), &known)?;
                put(worktree, &module.path, &staged.path().join("files"))?;
            }
        }
        Ok(())
    }

    /// Lists the submodules in a worktree that are not what is wanted there.
    fn stale(
        &self,
        worktree: &Worktree,
        known: &[Brought],
        wanted: &[Submodule],
    ) -> Result<Vec<Vec<u8>>, GitError> {
        let standard = Standard::read(&*self.repo.handle()?)?;
        let mut stale = Vec::new();
        for one in known {
            let is_wanted = wanted
                .iter()
                .any(|module| module.path == one.path && module.commit == one.commit);
            let (root, admin_dir) = (worktree.root(), worktree.admin_dir());
            if !is_wanted || !brought::is_unchanged(root, admin_dir, one, known, &standard)? {
                stale.push(one.path.clone());
            }
        }
        Ok(stale)
    }

    /// Writes the files of a submodule beside the worktree, into the folder `files`. Returns `None`
    /// if its place in the worktree is not empty.
    fn write_submodule(
        &self,
        worktree: &Worktree,
        module: &Submodule,
        objects: &Path,
    ) -> Result<Option<TemporaryFolder>, GitError> {
        let has_room = match openat::open_folder(worktree.root(), &module.path) {
            Ok(folder) => !openat::holds_files(&folder)
                .map_err(GitError::errno("list", path_of(&module.path)))?,
            Err(error) => error == Errno::NOENT,
        };
        if !has_room {
            return Ok(None);
        }
        let beside = worktree.path().parent();
        let staging = TemporaryFolder::create(STAGING, beside);
        let staging = staging.map_err(GitError::io("make a folder beside", worktree.path()))?;
        let files = staging.path().join("files");
        // The files are the user's, and follow the umask.
        std::fs::create_dir(&files).map_err(GitError::io("make", &files))?;
        let index = brought::index_path(worktree.admin_dir(), &module.path)?;
        if_there(std::fs::remove_file(&index)).map_err(GitError::io("remove", &index))?;
        let scratch = ScratchRepo::new()?;
        let run = Run::new(
            scratch.git_dir(),
            &files,
            ["read-tree", "--reset", "-u", &module.commit.to_string()],
        )
        .settings(self.repo.shared.configuration.about_files())
        .env("GIT_INDEX_FILE", &index)
        .env("GIT_ATTR_NOSYSTEM", "1")
        .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", in_list(objects));
        self.repo.program.require(&run)?;
        date(&files, &index, time_for(&files, objects, module.commit)?)?;
        Ok(Some(staging))
    }
}

/// Gives all files of a submodule the time of its commit, and records that in its index: so they
/// are equally old in every worktree, for programs that build what is newer than its result, and
/// the index need not be newer than they.
fn date(files: &Path, index: &Path, seconds: i64) -> Result<(), GitError> {
    let failed = GitError::library(format!("write {}", index.display()));
    let root = openat::open_root(files).map_err(GitError::errno("open", files))?;
    let mut record = git2::Index::open(index).map_err(&failed)?;
    let entries: Vec<_> = record
        .iter()
        .filter(|entry| entry.mode != GITLINK)
        .collect();
    for entry in entries {
        let failed_file = GitError::errno("set the time of", files.join(path_of(&entry.path)));
        let (folder, name) = openat::split(&entry.path);
        let folder = openat::open_folder(&root, folder).map_err(&failed_file)?;
        openat::set_modified(&folder, name, seconds).map_err(&failed_file)?;
        if let Some(stat) = openat::look(&folder, name).map_err(&failed_file)? {
            record
                .add(&entry_of(&entry.path, entry.mode, entry.id, &stat))
                .map_err(&failed)?;
        }
    }
    record.write().map_err(&failed)
}

/// Returns the time of a submodule's commit in seconds since 1970; one in the future becomes that
/// before these files.
fn time_for(files: &Path, objects: &Path, commit: git2::Oid) -> Result<i64, GitError> {
    let repository = submodules::reading(objects).map_err(GitError::library("open a submodule"))?;
    let found = repository
        .find_commit(commit)
        .map_err(GitError::library(format!("read {commit}")))?;
    let written = files
        .metadata()
        .map_err(GitError::io("look at", files))?
        .mtime();
    Ok(found.time().seconds().min(written - 1))
}

fn is_at_or_below(path: &[u8], folder: &[u8]) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|below| below.is_empty() || below.starts_with(b"/"))
}

/// Removes what is in the folder of a submodule, and the folder itself if `also_folder` is set.
fn empty(worktree: &Worktree, path: &[u8], also_folder: bool) -> Result<(), GitError> {
    let (parent, name) = openat::split(path);
    let failed = GitError::errno("remove", worktree.path().join(path_of(path)));
    let opened = match openat::open_folder(worktree.root(), parent) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
        opened => opened.map_err(&failed)?,
    };
    match openat::look(&opened, name)
        .map_err(&failed)?
        .as_ref()
        .map(openat::kind)
    {
        Some(rustix::fs::FileType::Directory) => {
            openat::remove_folder(&opened, name).map_err(&failed)?
        }
        Some(_) => openat::remove_file(&opened, name).map_err(&failed)?,
        None => {}
    }
    if also_folder {
        return openat::remove_empty_folders(worktree.root(), parent).map_err(&failed);
    }
    openat::make_folder(worktree.root(), path)
        .map(drop)
        .map_err(&failed)
}

/// Moves a folder to the place of a submodule, which is empty or absent.
fn put(worktree: &Worktree, path: &[u8], files: &Path) -> Result<(), GitError> {
    let failed = GitError::errno("write", worktree.path().join(path_of(path)));
    let (parent, name) = openat::split(path);
    let opened = openat::make_folder(worktree.root(), parent).map_err(&failed)?;
    rustix::fs::renameat(CWD, files, &opened, OsStr::from_bytes(name)).map_err(&failed)
}
