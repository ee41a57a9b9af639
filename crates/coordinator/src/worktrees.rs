//! The worktrees of a run: made or taken over, set up once, and kept before anything could lose them.

use std::sync::Arc;

use orchestrate_core::event::{Event, FailureCause};
use orchestrate_core::policy::Policy;
use orchestrate_core::settings::{RuleDecision, RuleText};
use orchestrate_core::{Oid, TaskId, TaskRecord, TaskState};
use orchestrate_git::WorktreeSpec;
use orchestrate_tools::WorktreeScope;

use crate::checks::{Check, run_check};
use crate::committing;
use crate::error::CoordinatorError;
use crate::prompts::{EVIDENCE_BYTES, cut};
use crate::run_context::RunContext;
use crate::shutdown::Shutdown;
use crate::workplace::Workplace;

/// Makes a task's worktree, or takes over what stands under its name; none if its setup failed or was interrupted.
pub(crate) async fn prepare(
    context: &Arc<RunContext>,
    task: &TaskId,
    shutdown: &Shutdown,
) -> Result<Option<Workplace>, CoordinatorError> {
    let record = context.task(task)?;
    let workplace = open(context, &record, shutdown).await?;
    let is_new = !record.prepared && record.onto.is_none() && record.state == TaskState::Running;
    if !is_new {
        return Ok(Some(workplace));
    }
    let worktree = Arc::clone(&workplace.worktree);
    let (tip, branch) = (workplace.tip()?, format!("refs/heads/{}", context.run.task_branch(task)));
    context
        .git(move |repo| {
            // A new attempt may start from another commit than the one before, whose work is kept.
            if let Some(before) = repo.read_ref(&branch)?.filter(|before| *before != tip) {
                repo.restart_worktree(&worktree, &before, &tip)?;
            }
            repo.copy_included(&worktree)
        })
        .await?;
    if !set_up(&workplace).await? {
        return Ok(None);
    }
    context.record(vec![Event::WorktreePrepared { task: task.clone() }]).await?;
    Ok(Some(workplace))
}

/// Opens the worktree of a task that has been spawned; a directory that was deleted by hand is made again.
pub(crate) async fn open(
    context: &Arc<RunContext>,
    record: &TaskRecord,
    shutdown: &Shutdown,
) -> Result<Workplace, CoordinatorError> {
    let task = record.task.id.clone();
    let unknown = || CoordinatorError::UnknownTask { run: context.run.clone(), task: task.clone() };
    let tip = record.tip.clone().ok_or_else(unknown)?;
    let spec = worktree_spec(context, &task, tip);
    let worktree = context.git(move |repo| repo.add_worktree(&spec)).await?;
    let root = worktree.root().try_clone_to_owned();
    let root = root.map_err(|source| CoordinatorError::Io { path: worktree.path().to_owned(), source })?;
    let scope = WorktreeScope { path: worktree.path().to_owned(), root: Arc::new(root), view: worktree.view() };
    let policy = Policy::new(&rules(context, record)?).map_err(|errors| {
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        CoordinatorError::Plan(texts.join("; "))
    })?;
    Ok(Workplace {
        context: Arc::clone(context),
        task,
        attempt: record.attempt,
        worktree: Arc::new(worktree),
        scope: Arc::new(scope),
        policy: Arc::new(policy),
        shutdown: shutdown.clone(),
    })
}

/// Runs the project's setup command; tells whether the agent can begin.
async fn set_up(workplace: &Workplace) -> Result<bool, CoordinatorError> {
    let (context, state) = (&workplace.context, workplace.context.state());
    let Some(command) = &state.settings.worktree_setup else { return Ok(true) };
    let check =
        Check { command, worktree: workplace.worktree.path(), view: &workplace.scope.view, settings: &state.settings };
    let result = run_check(context, check, &workplace.shutdown).await?;
    if !result.passed && !result.cancelled {
        let output = cut(result.output.trim(), EVIDENCE_BYTES);
        let text = format!("the worktree's setup `{command}` ended with {}\n{output}", result.exit);
        fail(context, &workplace.task, FailureCause::Setup, text).await?;
    }
    Ok(result.passed)
}

/// Merges what work was returned onto into the author's worktree, conflict markers included; always goes on.
///
/// The worktree is put back to the branch's tip first, so doing it twice does no harm: nothing has been edited since
/// the work was handed over, or the return would have been recorded as prepared.
pub(crate) async fn write_return(workplace: &Workplace, record: &TaskRecord) -> Result<bool, CoordinatorError> {
    let (context, tip) = (&workplace.context, workplace.tip()?);
    if let Some(onto) = record.onto.clone() {
        let worktree = Arc::clone(&workplace.worktree);
        let anchor = committing::conflict_anchor(context, &workplace.task);
        context
            .git(move |repo| {
                repo.restart_worktree(&worktree, &tip, &tip)?;
                repo.write_conflict(&worktree, &onto, &tip, &anchor)
            })
            .await?;
    }
    context.record(vec![Event::WorktreePrepared { task: workplace.task.clone() }]).await?;
    Ok(true)
}

/// Keeps what a task's worktree holds, if it has one.
pub(crate) async fn keep(context: &RunContext, task: &TaskId) -> Result<(), CoordinatorError> {
    let record = context.task(task)?;
    let (Some(tip), true) = (record.tip.clone(), context.layout.worktree(&context.run, task).exists()) else {
        return Ok(());
    };
    let spec = worktree_spec(context, task, tip);
    let worktree = context.git(move |repo| repo.add_worktree(&spec)).await?;
    committing::keep_worktree(context, &record, &Arc::new(worktree)).await
}

/// Ends a task without success; what its worktree holds is kept first.
pub(crate) async fn fail(
    context: &RunContext,
    task: &TaskId,
    cause: FailureCause,
    message: String,
) -> Result<(), CoordinatorError> {
    if let Err(error) = keep(context, task).await {
        // The worktree itself is never removed without a snapshot, so nothing is lost; the failure still stands.
        tracing::warn!(%task, %error, "could not snapshot the worktree of a task that failed");
    }
    let record = context.task(task)?;
    if record.state.is_settled() {
        return Ok(());
    }
    // Whoever was denied and could not ask anybody fails for that reason, unless a limit ended it.
    let limit =
        matches!(cause, FailureCause::Turns | FailureCause::Budget | FailureCause::Timeout | FailureCause::Context);
    let denied = record.denied && !context.state().settings.ask_parks && !limit;
    let cause = if denied { FailureCause::Denied } else { cause };
    context.record(vec![Event::TaskFailed { task: task.clone(), cause, message }]).await
}

/// The run's rules, and those of the role that narrow them.
fn rules(context: &RunContext, record: &TaskRecord) -> Result<Vec<RuleText>, CoordinatorError> {
    let mut rules = context.state().settings.rules.clone();
    if let Some(role) = &record.agent {
        let own = context.roles.role(role)?.rules.iter();
        rules.extend(own.filter(|rule| rule.decision != RuleDecision::Allow).cloned());
    }
    Ok(rules)
}

fn worktree_spec(context: &RunContext, task: &TaskId, base: Oid) -> WorktreeSpec {
    WorktreeSpec {
        path: context.layout.worktree(&context.run, task),
        branch: Some(context.run.task_branch(task)),
        base,
        lock_reason: format!("orchestrate {} pid {}", context.run, std::process::id()),
    }
}
