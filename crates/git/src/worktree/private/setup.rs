//! Brings what a project's setup has set in git to other worktrees, such as hooks that a package
//! installs. Both sides are read and written as bytes; what is brought runs in the sandbox alone.

use std::os::fd::OwnedFd;

use rustix::fs::FileType;

use crate::error::GitError;
use crate::files::openat;
use crate::repo::worktree::Worktree;
use crate::worktree::private::make;
use crate::worktree::private::place::PrivatePlace;
use crate::worktree::worktrees::Worktrees;

/// The largest configuration, and the largest hook.
const MOST_BYTES: u64 = 1 << 20;
/// How many hooks are brought.
const MOST_HOOKS: usize = 64;

impl Worktrees<'_> {
    /// Brings the configuration and the hooks that a setup has made in one worktree's git directory
    /// to that of another, whose agent has not begun.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn bring_git_setup(&self, from: &Worktree, to: &Worktree) -> Result<(), GitError> {
        let (made, place) = (PrivatePlace::beside(from), PrivatePlace::beside(to));
        let (Some(made), Some(git_dir)) = (made.open(), place.open()) else {
            return Ok(());
        };
        let path = place.git_dir();
        let begun = make::configuration(to, None);
        let (set, there) = (configuration(&made), configuration(&git_dir));
        if let (Some(mut set), Some(there)) = (set, there)
            && set != begun
            && let Some(own) = there.strip_prefix(begun.as_slice())
        {
            // Who the agent commits as.
            set.extend_from_slice(own);
            make::put(&git_dir, b"config", &set, &path)?;
        }
        let Ok(hooks) = openat::open_folder(&made, b"hooks") else {
            return Ok(());
        };
        let failed = GitError::errno("write a hook to", path);
        let folder = openat::make_folder(&git_dir, b"hooks").map_err(&failed)?;
        let names = openat::list(&hooks).map_err(GitError::errno("list", from.path()))?;
        for (name, _) in names.iter().take(MOST_HOOKS) {
            if let Some(bytes) = plain(&hooks, name) {
                openat::write_private(&folder, name, &bytes, true).map_err(&failed)?;
            }
        }
        Ok(())
    }
}

fn configuration(git_dir: &OwnedFd) -> Option<Vec<u8>> {
    plain(git_dir, b"config")
}

/// Reads a plain file that is not too large.
fn plain(folder: &OwnedFd, name: &[u8]) -> Option<Vec<u8>> {
    let stat = openat::look(folder, name).ok().flatten()?;
    if openat::kind(&stat) != FileType::RegularFile {
        return None;
    }
    let (bytes, _) = openat::read(folder, name, MOST_BYTES).ok().flatten()?;
    Some(bytes)
}
