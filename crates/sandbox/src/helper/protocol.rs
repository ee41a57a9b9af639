//! The protocol between the coordinator and the helper.
//!
//! The helper receives a [`Spec`] as JSON in a memory file, and one end of a socket. Over the
//! socket, the coordinator sends [`Order`]s, one byte each, and the helper sends [`Report`]s, one
//! line of JSON each. The end of file on the socket means to the helper that the coordinator has
//! died, and to the coordinator that the helper has.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::descriptors;
use crate::disk_usage::{Account, Space};
use crate::job::{Network, Usage};
use crate::tier::Confinement;

/// The program that the helper has to run, and its restrictions.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Spec {
    pub(crate) confinement: Confinement,
    pub(crate) network: Network,
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) cwd: OsString,
    /// Paths below which Landlock allows everything.
    pub(crate) writable: Vec<OsString>,
    /// Paths below which Landlock allows reading and executing.
    pub(crate) read_only: Vec<OsString>,
    pub(crate) processes: Option<u32>,
    /// The number of the user's threads a moment ago, if the kernel counts them together with the
    /// job's; otherwise 0.
    pub(crate) tasks_of_user: u64,
    /// The processor time that all processes may use together.
    pub(crate) cpu: Option<Duration>,
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) file_bytes: Option<u64>,
    /// The space that the folders below may hold together.
    pub(crate) disk: Option<Space>,
    /// Their known usage from the previous job.
    pub(crate) disk_known: Option<Account>,
    /// The folders on a disk that the job may write to.
    pub(crate) disk_folders: Vec<OsString>,
    /// The job's own folders in memory.
    pub(crate) memory_folders: Vec<OsString>,
    /// A directory that the helper removes at the end. The coordinator removes it too, but may die
    /// before.
    pub(crate) scratch: Option<OsString>,
}

/// What each job of a room has for itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RoomSpec {
    /// The tier of its jobs; the full one gives them namespaces.
    pub(crate) confinement: Confinement,
    /// The private folders, in the full tier.
    pub(crate) folders: Vec<FreshFolder>,
}

/// A folder in memory that each job of a room finds as it was when the room was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FreshFolder {
    pub(crate) path: PathBuf,
    /// How much it may hold.
    pub(crate) bytes: u64,
    pub(crate) mode: u32,
}

/// What the first process of a room answers to the coordinator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RoomAnswer {
    /// Jobs can be started.
    Ready,
    /// The job's supervisor was started; the descriptor of its process is sent beside the answer.
    Started,
    /// No supervisor could be started.
    Failed(String),
}

/// An order to the helper about the job's processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Ask all of them to end.
    Terminate,
    /// End all of them.
    Kill,
}

impl Order {
    pub(crate) fn byte(self) -> u8 {
        match self {
            Self::Terminate => b'T',
            Self::Kill => b'K',
        }
    }

    pub(crate) fn from_byte(byte: u8) -> Option<Self> {
        match byte {
            b'T' => Some(Self::Terminate),
            b'K' => Some(Self::Kill),
            _ => None,
        }
    }
}

/// The progress of a job, sent to the coordinator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Report {
    /// The program is about to run, confined. Without a later report, the supervisor was killed.
    /// The socket of [`Network::Proxy`] is sent beside it.
    Starting,
    /// The room cannot give the job what each one has for itself, with the step that failed; the
    /// program was not started.
    NoRoom(String),
    /// The program was not found.
    NotFound,
    /// The kernel refused to execute the program.
    NotExecutable(String),
    /// A step of the setup failed, with its error.
    Failed(String),
    /// The program could not be started in its control group, and runs outside of it.
    OutsideGroup(String),
    /// The resources that the job's processes used; how the job ended follows.
    Used(Usage),
    /// The usage of the job's folders; how the job ended follows.
    Holds(Account),
    /// The program exited with this code; no process of the job is left.
    Exited(i32),
    /// This signal ended the program; no process of the job is left.
    Signalled(i32),
    /// The job had too many processes; none of them is left.
    TooManyProcesses,
    /// The job used too much processor time; none of its processes is left.
    TooMuchCpu,
    /// The job held too much memory; none of its processes is left.
    TooMuchMemory,
    /// The job wrote too much; none of its processes is left, but its files are.
    TooMuchDisk,
    /// The job made too many files; as above.
    TooManyFiles,
    /// The job's usage could not be seen; none of its processes is left.
    Unseen,
}

/// Sends a report. The socket delivers it even if this process ends at once.
pub(super) fn report(mut control: &UnixStream, report: &Report) -> io::Result<()> {
    control.write_all(&line(report)?)
}

/// Sends a report with a descriptor beside it.
pub(super) fn report_with(
    mut control: &UnixStream,
    report: &Report,
    descriptor: BorrowedFd<'_>,
) -> io::Result<()> {
    let line = line(report)?;
    let sent = descriptors::send(control, &line, &[descriptor])?;
    let (_, left) = line.split_at(sent.min(line.len()));
    control.write_all(left)
}

fn line(report: &Report) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(report)?;
    line.push(b'\n');
    Ok(line)
}
