//! What a command is given on its standard input: its result depends on that, so it is part of the
//! call's key.
//!
//! The bytes of a pipe are read before the command starts, and are then given to it by a pipe of
//! ours. An input that is long, or does not end, is passed on as it comes, and the result is
//! neither stored nor replayed.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read as _, Seek as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::time::{Duration, Instant};

use orchestrate_core::policy::cache::ContentHash;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::FileType;
use rustix::pipe::{PipeFlags, pipe_with};

/// The maximum number of bytes that a key is made of.
const MOST_BYTES: usize = 16 << 20;
/// How long the next bytes of a pipe are waited for: a caller may leave open a pipe that it never
/// writes to.
const PATIENCE: Duration = Duration::from_secs(1);

/// What was read of a pipe, to be given to the command.
#[must_use]
pub(super) struct Given {
    bytes: Vec<u8>,
    /// The pipe, if more may come.
    rest: Option<File>,
    to: File,
}

impl Given {
    /// Gives it from a thread of its own; signals must be held back by now.
    ///
    /// # Errors
    ///
    /// Fails if there is no thread.
    pub(super) fn start(self) -> io::Result<()> {
        let Given {
            bytes,
            rest,
            mut to,
        } = self;
        let give = move || {
            // A command that reads no more ends this, as it would end whoever wrote.
            if to.write_all(&bytes).is_ok()
                && let Some(mut rest) = rest
            {
                let _ = io::copy(&mut rest, &mut to);
            }
        };
        std::thread::Builder::new()
            .name("standard-input".to_owned())
            .spawn(give)
            .map(drop)
    }
}

/// The standard input of a command.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// The command that reads it to its end reads nothing but what a person types.
    Nothing,
    /// Bytes with this hash.
    Bytes(ContentHash),
    /// It is not known before the command runs.
    Unknown,
}

impl Input {
    /// Looks at the standard input of this process. A pipe is read, and standard input is then
    /// another pipe, which is to be given the same.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be read or replaced.
    pub(super) fn look() -> io::Result<(Input, Option<Given>)> {
        let input = io::stdin();
        if input.is_terminal() {
            return Ok((Input::Nothing, None));
        }
        let stat = rustix::fs::fstat(&input)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok((
                of_file(&File::from(input.as_fd().try_clone_to_owned()?))?,
                None,
            )),
            FileType::CharacterDevice => {
                let is_null = rustix::fs::stat("/dev/null")?.st_rdev == stat.st_rdev;
                Ok((
                    if is_null {
                        Input::Nothing
                    } else {
                        Input::Unknown
                    },
                    None,
                ))
            }
            FileType::Fifo | FileType::Socket => of_pipe(input.as_fd().try_clone_to_owned()?),
            _ => Ok((Input::Unknown, None)),
        }
    }
}

/// Returns what a file gives from its position on, which stays.
fn of_file(file: &File) -> io::Result<Input> {
    let (mut bytes, mut from) = (Vec::new(), (&mut &*file).stream_position()?);
    let mut piece = vec![0; 1 << 16];
    loop {
        let count = file.read_at(&mut piece, from)?;
        bytes.extend(piece.iter().take(count));
        from += count as u64;
        if count == 0 {
            return Ok(of_bytes(&bytes));
        }
        if bytes.len() > MOST_BYTES {
            return Ok(Input::Unknown);
        }
    }
}

/// Reads a pipe to its end, and replaces it.
fn of_pipe(pipe: OwnedFd) -> io::Result<(Input, Option<Given>)> {
    let mut pipe = File::from(pipe);
    let mut bytes = Vec::new();
    let is_whole = read_to_end(&mut pipe, &mut bytes)?;
    let input = if is_whole {
        of_bytes(&bytes)
    } else {
        Input::Unknown
    };
    if is_whole && bytes.is_empty() {
        return Ok((input, None));
    }
    let (from, to) = pipe_with(PipeFlags::CLOEXEC)?;
    rustix::stdio::dup2_stdin(&from)?;
    let rest = (!is_whole).then_some(pipe);
    Ok((
        input,
        Some(Given {
            bytes,
            rest,
            to: File::from(to),
        }),
    ))
}

/// Reads until the end, and reports whether it has come soon and after few bytes.
fn read_to_end(pipe: &mut File, bytes: &mut Vec<u8>) -> io::Result<bool> {
    let mut piece = vec![0; 1 << 16];
    loop {
        let until = Instant::now() + PATIENCE;
        if !has_more(pipe, until)? {
            return Ok(false);
        }
        let count = pipe.read(&mut piece)?;
        bytes.extend(piece.iter().take(count));
        if count == 0 {
            return Ok(true);
        }
        if bytes.len() > MOST_BYTES {
            return Ok(false);
        }
    }
}

/// Waits until bytes or the end have come; reports whether they have.
fn has_more(pipe: &File, until: Instant) -> io::Result<bool> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let limit = Timespec::try_from(left).map_err(io::Error::other)?;
        let mut events = [PollFd::new(pipe, PollFlags::IN)];
        match poll(&mut events, Some(&limit)) {
            Ok(0) => return Ok(false),
            Ok(_) => return Ok(true),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn of_bytes(bytes: &[u8]) -> Input {
    if bytes.is_empty() {
        Input::Nothing
    } else {
        Input::Bytes(ContentHash::of_file(bytes))
    }
}
