//! A person's own work on a task's branch and in its worktree: found for a review, and made a
//! commit of the person's.
//!
//! Only what no agent works on is touched: a task that has ended, or has handed over its work. The
//! commit and the branch come first, then the request to the run. If the request is refused, or the
//! process is killed in between, the work is a commit of the person's on the branch, which the next
//! review shows.

use std::collections::BTreeSet;
use std::path::PathBuf;

use orchestrate_core::projections::review::OwnChanges;
use orchestrate_core::run::WorkSpan;
use orchestrate_core::run::request::{Adoption, Part};
use orchestrate_core::text::git_path::text;
use orchestrate_core::{Oid, RunId, RunState, TaskId, TaskRecord};
use orchestrate_git::{
    CommitSpec, GitError, Loss, Repo, SnapshotRules, TakenFiles, Worktree, WorktreeSpec,
};
use orchestrate_journal::unix_seconds;

use crate::archive::{Archive, known};
use crate::error::LandingError;
use crate::review::compare::base_of;

/// How many hexadecimal digits of a commit are in the name of the ref that holds it.
const SHORT: usize = 12;

/// What a commit of the person's records.
struct OwnCommit {
    tree: Oid,
    parents: Vec<Oid>,
    message: String,
}

/// A task's branch, with its recorded tip and where it is.
struct OwnBranch {
    name: String,
    tip: Oid,
    found: Oid,
}

impl Archive {
    /// Returns what a person has changed on a task's branch and in its worktree; `None` if it
    /// cannot become part of the work now.
    ///
    /// # Errors
    ///
    /// Fails if the repository cannot be read.
    pub fn own_changes(
        &self,
        state: &RunState,
        record: &TaskRecord,
    ) -> Result<Option<OwnChanges>, LandingError> {
        if state.require_adoptable(&record.task.id).is_err() {
            return Ok(None);
        }
        let Some(branch) = self.own_branch(state, record)? else {
            return Ok(None);
        };
        let commits = self
            .repo
            .store()
            .first_parents(&branch.tip, &branch.found)?
            .len();
        let files = match self.worktree_of(state, record) {
            Ok(Some(worktree)) => self.own_files(state, record, &branch, &worktree)?,
            // A review shows the work all the same; taking the files says what is wrong.
            Ok(None) | Err(LandingError::Git(GitError::Tampered { .. })) => Vec::new(),
            Err(error) => return Err(error),
        };
        Ok(Some(OwnChanges { commits, files }))
    }

    /// Makes what a person has changed on a task's branch and in its worktree a commit of the
    /// person's at the branch's tip, and returns the request that makes it the task's work.
    ///
    /// # Errors
    ///
    /// Fails if there is nothing, if conflicts are not resolved, or if git cannot store a file.
    pub fn adopt(
        &self,
        run: &RunId,
        task: &TaskId,
        message: Option<&str>,
    ) -> Result<Adoption, LandingError> {
        let state = self.store.state(run)?;
        let record = known(&state, task)?;
        let Some(branch) = self.own_branch(&state, record)? else {
            return Err(nothing_to_adopt(run, task));
        };
        let mut commit = branch.found.clone();
        if let Some(worktree) = self.worktree_of(&state, record)? {
            self.repo.worktrees().require_finished(&worktree)?;
            self.require_resolved(&state, record, &worktree)?;
            let rules = SnapshotRules {
                unrecorded: Loss::Most,
                ..SnapshotRules::default()
            };
            let tree = self
                .committing(&state)
                .store()
                .snapshot(&worktree, &rules)?
                .tree;
            let merged = record.onto().filter(|_| record.repair().is_some());
            if tree != self.repo.tree_of(&commit)? || merged.is_some() {
                let parents = std::iter::once(commit.clone())
                    .chain(merged.cloned())
                    .collect();
                let message = message.map_or_else(
                    || format!("Change {} by hand", record.task.label()),
                    str::to_owned,
                );
                commit = self.commit_on(
                    &state,
                    record,
                    &branch,
                    OwnCommit {
                        tree,
                        parents,
                        message,
                    },
                )?;
            }
        }
        if commit == branch.tip {
            return Err(nothing_to_adopt(run, task));
        }
        let tree = self.repo.tree_of(&commit)?;
        Ok(Adoption {
            task: task.clone(),
            tip: branch.tip,
            commit,
            tree,
            part: None,
        })
    }

    /// Makes a commit of a part of a task's work, which its worktree contains then, and returns the
    /// request that approves it; `None` if the named files and folders are all that the work
    /// changes. Files that look like secrets are taken if they are named; if nothing else is, all
    /// of the work is taken with them.
    ///
    /// # Errors
    ///
    /// Fails if the work does not change one of them, or if there are changes of a person's that
    /// are not in it.
    pub fn take_part(
        &self,
        run: &RunId,
        task: &TaskId,
        named: &[String],
        message: Option<&str>,
    ) -> Result<Option<Adoption>, LandingError> {
        let state = self.store.state(run)?;
        let record = known(&state, task)?;
        let Some(branch) = self.own_branch(&state, record)? else {
            return Err(nothing_to_adopt(run, task));
        };
        self.require_no_own_changes(&state, record)?;
        let base = base_of(&self.repo, &WorkSpan::for_task(&state, record), &branch.tip)?;
        let changed = self.repo.store().changed_paths(&base, &branch.tip)?;
        let withheld = &record.aside().withheld;
        let (admitted, named): (Vec<String>, Vec<String>) = named
            .iter()
            .cloned()
            .partition(|name| withheld.iter().any(|file| file.path == *name));
        let (taken, left) = if named.is_empty() {
            (changed, Vec::new())
        } else {
            divided(changed, &named).map_err(|unknown| LandingError::NotChanged {
                run: run.clone(),
                task: task.clone(),
                unknown,
            })?
        };
        if left.is_empty() && admitted.is_empty() {
            return Ok(None);
        }
        let repo = self.committing(&state);
        let worktree = self.worktree_of(&state, record)?;
        let mut tree = repo.store().overlay(&base, &branch.tip, &taken)?;
        if let Some(worktree) = &worktree {
            tree = with_admitted(&repo, worktree, &tree, &admitted)?;
        }
        let subject = format!("Take a part of {}", record.task.label());
        let commit = self.commit_on(
            &state,
            record,
            &branch,
            OwnCommit {
                tree: tree.clone(),
                parents: vec![branch.found.clone()],
                message: subject,
            },
        )?;
        if let Some(worktree) = &worktree {
            repo.worktrees().exchange(worktree, &tree)?;
        }
        let [taken, left] =
            [taken, left].map(|paths| paths.iter().map(|path| text(path)).collect());
        let part = Some(Part {
            taken,
            left,
            admitted,
            message: message.map(str::to_owned),
        });
        Ok(Some(Adoption {
            task: task.clone(),
            tip: branch.tip,
            commit,
            tree,
            part,
        }))
    }

    fn require_no_own_changes(
        &self,
        state: &RunState,
        record: &TaskRecord,
    ) -> Result<(), LandingError> {
        match self.own_changes(state, record)?.filter(OwnChanges::is_any) {
            Some(own) => Err(LandingError::OwnChanges {
                run: state.run_id.clone(),
                task: record.task.id.clone(),
                own: own.to_string(),
            }),
            None => Ok(()),
        }
    }

    /// Returns the folder of a task's worktree, which is made again from the branch if it is gone.
    ///
    /// # Errors
    ///
    /// Fails if the task has no branch.
    pub fn open_worktree(&self, run: &RunId, task: &TaskId) -> Result<PathBuf, LandingError> {
        let state = self.store.state(run)?;
        let record = known(&state, task)?;
        let path = self.layout.worktree(run, task);
        if path.is_dir() {
            return Ok(path);
        }
        let Some(tip) = record.tip() else {
            return Err(nothing_to_adopt(run, task));
        };
        let spec = WorktreeSpec {
            path,
            branch: Some(run.task_branch(task)),
            base: tip.clone(),
            lock_reason: format!("orchestrate {run}"),
            times: Some(self.layout.source_times(run)),
        };
        Ok(self.repo.worktrees().add(&spec)?.path().to_owned())
    }

    /// Finds a task's branch; `None` if it has none, or if it does not contain the recorded work
    /// any more.
    fn own_branch(
        &self,
        state: &RunState,
        record: &TaskRecord,
    ) -> Result<Option<OwnBranch>, LandingError> {
        let name = format!("refs/heads/{}", state.run_id.task_branch(&record.task.id));
        let (Some(tip), Some(found)) = (record.tip().cloned(), self.repo.read_ref(&name)?) else {
            return Ok(None);
        };
        Ok(self
            .repo
            .contains(&found, &tip)?
            .then_some(OwnBranch { name, tip, found }))
    }

    fn worktree_of(
        &self,
        state: &RunState,
        record: &TaskRecord,
    ) -> Result<Option<Worktree>, LandingError> {
        let path = self.layout.worktree(&state.run_id, &record.task.id);
        match self.repo.worktrees().open(&path) {
            Err(GitError::NoWorktree { .. }) => Ok(None),
            opened => Ok(Some(opened?)),
        }
    }

    /// Lists the files of a worktree that differ from what was stored last: the person's commit, if
    /// there is one, or what the agent left.
    fn own_files(
        &self,
        state: &RunState,
        record: &TaskRecord,
        branch: &OwnBranch,
        worktree: &Worktree,
    ) -> Result<Vec<String>, LandingError> {
        let kept = record.kept().filter(|_| branch.found == branch.tip);
        let stored = self.repo.tree_of(kept.unwrap_or(&branch.found))?;
        match self.committing(state).store().current_tree(worktree) {
            Ok(current) if current == stored => Ok(Vec::new()),
            Ok(current) => {
                let mut changed = self.repo.store().changed_paths(&stored, &current)?;
                if let Some(merge) = self.written_merge(state, record)? {
                    let beside: BTreeSet<PathBuf> = self
                        .repo
                        .store()
                        .changed_paths(&merge, &current)?
                        .into_iter()
                        .collect();
                    changed.retain(|path| beside.contains(path));
                }
                Ok(changed.iter().map(|path| text(path)).collect())
            }
            // It is the person's all the same; taking it says what is wrong.
            Err(
                GitError::Unstorable { path, .. }
                | GitError::FilterAsked { path, .. }
                | GitError::TooLarge { path, .. },
            ) => Ok(vec![text(&path)]),
            Err(GitError::UnfinishedMerge { files, .. }) => Ok(files),
            // The work can be reviewed all the same where nothing can be stored.
            Err(error) if error.is_read_only() || error.is_disk_full() => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the tree of the merge, with its conflicts, that was written into a task's worktree
    /// for its agent.
    fn written_merge(
        &self,
        state: &RunState,
        record: &TaskRecord,
    ) -> Result<Option<Oid>, LandingError> {
        if record.repair().is_none() {
            return Ok(None);
        }
        Ok(self
            .repo
            .read_ref(&state.run_id.conflict_ref(&record.task.id))?)
    }

    /// Requires that no conflict of a merge that was written into the worktree is left.
    fn require_resolved(
        &self,
        state: &RunState,
        record: &TaskRecord,
        worktree: &Worktree,
    ) -> Result<(), LandingError> {
        let Some(repair) = record.repair() else {
            return Ok(());
        };
        let merging = self.repo.merging();
        let orchestrate_git::Merge::Conflict { files, .. } =
            merging.merge(&repair.onto, &repair.tip)?
        else {
            return Ok(());
        };
        let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
        let current = self.committing(state).store().current_tree(worktree)?;
        let marked = merging.remaining_markers(&current, &paths, [&repair.onto, &repair.tip])?;
        let marked = marked
            .iter()
            .map(|(path, line)| format!("{}:{line}", text(path)));
        let untouched = merging
            .untouched(worktree, &files)?
            .into_iter()
            .map(|file| text(&file.path));
        let files: Vec<String> = marked.chain(untouched).collect();
        let task = record.task.id.clone();
        if files.is_empty() {
            Ok(())
        } else {
            Err(LandingError::InConflict { task, files })
        }
    }

    /// Makes a commit of the person's the tip of a task's branch.
    fn commit_on(
        &self,
        state: &RunState,
        record: &TaskRecord,
        branch: &OwnBranch,
        own: OwnCommit,
    ) -> Result<Oid, LandingError> {
        let (run, task) = (&state.run_id, &record.task.id);
        let trailers = [
            ("Orchestrate-Run", run.to_string()),
            ("Orchestrate-Task", task.to_string()),
        ];
        let trailers = trailers
            .map(|(key, value)| (key.to_owned(), value))
            .to_vec();
        let OwnCommit {
            tree,
            parents,
            message,
        } = own;
        let spec = CommitSpec {
            tree,
            parents,
            message,
            trailers,
            by: self.identities()?,
            time_unix: unix_seconds(),
        };
        let commit = self.repo.commit(&spec)?;
        let short: String = commit.as_str().chars().take(SHORT).collect();
        self.repo.keep(
            &format!(
                "{}{}/own-{short}",
                run.keep_prefix(),
                task.branch_component()
            ),
            &commit,
        )?;
        self.repo
            .advance(&branch.name, Some(&branch.found), &commit)?;
        Ok(commit)
    }
}

/// Adds files of a worktree that look like secrets to a tree, which the worktree may then have.
fn with_admitted(
    repo: &Repo,
    worktree: &Worktree,
    tree: &Oid,
    admitted: &[String],
) -> Result<Oid, GitError> {
    let admitted = admitted.iter().map(PathBuf::from);
    // Its index has to list its files, which are stored.
    let rules = SnapshotRules {
        unrecorded: Loss::Everything,
        taken: TakenFiles {
            admitted: admitted.clone().collect(),
            ..TakenFiles::default()
        },
        ..SnapshotRules::default()
    };
    let whole = repo.store().snapshot(worktree, &rules)?.tree;
    let admitted: Vec<PathBuf> = admitted.collect();
    let tree = repo.store().overlay(tree, &whole, &admitted)?;
    repo.worktrees().require_nothing_lost(worktree, &tree)?;
    Ok(tree)
}

/// Divides changed files into those that are named, themselves or by their folder, and the others;
/// fails with a name that fits none.
fn divided(
    changed: Vec<PathBuf>,
    named: &[String],
) -> Result<(Vec<PathBuf>, Vec<PathBuf>), String> {
    let mut used = BTreeSet::new();
    let (mut taken, mut left) = (Vec::new(), Vec::new());
    for path in changed {
        let fits: Vec<&String> = named
            .iter()
            .filter(|name| path.starts_with(name.trim_end_matches('/')))
            .collect();
        if fits.is_empty() {
            &mut left
        } else {
            &mut taken
        }
        .push(path);
        used.extend(fits);
    }
    match named.iter().find(|name| !used.contains(name)) {
        Some(unknown) => Err(unknown.clone()),
        None => Ok((taken, left)),
    }
}

fn nothing_to_adopt(run: &RunId, task: &TaskId) -> LandingError {
    LandingError::NothingToAdopt {
        run: run.clone(),
        task: task.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_files_are_divided_by_what_is_named() {
        let changed = || ["a", "src/b", "src/c", "srcs"].map(PathBuf::from).to_vec();
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        let named = |names: &[&str]| {
            divided(
                changed(),
                &names.iter().map(ToString::to_string).collect::<Vec<_>>(),
            )
        };
        assert_eq!(
            named(&["src"]),
            Ok((paths(&["src/b", "src/c"]), paths(&["a", "srcs"])))
        );
        assert_eq!(
            named(&["src/", "a"]),
            Ok((paths(&["a", "src/b", "src/c"]), paths(&["srcs"])))
        );
        assert_eq!(named(&["a", "d"]), Err("d".to_owned()));
        assert_eq!(named(&["a", "src", "srcs"]), Ok((changed(), Vec::new())));
    }
}
