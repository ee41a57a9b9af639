//! Carries out requests to a run: approvals, rejections, retries, messages.
//!
//! Each request is decided inside the sequencer on the newest state ([`RunState::decide`]), and its
//! answer is recorded with the resulting events, so a request is carried out exactly once, even if
//! the coordinator dies in between.

use std::time::Duration;

use orchestrate_core::event::{AdoptedWork, Event};
use orchestrate_core::run::request::{
    Adoption, Allowance, Decision, Part, Request, RequestRefused, Return,
};
use orchestrate_core::task::ReturnCause;
use orchestrate_core::{Oid, RunState, TaskRecord};
use orchestrate_journal::{Answer, Appended, Batch, Blob, JournalError, Received, Reply, unix_ms};

use crate::error::CoordinatorError;
use crate::run::context::RunContext;
use crate::texts::prompts::Prompts;

/// Records that a process continues a run and, in the same batch, the tasks that the new limits
/// reopen, so that a process that dies in between leaves nothing behind.
///
/// # Errors
///
/// [`CoordinatorError::CannotGoOn`] if the new limits do not suffice; nothing is recorded then.
pub(crate) async fn go_on(
    context: &RunContext,
    allowance: Allowance,
) -> Result<(), CoordinatorError> {
    let prompts = context.prompts.clone();
    let decide = move |state: &RunState| {
        let again = state.decide_resumption(allowance)?;
        let mut batch = again
            .map(|again| returned(&again, &prompts))
            .unwrap_or_default();
        let (timeout_ms, budget_tokens) = (allowance.timeout_ms(), allowance.tokens);
        let budget_micro_usd = allowance.micro_usd;
        let resumed = Event::RunResumed {
            pid: std::process::id(),
            timeout_ms,
            budget_tokens,
            budget_micro_usd,
        };
        batch.events.splice(0..0, taken_over(state, resumed));
        Ok::<_, RequestRefused>(batch)
    };
    match context.journal.append_if(decide).await? {
        Appended::Recorded(_) => Ok(()),
        Appended::Refused(why) => Err(CoordinatorError::CannotGoOn {
            run: context.run.clone(),
            why,
        }),
    }
}

/// Carries out, in order, the requests that were recorded while no process worked on the run, and
/// returns their answers. The batch of the first that is accepted begins with `resumed`.
pub(crate) async fn carry_out_recorded(
    context: &RunContext,
    mut resumed: Option<Event>,
    recorded: Vec<Received>,
) -> Result<Vec<Answer>, CoordinatorError> {
    let mut answers = Vec::new();
    for received in recorded {
        let to = received.id;
        carry_out_after(context, resumed.clone(), received).await?;
        let reply = context.store.answer(to)?;
        let reply = reply.ok_or(JournalError::NoSuchRequest(to))?;
        if reply.is_ok() {
            resumed = None;
        }
        answers.push(Answer { to, reply });
    }
    Ok(answers)
}

/// Decides a request on the newest state, and records the events and the answer.
pub(crate) async fn carry_out(
    context: &RunContext,
    received: Received,
) -> Result<(), CoordinatorError> {
    carry_out_after(context, None, received).await
}

/// Returns the events of a process that takes over a run: its own, and those that count the
/// requests of the process before it.
fn taken_over(state: &RunState, resumed: Event) -> Vec<Event> {
    std::iter::once(resumed)
        .chain(state.cut_requests())
        .collect()
}

/// Like [`carry_out`], but first records that a process takes over the run if the request is
/// accepted.
async fn carry_out_after(
    context: &RunContext,
    resumed: Option<Event>,
    received: Received,
) -> Result<(), CoordinatorError> {
    let (id, prompts) = (received.id, context.prompts.clone());
    let request = as_it_is_now(context, received);
    let decide = move |state: &RunState| {
        let decided = request.and_then(|request| decide(state, &request, &prompts));
        let (batch, reply): (Batch, Reply) = match decided {
            Ok((mut batch, answer)) => {
                batch.events.splice(
                    0..0,
                    resumed
                        .map(|resumed| taken_over(state, resumed))
                        .unwrap_or_default(),
                );
                (batch, Ok(answer))
            }
            Err(refused) => (Batch::default(), Err(refused)),
        };
        Ok::<_, std::convert::Infallible>(batch.answering(id, reply))
    };
    context.journal.append_if(decide).await?.never_refused();
    Ok(())
}

/// Returns a request without the run's secrets, and with the time that is left to it.
fn as_it_is_now(context: &RunContext, received: Received) -> Result<Request, RequestRefused> {
    let waited = Duration::from_millis(unix_ms().saturating_sub(received.sent_ms));
    let redactor = &context.host.site.redactor;
    let request = redactor
        .all_of(received.request)
        .map_err(RequestRefused::Secret)?;
    request.after(waited)
}

/// Returns the events that result from a request, with the answer to its sender.
fn decide(
    state: &RunState,
    request: &Request,
    prompts: &Prompts,
) -> Result<(Batch, String), RequestRefused> {
    let accepted = state.decide(request)?;
    let batch = match accepted.decision {
        Decision::Record(facts) => Batch::from(facts),
        Decision::Return(again) => returned(&again, prompts),
        Decision::Adopt(adoption) => adopted(adoption, state, prompts),
        // The dispatcher raised the level already; here the request is only acknowledged.
        Decision::Stop => Batch::default(),
    };
    Ok((batch, accepted.answer))
}

/// Returns the event of a person's commit that becomes a task's work, with the message to the agent
/// about the rest.
fn adopted(adoption: Adoption, state: &RunState, prompts: &Prompts) -> Batch {
    let Adoption {
        task,
        commit,
        tree,
        part,
        ..
    } = adoption;
    let approved = part.is_some();
    let admitted = part
        .as_ref()
        .map(|part| part.admitted.clone())
        .unwrap_or_default();
    let rest = part.filter(|part| !part.left.is_empty());
    let rest = rest.map(
        |Part {
             taken,
             left,
             message,
             ..
         }| {
            let taken = taken.join("\n");
            let left = left.join("\n");
            let message = message.unwrap_or_default();
            let given = [
                ("taken", taken.as_str()),
                ("left", left.as_str()),
                ("message", message.as_str()),
            ];
            let before = state
                .task(&task)
                .and_then(TaskRecord::commit)
                .map_or("HEAD", Oid::as_str);
            Blob::new(
                prompts
                    .render_around("rest", &[("commit", before)], &given)
                    .into_bytes(),
            )
        },
    );
    let rest_id = rest.as_ref().map(|blob| blob.id().clone());
    let adopted = Event::WorkAdopted(AdoptedWork {
        task,
        commit,
        tree,
        approved,
        admitted,
        rest: rest_id,
    });
    let batch = Batch::from(adopted);
    match rest {
        Some(blob) => batch.with_blob(blob),
        None => batch,
    }
}

/// Returns the events that return tasks, with the message to their agents.
fn returned(again: &Return, prompts: &Prompts) -> Batch {
    let name = if again.cause == ReturnCause::Rejected {
        "rejected"
    } else {
        "retried"
    };
    let blob = Blob::new(
        prompts
            .render_around(name, &[], &[("message", &again.message)])
            .into_bytes(),
    );
    let mut facts = Vec::new();
    for task in &again.tasks {
        let (task, text) = (task.clone(), blob.id().clone());
        facts.push(Event::TaskReturned {
            task,
            cause: again.cause,
            text,
            onto: None,
        });
    }
    Batch::from(facts).with_blob(blob)
}
