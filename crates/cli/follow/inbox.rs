//! Sends a request to the coordinator of a run, or takes the run over if it has none.
//!
//! A request is carried out once, whichever process does it: a request that was sent keeps its
//! number when the run is taken over.

use std::time::Duration;

use orchestrate_coordinator::{Coordinator, CoordinatorError, Takeover};
use orchestrate_core::run::EXIT_OK;
use orchestrate_core::run::request::{Purpose, Request};
use orchestrate_core::{RequestRefused, RunId};
use orchestrate_journal::{InboxId, JournalError, Reply, Store};
use orchestrate_settings::Layer;

use crate::context::Context;
use crate::error::hints::next_step;
use crate::error::{CommandError, ErrorKind};
use crate::follow::display::Style;
use crate::follow::landing;
use crate::follow::run;
use crate::follow::run::Followed;
use crate::json::{Answer, Envelope, Output};
use crate::show::output;

/// How long a live coordinator may take to answer: it is woken at once, and answers between two
/// events.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often to check that the coordinator is still alive.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How often a request follows a run to another process, because that process took the run first,
/// or has ended.
const HANDS: usize = 8;

/// A request to a run, with its number once it has been sent.
struct Asked<'a> {
    store: &'a Store,
    run: &'a RunId,
    request: &'a Request,
    sent: Option<InboxId>,
}

/// Sends a request to a live coordinator and prints its answer, or that the run has ended.
pub(crate) fn ask(
    store: &Store,
    run: &RunId,
    request: &Request,
    as_json: bool,
) -> Result<u8, CommandError> {
    let id = send(store, run, request)?;
    match answer(store, run, id)? {
        Some(answer) => say(answer, run, as_json),
        None if store.lease(run)?.is_none() => say(Ok("it has ended".to_owned()), run, as_json),
        None => Err(unanswered(run)),
    }
}

/// Sends a request; without a live coordinator, takes the run over and returns the run's exit code.
///
/// The process that works on the run may change at any moment: the request goes to the newest one,
/// and is carried out here if that one ends without an answer.
pub(crate) fn ask_or_take_over(
    context: &Context,
    store: &Store,
    run: &RunId,
    request: &Request,
    typed: Vec<(&'static str, String)>,
) -> Result<u8, CommandError> {
    let mut sent = None;
    for _ in 0..HANDS {
        if store.lease(run)?.is_some() {
            let id = match sent {
                Some(id) => id,
                None => *sent.insert(send(store, run, request)?),
            };
            if let Some(answer) = answer(store, run, id)? {
                let format = typed
                    .into_iter()
                    .find(|setting| setting.0 == "output_format");
                let format = format.map(|setting| setting.1);
                let format = format.or_else(|| context.output_format());
                let as_json = matches!(format.as_deref(), Some("json" | "stream-json"));
                return say(answer, run, as_json);
            }
            if store.lease(run)?.is_some() {
                return Err(unanswered(run));
            }
        }
        let asked = Asked {
            store,
            run,
            request,
            sent,
        };
        if let Some(code) = take_over(context, &asked, typed.clone())? {
            return Ok(code);
        }
    }
    let message = format!("run {run} is changing coordinators, and none of them has answered");
    Err(CommandError::new(ErrorKind::Failed, message)
        .hint(format!("`orchestrate status {run}` shows its state")))
}

/// Records a request for the process that works on the run; fails if that process has another
/// purpose, such as landing.
fn send(store: &Store, run: &RunId, request: &Request) -> Result<InboxId, CommandError> {
    match store.lease(run)? {
        Some(holder) if holder.purpose != Purpose::Run => Err(JournalError::Held {
            run: run.clone(),
            holder,
        }
        .into()),
        _ => Ok(store.send(run, request)?),
    }
}

/// Waits for an answer; `None` if it takes too long, or if there is no process left to give one.
fn answer(store: &Store, run: &RunId, id: InboxId) -> Result<Option<Reply>, CommandError> {
    let mut waited = Duration::ZERO;
    loop {
        // In this order: a process answers before it releases the run.
        let is_held = store.lease(run)?.is_some();
        match store.wait_for_answer(id, if is_held { LOOK_AGAIN } else { Duration::ZERO })? {
            None if is_held && waited < PATIENCE => waited += LOOK_AGAIN,
            answer => return Ok(answer),
        }
    }
}

fn unanswered(run: &RunId) -> CommandError {
    let message =
        format!("run {run} has not answered yet; the request is recorded and will be carried out");
    CommandError::new(ErrorKind::Failed, message)
        .hint(format!("`orchestrate status {run}` shows it"))
}

/// Takes the run over for a request; `None` if another process was quicker, or has answered it
/// before it ended.
fn take_over(
    context: &Context,
    asked: &Asked<'_>,
    typed: Vec<(&'static str, String)>,
) -> Result<Option<u8>, CommandError> {
    let mut loaded = context.load(typed, Layer::default())?;
    let style = run::style(&loaded.resolved, context.terminal);
    run::log(style);
    let state = asked.store.state(asked.run)?;
    loaded.run = (*state.settings).clone();
    run::require_sandbox(&loaded, asked.run)?;
    let settings = context.settings(&loaded)?;
    let coordinator = Coordinator::open(&context.directory, settings)?;
    let runtime = run::runtime()?;
    let tier = run::tier(&coordinator, &loaded.switches_given);
    let ended = runtime.block_on(carry_out(&coordinator, asked, style, &tier, state.seq));
    runtime.shutdown_background();
    match ended? {
        Some(followed) => landing::finish(context, &loaded, followed).map(Some),
        None => Ok(None),
    }
}

async fn carry_out(
    coordinator: &Coordinator,
    Asked {
        run, request, sent, ..
    }: &Asked<'_>,
    style: Style,
    tier: &str,
    begun: u64,
) -> Result<Option<Followed>, CommandError> {
    let request = Request::clone(request);
    let taken = match sent {
        None => coordinator.resume_with(run, request).await,
        Some(id) => coordinator.resume_with_sent(run, *id, request).await,
    };
    match taken {
        Err(CoordinatorError::Journal(JournalError::Held { holder, .. }))
            if holder.purpose == Purpose::Run =>
        {
            Ok(None)
        }
        Err(error) => Err(error.into()),
        Ok(Takeover::Answered) => Ok(None),
        Ok(Takeover::Refused(why)) => Err(refusal(run, &why)),
        Ok(Takeover::Begun { run: taken, said }) => {
            if !style.quiet {
                output::note(&format!("no process works on run {run}: taking it over"));
                output::note(tier);
                output::note(&said);
            }
            run::to_its_end(taken, style, begun).await.map(Some)
        }
    }
}

fn say(answer: Reply, run: &RunId, as_json: bool) -> Result<u8, CommandError> {
    match answer {
        Ok(answer) if as_json => {
            let answer = Output::Answer(Answer { answer });
            output::json(&Envelope::new(Some(run), answer))
        }
        Ok(said) => output::line(&said),
        Err(refused) => Err(refusal(run, &refused)),
    }
    .map(|()| EXIT_OK)
}

fn refusal(run: &RunId, refused: &RequestRefused) -> CommandError {
    CommandError::usage(refused.to_string()).hint(next_step(run, refused))
}
