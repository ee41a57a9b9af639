//! Jobs and their results: plain values without effects.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A process to run confined.
///
/// The process gets the variables of [`Job::env`] and a few base variables that the sandbox sets
/// (`PATH`, `HOME`, `TMPDIR`, `LANG`, `USER`, `LOGNAME`, `GIT_CONFIG_NOSYSTEM`, and those of the
/// toolchain if it exists). It inherits nothing; only an unconfined job inherits a few harmless
/// variables instead of the base ones. `env` overrides all others.
#[derive(Debug, Clone)]
pub struct Job {
    /// The files that the process sees.
    pub view: View,
    /// An absolute path, or a bare name that is looked up in the job's `PATH`, inside the view.
    pub program: OsString,
    /// The arguments after the program's name.
    pub args: Vec<OsString>,
    /// The working directory: an absolute path, as the process sees it, of a root of the view or of
    /// a mounted directory, or below one.
    pub cwd: PathBuf,
    /// The content of its standard input.
    pub stdin: Vec<u8>,
    /// The variables added to the base environment, by name.
    pub env: BTreeMap<OsString, OsString>,
    /// Whether it may use the network.
    pub network: Network,
    /// The limits of its resources.
    pub limits: Limits,
}

/// The part of the network that a process reaches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Network {
    /// Nothing, not even this machine.
    #[default]
    None,
    /// One socket, which its caller accepts ([`crate::Sandbox::run_proxied`]); without such a
    /// caller, nothing. Variables name it as the proxy for everything. The program also gets the
    /// user's settings for registries and certificates, as far as they contain no password or
    /// token. The fallback tier can do that where Landlock has scopes (Linux 6.12).
    Proxy,
}

/// The files that a process sees.
#[derive(Debug, Clone)]
pub enum View {
    /// Parts of the host's file system, at their real paths.
    Host(HostView),
}

/// A folder as its processes see it.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The path at which they find it.
    pub path: PathBuf,
    /// All files that they see.
    pub view: View,
}

/// The parts of the host that a process sees besides the system's programs, libraries and
/// toolchains.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostView {
    /// Absolute paths of existing directories or files that may be written.
    pub writable: Vec<PathBuf>,
    /// Absolute paths of existing directories or files that may only be read.
    pub read_only: Vec<PathBuf>,
    /// Like [`HostView::read_only`], but paths that do not exist when the process starts are
    /// skipped: for a list of those parts of a directory that may be shown.
    pub optional: Vec<PathBuf>,
    /// Absolute paths of directories that contain paths of [`HostView::optional`], and of which
    /// nothing else is shown. The full tier may show copies of small files in them, which cost less
    /// than mounts: a process does not see how such a file changes after its start.
    pub composed: Vec<PathBuf>,
    /// Content laid over the roots. See [`Mask`] for the limits in the fallback tier.
    pub masks: Vec<Mask>,
    /// What the process finds at other paths than the host has it, or what the host does not have
    /// at all. Only the full tier can show that: see [`crate::Confinement::mounts`].
    pub mounts: Vec<Mount>,
    /// A program that makes up for a mask whose content the fallback tier cannot show; other tiers
    /// do not use it.
    pub stand_in: Option<StandIn>,
}

/// The content that a process finds at a path, whatever the host has there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The absolute path in the process's view: see [`crate::can_mount_at`]. Below a writable
    /// directory that is mounted as well, it must exist there, and no link may lead to it.
    pub at: PathBuf,
    /// The content there.
    pub content: Mounted,
}

/// The content of a [`Mount`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mounted {
    /// This existing directory of the host, which may be written.
    Writable(PathBuf),
    /// This file or directory of the host, which may only be read. It is left out if it does not
    /// exist when the process starts. The process need not see how a small file changes later.
    ReadOnly(PathBuf),
    /// A read-only file with these bytes.
    File(Vec<u8>),
    /// A read-only directory that is empty except for other mounts below it.
    Folder,
}

impl Mount {
    /// Returns a mount.
    #[must_use]
    pub fn new(at: impl Into<PathBuf>, content: Mounted) -> Self {
        Self {
            at: at.into(),
            content,
        }
    }
}

/// A program that is found before another one of its name, and files for it, in a folder that
/// exists as long as the job, which may change it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandIn {
    /// The program's name.
    pub name: String,
    /// The program: a script, whose own folder is `bin` in that folder.
    pub script: String,
    /// The files, relative to that folder.
    pub files: Vec<(PathBuf, StandInFile)>,
}

/// A file for a [`StandIn`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StandInFile {
    /// A file with these bytes.
    Bytes(Vec<u8>),
    /// An empty folder.
    Folder,
    /// A link to this path, which has to be in the view.
    Link(PathBuf),
}

/// Replaces the content of one path of the view.
///
/// Only mounts can subtract from a directory, so only [`crate::Confinement::Full`] shows the
/// content of a mask. The fallback tier leaves a masked path that is below a *read-only* root out
/// of the view: it cannot be read at all, unless it is a file that has exactly these bytes when the
/// process starts. It ignores a mask below a *writable* root: there the path is shown unchanged. Do
/// not rely on such a mask for safety.
///
/// A read-only root with a mask shows the entries that it has when the process starts. A later
/// entry, such as a file that is renamed over a masked one, is not visible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mask {
    /// The absolute path that is covered. It must exist if it lies below a writable root.
    pub path: PathBuf,
    /// The content that the process sees there.
    pub content: Content,
}

/// The content of a [`Mask`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// A read-only file with these bytes.
    File(Vec<u8>),
    /// An empty read-only directory.
    EmptyDir,
    /// The existing content, but read-only.
    ReadOnly,
}

/// The limits of what one job may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Wall time; after it, every process of the job gets SIGTERM, and SIGKILL a second later.
    pub timeout: Duration,
    /// Processor time of all processes of the job together, those that have ended included. It is
    /// checked repeatedly; children that their parent ignores count only while they live.
    pub cpu: Option<Duration>,
    /// Memory of all processes of the job together, including shared memory and files in memory. It
    /// is checked repeatedly.
    pub memory_bytes: Option<u64>,
    /// Total size of the folders that the job may write to. It is checked repeatedly and at the
    /// end. A job that starts above it may free space; one that starts far above it may write
    /// nothing before it has done so.
    pub disk_bytes: Option<u64>,
    /// Number of files and folders in the folders that the job may write to. It is checked
    /// repeatedly; what a job makes just before its end may be found only at a later job's check. A
    /// job that starts above it may delete some.
    pub disk_files: Option<u64>,
    /// Processes and threads of the job that are alive at once.
    pub processes: Option<u32>,
    /// Size of any single file that a process writes.
    pub file_bytes: Option<u64>,
    /// How much of each output stream is kept, in bytes: half from its start and half from its end.
    pub kept_output_bytes: usize,
    /// Output of both streams together above which the job is killed.
    pub max_output_bytes: u64,
}

impl Default for Limits {
    /// Generous bounds for a build or a test run: they stop a runaway, not a heavy compiler.
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(120),
            cpu: None,
            memory_bytes: None,
            disk_bytes: None,
            disk_files: None,
            processes: Some(512),
            file_bytes: Some(2 << 30),
            kept_output_bytes: 64 << 10,
            max_output_bytes: 64 << 20,
        }
    }
}

/// The result of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// How the job ended.
    pub exit: Exit,
    /// Its standard output.
    pub stdout: Captured,
    /// Its standard error.
    pub stderr: Captured,
    /// The time from the start of the sandbox until no process of the job was left.
    pub duration: Duration,
    /// The resources that its processes used; `None` if the process that measures them was killed.
    pub usage: Option<Usage>,
}

/// The resources that the processes of a job used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// The processor time of all processes, their own and the kernel's for them.
    pub cpu: Duration,
    /// The highest resident memory of all processes together that was seen, in bytes, and at least
    /// that of the largest process. Pages that several processes share count for each of them; the
    /// few megabytes of the process that starts the program count as its own.
    pub peak_memory_bytes: u64,
    /// The highest number of processes alive at once that was seen.
    pub peak_processes: u64,
    /// Bytes read from disks; what was in the page cache does not count.
    pub read_bytes: u64,
    /// Bytes written to files on disks, removed ones included.
    pub written_bytes: u64,
}

/// How a job ended. In each case, no process of the job is alive any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The program exited with this code.
    Code(i32),
    /// A signal that the sandbox did not send ended the program.
    Signal(i32),
    /// It ran longer than [`Limits::timeout`].
    TimedOut,
    /// Its [`crate::Cancel`] was raised.
    Cancelled,
    /// It wrote more than [`Limits::max_output_bytes`].
    OutputLimit,
    /// It had more processes than [`Limits::processes`], and the kernel could not refuse single
    /// ones.
    ProcessLimit,
    /// Its processes together used more processor time than [`Limits::cpu`].
    CpuLimit,
    /// Its processes together held more than [`Limits::memory_bytes`].
    MemoryLimit,
    /// The folders that it may write to held more than [`Limits::disk_bytes`].
    DiskLimit,
    /// The folders that it may write to held more files than [`Limits::disk_files`].
    FilesLimit,
    /// Its usage could not be measured, which counts as over its limits.
    Unseen,
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
            Self::CpuLimit => f.write_str("killed: processor time limit"),
            Self::MemoryLimit => {
                f.write_str("killed: memory limit (shared memory and files in memory count)")
            }
            Self::DiskLimit => {
                f.write_str("killed: disk limit (of its worktree and temporary folders)")
            }
            Self::FilesLimit => {
                f.write_str("killed: too many files (in its worktree and temporary folders)")
            }
            Self::Unseen => f.write_str(
                "killed: what it used could not be measured, which counts as over its limits",
            ),
        }
    }
}

/// The start and the end of an output stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captured {
    /// The first bytes.
    pub head: Vec<u8>,
    /// The last bytes; empty unless the stream was longer than `head` can be.
    pub tail: Vec<u8>,
    /// The total size of the stream.
    pub total_bytes: u64,
}

impl Captured {
    /// Returns the number of bytes between `head` and `tail` that were not kept.
    #[must_use]
    pub fn omitted_bytes(&self) -> u64 {
        self.total_bytes
            .saturating_sub((self.head.len() + self.tail.len()) as u64)
    }

    /// Returns all kept bytes: `head`, directly followed by `tail`.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        [self.head.as_slice(), self.tail.as_slice()].concat()
    }

    /// Returns the kept output as text, without colours and other sequences for terminals. If some
    /// is missing, a line between head and tail reports how much.
    ///
    /// All that agents and people read of a command's output passes through here.
    #[must_use]
    pub fn text(&self) -> String {
        match self.omitted_bytes() {
            0 => plain_text(&self.bytes()),
            omitted => {
                format!(
                    "{}\n[… {omitted} bytes left out …]\n{}",
                    plain_text(&self.head),
                    plain_text(&self.tail)
                )
            }
        }
    }
}

/// The byte that begins every sequence for terminals.
const ESCAPE: u8 = 0x1b;

/// Returns an output as text, without the sequences that colour it on a terminal or move its
/// cursor.
pub(crate) fn plain_text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    // The library also takes away control characters, which a text without sequences keeps.
    if bytes.contains(&ESCAPE) {
        anstream::adapter::strip_str(&text).to_string()
    } else {
        text.into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_of_programs_are_left_out() {
        let captured = |head: &str, tail: &str, total_bytes| Captured {
            head: head.into(),
            tail: tail.into(),
            total_bytes,
        };
        let table = [
            (
                "\u{1b}[1m\u{1b}[32m✓\u{1b}[39m 3 passed\u{1b}[0m\n\tin 2 s\r\n",
                "✓ 3 passed\n\tin 2 s\r\n",
            ),
            (
                "\u{1b}]8;;http://a.b\u{7}link\u{1b}]8;;\u{7} \u{1b}[2K\u{1b}[38;2;1;2;3mx",
                "link x",
            ),
            ("a\0b\u{8}\n", "a\0b\u{8}\n"),
            ("plain", "plain"),
        ];
        for (output, expected) in table {
            assert_eq!(
                captured(output, "", output.len() as u64).text(),
                expected,
                "{output:?}"
            );
        }
        let cut = captured("\u{1b}[31mred", "\u{1b}[0mend", 100);
        assert_eq!(cut.text(), "red\n[… 85 bytes left out …]\nend");
    }
}
