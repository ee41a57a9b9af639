//! Reads small files written by users or repositories, whatever may be in their place.

use std::fs::File;
use std::io::{Error, ErrorKind, Read as _, Result};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// Where symbolic links may lead.
#[derive(Clone, Copy, Debug)]
pub enum Links<'a> {
    /// Anywhere: the path is the user's own.
    Anywhere,
    /// Nowhere outside of this folder: a repository must not make us show other files that its user
    /// can read.
    Below(&'a Path),
}

/// Reads a regular file of at most `limit` bytes. Of a larger file, the first `limit + 1` bytes are
/// returned.
///
/// Never blocks on a pipe, a device or a socket in its place.
///
/// # Errors
/// Fails if the file cannot be opened or read, is not a regular file, or is reached by a link that
/// leads outside.
pub fn read_plain(path: &Path, links: Links<'_>, limit: u64) -> Result<Vec<u8>> {
    let opened = match links {
        Links::Below(root) if path.starts_with(root) => open_below(root, path)?,
        _ => open(CWD, path, ResolveFlags::empty())?,
    };
    let stat = rustix::fs::fstat(&opened)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => return Err(Error::from(ErrorKind::IsADirectory)),
        _ => {
            return Err(Error::new(
                ErrorKind::InvalidInput,
                "it is a pipe, a socket or a device, not a file",
            ));
        }
    }
    let mut bytes = Vec::new();
    File::from(opened)
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn open_below(root: &Path, path: &Path) -> Result<OwnedFd> {
    let folder = open(CWD, root, ResolveFlags::empty())?;
    let below = path.strip_prefix(root).unwrap_or(path);
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    open(&folder, below, resolve).map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::XDEV | Errno::LOOP) => {
            let reason = format!(
                "a link leads outside {}; replace the link with the file",
                root.display()
            );
            Error::new(ErrorKind::InvalidInput, reason)
        }
        _ => error,
    })
}

fn open(folder: impl std::os::fd::AsFd, path: &Path, resolve: ResolveFlags) -> Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat2(
        folder,
        path,
        flags,
        Mode::empty(),
        resolve,
    )?)
}
