//! What the coordinator and the helper say to each other.
//!
//! The helper gets a [`Spec`] as JSON in a memory file and one end of a socket. Over the socket the coordinator sends
//! [`Order`]s, one byte each, and the helper sends [`Report`]s, one line of JSON each. The end of file on the socket
//! means to the helper that the coordinator is dead, and to the coordinator that the helper is.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;

use serde::{Deserialize, Serialize};

use crate::accounts::Account;
use crate::tier::Confinement;

/// Sends the helper what to run and how to hold it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Spec {
    pub(crate) confinement: Confinement,
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) cwd: OsString,
    /// Where Landlock allows everything.
    pub(crate) writable: Vec<OsString>,
    /// Where Landlock allows reading and executing.
    pub(crate) read_only: Vec<OsString>,
    pub(crate) processes: Option<u32>,
    /// How many threads the user had a moment ago, where the kernel counts them together with the job's.
    pub(crate) tasks_of_user: u64,
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) file_bytes: Option<u64>,
    /// What the folders below may hold together.
    pub(crate) disk_bytes: Option<u64>,
    /// What is known of what they hold, from the job before.
    pub(crate) disk_known: Option<Account>,
    /// The folders on a disk that the job may write to.
    pub(crate) disk_folders: Vec<OsString>,
    /// The folders in memory that are the job's own.
    pub(crate) memory_folders: Vec<OsString>,
    /// A directory that the helper removes if the coordinator dies before it can.
    pub(crate) scratch: Option<OsString>,
}

/// Sends the helper what to do with the job's processes.
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
        [Self::Terminate, Self::Kill].into_iter().find(|order| order.byte() == byte)
    }
}

/// Informs the coordinator how far the job is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Report {
    /// The program is about to be run, confined: without another word it was killed.
    Starting,
    /// The program was not found.
    NotFound,
    /// The kernel refused to execute the program.
    NotExecutable(String),
    /// A step of the set-up failed.
    Failed(String),
    /// What is known of how much the job's folders hold; how it ended follows.
    Holds(Account),
    /// The program exited; nothing of the job is left.
    Exited(i32),
    /// A signal ended the program; nothing of the job is left.
    Signalled(i32),
    /// The job had too many processes; nothing of it is left.
    TooManyProcesses,
    /// The job held too much memory; nothing of it is left.
    TooMuchMemory,
    /// The job wrote too much; nothing of it is left but that.
    TooMuchDisk,
}

/// Sends one report. The socket keeps what is sent even if this process ends at once.
pub(super) fn report(mut control: &UnixStream, report: &Report) -> io::Result<()> {
    let mut line = serde_json::to_vec(report)?;
    line.push(b'\n');
    control.write_all(&line)
}
