//! What the first command of the README has to build, from nothing, in seconds of the processor.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Instant;

use libtest_mimic::Failed;

use crate::figure::Figure;

/// Ticks of `/proc` in a second: `USER_HZ`, which Linux fixes for programs.
const TICKS: f64 = 100.0;
/// Fields of `/proc/self/stat` after the program's name and before the time of children: state to `stime`.
const BEFORE_CHILDREN: usize = 13;

pub(crate) fn measure() -> Result<Vec<Figure>, Failed> {
    let target = tempfile::Builder::new().prefix("orchestrate-build-").tempdir()?;
    let (before, since) = (children_seconds()?, Instant::now());
    let status = Command::new("cargo")
        .args(["build", "--release", "-q", "-p", "orchestrate"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("CARGO_TARGET_DIR", target.path())
        .stdin(Stdio::null())
        .status()?;
    let elapsed = since.elapsed().as_secs_f64();
    if !status.success() {
        return Err(Failed::from("the build failed"));
    }
    Ok(vec![Figure {
        name: "clean build of `cargo run --release`, processor time",
        measured: children_seconds()? - before,
        limit: 480.0,
        unit: "s",
        beside: format!("by the clock {elapsed:.0} s"),
    }])
}

/// Gives the processor time of every child that has ended, theirs included (`cutime` and `cstime` of `proc(5)`).
fn children_seconds() -> Result<f64, Failed> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The name in parentheses may hold anything.
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let times: Vec<f64> = fields.skip(BEFORE_CHILDREN).take(2).map(str::parse).collect::<Result<_, _>>()?;
    Ok(times.iter().sum::<f64>() / TICKS)
}
