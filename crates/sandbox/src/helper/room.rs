//! The first process of a room: starts one job after another in it, each in namespaces of its own.
//!
//! Bubblewrap makes the room once: its namespaces, and the files that an agent's commands see. This
//! process is all that runs in it between two jobs. For a job it makes a copy of itself as the
//! first process of new PID, mount and IPC namespaces; the copy gives the job its own `/proc` and
//! empty private folders, gives up its capabilities, and is the job's supervisor from then on, as
//! if it had been executed for it. Nothing of a job outlives its namespaces: what one leaves for
//! the next is in the folders of the host that both may write.
//!
//! A network namespace takes as long to make as all the rest, so the next job gets the same one if
//! nothing of a connection is left in it: a port that the kernel still holds would be taken.
//!
//! In the fallback tier there are no namespaces, and the copy is a helper like any other one. What
//! is saved there is the start of this program, which is large.
//!
//! The room ends with this process: when the coordinator closes the socket, or dies.

use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use rustix::mount::{MountFlags, mount};
use rustix::process::{DumpableBehavior, Pid, WaitOptions};

use crate::descriptors;
use crate::helper::filter::{confine, landlock, seccomp};
use crate::helper::fresh_folders::FreshFolders;
use crate::helper::protocol::{Report, RoomAnswer, RoomSpec, report};
use crate::helper::supervisor::{self, Given};
use crate::sys::{self, Copied};
use crate::tier::Confinement;

/// The maximum size of the message that describes the room.
const MOST_BYTES: usize = 64 << 10;

/// What a job's supervisor gets: its control socket, its specification, the job's three streams,
/// and the job's control group if it has one.
struct Request {
    control: OwnedFd,
    spec: OwnedFd,
    streams: [OwnedFd; 3],
    group: Option<OwnedFd>,
}

impl Request {
    fn from_descriptors(descriptors: Vec<OwnedFd>) -> Option<Self> {
        let mut descriptors = descriptors.into_iter();
        Some(Self {
            control: descriptors.next()?,
            spec: descriptors.next()?,
            streams: [
                descriptors.next()?,
                descriptors.next()?,
                descriptors.next()?,
            ],
            group: descriptors.next(),
        })
    }
}

/// Keeps a room until the coordinator closes the socket.
pub(super) fn keep(socket: RawFd) -> io::Result<()> {
    let socket = sys::adopt(socket)?;
    sys::ignore_group_signals();
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let mut described = vec![0; MOST_BYTES];
    let (length, _) = descriptors::receive(&socket, &mut described)?;
    described.truncate(length);
    let spec: RoomSpec = serde_json::from_slice(&described)?;
    let folders = FreshFolders::read(spec.folders)?;
    // Each copy of this process has it then.
    let scoped = landlock::scopes_signals(sys::landlock_version());
    seccomp::of_process(spec.confinement, scoped).map_err(io::Error::other)?;
    answer(&socket, &RoomAnswer::Ready, None)?;
    while let Some(request) = receive(&socket)? {
        let copied = match spec.confinement {
            Confinement::Full => sys::copy_into_namespaces(),
            Confinement::Fallback | Confinement::Unconfined => sys::copy(),
        };
        match copied {
            Ok(Copied::Copy) => {
                drop(socket);
                return supervise(request, spec.confinement, &folders);
            }
            Ok(Copied::Original { copy, descriptor }) => {
                answer(&socket, &RoomAnswer::Started, Some(&descriptor))?;
                // The copy alone holds the job's sockets and pipes, so their ends are noticed.
                drop(request);
                wait_for(copy)?;
                if spec.confinement == Confinement::Full {
                    renew_network()?;
                }
            }
            Err(cause) => answer(&socket, &RoomAnswer::Failed(cause.to_string()), None)?,
        }
    }
    Ok(())
}

/// Receives the next request; `None` if the coordinator has closed the socket.
fn receive(socket: &OwnedFd) -> io::Result<Option<Request>> {
    match descriptors::receive(socket, &mut [0]) {
        Ok((0, _)) => Ok(None),
        Ok((_, descriptors)) => match Request::from_descriptors(descriptors) {
            Some(request) => Ok(Some(request)),
            None => Err(io::ErrorKind::InvalidData.into()),
        },
        Err(cause) => Err(cause),
    }
}

fn answer(socket: &OwnedFd, answer: &RoomAnswer, beside: Option<&OwnedFd>) -> io::Result<()> {
    let beside: Vec<_> = beside.into_iter().map(AsFd::as_fd).collect();
    descriptors::send(socket, &serde_json::to_vec(answer)?, &beside)?;
    Ok(())
}

fn wait_for(copy: Pid) -> io::Result<()> {
    loop {
        match rustix::process::waitpid(Some(copy), WaitOptions::empty()) {
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Makes a new network namespace, unless no socket is left in that of the room.
fn renew_network() -> io::Result<()> {
    for table in ["/proc/net/sockstat", "/proc/net/sockstat6"] {
        let table = match fs::read_to_string(table) {
            // A kernel without IPv6.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            read => read?,
        };
        if leaves_sockets(&table) {
            sys::leave_network()?;
            return sys::bring_up_loopback();
        }
    }
    Ok(())
}

/// Reports whether a table of the kernel's (`/proc/net/sockstat`) counts a TCP socket, or a port
/// that is held for one that was closed.
fn leaves_sockets(table: &str) -> bool {
    for line in table.lines().filter(|line| line.starts_with("TCP")) {
        let mut words = line.split_whitespace().skip(1);
        while let (Some(name), Some(number)) = (words.next(), words.next()) {
            if ["inuse", "tw"].contains(&name) && number != "0" {
                return true;
            }
        }
    }
    false
}

/// Supervises a job, in the full tier as the first process of its namespaces.
fn supervise(request: Request, confinement: Confinement, folders: &FreshFolders) -> io::Result<()> {
    let Request {
        control,
        spec,
        streams,
        group,
    } = request;
    for (number, stream) in (0..).zip(&streams) {
        sys::replace_stream(number, stream)?;
    }
    drop(streams);
    let control = UnixStream::from(control);
    if confinement == Confinement::Full
        && let Err(reason) = furnish(folders)
    {
        return report(&control, &Report::NoRoom(reason));
    }
    supervisor::run(Given {
        control,
        spec,
        group,
    })
}

/// Makes what each job has for itself, and gives up the capabilities that this takes.
fn furnish(folders: &FreshFolders) -> Result<(), String> {
    folders.renew().map_err(step("renew the private folders"))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None).map_err(step("mount /proc"))?;
    confine::drop_capabilities()
}

fn step<E: std::fmt::Display>(name: &'static str) -> impl FnOnce(E) -> String {
    move |cause| format!("{name}: {cause}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_is_held_is_found() {
        let table = |inuse, held| {
            let tcp = format!("TCP: inuse {inuse} orphan 3 tw {held} alloc 9 mem 1");
            format!("sockets: used 7\n{tcp}\nUDP: inuse 2 mem 0\n")
        };
        assert!(!leaves_sockets(&table(0, 0)));
        assert!(leaves_sockets(&table(1, 0)));
        assert!(leaves_sockets(&table(0, 2)));
        assert!(!leaves_sockets("TCP6: inuse 0\nUDP6: inuse 3\n"));
        assert!(leaves_sockets("TCP6: inuse 1\n"));
    }
}
