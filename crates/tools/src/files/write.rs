//! Changes files. A file is replaced as a whole, by a rename, so no reader sees a partial write.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use orchestrate_core::policy::Access;
use orchestrate_core::text::git_path::is_git_name;
use orchestrate_core::text::invisible::shown;
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, fchmod, fdatasync, fsync, mkdirat, openat,
    renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use super::open::{Files, failure, require_regular};
use super::path::{join, split};
use crate::answer::{ToolError, size};

/// The prefix of temporary files, which exist only during a write. One that is left behind was
/// never renamed: it is not part of any work and may be deleted.
pub const TEMPORARY_PREFIX: &str = ".orchestrate-tmp-";

/// The required state of a path before it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// The path may exist or not.
    Any,
    /// The path must not exist.
    Nothing,
}

/// The result of writing a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The real path relative to the worktree.
    pub path: String,
    /// Whether the file is new.
    pub created: bool,
}

impl Files {
    /// Replaces a whole file, keeping its mode, or creates it together with missing directories.
    ///
    /// # Errors
    /// As [`Files::open`]; also `Denied` if the file has other hard links, which would keep the old
    /// content.
    pub fn write(&self, path: &str, bytes: &[u8], expect: Expect) -> Result<Written, ToolError> {
        self.require_size(path, bytes)?;
        let target = self.write_target(path)?;
        let created = target.mode.is_none();
        if expect == Expect::Nothing && !created {
            return Err(exists(path));
        }
        replace(path, &target, bytes)?;
        Ok(Written {
            path: target.path,
            created,
        })
    }

    /// Refuses what [`Files::write`] would refuse, without changing anything.
    ///
    /// # Errors
    /// As [`Files::write`].
    pub(crate) fn require_writable(
        &self,
        path: &str,
        bytes: &[u8],
        expect: Expect,
    ) -> Result<(), ToolError> {
        self.require_size(path, bytes)?;
        match self.replaced(path)? {
            Some(_) if expect == Expect::Nothing => Err(exists(path)),
            Some(_) => Ok(()),
            None => self.foresee_new(path, false),
        }
    }

    /// Creates a file with this mode, together with missing directories, and returns its real path.
    ///
    /// # Errors
    /// As [`Files::write`]; `Retry` if the path exists.
    pub fn create(&self, path: &str, bytes: &[u8], mode: u32) -> Result<String, ToolError> {
        self.require_size(path, bytes)?;
        let mut target = self.write_target(path)?;
        if target.mode.is_some() {
            return Err(exists(path));
        }
        target.mode = Some(mode & 0o777);
        replace(path, &target, bytes)?;
        Ok(target.path)
    }

    /// Renames a regular file, creating missing directories, and returns both real paths.
    ///
    /// # Errors
    /// As [`Files::delete`] for the source and [`Files::write`] for the target; `Retry` if the
    /// target exists, or if the source is a link.
    pub fn rename(&self, source: &str, target: &str) -> Result<(String, String), ToolError> {
        let (from, real) = self.renamed(source)?;
        let (_, name) = split(source);
        let place = self.write_target(target)?;
        match renameat_with(
            &from,
            name,
            &place.directory,
            &place.name,
            RenameFlags::NOREPLACE,
        ) {
            Ok(()) => Ok((real, place.path)),
            Err(Errno::EXIST) => Err(exists(target)),
            // Some file systems cannot refuse to replace; the target was just looked at.
            Err(Errno::INVAL) if place.mode.is_none() => {
                renameat(&from, name, &place.directory, &place.name)
                    .map_err(|errno| failure(source, errno))?;
                Ok((real, place.path))
            }
            Err(Errno::INVAL) => Err(exists(target)),
            Err(errno) => Err(failure(source, errno)),
        }
    }

    /// Refuses what [`Files::rename`] would refuse, without changing anything.
    ///
    /// # Errors
    /// As [`Files::rename`].
    pub(crate) fn require_renamable(&self, source: &str, target: &str) -> Result<(), ToolError> {
        self.renamed(source)?;
        self.require_writable(target, &[], Expect::Nothing)
    }

    /// Opens the directory of a regular file that is to be renamed, and returns it with the file's
    /// real path.
    fn renamed(&self, source: &str) -> Result<(OwnedFd, String), ToolError> {
        let removed = self.accessed(Access::Delete);
        removed.open(source)?;
        if self.is_link(source)? {
            return Err(ToolError::Retry(format!(
                "{} is a link; name the file itself",
                shown(source)
            )));
        }
        let (parent, name) = split(source);
        let (from, real) = removed.open_directory(parent)?;
        let real = join(&real, name);
        removed.guard().check(&real)?;
        Ok((from, real))
    }

    /// Deletes a file, or a link but not its target, and returns its real path.
    ///
    /// # Errors
    /// As [`Files::open`]; `File` for a directory.
    pub fn delete(&self, path: &str) -> Result<String, ToolError> {
        let (parent, name) = split(path);
        require_name(path, name)?;
        let (directory, real) = self.open_directory(parent)?;
        let real = join(&real, name);
        self.guard().check(&real)?;
        let stat = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(|errno| failure(path, errno))?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            return Err(ToolError::file(path, "is a directory"));
        }
        unlinkat(&directory, name, AtFlags::empty()).map_err(|errno| failure(path, errno))?;
        Ok(real)
    }

    /// Reports whether a path itself is a link.
    ///
    /// # Errors
    /// As [`Files::open`].
    pub fn is_link(&self, path: &str) -> Result<bool, ToolError> {
        Ok(self.look(path)? == Some(FileType::Symlink))
    }

    /// Creates a directory and, if `parents`, missing directories above it; reports whether it is
    /// new.
    ///
    /// # Errors
    /// `Retry` if a directory above it is missing and `parents` is false, or if a file has its
    /// name.
    pub fn create_directory(&self, path: &str, parents: bool) -> Result<bool, ToolError> {
        let is_new = self.is_new_directory(path, parents)?;
        if is_new {
            self.ensure_directory(path)?;
        }
        Ok(is_new)
    }

    /// Reports whether a directory would be new, without changing anything.
    ///
    /// # Errors
    /// As [`Files::create_directory`].
    pub(crate) fn is_new_directory(&self, path: &str, parents: bool) -> Result<bool, ToolError> {
        match self.look(path)? {
            Some(FileType::Directory) => return Ok(false),
            Some(FileType::Symlink) => return self.directory(path).map(|_| false),
            Some(_) => {
                return Err(ToolError::Retry(format!(
                    "a file with that name exists: {}",
                    shown(path)
                )));
            }
            None => {}
        }
        if !parents {
            self.open_directory(split(path).0)?;
        }
        self.guard().check_folder(path)?;
        self.foresee_new(path, true)?;
        Ok(true)
    }

    /// Opens a directory, creating it and missing directories above it, and returns its real path
    /// too.
    fn ensure_directory(&self, path: &str) -> Result<(OwnedFd, String), ToolError> {
        let mut here = self.open_directory("")?;
        let mut walked = String::new();
        for name in path.split('/').filter(|name| !name.is_empty()) {
            walked = join(&walked, name);
            here = match self.open_directory(&walked) {
                Err(ToolError::Retry(_)) if self.look(&walked)?.is_none() => {
                    make_directory(&walked, &here.0, name)?;
                    self.open_directory(&walked)?
                }
                opened => opened?,
            };
        }
        Ok(here)
    }

    fn require_size(&self, path: &str, bytes: &[u8]) -> Result<(), ToolError> {
        if bytes.len() as u64 <= self.max_bytes() {
            return Ok(());
        }
        let (has, limit) = (size(bytes.len() as u64), size(self.max_bytes()));
        Err(ToolError::Retry(format!(
            "{} would have {has}, more than the limit of {limit}",
            shown(path)
        )))
    }

    /// Returns the real path of the file that a write would replace; `None` if there is none yet.
    fn replaced(&self, path: &str) -> Result<Option<String>, ToolError> {
        require_name(path, split(path).1)?;
        if self.look(path)?.is_none() {
            return Ok(None);
        }
        match self.open(path) {
            Ok(opened) => {
                refuse_other_names(path, opened.links)?;
                Ok(Some(opened.path))
            }
            Err(ToolError::Retry(_)) => Err(ToolError::Retry(format!(
                "{} is a dangling link; write to its target instead",
                shown(path)
            ))),
            Err(error) => Err(error),
        }
    }

    fn write_target(&self, path: &str) -> Result<Target, ToolError> {
        let real = self.replaced(path)?;
        let (parent, name) = split(real.as_deref().unwrap_or(path));
        let (directory, parent) = self.ensure_directory(parent)?;
        let path = join(&parent, name);
        self.guard().check(&path)?;
        let mode = current_mode(&path, &directory, name)?;
        Ok(Target {
            directory,
            name: name.to_owned(),
            path,
            mode,
        })
    }
}

/// The target of a write: an open directory and a name in it.
struct Target {
    directory: OwnedFd,
    name: String,
    path: String,
    /// The permission bits of the existing file; `None` if the file is new.
    mode: Option<u32>,
}

fn require_name(path: &str, name: &str) -> Result<(), ToolError> {
    if name.is_empty() {
        return Err(ToolError::file(".", "is a directory"));
    }
    if is_git_name(name) {
        Err(super::path::git_owned(path))
    } else {
        Ok(())
    }
}

fn exists(path: &str) -> ToolError {
    ToolError::Retry(format!("exists already: {}", shown(path)))
}

fn refuse_other_names(path: &str, links: u64) -> Result<(), ToolError> {
    if links <= 1 {
        return Ok(());
    }
    let path = shown(path);
    let reason = format!(
        "`{path}` has {links} hard links, some of which may be outside; delete it and write it \
         again"
    );
    Err(ToolError::denied("built-in:hard-links", reason))
}

fn make_directory(path: &str, parent: &OwnedFd, name: &str) -> Result<(), ToolError> {
    match mkdirat(parent, name, Mode::from_raw_mode(0o777)) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(failure(path, errno)),
    }
}

fn current_mode(path: &str, directory: &OwnedFd, name: &str) -> Result<Option<u32>, ToolError> {
    match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => {
            require_regular(path, &stat)?;
            refuse_other_names(path, stat.st_nlink)?;
            Ok(Some(stat.st_mode & 0o7777))
        }
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(failure(path, errno)),
    }
}

fn replace(path: &str, target: &Target, bytes: &[u8]) -> Result<(), ToolError> {
    let mut temporary = Temporary::create(path, target.directory.as_fd())?;
    if let Err(error) = temporary.file.write_all(bytes) {
        return Err(match error.raw_os_error() {
            Some(code) => failure(path, Errno::from_raw_os_error(code)),
            None => ToolError::file(path, error.to_string()),
        });
    }
    temporary
        .replace(target)
        .map_err(|errno| failure(path, errno))?;
    // Syncing the directory makes the rename durable. Some file systems do not support it, so an
    // error is ignored.
    let _ = fsync(&target.directory);
    Ok(())
}

/// A temporary file, deleted when dropped unless it was renamed.
struct Temporary<'a> {
    file: File,
    name: String,
    directory: BorrowedFd<'a>,
    renamed: bool,
}

impl<'a> Temporary<'a> {
    fn create(path: &str, directory: BorrowedFd<'a>) -> Result<Temporary<'a>, ToolError> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{TEMPORARY_PREFIX}{}-{number}", std::process::id());
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o666);
        let mut file = openat(directory, &*name, flags, mode);
        if matches!(file, Err(Errno::EXIST)) {
            // Left behind by a killed process that had the same process id.
            let _ = unlinkat(directory, &*name, AtFlags::empty());
            file = openat(directory, &*name, flags, mode);
        }
        let file = File::from(file.map_err(|errno| failure(path, errno))?);
        Ok(Temporary {
            file,
            name,
            directory,
            renamed: false,
        })
    }

    /// Puts the file in the place of a target, once it is on the disk.
    fn replace(&mut self, target: &Target) -> Result<(), Errno> {
        if let Some(mode) = target.mode {
            fchmod(&self.file, Mode::from_raw_mode(mode))?;
        }
        fdatasync(&self.file)?;
        renameat(
            &target.directory,
            &self.name,
            &target.directory,
            &target.name,
        )?;
        self.renamed = true;
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.renamed {
            // An error is ignored: the prefix of the name marks the file as temporary.
            let _ = unlinkat(self.directory, &*self.name, AtFlags::empty());
        }
    }
}
