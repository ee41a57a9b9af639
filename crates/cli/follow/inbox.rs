//! Sends a request to a run: to the coordinator that works on it, or else to whichever process
//! takes the run over next, which may be this one.
//!
//! A request is carried out once, whichever process does it: a request that was sent keeps its
//! number when the run is taken over.

use std::time::Duration;

use orchestrate_coordinator::{Coordinator, CoordinatorError, Run, Takeover};
use orchestrate_core::run::request::{Purpose, Request};
use orchestrate_core::run::{EXIT_OK, EXIT_USAGE};
use orchestrate_core::{RequestRefused, RunId};
use orchestrate_journal::{InboxId, JournalError, Reply, Store};
use orchestrate_settings::Layer;

use crate::context::Context;
use crate::error::hints::next_step;
use crate::error::{CommandError, ErrorKind, Wording};
use crate::follow::display::{Format, Style};
use crate::follow::run::Followed;
use crate::follow::{landing, run};
use crate::json::{Answer, Envelope, Output, Stage};
use crate::show::output;

/// How long a live coordinator may take to answer: it is woken at once, and answers between two
/// events.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often to check that the coordinator is still alive.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How often a request follows a run to another process, because that process took the run first,
/// or has ended.
const HANDS: usize = 8;

/// How a request is sent.
pub(crate) struct Sending {
    /// Whether a run that no process works on is continued and followed to its end.
    follows: bool,
    /// The settings that were typed.
    typed: Vec<(&'static str, String)>,
}

impl Sending {
    /// Sends with these settings, and follows the run if it has to be continued.
    pub(crate) fn new(follows: bool, typed: &[(&'static str, String)]) -> Self {
        let typed = typed.to_vec();
        Self { follows, typed }
    }

    /// Reports whether the answer is printed as JSON.
    fn is_json(&self, context: &Context) -> bool {
        let mut typed = self.typed.iter();
        let typed = typed.find(|setting| setting.0 == "output_format");
        let format = typed.map(|setting| setting.1.clone());
        let format = format.or_else(|| context.output_format());
        matches!(format.as_deref(), Some("json" | "stream-json"))
    }
}

/// A request to a run, with its number once it has been sent.
struct Asked<'a> {
    store: &'a Store,
    run: &'a RunId,
    request: &'a Request,
    sent: Option<InboxId>,
}

/// Prints what has become of a request, and returns the exit code.
fn print(run: &RunId, answer: Answer, as_json: bool) -> Result<u8, CommandError> {
    match as_json {
        true => output::json(&Envelope::new(Some(run), Output::Answer(answer))),
        false => output::line(&answer.answer),
    }
    .map(|()| EXIT_OK)
}

/// Sends a request to a live coordinator and prints its answer, or that the run has ended.
pub(crate) fn ask(
    store: &Store,
    run: &RunId,
    request: &Request,
    as_json: bool,
) -> Result<u8, CommandError> {
    let id = record(store, run, request)?;
    let answer = match answer(store, run, id)? {
        Some(answer) => answer,
        None if store.lease(run)?.is_none() => Ok("it has ended".to_owned()),
        None => return Err(unanswered(run)),
    };
    print(run, answered(run, answer, Wording::Command)?, as_json)
}

/// Sends a request and prints what became of it; if that is wanted and no process works on the run,
/// continues the run instead and returns its exit code.
pub(crate) fn send(
    context: &Context,
    store: &Store,
    run: &RunId,
    request: &Request,
    sending: &Sending,
) -> Result<u8, CommandError> {
    match sending.follows {
        true => ask_or_take_over(context, store, run, request, sending),
        false => {
            let answer = acknowledge(store, run, request, Wording::Command)?;
            print(run, answer, sending.is_json(context))
        }
    }
}

/// Sends a request, and returns the answer of the process that works on the run, or that it is
/// recorded. Without such a process, what the run's state does not allow is refused here; a refusal
/// is in the words of the request.
///
/// # Errors
///
/// Fails if the request is refused.
pub(crate) fn acknowledge(
    store: &Store,
    run: &RunId,
    request: &Request,
    wording: Wording,
) -> Result<Answer, CommandError> {
    if store.lease(run)?.is_none() {
        let decided = store.state(run)?.decide(request);
        decided.map_err(|refused| refusal(run, &refused, wording))?;
    }
    let id = match recorded_before(store, run, request)? {
        Some(id) => id,
        None => record(store, run, request)?,
    };
    if let Some(answer) = answer(store, run, id)? {
        return answered(run, answer, wording);
    }
    let (stage, answer) = match store.lease(run)? {
        Some(_) => (
            Stage::Unanswered,
            format!("recorded; {run} has not answered yet"),
        ),
        None => (
            Stage::Recorded,
            format!("recorded; nobody runs {run}: orchestrate resume {run}"),
        ),
    };
    Ok(Answer { stage, answer })
}

/// Returns the number of a request if the newest recorded one is the same: what is decided twice in
/// a row is decided once, while a message may be sent again.
fn recorded_before(
    store: &Store,
    run: &RunId,
    request: &Request,
) -> Result<Option<InboxId>, CommandError> {
    if matches!(request, Request::Message { .. }) {
        return Ok(None);
    }
    let open = store.recorded_requests(run)?;
    let newest = open.last().filter(|received| received.request == *request);
    Ok(newest.map(|received| received.id))
}

/// Returns what the sender of an answered request is told.
fn answered(run: &RunId, answer: Reply, wording: Wording) -> Result<Answer, CommandError> {
    Ok(Answer {
        stage: Stage::Done,
        answer: answer.map_err(|refused| refusal(run, &refused, wording))?,
    })
}

/// Sends a request; without a live coordinator, takes the run over and returns the run's exit code.
///
/// The process that works on the run may change at any moment: the request goes to the newest one,
/// and is carried out here if that one ends without an answer.
fn ask_or_take_over(
    context: &Context,
    store: &Store,
    run: &RunId,
    request: &Request,
    sending: &Sending,
) -> Result<u8, CommandError> {
    let mut sent = None;
    for _ in 0..HANDS {
        if store.lease(run)?.is_some() {
            let id = match sent {
                Some(id) => id,
                None => *sent.insert(record(store, run, request)?),
            };
            if let Some(answer) = answer(store, run, id)? {
                let answer = answered(run, answer, Wording::Command)?;
                return print(run, answer, sending.is_json(context));
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
        if let Some(code) = take_over(context, &asked, sending.typed.clone())? {
            return Ok(code);
        }
    }
    let message = format!("run {run} is changing coordinators, and none of them has answered");
    Err(CommandError::new(ErrorKind::Failed, message)
        .hint(format!("`orchestrate status {run}` shows its state")))
}

/// Records a request for the process that works on the run; fails if that process has another
/// purpose, such as landing.
fn record(store: &Store, run: &RunId, request: &Request) -> Result<InboxId, CommandError> {
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
    let taken = match sent {
        None => coordinator.resume_with(run, Request::clone(request)).await,
        Some(id) => coordinator.resume_with_sent(run, *id).await,
    };
    match taken {
        Err(CoordinatorError::Journal(JournalError::Held { holder, .. }))
            if holder.purpose == Purpose::Run =>
        {
            Ok(None)
        }
        Err(error) => Err(error.into()),
        Ok(Takeover::Answered) => Ok(None),
        Ok(Takeover::Refused(why)) => Err(refusal(run, &why, Wording::Command)),
        Ok(Takeover::Begun { run: taken }) => {
            if !style.quiet {
                output::note(&format!("no process works on run {run}: taking it over"));
                output::note(tier);
            }
            tell_answers(&taken, style);
            let own = taken.answers().last();
            let is_refused = own.is_some_and(|own| own.reply.is_err());
            if let Some(own) = own
                && style.format == Format::StreamJson
            {
                // If nobody reads it, what follows cannot be written either, and says so.
                let _ = print(run, own_answer(run, own.reply.clone()), true);
            }
            let mut followed = run::to_its_end(taken, style, begun, None).await?;
            if is_refused {
                // What was recorded before it has let the run go on.
                followed.report.exit_code = Some(EXIT_USAGE);
            }
            Ok(Some(followed))
        }
    }
}

/// Returns what has become of the request with which a run was taken over.
fn own_answer(run: &RunId, reply: Reply) -> Answer {
    answered(run, reply, Wording::Command).unwrap_or_else(|refused| Answer {
        stage: Stage::Refused,
        answer: refused.with_hints(),
    })
}

/// Says what became of the requests that were recorded while no process worked on the run.
pub(crate) fn tell_answers(run: &Run, style: Style) {
    for answer in run.answers() {
        match &answer.reply {
            Ok(said) if !style.quiet => output::note(said),
            Ok(_) => {}
            Err(refused) => {
                let step = next_step(run.id(), refused, Wording::Command);
                output::warning(&format!("a request is refused: {refused}; {step}"));
            }
        }
    }
}

fn refusal(run: &RunId, refused: &RequestRefused, wording: Wording) -> CommandError {
    CommandError::usage(refused.to_string()).hint(next_step(run, refused, wording))
}
