//! `.worktreeinclude`: ignored files of the user's checkout (a local `.env`, `node_modules`) that
//! are copied to every worktree.
//!
//! A file is copied only if git ignores it *and* the patterns match it. Tracked and merely new
//! files are never copied, and a file that the worktree already has is not overwritten. Git
//! computes both lists, in the user's own checkout.

use std::collections::BTreeSet;
use std::path::PathBuf;

use rustix::fs::FileType;
use rustix::io::Errno;

use crate::error::GitError;
use crate::repo::refusal::{MAX_INCLUDED, Refusal};
use crate::store::bounds;
use crate::store::openat;
use crate::store::openat::path_of;
use crate::worktree::checkout::Checkout;
use crate::worktree::handle::Worktrees;
use crate::worktree::worktrees::Worktree;

/// The file with the patterns, at the top of the user's checkout.
const PATTERNS: &str = ".worktreeinclude";

impl Worktrees<'_> {
    /// Copies the ignored files that `.worktreeinclude` names from the user's checkout into a
    /// worktree, and returns their paths. A link is copied as a link, wherever it points.
    ///
    /// # Errors
    /// If there are too many ([`Refusal::IncludesTooMuch`]), or one cannot be read or written.
    pub fn copy_included(&self, worktree: &Worktree) -> Result<Vec<PathBuf>, GitError> {
        let files = self.included()?;
        if files.is_empty() {
            return Ok(Vec::new());
        }
        worktree.verify_untampered()?;
        let from = openat::open_root(self.repo.workdir()).map_err(GitError::errno("open", self.repo.workdir()))?;
        let mut copied = Vec::new();
        for path in files {
            let (folder, name) = openat::split(&path);
            let failed = || GitError::errno("copy", self.repo.workdir().join(path_of(&path)));
            let source = match openat::open_folder(&from, folder) {
                Err(error) if has_changed(error) => continue,
                opened => opened.map_err(failed())?,
            };
            // Anything that is neither a regular file nor a link is skipped.
            let kind = openat::look(&source, name).map_err(failed())?.as_ref().map(openat::kind);
            let Some(kind @ (FileType::RegularFile | FileType::Symlink)) = kind else { continue };
            let target = match openat::open_folder(worktree.root(), folder) {
                Err(Errno::NOENT) => openat::make_folder(worktree.root(), folder),
                // The worktree has a file or a link in the folder's place.
                Err(Errno::NOTDIR | Errno::LOOP) => continue,
                opened => opened,
            };
            let target = target.map_err(failed())?;
            if openat::look(&target, name).map_err(failed())?.is_some() {
                continue;
            }
            let done = match kind {
                FileType::Symlink => {
                    openat::read_link(&source, name).and_then(|leads| openat::write_link(&target, name, &leads))
                }
                _ => openat::copy(&source, &target, name),
            };
            match done {
                Err(error) if has_changed(error) => {}
                done => {
                    done.map_err(failed())?;
                    copied.push(path_of(&path));
                }
            }
        }
        Ok(copied)
    }

    /// Lists the files that are copied to each worktree.
    pub(crate) fn included(&self) -> Result<Vec<Vec<u8>>, GitError> {
        let patterns = self.repo.workdir().join(PATTERNS);
        let root = openat::open_root(self.repo.workdir()).map_err(GitError::errno("open", self.repo.workdir()))?;
        if openat::look(&root, PATTERNS.as_bytes()).map_err(GitError::errno("look at", &patterns))?.is_none() {
            return Ok(Vec::new());
        }
        if let Some(reason) = bounds::excess_in(&root, PATTERNS.as_bytes())? {
            let refusal = Refusal::Patterns { path: PATTERNS.into(), reason };
            return Err(GitError::Refused { path: self.repo.workdir().to_owned(), refusal });
        }
        let named = self.untracked(&[format!("--exclude-from={}", patterns.display())])?;
        let ignored = self.untracked(&["--exclude-standard".to_owned()])?;
        let files: Vec<Vec<u8>> = named.intersection(&ignored).cloned().collect();
        if files.len() > MAX_INCLUDED {
            let refusal = Refusal::IncludesTooMuch { path: PATTERNS.into(), files: files.len() };
            return Err(GitError::Refused { path: self.repo.workdir().to_owned(), refusal });
        }
        Ok(files)
    }

    /// Lists the untracked files of the user's checkout that match exclude patterns.
    fn untracked(&self, exclude: &[String]) -> Result<BTreeSet<Vec<u8>>, GitError> {
        let args = ["ls-files", "--others", "--ignored", "-z"].into_iter().chain(exclude.iter().map(String::as_str));
        let place = Checkout { path: self.repo.workdir().to_owned(), git_dir: self.repo.shared.git_dir.clone() };
        let room = self.repo.room_for_files()?;
        let run = self.repo.on_files(&room, &place, args).settings(self.repo.shared.configuration.about_files());
        let listed = self.repo.program.require(&run)?;
        Ok(listed.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(<[u8]>::to_vec).collect())
    }
}

/// Reports whether an error means that an entry has been removed or replaced since it was listed:
/// the user continues to work in the checkout.
fn has_changed(error: Errno) -> bool {
    [Errno::NOENT, Errno::NOTDIR, Errno::LOOP, Errno::INVAL, Errno::NXIO].contains(&error)
}
