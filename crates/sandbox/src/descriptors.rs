//! Creates pipes, and passes open descriptors beside the bytes of a socket.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use rustix::pipe::{PipeFlags, pipe_with};

use crate::error::SandboxError;

/// Creates a pipe; returns its end to read from, and its end to write to.
pub(crate) fn pipe() -> Result<(OwnedFd, OwnedFd), SandboxError> {
    pipe_with(PipeFlags::CLOEXEC).map_err(SandboxError::errno("make a pipe"))
}

/// The maximum number of descriptors that are passed at once.
const MOST: usize = 6;

/// Sends bytes, with descriptors beside the first of them; returns how many bytes were sent.
pub(crate) fn send(
    socket: impl AsFd,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !beside.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // Whoever reads may have ended, which is an error and no signal.
    let flags = SendFlags::NOSIGNAL;
    Ok(rustix::net::sendmsg(
        socket,
        &[IoSlice::new(bytes)],
        &mut beside,
        flags,
    )?)
}

/// Receives bytes, and the descriptors that were sent beside them.
pub(crate) fn receive(socket: impl AsFd, bytes: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC;
    let received = rustix::net::recvmsg(socket, &mut [IoSliceMut::new(bytes)], &mut beside, flags)?;
    let mut descriptors = Vec::new();
    for message in beside.drain() {
        if let RecvAncillaryMessage::ScmRights(passed) = message {
            descriptors.extend(passed);
        }
    }
    Ok((received.bytes, descriptors))
}
