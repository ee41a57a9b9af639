//! The third way to start a process: runs a command of the user's own as a shell would.
//!
//! Nothing is confined: the command has this process's folder, environment, standard input, process
//! group and terminal. What it writes passes through sinks, as it comes. A signal that asks this
//! process to end ends the command first, and if this process is killed, the command is too, with
//! every process that it started (`helper/keeper.rs`).

use std::ffi::{OsStr, OsString};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions};

use crate::descriptors::pipe;
use crate::error::SandboxError;
use crate::helper::{HELPER_ARG, KEEP_ARG, Told, helper_installed};
use crate::{spawner, sys};

/// How long a command may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(5);
/// How long what an interrupted command wrote may take to be read.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How much is read at once.
const READ_BYTES: usize = 64 << 10;
/// The signals that end a command, besides the end of its terminal.
const ENDING: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGQUIT];

/// Signals that ask this process to end, held back until a command has ended.
#[derive(Debug)]
pub struct Interrupts {
    held: OwnedFd,
    hang_up_is_ignored: bool,
}

/// Takes what a command writes.
pub trait Sink: Send + 'static {
    /// Takes the next bytes. After an error, the command's writes fail.
    ///
    /// # Errors
    /// Fails if the bytes cannot be passed on.
    fn take(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Is called once after the last bytes.
    fn end(&mut self);
}

/// How a command ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum Passed {
    /// By itself, or by a signal from another process.
    Ended(ExitStatus),
    /// On a signal to this process; none of its processes is left.
    Interrupted {
        /// Whether a key of the terminal sent the signal.
        by_key: bool,
    },
    /// Never started.
    NotStarted(io::Error),
}

impl Interrupts {
    /// Holds the signals back from now on. Must be called before this process has other threads.
    ///
    /// # Errors
    /// Fails if the kernel refuses.
    pub fn hold() -> Result<Interrupts, SandboxError> {
        let hang_up_is_ignored = sys::is_ignored(libc::SIGHUP);
        let hang_up = (!hang_up_is_ignored).then_some(libc::SIGHUP);
        let signals: Vec<libc::c_int> = ENDING.into_iter().chain(hang_up).collect();
        let held = sys::hold(&signals).map_err(SandboxError::io("hold signals back"))?;
        Ok(Interrupts {
            held,
            hang_up_is_ignored,
        })
    }

    /// Lets the signals end this process again: there is no command to wait for.
    pub fn release(&self) {
        sys::release(&ENDING);
        if !self.hang_up_is_ignored {
            sys::release(&[libc::SIGHUP]);
        }
    }

    /// Ends this process as Ctrl-C does, so that a shell ends its loop.
    pub fn end_process(&self) {
        sys::end_by(libc::SIGINT);
    }
}

/// Runs a command, whose first word is its program, and passes what it writes to the sinks of
/// standard output and standard error. With only one sink, both are the same pipe, so that their
/// order is kept.
///
/// # Errors
/// Fails if the command cannot be watched; never because of how it ends.
pub fn pass_through(
    command: &[OsString],
    interrupts: &Interrupts,
    output: Box<dyn Sink>,
    errors: Option<Box<dyn Sink>>,
) -> Result<Passed, SandboxError> {
    if !helper_installed() {
        return Err(SandboxError::HelperNotInstalled);
    }
    let (from_output, to_output) = pipe()?;
    let mut sinks = vec![(from_output, output)];
    let to_errors = match errors {
        Some(errors) => {
            let (from_errors, to_errors) = pipe()?;
            sinks.push((from_errors, errors));
            to_errors
        }
        None => to_output
            .try_clone()
            .map_err(SandboxError::io("share a pipe"))?,
    };
    let (keeper, control) = start(command, interrupts, [to_output, to_errors])?;
    let pumps = Pumps::start(sinks)?;
    let passed = Watch {
        control,
        interrupts,
        signals: 0,
        by_key: false,
        until: None,
        is_killed: false,
    }
    .end(&pumps);
    // The keeper ends once the control socket is closed, which `end` does.
    let waited =
        rustix::io::retry_on_intr(|| rustix::process::waitpid(Some(keeper), WaitOptions::empty()));
    waited.map_err(SandboxError::errno("wait for the keeper of a command"))?;
    passed
}

/// Starts the keeper, and with it the command.
fn start(
    command: &[OsString],
    interrupts: &Interrupts,
    [to_output, to_errors]: [OwnedFd; 2],
) -> Result<(Pid, UnixStream), SandboxError> {
    let (control, theirs) =
        UnixStream::pair().map_err(SandboxError::io("make a control socket"))?;
    let number = theirs.as_raw_fd().to_string();
    let hang_up = if interrupts.hang_up_is_ignored {
        "ignored"
    } else {
        "ends"
    };
    let own = ["orchestrate", HELPER_ARG, KEEP_ARG, &number, hang_up].map(OsStr::new);
    let arguments = own
        .into_iter()
        .chain(command.iter().map(OsString::as_os_str));
    let stdin = std::io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map_err(SandboxError::io("share standard input"))?;
    let program = keeper(arguments, [stdin, to_output, to_errors])
        .map_err(SandboxError::io("start a process"))?;
    let keeper = spawner::spawn(vec![theirs.into()], move || sys::start(&program))?;
    Ok((keeper, control))
}

#[expect(
    clippy::disallowed_methods,
    reason = "a command of the user's own has the whole environment of this process"
)]
fn keeper<'a>(
    arguments: impl Iterator<Item = &'a OsStr>,
    streams: [OwnedFd; 3],
) -> io::Result<sys::Program> {
    let variables: Vec<_> = std::env::vars_os().collect();
    Ok(sys::Program {
        path: sys::c_string("/proc/self/exe")?,
        arguments: sys::c_strings(arguments)?,
        environment: sys::c_environment(&variables)?,
        directory: None,
        streams,
        own_group: false,
        dies_with: None,
        file_bytes: None,
        is_private: false,
    })
}

/// The threads that pass on what a command writes.
struct Pumps {
    /// Readable once they are to pass on no more than what has been written.
    stop: Arc<OwnedFd>,
    /// Hangs up once all have ended.
    done: OwnedFd,
}

impl Pumps {
    fn start(sinks: Vec<(OwnedFd, Box<dyn Sink>)>) -> Result<Pumps, SandboxError> {
        let (done, running) = pipe()?;
        let stop =
            eventfd(0, EventfdFlags::CLOEXEC).map_err(SandboxError::errno("make an event"))?;
        let pumps = Pumps {
            stop: Arc::new(stop),
            done,
        };
        for (pipe, mut sink) in sinks {
            let running = running
                .try_clone()
                .map_err(SandboxError::io("share a pipe"))?;
            let stop = Arc::clone(&pumps.stop);
            thread::Builder::new()
                .name("output".to_owned())
                .spawn(move || {
                    pump(pipe, &stop, sink.as_mut());
                    drop(running);
                })
                .map_err(SandboxError::io("start a thread"))?;
        }
        Ok(pumps)
    }

    fn stop(&self) -> Result<(), SandboxError> {
        let told = rustix::io::write(&*self.stop, &1_u64.to_ne_bytes());
        told.map(drop).map_err(SandboxError::errno("stop a thread"))
    }
}

/// Passes on what is written to a pipe, and then ends its sink.
fn pump(pipe: OwnedFd, stop: &OwnedFd, sink: &mut dyn Sink) {
    // Whatever the error is, the command sees it as a closed pipe, as without us.
    let _ = pass_on(&pipe, stop, sink);
    drop(pipe);
    sink.end();
}

/// Passes on what is written until no process can write any more, or until `stop` is readable and
/// nothing is left.
fn pass_on(pipe: &OwnedFd, stop: &OwnedFd, sink: &mut dyn Sink) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(READ_BYTES);
    loop {
        let [is_open, is_over] = readable([pipe.as_fd(), stop.as_fd()], None)?;
        if !is_open && is_over {
            return Ok(());
        }
        if is_open {
            buffer.clear();
            rustix::io::retry_on_intr(|| rustix::io::read(pipe, spare_capacity(&mut buffer)))?;
            if buffer.is_empty() {
                return Ok(());
            }
            sink.take(&buffer)?;
        }
    }
}

/// Waits until one of these can be read or has hung up, at most until `until`; returns which.
fn readable<const N: usize>(
    all: [BorrowedFd<'_>; N],
    until: Option<Instant>,
) -> io::Result<[bool; N]> {
    let mut events = all.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    let left = until.map(|until| {
        let left = until.saturating_duration_since(Instant::now());
        Timespec {
            tv_sec: left.as_secs().cast_signed(),
            tv_nsec: left.subsec_nanos().into(),
        }
    });
    match poll(&mut events, left.as_ref()) {
        Ok(_) => Ok(events.map(|event| !event.revents().is_empty())),
        Err(Errno::INTR) => Ok([false; N]),
        Err(errno) => Err(errno.into()),
    }
}

/// Waits for a command's end and for signals.
struct Watch<'a> {
    control: UnixStream,
    interrupts: &'a Interrupts,
    /// How many signals have arrived.
    signals: u32,
    by_key: bool,
    /// When the command's processes are killed.
    until: Option<Instant>,
    is_killed: bool,
}

impl Watch<'_> {
    /// Waits for the command's end, and until what it wrote has been passed on.
    fn end(mut self, pumps: &Pumps) -> Result<Passed, SandboxError> {
        let watch = SandboxError::io("watch a command");
        let told = match self.told() {
            Ok(told) => told,
            Err(error) => return Err(watch(error)),
        };
        if self.signals > 0 && !self.is_killed {
            self.order(Signal::KILL);
        }
        if self.signals > 0 {
            // The keeper ends when none of the command's processes is left.
            let _ = self.control.read_to_end(&mut Vec::new());
        }
        pumps.stop()?;
        self.drain(pumps).map_err(watch)?;
        Ok(match told {
            _ if self.signals > 0 => Passed::Interrupted {
                by_key: self.by_key,
            },
            Some(Told::Ended(status)) => Passed::Ended(ExitStatus::from_raw(status)),
            Some(Told::NotStarted(errno)) => {
                Passed::NotStarted(io::Error::from_raw_os_error(errno))
            }
            // The keeper was killed, and the command with it.
            None => Passed::Ended(ExitStatus::from_raw(libc::SIGKILL)),
        })
    }

    /// Waits for what the keeper tells; `None` if it was killed.
    fn told(&mut self) -> io::Result<Option<Told>> {
        loop {
            let [told, signal] = readable(
                [self.control.as_fd(), self.interrupts.held.as_fd()],
                self.until,
            )?;
            if signal {
                self.take_signals()?;
            }
            if told {
                let mut message = [0; Told::BYTES];
                return match self.control.read_exact(&mut message) {
                    Ok(()) => Ok(Told::of_bytes(message)),
                    Err(_) => Ok(None),
                };
            }
            if self.until.is_some_and(|until| Instant::now() >= until) {
                self.until = None;
                self.order(Signal::KILL);
            }
        }
    }

    /// Waits until the pumps have ended. A signal ends the wait: the reader may never read on.
    fn drain(&mut self, pumps: &Pumps) -> io::Result<()> {
        let until = (self.signals > 0).then(|| Instant::now() + LAST_WORDS);
        loop {
            let [done, signal] =
                readable([pumps.done.as_fd(), self.interrupts.held.as_fd()], until)?;
            if signal {
                self.take_signals()?;
            }
            if done || signal || until.is_some_and(|until| Instant::now() >= until) {
                return Ok(());
            }
        }
    }

    /// Passes the first signal on; the second kills.
    fn take_signals(&mut self) -> io::Result<()> {
        while let Some(signal) = sys::next_held(&self.interrupts.held)? {
            self.signals += 1;
            self.by_key |= signal.of_kernel && signal.number == libc::SIGINT;
            match Signal::from_named_raw(signal.number) {
                _ if self.signals > 1 => self.order(Signal::KILL),
                Some(passed) if !signal.of_kernel => self.order(passed),
                // The terminal has sent it to the command as well.
                _ => {}
            }
            if self.until.is_none() {
                self.until = Some(Instant::now() + GRACE);
            }
        }
        Ok(())
    }

    fn order(&mut self, signal: Signal) {
        self.is_killed |= signal == Signal::KILL;
        if let Ok(number) = u8::try_from(signal.as_raw()) {
            // A keeper that has ended needs no order.
            let _ = self.control.write_all(&[number]);
        }
    }
}
