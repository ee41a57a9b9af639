//! Measures sixteen agents that run ten commands each in their own worktrees, in each tier and as
//! each user.

use std::process::{Command, Stdio};
use std::time::Instant;

use libtest_mimic::Failed;
use orchestrate_coordinator::ConfinementChoice;
use serde_json::{Value, json};

use crate::measuring::{
    Figure, Place, Worker, add_worktrees, coordinator_in, places, repository, run, seconds,
    state_folder, tasks, tier,
};

const AGENTS: u32 = 16;
const COMMANDS: u32 = 10;
const FILES: u32 = 868;
const SAMPLES: usize = 3;

pub(crate) fn measure() -> Result<Vec<Figure>, Failed> {
    let server = Worker::running(COMMANDS)?;
    let places = places().into_iter();
    places.map(|place| figure(place, &server)).collect()
}

fn figure(place: Place, server: &Worker) -> Result<Figure, Failed> {
    let costs = place.costs_of(SAMPLES, &["shells", &server.base_url()])?;
    let (seconds, bare) = (costs.of("seconds")?, costs.of("bare_seconds")?);
    let (cpu, bare_cpu) = (costs.of("cpu_seconds")?, costs.of("bare_cpu_seconds")?);
    Ok(Figure {
        name: "16 agents x 10 commands in worktrees of 868 files",
        measured: seconds,
        limit: 2.0,
        unit: "s",
        beside: format!(
            "{}: {:.1} times git worktree add 16 times and `sh` 160 times, which took {bare:.2} s; of the processor \
             {cpu:.1} s, {:.1} times the {bare_cpu:.1} s of those",
            place.in_words(),
            seconds / bare,
            cpu / bare_cpu
        ),
    })
}

/// Runs the agents in a tier, with a model server. The bare counterpart is as many worktrees and
/// commands, one after the other.
///
/// Both sides mostly create files, for which some file systems need longer the more files were
/// removed in the last minutes: the wall-clock time alone says little on a machine that has just
/// measured something else.
pub(crate) fn part(arguments: &[String]) -> Result<Value, Failed> {
    let (repository, state) = (repository(FILES)?, state_folder()?);
    let choice = ConfinementChoice::Exactly(tier(arguments));
    let coordinator = coordinator_in(choice, repository.path(), state.path(), &arguments[1])?;
    let (since, cpu) = (Instant::now(), seconds()?);
    run(&coordinator, &tasks(AGENTS))?;
    let (took, took_cpu) = (since.elapsed(), seconds()? - cpu);
    let (since, cpu) = (Instant::now(), seconds()?);
    add_worktrees(&repository, AGENTS)?;
    for _ in 0..AGENTS * COMMANDS {
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo"]).stdin(Stdio::null()).output()?;
    }
    Ok(json!({
        "seconds": took.as_secs_f64(),
        "cpu_seconds": took_cpu,
        "bare_seconds": since.elapsed().as_secs_f64(),
        "bare_cpu_seconds": seconds()? - cpu,
    }))
}
