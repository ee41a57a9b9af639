//! Commands that tools run in the sandbox, and what all of them have in common.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use orchestrate_sandbox::{Job, Limits, Network, View};

use crate::call::CallLimits;

/// Maximum number of bytes of each output stream to keep for the agent to page through.
pub(crate) const KEPT_OUTPUT_BYTES: usize = 1 << 20;
/// Maximum size of a file that a command writes: it stops a runaway, but not a build.
const MAX_WRITTEN_FILE_BYTES: u64 = 4 << 30;
/// Environment variables of commands beside the sandbox's own; they disable pagers, prompts and
/// colours.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// A command to run in the sandbox, without a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments. A program with a `/` that does not begin with one is relative
    /// to `cwd`.
    pub argv: Vec<String>,
    /// The working directory, relative to the worktree; empty for its root.
    pub cwd: String,
    /// The content of its standard input.
    pub stdin: Vec<u8>,
    /// Variables, which override those of every command.
    pub env: BTreeMap<String, String>,
    /// The timeout; `None` for that of commands that request no other. The call's limits cap it.
    pub timeout: Option<Duration>,
    /// How many bytes of each output stream are kept: half from its start and half from its end.
    pub kept_output_bytes: usize,
}

impl Command {
    /// Creates a command in the worktree's root, without input.
    pub fn new(argv: impl IntoIterator<Item = impl Into<String>>) -> Command {
        Command {
            argv: argv.into_iter().map(Into::into).collect(),
            cwd: String::new(),
            stdin: Vec::new(),
            env: BTreeMap::new(),
            timeout: None,
            kept_output_bytes: KEPT_OUTPUT_BYTES,
        }
    }

    /// Returns the time that the command may take.
    pub(crate) fn time_limit(&self, limits: &CallLimits) -> Duration {
        let first = self.timeout.unwrap_or(limits.command_timeout);
        first
            .saturating_mul(limits.time_factor)
            .min(limits.max_command_timeout)
    }

    /// Returns the job that runs the command in this directory, with at most this processor time.
    pub(crate) fn into_job(
        self,
        view: View,
        cwd: PathBuf,
        limits: &CallLimits,
        cpu: Option<Duration>,
    ) -> Job {
        let limits = Limits {
            timeout: self.time_limit(limits),
            cpu: limits.command_cpu.into_iter().chain(cpu).min(),
            memory_bytes: limits.command_memory_bytes,
            disk_bytes: None,
            disk_files: None,
            processes: limits.command_processes,
            file_bytes: Some(MAX_WRITTEN_FILE_BYTES),
            kept_output_bytes: self.kept_output_bytes,
            max_output_bytes: limits.command_output_bytes,
        };
        let mut words = self.argv.into_iter();
        let program = words.next().unwrap_or_default();
        let is_in_cwd = program.contains('/') && !program.starts_with('/');
        let variables = ENVIRONMENT
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let own = self
            .env
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()));
        Job {
            view,
            program: if is_in_cwd {
                cwd.join(program).into_os_string()
            } else {
                program.into()
            },
            args: words.map(OsString::from).collect(),
            cwd,
            stdin: self.stdin,
            env: variables.chain(own).collect(),
            network: Network::None,
            limits,
        }
    }
}

#[cfg(test)]
mod tests {
    use orchestrate_core::ToolSettings;

    use super::*;

    #[test]
    fn a_time_limit_is_capped_and_has_a_default() {
        let seconds = |configured| {
            let mut settings = ToolSettings::default();
            settings.code_execution.timeout_seconds = configured;
            let limits = CallLimits::from_settings(&settings);
            [None, Some(5), Some(120_000)].map(|asked| {
                let command = Command {
                    timeout: asked.map(Duration::from_secs),
                    ..Command::new(["true"])
                };
                command.time_limit(&limits).as_secs()
            })
        };
        assert_eq!(seconds(None), [120, 5, 600]);
        assert_eq!(seconds(Some(30)), [30, 5, 30]);
        assert_eq!(seconds(Some(3_600)), [120, 5, 3_600]);
    }
}
