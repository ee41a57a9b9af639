//! Requests to a run that stays open for people, one a line of standard input, each answered in
//! turn.
//!
//! What a line may say, and what becomes of it, is its listener's; here lines are read and
//! numbered. A thread reads them, since a read of standard input cannot be cancelled; it ends with
//! the process.

use std::io::{self, BufRead as _, Read as _};
use std::sync::Arc;

use orchestrate_core::RunId;
use orchestrate_journal::Store;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::error::CommandError;
use crate::json::{Answer, LineAnswer, Stage};

/// How many lines are read ahead: one, since they are answered in turn.
const READ_AHEAD: usize = 1;

/// The longest line, in bytes: more than any message may have.
const LONGEST_LINE: u64 = 1024 * 1024;

/// Carries out what one line requests of a run, and returns what has become of it.
pub(crate) type Listener =
    Arc<dyn Fn(&Store, &RunId, &[u8]) -> Result<Answer, CommandError> + Send + Sync>;

/// The lines of standard input, and their answers.
pub(crate) struct Requests {
    listener: Listener,
    store: Store,
    run: RunId,
    lines: mpsc::Receiver<Vec<u8>>,
    read: usize,
    /// The line that is being answered.
    current: JoinSet<LineAnswer>,
}

impl Requests {
    /// Starts to read standard input.
    pub(crate) fn read(listener: Listener, store: Store, run: RunId) -> Result<Self, CommandError> {
        let (sender, lines) = mpsc::channel(READ_AHEAD);
        std::thread::Builder::new()
            .name("requests".to_owned())
            .spawn(move || pass_lines(&sender))
            .map_err(|error| {
                CommandError::internal(format!("failed to listen to requests: {error}"))
            })?;
        Ok(Self {
            listener,
            store,
            run,
            lines,
            read: 0,
            current: JoinSet::new(),
        })
    }

    /// Waits for the next answer; `None` once the input is closed and each line answered. A call
    /// that is dropped loses nothing.
    pub(crate) async fn next(&mut self) -> Option<LineAnswer> {
        while self.current.is_empty() {
            let line = self.lines.recv().await?;
            self.read += 1;
            if !line.trim_ascii().is_empty() {
                self.answer(line);
            }
        }
        self.current().await
    }

    /// Waits for the answer to the current line, if there is one.
    pub(crate) async fn current(&mut self) -> Option<LineAnswer> {
        match self.current.join_next().await? {
            Ok(answered) => Some(answered),
            Err(error) => {
                let error = CommandError::internal(error.to_string());
                Some(answered(self.read, Err(error)))
            }
        }
    }

    fn answer(&mut self, line: Vec<u8>) {
        let (listener, store) = (Arc::clone(&self.listener), self.store.clone());
        let (run, number) = (self.run.clone(), self.read);
        self.current.spawn_blocking(move || {
            let heard = match line.len() as u64 > LONGEST_LINE {
                true => Err(CommandError::usage(format!(
                    "the line is longer than {LONGEST_LINE} bytes"
                ))),
                false => listener(&store, &run, &line),
            };
            answered(number, heard)
        });
    }
}

fn answered(line: usize, heard: Result<Answer, CommandError>) -> LineAnswer {
    match heard {
        Ok(Answer { stage, answer }) => LineAnswer {
            line,
            ok: true,
            stage,
            message: answer,
        },
        Err(error) => LineAnswer {
            line,
            ok: false,
            stage: Stage::Refused,
            message: error.with_hints(),
        },
    }
}

/// Passes on the lines of standard input until it is closed, cannot be read, or nobody listens.
fn pass_lines(sender: &mpsc::Sender<Vec<u8>>) {
    let mut input = io::stdin().lock();
    loop {
        let mut line = Vec::new();
        let read = (&mut input)
            .take(LONGEST_LINE + 1)
            .read_until(b'\n', &mut line);
        if !matches!(read, Ok(1..)) {
            return;
        }
        if line.last() != Some(&b'\n') && line.len() as u64 > LONGEST_LINE {
            // The rest of it says nothing more.
            if input.skip_until(b'\n').is_err() {
                return;
            }
        }
        if sender.blocking_send(line).is_err() {
            return;
        }
    }
}
