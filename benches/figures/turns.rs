//! Measures what one turn that reads a small file costs, beyond the journal's commits of that turn.
//!
//! The commits are measured by appending the same events and blobs, batch by batch, to another
//! journal on the same disk.

use std::path::Path;
use std::time::Instant;

use libtest_mimic::Failed;
use orchestrate_core::{Event, Recorded, RunId};
use orchestrate_journal::{Batch, Blob, Journal, Store};

use crate::figure::{Figure, median, ms};
use crate::stage::{Worker, coordinator, plan, repository, runtime, state_folder};
use crate::support::Repository;
use crate::support::journal_bytes::blobs_of;

/// Turns that read a file: fewer than the maximum number of turns of an agent.
const READS: u32 = 50;
/// Turns that are not counted, since memory and caches are still being filled.
const WARM_UP: usize = 10;
/// Runs, each followed immediately by its bare counterpart, since the load of other programs on the
/// disk varies.
const ROUNDS: usize = 5;

/// The median cost of the turns of one run, in milliseconds.
struct Round {
    turn: f64,
    commits: f64,
}

pub(crate) fn measure() -> Result<Vec<Figure>, Failed> {
    let repository = repository(READS)?;
    let rounds: Vec<Round> = (0..ROUNDS)
        .map(|_| round(&repository))
        .collect::<Result<_, _>>()?;
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

/// Runs one agent that reads files, and then commits the events of its turns alone.
fn round(repository: &Repository) -> Result<Round, Failed> {
    let state = state_folder()?;
    let server = Worker::reading(READS)?;
    let coordinator = coordinator(repository.path(), state.path(), &server.base_url())?;
    let report = runtime()?.block_on(coordinator.run(plan("- [ ] T1 Read\n")?))?;
    if report.exit_code != Some(0) {
        return Err(Failed::from(format!("the run failed: {report:#?}")));
    }
    let turns = server
        .turns()
        .into_iter()
        .take(READS as usize)
        .skip(WARM_UP)
        .map(ms)
        .collect();
    let commits = commits(coordinator.store(), &report.run_id)?;
    Ok(Round {
        turn: median(turns)?,
        commits: median(commits.into_iter().skip(WARM_UP).collect())?,
    })
}

/// Appends the events of a run again, and returns the times of those of each reading turn.
fn commits(store: &Store, run: &RunId) -> Result<Vec<f64>, Failed> {
    let facts = store.events(run, 0, usize::MAX)?;
    let is_turn = |fact: &Recorded| matches!(fact.event, Event::TurnStarted { .. });
    let first_turn = facts.iter().position(is_turn).unwrap_or(facts.len());
    let (before, turns) = facts.split_at(first_turn);
    let folder = state_folder()?;
    let journal = create(folder.path(), run, before)?;
    let mut costs = Vec::new();
    for turn in turns
        .chunk_by(|_, next| !is_turn(next))
        .take(READS as usize)
    {
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

/// Returns a turn's events in the engine's batches: its start with the request, every other event
/// by itself.
fn batches(store: &Store, turn: &[Recorded]) -> Result<Vec<Batch>, Failed> {
    let starts = |fact: &Recorded, _: &Recorded| matches!(fact.event, Event::TurnStarted { .. });
    let groups = turn.chunk_by(starts);
    groups
        .map(|group| {
            let mut batch = Batch::from(
                group
                    .iter()
                    .map(|fact| fact.event.clone())
                    .collect::<Vec<_>>(),
            );
            for id in group.iter().flat_map(|fact| blobs_of(&fact.event)) {
                batch = batch.with_blob(Blob::new(store.blob(id)?));
            }
            Ok(batch)
        })
        .collect()
}
