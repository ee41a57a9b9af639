//! Ends the remaining processes if the supervisor is killed, in tiers without a process namespace.
//!
//! Descendants of a supervisor that dies would be reparented to the machine's init process and live
//! on: daemons that a command started have no other parent. So the helper forks before it starts
//! anything. The guardian is the parent. It is a child subreaper too, so it inherits what the
//! supervisor leaves. The supervisor watches its guardian in turn: whichever of the two is killed,
//! the other ends the job. A process can survive only if both are killed at once.
//!
//! Invariant: the guardian keeps the control socket open until no process of the job is left.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{DumpableBehavior, Pid, WaitOptions, getpid};

use crate::helper::protocol::Spec;
use crate::helper::usage::tree;
use crate::sys;

/// Which of the two processes this one has become.
pub(super) enum Half {
    /// The guardian, with the supervisor's process id.
    Guardian(Pid),
    /// The supervisor, which runs the job, with the guardian's process id.
    Supervisor(Pid),
}

/// Forks this process, which must have a single thread, into guardian and supervisor.
pub(super) fn split() -> io::Result<Half> {
    sys::ignore_group_signals();
    rustix::process::set_child_subreaper(Some(getpid()))?;
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let own = getpid();
    Ok(match sys::fork_single_threaded()? {
        Some(supervisor) => Half::Guardian(supervisor),
        None => Half::Supervisor(own),
    })
}

/// Waits until the supervisor ends. If it did not end by itself, ends the processes that it left.
pub(super) fn stand_by(
    spec: &Spec,
    control: &UnixStream,
    supervisor: Pid,
    patience: Duration,
) -> io::Result<()> {
    let status = loop {
        match rustix::process::waitpid(Some(supervisor), WaitOptions::empty()) {
            Ok(Some((_, status))) => break status,
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    };
    // A supervisor that ended by itself has left nothing: then there is no child, and no search.
    if tree::reap().1 {
        tree::kill_all(patience);
    }
    match status.exit_status() {
        Some(0) => Ok(()),
        Some(_) => clear_up(spec, control).and(Err(io::ErrorKind::Other.into())),
        None => clear_up(spec, control),
    }
}

/// Removes the job's directory for a killed supervisor, unless the coordinator is alive to do so.
fn clear_up(spec: &Spec, control: &UnixStream) -> io::Result<()> {
    let mut events = [PollFd::new(control, PollFlags::IN)];
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut events, Some(&at_once))?;
    let is_gone = events
        .iter()
        .any(|event| event.revents().contains(PollFlags::HUP));
    match &spec.scratch {
        Some(scratch) if is_gone => orchestrate_files::remove_folder(Path::new(scratch)),
        _ => Ok(()),
    }
}
