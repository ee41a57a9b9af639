//! Measures the price of commands, turns, agents and tasks: what `just bench fleet` prints.
//!
//! Costs are CPU time of all our processes, also of those that they have started, unless a figure
//! is the time by the clock. Memory is the sum of the anonymous memory of all our processes.

use std::sync::{Arc, Mutex, PoisonError};

use libtest_mimic::Failed;
use orchestrate_coordinator::ConfinementChoice;
use serde_json::{Value, json};

use super::turns::cpu_of_commits;
use crate::measuring::{
    Figure, Place, Worker, add_worktrees, anonymous_mb_below, children_seconds, coordinator_in,
    costs_of, median, places, repository, run, seconds, state_folder, tasks, tier,
};
use crate::program::start::{checkout_time, repository_of_900_files, warm_start};
use crate::support::{Home, Repository};
use crate::tools::commands::run_shell;

const SAMPLES: usize = 3;
/// The turns of the two agents whose difference is the cost of a turn: what a run costs besides its
/// turns is the same for both. No agent takes more than 60.
const FEW_TURNS: u32 = 10;
const MANY_TURNS: u32 = 50;
/// The size of the repository in which turns and tasks are measured.
const FILES: u32 = 20;
const AGENTS: u32 = 16;
const COMMANDS: u32 = 10;
/// The agents that wait at the same time, each in its own worktree.
const CROWD: u32 = 200;

/// Measures all figures except those of very long runs.
pub(crate) fn measure() -> Result<Vec<Figure>, Failed> {
    let mut figures = Vec::new();
    for place in places() {
        figures.push(command(place)?);
    }
    figures.push(shell_turn()?);
    figures.push(reading_turn()?);
    figures.extend(sixteen()?);
    figures.push(crowd()?);
    figures.push(echoes("a `run: echo` task in a run of 25", 25, 15.0)?);
    figures.push(echoes("a `run: echo` task in a run of 400", 400, 18.0)?);
    figures.push(first_request()?);
    Ok(figures)
}

/// Measures a run of very many tasks.
pub(crate) fn measure_long() -> Result<Vec<Figure>, Failed> {
    let name = "a `run: echo` task in a run of 1,600";
    Ok(vec![echoes(name, 1_600, 18.0)?])
}

/// Measures a command of an agent beside the same command in a shell alone.
fn command(place: Place) -> Result<Figure, Failed> {
    let costs = place.costs_of(SAMPLES, &["commands"])?;
    let (ours, shell) = (costs.of("cpu_ms")?, costs.of("shell_cpu_ms")?);
    Ok(Figure {
        name: "a command above `sh -c` alone",
        measured: ours - shell,
        limit: 1.0,
        unit: "ms",
        beside: format!("{}: {ours:.1} ms, `sh -c` {shell:.1} ms", place.in_words()),
    })
}

fn shell_turn() -> Result<Figure, Failed> {
    let (few, many) = (Worker::running(FEW_TURNS)?, Worker::running(MANY_TURNS)?);
    turn("a shell turn, beyond its commits", 5.0, &[few, many])
}

fn reading_turn() -> Result<Figure, Failed> {
    let (few, many) = (Worker::reading(FEW_TURNS)?, Worker::reading(MANY_TURNS)?);
    turn(
        "a turn with one in-process call, beyond its commits",
        1.5,
        &[few, many],
    )
}

/// Measures a turn by the difference of two agents, whose servers these are.
fn turn(name: &'static str, limit: f64, servers: &[Worker; 2]) -> Result<Figure, Failed> {
    let [few, many] = servers.each_ref().map(Worker::base_url);
    let costs = costs_of(SAMPLES, &["turns", &few, &many])?;
    let (turn, commits) = (costs.of("turn_ms")?, costs.of("commits_ms")?);
    Ok(Figure {
        name,
        measured: costs.of("beyond_ms")?,
        limit,
        unit: "ms",
        beside: format!("the turn {turn:.2} ms, the commits of its facts alone {commits:.2} ms"),
    })
}

/// Runs two agents, one after the other, each with a model server, and returns what one turn costs.
pub(crate) fn part_of_turns(arguments: &[String]) -> Result<Value, Failed> {
    let repository = repository(MANY_TURNS.max(FILES))?;
    let few = cost_of_turns(&repository, FEW_TURNS, &arguments[0])?;
    let many = cost_of_turns(&repository, MANY_TURNS, &arguments[1])?;
    let turns = f64::from(MANY_TURNS - FEW_TURNS);
    let turn = (many.run_ms - few.run_ms) / turns;
    let commits = (many.commits_ms - few.commits_ms) / turns;
    Ok(json!({ "turn_ms": turn, "commits_ms": commits, "beyond_ms": turn - commits }))
}

/// What a run of one agent costs, and the commits of its turns alone.
struct CostOfTurns {
    run_ms: f64,
    commits_ms: f64,
}

fn cost_of_turns(
    repository: &Repository,
    turns: u32,
    base_url: &str,
) -> Result<CostOfTurns, Failed> {
    let (state, before) = (state_folder()?, seconds()?);
    let choice = ConfinementChoice::Strongest;
    let coordinator = coordinator_in(choice, repository.path(), state.path(), base_url)?;
    let (report, facts) = run(&coordinator, &tasks(1))?;
    let run_ms = (seconds()? - before) * 1e3;
    let store = coordinator.store();
    let commits_ms = cpu_of_commits(store, &report.run_id, &facts, turns as usize)?;
    Ok(CostOfTurns { run_ms, commits_ms })
}

/// Measures sixteen agents that run ten commands each in full checkouts of the package.
fn sixteen() -> Result<Vec<Figure>, Failed> {
    let peak = Arc::new(Mutex::new(0.0_f64));
    let server = Worker::running_seen(COMMANDS, {
        let peak = Arc::clone(&peak);
        move || see_peak(&peak)
    })?;
    let costs = costs_of(SAMPLES, &["sixteen", "full", &server.base_url()])?;
    let (cpu, bare) = (costs.of("cpu_seconds")?, costs.of("bare_cpu_seconds")?);
    let peak = *peak.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(vec![
        Figure {
            name: "16 agents x 10 commands, full checkouts",
            measured: cpu,
            limit: 2.6,
            unit: "s",
            beside: format!("`git worktree add` 16 times and `sh -c` 160 times {bare:.2} s"),
        },
        Figure {
            name: "the most memory of these 16 agents",
            measured: peak,
            limit: 50.0,
            unit: "MB",
            beside: format!(
                "in {SAMPLES} runs, at their {} requests",
                AGENTS * (COMMANDS + 1)
            ),
        },
    ])
}

/// Notes how much memory is in use, if that is more than before.
fn see_peak(peak: &Mutex<f64>) {
    let mut peak = peak.lock().unwrap_or_else(PoisonError::into_inner);
    *peak = peak.max(anonymous_mb_below().unwrap_or_default());
}

/// Runs sixteen agents in a tier, with a model server; the bare counterpart is as many worktrees
/// and commands, one after the other.
pub(crate) fn part_of_sixteen(arguments: &[String]) -> Result<Value, Failed> {
    let (repository, state) = (repository_of_900_files()?, state_folder()?);
    let choice = ConfinementChoice::Exactly(tier(arguments));
    let before = seconds()?;
    let coordinator = coordinator_in(choice, repository.path(), state.path(), &arguments[1])?;
    run(&coordinator, &tasks(AGENTS))?;
    drop(coordinator);
    let cpu = seconds()? - before;
    let before = seconds()?;
    add_worktrees(&repository, AGENTS)?;
    for _ in 0..AGENTS * COMMANDS {
        run_shell()?;
    }
    Ok(json!({ "cpu_seconds": cpu, "bare_cpu_seconds": seconds()? - before }))
}

/// Measures the memory of agents that all wait for their model at the same time.
fn crowd() -> Result<Figure, Failed> {
    let seen = Arc::new(Mutex::new(0.0_f64));
    let server = Worker::meeting_seen(CROWD, {
        let seen = Arc::clone(&seen);
        move || see_peak(&seen)
    })?;
    let cost = costs_of(1, &["agents", &CROWD.to_string(), &server.base_url()])?;
    let seen = *seen.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(Figure {
        name: "200 agents alive, waiting",
        measured: seen,
        limit: 60.0,
        unit: "MB",
        beside: format!("the peak with mapped files {:.1} MB", cost.of("peak_mb")?),
    })
}

/// Measures what a task of one command costs in a run of so many, beside the command alone.
fn echoes(name: &'static str, tasks: u32, limit: f64) -> Result<Figure, Failed> {
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..SAMPLES {
        ours.push(cost_of_echoes(tasks)?);
        bare.push(cost_of_shells(tasks)?);
    }
    Ok(Figure {
        name,
        measured: median(&ours)?,
        limit,
        unit: "ms",
        beside: format!("`sh -c` alone {:.1} ms", median(&bare)?),
    })
}

fn cost_of_echoes(tasks: u32) -> Result<f64, Failed> {
    let (home, repository) = (Home::new()?, repository(FILES)?);
    let lines = (1..=tasks).map(|number| format!("- [ ] T{number} Say it (run: echo {number})\n"));
    repository.write("plan.md", &lines.collect::<String>())?;
    repository.commit_all("Plan")?;
    let before = children_seconds()?;
    let ran = home.orchestrate(repository.path(), &["run", "plan.md"]);
    ran.run()?.exits(0)?;
    Ok((children_seconds()? - before) * 1e3 / f64::from(tasks))
}

fn cost_of_shells(tasks: u32) -> Result<f64, Failed> {
    let before = seconds()?;
    for _ in 0..tasks {
        run_shell()?;
    }
    Ok((seconds()? - before) * 1e3 / f64::from(tasks))
}

/// Measures the time by the clock from the start of a later run to its first request.
fn first_request() -> Result<Figure, Failed> {
    let repository = repository_of_900_files()?;
    let start = warm_start(&repository)?;
    Ok(Figure {
        name: "start to first request, warm",
        measured: start,
        limit: 80.0,
        unit: "ms",
        beside: format!("`git worktree add` {:.0} ms", checkout_time(&repository)?),
    })
}
