//! Runs against a third-party model server, aimock (`@copilotkit/aimock`), over each of the two
//! protocols.
//!
//! It is strict: it refuses a request that it cannot parse or that no reply fits. The test compares
//! its record of the requests with what is expected.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use libtest_mimic::Failed;
use serde_json::Value;

use super::FOLDER;
use crate::support::{Case, Home, Need, Outcome, Repository, fail, require_words, sandboxed};

/// The server's program, and Node, which it needs.
pub(super) const AIMOCK: Need = Need::new(
    "aimock",
    "npm install --global @copilotkit/aimock, with Node 20.15 or newer",
    || {
        let mut command = Command::new(PROGRAM);
        command
            .arg("--help")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    },
);
const PROGRAM: &str = "llmock";
/// What the server prints before its address, once it is listening.
const LISTENS: &str = "listening on http://";

pub(super) fn cases() -> Vec<Case> {
    vec![
        sandboxed("real_input::aimock_speaks_chat_completions", || {
            speaks("openai/local", "/v1/chat/completions")
        })
        .needs(AIMOCK),
        sandboxed("real_input::aimock_speaks_anthropic_messages", || {
            speaks("anthropic/local", "/v1/messages")
        })
        .needs(AIMOCK),
    ]
}

/// The server; it is killed on drop.
pub(super) struct Aimock {
    child: Child,
    pub(super) address: String,
}

impl Aimock {
    /// Starts the server with a file of replies.
    pub(super) fn start(replies: &Path) -> Result<Self, Failed> {
        let mut command = Command::new(PROGRAM);
        command
            .args([
                "--port",
                "0",
                "--strict",
                "--validate-on-load",
                "--fixtures",
            ])
            .arg(replies);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()?;
        let stdout = child.stdout.take();
        let mut server = Self {
            child,
            address: String::new(),
        };
        let lines = BufReader::new(stdout.ok_or_else(|| Failed::from("it has no output"))?).lines();
        for line in lines {
            if let Some((_, address)) = line?.split_once(LISTENS) {
                server.address = address.trim().to_owned();
                return Ok(server);
            }
        }
        fail("aimock ended before it listened")
    }

    /// Returns the path and the response status of every request so far.
    pub(super) fn asked(&self) -> Result<Vec<(String, u64)>, Failed> {
        let mut stream = TcpStream::connect(&self.address)?;
        stream.write_all(b"GET /__aimock/journal HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (_, body) = answer
            .split_once("\r\n\r\n")
            .ok_or_else(|| Failed::from(answer.clone()))?;
        let entries: Vec<Value> = serde_json::from_str(body)?;
        let asked = entries
            .iter()
            .filter(|entry| entry["method"] == "POST")
            .map(|entry| {
                let path = entry["path"].as_str().unwrap_or_default().to_owned();
                (
                    path,
                    entry["response"]["status"].as_u64().unwrap_or_default(),
                )
            });
        Ok(asked.collect())
    }
}

impl Drop for Aimock {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs one task over one protocol: parallel reads, parallel edits, a red check that comes back,
/// and its repair.
fn speaks(model: &str, path: &str) -> Outcome {
    let (home, repository, server) = (
        Home::new()?,
        Repository::unborn()?,
        Aimock::start(&Path::new(FOLDER).join("replies.json"))?,
    );
    let edited = "crates/files/src/lib.rs";
    repository.write(
        edited,
        &fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(edited))?,
    )?;
    repository.commit_all("Start")?;
    // The agent is told the command from the start, so the command does not contain the words that
    // come back.
    let check =
        "grep -q '{} MB' crates/files/src/words.rs || { printf 'in %s letters' capital; exit 1; }";
    repository.write(
        "plan.md",
        &format!("- [ ] T3 Add `megabytes` (model: {model})\n  - verify: {check}\n"),
    )?;
    let run = home
        .orchestrate(repository.path(), &["run", "plan.md"])
        .env("OPENAI_BASE_URL", format!("http://{}/v1", server.address))
        .env("OPENAI_API_KEY", "local")
        .env("ANTHROPIC_BASE_URL", format!("http://{}", server.address))
        .env("ANTHROPIC_API_KEY", "local")
        .run()?
        .exits(0)?;
    require_words(
        &run.stderr,
        &["T3: returned: verification failed", "T3: merged as"],
    )?;
    let branch = repository.git(&[
        "for-each-ref",
        "--format=%(refname)",
        "refs/heads/orchestrate/*/integration",
    ])?;
    require_words(&repository.show(&branch, edited)?, &["pub mod words;"])?;
    require_words(
        &repository.show(&branch, "crates/files/src/words.rs")?,
        &["{} MB"],
    )?;
    let asked = server.asked()?;
    let expected = vec![(path.to_owned(), 200); 6];
    assert_eq!(asked, expected);
    Ok(())
}
