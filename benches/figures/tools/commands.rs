//! Measures what a shell command costs through the whole executor, beyond the same command without
//! it.
//!
//! Each call is followed immediately by its bare counterpart, so that load on the machine slows
//! both: in the full tier `bwrap` with namespaces and its own view of the file system, in the
//! fallback tier the shell alone.

use std::process::{Command, Stdio};

use libtest_mimic::Failed;
use orchestrate_sandbox::Confinement;
use serde_json::{Value, json};

use crate::measuring::{
    Figure, Pairs, Place, call, harness, places, runtime, seconds, tier, timed,
};

const COMMAND: &str = "echo";
/// What confines the bare command in the full tier.
const BWRAP: &str = "bwrap --unshare-all --die-with-parent --new-session --ro-bind / / \
                     --proc /proc --dev /dev --tmpfs /tmp";
const PAIRS: usize = 60;
/// Pairs that are not counted: the first calls find the toolchain and fill caches.
const WARM_UP: usize = 5;

pub(crate) fn measure() -> Result<Vec<Figure>, Failed> {
    places().into_iter().map(figure).collect()
}

fn figure(place: Place) -> Result<Figure, Failed> {
    let costs = place.costs_of(1, &["commands"])?;
    let (name, limit, bare) = match place.confinement {
        Confinement::Full => ("shell command beyond `bwrap`", 6.0, "bwrap"),
        _ => ("shell command beyond `sh`", 4.0, "sh"),
    };
    let (ours, alone) = (costs.of("ms")?, costs.of("bare_ms")?);
    Ok(Figure {
        name,
        measured: costs.of("beyond_ms")?,
        limit,
        unit: "ms",
        beside: format!(
            "{}: {ours:.1} ms, {:.1} times {bare} alone, {alone:.1} ms; of the processor {:.1} ms and {:.1} ms",
            place.in_words(),
            ours / alone,
            costs.of("cpu_ms")?,
            costs.of("bare_cpu_ms")?
        ),
    })
}

/// Runs the commands in a tier. CPU time is counted in hundredths of a second only, so that its
/// mean alone says something.
pub(crate) fn part(arguments: &[String]) -> Result<Value, Failed> {
    let confinement = tier(arguments);
    let (harness, runtime) = (harness(confinement)?, runtime()?);
    let echo = json!({ "command": COMMAND });
    let (mut cpu, mut bare_cpu) = (Vec::new(), Vec::new());
    let pairs = Pairs::measure(
        WARM_UP + PAIRS,
        || {
            let before = seconds()?;
            let echo = harness.make_call("run_shell_command", echo.clone());
            let time = timed(|| runtime.block_on(call(&harness, &echo)))?;
            cpu.push(seconds()? - before);
            Ok(time)
        },
        || {
            let before = seconds()?;
            let time = timed(|| run_bare(confinement))?;
            bare_cpu.push(seconds()? - before);
            Ok(time)
        },
    )?
    .without_first(WARM_UP);
    Ok(json!({
        "beyond_ms": pairs.beyond()?,
        "ms": pairs.ours()?,
        "cpu_ms": cpu[WARM_UP..].iter().sum::<f64>() * 1e3 / PAIRS as f64,
        "bare_ms": pairs.bare()?,
        "bare_cpu_ms": bare_cpu[WARM_UP..].iter().sum::<f64>() * 1e3 / PAIRS as f64,
        "shell_cpu_ms": shell_cpu()?,
    }))
}

/// Returns the CPU time of the command in a shell that nothing confines, in milliseconds.
fn shell_cpu() -> Result<f64, Failed> {
    let before = seconds()?;
    for _ in 0..PAIRS {
        run_shell()?;
    }
    Ok((seconds()? - before) * 1e3 / PAIRS as f64)
}

/// Runs the command in a shell that nothing confines.
pub(crate) fn run_shell() -> Result<(), Failed> {
    run_bare(Confinement::Fallback)
}

fn run_bare(confinement: Confinement) -> Result<(), Failed> {
    let mut words: Vec<&str> = match confinement {
        Confinement::Full => BWRAP.split_whitespace().collect(),
        _ => Vec::new(),
    };
    words.extend(["sh", "-c", COMMAND]);
    let mut command = Command::new(words[0]);
    let output = command.args(&words[1..]).stdin(Stdio::null()).output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err("the bare command failed".into()),
    }
}
