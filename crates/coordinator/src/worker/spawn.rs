//! Assigns tasks to workers: records the start of an attempt, and collects the worker's input.

use std::sync::Arc;

use orchestrate_checks::{Preparation, Shutdown, blocking};
use orchestrate_core::event::Event;
use orchestrate_core::policy::{Grant, Policy};
use orchestrate_core::secrecy::taint::{CommandNetwork, Means};
use orchestrate_core::task::{FailureCause, ReturnCause, Work};
use orchestrate_core::text::git_path::text;
use orchestrate_core::text::invisible::shown;
use orchestrate_core::{
    AgentSpec, Authority, Fallback, RunState, Sending, Task, TaskId, TaskRecord, ToolSettings,
    WorkStep,
};
use orchestrate_git::Repo;
use orchestrate_journal::{Batch, Blob};
use orchestrate_plan::KnownNames;
use orchestrate_roles::Role;
use orchestrate_sandbox::Confinement;

use crate::error::CoordinatorError;
use crate::link::requests::ReachLimit;
use crate::run::assignment::{AssignedRole, Assignment, WorkLimits};
use crate::run::authority::{self, READ_SKILL};
use crate::run::codec::value_bytes;
use crate::run::context::RunContext;
use crate::texts::models::{fallbacks, preferences};
use crate::texts::project_texts;
use crate::texts::task_message::{self, Bound, Delivery, Given, Sources};
use crate::worker::link_server::LinkServer;
use crate::worker::under_review::{self, UnderReview};
use crate::worker::{agent_map, failing, room, work};

/// The tool that shows the plan.
const READ_PLAN: &str = "read_plan";

/// Runs a worker for a task until the worker ends.
pub(crate) async fn start(
    context: Arc<RunContext>,
    task: TaskId,
    shutdown: Shutdown,
) -> Result<(), CoordinatorError> {
    let server = LinkServer::new(&context, &task);
    let link = server.link();
    room::require(&context, &task).await?;
    let ended = match assign(&context, &task).await {
        Ok(Some(assignment)) => {
            work::work(assignment, link, Arc::clone(&context.host), shutdown).await
        }
        Ok(None) => Ok(()),
        Err(error) => failing::contain(&context.host, &link, error).await,
    };
    server.ended(ended)
}

/// Lets the agent of a task for which the run has no time left make its last report; the task has
/// failed then.
pub(crate) async fn report_out_of_time(
    context: Arc<RunContext>,
    task: TaskId,
    why: String,
    shutdown: Shutdown,
) -> Result<(), CoordinatorError> {
    let server = LinkServer::new(&context, &task);
    let link = server.link();
    let reported = async {
        link.ask(ReachLimit {
            cause: FailureCause::Timeout,
            message: why.clone(),
        })
        .await?;
        if link.task().await?.reached_limit().is_none() {
            return Ok(());
        }
        match assign(&context, &task).await? {
            Some(assignment) => {
                work::report_out_of_time(
                    assignment,
                    &link,
                    Arc::clone(&context.host),
                    shutdown,
                    &why,
                )
                .await
            }
            None => Ok(()),
        }
    };
    server.ended(reported.await)
}

/// Creates the assignment of a task, starting its next attempt if it is ready; returns `None` if
/// there is nothing to do.
async fn assign(
    context: &RunContext,
    task: &TaskId,
) -> Result<Option<Assignment>, CoordinatorError> {
    if matches!(
        context.task(task)?.next_work(),
        Some(WorkStep::Begin { .. })
    ) {
        spawn(context, task).await?;
    }
    let (record, state) = (context.task(task)?, context.state());
    if matches!(record.next_work(), None | Some(WorkStep::Begin { .. })) {
        return Ok(None);
    }
    let settings = &state.settings;
    let named = record
        .agent()
        .map(|name| context.roles.role(name))
        .transpose()?;
    let authority = named.map(|role| authority::of_agent(context, &state, &record, role));
    let role = match (named, &authority, record.spec()) {
        (Some(role), Some(authority), Some(spec)) => Some(AssignedRole {
            delivers: role.delivers,
            may_do_nothing: role.may_do_nothing,
            grant: authority.grant.clone(),
            strict_hand_back: role.strict_hand_back,
            spec: context.agent_spec(spec)?,
        }),
        _ => None,
    };
    let rules = authority
        .as_ref()
        .map(|authority| authority.rules_within(&settings.rules));
    let timeout = record.task.timeout_ms;
    Ok(Some(Assignment {
        run: context.run.clone(),
        agent: task.clone(),
        attempt: record.attempt(),
        repository: context.host.site.repo.id(),
        base: record.base().unwrap_or(&state.base).clone(),
        task: record.task,
        role,
        tools: settings.tools.clone(),
        rules: rules.unwrap_or_else(|| settings.rules.clone()),
        preparation: Preparation::for_run(&state),
        tool_settings: within(&settings.tool_settings, authority),
        limits: WorkLimits {
            command_timeout_ms: timeout.unwrap_or(settings.command_timeout_ms),
            merge_rounds: settings.merge_rounds,
            outage_patience_ms: settings.outage_patience_ms,
            ask_parks: settings.ask_parks,
        },
        prompts: context.prompts.clone(),
    }))
}

/// Returns what the tools of an agent may do.
fn within(settings: &ToolSettings, authority: Option<Authority>) -> ToolSettings {
    let mut settings = settings.clone();
    if let Some(authority) = authority {
        settings.web_requests.allowed_domains = authority.domains;
    }
    settings
}

/// Records the start of an attempt, with the agent's specification.
async fn spawn(context: &RunContext, task: &TaskId) -> Result<(), CoordinatorError> {
    let (record, state) = (context.task(task)?, context.state());
    let review = under_review::collect(context, &state, &record).await?;
    let base = match record.base() {
        _ if review.is_new => review.base.clone(),
        // Merged work continues from the merged result; other work from where it was left.
        Some(base)
            if record.returns() > 0
                && !record.is_command()
                && !is_merged(context, &record).await? =>
        {
            base.clone()
        }
        // A child begins with its parent's work so far, which need not be merged.
        _ => record
            .first_base()
            .unwrap_or_else(|| state.target_tip(&record))
            .clone(),
    };
    let (agent, model, spec, sends) = match &record.task.work {
        Work::Run(_) => (None, None, None, None),
        Work::Agent(named) => {
            let role = named
                .clone()
                .unwrap_or_else(|| state.settings.agent.clone());
            // What its map needs is made while its worktree is.
            agent_map::prepare_for(context, context.roles.role(&role)?, &record, &base)?;
            let spec = agent_spec(context, &role, &record, &review).await?;
            let sends = sending(context, &record, &role, &spec)?;
            (
                Some(role),
                Some(spec.model.clone()),
                Some(Blob::new(value_bytes(&spec, "agent")?)),
                sends,
            )
        }
    };
    let (id, attempt) = (task.clone(), record.attempt() + 1);
    let news = new_work(context, &record, &review)
        .await?
        .map(|text| Blob::new(text.into_bytes()));
    let spawned = Event::AgentSpawned {
        task: task.clone(),
        attempt,
        agent,
        model,
        branch: context.run.task_branch(task),
        base,
        spec: spec.as_ref().map(|blob| blob.id().clone()),
        sends,
    };
    let returned = news.as_ref().map(|text| {
        let (task, text) = (task.clone(), text.id().clone());
        Event::TaskReturned {
            task,
            cause: ReturnCause::NewWork,
            text,
            onto: None,
        }
    });
    let events = std::iter::once(spawned).chain(returned).collect();
    let batch = Batch {
        events,
        blobs: spec.into_iter().chain(news).collect(),
        ..Batch::default()
    };
    // Choosing a model may take a while, and the task may have been cancelled since.
    let decided = move |state: &RunState| {
        let is_next = |record: &TaskRecord| record.next_work() == Some(WorkStep::Begin { attempt });
        let is_current = state.work_under_review(&id) == review.trees;
        if is_current && state.task(&id).is_some_and(is_next) {
            batch
        } else {
            Batch::default()
        }
    };
    context.decide(decided).await
}

/// Reports whether the branch that a task is merged into contains its commit; always false without
/// a commit.
async fn is_merged(context: &RunContext, record: &TaskRecord) -> Result<bool, CoordinatorError> {
    let own = record
        .tip()
        .cloned()
        .filter(|tip| record.base() != Some(tip));
    let (Some(tip), target) = (own, context.state().target_tip(record).clone()) else {
        return Ok(false);
    };
    context.git(move |repo| repo.contains(&target, &tip)).await
}

/// Creates an agent's specification: its system text, its first message, its tools and its limits.
async fn agent_spec(
    context: &RunContext,
    role_name: &str,
    record: &TaskRecord,
    review: &UnderReview,
) -> Result<AgentSpec, CoordinatorError> {
    let task = &record.task;
    let role = context.roles.role(role_name)?;
    let state = context.state();
    let settings = &state.settings;
    let model = context
        .host
        .models
        .choose(&preferences(settings, task, role))
        .await?;
    let fallback_names = fallbacks(settings, role, &model);
    for name in fallback_names.iter().copied().chain([model.as_str()]) {
        context.host.models.require_allowed(name, settings)?;
    }
    let authority = authority::of_agent(context, &state, record, role);
    let limits = authority.limits;
    let context_tokens_of = |model: &str| {
        let of_model = context
            .host
            .models
            .request_window(model, limits.max_output_tokens);
        let of_agent = settings
            .token_limit_of(task, Some(model))
            .min(limits.context_tokens);
        of_agent.min(of_model.unwrap_or(u64::MAX))
    };
    let fallback = |name: &str| Fallback {
        model: name.to_owned(),
        context_tokens: context_tokens_of(name),
    };
    let context_tokens = context_tokens_of(&model);
    let diffs = role.delivers.is_report().then_some(review);
    let bound = Bound::new(context_tokens, authority.grant.tools.contains(READ_PLAN));
    let instruction = instruction(context, record, diffs, bound).await?;
    // What its parent may not do, a child may not either; a plan may let a task take more turns
    // than its role.
    let most_turns = if record.parent.is_some() {
        limits.max_turns
    } else {
        settings.max_turns
    };
    Ok(AgentSpec {
        task: task.id.clone(),
        fallbacks: fallback_names.into_iter().map(fallback).collect(),
        model,
        system: context
            .host
            .site
            .redactor
            .owned(system(context, task, role, &authority.grant, context_tokens).await?),
        tools: context.host.executor.specs(&authority.grant).into(),
        instruction: context.host.site.redactor.owned(instruction),
        context_tokens,
        max_output_tokens: limits.max_output_tokens,
        max_turns: task.turns.unwrap_or(limits.max_turns).min(most_turns),
        answers: task.answers.clone(),
        refuses_repeats: true,
    })
}

/// Returns how an agent of this role, with the tools of its specification, could send data out.
fn sending(
    context: &RunContext,
    record: &TaskRecord,
    role_name: &str,
    spec: &AgentSpec,
) -> Result<Option<Sending>, CoordinatorError> {
    let (role, state) = (context.roles.role(role_name)?, context.state());
    let settings = &state.settings;
    let authority = authority::of_agent(context, &state, record, role);
    let rules = authority.rules_within(&settings.rules);
    let policy = Policy::new(&rules, &settings.tools).map_err(CoordinatorError::Rules)?;
    let grant = authority.grant.clone();
    let tools = within(&settings.tool_settings, Some(authority));
    let policy = policy.limited(
        &tools,
        &context.host.path_seen(&context.run, &record.task.id),
    );
    let commands = match context.host.site.sandbox.confinement() {
        Confinement::Unconfined => CommandNetwork::Unlimited,
        Confinement::Full | Confinement::Fallback
            if context.host.site.sandbox.require_egress().is_ok() =>
        {
            CommandNetwork::Proxied
        }
        Confinement::Full | Confinement::Fallback => CommandNetwork::Absent,
    };
    let (grant, policy, web) = (&grant, &policy, &tools.web_requests);
    Ok(Means {
        tools: &spec.tools,
        grant,
        policy,
        web,
        commands,
        settings,
    }
    .sending())
}

/// Composes the agent's system text: its role, the instructions that apply to its files, and the
/// list of skills.
async fn system(
    context: &RunContext,
    task: &Task,
    role: &Role,
    grant: &Grant,
    context_tokens: u64,
) -> Result<String, CoordinatorError> {
    let repo = context.host.site.repo.clone();
    let base = context.state().base.clone();
    let files = task.files.clone();
    let read = move || project_texts::instructions(&repo, &base, &files);
    let instructions = blocking("a reader of instructions", read).await?;
    let may_read = grant.tools.contains(READ_SKILL);
    let skills = if may_read {
        context.skills.list(context_tokens)
    } else {
        String::new()
    };
    Ok(format!(
        "{}{}{skills}",
        context.prompts.system(&role.prompt, role.strict_hand_back),
        instructions.render()
    ))
}

/// Composes the agent's first message from the task, the plan's prose and the work of its
/// dependencies; with their diffs for an agent that only reads.
async fn instruction(
    context: &RunContext,
    record: &TaskRecord,
    diffs: Option<&UnderReview>,
    bound: Bound,
) -> Result<String, CoordinatorError> {
    let (task, state) = (&record.task, context.state());
    // What is rewritten as a plan is the task itself.
    let plan = match state.settings.plan_file {
        None => context.plan_text().await?,
        Some(_) => None,
    };
    let notes = match plan {
        Some(text) => orchestrate_plan::notes(&text, &KnownNames::of_run(&state.settings)),
        None => Vec::new(),
    };
    let deliveries = deliveries(context, task, diffs).await?;
    let before = deliveries_before(context, task).await?;
    let details = task.details.join("\n");
    let places = [
        ("id", task.id.as_str()),
        ("title", &task.title),
        ("details", &details),
    ];
    let task_text = context.prompts.render("task", &places);
    let under_review = diffs.map(UnderReview::tasks).unwrap_or_default();
    let given = given(context, record).await?;
    let notes = &notes;
    let sources = Sources {
        task_text,
        given,
        task,
        state: &state,
        notes,
        deliveries,
        before,
        under_review,
    };
    Ok(task_message::compose(&sources, bound))
}

/// Returns what a child is given beside its task.
async fn given(
    context: &RunContext,
    record: &TaskRecord,
) -> Result<Option<Given>, CoordinatorError> {
    let Some(text) = record
        .spawn
        .as_ref()
        .and_then(|spawn| spawn.context.clone())
    else {
        return Ok(None);
    };
    Ok(Some(Given {
        from: record.parent.clone(),
        text: context.blob_text(text).await?,
    }))
}

/// Composes the message about new work to an agent that reviews; `None` for any other, and if
/// nothing is new.
async fn new_work(
    context: &RunContext,
    record: &TaskRecord,
    review: &UnderReview,
) -> Result<Option<String>, CoordinatorError> {
    let Some(spec) = record.spec().filter(|_| review.is_new) else {
        return Ok(None);
    };
    let spec = context.agent_spec(spec)?;
    let begin = format!("{}\n", context.prompts.render("new_work", &[]).trim_end());
    let deliveries = deliveries(context, &record.task, Some(review)).await?;
    let bound = Bound::new(
        spec.context_tokens,
        spec.tools.iter().any(|tool| tool.name == READ_PLAN),
    );
    let text = task_message::compose_deliveries(begin, &deliveries, bound);
    Ok(Some(context.host.site.redactor.owned(text)))
}

/// Returns what a task's dependencies have delivered.
async fn deliveries(
    context: &RunContext,
    task: &Task,
    diffs: Option<&UnderReview>,
) -> Result<Vec<Delivery>, CoordinatorError> {
    let state = context.state();
    let mut deliveries = Vec::new();
    for dependency in &task.depends {
        deliveries.extend(delivery(context, &state, dependency, diffs).await?);
    }
    Ok(deliveries)
}

/// Returns what the tasks have delivered that this one comes after without depending on them. Some
/// of them failed, or wait for the user, so that their work is not in the tree.
async fn deliveries_before(
    context: &RunContext,
    task: &Task,
) -> Result<Vec<Delivery>, CoordinatorError> {
    let state = context.state();
    let mut deliveries = Vec::new();
    for earlier in task
        .after
        .iter()
        .filter(|earlier| !task.depends.contains(earlier))
    {
        if state.task(earlier).is_some_and(has_delivered) {
            deliveries.extend(delivery(context, &state, earlier, None).await?);
        }
    }
    Ok(deliveries)
}

fn has_delivered(record: &TaskRecord) -> bool {
    let is_report =
        record.commit().is_none() && record.error().is_none() && !record.summary().is_empty();
    !record.merged().is_empty() || is_report
}

/// Returns what a dependency has delivered; `None` if it was done before the run.
async fn delivery(
    context: &RunContext,
    state: &RunState,
    dependency: &TaskId,
    diffs: Option<&UnderReview>,
) -> Result<Option<Delivery>, CoordinatorError> {
    let Some(record) = state.task(dependency).filter(|record| !record.was_done()) else {
        return Ok(None);
    };
    let (task, label, summary) = (
        dependency.clone(),
        record.task.label(),
        record.summary().to_owned(),
    );
    let mut delivery = Delivery {
        task,
        label,
        summary,
        ..Delivery::default()
    };
    let (commit, span) = match diffs.and_then(|review| review.change(dependency)) {
        Some(change) => (record.commit().cloned(), Some(change.clone())),
        None => (
            record.merged().last().map(|merged| merged.commit.clone()),
            None,
        ),
    };
    let Some(commit) = commit else {
        return Ok(Some(delivery));
    };
    delivery.commit = Some(commit.clone());
    let with_diff = diffs.is_some();
    let read = move |repo: &Repo| {
        let span = match span {
            Some(change) => Some((change.before, change.after)),
            None => repo
                .store()
                .commit_info(&commit)?
                .parents
                .into_iter()
                .next()
                .map(|before| (before, commit)),
        };
        let Some((before, after)) = span else {
            return Ok((Vec::new(), None));
        };
        let files = repo
            .store()
            .changed_paths(&before, &after)?
            .iter()
            .map(|path| shown(&text(path)))
            .collect();
        let diff = if with_diff {
            Some(repo.store().diff_text(&before, &after)?)
        } else {
            None
        };
        Ok((files, diff))
    };
    (delivery.files, delivery.diff) = context.git(read).await?;
    Ok(Some(delivery))
}
