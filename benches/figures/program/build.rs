//! Measures the CPU time of a clean build, as the first command of the README does it.

use std::process::{Command, Stdio};
use std::time::Instant;

use libtest_mimic::Failed;

use crate::measuring::{Figure, children_seconds};

pub(crate) fn measure() -> Result<Vec<Figure>, Failed> {
    let target = tempfile::tempdir()?;
    let (before, since) = (children_seconds()?, Instant::now());
    let status = Command::new("cargo")
        .args(["build", "-q", "-p", "orchestrate"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("CARGO_TARGET_DIR", target.path())
        .stdin(Stdio::null())
        .status()?;
    let elapsed = since.elapsed().as_secs_f64();
    if !status.success() {
        return Err("the build failed".into());
    }
    Ok(vec![Figure {
        name: "clean build of `cargo run`, processor time",
        measured: children_seconds()? - before,
        limit: 300.0,
        unit: "s",
        beside: format!("by the clock {elapsed:.0} s"),
    }])
}
