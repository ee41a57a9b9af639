//! `watch`: shows live what another process does on a run, until it no longer works on it, and then
//! the run's state.

use orchestrate_coordinator::Archive;
use orchestrate_core::run::feed::{Feed, Followed};
use orchestrate_core::run::request::{Holder, Purpose};
use orchestrate_core::{Recorded, RunId, RunState};
use orchestrate_journal::Store;
use tokio::time::MissedTickBehavior;

use crate::args::WatchArgs;
use crate::commands::runs::showing::status;
use crate::context::Context;
use crate::error::CommandError;
use crate::follow::display::{Display, Format, Style};
use crate::follow::live::TICK;
use crate::follow::run;
use crate::follow::signals::Signals;
use crate::json::RunReport;
use crate::show::{output, progress};

/// How many events are read at once.
const FACTS_AT_ONCE: usize = 512;

/// How the user stopped watching, or what the run did.
enum Watched {
    /// No process works on the run any more; with whether standard output is still read.
    ToItsEnd(bool),
    /// A signal came, which stands for this exit code; the run goes on.
    Left(u8),
}

/// Runs the command.
pub(crate) fn execute(context: &Context, arguments: &WatchArgs) -> Result<u8, CommandError> {
    let (store, run) = context.find_run(arguments.which.run.as_deref())?;
    let format = if arguments.json.json {
        Format::StreamJson
    } else {
        Format::Text
    };
    let style = Style {
        format,
        quiet: false,
        verbose: arguments.verbose,
        terminal: context.terminal,
    };
    // Before anything that takes time: what is recorded from now on is shown.
    let state = store.state(&run)?;
    let mut display = Display::new(style);
    if arguments.json.json {
        let events = store.events(&run, arguments.from, usize::MAX)?;
        display.facts(&missed(&state, arguments.from, events)?);
    }
    let runs = context.runs()?;
    let watched = run::runtime()?.block_on(watch(&runs, &store, state, display))?;
    match (watched, format) {
        (Watched::Left(exit_code), _) => {
            output::note(&format!(
                "run {run} goes on; `orchestrate stop {run}` stops it"
            ));
            Ok(exit_code)
        }
        (Watched::ToItsEnd(false), _) => Ok(0),
        (Watched::ToItsEnd(true), Format::StreamJson) => {
            let standing = store.standing(&run)?;
            let last = RunReport::from(standing.report());
            let last = run::last_line(last, &standing.state, standing.state.seq);
            output::json(&last).map(|()| 0)
        }
        (Watched::ToItsEnd(true), _) => status::show(context, &store, &run, false).map(|()| 0),
    }
}

/// Shows what waits for the user already, and the events that are recorded from now on, while a
/// process works on the run.
async fn watch(
    runs: &Archive,
    store: &Store,
    mut state: RunState,
    mut display: Display,
) -> Result<Watched, CommandError> {
    let run = &state.run_id.clone();
    let mut signals = Signals::listen()?;
    if worker(store, run)?.is_some() {
        progress::waiting_for_user(&state)
            .iter()
            .for_each(|line| display.note(line));
    }
    let mut looks = tokio::time::interval(TICK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut ticks = display.ticks();
    loop {
        // In this order: a working process records its events before it releases the run.
        let worker = worker(store, run)?;
        let facts = catch_up(store, &mut state)?;
        display.facts(&facts);
        if worker.is_none() && facts.is_empty() {
            return Ok(Watched::ToItsEnd(display.end()?));
        }
        display.state(&state);
        tokio::select! {
            _ = looks.tick() => {}
            _ = ticks.tick() => {
                let running = worker.map(|worker| runs.running_in(worker.pid, run));
                display.checks(&running.unwrap_or_default());
            }
            request = signals.next() => {
                display.end()?;
                return Ok(Watched::Left(request.exit_code));
            }
        }
    }
}

/// Returns the events of a state that a reader has not seen, of all that follow what it has seen.
fn missed(
    state: &RunState,
    seen: u64,
    events: Vec<Recorded>,
) -> Result<Vec<Recorded>, CommandError> {
    let feed = Feed::<()>::new(seen, state.seq);
    let mut feed = feed.map_err(|error| CommandError::usage(error.to_string()))?;
    let given = feed.facts(events);
    let mut missed = Vec::new();
    for followed in given.map_err(|error| CommandError::internal(error.to_string()))? {
        match followed {
            Followed::Fact(fact) => missed.push(*fact),
            // What is recorded later is read as everything that happens from now on.
            Followed::CaughtUp(_) => break,
            Followed::Live(()) => {}
        }
    }
    Ok(missed)
}

/// Returns the process that works on the run's tasks.
fn worker(store: &Store, run: &RunId) -> Result<Option<Holder>, CommandError> {
    Ok(store
        .lease(run)?
        .filter(|holder| holder.purpose == Purpose::Run))
}

/// Reads the next events and applies them to the state.
fn catch_up(store: &Store, state: &mut RunState) -> Result<Vec<Recorded>, CommandError> {
    let facts = store.events(&state.run_id, state.seq, FACTS_AT_ONCE)?;
    for fact in &facts {
        state
            .apply(fact)
            .map_err(|error| CommandError::internal(error.to_string()))?;
    }
    Ok(facts)
}
