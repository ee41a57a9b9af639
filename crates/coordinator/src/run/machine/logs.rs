//! The logs of a run: its markers, and the audit log of its tool calls.
//!
//! Both are projections of the run's events, written while it runs by a task that only reads the
//! journal. Nothing waits for them. What a log lacks because the disk was full or the process was
//! killed follows from the events, and is added at the next opportunity.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use orchestrate_core::projections::audit::AuditLog;
use orchestrate_core::{Recorded, RunId, RunMarkers, RunState};
use orchestrate_files::ends_within_a_line;
use orchestrate_journal::{JournalError, Store};
use rustix::fs::{FlockOperation, flock};
use tokio::sync::watch;

use crate::error::CoordinatorError;

/// How far the logs may lag behind the events: a busy run is written in few pieces.
const LAG: Duration = Duration::from_millis(100);
/// How many events are read at once.
const EVENTS_AT_ONCE: usize = 512;

/// Requires that an audit log outside the state folder can be written; creates it if it is missing.
///
/// # Errors
///
/// [`CoordinatorError::AuditLog`].
pub(crate) fn require_writable(path: &Path) -> Result<(), CoordinatorError> {
    let opened = open(path).map(drop);
    opened.map_err(|source| CoordinatorError::AuditLog {
        path: path.to_owned(),
        source,
    })
}

/// The logs of one run.
pub(crate) struct RunLogs {
    store: Store,
    run: RunId,
    markers: PathBuf,
    audit: PathBuf,
    progress: Progress,
    /// Whether the files contain exactly what has been derived so far.
    is_current: bool,
}

/// What has been derived from the events.
#[derive(Default)]
struct Progress {
    seen: u64,
    markers: RunMarkers,
    audit: AuditLog,
}

/// The next lines of both logs.
#[derive(Default)]
struct Lines {
    markers: Vec<String>,
    audit: Vec<String>,
}

/// Why a log lacks lines.
#[derive(Debug)]
enum Unwritten {
    Journal(JournalError),
    File(PathBuf, io::Error),
}

impl RunLogs {
    /// Creates the logs of a run, without writing anything yet.
    pub(crate) fn new(store: Store, run: RunId, markers: PathBuf, audit: PathBuf) -> RunLogs {
        RunLogs {
            store,
            run,
            markers,
            audit,
            progress: Progress::default(),
            is_current: false,
        }
    }

    /// Writes the logs until the run has ended; returns why they lack lines, if they do.
    pub(crate) async fn follow(
        mut self,
        mut state: watch::Receiver<Arc<RunState>>,
    ) -> Option<String> {
        loop {
            let is_open = state.changed().await.is_ok();
            if is_open {
                tokio::select! {
                    () = tokio::time::sleep(LAG) => {}
                    () = closed(&mut state) => {}
                }
            }
            let written = tokio::task::spawn_blocking(move || {
                let written = self.write();
                (self, written)
            });
            let Ok((logs, written)) = written.await else {
                return Some("the writer panicked".to_owned());
            };
            self = logs;
            if let Err(error) = &written {
                tracing::warn!("{error}");
            }
            if !is_open {
                return written.err().map(|error| error.to_string());
            }
        }
    }

    /// Appends what the logs lack. After a failure, and at first, that is found by comparing the
    /// files with all events.
    fn write(&mut self) -> Result<(), Unwritten> {
        if !self.is_current {
            self.progress = Progress::default();
        }
        let compares = !std::mem::replace(&mut self.is_current, false);
        let lines = self.next_lines().map_err(Unwritten::Journal)?;
        for (path, lines) in [(&self.markers, lines.markers), (&self.audit, lines.audit)] {
            append(path, lines, compares).map_err(|error| Unwritten::File(path.clone(), error))?;
        }
        self.is_current = true;
        Ok(())
    }

    fn next_lines(&mut self) -> Result<Lines, JournalError> {
        let mut lines = Lines::default();
        loop {
            let facts = self
                .store
                .events(&self.run, self.progress.seen, EVENTS_AT_ONCE)?;
            facts
                .iter()
                .for_each(|fact| self.progress.apply(fact, &mut lines));
            if facts.len() < EVENTS_AT_ONCE {
                return Ok(lines);
            }
        }
    }
}

impl Progress {
    fn apply(&mut self, fact: &Recorded, lines: &mut Lines) {
        self.seen = fact.seq;
        lines
            .markers
            .extend(self.markers.apply(fact).iter().map(ToString::to_string));
        lines.audit.extend(self.audit.apply(fact));
    }
}

/// Resolves when the run has ended.
async fn closed(state: &mut watch::Receiver<Arc<RunState>>) {
    while state.changed().await.is_ok() {}
}

/// Appends lines to a file that other processes may append to, too. If `compares`, lines that it
/// has already, in this order, are left out.
fn append(path: &Path, lines: Vec<String>, compares: bool) -> io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    let mut file = open(path)?;
    rustix::io::retry_on_intr(|| flock(&file, FlockOperation::LockExclusive))?;
    let mut lines = lines;
    if compares {
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let mut missing = lines.into_iter().peekable();
        for line in text.split(|byte| *byte == b'\n') {
            missing.next_if(|next| next.as_bytes() == line);
        }
        lines = missing.collect();
    }
    // A full disk or a kill may have cut the last line; it is written again below.
    let begin = if ends_within_a_line(&mut file)? {
        "\n"
    } else {
        ""
    };
    let text: String = lines
        .iter()
        .flat_map(|line| [line.as_str(), "\n"])
        .collect();
    file.seek(SeekFrom::End(0))?;
    if text.is_empty() {
        Ok(())
    } else {
        file.write_all(format!("{begin}{text}").as_bytes())
    }
}

/// Opens a log, and creates it if it is missing. Only regular files are opened: a pipe would block
/// the run.
fn open(path: &Path) -> io::Result<File> {
    match std::fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it is not a regular file",
            ));
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            path.parent()
                .map_or(Ok(()), orchestrate_files::create_folder)?;
        }
        Err(error) => return Err(error),
    }
    orchestrate_files::open_or_create(path)
}

impl std::fmt::Display for Unwritten {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unwritten::Journal(error) => write!(f, "the run's logs lack lines: {error}"),
            Unwritten::File(path, error) => write!(f, "{} lacks lines: {error}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn a_log_is_completed_from_wherever_it_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/log");
        let whole = ["one", "two", "three"];
        let table = [
            ("", "one\ntwo\nthree\n"),
            ("one\ntwo\nthree\n", "one\ntwo\nthree\n"),
            ("one\n", "one\ntwo\nthree\n"),
            ("one\ntw", "one\ntw\ntwo\nthree\n"),
            ("one\ntw\ntwo\n", "one\ntw\ntwo\nthree\n"),
            ("other\none\nother\n", "other\none\nother\ntwo\nthree\n"),
        ];
        for (before, after) in table {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, before).unwrap();
            append(&path, lines(&whole), true).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), after, "{before:?}");
        }
    }

    #[test]
    fn a_log_is_created_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/log");
        append(&path, lines(&["one"]), false).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(
            ["a", "a/b", "a/b/log"].map(|name| mode(&folder.path().join(name))),
            [0o700, 0o700, 0o600]
        );
        // The control: a file that its user has opened to others is left so, and is seen to be.
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        append(&path, lines(&["two"]), false).unwrap();
        assert_eq!(
            (
                mode(&path),
                std::fs::read_to_string(&path).unwrap().as_str()
            ),
            (0o644, "one\ntwo\n")
        );
    }

    #[test]
    fn what_is_no_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = require_writable(folder.path()).unwrap_err().to_string();
        assert!(error.ends_with("it is not a regular file"), "{error}");
    }
}
