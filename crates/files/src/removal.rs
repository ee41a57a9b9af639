//! Removes a folder with everything in it, without recursion and with two open folders at a time.
//!
//! Neither the length of a path, nor the number of open files, nor the stack limits the depth.
//! Symbolic links are never followed. On the way back up, each parent must be the folder that was
//! descended from, so nothing else is removed if folders are moved concurrently.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

/// The owner's permissions that are needed to empty a folder.
const OWNERS: u32 = 0o700;
/// How often an emptied folder may turn out not to be empty, because another process writes to it.
const TRIES: usize = 16;

/// A folder that was descended into.
struct Entered {
    /// Its name in its parent.
    name: OsString,
    /// The device and inode number of its parent.
    above: (u64, u64),
    tries: usize,
}

/// Removes a folder with everything in it; if the path is a symbolic link, removes the link itself.
///
/// Also removes folders that their owner cannot write to, as build tools create them.
///
/// # Errors
/// Fails if the folder does not exist, or with the first removal that fails; earlier removals are
/// not undone.
pub fn remove_folder(path: &Path) -> io::Result<()> {
    remove_folder_unless(path, &|| false).map(drop)
}

/// Removes a folder as [`remove_folder`] does, until `stop` says so; returns whether all of it is
/// gone. `stop` is asked at each folder.
///
/// # Errors
/// See [`remove_folder`].
pub fn remove_folder_unless(path: &Path, stop: &dyn Fn() -> bool) -> io::Result<bool> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let parent = if parent.as_os_str().is_empty() {
        Path::new(".")
    } else {
        parent
    };
    let parent = rustix::fs::open(
        parent,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    Ok(remove_below(parent.as_fd(), name, stop)?)
}

/// Removes the entry of this name from an open folder, with everything in it.
///
/// # Errors
/// See [`remove_folder`].
pub fn remove_folder_below(parent: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
    remove_below(parent, name, &|| false).map(drop)
}

/// Removes an entry of an open folder until `stop` says so; returns whether all of it is gone.
fn remove_below(
    parent: BorrowedFd<'_>,
    name: &OsStr,
    stop: &dyn Fn() -> bool,
) -> Result<bool, Errno> {
    match rustix::fs::unlinkat(parent, name, AtFlags::empty()) {
        // The kernel's errors for a folder, and for a parent that denies access.
        Err(Errno::ISDIR | Errno::PERM | Errno::ACCESS) => {}
        done => return done.map(|()| true),
    }
    let above = identity(&rustix::fs::fstat(parent)?);
    let mut entered = vec![Entered {
        name: name.to_owned(),
        above,
        tries: 0,
    }];
    let mut here = enter(parent, name)?;
    while !entered.is_empty() {
        if stop() {
            return Ok(false);
        }
        if let Some(folder) = remove_files(&here)? {
            let next = match enter(here.as_fd(), &folder) {
                // Another process removed it concurrently.
                Err(Errno::NOENT) => continue,
                next => next?,
            };
            entered.push(Entered {
                name: folder,
                above: identity(&rustix::fs::fstat(&here)?),
                tries: 0,
            });
            here = next;
            continue;
        }
        let is_top = entered.len() == 1;
        let Some(last) = entered.last_mut() else {
            break;
        };
        let up = if is_top {
            parent.try_clone_to_owned().map_err(|error| errno(&error))?
        } else {
            leave(&here, last)?
        };
        match rustix::fs::unlinkat(&up, &last.name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => {
                entered.pop();
                here = up;
            }
            Err(Errno::NOTEMPTY | Errno::EXIST) if last.tries < TRIES => last.tries += 1,
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Removes the entries of an open folder up to its first subfolder, which is returned.
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

/// Opens a subfolder of an open folder, and gives its owner all permissions.
fn enter(above: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = rustix::fs::openat(above, name, flags | OFlags::PATH, Mode::empty())?;
    let mode = rustix::fs::fstat(&found)?.st_mode;
    if mode & OWNERS != OWNERS {
        // By descriptor: the name may refer to another folder by now. A failure here also fails the
        // open below, which reports the reason.
        let descriptor = format!("/proc/self/fd/{}", found.as_raw_fd());
        let _ = rustix::fs::chmod(descriptor, Mode::from_raw_mode(mode | OWNERS));
    }
    rustix::fs::openat(&found, ".", flags | OFlags::RDONLY, Mode::empty())
}

/// Opens the parent of an open folder; fails if it is not the folder that was descended from.
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
