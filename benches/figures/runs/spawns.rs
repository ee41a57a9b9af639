//! Measures what a spawn costs beside its worktree: from the call until the child's first request
//! arrives, without the time between the facts that it was spawned and that its worktree is
//! prepared.

use std::time::Instant;

use libtest_mimic::Failed;
use orchestrate_coordinator::ChildSpec;
use orchestrate_core::{Event, Recorded};

use crate::measuring::{
    Figure, Worker, coordinator, median, ms, repository, runtime, state_folder,
};

const FILES: u32 = 200;
const CHILDREN: usize = 30;

pub(crate) fn measure() -> Result<Vec<Figure>, Failed> {
    let (server, repository, state) = (Worker::reading(0)?, repository(FILES)?, state_folder()?);
    let coordinator = coordinator(repository.path(), state.path(), &server.base_url())?;
    let (until_first_request, report) = runtime()?.block_on(async {
        let mut times = Vec::new();
        // The first child also begins the run.
        for number in 0..=CHILDREN {
            let (requests, since) = (server.arrivals().len(), Instant::now());
            let child = ChildSpec::new(format!("Write part {number}"));
            coordinator.spawn(child).await?.wait().await?;
            let first = server.arrivals().get(requests).copied();
            let first = first.ok_or("the child made no request")?;
            times.push(ms(first.saturating_duration_since(since)));
        }
        Ok::<_, Failed>((times.split_off(1), coordinator.finish().await?))
    })?;
    let report = report.ok_or("the children had no run")?;
    let facts = coordinator.store().events(&report.run_id, 0, usize::MAX)?;
    let worktrees = preparations(&facts).split_off(1);
    let pairs = until_first_request.iter().zip(&worktrees);
    let beside: Vec<f64> = pairs.map(|pair| pair.0 - pair.1).collect();
    let (all, worktree) = (median(&until_first_request)?, median(&worktrees)?);
    Ok(vec![Figure {
        name: "a spawn beside its worktree, until the first request",
        measured: median(&beside)?,
        limit: 5.0,
        unit: "ms",
        beside: format!(
            "{all:.1} ms in all, of which the worktree of {FILES} files {worktree:.0} ms"
        ),
    }])
}

/// Returns how many milliseconds passed between the spawning of each agent and the end of its
/// worktree's preparation.
fn preparations(facts: &[Recorded]) -> Vec<f64> {
    let mut times = Vec::new();
    for spawned in facts {
        if !matches!(spawned.event, Event::AgentSpawned { .. }) {
            continue;
        }
        let prepared = facts.iter().find(|fact| {
            matches!(fact.event, Event::WorktreePrepared { .. })
                && fact.event.task() == spawned.event.task()
        });
        let end = prepared.map_or(spawned.ts_ms, |prepared| prepared.ts_ms);
        times.push(end.saturating_sub(spawned.ts_ms) as f64);
    }
    times
}
