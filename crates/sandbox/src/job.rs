//! What is run and what came of it: plain values, no effect.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Describes one process to run confined.
///
/// The process gets the environment that [`Job::env`] names and a few base variables that the sandbox sets itself
/// (`PATH`, `HOME`, `TMPDIR`, `LANG`, `USER`, and the toolchain homes when they exist); nothing is inherited.
/// What `env` names wins over the base.
#[derive(Debug, Clone)]
pub struct Job {
    /// The files that the process sees.
    pub view: View,
    /// An absolute path, or a bare name that is looked up in the job's `PATH`, inside the view.
    pub program: OsString,
    /// The arguments after the program's name.
    pub args: Vec<OsString>,
    /// The working directory: an absolute path below a root of the view.
    pub cwd: PathBuf,
    /// What the process reads from its standard input.
    pub stdin: Vec<u8>,
    /// The variables added to the base environment.
    pub env: BTreeMap<OsString, OsString>,
    /// What the process may use up.
    pub limits: Limits,
}

/// Says which files a process sees.
#[derive(Debug, Clone)]
pub enum View {
    /// Parts of the host's file system, at their real paths.
    Host(HostView),
}

/// Names the parts of the host that a process sees beside the system's programs, libraries and toolchains.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostView {
    /// Absolute paths of directories or files that exist and may be written.
    pub writable: Vec<PathBuf>,
    /// Absolute paths of directories or files that exist and may only be read.
    pub read_only: Vec<PathBuf>,
    /// As [`HostView::read_only`], but what does not exist when the process starts is left out: for a list of what may
    /// be shown of a directory that also holds what may not.
    pub optional: Vec<PathBuf>,
    /// What is laid over the roots. See [`Mask`] for what the fallback tier can do about it.
    pub masks: Vec<Mask>,
}

/// Lays something else over one path of the view.
///
/// Only mounts can subtract from a directory, so only [`crate::Confinement::Full`] shows the content of a mask. The
/// fallback tier leaves a masked path that lies below a *read-only* root out of the view (it cannot be read at all,
/// unless it is a file that has those very bytes when the process starts), and cannot honour a mask below a *writable*
/// root: there the path stays as it is. Do not rely on the latter for safety.
///
/// A read-only root with a mask shows the entries that it has when the process starts: what comes into its place
/// afterwards, as a file that is renamed over a masked one, is not seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mask {
    /// The absolute path that is covered. It must exist if it lies below a writable root.
    pub path: PathBuf,
    /// What the process sees there.
    pub content: Content,
}

/// Says what a [`Mask`] shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A read-only file with these bytes.
    File(Vec<u8>),
    /// An empty read-only directory.
    EmptyDir,
    /// What is there already, but read-only.
    ReadOnly,
}

/// Bounds what one job may use up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Wall time; afterwards every process of the job gets SIGTERM, and SIGKILL a second later.
    pub timeout: Duration,
    /// Memory of all processes of the job together, shared memory and files in memory included, which is looked at
    /// again and again.
    pub memory_bytes: Option<u64>,
    /// What the folders that the job may write to hold together, which is looked at again and again and at its end. One
    /// that begins with more may make room; one that begins with far more may write nothing before there is some.
    pub disk_bytes: Option<u64>,
    /// Processes and threads of the job alive at once.
    pub processes: Option<u32>,
    /// Size of any single file that a process writes.
    pub file_bytes: Option<u64>,
    /// How much of each output stream is kept, half from its start and half from its end.
    pub kept_output_bytes: usize,
    /// Output of both streams together at which the job is killed.
    pub max_output_bytes: u64,
}

impl Default for Limits {
    /// Generous bounds for a build or a test run: they stop a runaway, not a heavy compiler.
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(120),
            memory_bytes: None,
            disk_bytes: None,
            processes: Some(512),
            file_bytes: Some(2 << 30),
            kept_output_bytes: 64 << 10,
            max_output_bytes: 64 << 20,
        }
    }
}

/// Reports what came of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// How it ended.
    pub exit: Exit,
    /// What it wrote to its standard output.
    pub stdout: Captured,
    /// What it wrote to its standard error.
    pub stderr: Captured,
    /// From the start of the sandbox until nothing of the job was left.
    pub duration: Duration,
}

/// Reports how a job ended. Whatever it says, no process of the job is alive any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The program exited with this code.
    Code(i32),
    /// A signal that nobody here sent ended the program.
    Signal(i32),
    /// It ran longer than [`Limits::timeout`].
    TimedOut,
    /// Its [`crate::Cancel`] was raised.
    Cancelled,
    /// It wrote more than [`Limits::max_output_bytes`].
    OutputLimit,
    /// It had more processes than [`Limits::processes`] and none of them could be refused singly.
    ProcessLimit,
    /// Its processes together held more than [`Limits::memory_bytes`].
    MemoryLimit,
    /// The folders that it may write to held more than [`Limits::disk_bytes`].
    DiskLimit,
}

impl Exit {
    /// Reports whether the program exited by itself with code 0.
    #[must_use]
    pub fn success(self) -> bool {
        self == Self::Code(0)
    }
}

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "killed by signal {signal}"),
            Self::TimedOut => f.write_str("killed: time limit"),
            Self::Cancelled => f.write_str("killed: cancelled"),
            Self::OutputLimit => f.write_str("killed: output limit"),
            Self::ProcessLimit => f.write_str("killed: process limit"),
            Self::MemoryLimit => f.write_str("killed: memory limit (shared memory and files in memory count)"),
            Self::DiskLimit => f.write_str("killed: disk limit (of its worktree and temporary folders)"),
        }
    }
}

/// Holds the start and the end of an output stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// The first bytes.
    pub head: Vec<u8>,
    /// The last bytes; empty unless the stream was longer than what `head` may hold.
    pub tail: Vec<u8>,
    /// How many bytes there were in all.
    pub total_bytes: u64,
}

impl Captured {
    /// Counts the bytes between `head` and `tail` that were not kept.
    #[must_use]
    pub fn omitted_bytes(&self) -> u64 {
        self.total_bytes.saturating_sub((self.head.len() + self.tail.len()) as u64)
    }

    /// Returns all kept bytes, `head` and `tail` with nothing between them.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        [self.head.as_slice(), self.tail.as_slice()].concat()
    }

    /// Returns the kept output as text, with a line that says how much is left out between head and tail, if any is.
    #[must_use]
    pub fn text(&self) -> String {
        match self.omitted_bytes() {
            0 => String::from_utf8_lossy(&self.bytes()).into_owned(),
            omitted => format!(
                "{}\n[… {omitted} bytes left out …]\n{}",
                String::from_utf8_lossy(&self.head),
                String::from_utf8_lossy(&self.tail)
            ),
        }
    }
}
