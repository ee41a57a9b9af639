//! Measures sixteen agents of ten turns each in their own worktrees: the time, and the memory
//! beyond one agent; and the cost of one agent alone, which never needs the tokenizer.
//!
//! Each run is a process of its own, so that the kernel reports its peak memory; the server runs in
//! this one.

use std::time::Instant;

use libtest_mimic::Failed;
use serde_json::{Value, json};

use crate::measuring::{
    Figure, Worker, add_worktrees, costs_of, ms, open, repository, run, seconds, settings,
    state_folder, status_kb, tasks,
};

const AGENTS: u32 = 16;
/// The agents that are at work at the same time, each in its own worktree.
const CROWD: u32 = 200;
/// The number of turns that read a file; a turn that writes one and the final reply follow.
const READS: u32 = 8;
const FILES: u32 = 200;
const SAMPLES: usize = 3;

pub(crate) fn measure() -> Result<Vec<Figure>, Failed> {
    let server = Worker::reading(READS)?;
    let many = costs_of(
        SAMPLES,
        &["agents", &AGENTS.to_string(), &server.base_url()],
    )?;
    let one = costs_of(SAMPLES, &["agents", "1", &server.base_url()])?;
    let (time_of_one, peak_of_one) = (one.of("ms")?, one.of("peak_mb")?);
    let (time, peak) = (many.of("ms")?, many.of("peak_mb")?);
    let bare = add_worktrees(&repository(FILES)?, AGENTS)?;
    Ok(vec![
        Figure {
            name: "16 agents x 10 turns in 16 worktrees of 200 files",
            measured: time / 1e3,
            limit: 3.0,
            unit: "s",
            beside: format!(
                "one agent {:.2} s, git worktree add 16 times {:.2} s",
                time_of_one / 1e3,
                bare / 1e3
            ),
        },
        Figure {
            name: "their memory beyond one agent",
            measured: peak - peak_of_one,
            limit: 40.0,
            unit: "MB",
            beside: format!("16 agents {peak:.1} MB, one agent {peak_of_one:.1} MB"),
        },
        Figure {
            name: "memory of one agent of 10 short turns",
            measured: one.of("anonymous_mb")?,
            limit: 20.0,
            unit: "MB",
            beside: format!("its peak with the files that it has mapped {peak_of_one:.1} MB"),
        },
        Figure {
            name: "processor time of one agent of 10 short turns",
            measured: one.of("cpu_seconds")? * 1e3,
            limit: 250.0,
            unit: "ms",
            beside: format!("it takes {time_of_one:.0} ms"),
        },
    ])
}

/// Measures the memory of a process whose agents are all at work at the same time.
pub(crate) fn measure_crowd() -> Result<Vec<Figure>, Failed> {
    let server = Worker::meeting(CROWD)?;
    let cost = costs_of(1, &["agents", &CROWD.to_string(), &server.base_url()])?;
    Ok(vec![Figure {
        name: "memory of one process with 200 agents at once",
        measured: cost.of("peak_mb")?,
        limit: 250.0,
        unit: "MB",
        beside: format!(
            "in {:.1} s; {:.1} MB of it anonymous at the end",
            cost.of("ms")? / 1e3,
            cost.of("anonymous_mb")?
        ),
    }])
}

/// Runs this many agents, with a model server. The anonymous memory is that at the end, without
/// mapped files; the CPU time includes that of all processes that were started.
pub(crate) fn part(arguments: &[String]) -> Result<Value, Failed> {
    let agents: u32 = arguments[0].parse()?;
    let (repository, state) = (repository(FILES)?, state_folder()?);
    let (since, before) = (Instant::now(), seconds()?);
    let mut settings = settings(state.path(), &arguments[1]);
    settings.run.max_agents = usize::try_from(agents)?.max(settings.run.max_agents);
    let coordinator = open(repository.path(), settings)?;
    run(&coordinator, &tasks(agents))?;
    Ok(json!({
        "ms": ms(since.elapsed()),
        "cpu_seconds": seconds()? - before,
        "peak_mb": status_kb("VmHWM")? as f64 / 1024.0,
        "anonymous_mb": status_kb("RssAnon")? as f64 / 1024.0,
    }))
}
