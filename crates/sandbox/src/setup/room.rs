//! Rooms: the namespaces and mounts that bubblewrap has made, kept from one job of an agent to its
//! next; in the fallback tier, a process alone that starts helpers by copying itself.
//!
//! A room is used for a job only if bubblewrap would make the same one anew: with the same
//! arguments, of the same files and folders of the host. A file that was replaced by another one is
//! another file, since a room that has mounted it would go on to show the old one. So whoever
//! starts a job never has to say that something has changed. Only the machine's settings, such as
//! those below `/etc`, are as they were when the room was made.
//!
//! A room has one job at a time, so the kernel counts the processes of each job alone; a second one
//! at the same time gets a second room. Rooms without a job are kept, but few of them in the whole
//! process: an agent waits for its model most of the time, and making a room again costs about as
//! much as starting one command in bubblewrap.

use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::Signal;

use crate::descriptors;
use crate::error::SandboxError;
use crate::helper::ROOM_ARG;
use crate::helper::protocol::{FreshFolder, RoomAnswer, RoomSpec};
use crate::setup::bubblewrap::Arguments;
use crate::setup::start_helper::HelperStart;
use crate::tier::{Confinement, Helper};

/// How many rooms without a job are kept in this process.
const MOST_IDLE: usize = 16;
/// How many rooms without a job one owner keeps: one without a network, and one with a proxy.
const MOST_IDLE_OF_OWNER: usize = 2;
/// How many failures in a row show that this machine has no rooms.
const MOST_FAILURES: usize = 3;
/// How long a room may take to answer, which takes milliseconds: no job is started in one that
/// hangs, such as on a file system whose server is gone.
const PATIENCE: Duration = Duration::from_secs(30);
/// The maximum size of an answer: a word, or an error.
const MOST_ANSWERED: usize = 4 << 10;

/// The rooms without a job, the one that was used last at the end.
static IDLE: Mutex<Vec<Idle>> = Mutex::new(Vec::new());
/// The failures since a room was last made and used, which a full machine may have caused.
static FAILURES: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Idle {
    owner: u64,
    room: Room,
}

/// What the rooms of an agent's jobs are kept for; they are closed when its last copy is dropped.
#[derive(Debug, Clone)]
pub(crate) struct RoomOwner(Arc<Owner>);

#[derive(Debug)]
struct Owner(u64);

impl RoomOwner {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(Arc::new(Owner(NEXT.fetch_add(1, Ordering::Relaxed))))
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let of_owner: Vec<Idle> = idle().extract_if(.., |idle| idle.owner == self.0).collect();
        drop(of_owner);
    }
}

fn idle() -> MutexGuard<'static, Vec<Idle>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Notes that a job was started in a room.
pub(crate) fn note_success() {
    failures().clear();
}

fn failures() -> MutexGuard<'static, Vec<String>> {
    FAILURES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reports whether rooms are still tried in this process.
pub(crate) fn are_tried() -> bool {
    failures().len() < MOST_FAILURES
}

/// Returns why the newest room could not be made or used.
pub(crate) fn newest_failure() -> Option<String> {
    failures().last().cloned()
}

/// Notes that no room could be made, or that a job could not be started in one.
pub(crate) fn note_failure(why: String) {
    let mut failures = failures();
    if failures.len() < MOST_FAILURES {
        failures.push(why);
    }
}

/// What makes two rooms the same.
#[derive(PartialEq, Eq)]
struct Identity {
    /// `None` in the fallback tier.
    arguments: Option<Arc<Arguments>>,
    /// Which file or folder is at each path of the host that is shown.
    shown: Vec<Option<FileId>>,
    /// Which file is at each path that another one is mounted over, and when it was changed: the
    /// number of one that was removed may be given to another one.
    covered: Vec<Option<(FileId, i64, i64)>>,
}

#[derive(PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
}

impl Identity {
    fn new(wanted: &Wanted) -> Self {
        let (mut shown, mut covered) = (Vec::new(), Vec::new());
        for path in wanted
            .arguments
            .iter()
            .flat_map(|arguments| arguments.bound())
        {
            shown.push(path.metadata().ok().map(|found| FileId::new(&found)));
        }
        for path in wanted
            .arguments
            .iter()
            .flat_map(|arguments| arguments.covered())
        {
            let found = path.symlink_metadata().ok();
            let change =
                |found: std::fs::Metadata| (FileId::new(&found), found.ctime(), found.ctime_nsec());
            covered.push(found.map(change));
        }
        Self {
            arguments: wanted.arguments.clone(),
            shown,
            covered,
        }
    }
}

impl FileId {
    fn new(found: &std::fs::Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
        }
    }
}

/// Why a job has no supervisor in a room.
pub(crate) enum NoStart {
    /// It was not started, for this reason.
    NotStarted(String),
    /// The room has ended, and everything in it. If it was started, it has reported that.
    Ended(String),
    /// It may have been started, and may still run.
    Unknown(String),
}

impl NoStart {
    fn why(self) -> String {
        match self {
            Self::NotStarted(why) | Self::Ended(why) | Self::Unknown(why) => why,
        }
    }
}

/// The room that a job needs.
pub(crate) struct Wanted {
    pub(crate) confinement: Confinement,
    /// What bubblewrap is started with, in the full tier.
    pub(crate) arguments: Option<Arc<Arguments>>,
    /// The folders that each job has for itself.
    pub(crate) folders: Vec<FreshFolder>,
    pub(crate) helper: Helper,
}

/// A room; it is closed when it is dropped.
struct Room {
    identity: Identity,
    socket: OwnedFd,
    /// Bubblewrap, or in the fallback tier the process itself.
    process: Child,
}

impl Drop for Room {
    fn drop(&mut self) {
        // The socket is closed next, which ends the first process of the room where the end of
        // bubblewrap does not. One that has ended needs no signal.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The descriptors for a job's supervisor.
pub(crate) struct ForSupervisor {
    pub(crate) control: OwnedFd,
    pub(crate) spec: OwnedFd,
    pub(crate) streams: [OwnedFd; 3],
    pub(crate) group: Option<OwnedFd>,
}

impl ForSupervisor {
    fn all(&self) -> Vec<BorrowedFd<'_>> {
        let mut all = vec![self.control.as_fd(), self.spec.as_fd()];
        all.extend(self.streams.iter().map(AsFd::as_fd));
        all.extend(self.group.as_ref().map(AsFd::as_fd));
        all
    }
}

/// The supervisor of a job in a room.
pub(crate) struct InRoom {
    owner: RoomOwner,
    /// `None` once the room has been given back.
    room: Option<Room>,
    supervisor: OwnedFd,
}

impl RoomOwner {
    /// Starts a job's supervisor in a room, in a new one if none is free.
    ///
    /// # Errors
    /// If this machine lets us make no room, or start nothing in it; and if it is not known whether
    /// the job was started, which must not be started again then.
    pub(crate) fn start(&self, wanted: Wanted, given: &ForSupervisor) -> Result<InRoom, NoStart> {
        let identity = Identity::new(&wanted);
        if let Some(mut room) = self.take(&identity) {
            match room.supervise(given) {
                Ok(supervisor) => return Ok(self.started(room, supervisor)),
                // Its processes may have been killed meanwhile.
                Err(NoStart::NotStarted(_)) => {}
                Err(unknown) => return Err(unknown),
            }
        }
        let mut room = Room::make(identity, wanted).map_err(NoStart::NotStarted)?;
        let supervisor = room.supervise(given)?;
        Ok(self.started(room, supervisor))
    }

    fn started(&self, room: Room, supervisor: OwnedFd) -> InRoom {
        InRoom {
            owner: self.clone(),
            room: Some(room),
            supervisor,
        }
    }

    /// Reports whether a room without a job is kept.
    pub(crate) fn has_room(&self) -> bool {
        idle().iter().any(|idle| idle.owner == self.0.0)
    }

    /// Takes a room of the owner's that is free.
    fn take(&self, identity: &Identity) -> Option<Room> {
        let mut idle = idle();
        let is_same = |idle: &Idle| idle.owner == self.0.0 && idle.room.identity == *identity;
        let found = idle.iter().position(is_same)?;
        Some(idle.remove(found).room)
    }

    /// Keeps a room for the next job, and closes those for which there is no place any more.
    fn keep(&self, room: Room) {
        let mut closed = Vec::new();
        let mut idle = idle();
        let owner = self.0.0;
        idle.push(Idle { owner, room });
        let of_owner = idle.iter().filter(|idle| idle.owner == owner).count();
        if of_owner > MOST_IDLE_OF_OWNER
            && let Some(oldest) = idle.iter().position(|idle| idle.owner == owner)
        {
            closed.push(idle.remove(oldest));
        }
        if idle.len() > MOST_IDLE {
            closed.push(idle.remove(0));
        }
        drop(idle);
        // Waits for the end of a process, so not while others wait for the list.
        drop(closed);
    }
}

impl Room {
    fn make(identity: Identity, wanted: Wanted) -> Result<Self, String> {
        let flags = SocketFlags::CLOEXEC;
        let (socket, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
            .map_err(|cause| format!("make a socket for a room: {cause}"))?;
        set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE))
            .map_err(|cause| format!("bound the wait for a room: {cause}"))?;
        let start = HelperStart {
            task: Some(ROOM_ARG),
            descriptors: vec![theirs],
            streams: [Stdio::null(), Stdio::null(), Stdio::piped()],
        };
        let started = match wanted.arguments {
            Some(arguments) => start.in_bubblewrap(&wanted.helper, arguments),
            None => start.alone(&wanted.helper),
        };
        let process = started.map_err(|error| format!("start a room: {error}"))?;
        let mut room = Self {
            identity,
            socket,
            process,
        };
        let spec = RoomSpec {
            confinement: wanted.confinement,
            folders: wanted.folders,
        };
        let described =
            serde_json::to_vec(&spec).map_err(|cause| format!("describe a room: {cause}"))?;
        let ready = descriptors::send(&room.socket, &described, &[])
            .map_err(|cause| format!("describe a room: {cause}"))
            .and_then(|_| room.answer().map_err(NoStart::why));
        match ready {
            Ok((RoomAnswer::Ready, _)) => {
                // A room that is kept holds as few files open as possible.
                room.process.stderr = None;
                Ok(room)
            }
            Ok((other, _)) => Err(format!("a room that was made answered {other:?}")),
            Err(reason) => Err(room.why_it_ended(reason)),
        }
    }

    /// Starts the supervisor of a job; returns the descriptor of its process.
    fn supervise(&mut self, given: &ForSupervisor) -> Result<OwnedFd, NoStart> {
        descriptors::send(&self.socket, b"J", &given.all())
            .map_err(|cause| NoStart::NotStarted(format!("reach a room: {cause}")))?;
        match self.answer() {
            Ok((RoomAnswer::Started, Some(supervisor))) => Ok(supervisor),
            Ok((RoomAnswer::Failed(cause), _)) => {
                let why = format!("make namespaces in a room: {cause}");
                Err(NoStart::NotStarted(why))
            }
            Ok((other, _)) => Err(NoStart::Unknown(format!("a room answered {other:?}"))),
            Err(ended @ NoStart::Ended(_)) => {
                // Bubblewrap ends after the namespace, and with it every process of the job.
                let _ = self.process.wait();
                Err(ended)
            }
            Err(other) => Err(other),
        }
    }

    fn answer(&self) -> Result<(RoomAnswer, Option<OwnedFd>), NoStart> {
        let mut bytes = vec![0; MOST_ANSWERED];
        let (length, mut passed) = loop {
            let cause = match descriptors::receive(&self.socket, &mut bytes) {
                Ok(received) => break received,
                Err(cause) => cause,
            };
            let why = format!("hear from a room: {cause}");
            match cause.kind() {
                // A wait with a time limit is never resumed by the kernel after a signal.
                ErrorKind::Interrupted => {}
                // The kernel says so if the other end was closed before the request was read.
                ErrorKind::ConnectionReset => return Err(NoStart::NotStarted(why)),
                _ => return Err(NoStart::Unknown(why)),
            }
        };
        bytes.truncate(length);
        if bytes.is_empty() {
            return Err(NoStart::Ended(
                "a room has ended without an answer".to_owned(),
            ));
        }
        let answer = serde_json::from_slice(&bytes)
            .map_err(|cause| NoStart::Unknown(format!("understand a room: {cause}")))?;
        Ok((answer, passed.pop()))
    }

    /// Returns why a room that was started does not answer: what bubblewrap has said, if anything.
    fn why_it_ended(&mut self, reason: String) -> String {
        let _ = self.process.kill();
        // Only what is there: the other end may still be open.
        let mut said = [0; MOST_ANSWERED];
        if let Some(stderr) = &mut self.process.stderr
            && rustix::io::ioctl_fionbio(&*stderr, true).is_ok()
            && let Ok(length) = stderr.read(&mut said)
        {
            let said = String::from_utf8_lossy(said.get(..length).unwrap_or(&[]));
            if !said.trim().is_empty() {
                return format!("{reason}: {}", said.trim());
            }
        }
        reason
    }
}

impl InRoom {
    /// Ends all processes of the job.
    pub(crate) fn kill(&self) {
        // One that has ended needs no signal.
        let _ = rustix::process::pidfd_send_signal(&self.supervisor, Signal::KILL);
    }

    /// Waits until no process of the job is left, and keeps the room for the next job.
    pub(crate) fn wait(&mut self) -> Result<(), SandboxError> {
        let mut ended = [PollFd::new(&self.supervisor, PollFlags::IN)];
        loop {
            match poll(&mut ended, None::<&Timespec>) {
                Ok(_) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(SandboxError::errno("wait for the supervisor")(errno)),
            }
        }
        if let Some(room) = self.room.take() {
            self.owner.keep(room);
        }
        Ok(())
    }
}
