//! What one turn that reads a small file costs beyond the journal's commits of that turn.
//!
//! The commits are measured by appending the very facts and blobs of the measured run, batch by batch, to a journal
//! of their own on the same disk.

use std::path::Path;
use std::time::Instant;

use libtest_mimic::Failed;
use orchestrate_core::{BlobId, Event, Recorded, RunId};
use orchestrate_journal::{Batch, Blob, Journal, Store};

use crate::figure::{Figure, median, ms};
use crate::stage::{Worker, coordinator, plan, repository, runtime, state_folder};
use crate::support::Repository;

/// Turns that read a file: below the largest number of turns of an agent.
const READS: u32 = 50;
/// Turns that are not counted, in which memory and caches are filled.
const WARM_UP: usize = 10;
/// Runs, each followed at once by its bare counterpart: other programs load the disk now more, now less.
const ROUNDS: usize = 5;

/// What the turns of one run cost, in milliseconds.
struct Round {
    turn: f64,
    commits: f64,
}

pub(crate) fn measure() -> Result<Vec<Figure>, Failed> {
    let repository = repository(READS)?;
    let rounds: Vec<Round> = (0..ROUNDS).map(|_| round(&repository)).collect::<Result<_, _>>()?;
    let of = |cost: fn(&Round) -> f64| median(rounds.iter().map(cost).collect());
    let (turn, commits) = (of(|round| round.turn)?, of(|round| round.commits)?);
    Ok(vec![Figure {
        name: "turn that reads a small file, beyond its commits",
        measured: of(|round| round.turn - round.commits)?,
        limit: 2.0,
        unit: "ms",
        beside: format!("the turn {turn:.2} ms, the commits of its facts alone {commits:.2} ms"),
    }])
}

/// Lets one agent read, and then commits the facts of its turns alone.
fn round(repository: &Repository) -> Result<Round, Failed> {
    let state = state_folder()?;
    let server = Worker::reading(READS)?;
    let coordinator = coordinator(repository.path(), state.path(), &server.base_url())?;
    let report = runtime()?.block_on(coordinator.run(plan("- [ ] T1 Read\n")?))?;
    if report.exit_code != Some(0) {
        return Err(Failed::from(format!("the run failed: {report:#?}")));
    }
    let turns = server.turns().into_iter().take(READS as usize).skip(WARM_UP).map(ms).collect();
    let commits = commits(coordinator.store(), &report.run_id)?;
    Ok(Round { turn: median(turns)?, commits: median(commits.into_iter().skip(WARM_UP).collect())? })
}

/// Appends the facts of a run once more, and gives what those of each reading turn took.
fn commits(store: &Store, run: &RunId) -> Result<Vec<f64>, Failed> {
    let facts = store.events(run, 0, usize::MAX)?;
    let is_turn = |fact: &Recorded| matches!(fact.event, Event::TurnStarted { .. });
    let first_turn = facts.iter().position(is_turn).unwrap_or(facts.len());
    let (before, turns) = facts.split_at(first_turn);
    let folder = state_folder()?;
    let journal = create(folder.path(), run, before)?;
    let mut costs = Vec::new();
    for turn in turns.chunk_by(|_, next| !is_turn(next)).take(READS as usize) {
        let batches = batches(store, turn)?;
        let since = Instant::now();
        for batch in batches {
            journal.append_blocking(batch)?;
        }
        costs.push(ms(since.elapsed()));
    }
    Ok(costs)
}

fn create(folder: &Path, run: &RunId, facts: &[Recorded]) -> Result<Journal, Failed> {
    let events: Vec<Event> = facts.iter().map(|fact| fact.event.clone()).collect();
    Ok(Journal::create(&Store::open(folder)?, run, events)?)
}

/// Returns a turn's facts as the engine commits them: its start with the request, everything else by itself.
fn batches(store: &Store, turn: &[Recorded]) -> Result<Vec<Batch>, Failed> {
    let starts = |fact: &Recorded, _: &Recorded| matches!(fact.event, Event::TurnStarted { .. });
    let groups = turn.chunk_by(starts);
    groups
        .map(|group| {
            let mut batch = Batch::from(group.iter().map(|fact| fact.event.clone()).collect::<Vec<_>>());
            for id in group.iter().filter_map(|fact| blob_of(&fact.event)) {
                batch = batch.with_blob(Blob::new(store.blob(id)?));
            }
            Ok(batch)
        })
        .collect()
}

fn blob_of(event: &Event) -> Option<&BlobId> {
    match event {
        Event::ModelRequested { request, .. } => Some(request),
        Event::ModelReplied { reply, .. } => Some(reply),
        Event::ToolFinished { result, .. } => Some(result),
        _ => None,
    }
}
