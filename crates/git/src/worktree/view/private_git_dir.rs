//! The git directory that the processes of a mounted worktree find: made for each of them, and
//! thrown away.
//!
//! A worktree's own `.git` file leads into the checkout, which the mount hides. In its place is one
//! that leads to a directory outside of the worktree, since a directory cannot be mounted over a
//! file, and people and tools need that file on disk. The directory is a whole one, in one piece:
//! the refs that may be shown, a harmless configuration, the worktree's own HEAD and index, and the
//! repository's objects. It can only be read, so nothing that a command commits there is lost with
//! it: git refuses, and the tool that ran the command names the tool that does it.

use std::path::Path;

use orchestrate_sandbox::{Mount, Mounted};

use crate::worktree::view::shown::{COMMON, OF_WORKTREE};
use crate::worktree::view::shown_refs::{PACKED, REFS, ShownRefs};

/// The path of the directory. It is the same for all worktrees: builds record it.
const AT: &str = "/run/git";
/// The file with the commit or the branch that is checked out.
const HEAD: &str = "HEAD";
/// What of the worktree's files is made anew: a git directory in one piece has no pointers. HEAD is
/// not, nor is the file of its branch: build scripts run again if one is newer than they, so both
/// have to keep their time.
const MADE: [&str; 3] = ["commondir", "gitdir", REFS];

/// Git's directories of a worktree.
pub(crate) struct GitDirs<'a> {
    pub(crate) common_dir: &'a Path,
    pub(crate) admin_dir: &'a Path,
}

/// Returns the content of the worktree's `.git` file.
pub(crate) fn pointer() -> Vec<u8> {
    format!("gitdir: {AT}\n").into_bytes()
}

/// Returns the directory, with this configuration and these refs.
pub(crate) fn mounts(dirs: &GitDirs<'_>, config: Vec<u8>, refs: &ShownRefs) -> Vec<Mount> {
    let at = Path::new(AT);
    let written = [("config".into(), config), (PACKED.into(), refs.packed())];
    let files = written.into_iter().chain(refs.symbolic());
    let mut mounts = vec![Mount::new(at.join(REFS), Mounted::Folder)];
    mounts.extend(files.map(|(name, bytes)| Mount::new(at.join(name), Mounted::File(bytes))));
    if let Some((name, bytes)) = refs.own() {
        let file = dirs.common_dir.join(&name);
        let content = if file.is_file() {
            Mounted::ReadOnly(file)
        } else {
            Mounted::File(bytes)
        };
        mounts.push(Mount::new(at.join(name), content));
    }
    let common = COMMON
        .iter()
        .filter(|name| **name != HEAD)
        .map(|name| (*name, dirs.common_dir.join(name)));
    let own = OF_WORKTREE.iter().filter(|name| !MADE.contains(name));
    let own = own.map(|name| (*name, dirs.admin_dir.join(name)));
    mounts.extend(
        common
            .chain(own)
            .map(|(name, path)| Mount::new(at.join(name), Mounted::ReadOnly(path))),
    );
    mounts
}
