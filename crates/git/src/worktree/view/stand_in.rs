//! Git in commands of a sandbox tier that can hide the repository's configuration and refs, but not
//! replace them.
//!
//! Git refuses to work without reading these files. So a program of its name is found first: for
//! subcommands that only read, in the agent's worktree, it names a git directory of the job's own,
//! which links to the files that may be shown, and has the configuration and the refs that may be.
//! Everything else is left to git itself: other repositories work as ever, and what would change
//! the worktree's repository fails. Nothing relies on the script for safety.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use orchestrate_sandbox::{StandIn, StandInFile};

use crate::worktree::view::shown::{COMMON, OF_WORKTREE};
use crate::worktree::view::shown_refs::{PACKED, REFS, ShownRefs};

/// The folder with the git directory, beside that of the program.
const GIT_DIR: &str = "git-dir";
/// The files of the worktree's own git directory that are not taken over: a git directory in one
/// piece has none.
const POINTERS: [&str; 3] = ["commondir", "gitdir", "refs"];
/// The script; it is completed by the worktree's path.
const SCRIPT: &str = include_str!("stand_in.sh");

/// The worktree and the git directories that a program stands in for git with.
pub(crate) struct StandInFor<'a> {
    pub(crate) worktree: &'a Path,
    pub(crate) common_dir: &'a Path,
    pub(crate) admin_dir: &'a Path,
}

impl StandInFor<'_> {
    /// Returns what stands in for git with this configuration and these refs.
    pub(crate) fn with(&self, config: Vec<u8>, refs: &ShownRefs) -> StandIn {
        let links = COMMON
            .iter()
            .map(|name| (*name, self.common_dir.join(name)));
        let own = OF_WORKTREE.iter().filter(|name| !POINTERS.contains(name));
        let own = own.map(|name| (*name, self.admin_dir.join(name)));
        let is_link = |(name, path): &(&str, PathBuf)| *name != "HEAD" && path.exists();
        let links = links
            .chain(own)
            .filter(is_link)
            .map(|(name, path)| (name.into(), StandInFile::Link(path)));
        let written = [
            ("config".into(), StandInFile::Bytes(config)),
            // Git does not accept a link in its place.
            (
                "HEAD".into(),
                StandInFile::Bytes(std::fs::read(self.admin_dir.join("HEAD")).unwrap_or_default()),
            ),
            (PACKED.into(), StandInFile::Bytes(refs.packed())),
            (REFS.into(), StandInFile::Folder),
        ];
        let symbolic = refs
            .symbolic()
            .map(|(name, content)| (name, StandInFile::Bytes(content)));
        let all = written.into_iter().chain(symbolic).chain(links);
        let files = all
            .map(|(name, file): (PathBuf, _)| (Path::new(GIT_DIR).join(name), file))
            .collect();
        let quoted =
            String::from_utf8_lossy(self.worktree.as_os_str().as_bytes()).replace('\'', r"'\''");
        StandIn {
            name: "git".to_owned(),
            script: SCRIPT.replace("@WORKTREE@", &quoted),
            files,
        }
    }
}
