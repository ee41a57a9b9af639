//! Starts a command of the user's own, unconfined, and ends what is left of it if its caller is
//! killed.
//!
//! The keeper is between the caller and the command. It stays in the caller's process group and
//! session, as the command does, so that keys of the terminal reach the command and the command can
//! read from the terminal. As a child subreaper it finds every process of the command, whatever
//! groups and sessions those make.
//!
//! A command that has ended may leave processes in the background; they are the user's and stay,
//! unless the caller orders their end.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, getpid, getppid, pidfd_open};

use crate::helper::poll_set::Awaited;
use crate::helper::usage::tree;
use crate::sys::{self, PreparedProgram};

/// How long the same processes may remain until they are taken to hang in the kernel, where no
/// signal reaches them.
const GIVE_UP: Duration = Duration::from_secs(10);
/// The interval at which orphans that ended are reaped.
const IDLE: Duration = Duration::from_millis(500);

/// A message of the keeper to its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// The command was not started, with the error's number.
    NotStarted(i32),
    /// The command has ended, with the status that the kernel gave.
    Ended(i32),
}

impl Told {
    /// The bytes of a message.
    pub(crate) const BYTES: usize = 5;

    fn to_bytes(self) -> [u8; Told::BYTES] {
        let (kind, number) = match self {
            Told::NotStarted(errno) => (b'n', errno),
            Told::Ended(status) => (b'e', status),
        };
        let [a, b, c, d] = number.to_be_bytes();
        [kind, a, b, c, d]
    }

    /// Parses a message.
    pub(crate) fn of_bytes([kind, a, b, c, d]: [u8; Told::BYTES]) -> Option<Told> {
        let number = i32::from_be_bytes([a, b, c, d]);
        match kind {
            b'n' => Some(Told::NotStarted(number)),
            b'e' => Some(Told::Ended(number)),
            _ => None,
        }
    }
}

/// Runs one command; its arguments are the program and its own arguments.
pub(super) fn run(
    control: RawFd,
    hang_up_is_ignored: bool,
    command: &[OsString],
) -> io::Result<()> {
    let mut control = UnixStream::from(sys::adopt(control)?);
    sys::ignore_group_signals();
    rustix::process::set_child_subreaper(Some(getpid()))?;
    let started = start(command, hang_up_is_ignored);
    sys::let_go_of_streams()?;
    match started {
        Ok(program) => keep(&control, program),
        Err(error) => control
            .write_all(&Told::NotStarted(error.raw_os_error().unwrap_or(libc::EINVAL)).to_bytes()),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a command of the user's own has the environment of this process"
)]
fn start(command: &[OsString], hang_up_is_ignored: bool) -> io::Result<Pid> {
    let variables: Vec<_> = std::env::vars_os().collect();
    let keeper = getpid();
    sys::start_single_threaded(&PreparedProgram {
        name: sys::c_string(command.first().ok_or(io::ErrorKind::InvalidInput)?)?,
        arguments: sys::c_strings(command.iter().map(OsString::as_os_str))?,
        environment: sys::c_environment(&variables)?,
        directory: sys::c_string(".")?,
        step: move || prepare(keeper, hang_up_is_ignored),
    })
}

/// Ties the child to the keeper, and gives it the signals of an ordinary program.
fn prepare(keeper: Pid, hang_up_is_ignored: bool) -> io::Result<()> {
    sys::restore_group_signals();
    if hang_up_is_ignored {
        sys::ignore(libc::SIGHUP);
    }
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    // If the keeper was killed before this, the signal would never be sent.
    if getppid() == Some(keeper) {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(libc::ESRCH))
    }
}

/// Passes signals on until the command has ended and the caller needs no more.
fn keep(mut control: &UnixStream, program: Pid) -> io::Result<()> {
    let program_end = pidfd_open(program, PidfdFlags::empty())?;
    let mut awaited = Awaited {
        orders: control.as_fd(),
        program_end: Some(program_end),
        calls: None,
    };
    let mut has_ended = false;
    loop {
        if let Some((_, status)) = tree::reap().0.into_iter().find(|(pid, _)| *pid == program) {
            has_ended = true;
            // A caller that was killed is noticed below.
            let _ = control.write_all(&Told::Ended(status.as_raw()).to_bytes());
        }
        if !awaited.wait(IDLE)?.order {
            continue;
        }
        let mut order = [0];
        match control.read(&mut order) {
            Ok(1) => {}
            Ok(_) if has_ended => return Ok(()),
            // The caller was killed.
            Ok(_) | Err(_) => {
                tree::kill_all(GIVE_UP);
                return Ok(());
            }
        }
        match Signal::from_named_raw(order[0].into()) {
            Some(Signal::KILL) | None => {
                tree::kill_all(GIVE_UP);
                return Ok(());
            }
            Some(signal) => tree::signal_all(signal),
        }
    }
}
