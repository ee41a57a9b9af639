//! One agent's worktree and branch: all git operations on them, on the agent's behalf.
//!
//! This is the git part of a worker's link. The worker requests operations and receives ids and texts; the repository
//! stays behind it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use orchestrate_core::aggregated::AggregatedResults;
use orchestrate_core::git_path::{shown_path, text};
use orchestrate_core::invisible::shown;
use orchestrate_core::policy::Policy;
use orchestrate_core::run_state::Repair;
use orchestrate_core::{AgentId, Oid, TaskId, TaskRecord, WaitRefused};
use orchestrate_git::{CommitInfo, ConflictFile, FileChange, Identity, Merge, Worktree, WrittenConflict};
use orchestrate_tools::{GitChange, GitCommit, GitStatus, ShownDiff, ShowsPath, WorktreeScope};

use crate::error::CoordinatorError;
use crate::run::context::RunContext;
use crate::worktree::aggregate::Caller;
use crate::worktree::commit::{Made, NewTip};
use crate::worktree::own_refs::{MERGING, OwnRefs, SELECTED};
use crate::worktree::worktrees;
use crate::worktree::{aggregate, commit, compare};

/// One agent's worktree and branch.
#[derive(Clone)]
pub(crate) struct GitLink {
    pub(super) context: Arc<RunContext>,
    pub(super) task: TaskId,
    pub(super) worktree: Arc<Worktree>,
}

/// The unresolved files of a conflict that an agent is resolving.
#[derive(Default)]
pub(crate) struct Unresolved {
    /// Files with conflict markers, each with the line of the first.
    pub(crate) marked: Vec<String>,
    /// Files without markers that are unresolved, with git's name of the conflict.
    pub(crate) untouched: Vec<String>,
}

impl Unresolved {
    /// Reports whether everything is resolved.
    pub(crate) fn is_empty(&self) -> bool {
        self.marked.is_empty() && self.untouched.is_empty()
    }
}

impl GitLink {
    /// Opens the worktree of a started task, recreating a directory that was deleted by hand.
    pub(crate) async fn open(context: &Arc<RunContext>, task: &TaskId) -> Result<Self, CoordinatorError> {
        let record = context.task(task)?;
        worktrees::record_loss(context, &record).await?;
        let worktree = worktrees::open(context, &record).await?;
        let opened = Arc::clone(&worktree);
        context.git(move |repo| repo.worktrees().require_finished(&opened)).await?;
        Ok(Self { context: Arc::clone(context), task: task.clone(), worktree })
    }

    /// Returns the folder of the worktree.
    pub(crate) fn path(&self) -> &Path {
        self.worktree.path()
    }

    /// Returns the scope of the tools.
    pub(crate) fn scope(&self) -> Result<WorktreeScope, CoordinatorError> {
        let path = self.worktree.path().to_owned();
        let root = self.worktree.root().try_clone_to_owned();
        let root = root.map_err(|source| CoordinatorError::Io { path: path.clone(), source })?;
        let since_1970 = self.index_written()?.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let checked_out = i128::try_from(since_1970.as_nanos()).unwrap_or(i128::MAX);
        Ok(WorktreeScope { path, root: Arc::new(root), view: self.worktree.view(), checked_out })
    }

    /// Brings a worktree to the start of its attempt, with the files that the project wants in every worktree.
    pub(crate) async fn begin(&self) -> Result<(), CoordinatorError> {
        let (record, tip) = self.record()?;
        let branch = format!("refs/heads/{}", self.context.run.task_branch(&self.task));
        let before = self.context.git(move |repo| repo.read_ref(&branch)).await?;
        // An agent continues from its own files; a command starts in a clean worktree.
        let replaced = before.filter(|before| *before != tip || record.is_command());
        if replaced.is_some() {
            self.keep_replaced().await?;
        }
        let (worktree, run, task) = (Arc::clone(&self.worktree), self.context.run.clone(), self.task.clone());
        let own = self.own_refs();
        let begun = self.context.git(move |repo| {
            if let Some(before) = replaced {
                // The user may have committed on the branch since.
                if !repo.contains(&tip, &before)? && !repo.kept(&run)?.iter().any(|kept| kept.target == before) {
                    repo.keep(&format!("{}{}/replaced", run.keep_prefix(), task.branch_component()), &before)?;
                }
                repo.worktrees().restart(&worktree, &before, &tip)?;
                own.forget(repo, &[SELECTED, MERGING])?;
            }
            repo.worktrees().copy_included(&worktree).map(|_| ())
        });
        begun.await
    }

    /// Merges the commit that work was returned onto into the worktree, including conflict markers; returns the files
    /// in conflict that are not text: a tool that writes text can neither keep them nor restore a version.
    ///
    /// The worktree is reset to the branch's tip first, so doing it twice is harmless: no agent has edited it since
    /// the work was handed over, or the merge would have been recorded. The user may have, so it is saved first.
    pub(crate) async fn write_return(&self, onto: Oid) -> Result<Vec<String>, CoordinatorError> {
        self.keep_replaced().await?;
        let (worktree, (_, tip)) = (Arc::clone(&self.worktree), self.record()?);
        let anchor = worktrees::conflict_anchor(&self.context, &self.task);
        let written = self.context.git(move |repo| {
            repo.worktrees().restart(&worktree, &tip, &tip)?;
            let WrittenConflict { tree, files, .. } = repo.merging().write_conflict(&worktree, &onto, &tip, &anchor)?;
            let mut binary = Vec::new();
            for file in repo.merging().untouched(&worktree, &files)? {
                if repo.store().read_stored(&tree, &file.path)?.is_some_and(|bytes| !is_text(&bytes)) {
                    binary.push(named(&file));
                }
            }
            Ok(binary)
        });
        written.await
    }

    /// Returns the unresolved files of the conflict that the agent is resolving.
    ///
    /// The two sides are those that were written into the worktree: a commit that the agent made since contains both.
    pub(crate) async fn unresolved(&self, repair: &Repair) -> Result<Unresolved, CoordinatorError> {
        let (worktree, Repair { onto, tip }) = (Arc::clone(&self.worktree), repair.clone());
        let found = self.context.git(move |repo| {
            let Merge::Conflict { files, .. } = repo.merging().merge(&onto, &tip)? else {
                return Ok(Unresolved::default());
            };
            let paths: Vec<_> = files.iter().map(|file| file.path.clone()).collect();
            let marked =
                repo.merging().remaining_markers(&repo.store().current_tree(&worktree)?, &paths, [&onto, &tip])?;
            Ok(Unresolved {
                marked: marked.iter().map(|(path, line)| format!("{}:{line}", shown_path(path))).collect(),
                untouched: repo.merging().untouched(&worktree, &files)?.iter().map(named).collect(),
            })
        });
        found.await
    }

    /// Commits the worktree to the branch, or returns `None` if there is nothing to commit.
    pub(crate) async fn commit(&self, message: &str, policy: &Policy) -> Result<Option<GitCommit>, CoordinatorError> {
        let (_, tip) = self.record()?;
        let merging = self.merging(&tip).await?;
        self.commit_as(NewTip { message, policy, selected: None, merging: merging.as_ref() }).await
    }

    /// Commits to the branch, and forgets what was selected and which merge was in progress.
    pub(super) async fn commit_as(&self, new: NewTip<'_>) -> Result<Option<GitCommit>, CoordinatorError> {
        let (record, _) = self.record()?;
        let made = commit::commit_worktree(&self.context, &record, &self.worktree, new).await?;
        let own = self.own_refs();
        self.context.git(move |repo| own.forget(repo, &[SELECTED, MERGING])).await?;
        let author = author(&self.context.identities.author);
        let commit = |Made { commit, left_out, time }| {
            let (id, message) = (commit, new.message.to_owned());
            GitCommit { id, message, author, time, left_out }
        };
        Ok(made.map(commit))
    }

    /// Stores the worktree, without moving the branch, and returns the commit, or `None` if the worktree is as at the
    /// branch's tip.
    pub(crate) async fn keep(&self) -> Result<Option<Oid>, CoordinatorError> {
        let (record, _) = self.record()?;
        commit::keep_worktree(&self.context, &record, &self.worktree).await
    }

    /// Saves files that are about to be replaced: an attempt's work, or later changes of the user's.
    async fn keep_replaced(&self) -> Result<(), CoordinatorError> {
        self.keep().await.map(drop).map_err(|error| match error {
            CoordinatorError::Git(source) if error.return_cause().is_some() => {
                CoordinatorError::Unkeepable { path: self.worktree.path().to_owned(), source: Box::new(source) }
            }
            other => other,
        })
    }

    /// Returns the branch's tip and its tree.
    pub(crate) async fn tip(&self) -> Result<(Oid, Oid), CoordinatorError> {
        let (_, tip) = self.record()?;
        let commit = tip.clone();
        Ok((tip, self.context.git(move |repo| repo.tree_of(&commit)).await?))
    }

    /// Returns the results of these agents beside those of this one; fails with the reason if one does not exist.
    pub(crate) async fn aggregate(
        &self,
        agents: &[AgentId],
        shows: ShowsPath,
    ) -> Result<Result<AggregatedResults, WaitRefused>, CoordinatorError> {
        let caller = Caller { agent: Some(self.task.clone()), shows };
        aggregate::aggregate(&self.context, agents, caller).await
    }

    /// Records which files the work at the branch's tip changes.
    pub(crate) async fn compare(&self) -> Result<(), CoordinatorError> {
        let (record, tip) = self.record()?;
        compare::record_changes(&self.context, &record, tip).await
    }

    /// Returns when git's index of the worktree was last written.
    pub(crate) fn index_written(&self) -> Result<SystemTime, CoordinatorError> {
        Ok(self.context.repo.store().index_written(&self.worktree)?)
    }

    /// Reports whether git ignores a file of the worktree.
    pub(crate) async fn ignores(&self, file: PathBuf) -> Result<bool, CoordinatorError> {
        let worktree = Arc::clone(&self.worktree);
        self.context.git(move |repo| repo.worktrees().ignores(&worktree, &file)).await
    }

    /// Lists the files of the worktree that no commit of it will contain, such as ignored files.
    pub(crate) async fn uncommitted(&self) -> Result<Vec<PathBuf>, CoordinatorError> {
        let worktree = Arc::clone(&self.worktree);
        self.context.git(move |repo| repo.worktrees().uncommitted(&worktree)).await
    }

    /// Compares the worktree with the branch's tip.
    pub(crate) async fn status(&self) -> Result<GitStatus, CoordinatorError> {
        let (worktree, (record, tip)) = (Arc::clone(&self.worktree), self.record()?);
        let (own, head) = (self.own_refs(), tip.clone());
        let found = self.context.git(move |repo| {
            let selected = match own.current(repo, SELECTED, &tip)? {
                Some(selected) => repo.store().diff(&tip, &selected.tree)?,
                None => Vec::new(),
            };
            let merging = own.current(repo, MERGING, &tip)?.and_then(|merge| merge.parents.into_iter().nth(1));
            Ok((repo.store().status(&worktree)?, selected, merging))
        });
        let (changes, selected, merging) = found.await?;
        let branch = record.branch().unwrap_or_default().to_owned();
        let (changes, selected) = (listed(&changes), listed(&selected));
        Ok(GitStatus { branch, head: Some(head), changes, selected, merging })
    }

    /// Returns the diff from the tip to the worktree, or to what the next commit takes, as far as it may be shown.
    pub(crate) async fn diff(&self, staged: bool, shows: ShowsPath) -> Result<ShownDiff, CoordinatorError> {
        let (worktree, (_, tip)) = (Arc::clone(&self.worktree), self.record()?);
        let own = self.own_refs();
        let text = self.context.git(move |repo| {
            let selected = if staged { own.current(repo, SELECTED, &tip)? } else { None };
            let tree = match selected {
                Some(selected) => selected.tree,
                None => repo.store().current_tree(&worktree)?,
            };
            // Both paths of a renamed file count.
            let changed = repo.store().changed_paths(&tip, &tree)?;
            let (may_show, withheld): (Vec<PathBuf>, Vec<PathBuf>) =
                changed.into_iter().partition(|path| shows(&text(path)));
            let text = match (may_show.is_empty(), withheld.is_empty()) {
                (_, true) => repo.store().diff_text(&tip, &tree)?,
                (true, false) => String::new(),
                (false, false) => repo.store().diff_text_of(&tip, &tree, &may_show)?,
            };
            Ok(ShownDiff { text, withheld: withheld.iter().map(|path| shown_path(path)).collect() })
        });
        text.await
    }

    /// Returns the newest commits of the branch, newest first.
    pub(crate) async fn log(&self, limit: usize) -> Result<Vec<GitCommit>, CoordinatorError> {
        let (_, tip) = self.record()?;
        let commits = self.context.git(move |repo| repo.store().log(&tip, limit)).await?;
        let commit = |found: CommitInfo| GitCommit {
            author: author(&found.author),
            id: found.id,
            message: found.message,
            time: found.time_unix,
            left_out: Vec::new(),
        };
        Ok(commits.into_iter().map(commit).collect())
    }

    /// Returns the names of the agent's own refs.
    pub(super) fn own_refs(&self) -> OwnRefs {
        OwnRefs::of(&self.context.run, &self.task)
    }

    /// Returns the task's record and its branch's tip.
    pub(super) fn record(&self) -> Result<(TaskRecord, Oid), CoordinatorError> {
        let missing = || CoordinatorError::UnknownTask { run: self.context.run.clone(), task: self.task.clone() };
        let record = self.context.task(&self.task)?;
        let tip = record.tip().cloned().ok_or_else(missing)?;
        Ok((record, tip))
    }
}

/// Returns changes as tools show them.
pub(super) fn listed(changes: &[FileChange]) -> Vec<GitChange> {
    let change = |change: &FileChange| GitChange { status: change.status.letter(), path: text(&change.path) };
    changes.iter().map(change).collect()
}

/// Formats a file in conflict, with git's name of the conflict.
fn named(file: &ConflictFile) -> String {
    shown(&file.to_string())
}

fn is_text(bytes: &[u8]) -> bool {
    !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok()
}

fn author(identity: &Identity) -> String {
    format!("{} <{}>", identity.name, identity.email)
}
