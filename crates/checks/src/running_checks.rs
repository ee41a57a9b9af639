//! The commands of a run that are not an agent's and run now, with the last line of their output.
//! They are shown to followers of the run and not recorded. For followers in other processes they
//! are noted in a file while they run.

use std::path::{Path, PathBuf};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use orchestrate_core::Redactor;
use orchestrate_core::collections::Mutex;
use orchestrate_journal::unix_ms;
use orchestrate_sandbox::LiveOutput;
use serde::{Deserialize, Serialize};
use tokio::time::MissedTickBehavior;

use crate::checks_error::{ChecksError, blocking};

/// A check, a setup or a command of the plan that runs now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningCheck {
    /// The shell command.
    pub command: String,
    /// The time since its start.
    pub elapsed: Duration,
    /// The last line that it has written, without the run's secrets.
    pub last_line: Option<String>,
}

/// How often they are noted, from so long after the start of one: most end before.
const NOTED_EVERY: Duration = Duration::from_secs(1);

/// All of them.
#[derive(Clone, Default)]
pub struct RunningChecks {
    running: Arc<Mutex<Vec<Entry>>>,
    redactor: Redactor,
    /// Where they are noted.
    file: Option<PathBuf>,
}

/// What runs, as another process reads it.
#[derive(Serialize, Deserialize)]
struct Note {
    /// The process that has written it, which may have been killed since.
    pid: u32,
    checks: Vec<Noted>,
}

#[derive(Serialize, Deserialize)]
struct Noted {
    command: String,
    /// When it started, in Unix milliseconds.
    since_ms: u64,
    last_line: Option<String>,
}

struct Entry {
    command: String,
    started: Instant,
    output: LiveOutput,
    /// Is gone once the command has ended.
    lives: std::sync::Weak<()>,
}

/// Keeps a command among those that run, until it is dropped.
pub struct Shown {
    /// What it writes.
    pub output: LiveOutput,
    lives: Arc<()>,
}

impl RunningChecks {
    /// Creates an empty list, whose lines are redacted.
    pub fn redacting(redactor: Redactor) -> Self {
        Self {
            redactor,
            ..Self::default()
        }
    }

    /// Sets the file in which they are noted for other processes.
    pub fn noted_in(self, file: PathBuf) -> Self {
        Self {
            file: Some(file),
            ..self
        }
    }

    /// Waits for a command to end, and notes meanwhile what runs.
    pub async fn noting<T>(&self, command: Shown, ended: impl Future<Output = T>) -> T {
        tokio::pin!(ended);
        let mut times =
            tokio::time::interval_at(tokio::time::Instant::now() + NOTED_EVERY, NOTED_EVERY);
        times.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let ended = loop {
            tokio::select! {
                biased;
                ended = &mut ended => break ended,
                _ = times.tick() => {}
            }
            self.note().await;
        };
        drop(command);
        self.note().await;
        ended
    }

    /// Writes what runs to the file, or removes it if nothing does. A failure costs only what
    /// others see.
    async fn note(&self) {
        let Some(file) = self.file.clone() else {
            return;
        };
        let checks: Vec<Noted> = self.now().into_iter().map(noted).collect();
        let write = move || {
            let Some(folder) = file.parent().filter(|_| !checks.is_empty()) else {
                drop(std::fs::remove_file(&file));
                return Ok(());
            };
            let text = serde_json::to_vec(&Note {
                pid: std::process::id(),
                checks,
            })
            .unwrap_or_default();
            let written = orchestrate_files::create_folder(folder)
                .and_then(|()| orchestrate_files::write(&file, &text));
            written.map_err(ChecksError::at(file))
        };
        if let Err(error) = blocking("a note of what runs", write).await {
            tracing::info!(%error, "others do not see what runs");
        }
    }

    /// Adds a command that starts now.
    pub fn add(&self, command: &str) -> Shown {
        let shown = Shown {
            output: LiveOutput::default(),
            lives: Arc::default(),
        };
        self.entries().push(Entry {
            command: self.redactor.owned(command.to_owned()),
            started: Instant::now(),
            output: shown.output.clone(),
            lives: Arc::downgrade(&shown.lives),
        });
        shown
    }

    /// Returns what runs now, in the order in which it started.
    pub fn now(&self) -> Vec<RunningCheck> {
        let seen = |entry: &Entry| RunningCheck {
            command: entry.command.clone(),
            elapsed: entry.started.elapsed(),
            last_line: entry
                .output
                .last_line()
                .map(|line| self.redactor.owned(line)),
        };
        self.entries().iter().map(seen).collect()
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        let mut entries = self.running.lock();
        entries.retain(|entry| entry.lives.strong_count() > 0);
        entries
    }
}

fn noted(check: RunningCheck) -> Noted {
    Noted {
        command: check.command,
        since_ms: unix_ms()
            .saturating_sub(u64::try_from(check.elapsed.as_millis()).unwrap_or_default()),
        last_line: check.last_line,
    }
}

/// Returns what a process has noted in a file that it runs now.
pub fn noted_by(pid: u32, file: &Path) -> Vec<RunningCheck> {
    let read = std::fs::read(file).ok();
    // One that is being written is read the next time.
    let note: Option<Note> = read.and_then(|text| serde_json::from_slice(&text).ok());
    let seen = |Noted {
                    command,
                    since_ms,
                    last_line,
                }| {
        let elapsed = Duration::from_millis(unix_ms().saturating_sub(since_ms));
        RunningCheck {
            command,
            elapsed,
            last_line,
        }
    };
    note.filter(|note| note.pid == pid)
        .map(|note| note.checks.into_iter().map(seen).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_listed_until_it_ends() {
        let checks = RunningChecks::default();
        let listed = || {
            checks
                .now()
                .into_iter()
                .map(|check| check.command)
                .collect::<Vec<_>>()
        };
        let first = checks.add("npm test");
        let second = checks.add("npm ci");
        assert_eq!(listed(), ["npm test", "npm ci"]);
        drop(first);
        assert_eq!(listed(), ["npm ci"]);
        drop(second);
        assert!(listed().is_empty());
    }
}
