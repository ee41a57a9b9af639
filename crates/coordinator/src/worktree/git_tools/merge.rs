//! Merges another agent's branch, or the result so far, into an agent's own branch, on its request.
//!
//! The worktree gets the merged files before the branch moves: otherwise the agent's next commit
//! could undo, with the old files, what was merged. A conflict is written into the worktree, and a
//! ref of the agent's own says which commit is being merged; the next commit has it as a second
//! parent, and is refused as long as the merge is not complete.

use std::path::PathBuf;
use std::sync::Arc;

use orchestrate_core::policy::Policy;
use orchestrate_core::record::Repair;
use orchestrate_core::text::cut;
use orchestrate_core::text::git_path::{shown_path, text};
use orchestrate_core::text::invisible::shown;
use orchestrate_core::{Oid, TaskId};
use orchestrate_git::own_refs::MERGING;
use orchestrate_git::{ConflictFile, GitError, Hunk, InConflict, Merge, Repo, Side};
use orchestrate_tools::{ConflictHunk, MergeConflict, MergeResult, ServiceError};

use crate::error::CoordinatorError;
use crate::worktree::attempt::Unresolved;
use crate::worktree::git_tools::checkout::require_none_forbidden;
use crate::worktree::git_tools::commit::NewTip;
use crate::worktree::git_tools::status::listed;
use crate::worktree::workspace::Workspace;

/// The most bytes of each side of a conflict that a result repeats; the file has all of them.
const SIDE_BYTES: usize = 2_000;
/// The most places in one file that a result lists.
const MOST_HUNKS: usize = 50;
/// The name, in conflict markers, of what is no task's.
const OTHER: &str = "theirs";

/// What is merged.
pub(super) struct Source {
    /// The name that the agent gave.
    name: String,
    /// The name in conflict markers.
    label: String,
    commit: Oid,
}

impl Source {
    /// Returns what is no task's.
    pub(super) fn other(name: String, commit: Oid) -> Source {
        Source {
            name,
            label: OTHER.to_owned(),
            commit,
        }
    }
}

impl Workspace {
    /// Merges a branch into the agent's own.
    pub(crate) async fn merge(
        &self,
        name: &str,
        policy: &Policy,
    ) -> Result<MergeResult, ServiceError> {
        self.merge_source(self.source(name.trim()).await?, policy)
            .await
    }

    /// The same for a commit.
    pub(super) async fn merge_source(
        &self,
        source: Source,
        policy: &Policy,
    ) -> Result<MergeResult, ServiceError> {
        self.require_no_other_merge(&source).await?;
        self.commit_own_commits(policy).await?;
        let (tip, in_progress) = self.require_no_other_merge(&source).await?;
        self.keep().await?;
        let (other, to) = (source.commit.clone(), tip.clone());
        let merged = self.host.git(move |repo| {
            if repo.contains(&to, &other)? {
                return Ok(None);
            }
            repo.require_plain_tree(&other)?;
            let merge = repo.merging().merge(&other, &to)?;
            Ok(Some((changed(repo, &to, &merge)?, merge)))
        });
        let Some((changed, merge)) = merged.await? else {
            return Ok(result(source, None, Vec::new()));
        };
        require_none_forbidden(policy, &changed)?;
        match merge {
            Merge::Clean { tree } => self.merge_cleanly(source, tree, &tip, policy).await,
            Merge::Conflict { tree, .. } => {
                self.write_conflicts(source, tree, in_progress.is_some(), policy)
                    .await
            }
        }
    }

    /// Requires that a branch could be merged.
    pub(super) async fn require_merge(&self, name: &str) -> Result<(), ServiceError> {
        let source = self.source(name.trim()).await?;
        self.require_no_other_merge(&source).await.map(drop)
    }

    /// Requires that no other merge is in progress, and returns the branch's tip, and the merge of
    /// this commit that is.
    async fn require_no_other_merge(
        &self,
        source: &Source,
    ) -> Result<(Oid, Option<Oid>), ServiceError> {
        let (record, tip) = self.record().await?;
        let in_progress = self.merging(&tip).await?;
        if record.onto().is_some()
            || in_progress
                .as_ref()
                .is_some_and(|other| *other != source.commit)
        {
            let reason =
                "another merge is in progress in your worktree: resolve and commit it first";
            return Err(ServiceError::Invalid(reason.to_owned()));
        }
        if in_progress.is_none() && self.sync_git().await?.operation.is_some() {
            let reason = "an operation of git is in progress in your worktree: finish or abort it \
                          first, see `git status`";
            return Err(ServiceError::Invalid(reason.to_owned()));
        }
        Ok((tip, in_progress))
    }

    async fn merge_cleanly(
        &self,
        source: Source,
        tree: Oid,
        tip: &Oid,
        policy: &Policy,
    ) -> Result<MergeResult, ServiceError> {
        self.require_no_configuration(policy, &tree, &[tip, &source.commit])
            .await?;
        self.write_files(&source, &tree, tip).await?;
        let message = format!("Merge {} into {}", source.name, self.link.agent);
        let new = NewTip {
            message: &message,
            policy,
            selected: None,
            merging: Some(&source.commit),
            above: None,
        };
        // The snapshot's number is taken from the newest record.
        let made = self
            .commit_merge(&self.record().await?.0, tree.clone(), new)
            .await?;
        self.keep().await?;
        let from = tip.clone();
        let changes = self
            .host
            .git(move |repo| repo.store().diff(&from, &tree))
            .await?;
        Ok(MergeResult {
            changes: listed(&changes),
            ..result(source, made.map(|made| made.commit), Vec::new())
        })
    }

    async fn write_conflicts(
        &self,
        source: Source,
        tree: Oid,
        is_begun: bool,
        policy: &Policy,
    ) -> Result<MergeResult, ServiceError> {
        let (_, tip) = self.record().await?;
        self.require_no_configuration(policy, &tree, &[&tip, &source.commit])
            .await?;
        let message = format!("Merge of {} in progress", source.name);
        let spec = self
            .beside(
                tree.clone(),
                vec![tip.clone(), source.commit.clone()],
                message,
            )
            .await?;
        let own = self.own_refs();
        self.host
            .git(move |repo| own.set(repo, MERGING, &repo.commit(&spec)?))
            .await?;
        let written = self.write_files(&source, &tree, &tip).await;
        if written.is_err() && !is_begun {
            // Nothing was written, so there is no merge to complete.
            let own = self.own_refs();
            self.host
                .git(move |repo| own.forget(repo, &[MERGING]))
                .await?;
        }
        let conflicts = written?;
        self.keep().await?;
        let changes = self
            .host
            .git(move |repo| repo.store().diff(&tip, &tree))
            .await?;
        Ok(MergeResult {
            changes: listed(&changes),
            merged: false,
            ..result(source, None, conflicts)
        })
    }

    /// Writes a merge into the worktree, and returns its conflicts; nothing is written if files
    /// would be lost.
    async fn write_files(
        &self,
        source: &Source,
        tree: &Oid,
        tip: &Oid,
    ) -> Result<Vec<MergeConflict>, ServiceError> {
        let (worktree, anchor) = (Arc::clone(&self.worktree), self.own_refs().merged_tree());
        let (label, other) = (source.label.clone(), source.commit.clone());
        let (tree, tip) = (tree.clone(), tip.clone());
        let written = self.host.git(move |repo| {
            repo.worktrees().require_nothing_lost(&worktree, &tree)?;
            let target = Side {
                name: &label,
                commit: &other,
            };
            let written = repo
                .merging()
                .write_merge(&worktree, target, &tip, &anchor)?;
            written
                .files
                .iter()
                .map(|file| conflict(repo, &written.tree, file))
                .collect()
        });
        written.await.map_err(|error| match error {
            CoordinatorError::Git(GitError::Unstorable { path, reason }) => {
                let path = shown_path(&path);
                ServiceError::Invalid(format!(
                    "nothing was merged, because of `{path}`: {reason}; commit or stash it"
                ))
            }
            other => other.into(),
        })
    }

    /// Returns the commit that is being merged into the worktree, at this tip.
    pub(crate) async fn merging(&self, tip: &Oid) -> Result<Option<Oid>, CoordinatorError> {
        let (own, tip) = (self.own_refs(), tip.clone());
        let merge = self
            .host
            .git(move |repo| own.current(repo, MERGING, &tip))
            .await?;
        Ok(merge.and_then(|merge| merge.parents.into_iter().nth(1)))
    }

    /// Returns what is unresolved of the merge that the agent has begun; nothing if there is none.
    pub(crate) async fn left_of_merge(&self) -> Result<Unresolved, CoordinatorError> {
        let (_, tip) = self.record().await?;
        let Some(onto) = self.merging(&tip).await? else {
            return self.left_of_typed_merge().await;
        };
        let mut left = self
            .unresolved(&Repair {
                onto: onto.clone(),
                tip: tip.clone(),
            })
            .await?;
        let worktree = Arc::clone(&self.worktree);
        let missing = self
            .host
            .git(move |repo| missing(repo, [&tip, &onto], &repo.store().current_tree(&worktree)?));
        let missing = missing.await?;
        left.untouched.extend(
            missing
                .iter()
                .map(|path| format!("{} (not merged)", shown_path(path))),
        );
        Ok(left)
    }

    /// Returns what is unresolved of a merge that the agent has begun with its own git.
    async fn left_of_typed_merge(&self) -> Result<Unresolved, CoordinatorError> {
        let git = self.sync_git().await?;
        let mut left = Unresolved::default();
        for InConflict { path, line } in &git.conflicts {
            left.marked.push(format!("{}:{line}", shown_path(path)));
        }
        Ok(left)
    }

    /// Returns what an agent means to merge: another task's work, the result so far, or a name of
    /// its own.
    async fn source(&self, name: &str) -> Result<Source, ServiceError> {
        let own = self.own_refs().branch(name);
        let branches = self.branches().await?;
        let mut others = vec![TaskId::INTEGRATION.to_owned()];
        let siblings = branches
            .tasks
            .iter()
            .filter(|other| other.task != self.link.agent && other.tip.is_some());
        others.extend(siblings.map(|other| other.task.to_string()));
        let (name, of_run) = (name.to_owned(), branches.tip(&self.link.run, name));
        if let Some(commit) = of_run {
            let label = branches
                .named(&name)
                .map(|other| other.task.branch_component());
            let label = label.unwrap_or_else(|| TaskId::INTEGRATION.to_owned());
            return Ok(Source {
                name,
                label,
                commit,
            });
        }
        let found = self.host.git(move |repo| match repo.read_ref(&own) {
            Err(GitError::BadRefName { .. }) => Ok(None),
            found => found,
        });
        let unknown = || {
            let reason = format!(
                "`{}` cannot be merged; these can: {}",
                shown(&name),
                others.join(", ")
            );
            ServiceError::Invalid(reason)
        };
        let commit = found.await?.ok_or_else(unknown)?;
        Ok(Source::other(name, commit))
    }
}

fn result(source: Source, commit: Option<Oid>, conflicts: Vec<MergeConflict>) -> MergeResult {
    let Source {
        name: branch,
        commit: other,
        ..
    } = source;
    MergeResult {
        branch,
        other,
        merged: true,
        commit,
        changes: Vec::new(),
        conflicts,
    }
}

/// Returns the paths that a merge changes in the branch.
fn changed(repo: &Repo, tip: &Oid, merge: &Merge) -> Result<Vec<PathBuf>, GitError> {
    let (tree, in_conflict) = match merge {
        Merge::Clean { tree } => (tree, &[][..]),
        Merge::Conflict { tree, files, .. } => (tree, files.as_slice()),
    };
    let mut paths = repo.store().changed_paths(tip, tree)?;
    paths.extend(in_conflict.iter().map(|file| file.path.clone()));
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// Lists the places of a conflict in a file.
fn conflict(repo: &Repo, tree: &Oid, file: &ConflictFile) -> Result<MergeConflict, GitError> {
    let content = repo
        .store()
        .read_stored(tree, &file.path)?
        .unwrap_or_default();
    let hunk = |hunk: Hunk| ConflictHunk {
        first_line: hunk.first_line,
        last_line: hunk.last_line,
        theirs: shown_side(&hunk.theirs),
        base: shown_side(&hunk.base),
        yours: shown_side(&hunk.yours),
    };
    let hunks = Hunk::all_in(&content)
        .into_iter()
        .take(MOST_HUNKS)
        .map(hunk)
        .collect();
    Ok(MergeConflict {
        path: text(&file.path),
        kind: file.kind.clone(),
        hunks,
    })
}

fn shown_side(text: &str) -> String {
    cut(text, SIDE_BYTES)
}

/// Lists the files that the merged side changed without a conflict, and that the worktree has as
/// before: the merge was not written there, or has been undone.
fn missing(repo: &Repo, [tip, other]: [&Oid; 2], current: &Oid) -> Result<Vec<PathBuf>, GitError> {
    let Merge::Conflict { tree, files, .. } = repo.merging().merge(other, tip)? else {
        return Ok(Vec::new());
    };
    let mut missing = Vec::new();
    for path in repo.store().changed_paths(tip, &tree)? {
        let is_conflict = files.iter().any(|file| file.path == path);
        if !is_conflict && repo.store().is_same_at(current, tip, &path)? {
            missing.push(path);
        }
    }
    Ok(missing)
}
