//! Measures sixteen agents that run ten commands each in their own worktrees, in each tier and as
//! each user.

use std::process::{Command, Stdio};
use std::time::Instant;

use libtest_mimic::Failed;
use orchestrate_coordinator::ConfinementChoice;
use serde_json::{Value, json};

use crate::figure::{Figure, median, ms};
use crate::stage::{Worker, coordinator_in, plan, repository, runtime, state_folder};
use crate::support::{Repository, at};
use crate::tiers::{Place, places, tier};
use crate::{processor, say};

/// Makes this program run the agents in one tier as its own user, and print their cost.
pub(crate) const FLAG: &str = "--shells";
const AGENTS: u32 = 16;
const COMMANDS: u32 = 10;
const FILES: u32 = 868;
const SAMPLES: usize = 3;

pub(crate) fn measure() -> Result<Vec<Figure>, Failed> {
    let server = Worker::running(COMMANDS)?;
    places()
        .into_iter()
        .map(|place| figure(place, &server))
        .collect()
}

fn figure(place: Place, server: &Worker) -> Result<Figure, Failed> {
    let (mut seconds, mut cpu, mut bare, mut bare_cpu) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..SAMPLES {
        let cost = place.measure(&[FLAG, place.tier(), &server.base_url()])?;
        let number = |pointer| Ok::<_, Failed>(at(&cost, pointer)?.as_f64().unwrap_or_default());
        seconds.push(number("/seconds")?);
        cpu.push(number("/cpu_seconds")?);
        bare.push(number("/bare/seconds")?);
        bare_cpu.push(number("/bare/cpu_seconds")?);
    }
    let (seconds, cpu, bare, bare_cpu) = (
        median(seconds)?,
        median(cpu)?,
        median(bare)?,
        median(bare_cpu)?,
    );
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

/// Runs in the process that [`measure`] starts.
pub(crate) fn serve(name: &str, base_url: &str) -> Result<(), Failed> {
    let repository = repository(FILES)?;
    let state = state_folder()?;
    let tasks: String = (1..=AGENTS)
        .map(|number| format!("- [ ] T{number} Work\n"))
        .collect();
    let (plan, choice) = (plan(&tasks)?, ConfinementChoice::Exactly(tier(name)));
    let coordinator = coordinator_in(choice, repository.path(), state.path(), base_url)?;
    let (since, cpu) = (Instant::now(), processor::seconds()?);
    let report = runtime()?.block_on(coordinator.run(plan))?;
    let (seconds, cpu_seconds) = (ms(since.elapsed()) / 1e3, processor::seconds()? - cpu);
    if report.exit_code != Some(0) {
        return Err(Failed::from(format!("the run failed: {report:#?}")));
    }
    let cost =
        json!({ "seconds": seconds, "cpu_seconds": cpu_seconds, "bare": bare(&repository)? });
    say(&cost.to_string());
    Ok(())
}

/// Creates as many worktrees with git itself and runs as many bare commands, one after the other.
///
/// Both sides mostly create files, for which some file systems need longer the more files were
/// removed in the last minutes: the wall-clock time alone says little on a machine that has just
/// measured something else.
fn bare(repository: &Repository) -> Result<Value, Failed> {
    let folder = state_folder()?;
    let (since, cpu) = (Instant::now(), processor::seconds()?);
    for number in 1..=AGENTS {
        let path = folder.path().join(number.to_string());
        repository.git(&[
            "worktree",
            "add",
            "-q",
            "--detach",
            &path.display().to_string(),
        ])?;
    }
    for _ in 0..AGENTS * COMMANDS {
        Command::new("sh")
            .args(["-c", "echo"])
            .stdin(Stdio::null())
            .output()?;
    }
    Ok(json!({ "seconds": ms(since.elapsed()) / 1e3, "cpu_seconds": processor::seconds()? - cpu }))
}
