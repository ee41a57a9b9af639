//! Carries out what a person asks of a run: approvals, rejections, retries, messages.
//!
//! Each decision is made inside the sequencer on the newest state, and its answer is recorded with the facts that it
//! led to, so a command happens exactly once, also if the coordinator dies in between.

use std::time::Duration;

use orchestrate_core::event::{Event, ReturnCause};
use orchestrate_core::message::{Envelope, Sender};
use orchestrate_core::run_state::Limit;
use orchestrate_core::settings::MergeMode;
use orchestrate_core::{RedactionError, RunId, RunState, TaskId, TaskRecord, TaskState};
use orchestrate_journal::{Batch, Blob, Command, Received, Reply};

use crate::dispatch::asking::is_whole;
use crate::error::CoordinatorError;
use crate::run::context::RunContext;
use crate::texts::prompts::Prompts;

/// What an agent is told that goes on without a comment.
const TRY_AGAIN: &str = "Try again.";

/// What a run is allowed from now on, what it has used already included; none leaves a limit as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowance {
    /// The time that the whole run may take.
    pub time: Option<Duration>,
    /// The tokens that the whole run may use.
    pub tokens: Option<u64>,
}

impl Allowance {
    /// Gives the tasks that have failed for want of what the run is given more of.
    pub(crate) fn lets_go_on<'a>(&self, state: &'a RunState) -> Vec<&'a TaskId> {
        let is_given = |record: &&TaskRecord| match state.stopped_by(record) {
            Some(Limit::RunTokens) => self.tokens.is_some(),
            Some(Limit::RunTime) => self.time.is_some(),
            Some(Limit::TaskTokens) | None => false,
        };
        state.tasks().filter(is_given).map(|record| &record.task.id).collect()
    }

    /// Gives the time that the whole run may take from now on, in milliseconds.
    fn timeout_ms(&self) -> Option<u64> {
        self.time.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }
}

/// Records that somebody goes on with a run, and in the same batch what that allows to go on, so that a process that
/// dies in between leaves nothing behind; or says why that could not go on, and records nothing.
pub(crate) async fn go_on(context: &RunContext, allowance: Allowance) -> Result<(), CoordinatorError> {
    let prompts = context.prompts.clone();
    let decide = move |state: &RunState| {
        let again = allowance.lets_go_on(state);
        require_time_for(&again, allowance, state)?;
        let (timeout_ms, budget_tokens) = (allowance.timeout_ms(), allowance.tokens);
        let resumed = Event::RunResumed { pid: std::process::id(), timeout_ms, budget_tokens };
        let mut batch = Batch::default();
        if !again.is_empty() {
            batch = returned(&again, &prompts, ReturnCause::Retried, TRY_AGAIN);
        }
        batch.events.insert(0, resumed);
        Ok(batch)
    };
    let decided = context.journal.append_if(decide).await?;
    decided.map(drop).map_err(|why| CoordinatorError::CannotGoOn { run: context.run.clone(), why })
}

/// Decides a command on the newest state, records the facts and the answer.
pub(crate) async fn carry_out(context: &RunContext, received: Received) -> Result<(), CoordinatorError> {
    carry_out_after(context, None, received).await
}

/// As [`carry_out`], recording another fact first if the command is not refused.
pub(crate) async fn carry_out_after(
    context: &RunContext,
    before: Option<Event>,
    received: Received,
) -> Result<(), CoordinatorError> {
    let (id, prompts) = (received.id, context.prompts.clone());
    let command = context.host.redactor.all_of(received.command);
    let decide = move |state: &RunState| {
        let decided = command.as_ref().map_err(RedactionError::to_string);
        let decided = decided.and_then(|command| decide(state, command, &prompts));
        let (batch, reply): (Batch, Reply) = match decided {
            Ok((mut batch, said)) => {
                batch.events.splice(0..0, before);
                (batch, Ok(said))
            }
            Err(why) => (Batch::default(), Err(why)),
        };
        Ok::<_, std::convert::Infallible>(batch.answering(id, reply))
    };
    let recorded = context.journal.append_if(decide).await?;
    match recorded {
        Ok(_) => Ok(()),
        Err(never) => match never {},
    }
}

/// What a command leads to, with what its sender is told; or why it cannot be done.
fn decide(state: &RunState, command: &Command, prompts: &Prompts) -> Result<(Batch, String), String> {
    match command {
        Command::Approve { task, tree } => approve(state, task, tree),
        Command::Reject { task, message, at } => {
            let place = at.as_ref().map(|at| format!("{at}: ")).unwrap_or_default();
            send_back(state, task, prompts, ReturnCause::Rejected, &format!("{place}{message}"))
        }
        Command::Retry { task, message } => {
            let text = message.as_deref().unwrap_or(TRY_AGAIN);
            send_back(state, task, prompts, ReturnCause::Retried, text)
        }
        Command::Decide { call, allowed, message } => {
            let Some((_, approval)) = state.open_approvals().find(|(open, _)| *open == call) else {
                return Err(format!("no call {call} waits for an answer"));
            };
            if *allowed && !is_whole(approval) {
                return Err(format!(
                    "a part of call {call} was cut or blotted out, and what nobody sees is not approved"
                ));
            }
            require_time(state)?;
            let fact = Event::ApprovalDecided { call: call.clone(), allowed: *allowed, message: message.clone() };
            Ok((Batch::from(fact), format!("call {call} is {}", if *allowed { "approved" } else { "rejected" })))
        }
        Command::Message { to, body } => {
            state.check_message(to.as_str(), body).map_err(|refused| refused.to_string())?;
            let sequence = state.next_sequence(&Sender::User);
            let (to, body) = (to.clone(), body.clone());
            let said = format!("message {sequence} waits for {to}");
            let envelope = Envelope { sequence, from: Sender::User, to, body, deadline: None };
            Ok((Batch::from(Event::MessageSent { envelope }), said))
        }
        // The level is raised by the dispatcher; here it is only acknowledged.
        Command::Stop { .. } => Ok((Batch::default(), "stopping".to_owned())),
        Command::StopAgent { agent, .. } => {
            known(state, agent).map(|_| (Batch::default(), format!("stopping {agent}")))
        }
    }
}

fn approve(state: &RunState, task: &TaskId, tree: &orchestrate_core::Oid) -> Result<(Batch, String), String> {
    let record = known(state, task)?;
    if state.settings.merge == MergeMode::None && !record.may_take_rejection_back() {
        let branch = record.branch.as_deref().unwrap_or("it");
        return Err(format!("nothing is merged with `--merge none`, so there is nothing to approve; {branch} stays"));
    }
    let waits = matches!(record.state, TaskState::AwaitingReview | TaskState::Verified);
    if !waits && !record.may_take_rejection_back() {
        return Err(format!("{task} is {}, and only work that awaits a review can be approved", record.state.as_str()));
    }
    require_time(state)?;
    if record.tree.as_ref() != Some(tree) {
        return Err(format!(
            "{task} has changed since you looked at it; look again with `orchestrate review {task} --run {}`",
            state.run_id
        ));
    }
    let fact = Event::ReviewApproved { task: task.clone(), tree: tree.clone() };
    Ok((Batch::from(fact), format!("{task} is approved at tree {tree}")))
}

fn send_back(
    state: &RunState,
    task: &TaskId,
    prompts: &Prompts,
    cause: ReturnCause,
    message: &str,
) -> Result<(Batch, String), String> {
    let record = known(state, task)?;
    require_time(state)?;
    if state.merges.current() == Some(task) {
        return Err(format!(
            "{task} is being merged at this moment; try again when it is done (`orchestrate resume {}` goes on with a run \
             that nobody works on)",
            state.run_id
        ));
    }
    let allowed = match cause {
        ReturnCause::Rejected => matches!(
            record.state,
            TaskState::AwaitingReview
                | TaskState::Verified
                | TaskState::Merged
                | TaskState::Conflicted
                | TaskState::Failed
        ),
        _ => matches!(record.state, TaskState::Failed | TaskState::Conflicted | TaskState::Cancelled),
    };
    if !allowed || record.attempt == 0 && cause == ReturnCause::Rejected {
        return Err(nothing_to_send_back(&state.run_id, record));
    }
    let said = format!("{task} goes back to its agent for attempt {}", record.attempt + 1);
    Ok((returned(&[task], prompts, cause, message), said))
}

/// Gives the facts that send tasks back with the same words.
fn returned(tasks: &[&TaskId], prompts: &Prompts, cause: ReturnCause, message: &str) -> Batch {
    let name = if cause == ReturnCause::Rejected { "rejected" } else { "retried" };
    let blob = Blob::new(prompts.render_around(name, &[], &[("message", message)]).into_bytes());
    let fact = |task: &&TaskId| {
        let (task, text) = (TaskId::clone(task), blob.id().clone());
        Event::TaskReturned { task, cause, text, onto: None }
    };
    Batch::from(tasks.iter().map(fact).collect::<Vec<_>>()).with_blob(blob)
}

/// Says why a task has no work to send back, and what can be done instead.
fn nothing_to_send_back(run: &RunId, record: &TaskRecord) -> String {
    let task = &record.task.id;
    let instead = match record.state {
        TaskState::Merged | TaskState::AwaitingReview | TaskState::Verified => {
            format!("`orchestrate reject {task} -m TEXT --run {run}` sends its work back")
        }
        TaskState::Failed | TaskState::Conflicted | TaskState::Cancelled => {
            format!("`orchestrate retry {task} --run {run}` lets it try again")
        }
        TaskState::Skipped => "retry what it depends on, which lets it wait again".to_owned(),
        TaskState::Pending | TaskState::Ready | TaskState::Running | TaskState::Waiting | TaskState::Committed => {
            return format!(
                "{task} has not ended: there is nothing to send back yet; `orchestrate resume {run}` goes on with a run \
                 that nobody works on"
            );
        }
    };
    format!("{task} is {}: there is nothing to send back; {instead}", record.state.as_str())
}

/// Refuses what would set work going again when no time is left for it: the work would fail at once.
fn require_time(state: &RunState) -> Result<(), String> {
    if state.time_left() == Some(Duration::ZERO) { Err(out_of_time(state)) } else { Ok(()) }
}

/// Refuses to let tasks go on with more of one limit where the run's time is used up all the same.
fn require_time_for(tasks: &[&TaskId], allowance: Allowance, state: &RunState) -> Result<(), String> {
    let limit = allowance.timeout_ms().or(state.settings.timeout_ms).filter(|limit| *limit <= state.worked_ms());
    let Some(limit) = limit.filter(|_| !tasks.is_empty()) else { return Ok(()) };
    let tasks = tasks.iter().map(|task| task.as_str()).collect::<Vec<_>>().join(", ");
    let too = if allowance.time.is_none() { " too" } else { "" };
    let tokens = if allowance.tokens.is_some() { " --budget-tokens N" } else { "" };
    Err(format!(
        "{tasks} cannot go on: the time of the run, {} s, is used up{too}; `orchestrate resume {}{tokens} --timeout TIME` \
         gives it more",
        seconds(limit),
        state.run_id
    ))
}

/// Says that the run may be worked on no more, and how it goes on all the same.
pub(crate) fn out_of_time(state: &RunState) -> String {
    let limit = seconds(state.settings.timeout_ms.unwrap_or_default());
    let resume = format!("`orchestrate resume {} --timeout TIME`", state.run_id);
    format!("the time of the run, {limit} s, is used up; {resume} gives it more, and lets what it stopped go on")
}

fn seconds(ms: u64) -> f64 {
    Duration::from_millis(ms).as_secs_f64()
}

fn known<'a>(state: &'a RunState, task: &TaskId) -> Result<&'a TaskRecord, String> {
    state.task(task).ok_or_else(|| {
        let known: Vec<&str> = state.tasks().map(|record| record.task.id.as_str()).collect();
        format!("there is no task {task} in run {}; its tasks are: {}", state.run_id, known.join(", "))
    })
}
