//! Passes on what a command writes, with lines that look like markers escaped, and stores it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use orchestrate_cache::{Cache, CacheError, Identity, Recording, Stream};
use orchestrate_coordinator::Sink;
use orchestrate_core::collections::Mutex;
use orchestrate_core::projections::marker::MarkerEscape;

use crate::show::output;

/// The way of a command's output through this process.
pub(super) struct Passage {
    recording: Arc<Mutex<Option<Recording>>>,
    /// Whether standard error ends with a whole line.
    is_whole: Arc<AtomicBool>,
    /// Why output was lost, unless its reader has closed it.
    lost: Arc<Mutex<Option<io::Error>>>,
    /// Whether standard output and standard error are the same file, so that their order matters.
    is_one: bool,
}

/// The end of a pipe from the command.
pub(super) struct Passing {
    stream: Stream,
    escape: MarkerEscape,
    escaped: Vec<u8>,
    recording: Arc<Mutex<Option<Recording>>>,
    lost: Arc<Mutex<Option<io::Error>>>,
    /// Whether what was written ends with a whole line, if markers follow it.
    is_whole: Option<Arc<AtomicBool>>,
}

impl Passage {
    /// Prepares to pass output on, and to store it if there is a cache. A result that cannot be
    /// stored is passed on all the same.
    pub(super) fn new(cache: Option<&Cache>, identity: &Identity) -> Passage {
        let recording = cache.and_then(|cache| {
            let failed = |error| output::warning(&format!("failed to store the result: {error}"));
            cache.record(identity).map_err(failed).ok()
        });
        Passage {
            recording: Arc::new(Mutex::new(recording)),
            is_whole: Arc::new(AtomicBool::new(true)),
            lost: Arc::default(),
            is_one: outputs_are_one(),
        }
    }

    /// Returns the sinks of standard output and standard error; only one if both are the same file.
    pub(super) fn sinks(&self) -> (Passing, Option<Passing>) {
        let sink = |stream, before_markers: bool| Passing {
            stream,
            escape: MarkerEscape::default(),
            escaped: Vec::new(),
            recording: Arc::clone(&self.recording),
            lost: Arc::clone(&self.lost),
            is_whole: before_markers.then(|| Arc::clone(&self.is_whole)),
        };
        (
            sink(Stream::Output, self.is_one),
            (!self.is_one).then(|| sink(Stream::Errors, true)),
        )
    }

    /// Ends a line that the command has begun on standard error, so that a marker begins its own.
    pub(super) fn end_line(&self) {
        if !self.is_whole.load(Ordering::SeqCst) {
            // As with every marker, there may be no reader.
            let _ = output::pass_errors(b"\n");
        }
    }

    /// Returns why output was lost, if it was. A reader that has closed it wanted no more.
    pub(super) fn lost(&self) -> Option<io::Error> {
        self.lost.lock().take()
    }

    /// Stores the result, unless it is too large.
    pub(super) fn keep(&self) -> Result<(), CacheError> {
        self.take()
            .map_or(Ok(()), |recording| recording.keep().map(drop))
    }

    /// Reports whether there is a result to store.
    pub(super) fn is_recorded(&self) -> bool {
        self.recording.lock().is_some()
    }

    /// Removes what has been stored so far.
    pub(super) fn forget(&self) {
        drop(self.take());
    }

    /// No thread holds the lock while it writes, so this never waits for a reader.
    fn take(&self) -> Option<Recording> {
        self.recording.lock().take()
    }
}

impl Passing {
    fn write(&mut self) -> io::Result<()> {
        if let Some(last) = self.escaped.last()
            && let Some(is_whole) = &self.is_whole
        {
            is_whole.store(*last == b'\n', Ordering::SeqCst);
        }
        if let Some(recording) = self.recording.lock().as_mut() {
            recording.add(self.stream, &self.escaped);
        }
        let written = match self.stream {
            Stream::Output => output::pass_output(&self.escaped),
            Stream::Errors => output::pass_errors(&self.escaped),
        };
        written.map_err(|error| {
            let kind = error.kind();
            if kind != io::ErrorKind::BrokenPipe {
                self.lost.lock().get_or_insert(error);
            }
            kind.into()
        })
    }
}

impl Sink for Passing {
    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.escaped.clear();
        self.escape.push(bytes, &mut self.escaped);
        self.write()
    }

    fn end(&mut self) {
        self.escaped.clear();
        self.escape.finish(&mut self.escaped);
        // A command that has ended cannot be told; what is lost is noted.
        let _ = self.write();
    }
}

/// Reports whether standard output and standard error are the same file.
fn outputs_are_one() -> bool {
    match (
        rustix::fs::fstat(io::stdout()),
        rustix::fs::fstat(io::stderr()),
    ) {
        (Ok(output), Ok(errors)) => file_of(output) == file_of(errors),
        _ => false,
    }
}

fn file_of(stat: rustix::fs::Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}
