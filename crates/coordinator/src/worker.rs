//! One worker: takes one task from where its facts left it to where somebody else has to act.
//!
//! A worker owns its worktree, its agent and nothing else. It looks at the task's recorded state, does what that state
//! asks for, records what came of it, and looks again; so it does not matter whether the worker is the first one or
//! one that takes over from a dead process.

use std::sync::Arc;
use std::time::Duration;

use orchestrate_core::agent_loop::Finish;
use orchestrate_core::event::{Event, FailureCause, ReturnCause, VerifyScope};
use orchestrate_core::task::Work;
use orchestrate_core::{AgentSpec, Oid, TaskId, TaskRecord, TaskState};
use orchestrate_journal::Blob;
use orchestrate_model::Preferences;

use crate::checks::{Check, CheckResult, run_check};
use crate::driver::{AgentDriver, DriverEnd, LoopDriver, RunDriver, failure_of};
use crate::error::CoordinatorError;
use crate::prompts::{EVIDENCE_BYTES, cut};
use crate::roles::{Delivers, grant};
use crate::run_context::{RunContext, value_blob};
use crate::shutdown::{Shutdown, ShutdownLevel};
use crate::workplace::Workplace;
use crate::worktrees::fail;
use crate::{committing, worktrees};

/// Works on a task until it needs somebody else, waits for a person, has ended, or is interrupted.
pub(crate) async fn work(context: Arc<RunContext>, task: TaskId, shutdown: Shutdown) -> Result<(), CoordinatorError> {
    let limit = context.task(&task)?.task.timeout_ms.map(Duration::from_millis);
    let expired = async {
        match limit {
            Some(limit) => tokio::time::sleep(limit).await,
            None => std::future::pending().await,
        }
    };
    let working = stretch(&context, &task, &shutdown);
    tokio::pin!(working, expired);
    tokio::select! {
        ended = &mut working => return after(&context, &task, &shutdown, ended).await,
        () = &mut expired => shutdown.raise(ShutdownLevel::Stop),
    }
    // The work is interrupted, not dropped: its facts are recorded before the time-out is.
    working.await?;
    let text = format!("the attempt took longer than {} s", limit.unwrap_or_default().as_secs());
    fail(&context, &task, FailureCause::Timeout, text).await
}

/// Turns an error of one task into that task's failure, and a stop of this agent alone into its end.
async fn after(
    context: &RunContext,
    task: &TaskId,
    shutdown: &Shutdown,
    ended: Result<(), CoordinatorError>,
) -> Result<(), CoordinatorError> {
    match ended {
        Ok(()) if shutdown.is_own(ShutdownLevel::Stop) && !context.task(task)?.state.is_settled() => {
            let message = "stopped by request; its worktree and branch are kept".to_owned();
            context.record(vec![Event::TaskCancelled { task: task.clone(), message }]).await
        }
        Err(CoordinatorError::Git(error)) => fail(context, task, FailureCause::Worktree, error.to_string()).await,
        Err(CoordinatorError::Sandbox(error)) => fail(context, task, FailureCause::Internal, error.to_string()).await,
        other => other,
    }
}

/// Does what the task's state asks for, until it asks for nothing that a worker does.
async fn stretch(context: &Arc<RunContext>, task: &TaskId, shutdown: &Shutdown) -> Result<(), CoordinatorError> {
    if context.task(task)?.state == TaskState::Ready {
        spawn(context, task).await?;
    }
    let Some(workplace) = worktrees::prepare(context, task, shutdown).await? else { return Ok(()) };
    loop {
        let record = context.task(task)?;
        let goes_on = match record.state {
            TaskState::Running if !record.prepared => worktrees::write_return(&workplace, &record).await?,
            TaskState::Running => drive(&workplace, &record).await?,
            TaskState::Committed => check_task(&workplace, &record).await?,
            _ => false,
        };
        if !goes_on || shutdown.level() >= ShutdownLevel::Stop {
            return Ok(());
        }
    }
}

/// Records that an attempt begins, with everything that the agent is made from.
async fn spawn(context: &RunContext, task: &TaskId) -> Result<(), CoordinatorError> {
    let (record, state) = (context.task(task)?, context.state());
    let is_command = matches!(record.task.work, Work::Run(_));
    let base = match (&record.base, record.returned) {
        // Work that had been merged goes on from the merged result; other work from where it was left.
        (Some(base), Some(_)) if !is_command && !committing::is_merged(context, &record).await? => base.clone(),
        _ => state.integration.clone(),
    };
    let (agent, model, spec) = match &record.task.work {
        Work::Run(_) => (None, None, None),
        Work::Agent(named) => {
            let role = named.clone().unwrap_or_else(|| state.settings.agent.clone());
            let spec = agent_spec(context, &record.task, &role).await?;
            (Some(role), Some(spec.model.clone()), Some(value_blob(&spec, "agent")?))
        }
    };
    let spawned = Event::AgentSpawned {
        task: task.clone(),
        attempt: record.attempt + 1,
        agent,
        model,
        branch: context.run.task_branch(task),
        base,
        spec: spec.as_ref().map(|blob: &Blob| blob.id().clone()),
    };
    context.journal.append_with_blobs(vec![spawned], spec.into_iter().collect()).await?;
    Ok(())
}

/// Makes what an agent is made from: its role, the project's instructions, its tools and its bounds.
async fn agent_spec(
    context: &RunContext,
    task: &orchestrate_core::Task,
    role_name: &str,
) -> Result<AgentSpec, CoordinatorError> {
    let (role, state) = (context.roles.role(role_name)?, context.state());
    let settings = &state.settings;
    let preferences = Preferences {
        flag: settings.model.clone(),
        plan: task.model.clone().or_else(|| settings.plan_model.clone()),
        role: role.model.clone(),
        project: settings.default_model.clone(),
        user: None,
    };
    let model = context.models.choose(&preferences).await?;
    let details = task.details.join("\n");
    let mut instruction =
        context.prompts.render("task", &[("id", task.id.as_str()), ("title", &task.title), ("details", &details)]);
    if let Some(command) = &task.verify {
        instruction.push_str(&format!("\nThe task is checked with: {command}\n"));
    }
    Ok(AgentSpec {
        task: task.id.clone(),
        model,
        system: context.prompts.system(&role.prompt),
        tools: context.executor.specs(&grant(role)),
        instruction,
        context_tokens: role.context_tokens.map_or(settings.context_tokens, |own| own.min(settings.context_tokens)),
        max_output_tokens: role.max_output_tokens.unwrap_or(settings.max_output_tokens),
        max_turns: task.turns.or(role.max_turns).unwrap_or(settings.max_turns).min(settings.max_turns),
    })
}

/// Drives the agent through one stretch; tells whether there may be more to do.
async fn drive(workplace: &Workplace, record: &TaskRecord) -> Result<bool, CoordinatorError> {
    let mut driver: Box<dyn AgentDriver> = match &record.task.work {
        Work::Run(command) => Box::new(RunDriver { command: command.clone() }),
        Work::Agent(_) => Box::new(LoopDriver::open(workplace).await?),
    };
    match driver.drive(workplace).await? {
        DriverEnd::Parked | DriverEnd::Interrupted => Ok(false),
        DriverEnd::Failed(cause, text) => {
            fail(&workplace.context, &workplace.task, cause, text).await?;
            Ok(false)
        }
        DriverEnd::Finished(finish) => match (failure_of(&finish), finish) {
            (None, Finish::Done(summary)) => hand_over(workplace, record, summary).await,
            (Some((cause, text)), _) => {
                fail(&workplace.context, &workplace.task, cause, text).await?;
                Ok(false)
            }
            (None, _) => Ok(false),
        },
    }
}

/// Makes the finished work the tip of the task's branch, or its report the task's result.
async fn hand_over(workplace: &Workplace, record: &TaskRecord, summary: String) -> Result<bool, CoordinatorError> {
    let context = &workplace.context;
    if let Some(onto) = record.onto.clone() {
        let files = committing::marked_files(workplace, onto).await?;
        if !files.is_empty() {
            return send_back_markers(workplace, record, &files).await;
        }
    }
    if delivers(context, record)? == Delivers::Report {
        let merged =
            Event::TaskMerged { task: workplace.task.clone(), commit: None, target: None, summary: Some(summary) };
        committing::keep_worktree(context, record, &workplace.worktree).await?;
        context.record(vec![merged]).await?;
        return Ok(false);
    }
    let message = format!("{}\n\n{}", record.task.title, summary.trim());
    committing::commit_worktree(workplace, &message).await?;
    let now = context.task(&workplace.task)?;
    // What a person sent back unchanged is not done either.
    let is_as_rejected = record.returned == Some(ReturnCause::Rejected) && now.tip == record.commit;
    if now.tip == now.base || is_as_rejected {
        return no_changes(workplace, record, summary).await;
    }
    let tip = workplace.tip()?;
    let commit = tip.clone();
    let tree = context.git(move |repo| repo.tree_of(&commit)).await?;
    let committed = Event::TaskCommitted { task: workplace.task.clone(), commit: tip, tree, summary };
    context.record(vec![committed]).await?;
    Ok(true)
}

/// A command that changes nothing has done what it should, unless a person has sent back the same; an agent whose role
/// delivers changes has not.
async fn no_changes(workplace: &Workplace, record: &TaskRecord, summary: String) -> Result<bool, CoordinatorError> {
    let (task, said) = (workplace.task.clone(), cut(summary.trim(), EVIDENCE_BYTES));
    let text = match &record.task.work {
        Work::Run(_) if record.returned != Some(ReturnCause::Rejected) => {
            let merged = Event::TaskMerged { task, commit: None, target: None, summary: Some(summary) };
            workplace.context.record(vec![merged]).await?;
            return Ok(false);
        }
        Work::Run(_) => format!("the command did what was rejected once more; it said: {said}"),
        Work::Agent(_) => format!("the agent ended without changing a file; it said: {said}"),
    };
    fail(&workplace.context, &task, FailureCause::NoChanges, text).await?;
    Ok(false)
}

fn delivers(context: &RunContext, record: &TaskRecord) -> Result<Delivers, CoordinatorError> {
    match &record.agent {
        Some(role) => Ok(context.roles.role(role)?.delivers),
        None => Ok(Delivers::Changes),
    }
}

async fn send_back_markers(
    workplace: &Workplace,
    record: &TaskRecord,
    files: &[String],
) -> Result<bool, CoordinatorError> {
    let (context, task) = (&workplace.context, workplace.task.clone());
    if record.rounds >= context.state().settings.merge_rounds {
        let message =
            format!("conflict markers are left in {}; the branch and the worktree are kept", files.join(", "));
        context.record(vec![Event::TaskConflicted { task, message }]).await?;
        return Ok(false);
    }
    let text = context.prompts.render("markers", &[("files", &files.join("\n"))]);
    let returned = |text| Event::TaskReturned { task, cause: ReturnCause::Conflict, text, onto: None };
    context.record_with(Blob::new(text.into_bytes()), returned).await?;
    Ok(true)
}

/// Runs the task's own check; tells whether there is more to do.
async fn check_task(workplace: &Workplace, record: &TaskRecord) -> Result<bool, CoordinatorError> {
    let (context, task) = (&workplace.context, workplace.task.clone());
    let (Some(command), Some(tree)) = (record.task.verify.clone(), record.tree.clone()) else { return Ok(false) };
    let scope = VerifyScope::Task;
    let started = Event::VerifyStarted { task: task.clone(), scope, tree: tree.clone(), command: command.clone() };
    context.record(vec![started]).await?;
    let state = context.state();
    let check = Check {
        command: &command,
        worktree: workplace.worktree.path(),
        view: &workplace.scope.view,
        settings: &state.settings,
    };
    let result = run_check(context, check, &workplace.shutdown).await?;
    if result.cancelled {
        return Ok(false);
    }
    record_check(context, &task, (scope, tree, command.clone()), &result).await?;
    if result.passed {
        return Ok(false);
    }
    after_red_check(workplace, record, &command, &result).await
}

/// Records what a check said, with its output as a blob.
pub(crate) async fn record_check(
    context: &RunContext,
    task: &TaskId,
    (scope, tree, command): (VerifyScope, Oid, String),
    result: &CheckResult,
) -> Result<(), CoordinatorError> {
    let (task, passed, exit, duration_ms) = (task.clone(), result.passed, result.exit.clone(), result.duration_ms);
    let finished = |output| Event::VerifyFinished { task, scope, tree, command, passed, exit, output, duration_ms };
    context.record_with(Blob::new(result.output.clone().into_bytes()), finished).await
}

async fn after_red_check(
    workplace: &Workplace,
    record: &TaskRecord,
    command: &str,
    result: &CheckResult,
) -> Result<bool, CoordinatorError> {
    let context = &workplace.context;
    let can_mend = matches!(record.task.work, Work::Agent(_));
    if !can_mend || record.rounds >= context.state().settings.merge_rounds {
        let text = format!("`{command}` ended with {} after {} returns", result.exit, record.rounds);
        fail(context, &workplace.task, FailureCause::Check, text).await?;
        return Ok(false);
    }
    let output = cut(result.output.trim(), EVIDENCE_BYTES);
    let places = [("exit", result.exit.as_str()), ("command", command), ("output", output.as_str())];
    let text = context.prompts.render("task_check", &places);
    let task = workplace.task.clone();
    let returned = |text| Event::TaskReturned { task, cause: ReturnCause::TaskCheck, text, onto: None };
    context.record_with(Blob::new(text.into_bytes()), returned).await?;
    Ok(true)
}
