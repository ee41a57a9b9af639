//! Measures sixteen agents of ten turns each in their own worktrees: the time, and the memory
//! beyond one agent; and the cost of one agent alone, which never needs the tokenizer.
//!
//! Each run is a process of its own, so that the kernel reports its peak memory.

use std::process::{Command, Stdio};
use std::time::Instant;

use libtest_mimic::Failed;
use serde_json::{Value, json};

use crate::figure::{Figure, median, ms};
use crate::processor::{seconds, status_kb};
use crate::say;
use crate::stage::{Worker, open, plan, repository, runtime, settings, state_folder};
use crate::support::at;

/// Makes this program run a fleet of agents against a server, and print its cost.
pub(crate) const FLAG: &str = "--fleet";
const AGENTS: u32 = 16;
/// The agents that are at work at the same time, each in its own worktree.
const CROWD: u32 = 200;
/// The number of turns that read a file; a turn that writes one and the final reply follow.
const READS: u32 = 8;
const FILES: u32 = 200;
const SAMPLES: usize = 3;

/// The cost of one process.
struct Cost {
    ms: f64,
    peak_mb: f64,
    /// Anonymous memory at the end, without mapped files.
    anonymous_mb: f64,
    /// CPU time, including that of all processes that it has started.
    processor_seconds: f64,
}

pub(crate) fn measure() -> Result<Vec<Figure>, Failed> {
    let server = Worker::reading(READS)?;
    let samples = |agents| {
        (0..SAMPLES)
            .map(|_| cost_of(agents, &server))
            .collect::<Result<Vec<Cost>, Failed>>()
    };
    let (many, one) = (samples(AGENTS)?, samples(1)?);
    let time = |costs: &[Cost]| median(costs.iter().map(|cost| cost.ms).collect());
    let peak = |costs: &[Cost]| median(costs.iter().map(|cost| cost.peak_mb).collect());
    let (time_of_one, peak_of_one) = (time(&one)?, peak(&one)?);
    let anonymous = median(one.iter().map(|cost| cost.anonymous_mb).collect())?;
    let processor = median(one.iter().map(|cost| cost.processor_seconds).collect())?;
    let (time, peak, bare) = (time(&many)?, peak(&many)?, bare_worktrees()?);
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
            measured: anonymous,
            limit: 20.0,
            unit: "MB",
            beside: format!("its peak with the files that it has mapped {peak_of_one:.1} MB"),
        },
        Figure {
            name: "processor time of one agent of 10 short turns",
            measured: processor * 1e3,
            limit: 250.0,
            unit: "ms",
            beside: format!("it takes {time_of_one:.0} ms"),
        },
    ])
}

/// Measures the memory of a process whose agents are all at work at the same time.
pub(crate) fn measure_crowd() -> Result<Vec<Figure>, Failed> {
    let cost = cost_of(CROWD, &Worker::meeting(CROWD)?)?;
    Ok(vec![Figure {
        name: "memory of one process with 200 agents at once",
        measured: cost.peak_mb,
        limit: 250.0,
        unit: "MB",
        beside: format!(
            "in {:.1} s; {:.1} MB of it anonymous at the end",
            cost.ms / 1e3,
            cost.anonymous_mb
        ),
    }])
}

/// Runs a fleet in a process of its own; the server runs in this one, where its memory does not
/// count.
fn cost_of(agents: u32, server: &Worker) -> Result<Cost, Failed> {
    let this = std::env::current_exe()?;
    let arguments = [FLAG, &agents.to_string(), &server.base_url()];
    let output = Command::new(this)
        .args(arguments)
        .stderr(Stdio::inherit())
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Err(Failed::from(format!("a fleet of {agents}: {text}")));
    }
    let cost: Value = serde_json::from_str(&text)?;
    let number = |pointer| Ok::<_, Failed>(at(&cost, pointer)?.as_f64().unwrap_or_default());
    Ok(Cost {
        ms: number("/ms")?,
        peak_mb: number("/peak_kb")? / 1024.0,
        anonymous_mb: number("/anonymous_kb")? / 1024.0,
        processor_seconds: number("/processor_seconds")?,
    })
}

/// Runs in the process that [`cost_of`] starts.
pub(crate) fn serve(agents: &str, base_url: &str) -> Result<(), Failed> {
    let agents: u32 = agents.parse()?;
    let repository = repository(FILES)?;
    let state = state_folder()?;
    let tasks: String = (1..=agents)
        .map(|number| format!("- [ ] T{number} Work\n"))
        .collect();
    let plan = plan(&tasks)?;
    let (since, before) = (Instant::now(), seconds()?);
    let mut settings = settings(state.path(), base_url);
    settings.run.max_agents = usize::try_from(agents)?.max(settings.run.max_agents);
    let coordinator = open(repository.path(), settings)?;
    let report = runtime()?.block_on(coordinator.run(plan))?;
    let cost = json!({
        "ms": ms(since.elapsed()),
        "processor_seconds": seconds()? - before,
        "peak_kb": status_kb("VmHWM")?,
        "anonymous_kb": status_kb("RssAnon")?,
    });
    if report.exit_code != Some(0) {
        return Err(Failed::from(format!("the run failed: {report:#?}")));
    }
    say(&cost.to_string());
    Ok(())
}

/// Creates as many worktrees with git itself, and returns the time in milliseconds.
fn bare_worktrees() -> Result<f64, Failed> {
    let repository = repository(FILES)?;
    let folder = state_folder()?;
    let since = Instant::now();
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
    Ok(ms(since.elapsed()))
}
