//! A pseudo-terminal with a program in its foreground. A test types keys, waits for output, and can
//! close it.
//!
//! The program leads the terminal's session, as a login shell does, so that a key such as Ctrl-C
//! signals exactly the processes that a real terminal would signal. `setsid` of util-linux sets
//! that up, which needs no unsafe code here.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use libtest_mimic::Failed;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::Winsize;

use super::program::{Invocation, Ran, code_of, until};

/// The rows of a terminal unless the test changes them; with [`COLUMNS`], the smallest size in
/// common use.
pub(crate) const ROWS: u16 = 24;
/// The columns of a terminal.
pub(crate) const COLUMNS: u16 = 80;

/// What the Ctrl-C key sends.
const INTERRUPT: &str = "\u{3}";

/// A program in the foreground of a terminal; it is killed on drop.
pub(crate) struct Terminal {
    child: Child,
    /// The user's side; the terminal is closed with the last handle of it.
    front: Option<Arc<File>>,
    /// The bytes shown so far: a character may arrive in two pieces, so only the whole is decoded.
    shown: Arc<Mutex<Vec<u8>>>,
    /// The thread that reads the output, and the socket that stops it by being closed.
    reader: Option<(UnixStream, JoinHandle<()>)>,
    patience: Duration,
}

impl Invocation {
    /// Starts the program in a terminal.
    pub(crate) fn start_in_terminal(self) -> Result<Terminal, Failed> {
        let (front, back) = pair()?;
        let mut command = Command::new("setsid");
        command
            .arg("--ctty")
            .arg(self.command.get_program())
            .args(self.command.get_args())
            .env_clear();
        command.envs(
            self.command
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        command.envs([("TERM", "xterm")]);
        if let Some(directory) = self.command.get_current_dir() {
            command.current_dir(directory);
        }
        command
            .stdin(back.try_clone()?)
            .stdout(back.try_clone()?)
            .stderr(Stdio::from(back));
        let child = command.spawn()?;
        // The command keeps the program's side of the terminal open until it is dropped.
        drop(command);
        let (front, shown) = (Arc::new(File::from(front)), Arc::default());
        let (closing, closed) = UnixStream::pair()?;
        let reader = thread::spawn({
            let (front, shown) = (Arc::clone(&front), Arc::clone(&shown));
            move || read(&front, &closed, &shown)
        });
        Ok(Terminal {
            child,
            front: Some(front),
            shown,
            reader: Some((closing, reader)),
            patience: self.patience,
        })
    }
}

/// Opens a pseudo-terminal and returns the user's side and the program's side.
fn pair() -> Result<(OwnedFd, OwnedFd), Failed> {
    let front = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&front)?;
    unlockpt(&front)?;
    let name = ptsname(&front, Vec::new())?;
    let name = std::path::Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
    let back = rustix::fs::open(
        name,
        OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    rustix::termios::tcsetwinsize(
        &front,
        Winsize {
            ws_row: ROWS,
            ws_col: COLUMNS,
            ws_xpixel: 0,
            ws_ypixel: 0,
        },
    )?;
    Ok((front, back))
}

/// Collects what is shown until the terminal is closed from either side.
fn read(mut front: &File, closed: &UnixStream, shown: &Mutex<Vec<u8>>) {
    let mut chunk = [0; 4096];
    loop {
        let mut events = [
            PollFd::new(front, PollFlags::IN),
            PollFd::new(closed, PollFlags::IN),
        ];
        if poll(&mut events, None).is_err() || !events[1].revents().is_empty() {
            return;
        }
        // A terminal cannot be read any more once all of its programs are gone.
        let Ok(count @ 1..) = front.read(&mut chunk) else {
            return;
        };
        shown
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend_from_slice(&chunk[..count]);
    }
}

impl Terminal {
    /// Waits until the terminal has shown a text.
    pub(crate) fn shows(&self, words: &str) -> Result<(), Failed> {
        let shown = until(self.patience, || {
            Ok(self.text().contains(words).then_some(()))
        });
        shown.map_err(|_| Failed::from(format!("no {words:?} in {:?}", self.text())))
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.shown.lock().unwrap_or_else(PoisonError::into_inner))
            .into_owned()
    }

    /// Sets the terminal's number of rows.
    pub(crate) fn has_rows(&self, rows: u16) -> Result<(), Failed> {
        let front: &File = self
            .front
            .as_ref()
            .ok_or_else(|| Failed::from("the terminal is closed"))?;
        let size = Winsize {
            ws_row: rows,
            ws_col: 80,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        rustix::termios::tcsetwinsize(front, size).map_err(Failed::from)
    }

    /// Sends keys to the program, as if they were typed.
    pub(crate) fn types(&self, keys: &str) -> Result<(), Failed> {
        let mut front: &File = self
            .front
            .as_ref()
            .ok_or_else(|| Failed::from("the terminal is closed"))?;
        front.write_all(keys.as_bytes()).map_err(Failed::from)
    }

    /// Presses Ctrl-C.
    pub(crate) fn interrupts(&self) -> Result<(), Failed> {
        self.types(INTERRUPT)
    }

    /// Closes the terminal, as closing its window does.
    pub(crate) fn close(&mut self) -> Result<(), Failed> {
        if let Some((closing, reader)) = self.reader.take() {
            drop(closing);
            reader
                .join()
                .map_err(|_| Failed::from("the reader of the terminal panicked"))?;
        }
        self.front = None;
        Ok(())
    }

    /// Waits for the program's end. Kills the program and fails if it takes too long.
    pub(crate) fn end(mut self) -> Result<Ran, Failed> {
        let status = until(self.patience, || Ok(self.child.try_wait()?));
        let status = status.map_err(|_| {
            Failed::from(format!("no end after {:?}: {}", self.patience, self.text()))
        })?;
        // All output is readable before the terminal reports that its last program is gone.
        if let Some((closing, reader)) = self.reader.take() {
            let _ = reader.join();
            drop(closing);
        }
        Ok(Ran {
            code: code_of(status),
            stdout: self.text(),
            stderr: String::new(),
        })
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
