//! Measures what one turn that reads a small file costs, beyond the journal's commits of that turn.
//!
//! The commits are measured by appending the same events and blobs, batch by batch, to another
//! journal on the same disk.

use libtest_mimic::Failed;
use orchestrate_core::{Event, Recorded, RunId};
use orchestrate_journal::{Batch, Blob, Journal, Store};

use crate::measuring::{
    Figure, Worker, coordinator, median, ms, repository, run, seconds, state_folder, timed,
};
use crate::support::Repository;
use crate::support::journal_bytes::blobs_of;

/// Turns that read a file: fewer than the maximum number of turns of an agent.
const READS: u32 = 50;
/// Turns that are not counted, since memory and caches are still being filled.
const WARM_UP: usize = 10;
/// Runs, each followed immediately by its bare counterpart, since the load of other programs on the
/// disk varies.
const ROUNDS: usize = 5;

pub(crate) fn measure() -> Result<Vec<Figure>, Failed> {
    let repository = repository(READS)?;
    let (mut turns, mut commits, mut beyond) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (turn, commit) = round(&repository)?;
        turns.push(turn);
        commits.push(commit);
        beyond.push(turn - commit);
    }
    let (turn, commits) = (median(&turns)?, median(&commits)?);
    Ok(vec![Figure {
        name: "turn that reads a small file, beyond its commits",
        measured: median(&beyond)?,
        limit: 2.0,
        unit: "ms",
        beside: format!("the turn {turn:.2} ms, the commits of its facts alone {commits:.2} ms"),
    }])
}

/// Runs one agent that reads files, and then commits the events of its turns alone; returns the
/// median of a turn and of its commits, in milliseconds.
fn round(repository: &Repository) -> Result<(f64, f64), Failed> {
    let (state, server) = (state_folder()?, Worker::reading(READS)?);
    let coordinator = coordinator(repository.path(), state.path(), &server.base_url())?;
    let (report, facts) = run(&coordinator, "- [ ] T1 Read\n")?;
    let turns: Vec<f64> = server.turns().into_iter().map(ms).collect();
    let number = READS as usize;
    let commits = commits(coordinator.store(), &report.run_id, &facts, number)?;
    let counted = WARM_UP..READS as usize;
    Ok((median(&turns[counted.clone()])?, median(&commits[counted])?))
}

/// Appends the events of a run's first turns again, and returns the CPU time, in milliseconds.
pub(crate) fn cpu_of_commits(
    store: &Store,
    run: &RunId,
    facts: &[Recorded],
    turns: usize,
) -> Result<f64, Failed> {
    let before = seconds()?;
    commits(store, run, facts, turns)?;
    Ok((seconds()? - before) * 1e3)
}

/// Appends the events of a run's first turns again, and returns the times of each of them.
fn commits(
    store: &Store,
    run: &RunId,
    facts: &[Recorded],
    number: usize,
) -> Result<Vec<f64>, Failed> {
    let first_turn = facts.iter().position(starts_turn).unwrap_or(facts.len());
    let (before, turns) = facts.split_at(first_turn);
    let folder = state_folder()?;
    let journal = Journal::create(&Store::open(folder.path())?, run, events(before))?;
    let turns = turns.chunk_by(|_, next| !starts_turn(next));
    let mut costs = Vec::new();
    for turn in turns.take(number) {
        let batches = batches(store, turn)?;
        costs.push(timed(|| {
            for batch in batches {
                journal.append_blocking(batch)?;
            }
            Ok(())
        })?);
    }
    Ok(costs)
}

fn starts_turn(fact: &Recorded) -> bool {
    matches!(fact.event, Event::TurnStarted { .. })
}

fn events(facts: &[Recorded]) -> Vec<Event> {
    facts.iter().map(|fact| fact.event.clone()).collect()
}

/// Returns a turn's events in the engine's batches: its start with the request, every other event
/// by itself.
fn batches(store: &Store, turn: &[Recorded]) -> Result<Vec<Batch>, Failed> {
    let mut batches = Vec::new();
    for group in turn.chunk_by(|fact, _| starts_turn(fact)) {
        let mut batch = Batch::from(events(group));
        for id in group.iter().flat_map(|fact| blobs_of(&fact.event)) {
            batch = batch.with_blob(Blob::new(store.blob(id)?));
        }
        batches.push(batch);
    }
    Ok(batches)
}
