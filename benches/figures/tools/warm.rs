//! Measures what a build tool's cache costs when it lies in a worktree's own caches: the second `go
//! test ./...` of an agent, beside the same in a plain folder with a cache of its own.
//!
//! Each call is followed immediately by its counterpart, so that load on the machine slows both.

use std::path::Path;
use std::process::{Command, Stdio};

use libtest_mimic::Failed;
use orchestrate_sandbox::{Confinement, Helper, Sandbox};
use orchestrate_tool_testing::harness::ToolHarness;
use orchestrate_tools::builtin_tools;
use serde_json::json;

use crate::measuring::{Figure, Pairs, call, has_program, runtime, timed};

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
    if !has_program("go", "version", "needs go (apt install golang-go)") {
        return Ok(Vec::new());
    }
    let sandbox = Sandbox::with(Confinement::Full, Helper::default())?;
    let (caches, native) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let harness = ToolHarness::new(
        builtin_tools(&|_| None)?,
        sandbox.with_caches(caches.path().to_owned()),
    )?;
    let mut files = vec![("go.mod".to_owned(), "module suite\n\ngo 1.19\n".to_owned())];
    for name in PACKAGES {
        let test = TEST.replace("PACKAGE", name);
        files.push((format!("{name}/{name}_test.go"), test));
    }
    for (name, text) in files {
        harness.put(&name, &text)?;
        let path = native.path().join(&name);
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        std::fs::write(path, text)?;
    }
    let runtime = runtime()?;
    let suite = json!({ "command": SUITE, "timeout": 600 });
    let in_agent = || {
        let suite = harness.make_call("run_shell_command", suite.clone());
        timed(|| runtime.block_on(call(&harness, &suite)))
    };
    let alone = || timed(|| run_bare(native.path()));
    let pairs = Pairs::measure(1 + ROUNDS, in_agent, alone)?.without_first(1);
    let (ours, bare) = (pairs.ours()?, pairs.bare()?);
    if bare < LEAST_MS {
        return Err(format!("the suite takes only {bare:.0} ms").into());
    }
    Ok(vec![Figure {
        name: "second `go test ./...` of an agent",
        measured: ours / bare,
        limit: 1.3,
        unit: "x",
        beside: format!("{ours:.0} ms, and {bare:.0} ms outside"),
    }])
}

fn run_bare(folder: &Path) -> Result<(), Failed> {
    let output = Command::new("sh")
        .args(["-c", SUITE])
        .current_dir(folder)
        .env("GOCACHE", folder.join(".cache"))
        .stdin(Stdio::null())
        .output()?;
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stdout).into_owned().into())
    }
}
