//! Measures what a shell command costs through the whole executor, beyond the same command without
//! it.
//!
//! Each call is followed immediately by its bare counterpart, so that load on the machine slows
//! both: in the full tier `bwrap` with namespaces and its own view of the file system, in the
//! fallback tier the shell alone.

use std::process::{Command, Stdio};
use std::time::Instant;

use libtest_mimic::Failed;
use orchestrate_sandbox::{Confinement, Helper, Sandbox};
use orchestrate_tool_testing::harness::ToolHarness;
use orchestrate_tools::builtin_tools;
use serde_json::{Value, json};

use crate::figure::{Figure, median, ms};
use crate::stage::runtime;
use crate::support::at;
use crate::tiers::{Place, places, tier};
use crate::{processor, say};

/// Makes this program measure one tier as its own user, and print the result.
pub(crate) const FLAG: &str = "--commands";
const COMMAND: &str = "echo";
const PAIRS: usize = 60;
/// Pairs that are not counted: the first calls find the toolchain and fill caches.
const WARM_UP: usize = 5;

pub(crate) fn measure() -> Result<Vec<Figure>, Failed> {
    places().into_iter().map(figure).collect()
}

fn figure(place: Place) -> Result<Figure, Failed> {
    let cost = place.measure(&[FLAG, place.tier()])?;
    let number = |pointer| Ok::<_, Failed>(at(&cost, pointer)?.as_f64().unwrap_or_default());
    let (name, limit, bare) = match place.confinement {
        Confinement::Full => ("shell command beyond `bwrap`", 6.0, "bwrap"),
        _ => ("shell command beyond `sh`", 4.0, "sh"),
    };
    let (ours, alone) = (number("/ours/ms")?, number("/bare/ms")?);
    Ok(Figure {
        name,
        measured: number("/beyond_ms")?,
        limit,
        unit: "ms",
        beside: format!(
            "{}: {ours:.1} ms, {:.1} times {bare} alone, {alone:.1} ms; of the processor {:.1} ms and {:.1} ms",
            place.in_words(),
            ours / alone,
            number("/ours/cpu_ms")?,
            number("/bare/cpu_ms")?
        ),
    })
}

/// Runs in the process that [`measure`] starts.
pub(crate) fn serve(name: &str) -> Result<(), Failed> {
    let confinement = tier(name);
    let sandbox = Sandbox::with(confinement, Helper::default())
        .map_err(|error| Failed::from(error.to_string()))?;
    let harness = ToolHarness::new(builtin_tools(&|_| None)?, sandbox)?;
    let runtime = runtime()?;
    let (mut ours, mut bare, mut beyond) = (Vec::new(), Vec::new(), Vec::new());
    for pair in 0..WARM_UP + PAIRS {
        let call = cost(|| {
            let output =
                runtime.block_on(harness.call("run_shell_command", json!({ "command": COMMAND })));
            output
                .error
                .map_or(Ok(()), |error| Err(Failed::from(error)))
        })?;
        let alone = cost(|| run_bare(confinement))?;
        if pair >= WARM_UP {
            beyond.push(call.ms - alone.ms);
            ours.push(call);
            bare.push(alone);
        }
    }
    say(
        &json!({ "beyond_ms": median(beyond)?, "ours": summary(&ours)?, "bare": summary(&bare)? })
            .to_string(),
    );
    Ok(())
}

fn run_bare(confinement: Confinement) -> Result<(), Failed> {
    let mut command = match confinement {
        Confinement::Full => {
            let mut command = Command::new("bwrap");
            command.args([
                "--unshare-all",
                "--die-with-parent",
                "--new-session",
                "--ro-bind",
                "/",
                "/",
            ]);
            command.args([
                "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "sh", "-c", COMMAND,
            ]);
            command
        }
        _ => {
            let mut command = Command::new("sh");
            command.args(["-c", COMMAND]);
            command
        }
    };
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        Ok(())
    } else {
        Err(Failed::from("the bare command failed"))
    }
}

/// The cost of one command.
struct Cost {
    ms: f64,
    /// CPU time, counted in hundredths of a second only, so that a single value means nothing.
    cpu_ms: f64,
}

fn cost(run: impl FnOnce() -> Result<(), Failed>) -> Result<Cost, Failed> {
    let (cpu, since) = (processor::seconds()?, Instant::now());
    run()?;
    let ms = ms(since.elapsed());
    Ok(Cost {
        ms,
        cpu_ms: (processor::seconds()? - cpu) * 1e3,
    })
}

/// Returns the median of the wall-clock times, and the mean of the CPU times.
fn summary(costs: &[Cost]) -> Result<Value, Failed> {
    let wall = median(costs.iter().map(|cost| cost.ms).collect())?;
    let cpu: f64 = costs.iter().map(|cost| cost.cpu_ms).sum();
    Ok(json!({ "ms": wall, "cpu_ms": cpu / costs.len() as f64 }))
}
