//! Opens files below the worktree, and translates the kernel's errors.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use orchestrate_core::policy::Access;
use orchestrate_core::text::git_path::is_storable;
use orchestrate_core::text::invisible::shown;
use rustix::fs::{
    CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2, readlink,
};
use rustix::io::Errno;

use super::directories::Directories;
use super::path;
use crate::answer::{ErrorKind, FileStamp, PERMISSION_DENIED, ToolError, size};
use crate::call::{CallScope, Meter, PathGuard, WorktreeScope};

/// Maximum number of attempts to open a path while concurrent renames disturb its resolution
/// (`EAGAIN`).
const OPEN_ATTEMPTS: usize = 16;

/// The files of one worktree, as one permitted call may use them. Clones share the directory.
#[derive(Clone)]
pub struct Files {
    root: Arc<OwnedFd>,
    worktree: PathBuf,
    guard: PathGuard,
    max_bytes: u64,
    checked_out: i128,
    meter: Meter,
    directories: Arc<Directories>,
}

/// A regular file, opened for reading.
#[derive(Debug)]
pub struct OpenFile {
    /// The file, positioned at its beginning.
    pub file: FileReader,
    /// The real path relative to the worktree, with links resolved.
    pub path: String,
    /// The size in bytes when it was opened.
    pub size: u64,
    /// The number of hard links to it.
    pub links: u64,
}

/// What a path that may name a file or a folder leads to.
#[derive(Debug)]
pub(crate) enum FileOrFolder {
    /// A regular file, opened for reading.
    File(OpenFile),
    /// The real path of a directory, relative to the worktree.
    Folder(String),
}

/// Reads an open file; what is read counts for the call.
#[derive(Debug)]
pub struct FileReader {
    file: File,
    meter: Meter,
}

impl Read for FileReader {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.meter.add_read(count as u64);
        Ok(count)
    }
}

impl AsFd for FileReader {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Files {
    /// Returns the files of a scope's worktree for one call.
    pub(crate) fn of_call(scope: &CallScope, guard: PathGuard, meter: Meter) -> Files {
        let WorktreeScope {
            root,
            path,
            checked_out,
            ..
        } = &*scope.worktree;
        let (root, worktree, directories) = (Arc::clone(root), path.clone(), scope.shared.value());
        let (max_bytes, checked_out) = (scope.limits.file_bytes, *checked_out);
        Files {
            root,
            worktree,
            guard,
            max_bytes,
            checked_out,
            meter,
            directories,
        }
    }

    /// Opens the files of a checkout, for looking at what a call would open.
    ///
    /// # Errors
    /// `File` if it cannot be opened.
    pub(crate) fn of_checkout(path: &Path, guard: PathGuard) -> Result<Files, ToolError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, path, flags, Mode::empty());
        let root = Arc::new(root.map_err(|errno| failure(&path.to_string_lossy(), errno))?);
        let worktree = path.to_owned();
        let (meter, directories) = (Meter::default(), Arc::default());
        Ok(Files {
            root,
            worktree,
            guard,
            max_bytes: 0,
            checked_out: 0,
            meter,
            directories,
        })
    }

    /// Returns the same files, judged by the rules about another kind of access.
    #[must_use]
    pub fn accessed(&self, access: Access) -> Files {
        Files {
            guard: PathGuard {
                access,
                ..self.guard.clone()
            },
            ..self.clone()
        }
    }

    /// Reports whether the agent may not read a file itself, or only once somebody is asked: then
    /// it must not be told in other ways what is in there.
    pub(crate) fn is_secret(&self, path: &str) -> bool {
        let files = Files {
            guard: self.guard.of_reading(),
            ..self.clone()
        };
        matches!(files.open(path), Err(ToolError::Denied { .. }))
    }

    /// Returns the maximum size of a file to read or write, in bytes.
    pub fn max_bytes(&self) -> u64 {
        self.max_bytes
    }

    /// Opens a regular file of any size for reading.
    ///
    /// # Errors
    /// `Retry` if it does not exist; `Denied` if it is outside the worktree, belongs to git, is
    /// forbidden by a rule, or is a pipe, a socket or a device; `File` for any other failure.
    pub fn open(&self, path: &str) -> Result<OpenFile, ToolError> {
        self.open_if(path, |real| self.guard.check(real))
    }

    /// Opens a regular file that a walk has found, and judged by this path; no link leads to
    /// another one meanwhile.
    ///
    /// # Errors
    /// As [`Files::open`], but no rule is asked.
    pub(crate) fn open_found(&self, path: &str) -> Result<(FileReader, FileStamp), ToolError> {
        // A pipe or a device in its place is neither waited for nor read.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = self.beneath(path, flags, ResolveFlags::NO_SYMLINKS)?;
        let stat = fstat(&opened).map_err(|errno| failure(path, errno))?;
        require_regular(path, &stat)?;
        let reader = FileReader {
            file: File::from(opened),
            meter: self.meter.clone(),
        };
        Ok((reader, FileStamp::from_stat(&stat)))
    }

    /// Reads a file that a walk has found; `None` if it is larger, gone or not readable.
    pub(crate) fn read_found(&self, path: &str, max_bytes: u64) -> Option<Vec<u8>> {
        let (file, stamp) = self.open_found(path).ok()?;
        if stamp.size > max_bytes {
            return None;
        }
        let mut bytes = Vec::with_capacity(usize::try_from(stamp.size).ok()?);
        file.take(max_bytes).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Opens a regular file whose content no agent is shown, whatever the rules say about it.
    pub(super) fn open_unseen(&self, path: &str) -> Result<OpenFile, ToolError> {
        self.open_if(path, |_| Ok(()))
    }

    fn open_if(
        &self,
        path: &str,
        judge: impl FnOnce(&str) -> Result<(), ToolError>,
    ) -> Result<OpenFile, ToolError> {
        let handle = self.handle(path, OFlags::empty())?;
        let stat = fstat(&handle).map_err(|errno| failure(path, errno))?;
        require_regular(path, &stat)?;
        let real = self.real_path(path, handle.as_fd())?;
        judge(&real)?;
        let file = reopen(handle.as_fd()).map_err(|errno| failure(path, errno))?;
        Ok(OpenFile {
            file: FileReader {
                file: File::from(file),
                meter: self.meter.clone(),
            },
            path: real,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            links: stat.st_nlink,
        })
    }

    /// Reads a whole regular file of at most [`Files::max_bytes`].
    ///
    /// # Errors
    /// As [`Files::open`]; also `Retry`, naming the size, if it is too large.
    pub fn read(&self, path: &str) -> Result<(OpenFile, Vec<u8>), ToolError> {
        let mut opened = self.open(path)?;
        if opened.size > self.max_bytes {
            return Err(too_large(path, opened.size, self.max_bytes));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(opened.size).unwrap_or(0));
        let limit = self.max_bytes.saturating_add(1);
        let read = opened.file.by_ref().take(limit).read_to_end(&mut bytes);
        read.map_err(|error| ToolError::file(path, error.to_string()))?;
        if bytes.len() as u64 > self.max_bytes {
            return Err(too_large(path, bytes.len() as u64, self.max_bytes));
        }
        Ok((opened, bytes))
    }

    /// Returns the real path of a directory, relative to the worktree.
    ///
    /// # Errors
    /// As [`Files::open`]; `Retry` if it is not a directory.
    pub fn directory(&self, path: &str) -> Result<String, ToolError> {
        let (_, real) = self.open_directory(path)?;
        Ok(real)
    }

    /// Returns the real path of a directory that was taken for a file; `error` is what came of
    /// that.
    ///
    /// # Errors
    /// As [`Files::directory`], but `error` if the path is not a directory.
    pub(crate) fn directory_instead(
        &self,
        path: &str,
        error: ToolError,
    ) -> Result<String, ToolError> {
        self.directory(path).map_err(|other| {
            if matches!(other, ToolError::Retry(_)) {
                error
            } else {
                other
            }
        })
    }

    /// Opens a regular file of any size for reading, or finds a directory.
    ///
    /// # Errors
    /// As [`Files::open`] and [`Files::directory`].
    pub(crate) fn find(&self, path: &str) -> Result<FileOrFolder, ToolError> {
        match self.open(path) {
            Ok(opened) => Ok(FileOrFolder::File(opened)),
            // It may be a directory.
            Err(error @ ToolError::File { .. }) => self
                .directory_instead(path, error)
                .map(FileOrFolder::Folder),
            Err(error) => Err(error),
        }
    }

    /// Returns the absolute path of a directory of the worktree, for a process to start in.
    ///
    /// # Errors
    /// As [`Files::directory`].
    pub fn working_directory(&self, path: &str) -> Result<PathBuf, ToolError> {
        let real = self.directory(path)?;
        Ok(if real.is_empty() {
            self.worktree.clone()
        } else {
            self.worktree.join(real)
        })
    }

    /// Returns the type of a path without following a link at its end; `None` if it does not exist.
    ///
    /// # Errors
    /// As [`Files::open`].
    pub(super) fn look(&self, path: &str) -> Result<Option<FileType>, ToolError> {
        match self.handle(path, OFlags::NOFOLLOW) {
            Ok(handle) => {
                let stat = fstat(&handle).map_err(|errno| failure(path, errno))?;
                Ok(Some(FileType::from_raw_mode(stat.st_mode)))
            }
            Err(ToolError::Retry(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens a directory to list or change its entries, and returns it with its real path.
    pub(super) fn open_directory(&self, path: &str) -> Result<(OwnedFd, String), ToolError> {
        let handle = self.beneath(
            path,
            OFlags::RDONLY | OFlags::DIRECTORY,
            ResolveFlags::empty(),
        )?;
        let real = self.real_path(path, handle.as_fd())?;
        if !real.is_empty() {
            self.guard.check_folder(&real)?;
        }
        Ok((handle, real))
    }

    /// Opens a directory found by a walk, without following links.
    pub(super) fn open_found_directory(&self, path: &str) -> Result<OwnedFd, ToolError> {
        self.beneath(
            path,
            OFlags::RDONLY | OFlags::DIRECTORY,
            ResolveFlags::NO_SYMLINKS,
        )
    }

    /// Returns when a file was modified in nanoseconds since 1970, or when it was checked out if
    /// that was later.
    pub fn modified(&self, stamp: &FileStamp) -> i128 {
        let (seconds, nanoseconds) = stamp.modified;
        (i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds)).max(self.checked_out)
    }

    pub(super) fn directories(&self) -> &Directories {
        &self.directories
    }

    pub(crate) fn meter(&self) -> &Meter {
        &self.meter
    }

    pub(super) fn guard(&self) -> &PathGuard {
        &self.guard
    }

    /// Opens an inode with `O_PATH`, which neither blocks on a pipe nor triggers a device.
    pub(super) fn handle(&self, path: &str, flags: OFlags) -> Result<OwnedFd, ToolError> {
        self.beneath(path, OFlags::PATH | flags, ResolveFlags::empty())
    }

    fn beneath(
        &self,
        path: &str,
        flags: OFlags,
        resolve: ResolveFlags,
    ) -> Result<OwnedFd, ToolError> {
        let resolve = resolve | ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let name = if path.is_empty() { "." } else { path };
        let mut last = Errno::AGAIN;
        for _ in 0..OPEN_ATTEMPTS {
            match openat2(
                self.root.as_fd(),
                name,
                flags | OFlags::CLOEXEC,
                Mode::empty(),
                resolve,
            ) {
                Ok(opened) => return Ok(opened),
                Err(errno @ (Errno::AGAIN | Errno::INTR)) => last = errno,
                Err(errno) => return Err(failure(path, errno)),
            }
        }
        Err(failure(path, last))
    }

    /// Returns the real path of an open file, relative to the worktree; refuses files that belong
    /// to git, under any name.
    pub(super) fn real_path(
        &self,
        shown: &str,
        opened: BorrowedFd<'_>,
    ) -> Result<String, ToolError> {
        let name = |fd: BorrowedFd<'_>| {
            let link =
                readlink(proc_name(fd), Vec::new()).map_err(|errno| failure(shown, errno))?;
            link.into_string()
                .map_err(|_| ToolError::file(shown, "the name is not valid UTF-8"))
        };
        let (root, real) = (name(self.root.as_fd())?, name(opened)?);
        let below = Path::new(&real)
            .strip_prefix(&root)
            .ok()
            .and_then(Path::to_str);
        let below = below.ok_or_else(|| path::outside(shown))?;
        if !below.is_empty() && !is_storable(below.as_bytes(), false) {
            return Err(path::git_owned(shown));
        }
        Ok(below.to_owned())
    }
}

fn proc_name(fd: BorrowedFd<'_>) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}

/// Opens the inode of a handle for reading, even if it has been renamed since.
fn reopen(handle: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    openat(
        CWD,
        proc_name(handle),
        OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY,
        Mode::empty(),
    )
}

pub(super) fn require_regular(path: &str, stat: &Stat) -> Result<(), ToolError> {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => return Err(ToolError::file(path, "is a directory")),
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "not a regular file",
    };
    let path = shown(path);
    Err(ToolError::denied(
        "built-in:regular-files",
        format!("`{path}` is {kind}; only regular files are opened"),
    ))
}

fn too_large(path: &str, bytes: u64, limit: u64) -> ToolError {
    let (path, bytes, limit) = (shown(path), size(bytes), size(limit));
    ToolError::Retry(format!(
        "{path} has {bytes}, more than the limit of {limit}; read parts of it with read_file or \
         grep"
    ))
}

/// Converts an error of the kernel into an explanation for the model that named the path.
pub(super) fn failure(path: &str, errno: Errno) -> ToolError {
    let shown = shown(path);
    match errno {
        Errno::NOENT => ToolError::Retry(format!(
            "file not found: {shown}; list_directory shows which files exist"
        )),
        Errno::NOTDIR => ToolError::Retry(format!("not a directory: {shown}")),
        Errno::NAMETOOLONG | Errno::INVAL => {
            ToolError::Retry(format!("not a valid file name: {shown}"))
        }
        Errno::XDEV => ToolError::denied(
            "built-in:worktree",
            format!(
                "`{shown}` leads through a link out of the worktree, or through an absolute link; \
                 name the file itself"
            ),
        ),
        Errno::LOOP => ToolError::denied(
            "built-in:worktree",
            format!("`{shown}` leads through a cycle of links"),
        ),
        Errno::ACCESS | Errno::PERM => ToolError::file(path, PERMISSION_DENIED),
        Errno::NOSPC | Errno::DQUOT => ToolError::file(path, "the disk is full"),
        Errno::ROFS => ToolError::file(path, "the file system is read-only"),
        Errno::ISDIR => ToolError::file(path, "is a directory"),
        Errno::NOTEMPTY | Errno::EXIST => ToolError::Retry(format!("exists already: {shown}")),
        Errno::AGAIN | Errno::INTR => ToolError::file(path, "the path kept being renamed"),
        other => ToolError::file(path, std::io::Error::from(other).to_string()),
    }
}

/// The errors of the system that are told apart, for the reference.
const KNOWN: &[Errno] = &[
    Errno::NOENT,
    Errno::NOTDIR,
    Errno::NAMETOOLONG,
    Errno::INVAL,
    Errno::EXIST,
    Errno::NOTEMPTY,
    Errno::ACCESS,
    Errno::PERM,
    Errno::ISDIR,
    Errno::NOSPC,
    Errno::DQUOT,
    Errno::ROFS,
    Errno::XDEV,
    Errno::LOOP,
];

/// Returns the errors of the system that are told apart, in words, each with the class of a call
/// that meets it.
pub(crate) fn error_classes() -> impl Iterator<Item = (String, ErrorKind)> {
    KNOWN.iter().map(|errno| {
        let said = std::io::Error::from(*errno).to_string();
        let words = said
            .split(" (os error")
            .next()
            .unwrap_or(&said)
            .to_lowercase();
        (words, failure("", *errno).kind())
    })
}

#[cfg(test)]
mod tests {
    use orchestrate_core::policy::tool_names::ToolNames;
    use orchestrate_core::policy::{Decision, Grant, Permission, Policy};

    use super::*;

    /// A file that the system does not let anybody read is no directory either, which would explain
    /// nothing.
    #[test]
    fn why_a_file_is_not_read_is_said_although_a_directory_was_looked_for() {
        let worktree = tempfile::tempdir().unwrap();
        let policy = Policy::new(&[], &ToolNames::default()).unwrap();
        let grant = Grant::of_tools(["t"]);
        let decision = Decision::Allow {
            rule: String::new(),
        };
        let guard = PathGuard::new(
            "t",
            Permission::FileRead,
            &decision,
            &Arc::new(policy),
            &Arc::new(grant),
        );
        let files = Files::of_checkout(worktree.path(), guard).unwrap();
        rustix::fs::mkdirat(files.root.as_fd(), "src", Mode::RWXU).unwrap();
        let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
        openat(files.root.as_fd(), "a.rs", flags, Mode::RUSR).unwrap();
        let error = |path: &str| ToolError::file(path, PERMISSION_DENIED);
        assert_eq!(
            files.directory_instead("a.rs", error("a.rs")),
            Err(error("a.rs"))
        );
        assert_eq!(
            files.directory_instead("src", error("src")),
            Ok("src".to_owned())
        );
        let outside = files.directory_instead("..", error("..")).unwrap_err();
        assert_eq!(outside.kind(), ErrorKind::Denied, "{outside}");
    }

    /// What the model can correct is a `Retry`, what the policy of the worktree refuses `Denied`,
    /// and every other error of the system a `File` error.
    #[test]
    fn every_error_of_the_system_has_its_class() {
        let correctable = [
            Errno::NOENT,
            Errno::NOTDIR,
            Errno::NAMETOOLONG,
            Errno::INVAL,
            Errno::NOTEMPTY,
            Errno::EXIST,
        ];
        let refused = [Errno::XDEV, Errno::LOOP];
        for number in 1..=133 {
            let errno = Errno::from_raw_os_error(number);
            let expected = match errno {
                _ if correctable.contains(&errno) => ErrorKind::Retry,
                _ if refused.contains(&errno) => ErrorKind::Denied,
                _ => ErrorKind::File,
            };
            let error = failure("a.txt", errno);
            assert_eq!(error.kind(), expected, "{errno:?}: {error}");
            assert!(error.to_string().contains("a.txt"), "{error}");
        }
        assert_eq!(
            failure("a", Errno::ACCESS).to_string(),
            "permission denied: a"
        );
        assert_eq!(
            failure("a", Errno::NOSPC).to_string(),
            "the disk is full: a"
        );
    }
}
