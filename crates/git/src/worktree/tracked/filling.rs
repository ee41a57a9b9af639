//! Fills worktrees with the files of a commit: those of its tree, of its submodules, and the
//! contents that are stored with Git LFS.

use orchestrate_core::Oid;

use crate::error::GitError;
use crate::repo::worktree::Worktree;
use crate::worktree::checkout::Checkout;
use crate::worktree::tracked::submodules::Replace;
use crate::worktree::worktrees::Worktrees;

impl Worktrees<'_> {
    /// Sets the worktree's tracked files and index to those of a commit or tree. Other files stay.
    /// No filter is run, wherever it is configured.
    pub(crate) fn fill(&self, worktree: &Worktree, treeish: &Oid) -> Result<(), GitError> {
        worktree.verify_untampered()?;
        let args = ["read-tree", "--reset", "-u", treeish.as_str()];
        let place = Checkout {
            path: worktree.path().to_owned(),
            git_dir: worktree.admin_dir().to_owned(),
        };
        let scratch = self.repo.scratch_for_files()?;
        let run = self
            .repo
            .on_files(&scratch, &place, args)
            .settings(self.repo.shared.configuration.about_files());
        self.repo.program.require(&run)?;
        self.bring_referred(worktree)
    }

    /// Brings the files that a worktree's index only refers to, in place of those of other commits.
    pub(crate) fn bring_referred(&self, worktree: &Worktree) -> Result<(), GitError> {
        self.bring_lfs_files(worktree)?;
        self.bring_submodules(worktree, Replace::Changed)
    }

    /// Brings what is missing in a worktree of the files that its commit only refers to. Nothing is
    /// replaced.
    pub(crate) fn complete(&self, worktree: &Worktree) -> Result<(), GitError> {
        self.bring_lfs_files(worktree)?;
        self.bring_submodules(worktree, Replace::Nothing)
    }
}
