//! A task's worktree whose files are stored elsewhere, so that it may be removed.

use std::path::{Path, PathBuf};

use orchestrate_core::{Oid, RunId, TaskRecord};
use orchestrate_git::own_refs::OwnRefs;
use orchestrate_git::{GitError, KeptFiles, RefEntry, Removed, Repo, Worktree};

/// A worktree whose files are stored elsewhere, apart from ignored ones.
pub struct StoredWorktree {
    worktree: Worktree,
    kept: KeptFiles,
}

impl StoredWorktree {
    /// Opens a worktree.
    ///
    /// # Errors
    ///
    /// Fails if a file of it is stored nowhere else, or if it cannot be trusted or opened.
    pub fn open(repo: &Repo, path: &Path) -> Result<Self, GitError> {
        let worktree = repo.worktrees().open(path)?;
        let kept = repo.worktrees().require_kept(&worktree)?;
        Ok(Self { worktree, kept })
    }

    /// Lists its ignored files that nothing can make again.
    ///
    /// # Errors
    ///
    /// Fails if git cannot list them.
    pub fn ignored(&self, repo: &Repo) -> Result<Vec<PathBuf>, GitError> {
        repo.worktrees()
            .uncommitted_beside(&self.worktree, &self.kept)
    }

    /// Removes it, with its ignored files, into the trash.
    ///
    /// # Errors
    ///
    /// Fails if its files have changed since, or if they cannot be held or moved.
    pub fn remove(
        self,
        repo: &Repo,
        run: &RunId,
        record: &TaskRecord,
        trash: &Path,
    ) -> Result<Removed, GitError> {
        // A process that was killed may not have looked at what the agent did with git last.
        if let Some(tip) = record.tip() {
            let own = OwnRefs::for_task(run, &record.task.id);
            repo.worktrees().hold_git(&self.worktree, &own, tip)?;
        }
        hold_files(repo, run, record, self.kept.tree())?;
        repo.worktrees()
            .remove_kept(&self.worktree, self.kept, trash)
    }
}

/// Gives the files of a task's worktree, by their tree, a ref that stays if of all refs only those
/// hold them that go with the worktree.
fn hold_files(repo: &Repo, run: &RunId, record: &TaskRecord, files: &Oid) -> Result<(), GitError> {
    let holds = |target: &Oid| {
        // A damaged ref holds nothing.
        if !repo.has_object(target)? {
            return Ok::<_, GitError>(false);
        }
        let commit = repo.store().find_commit(target)?;
        Ok(commit.map_or(target == files, |commit| commit.tree == *files))
    };
    let going = OwnRefs::for_task(run, &record.task.id).disposable(repo, record.tip())?;
    let branch = record
        .branch()
        .map(|branch| repo.read_ref(&format!("refs/heads/{branch}")))
        .transpose()?;
    let kept = repo
        .kept(run)?
        .into_iter()
        .filter(|entry| !going.contains(entry))
        .map(|entry| entry.target);
    for target in branch.flatten().into_iter().chain(kept) {
        if holds(&target)? {
            return Ok(());
        }
    }
    for RefEntry { target, .. } in going {
        if holds(&target)? {
            let component = record.task.id.branch_component();
            return repo.keep(
                &format!("{}{component}/cleaned-{target}", run.keep_prefix()),
                &target,
            );
        }
    }
    // They are in the files of another run.
    Ok(())
}
