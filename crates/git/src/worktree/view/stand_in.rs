//! Git in commands of a sandbox tier that cannot show another `.git` file than the one on disk.
//!
//! That file leads into the repository's own git directory, of which little can be read and nothing
//! written. So a program of git's name is found first, which names the agent's own git directory
//! where git would follow that file. Everything else is left to git itself: other repositories work
//! as ever. Nothing relies on the script for safety.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use orchestrate_sandbox::StandIn;

/// The script; it is completed by the paths of the worktree and of its git directory.
const SCRIPT: &str = include_str!("stand_in.sh");

/// Returns what stands in for git in a worktree with this git directory.
pub(super) fn for_git(worktree: &Path, git_dir: &Path) -> StandIn {
    let script = SCRIPT.replace("@WORKTREE@", &quoted(worktree));
    StandIn {
        name: "git".to_owned(),
        script: script.replace("@GIT_DIR@", &quoted(git_dir)),
        files: Vec::new(),
    }
}

/// Returns a path as the inside of single quotes.
fn quoted(path: &Path) -> String {
    String::from_utf8_lossy(path.as_os_str().as_bytes()).replace('\'', r"'\''")
}
