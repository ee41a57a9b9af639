//! Where the processes of a mounted worktree find its git directory.
//!
//! A worktree's own `.git` file leads into the checkout, which the mount hides. In its place is one
//! that leads to a directory outside of the worktree, since a directory cannot be mounted over a
//! file, and people and tools need that file on disk. The repository's objects are beside that
//! directory rather than in it: what a command could rename would not stay where the next one's
//! mount needs it.

use orchestrate_sandbox::{Mount, Mounted};

use crate::repo::worktree::{BASE_SEEN, GIT_SEEN, Worktree};
use crate::worktree::private::place::PrivatePlace;

/// What of the repository is shown beside the git directory; Git LFS looks for its objects beside
/// those of git.
const SHARED: [&str; 2] = ["objects", "lfs/objects"];

/// Returns the content of the worktree's `.git` file.
pub(super) fn pointer() -> Vec<u8> {
    format!("gitdir: {GIT_SEEN}\n").into_bytes()
}

/// Returns the mounts of a worktree's git directory. They are the same as long as the worktree
/// exists.
pub(super) fn mounts(worktree: &Worktree) -> Vec<Mount> {
    let git_dir = PrivatePlace::beside(worktree).git_dir();
    let mut mounts = vec![Mount::new(GIT_SEEN, Mounted::Writable(git_dir))];
    for name in SHARED {
        let content = Mounted::ReadOnly(worktree.common_dir().join(name));
        mounts.push(Mount::new(format!("{BASE_SEEN}/{name}"), content));
    }
    mounts
}
