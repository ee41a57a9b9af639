//! Files below a worktree's open directory, and nowhere else.
//!
//! Every path is resolved by the kernel from the directory's descriptor and may not leave it, and no part of
//! it may be a symbolic link (`openat2` with `RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS`): whatever an agent puts
//! in the way, at whatever moment, nothing outside is read or written.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat, Timespec, Timestamps};
use rustix::io::Errno;

/// How often an open that lost a race with a rename is tried again; more is an attack.
const RACES: usize = 16;

/// How many bytes of a path are resolved at once: one name less than the kernel takes.
const LONGEST_STEP: usize = 3_840;

/// What may be resolved.
const BENEATH: ResolveFlags = ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

/// Makes a path of git's bytes.
pub(crate) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes.to_vec()))
}

/// Splits git's path in its folder and its name.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (path.get(..at).unwrap_or_default(), path.get(at + 1..).unwrap_or_default()),
        None => (b"", path),
    }
}

/// Appends a name to git's path of a folder.
pub(crate) fn join(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() }
}

/// Opens a worktree's directory by its path, which we have recorded.
pub(crate) fn open_root(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

/// Opens a folder below the root; the empty path is the root itself.
pub(crate) fn open_folder(root: impl AsFd, folder: &[u8]) -> Result<OwnedFd, Errno> {
    let step = |at: BorrowedFd<'_>, path: &[u8]| {
        let path = if path.is_empty() { b".".as_slice() } else { path };
        open(at, OsStr::from_bytes(path), OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())
    };
    let (first, mut rest) = first_steps(folder);
    let mut at = step(root.as_fd(), first)?;
    while !rest.is_empty() {
        let (next, left) = first_steps(rest);
        (at, rest) = (step(at.as_fd(), next)?, left);
    }
    Ok(at)
}

/// Splits as much off a path as the kernel resolves at once.
fn first_steps(path: &[u8]) -> (&[u8], &[u8]) {
    let head = path.get(..LONGEST_STEP).unwrap_or(path);
    match head.iter().rposition(|byte| *byte == b'/').filter(|_| head.len() < path.len()) {
        Some(at) => (path.get(..at).unwrap_or_default(), path.get(at + 1..).unwrap_or_default()),
        None => (path, b""),
    }
}

/// Finds out whether there is anything but folders in an open folder, however deep.
pub(crate) fn holds_files(folder: OwnedFd) -> Result<bool, Errno> {
    let identity = |fd: &OwnedFd| rustix::fs::fstat(fd).map(|stat| (stat.st_dev, stat.st_ino));
    let folders = |fd: &OwnedFd| -> Result<Option<Vec<Vec<u8>>>, Errno> {
        let listed = list(fd)?;
        Ok(listed.iter().all(|(_, is_folder)| *is_folder).then(|| listed.into_iter().map(|(name, _)| name).collect()))
    };
    let Some(inside) = folders(&folder)? else { return Ok(true) };
    let mut here = folder;
    let mut open = vec![(identity(&here)?, inside)];
    while let Some((_, left)) = open.last_mut() {
        if let Some(name) = left.pop() {
            here = open_folder(&here, &name)?;
            let Some(inside) = folders(&here)? else { return Ok(true) };
            open.push((identity(&here)?, inside));
            continue;
        }
        open.pop();
        if let Some((above, _)) = open.last() {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            here = rustix::fs::openat(&here, "..", flags, Mode::empty())?;
            if identity(&here)? != *above {
                return Err(Errno::STALE);
            }
        }
    }
    Ok(false)
}

/// Looks at an entry of an open folder without following it.
pub(crate) fn look(folder: impl AsFd, name: &[u8]) -> Result<Option<Stat>, Errno> {
    match rustix::fs::statat(folder, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads a regular file of an open folder, and its state while it was open, or `None` if it is over the limit.
pub(crate) fn read(folder: impl AsFd, name: &[u8], limit: u64) -> Result<Option<(Vec<u8>, Stat)>, Errno> {
    let (file, stat) = open_file(folder, name)?;
    let mut bytes = Vec::with_capacity(usize::try_from(stat.st_size.max(0)).unwrap_or(0).min(1 << 20));
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| errno(&error))?;
    Ok((bytes.len() as u64 <= limit).then_some((bytes, stat)))
}

/// Reports whether two open folders have a regular file of that name with the same in it; one that cannot be read in
/// the other is not there.
pub(crate) fn is_same_file(folder: impl AsFd, other: impl AsFd, name: &[u8]) -> Result<bool, Errno> {
    let (file, stat) = open_file(folder, name)?;
    let Ok((other, other_stat)) = open_file(other, name) else { return Ok(false) };
    if stat.st_size != other_stat.st_size {
        return Ok(false);
    }
    let (mut file, mut other) = (BufReader::new(file), BufReader::new(other));
    loop {
        let ours = file.fill_buf().map_err(|error| errno(&error))?;
        let Ok(theirs) = other.fill_buf() else { return Ok(false) };
        let length = ours.len().min(theirs.len());
        if length == 0 {
            return Ok(ours.len() == theirs.len());
        }
        if ours.get(..length) != theirs.get(..length) {
            return Ok(false);
        }
        file.consume(length);
        other.consume(length);
    }
}

/// Opens a regular file of an open folder.
fn open_file(folder: impl AsFd, name: &[u8]) -> Result<(File, Stat), Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = open(folder.as_fd(), OsStr::from_bytes(name), flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&file)?;
    if kind(&stat) != FileType::RegularFile {
        return Err(Errno::INVAL);
    }
    Ok((File::from(file), stat))
}

/// Reads where a symbolic link of an open folder points.
pub(crate) fn read_link(folder: impl AsFd, name: &[u8]) -> Result<Vec<u8>, Errno> {
    Ok(rustix::fs::readlinkat(folder, OsStr::from_bytes(name), Vec::new())?.into_bytes())
}

/// Makes the folders of a path below the root, replacing files that are in the way, and opens the last.
pub(crate) fn make_folder(root: impl AsFd, folder: &[u8]) -> Result<OwnedFd, Errno> {
    let mut at = open_folder(&root, b"")?;
    for name in folder.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
        at = match open_folder(&at, name) {
            Ok(next) => next,
            Err(Errno::NOENT) => make_one(&at, name)?,
            Err(Errno::NOTDIR | Errno::LOOP) => {
                rustix::fs::unlinkat(&at, OsStr::from_bytes(name), AtFlags::empty())?;
                make_one(&at, name)?
            }
            Err(error) => return Err(error),
        };
    }
    Ok(at)
}

/// Writes a file in an open folder: whole or not at all, replacing what is there.
pub(crate) fn write(folder: impl AsFd, name: &[u8], bytes: &[u8], executable: bool) -> Result<(), Errno> {
    let mode = if executable { 0o777 } else { 0o666 };
    write_with(folder, name, mode, |file| file.write_all(bytes).map_err(|error| errno(&error)))
}

/// Copies a regular file from one open folder to another, whole or not at all, replacing what is there; it shares its
/// blocks where the file system can.
///
/// The copy has at most the permissions of the file, from the first moment: the user's mask takes away from them.
pub(crate) fn copy(from: impl AsFd, to: impl AsFd, name: &[u8]) -> Result<(), Errno> {
    let (mut file, stat) = open_file(from, name)?;
    write_with(to, name, stat.st_mode, |copy| match rustix::fs::ioctl_ficlone(&*copy, &file) {
        Ok(()) => Ok(()),
        Err(_) => std::io::copy(&mut file, copy).map(drop).map_err(|error| errno(&error)),
    })
}

fn write_with(
    folder: impl AsFd,
    name: &[u8],
    mode: u32,
    fill: impl FnOnce(&mut File) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let temporary = temporary_name(name);
    // One that a killed process left has permissions of its own.
    remove_file(&folder, temporary.as_bytes())?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
    let file = open(folder.as_fd(), &temporary, flags, Mode::from_raw_mode(mode & 0o777))?;
    fill(&mut File::from(file))?;
    put(folder, &temporary, name)
}

/// Makes a symbolic link in an open folder, replacing what is there.
pub(crate) fn write_link(folder: impl AsFd, name: &[u8], target: &[u8]) -> Result<(), Errno> {
    let temporary = temporary_name(name);
    remove_file(&folder, temporary.as_bytes())?;
    rustix::fs::symlinkat(OsStr::from_bytes(target), &folder, &temporary)?;
    put(folder, &temporary, name)
}

/// Sets when an entry of an open folder was changed, in seconds since 1970; a link is not followed.
pub(crate) fn set_modified(folder: impl AsFd, name: &[u8], seconds: i64) -> Result<(), Errno> {
    let time = Timespec { tv_sec: seconds, tv_nsec: 0 };
    let times = Timestamps { last_access: time, last_modification: time };
    rustix::fs::utimensat(folder, OsStr::from_bytes(name), &times, AtFlags::SYMLINK_NOFOLLOW)
}

/// Removes a file or link; what is not there is no error.
pub(crate) fn remove_file(folder: impl AsFd, name: &[u8]) -> Result<(), Errno> {
    match rustix::fs::unlinkat(folder, OsStr::from_bytes(name), AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Removes a folder with everything in it.
pub(crate) fn remove_folder(parent: impl AsFd, name: &[u8]) -> Result<(), Errno> {
    orchestrate_files::remove_folder_below(parent.as_fd(), OsStr::from_bytes(name))
}

/// Removes the folders of a path that are empty, from the deepest up.
pub(crate) fn remove_empty_folders(root: impl AsFd, folder: &[u8]) -> Result<(), Errno> {
    let mut folder = folder;
    while !folder.is_empty() {
        let (parent, name) = split(folder);
        let opened = match open_folder(&root, parent) {
            Ok(opened) => opened,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
            Err(error) => return Err(error),
        };
        match rustix::fs::unlinkat(&opened, OsStr::from_bytes(name), AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => return Ok(()),
            Err(error) => return Err(error),
        }
        folder = parent;
    }
    Ok(())
}

/// Lists an open folder: names, and whether each is a folder.
pub(crate) fn list(folder: impl AsFd) -> Result<Vec<(Vec<u8>, bool)>, Errno> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(&folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        let is_folder = match entry.file_type() {
            FileType::Directory => true,
            FileType::Unknown => look(&folder, name)?.is_some_and(|stat| kind(&stat) == FileType::Directory),
            _ => false,
        };
        names.push((name.to_vec(), is_folder));
    }
    names.sort();
    Ok(names)
}

/// Returns the type of a file.
pub(crate) fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

fn open(at: BorrowedFd<'_>, path: &OsStr, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let mut last = Errno::AGAIN;
    for _ in 0..RACES {
        match rustix::fs::openat2(at, path, flags | OFlags::CLOEXEC, mode, BENEATH) {
            Err(error @ (Errno::AGAIN | Errno::INTR)) => last = error,
            other => return other,
        }
    }
    Err(last)
}

fn make_one(at: &OwnedFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    match rustix::fs::mkdirat(at, OsStr::from_bytes(name), Mode::from_raw_mode(0o777)) {
        Ok(()) | Err(Errno::EXIST) => open_folder(at, name),
        Err(error) => Err(error),
    }
}

fn put(folder: impl AsFd, temporary: &OsStr, name: &[u8]) -> Result<(), Errno> {
    let is_folder = look(&folder, name)?.is_some_and(|stat| kind(&stat) == FileType::Directory);
    if is_folder {
        remove_folder(&folder, name)?;
    }
    rustix::fs::renameat(&folder, temporary, &folder, OsStr::from_bytes(name))
}

/// The name that a file has until it is whole. What a killed process left is removed by the next write of the same
/// file, which its repetition begins with.
fn temporary_name(name: &[u8]) -> OsString {
    let kept = name.get(..name.len().min(200)).unwrap_or_default();
    OsString::from_vec([b".".as_slice(), kept, b".orchestrate-tmp"].concat())
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
