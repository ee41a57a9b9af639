//! Carries out what [`orchestrate_core::MergeQueue`] decides, one step at a time.
//!
//! A candidate is merged without a checkout, its exact tree is checked in the persistent verifier
//! worktree, and only then the branch moves there by compare-and-swap: everything in the
//! integration branch was tested in exactly this form, and so was all work of others in an agent's
//! branch.

use orchestrate_checks::{Shutdown, Verification};
use orchestrate_core::event::{Event, VerifyScope};
use orchestrate_core::task::ReturnCause;
use orchestrate_core::{MergeStep, MergeTarget, Oid, RunState, TaskId};
use orchestrate_git::{CommitSpec, GitError, Merge, Repo};
use orchestrate_journal::{Batch, unix_seconds};

use crate::error::CoordinatorError;
use crate::merge::exact_tree::{Checked, ExactTree};
use crate::merge::{exact_tree, integration_branch, return_to_agent};
use crate::run::context::RunContext;
use crate::worktree::git_tools::commit::keep_commit;
use crate::worktree::worktrees;

/// Carries out one step and records its outcome.
pub(crate) async fn carry_out(
    context: &RunContext,
    step: MergeStep,
    shutdown: &Shutdown,
) -> Result<(), CoordinatorError> {
    let decided = step.clone();
    match step {
        MergeStep::Merge {
            task,
            into,
            target,
            candidate,
        } => {
            merge(
                context,
                Attempted {
                    task,
                    into,
                    target,
                    candidate,
                },
            )
            .await
        }
        MergeStep::Verify {
            task,
            commit,
            tree,
            command,
        } => {
            verify(
                context,
                commit,
                Verification {
                    task,
                    scope: VerifyScope::Run,
                    tree,
                    command,
                },
                shutdown,
            )
            .await
        }
        MergeStep::VerifyTarget {
            task,
            commit,
            command,
        } => {
            let of = commit.clone();
            let tree = context.git(move |repo| repo.tree_of(&of)).await?;
            verify(
                context,
                commit,
                Verification {
                    task,
                    scope: VerifyScope::Target,
                    tree,
                    command,
                },
                shutdown,
            )
            .await
        }
        MergeStep::Advance {
            task,
            into,
            commit,
            target,
        } => {
            record_if_next(context, decided, move |state| {
                merged(state, task, commit, target)
            })
            .await?;
            settle(context, &into).await
        }
        MergeStep::Return {
            task,
            cause,
            onto,
            evidence,
        } => {
            let returned = return_to_agent::returned(context, task, cause, onto, &evidence).await?;
            record_if_next(context, decided, |_| returned).await
        }
        MergeStep::GiveUp {
            task,
            cause,
            end,
            evidence,
        } => {
            let ended = return_to_agent::given_up(context, task, cause, end, &evidence).await?;
            record_if_next(context, decided, |_| ended.into()).await
        }
    }
}

/// Records the outcome of a step, if it is still the next one in the newest state: it was decided
/// on an older one.
async fn record_if_next(
    context: &RunContext,
    step: MergeStep,
    facts: impl FnOnce(&RunState) -> Batch + Send + 'static,
) -> Result<(), CoordinatorError> {
    let decided = move |state: &RunState| {
        if state.next_merge() == Some(step) {
            facts(state)
        } else {
            Batch::default()
        }
    };
    context.decide(decided).await
}

/// A merge that is attempted.
#[derive(Clone)]
struct Attempted {
    task: TaskId,
    into: MergeTarget,
    /// The tip of the branch that the work is merged into.
    target: Oid,
    candidate: Oid,
}

async fn merge(context: &RunContext, attempted: Attempted) -> Result<(), CoordinatorError> {
    let Attempted {
        task,
        into,
        target,
        candidate,
    } = attempted.clone();
    let step = MergeStep::Merge {
        task: task.clone(),
        into: into.clone(),
        target: target.clone(),
        candidate: candidate.clone(),
    };
    let started = Event::MergeStarted {
        task,
        into,
        target,
        candidate,
    };
    // The user may have returned the work since; a merge that a dead process had begun continues.
    let begin = |state: &RunState| {
        let is_new = state.merges.current().is_none();
        Batch::from(is_new.then_some(started).into_iter().collect::<Vec<_>>())
    };
    record_if_next(context, step.clone(), begin).await?;
    if context.state().merges.current() != Some(&attempted.task) {
        return Ok(());
    }
    let (state, of) = (context.state(), attempted.clone());
    let combined = context.git(move |repo| match &of.into {
        MergeTarget::Integration => combine(repo, &state, &of.task, &of.target, &of.candidate),
        // No drop replaces what is in an agent's branch.
        MergeTarget::Agent(_) => Ok((repo.merging().merge(&of.target, &of.candidate)?, true)),
    });
    let (merged, is_joined) = combined.await?;
    let Attempted {
        task,
        target,
        candidate,
        ..
    } = attempted;
    let outcome = match merged {
        Merge::Conflict { files, .. } => {
            let files = files.iter().map(ToString::to_string).collect();
            Event::MergeConflicted { task, files }
        }
        Merge::Clean { tree } => {
            let parents = if is_joined {
                vec![target, candidate]
            } else {
                vec![target]
            };
            let commit = commit_merge(context, &task, tree.clone(), parents).await?;
            Event::MergePrepared { task, commit, tree }
        }
    };
    conclude(context, step, outcome).await
}

/// Merges a candidate, and reports whether its history joins the result's.
pub(crate) fn combine(
    repo: &Repo,
    state: &RunState,
    task: &TaskId,
    target: &Oid,
    candidate: &Oid,
) -> Result<(Merge, bool), GitError> {
    Ok(match replaced_base(repo, state, task, target, candidate)? {
        Some(base) => (repo.merging().apply(&base, target, candidate)?, false),
        None => (repo.merging().merge(target, candidate)?, true),
    })
}

/// Returns the commit that a candidate was built on, if the result has replaced it in a drop of
/// tasks: only what has changed since is taken, because the rest contains the dropped work.
fn replaced_base(
    repo: &Repo,
    state: &RunState,
    task: &TaskId,
    target: &Oid,
    candidate: &Oid,
) -> Result<Option<Oid>, GitError> {
    let is_base = |commit: &Oid| -> Result<bool, GitError> {
        Ok(repo.contains(candidate, commit)? && !repo.contains(target, commit)?)
    };
    // The result may contain the task's earlier work without its history.
    if let Some(earlier) = state.task(task).and_then(|record| record.merged().last())
        && is_base(&earlier.work)?
    {
        return Ok(Some(earlier.work.clone()));
    }
    for replaced in state.replaced.iter().rev() {
        for merge in repo
            .store()
            .first_parents(&state.base, replaced)?
            .into_iter()
            .rev()
        {
            if is_base(&merge.id)? {
                return Ok(Some(merge.id));
            }
        }
    }
    Ok(None)
}

/// Records the outcome of a merge, together with the advance of the branch if nothing else has to
/// be done before.
async fn conclude(
    context: &RunContext,
    step: MergeStep,
    outcome: Event,
) -> Result<(), CoordinatorError> {
    let facts = move |state: &RunState| match state.next_merge_after(&outcome) {
        Some(MergeStep::Advance {
            task,
            commit,
            target,
            ..
        }) => {
            let mut batch = merged(state, task, commit, target);
            batch.events.insert(0, outcome);
            batch
        }
        _ => Batch::from(vec![outcome]),
    };
    let into = context.state().merges.target().cloned();
    record_if_next(context, step, facts).await?;
    match into.filter(|_| context.state().merges.current().is_none()) {
        Some(into) => settle(context, &into).await,
        None => Ok(()),
    }
}

/// Moves a branch to its recorded position after a merge. The files of an agent's worktree follow
/// once its worker begins again.
async fn settle(context: &RunContext, into: &MergeTarget) -> Result<(), CoordinatorError> {
    match into {
        MergeTarget::Integration => integration_branch::settle(context).await,
        MergeTarget::Agent(agent) => {
            let record = context.task(agent)?;
            let (Some(branch), Some(tip)) = (record.branch(), record.tip()) else {
                return Ok(());
            };
            worktrees::settle_branch(context, agent, branch.to_owned(), tip.clone()).await
        }
    }
}

/// Returns the event of a merge, and the one that returns what the user has not taken of the work
/// to its agent.
fn merged(state: &RunState, task: TaskId, commit: Oid, target: Oid) -> Batch {
    let rest = state.task(&task).and_then(|record| record.rest().cloned());
    let merged = Event::TaskMerged {
        task: task.clone(),
        commit: Some(commit),
        target: Some(target),
        summary: None,
    };
    let returned = rest.map(|text| Event::TaskReturned {
        task,
        cause: ReturnCause::Rest,
        text,
        onto: None,
    });
    Batch::from(std::iter::once(merged).chain(returned).collect::<Vec<_>>())
}

/// Creates the merge commit and the ref that holds it.
async fn commit_merge(
    context: &RunContext,
    task: &TaskId,
    tree: Oid,
    parents: Vec<Oid>,
) -> Result<Oid, CoordinatorError> {
    let record = context.task(task)?;
    let spec = CommitSpec {
        tree,
        parents,
        message: format!("Merge {}", record.task.label()),
        trailers: record.trailers(&context.run),
        by: context.host.identities.clone(),
        time_unix: unix_seconds(),
    };
    let name = format!("{}/merge", task.branch_component());
    keep_commit(&context.host, &context.run, spec, name).await
}

async fn verify(
    context: &RunContext,
    commit: Oid,
    verification: Verification,
    shutdown: &Shutdown,
) -> Result<(), CoordinatorError> {
    context.record(vec![verification.started()]).await?;
    let of = ExactTree {
        commit,
        tree: verification.tree.clone(),
    };
    let Some(Checked { result, .. }) =
        exact_tree::check(context, of, &verification.command, shutdown).await?
    else {
        return Ok(());
    };
    let output = result.output.clone().into_bytes();
    context
        .record_with(output, |output| verification.finished(&result, output))
        .await
}
