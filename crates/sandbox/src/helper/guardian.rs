//! Stands behind the supervisor where no process namespace does, and ends what is left if the supervisor is killed.
//!
//! Descendants of a supervisor that dies would go to the machine's init process and live on: daemons that a command
//! started have no other parent. So the helper splits in two before it starts anything. The guardian is the parent: a
//! child subreaper too, it inherits what the supervisor leaves. The supervisor watches its guardian in turn, so that
//! whichever of the two is killed, the other ends the job; only both at once could leave something behind.
//!
//! Invariant: the guardian keeps the control socket open until nothing of the job is left.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{DumpableBehavior, Pid, WaitOptions, getpid};

use super::protocol::Spec;
use super::tree;
use crate::sys;

/// Which of the two this process has become.
pub(super) enum Half {
    /// The one that stands behind, with the supervisor's process id.
    Guardian(Pid),
    /// The one that runs the job, with the guardian's process id.
    Supervisor(Pid),
}

/// Splits this process, which has one thread, in two.
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

/// Waits for the supervisor's end; if it did not end by itself, ends what it has left behind.
pub(super) fn stand_by(spec: &Spec, control: &UnixStream, supervisor: Pid, patience: Duration) -> io::Result<()> {
    let status = loop {
        match rustix::process::waitpid(Some(supervisor), WaitOptions::empty()) {
            Ok(Some((_, status))) => break status,
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    };
    // One that ended by itself has left nothing: then there is no child, and nothing is looked for.
    if tree::reap().1 {
        tree::kill_all(patience);
    }
    match status.exit_status() {
        Some(0) => Ok(()),
        Some(_) => clear_up(spec, control).and(Err(io::ErrorKind::Other.into())),
        None => clear_up(spec, control),
    }
}

/// Removes the job's directory in place of a killed supervisor, unless the coordinator is there to do it.
fn clear_up(spec: &Spec, control: &UnixStream) -> io::Result<()> {
    let mut events = [PollFd::new(control, PollFlags::IN)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut events, Some(&at_once))?;
    let is_gone = events.iter().any(|event| event.revents().contains(PollFlags::HUP));
    match &spec.scratch {
        Some(scratch) if is_gone => orchestrate_files::remove_folder(Path::new(scratch)),
        _ => Ok(()),
    }
}
