//! `.worktreeinclude`: ignored files of the user's checkout (a local `.env`) that every worktree gets.
//!
//! Only files that git ignores *and* that the patterns name are copied, never tracked or merely new ones; a
//! file that is in the worktree already stays as it is. Both lists come from git, run on the user's own tree.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use rustix::io::Errno;

use crate::beneath::{self, path_of};
use crate::error::GitError;
use crate::program::Run;
use crate::repo::Repo;
use crate::worktree::Worktree;

/// The file that names the patterns, at the top of the user's checkout.
const PATTERNS: &str = ".worktreeinclude";
/// The most files that are copied: these are settings, not build caches.
const MAX_FILES: usize = 1_000;
/// The largest file that is copied.
const MAX_BYTES: u64 = 16 << 20;

impl Repo {
    /// Copies the user's ignored files that `.worktreeinclude` names into a worktree, and lists them.
    ///
    /// # Errors
    /// [`GitError::TooLarge`] if they are too many or too large; if a file cannot be read or written.
    pub fn copy_included(&self, worktree: &Worktree) -> Result<Vec<PathBuf>, GitError> {
        let from = beneath::open_root(self.workdir()).map_err(GitError::errno("open", self.workdir()))?;
        let patterns = self.workdir().join(PATTERNS);
        if !patterns.is_file() {
            return Ok(Vec::new());
        }
        worktree.verify_untampered()?;
        let named = self.untracked(&[format!("--exclude-from={}", patterns.display())])?;
        let ignored = self.untracked(&["--exclude-standard".to_owned()])?;
        let files: Vec<&Vec<u8>> = named.intersection(&ignored).collect();
        if files.len() > MAX_FILES {
            return Err(GitError::TooLarge {
                path: patterns,
                what: "the number of files that it names",
                limit: MAX_FILES as u64,
            });
        }
        let mut copied = Vec::new();
        for path in files {
            let shown = path_of(path);
            let (folder, name) = beneath::split(path);
            let source =
                beneath::open_folder(&from, folder).map_err(GitError::errno("open", self.workdir().join(&shown)))?;
            let read = match beneath::read(&source, name, MAX_BYTES) {
                Ok(read) => read,
                // No regular file: a link would lead out of the worktree. Or it has gone since it was listed.
                Err(Errno::LOOP | Errno::INVAL | Errno::NXIO | Errno::NOENT) => continue,
                Err(error) => return Err(GitError::errno("read", self.workdir().join(&shown))(error)),
            };
            let Some((bytes, stat)) = read else {
                return Err(GitError::TooLarge { path: shown, what: "the size in bytes", limit: MAX_BYTES });
            };
            let failed = || GitError::errno("write", worktree.path().join(&shown));
            let target = match beneath::open_folder(worktree.root(), folder) {
                Err(Errno::NOENT) => beneath::make_folder(worktree.root(), folder),
                // A file or a link of the worktree stands in the folder's place.
                Err(Errno::NOTDIR | Errno::LOOP) => continue,
                opened => opened,
            };
            let target = target.map_err(failed())?;
            if beneath::look(&target, name).map_err(failed())?.is_none() {
                beneath::write_with_mode(&target, name, &bytes, stat.st_mode).map_err(failed())?;
                copied.push(PathBuf::from(std::ffi::OsStr::from_bytes(path)));
            }
        }
        Ok(copied)
    }

    /// Lists the untracked files of the user's checkout that exclude patterns name.
    fn untracked(&self, exclude: &[String]) -> Result<BTreeSet<Vec<u8>>, GitError> {
        let args = ["ls-files", "--others", "--ignored", "-z"].into_iter().chain(exclude.iter().map(String::as_str));
        let listed = self.shared.program.require(&Run::new(&self.shared.git_dir, self.workdir(), args))?;
        Ok(listed.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(<[u8]>::to_vec).collect())
    }
}
