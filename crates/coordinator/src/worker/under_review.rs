//! What a reviewing task's agent sees: the newest result with the work that waits for its verdict.
//!
//! The work is merged into commits of their own, without a checkout, so that the agent reads and
//! tests what would be merged. Work that conflicts stays out of its worktree; the agent sees it as
//! a diff.

use std::collections::BTreeMap;

use orchestrate_core::{Oid, RunState, TaskId, TaskRecord};
use orchestrate_git::{CommitSpec, Merge};
use orchestrate_journal::unix_seconds;

use crate::error::CoordinatorError;
use crate::merge::step::combine;
use crate::run::context::RunContext;
use crate::worktree::git_tools::commit::keep_commit;

/// The work that one reviewing task reviews; empty for any other task.
#[derive(Clone, Debug)]
pub(super) struct UnderReview {
    /// The commit that contains it.
    pub(super) base: Oid,
    /// The trees of the work.
    pub(super) trees: BTreeMap<TaskId, Oid>,
    /// Whether the task has not been shown this work yet.
    pub(super) is_new: bool,
    changes: BTreeMap<TaskId, Change>,
}

/// The two commits whose difference is a task's change.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) before: Oid,
    pub(super) after: Oid,
}

impl UnderReview {
    /// Returns the tasks that wait.
    pub(super) fn tasks(&self) -> Vec<TaskId> {
        self.trees.keys().cloned().collect()
    }

    /// Returns the change of a task, if it waits.
    pub(super) fn change(&self, task: &TaskId) -> Option<&Change> {
        self.changes.get(task)
    }
}

/// Collects the work that a task reviews.
pub(super) async fn collect(
    context: &RunContext,
    state: &RunState,
    record: &TaskRecord,
) -> Result<UnderReview, CoordinatorError> {
    let trees = if record.task.verdict {
        state.work_under_review(&record.task.id)
    } else {
        BTreeMap::new()
    };
    let is_new = record.task.verdict && (record.attempt() == 0 || *record.shown_work() != trees);
    let (mut base, mut changes) = (state.integration.clone(), BTreeMap::new());
    if is_new {
        for reviewed in trees.keys().filter_map(|task| state.task(task)) {
            let Some(work) = reviewed.commit().cloned() else {
                continue;
            };
            let change = match joined(context, state, record, reviewed, [&base, &work]).await? {
                Some(after) => Change {
                    before: std::mem::replace(&mut base, after.clone()),
                    after,
                },
                None => Change {
                    before: reviewed.base().unwrap_or(&state.base).clone(),
                    after: work,
                },
            };
            changes.insert(reviewed.task.id.clone(), change);
        }
    }
    Ok(UnderReview {
        base,
        trees,
        is_new,
        changes,
    })
}

/// Merges work into a commit and keeps the result; `None` if it conflicts.
async fn joined(
    context: &RunContext,
    state: &RunState,
    reviewer: &TaskRecord,
    reviewed: &TaskRecord,
    [onto, work]: [&Oid; 2],
) -> Result<Option<Oid>, CoordinatorError> {
    let seen = state.clone();
    let id = reviewed.task.id.clone();
    let ours = onto.clone();
    let theirs = work.clone();
    let (merged, is_joined) = context
        .git(move |repo| combine(repo, &seen, &id, &ours, &theirs))
        .await?;
    let Merge::Clean { tree } = merged else {
        return Ok(None);
    };
    let mut parents = vec![onto.clone()];
    parents.extend(is_joined.then(|| work.clone()));
    let spec = CommitSpec {
        tree,
        parents,
        message: format!("Show {} to {}", reviewed.task.label(), reviewer.task.id),
        trailers: reviewed.trailers(&context.run),
        by: context.host.identities.clone(),
        time_unix: unix_seconds(),
    };
    let name = format!("{}/review", reviewer.task.id.branch_component());
    keep_commit(&context.host, &context.run, spec, name)
        .await
        .map(Some)
}
