//! The commands of a run that are not an agent's and run now, with the last line of their output. They are shown to
//! followers of the run and not stored.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use orchestrate_core::Redactor;
use orchestrate_sandbox::LiveOutput;

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

/// All of them.
#[derive(Clone, Default)]
pub struct RunningChecks {
    running: Arc<Mutex<Vec<Entry>>>,
    redactor: Redactor,
}

struct Entry {
    command: String,
    started: Instant,
    output: LiveOutput,
    /// Is gone once the command has ended.
    lives: std::sync::Weak<()>,
}

/// Keeps a command among those that run, until it is dropped.
pub(crate) struct Shown {
    pub(crate) output: LiveOutput,
    lives: Arc<()>,
}

impl RunningChecks {
    /// Creates an empty list, whose lines are redacted.
    pub(crate) fn redacting(redactor: Redactor) -> Self {
        Self { redactor, ..Self::default() }
    }

    /// Adds a command that starts now.
    pub(crate) fn add(&self, command: &str) -> Shown {
        let shown = Shown { output: LiveOutput::default(), lives: Arc::default() };
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
            last_line: entry.output.last_line().map(|line| self.redactor.owned(line)),
        };
        self.entries().iter().map(seen).collect()
    }

    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        let mut entries = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| entry.lives.strong_count() > 0);
        entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_listed_until_it_ends() {
        let checks = RunningChecks::default();
        let listed = || checks.now().into_iter().map(|check| check.command).collect::<Vec<_>>();
        let first = checks.add("npm test");
        let second = checks.add("npm ci");
        assert_eq!(listed(), ["npm test", "npm ci"]);
        drop(first);
        assert_eq!(listed(), ["npm ci"]);
        drop(second);
        assert!(listed().is_empty());
    }
}
