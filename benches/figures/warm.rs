//! Measures what a build tool's cache costs when it lies in a worktree's own caches: the second `go
//! test ./...` of an agent, beside the same in a plain folder with a cache of its own.
//!
//! Each call is followed immediately by its counterpart, so that load on the machine slows both.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use libtest_mimic::Failed;
use orchestrate_sandbox::{Confinement, Helper, Sandbox};
use orchestrate_tool_testing::harness::ToolHarness;
use orchestrate_tools::builtin_tools;
use serde_json::json;

use crate::figure::{Figure, median, ms};
use crate::say;
use crate::stage::runtime;

/// How often both are measured, after the first time, which fills the caches.
const ROUNDS: usize = 5;
/// The least that the suite takes: below, the start of the sandbox counts more than the cache.
const LEAST_MS: f64 = 2_000.0;
/// Runs all tests, since Go would otherwise answer from its cache alone.
const SUITE: &str = "go test -count=1 ./...";
/// The packages of the project, each with one test.
const PACKAGES: [&str; 4] = ["first", "second", "third", "fourth"];
/// A test that needs much of Go's library, and computes for a while.
const TEST: &str = r#"package PACKAGE

import (
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func TestAnswer(t *testing.T) {
	answer := func(w http.ResponseWriter, r *http.Request) { json.NewEncoder(w).Encode([]string{r.URL.Path}) }
	recorder := httptest.NewRecorder()
	http.HandlerFunc(answer).ServeHTTP(recorder, httptest.NewRequest("GET", "/a", nil))
	if recorder.Body.String() != "[\"/a\"]\n" {
		t.Fatal(recorder.Body.String())
	}
	sum := sha256.Sum256([]byte("a"))
	for end := time.Now().Add(700 * time.Millisecond); time.Now().Before(end); {
		sum = sha256.Sum256(sum[:])
	}
}
"#;

pub(crate) fn measure() -> Result<Vec<Figure>, Failed> {
    if Command::new("go")
        .arg("version")
        .stdout(Stdio::null())
        .status()
        .is_err()
    {
        say("not measured: needs go (apt install golang-go)");
        return Ok(Vec::new());
    }
    let sandbox = Sandbox::with(Confinement::Full, Helper::default())
        .map_err(|error| Failed::from(error.to_string()))?;
    let (caches, native) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let harness = ToolHarness::new(
        builtin_tools(&|_| None)?,
        sandbox.with_caches(caches.path().to_owned()),
    )?;
    for (name, text) in files() {
        harness.put(&name, &text)?;
        let path = native.path().join(&name);
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        std::fs::write(path, text)?;
    }
    let runtime = runtime()?;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let in_agent = timed(|| {
            let call = harness.call(
                "run_shell_command",
                json!({ "command": SUITE, "timeout": 600 }),
            );
            runtime
                .block_on(call)
                .error
                .map_or(Ok(()), |error| Err(Failed::from(error)))
        })?;
        let alone = timed(|| run_bare(native.path()))?;
        if round > 0 {
            ours.push(in_agent);
            bare.push(alone);
        }
    }
    let (ours, bare) = (median(ours)?, median(bare)?);
    if bare < LEAST_MS {
        return Err(Failed::from(format!("the suite takes only {bare:.0} ms")));
    }
    Ok(vec![Figure {
        name: "second `go test ./...` of an agent",
        measured: ours / bare,
        limit: 1.3,
        unit: "x",
        beside: format!("{ours:.0} ms, and {bare:.0} ms outside"),
    }])
}

/// Returns the files of the project.
fn files() -> Vec<(String, String)> {
    let tests = PACKAGES.map(|name| {
        (
            format!("{name}/{name}_test.go"),
            TEST.replace("PACKAGE", name),
        )
    });
    std::iter::once(("go.mod".to_owned(), "module suite\n\ngo 1.19\n".to_owned()))
        .chain(tests)
        .collect()
}

fn run_bare(folder: &Path) -> Result<(), Failed> {
    let mut command = Command::new("sh");
    command
        .args(["-c", SUITE])
        .current_dir(folder)
        .env("GOCACHE", folder.join(".cache"))
        .stdin(Stdio::null());
    let output = command.output()?;
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stdout).into_owned().into())
    }
}

fn timed(run: impl FnOnce() -> Result<(), Failed>) -> Result<f64, Failed> {
    let since = Instant::now();
    run()?;
    Ok(ms(since.elapsed()))
}
