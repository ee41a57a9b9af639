//! Git in commands of a sandbox tier that can hide the repository's configuration, but not replace it.
//!
//! Git refuses to work without reading that file. So a program of its name is found first: for subcommands that only
//! read, in the agent's worktree, it names a git directory of the job's own, which links to the files that may be
//! shown, and has a plain configuration. Everything else is left to git itself: other repositories work as
//! ever, and what would change the worktree's repository fails. Nothing relies on the script for safety.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use orchestrate_sandbox::{StandIn, StandInFile};

use crate::worktree::shown::{COMMON, OF_WORKTREE, PLAIN_CONFIG};

/// The folder with the git directory, beside that of the program.
const GIT_DIR: &str = "git-dir";
/// The files of the worktree's own git directory that are not taken over: a git directory in one piece has none.
const POINTERS: [&str; 4] = ["commondir", "gitdir", "logs", "refs"];
/// The script; it is completed by the worktree's path.
const SCRIPT: &str = include_str!("stand_in.sh");

/// Returns what stands in for git in a worktree.
pub(crate) fn of(worktree: &Path, common_dir: &Path, admin_dir: &Path) -> StandIn {
    let links = COMMON.iter().map(|name| (*name, common_dir.join(name)));
    let own = OF_WORKTREE.iter().filter(|name| !POINTERS.contains(name)).map(|name| (*name, admin_dir.join(name)));
    let is_link = |(name, path): &(&str, PathBuf)| *name != "HEAD" && path.exists();
    let linked = links.chain(own).filter(is_link);
    let mut files: Vec<(PathBuf, StandInFile)> = vec![
        (Path::new(GIT_DIR).join("config"), StandInFile::Bytes(PLAIN_CONFIG.to_vec())),
        // Git does not accept a link in its place.
        (
            Path::new(GIT_DIR).join("HEAD"),
            StandInFile::Bytes(std::fs::read(admin_dir.join("HEAD")).unwrap_or_default()),
        ),
    ];
    files.extend(linked.map(|(name, path)| (Path::new(GIT_DIR).join(name), StandInFile::Link(path))));
    let quoted = String::from_utf8_lossy(worktree.as_os_str().as_bytes()).replace('\'', r"'\''");
    StandIn { name: "git".to_owned(), script: SCRIPT.replace("@WORKTREE@", &quoted), files }
}
