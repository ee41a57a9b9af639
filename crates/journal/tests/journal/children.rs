//! Other processes: this test binary, started again with the name of a scenario.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};

use orchestrate_journal::fault;

const SCENARIO: &str = "JOURNAL_TEST_SCENARIO";
const FOLDER: &str = "JOURNAL_TEST_FOLDER";

/// Marks our lines among those of the test harness.
const MARK: &str = "> ";

/// A scenario that runs in a process of its own.
pub(crate) struct Other {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Other {
    pub(crate) fn start(scenario: &str, folder: &Path, fault: Option<&str>) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["children::scenario", "--exact", "--nocapture"])
            .env(SCENARIO, scenario)
            .env(FOLDER, folder)
            .env_remove(fault::VARIABLE)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        if let Some(fault) = fault {
            command.env(fault::VARIABLE, fault);
        }
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the next line of the scenario; returns `None` once the process has ended.
    pub(crate) fn line(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            // The harness may have begun the line.
            if let Some((_, said)) = line.trim_end().split_once(MARK) {
                return Some(said.to_owned());
            }
        }
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until the scenario has ended; returns all its lines and its status.
    pub(crate) fn finish(mut self) -> (Vec<String>, ExitStatus) {
        drop::<Option<ChildStdin>>(self.child.stdin.take());
        let said = std::iter::from_fn(|| self.line()).collect();
        (said, self.child.wait().unwrap())
    }
}

/// Prints a line for the process that started this one.
pub(crate) fn say(line: impl std::fmt::Display) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{MARK}{line}").unwrap();
    out.flush().unwrap();
}

/// Waits until the process that started this one closes our input.
pub(crate) fn wait_for_parent() {
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

/// The entry point of other processes; does nothing in an ordinary test run.
#[test]
fn scenario() {
    let Ok(scenario) = std::env::var(SCENARIO) else {
        return;
    };
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    fault::from_env().unwrap();
    match scenario.as_str() {
        "script" => crate::crash::script(&folder),
        "crowd" => crate::crash::crowd(&folder),
        "group" => crate::sequencer::group(&folder),
        "full" => crate::sequencer::full(&folder),
        "hold" => crate::lease::hold(&folder),
        side if side.starts_with("side-") => crate::lease::side(&folder, side),
        other => panic!("no scenario {other}"),
    }
}
