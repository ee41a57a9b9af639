//! Access to files below a worktree's open directory, and nowhere else.
//!
//! The kernel resolves every path from the directory's descriptor. The path may not leave the
//! directory and none of its parts may be a symbolic link (`openat2` with `RESOLVE_BENEATH |
//! RESOLVE_NO_SYMLINKS`). So whatever an agent puts in the way, at any moment, nothing outside is
//! read or written.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use memchr::memmem::Finder;
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags, SeekFrom, Stat, Timespec, Timestamps,
};
use rustix::io::Errno;

/// How often an open is retried that lost a race with a rename; more is an attack.
const RACES: usize = 16;

/// How many bytes of a path are resolved at once: one name less than the kernel accepts.
const LONGEST_STEP: usize = 3_840;

/// The most folders that a walk holds open at a time: many walks may run in one process, whose open
/// files are few.
const MOST_HELD: usize = 32;

/// How many bytes are read of a folder at once.
const LISTED_AT_ONCE: usize = 32 << 10;

/// How many bytes of a file are searched at once.
const SEARCHED_AT_ONCE: usize = 1 << 20;

/// The restrictions on path resolution.
const BENEATH: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS);

/// Converts git's bytes to a path.
pub(crate) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes.to_vec()))
}

/// Splits git's path into its folder and its name.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => around(path, at),
        None => (b"", path),
    }
}

/// Returns what is before a slash of a path, and what is after it.
fn around(path: &[u8], slash: usize) -> (&[u8], &[u8]) {
    let (before, from) = path.split_at(slash);
    (before, from.strip_prefix(b"/").unwrap_or(from))
}

/// Appends a name to git's path of a folder; the empty path is the root.
pub(crate) fn join(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() {
        name.to_vec()
    } else {
        [folder, b"/", name].concat()
    }
}

/// Opens a worktree's directory by its recorded path, whose last part must not be a link.
pub(crate) fn open_root(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(
        path,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
    )
}

/// Opens a folder below the root; the empty path opens the root itself.
pub(crate) fn open_folder(root: impl AsFd, folder: &[u8]) -> Result<OwnedFd, Errno> {
    let (first, mut rest) = first_steps(folder);
    let mut at = open_step(root.as_fd(), first)?;
    while !rest.is_empty() {
        let (next, left) = first_steps(rest);
        (at, rest) = (open_step(at.as_fd(), next)?, left);
    }
    Ok(at)
}

fn open_step(at: BorrowedFd<'_>, path: &[u8]) -> Result<OwnedFd, Errno> {
    let path = if path.is_empty() {
        b".".as_slice()
    } else {
        path
    };
    open(
        at,
        OsStr::from_bytes(path),
        OFlags::RDONLY | OFlags::DIRECTORY,
        Mode::empty(),
    )
}

/// A folder that is held open for those below it, so that a walk does not resolve each from the
/// root.
#[derive(Clone)]
pub(crate) struct Held {
    folder: Rc<OwnedFd>,
    /// How much of a path below it is its own, with the slash.
    length: usize,
    /// How many folders above it are held as well.
    depth: usize,
}

impl Held {
    /// Opens the root of a walk.
    pub(crate) fn root(root: impl AsFd) -> Result<Held, Errno> {
        Ok(Held {
            folder: Rc::new(open_folder(root, b"")?),
            length: 0,
            depth: 0,
        })
    }

    /// Opens a folder below this one by its path from the root.
    pub(crate) fn open(&self, path: &[u8]) -> Result<Rc<OwnedFd>, Errno> {
        let Some((_, below)) = path.split_at_checked(self.length) else {
            return Err(Errno::INVAL);
        };
        open_folder(&*self.folder, below).map(Rc::new)
    }

    /// Returns what the folders within such a folder are opened by: itself, unless many are held
    /// already.
    pub(crate) fn below(&self, path: &[u8], opened: &Rc<OwnedFd>) -> Held {
        if self.depth == MOST_HELD || path.is_empty() {
            return self.clone();
        }
        Held {
            folder: Rc::clone(opened),
            length: path.len() + 1,
            depth: self.depth + 1,
        }
    }
}

/// Splits a path into the longest start that the kernel resolves at once, and the rest.
fn first_steps(path: &[u8]) -> (&[u8], &[u8]) {
    let head = path.get(..LONGEST_STEP).unwrap_or(path);
    match head
        .iter()
        .rposition(|byte| *byte == b'/')
        .filter(|_| head.len() < path.len())
    {
        Some(at) => around(path, at),
        None => (path, b""),
    }
}

/// Reports whether an open folder contains anything besides folders, at any depth.
pub(crate) fn holds_files(folder: &OwnedFd) -> Result<bool, Errno> {
    let identity = |fd: &OwnedFd| rustix::fs::fstat(fd).map(|stat| (stat.st_dev, stat.st_ino));
    let mut here = open_folder(folder, b"")?;
    let Some(inside) = only_folders(&here)? else {
        return Ok(true);
    };
    let mut open = vec![(identity(&here)?, inside)];
    while let Some((_, left)) = open.last_mut() {
        if let Some(name) = left.pop() {
            here = open_folder(&here, &name)?;
            let Some(inside) = only_folders(&here)? else {
                return Ok(true);
            };
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

fn only_folders(fd: &OwnedFd) -> Result<Option<Vec<Vec<u8>>>, Errno> {
    let listed = list(fd)?;
    Ok(listed
        .iter()
        .all(|(_, is_folder)| *is_folder)
        .then(|| listed.into_iter().map(|(name, _)| name).collect()))
}

/// Returns the metadata of an entry of an open folder without following it, or `None` if it is
/// absent.
pub(crate) fn look(folder: impl AsFd, name: &[u8]) -> Result<Option<Stat>, Errno> {
    match rustix::fs::statat(folder, OsStr::from_bytes(name), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads a regular file of an open folder, and its metadata while it was open. Returns `None` if it
/// is larger than the limit.
pub(crate) fn read(
    folder: impl AsFd,
    name: &[u8],
    limit: u64,
) -> Result<Option<(Vec<u8>, Stat)>, Errno> {
    let (file, stat) = open_file(folder, name)?;
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    if size > limit {
        return Ok(None);
    }
    // With room for its end, so that the buffer is not doubled.
    let mut bytes = Vec::with_capacity(usize::try_from(size + 1).unwrap_or(0));
    file.take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| errno(&error))?;
    Ok((bytes.len() as u64 <= limit).then_some((bytes, stat)))
}

/// Reads the first bytes of a regular file of an open folder.
pub(crate) fn read_start(folder: impl AsFd, name: &[u8], limit: u64) -> Result<Vec<u8>, Errno> {
    let (file, _) = open_file(folder, name)?;
    let mut bytes = Vec::new();
    file.take(limit)
        .read_to_end(&mut bytes)
        .map_err(|error| errno(&error))?;
    Ok(bytes)
}

/// Reports whether two open folders have a regular file of this name with the same content. A file
/// that cannot be read in the second folder counts as missing.
pub(crate) fn is_same_file(
    folder: impl AsFd,
    other: impl AsFd,
    name: &[u8],
) -> Result<bool, Errno> {
    let (file, stat) = open_file(folder, name)?;
    let Ok((other, other_stat)) = open_file(other, name) else {
        return Ok(false);
    };
    if stat.st_size != other_stat.st_size {
        return Ok(false);
    }
    let (mut file, mut other) = (BufReader::new(file), BufReader::new(other));
    loop {
        let ours = file.fill_buf().map_err(|error| errno(&error))?;
        let Ok(theirs) = other.fill_buf() else {
            return Ok(false);
        };
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

/// Opens a regular file of an open folder for reading. Any other kind of file is an error.
pub(crate) fn open_plain(folder: impl AsFd, name: &[u8]) -> Result<File, Errno> {
    open_file(folder, name).map(|(file, _)| file)
}

/// Opens a regular file of an open folder. Any other kind of file is an error.
fn open_file(folder: impl AsFd, name: &[u8]) -> Result<(File, Stat), Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = open(
        folder.as_fd(),
        OsStr::from_bytes(name),
        flags,
        Mode::empty(),
    )?;
    let stat = rustix::fs::fstat(&file)?;
    if kind(&stat) != FileType::RegularFile {
        return Err(Errno::INVAL);
    }
    Ok((File::from(file), stat))
}

/// Reads the target of a symbolic link in an open folder.
pub(crate) fn read_link(folder: impl AsFd, name: &[u8]) -> Result<Vec<u8>, Errno> {
    Ok(rustix::fs::readlinkat(folder, OsStr::from_bytes(name), Vec::new())?.into_bytes())
}

/// Creates the folders of a path below the root, replacing files that are in the way, and opens the
/// last one.
pub(crate) fn make_folder(root: impl AsFd, folder: &[u8]) -> Result<OwnedFd, Errno> {
    let mut at = open_folder(&root, b"")?;
    for name in folder
        .split(|byte| *byte == b'/')
        .filter(|name| !name.is_empty())
    {
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

/// Writes a file in an open folder atomically, replacing an existing entry.
pub(crate) fn write(
    folder: impl AsFd,
    name: &[u8],
    bytes: &[u8],
    executable: bool,
) -> Result<(), Errno> {
    let mode = if executable { 0o777 } else { 0o666 };
    write_with(folder, name, mode, |file| {
        file.write_all(bytes).map_err(|error| errno(&error))
    })
}

/// Writes a file like [`write`], accessible to its user alone.
pub(crate) fn write_private(
    folder: impl AsFd,
    name: &[u8],
    bytes: &[u8],
    executable: bool,
) -> Result<(), Errno> {
    let mode = if executable { 0o700 } else { 0o600 };
    write_with(folder, name, mode, |file| {
        file.write_all(bytes).map_err(|error| errno(&error))
    })
}

/// Copies a regular file from one open folder to another, atomically, together with its time of
/// modification, replacing an existing entry. The copy shares its blocks if the file system
/// supports that.
///
/// The copy is created with the permissions of the file, less the umask; it never has more.
pub(crate) fn copy(from: impl AsFd, to: impl AsFd, name: &[u8]) -> Result<(), Errno> {
    let (mut file, stat) = open_file(from, name)?;
    write_with(to, name, stat.st_mode, |copy| {
        if rustix::fs::ioctl_ficlone(&*copy, &file).is_err() {
            std::io::copy(&mut file, copy).map_err(|error| errno(&error))?;
        }
        rustix::fs::futimens(&*copy, &times_of(&stat))
    })
}

/// Writes a file in an open folder from an open one, atomically, replacing an existing entry. The
/// new file shares the blocks of the other if the file system supports that, and has the time of
/// its modification, or that of a second ago if that is older: an index that is written now is then
/// newer, for a git that counts in seconds, too.
pub(crate) fn write_from(
    mut file: File,
    to: impl AsFd,
    name: &[u8],
    executable: bool,
) -> Result<(), Errno> {
    let mut stat = rustix::fs::fstat(&file)?;
    let mode = if executable { 0o777 } else { 0o666 };
    write_with(to, name, mode, |copy| {
        let created = rustix::fs::fstat(&*copy)?;
        if stat.st_mtime >= created.st_mtime {
            (stat.st_mtime, stat.st_mtime_nsec) = (created.st_mtime - 1, 0);
        }
        let times = times_of(&stat);
        if rustix::fs::ioctl_ficlone(&*copy, &file).is_err() {
            std::io::copy(&mut file, copy).map_err(|error| errno(&error))?;
        }
        rustix::fs::futimens(&*copy, &times)
    })
}

/// Copies a regular file to an open folder that has none of that name, or one that a killed process
/// left, together with its time of modification. The copy shares its blocks if the file system
/// supports that, and has no more permissions than the file, less the umask.
pub(crate) fn copy_with_time(from: impl AsFd, to: impl AsFd, name: &[u8]) -> Result<(), Errno> {
    let (mut file, stat) = open_file(from, name)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
    let create = || {
        open(
            to.as_fd(),
            OsStr::from_bytes(name),
            flags,
            Mode::from_raw_mode(stat.st_mode & 0o777),
        )
    };
    let created = match create() {
        Err(Errno::EXIST) => remove_file(&to, name).and_then(|()| create()),
        created => created,
    };
    let mut copy = File::from(created?);
    if rustix::fs::ioctl_ficlone(&copy, &file).is_err() {
        std::io::copy(&mut file, &mut copy).map_err(|error| errno(&error))?;
    }
    rustix::fs::futimens(&copy, &times_of(&stat))
}

/// Gives a file another name, in place of what a killed process may have left there.
pub(crate) fn link(from: impl AsFd, first: &[u8], to: impl AsFd, name: &[u8]) -> Result<(), Errno> {
    let create = || {
        let (first, name) = (OsStr::from_bytes(first), OsStr::from_bytes(name));
        rustix::fs::linkat(from.as_fd(), first, to.as_fd(), name, AtFlags::empty())
    };
    match create() {
        Err(Errno::EXIST) => remove_file(&to, name).and_then(|()| create()),
        created => created,
    }
}

/// Reports whether a copy of a file in the first folder can share its blocks if it is made in the
/// second one, by making one.
pub(crate) fn shares_blocks(from: impl AsFd, name: &[u8], to: impl AsFd) -> Result<bool, Errno> {
    let (file, _) = open_file(from, name)?;
    let temporary = temporary_name(b"shares-blocks");
    remove_file(&to, temporary.as_bytes())?;
    let name = OsStr::from_bytes(temporary.as_bytes());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
    let copy = open(to.as_fd(), name, flags, Mode::from_raw_mode(0o600))?;
    let shared = rustix::fs::ioctl_ficlone(&copy, &file).is_ok();
    remove_file(&to, temporary.as_bytes())?;
    Ok(shared)
}

/// Sets the time of modification of an entry of an open folder to that in the metadata of another
/// one.
pub(crate) fn set_time_of(folder: impl AsFd, name: &[u8], stat: &Stat) -> Result<(), Errno> {
    rustix::fs::utimensat(
        folder,
        OsStr::from_bytes(name),
        &times_of(stat),
        AtFlags::SYMLINK_NOFOLLOW,
    )
}

fn times_of(stat: &Stat) -> Timestamps {
    let time = Timespec {
        tv_sec: stat.st_mtime,
        tv_nsec: stat.st_mtime_nsec.cast_signed(),
    };
    Timestamps {
        last_access: time,
        last_modification: time,
    }
}

/// Reports whether a regular file of an open folder contains one of these texts, with a byte after
/// it that ends it.
pub(crate) fn contains(
    folder: impl AsFd,
    name: &[u8],
    texts: &[Finder<'_>],
    ends: fn(Option<u8>) -> bool,
) -> Result<bool, Errno> {
    let (mut file, stat) = open_file(folder, name)?;
    let longest = texts
        .iter()
        .map(|text| text.needle().len())
        .max()
        .unwrap_or(1);
    let size = usize::try_from(stat.st_size.max(0))
        .unwrap_or(SEARCHED_AT_ONCE)
        .clamp(longest, SEARCHED_AT_ONCE);
    let (mut buffer, mut filled) = (vec![0; size + 1], 0);
    loop {
        let (_, room) = buffer.split_at_mut(filled);
        let read = file.read(room).map_err(|error| errno(&error))?;
        filled += read;
        let (there, _) = buffer.split_at(filled);
        if read == 0 || filled == buffer.len() {
            if texts
                .iter()
                .any(|text| stands_in(there, text, ends, read == 0))
            {
                return Ok(true);
            }
            // A text may begin here, and it or what follows it be in what is read next.
            let kept = longest.min(filled);
            buffer.copy_within(filled - kept..filled, 0);
            filled = kept;
        }
        if read == 0 {
            return Ok(false);
        }
    }
}

/// Reports whether a text stands in bytes, with a byte after it that ends it; the last bytes of a
/// file have none.
fn stands_in(bytes: &[u8], text: &Finder<'_>, ends: fn(Option<u8>) -> bool, is_last: bool) -> bool {
    for at in text.find_iter(bytes) {
        let next = bytes.get(at + text.needle().len()).copied();
        if (next.is_some() || is_last) && ends(next) {
            return true;
        }
    }
    false
}

fn write_with(
    folder: impl AsFd,
    name: &[u8],
    mode: u32,
    fill: impl FnOnce(&mut File) -> Result<(), Errno>,
) -> Result<(), Errno> {
    let temporary = temporary_name(name);
    // A temporary file that a killed process left may have other permissions.
    remove_file(&folder, temporary.as_bytes())?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
    let file = open(
        folder.as_fd(),
        &temporary,
        flags,
        Mode::from_raw_mode(mode & 0o777),
    )?;
    fill(&mut File::from(file))?;
    put(folder, &temporary, name)
}

/// Creates a symbolic link in an open folder, replacing an existing entry.
pub(crate) fn write_link(folder: impl AsFd, name: &[u8], target: &[u8]) -> Result<(), Errno> {
    let temporary = temporary_name(name);
    remove_file(&folder, temporary.as_bytes())?;
    rustix::fs::symlinkat(OsStr::from_bytes(target), &folder, &temporary)?;
    put(folder, &temporary, name)
}

/// Sets the modification time of an entry of an open folder, in seconds since 1970; a link is not
/// followed.
pub(crate) fn set_modified(folder: impl AsFd, name: &[u8], seconds: i64) -> Result<(), Errno> {
    let time = Timespec {
        tv_sec: seconds,
        tv_nsec: 0,
    };
    let times = Timestamps {
        last_access: time,
        last_modification: time,
    };
    rustix::fs::utimensat(
        folder,
        OsStr::from_bytes(name),
        &times,
        AtFlags::SYMLINK_NOFOLLOW,
    )
}

/// Removes a file or link; a missing one is no error.
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

/// Removes the empty folders of a path, starting with the deepest.
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

/// Lists the entries of an open folder, sorted: names, and whether each is a folder.
pub(crate) fn list(folder: impl AsFd) -> Result<Vec<(Vec<u8>, bool)>, Errno> {
    // Not by a name, as a second open would be: it takes longer than to read a small folder.
    rustix::fs::seek(&folder, SeekFrom::Start(0))?;
    let (mut names, mut room) = (Vec::new(), Vec::with_capacity(LISTED_AT_ONCE));
    let mut entries = RawDir::new(&folder, room.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        let is_folder = match entry.file_type() {
            FileType::Directory => true,
            FileType::Unknown => {
                look(&folder, name)?.is_some_and(|stat| kind(&stat) == FileType::Directory)
            }
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

/// Returns the name of a file until it is complete. A file that a killed process left is removed
/// when the same file is written again, as the first step.
fn temporary_name(name: &[u8]) -> OsString {
    let (kept, _) = name.split_at(name.len().min(200));
    OsString::from_vec([b".".as_slice(), kept, b".orchestrate-tmp"].concat())
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
