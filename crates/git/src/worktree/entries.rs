//! Git's entries for worktrees, in the common directory: created and removed so that git never sees
//! half of one.

use std::path::{Path, PathBuf};

use orchestrate_files::if_there;

use crate::error::GitError;
use crate::program::lock::Held;

/// Lists git's entries for linked worktrees, complete or not, sorted.
pub(crate) fn all(common_dir: &Path) -> Result<Vec<PathBuf>, GitError> {
    list(&common_dir.join("worktrees"))
}

/// Returns a free place for git's entry for the worktree at a path, as git itself names it: for the
/// folder, with digits behind that if the name is taken.
pub(crate) fn free_name(common_dir: &Path, path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or(path.as_os_str());
    let place = common_dir.join("worktrees").join(name);
    let mut number = 0u32;
    let mut free = place.clone();
    while free.symlink_metadata().is_ok() {
        number += 1;
        let mut numbered = place.clone().into_os_string();
        numbered.push(number.to_string());
        free = numbered.into();
    }
    free
}

/// Removes git's entry for a worktree. It is renamed first, so that git never sees half of it.
pub(crate) fn drop_entry(admin_dir: &Path, _held: &Held) -> Result<(), GitError> {
    let (folder, place) = aside(admin_dir)?;
    if_there(std::fs::rename(admin_dir, &place)).map_err(GitError::io("remove", admin_dir))?;
    if_there(orchestrate_files::remove_folder(&folder)).map_err(GitError::io("delete", &folder))?;
    // Git removes the folder with the last entry, and so do we. This fails while there are other
    // entries.
    drop(admin_dir.parent().map(std::fs::remove_dir));
    Ok(())
}

/// Creates git's entry for a worktree. It is created elsewhere first, so that git never sees half
/// of it.
pub(crate) fn put_entry(
    admin_dir: &Path,
    _held: &Held,
    make: impl FnOnce(&Path) -> Result<(), GitError>,
) -> Result<(), GitError> {
    let (folder, place) = aside(admin_dir)?;
    orchestrate_files::create_folder(&place).map_err(GitError::io("make", &place))?;
    make(&place)?;
    let worktrees = admin_dir.parent().unwrap_or(admin_dir);
    orchestrate_files::create_folder(worktrees).map_err(GitError::io("make", worktrees))?;
    std::fs::rename(&place, admin_dir).map_err(GitError::io("make", admin_dir))?;
    if_there(orchestrate_files::remove_folder(&folder))
        .map(drop)
        .map_err(GitError::io("delete", &folder))
}

/// Returns the folder for entries that are being created or removed, and the place of this entry in
/// it, which is emptied.
fn aside(admin_dir: &Path) -> Result<(PathBuf, PathBuf), GitError> {
    let folder = admin_dir
        .ancestors()
        .nth(2)
        .unwrap_or(admin_dir)
        .join("orchestrate-trash");
    orchestrate_files::create_folder(&folder).map_err(GitError::io("make", &folder))?;
    let place = folder.join(admin_dir.file_name().unwrap_or_default());
    if_there(orchestrate_files::remove_folder(&place)).map_err(GitError::io("delete", &place))?;
    Ok((folder, place))
}

/// Reports whether git finished creating an entry.
pub(crate) fn is_whole(entry: &Path) -> bool {
    // Older git first writes a HEAD of zeros, and then sets it to the branch or the commit.
    let is_set = |head: Vec<u8>| head.trim_ascii_end().iter().any(|byte| *byte != b'0');
    ["commondir", "gitdir"]
        .iter()
        .all(|name| entry.join(name).metadata().is_ok_and(|meta| meta.len() > 0))
        && std::fs::read(entry.join("HEAD")).is_ok_and(is_set)
}

/// Lists a folder, sorted; a missing folder counts as empty.
pub(super) fn list(folder: &Path) -> Result<Vec<PathBuf>, GitError> {
    match orchestrate_files::entries(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => Ok(Vec::new()),
        listed => listed.map_err(GitError::io("list", folder)),
    }
}
