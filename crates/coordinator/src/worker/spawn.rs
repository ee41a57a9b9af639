//! Assigns tasks to workers: records the start of an attempt, and collects the worker's input.

use std::sync::Arc;

use orchestrate_core::event::Event;
use orchestrate_core::git_path::text;
use orchestrate_core::invisible::shown;
use orchestrate_core::policy::Grant;
use orchestrate_core::settings::{RuleDecision, RuleText};
use orchestrate_core::task::Work;
use orchestrate_core::{AgentSpec, RunState, Task, TaskId, TaskRecord, WorkStep};
use orchestrate_git::Repo;
use orchestrate_journal::{Batch, Blob};
use orchestrate_plan::role::{Delivers, Role};

use crate::error::CoordinatorError;
use crate::run::assignment::{AssignedRole, Assignment, WorkLimits};
use crate::run::codec::value_bytes;
use crate::run::context::{RunContext, blocking};
use crate::run::shutdown::Shutdown;
use crate::texts::models::preferences;
use crate::texts::project_texts;
use crate::texts::task_message::{self, Delivery, Sources};
use crate::worker::link::WorkerLink;
use crate::worker::work;
use crate::worktree::commit;

/// The tool that is offered only where there are skills.
const READ_SKILL: &str = "read_skill";

/// Runs a worker for a task until the worker ends.
pub(crate) async fn start(context: Arc<RunContext>, task: TaskId, shutdown: Shutdown) -> Result<(), CoordinatorError> {
    let link = WorkerLink::new(&context, &task);
    match assign(&context, &task).await {
        Ok(Some(assignment)) => work::work(assignment, link, Arc::clone(&context.host), shutdown).await,
        Ok(None) => Ok(()),
        Err(error) => link.contain(error).await,
    }
}

/// Creates the assignment of a task, starting its next attempt if it is ready; returns `None` if there is nothing to
/// do.
async fn assign(context: &RunContext, task: &TaskId) -> Result<Option<Assignment>, CoordinatorError> {
    if matches!(context.task(task)?.next_work(), Some(WorkStep::Begin { .. })) {
        spawn(context, task).await?;
    }
    let (record, state) = (context.task(task)?, context.state());
    if record.next_work().is_none() {
        return Ok(None);
    }
    let settings = &state.settings;
    let named = record.agent().map(|name| context.roles.role(name)).transpose()?;
    let role = match (named, record.spec()) {
        (Some(role), Some(spec)) => Some(AssignedRole {
            delivers: role.delivers,
            grant: role.grant(),
            spec: context.blob_value(spec, "agent")?,
        }),
        _ => None,
    };
    let timeout = record.task.timeout_ms;
    Ok(Some(Assignment {
        run: context.run.clone(),
        agent: task.clone(),
        attempt: record.attempt(),
        repository: context.repo.id(),
        base: record.base().unwrap_or(&state.base).clone(),
        task: record.task,
        role,
        rules: rules(&settings.rules, named),
        setup: settings.worktree_setup.clone(),
        limits: WorkLimits {
            command_timeout_ms: timeout.unwrap_or(settings.command_timeout_ms),
            merge_rounds: settings.merge_rounds,
            ask_parks: settings.ask_parks,
        },
        prompts: context.prompts.clone(),
    }))
}

/// Returns the run's rules and those of the role, which narrow them.
fn rules(of_run: &[RuleText], role: Option<&Role>) -> Vec<RuleText> {
    let own = role.into_iter().flat_map(|role| &role.rules);
    of_run.iter().chain(own.filter(|rule| rule.decision != RuleDecision::Allow)).cloned().collect()
}

/// Records the start of an attempt, with the agent's specification.
async fn spawn(context: &RunContext, task: &TaskId) -> Result<(), CoordinatorError> {
    let (record, state) = (context.task(task)?, context.state());
    let base = match record.base() {
        // Merged work continues from the merged result; other work from where it was left.
        Some(base) if record.returns() > 0 && !record.is_command() && !commit::is_merged(context, &record).await? => {
            base.clone()
        }
        _ => state.integration.clone(),
    };
    let (agent, model, spec) = match &record.task.work {
        Work::Run(_) => (None, None, None),
        Work::Agent(named) => {
            let role = named.clone().unwrap_or_else(|| state.settings.agent.clone());
            let spec = agent_spec(context, &record, &role).await?;
            (Some(role), Some(spec.model.clone()), Some(Blob::new(value_bytes(&spec, "agent")?)))
        }
    };
    let (id, attempt) = (task.clone(), record.attempt() + 1);
    let spawned = Event::AgentSpawned {
        task: task.clone(),
        attempt,
        agent,
        model,
        branch: context.run.task_branch(task),
        base,
        spec: spec.as_ref().map(|blob| blob.id().clone()),
    };
    let batch = Batch { events: vec![spawned], blobs: spec.into_iter().collect(), ..Batch::default() };
    // Choosing a model may take a while, and the task may have been cancelled since.
    let decided = move |state: &RunState| {
        let is_next = |record: &TaskRecord| record.next_work() == Some(WorkStep::Begin { attempt });
        if state.task(&id).is_some_and(is_next) { batch } else { Batch::default() }
    };
    context.decide(decided).await
}

/// Creates an agent's specification: its system text, its first message, its tools and its limits.
async fn agent_spec(context: &RunContext, record: &TaskRecord, role_name: &str) -> Result<AgentSpec, CoordinatorError> {
    let (task, role, state) = (&record.task, context.roles.role(role_name)?, context.state());
    let settings = &state.settings;
    let context_tokens = role.context_tokens.map_or(settings.context_tokens, |own| own.min(settings.context_tokens));
    let reads_only = role.delivers == Delivers::Report;
    let instruction = instruction(context, task, reads_only, task_message::bound(context_tokens)).await?;
    let mut grant = role.grant();
    if context.skills.is_empty() {
        grant.tools.remove(READ_SKILL);
    }
    Ok(AgentSpec {
        task: task.id.clone(),
        model: context.host.models.choose(&preferences(settings, task, role)).await?,
        system: context.host.redactor.owned(system(context, task, &role.prompt, &grant, context_tokens).await?),
        tools: context.host.executor.specs(&grant),
        instruction: context.host.redactor.owned(instruction),
        context_tokens,
        max_output_tokens: role.max_output_tokens.unwrap_or(settings.max_output_tokens),
        max_turns: task.turns.or(role.max_turns).unwrap_or(settings.max_turns).min(settings.max_turns),
    })
}

/// Composes the agent's system text: its role, the instructions that apply to its files, and the list of skills.
async fn system(
    context: &RunContext,
    task: &Task,
    role_prompt: &str,
    grant: &Grant,
    context_tokens: u64,
) -> Result<String, CoordinatorError> {
    let (repo, base, files) = (context.repo.clone(), context.state().base.clone(), task.files.clone());
    let read = move || project_texts::instructions(&repo, &base, &files);
    let instructions = blocking("a reader of instructions", read).await?;
    let may_read = grant.tools.contains(READ_SKILL);
    let skills = if may_read { context.skills.list(context_tokens) } else { String::new() };
    Ok(format!("{}{}{skills}", context.prompts.system(role_prompt), instructions.render()))
}

/// Composes the agent's first message from the task, the plan's prose and the work of its dependencies.
async fn instruction(
    context: &RunContext,
    task: &Task,
    reads_only: bool,
    bound: usize,
) -> Result<String, CoordinatorError> {
    let state = context.state();
    let notes = match &state.plan_source {
        Some(plan) => orchestrate_plan::notes(&context.blob_text(plan.clone()).await?),
        None => Vec::new(),
    };
    let mut deliveries = Vec::new();
    for dependency in &task.depends {
        deliveries.extend(delivery(context, &state, dependency, reads_only).await?);
    }
    let details = task.details.join("\n");
    let places = [("id", task.id.as_str()), ("title", &task.title), ("details", &details)];
    let task_text = context.prompts.render("task", &places);
    let sources = Sources { task_text, task, state: &state, notes: &notes, deliveries };
    Ok(task_message::compose(&sources, bound))
}

/// Returns what a dependency has delivered; `None` if it was done before the run.
async fn delivery(
    context: &RunContext,
    state: &RunState,
    dependency: &TaskId,
    with_diff: bool,
) -> Result<Option<Delivery>, CoordinatorError> {
    let Some(record) = state.task(dependency).filter(|record| !record.was_done()) else { return Ok(None) };
    let (task, label, summary) = (dependency.clone(), record.task.label(), record.summary().to_owned());
    let mut delivery = Delivery { task, label, summary, ..Delivery::default() };
    let Some(merged) = record.merged().last() else { return Ok(Some(delivery)) };
    let commit = merged.commit.clone();
    delivery.commit = Some(commit.clone());
    let read = move |repo: &Repo| {
        let Some(before) = repo.store().commit_info(&commit)?.parents.into_iter().next() else {
            return Ok((Vec::new(), None));
        };
        let files = repo.store().changed_paths(&before, &commit)?.iter().map(|path| shown(&text(path))).collect();
        let diff = if with_diff { Some(repo.store().diff_text(&before, &commit)?) } else { None };
        Ok((files, diff))
    };
    (delivery.files, delivery.diff) = context.git(read).await?;
    Ok(Some(delivery))
}
