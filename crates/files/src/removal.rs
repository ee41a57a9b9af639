//! Removing a folder with everything in it, however deep: by two open folders at a time, and without recursion.
//!
//! Neither the length of a path, nor the number of open files, nor the stack sets a limit. Links are never followed. On
//! the way back up each folder must be the one that was entered, so nothing else is removed if somebody moves folders
//! meanwhile.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

/// What its owner may do in a folder from which everything is removed.
const OWNERS: u32 = 0o700;
/// How often a folder that was emptied may turn out to have something in it again: somebody writes there.
const TRIES: usize = 16;

/// A folder that was entered.
struct Entered {
    /// Its name in the folder above.
    name: OsString,
    /// The device and the number of the folder above.
    above: (u64, u64),
    tries: usize,
}

/// Removes a folder with everything in it; a link is removed itself.
///
/// Folders that do not let their owner write (as build tools make them) are removed as well.
///
/// # Errors
/// If it is not there, or the first thing that cannot be removed; what was removed before is gone.
pub fn remove_folder(path: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    let parent = rustix::fs::open(parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    Ok(remove_folder_below(parent.as_fd(), name)?)
}

/// Removes what an open folder has under a name, with everything in it.
///
/// # Errors
/// As [`remove_folder`].
pub fn remove_folder_below(parent: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
    match rustix::fs::unlinkat(parent, name, AtFlags::empty()) {
        // What the kernel says of a folder, and where it does not let one look.
        Err(Errno::ISDIR | Errno::PERM | Errno::ACCESS) => {}
        done => return done,
    }
    let above = identity(&rustix::fs::fstat(parent)?);
    let mut entered = vec![Entered { name: name.to_owned(), above, tries: 0 }];
    let mut here = enter(parent, name)?;
    while !entered.is_empty() {
        if let Some(folder) = remove_files(&here)? {
            let next = match enter(here.as_fd(), &folder) {
                // Somebody else removes it, too.
                Err(Errno::NOENT) => continue,
                next => next?,
            };
            entered.push(Entered { name: folder, above: identity(&rustix::fs::fstat(&here)?), tries: 0 });
            here = next;
            continue;
        }
        let is_top = entered.len() == 1;
        let Some(last) = entered.last_mut() else { break };
        let up = if is_top { parent.try_clone_to_owned().map_err(|error| errno(&error))? } else { leave(&here, last)? };
        match rustix::fs::unlinkat(&up, &last.name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => {
                entered.pop();
                here = up;
            }
            Err(Errno::NOTEMPTY | Errno::EXIST) if last.tries < TRIES => last.tries += 1,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Removes everything but folders from an open folder, up to the first folder, which it returns.
fn remove_files(folder: &OwnedFd) -> Result<Option<OsString>, Errno> {
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let is_folder = match entry.file_type() {
            FileType::Directory => true,
            FileType::Unknown => {
                let found = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
                FileType::from_raw_mode(found.st_mode) == FileType::Directory
            }
            _ => false,
        };
        if is_folder {
            return Ok(Some(OsString::from_vec(name.as_bytes().to_vec())));
        }
        match rustix::fs::unlinkat(folder, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Opens a folder of an open one, and lets its owner change it.
fn enter(above: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = rustix::fs::openat(above, name, flags | OFlags::PATH, Mode::empty())?;
    let mode = rustix::fs::fstat(&found)?.st_mode;
    if mode & OWNERS != OWNERS {
        // By the descriptor: the name may be another's by now. What fails here fails below, with its reason.
        let descriptor = format!("/proc/self/fd/{}", found.as_raw_fd());
        let _ = rustix::fs::chmod(descriptor, Mode::from_raw_mode(mode | OWNERS));
    }
    rustix::fs::openat(&found, ".", flags | OFlags::RDONLY, Mode::empty())
}

/// Opens the folder above an open one, which must be the one that it was entered from.
fn leave(folder: &OwnedFd, entered: &Entered) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let above = rustix::fs::openat(folder, "..", flags, Mode::empty())?;
    let is_same = identity(&rustix::fs::fstat(&above)?) == entered.above;
    is_same.then_some(above).ok_or(Errno::STALE)
}

fn identity(found: &Stat) -> (u64, u64) {
    (found.st_dev, found.st_ino)
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
