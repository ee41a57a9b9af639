//! Answers the calls that the filter of the fallback tier hands to the supervisor: those that set a
//! mode, an owner or times of a file ([`super::attributes`]), that give a socket an address
//! ([`super::sockets`]), and that name a file of shared memory ([`super::shared_memory`]).
//!
//! Each is read from its caller once and carried out here, so that what is judged is what is done.
//! A call that is allowed to continue instead is judged by the kernel once more, by rules that hold
//! for it anyway.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use rustix::io::Errno;

use crate::descriptors;
use crate::helper::calls::attributes::{Asked, SETS_ATTRIBUTES, SETS_ATTRIBUTES_HERE};
use crate::helper::calls::caller::Answer;
use crate::helper::calls::shared_memory::SharedMemory;
use crate::helper::calls::sockets::Sockets;
use crate::helper::protocol::Spec;
use crate::sys::{self, Call};

/// The stack of a thread that carries out a call which may take long.
const STACK_BYTES: usize = 64 << 10;

/// The supervisor's end, which receives every call and answers it.
pub(crate) struct HandedOver {
    listener: Arc<OwnedFd>,
    roots: Vec<PathBuf>,
    sockets: Sockets,
    shared_memory: SharedMemory,
}

/// Sends the listener from the confined child to the supervisor.
pub(crate) fn hand_over(listener: &OwnedFd, supervisor: &UnixStream) -> Result<(), String> {
    let sent = descriptors::send(supervisor, b"m", &[listener.as_fd()]);
    sent.map(drop)
        .map_err(|cause| format!("hand over the listener for calls: {cause}"))
}

impl HandedOver {
    /// Receives the listener that [`hand_over`] sent. `proxy` is where the job's proxy listens, if
    /// it has one.
    pub(crate) fn take(
        child: &UnixStream,
        spec: &Spec,
        proxy: Option<SocketAddr>,
    ) -> io::Result<Self> {
        let (_, mut passed) = descriptors::receive(child, &mut [0])?;
        let listener = Arc::new(passed.pop().ok_or(io::ErrorKind::UnexpectedEof)?);
        let roots: Vec<PathBuf> = spec.writable.iter().map(PathBuf::from).collect();
        let scratch = spec.scratch.as_ref().ok_or(io::ErrorKind::InvalidInput)?;
        let shared_memory = SharedMemory::in_scratch(Path::new(scratch));
        Ok(Self {
            listener,
            sockets: Sockets::new(roots.clone(), proxy),
            roots,
            shared_memory,
        })
    }

    pub(crate) fn listener(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// Answers one call, if one is waiting.
    pub(crate) fn answer_one(&self) {
        // If the caller was killed in the meantime, no answer is needed.
        let Ok(call) = sys::receive_call(&self.listener) else {
            return;
        };
        let answer = self.answer(&call);
        give(&self.listener, call.id, answer);
    }

    fn answer(&self, call: &Call) -> Result<Answer, Errno> {
        if SETS_ATTRIBUTES.contains(&call.number) || SETS_ATTRIBUTES_HERE.contains(&call.number) {
            let asked = Asked::read(call)?;
            if !self.is_pending(call) {
                return Err(Errno::SRCH);
            }
            asked.carry_out(&self.roots)?;
            return Ok(Answer::Done);
        }
        if [libc::SYS_bind, libc::SYS_connect, libc::SYS_listen].contains(&call.number) {
            return self.sockets.carry_out(call, &|| self.is_pending(call));
        }
        self.shared_memory
            .carry_out(call, &|| self.is_pending(call))
    }

    /// Reports whether the caller still waits; if it does not, its process id may belong to another
    /// process.
    fn is_pending(&self, call: &Call) -> bool {
        sys::call_is_pending(&self.listener, call.id)
    }
}

/// Gives a call its answer. One whose caller has gone needs none.
fn give(listener: &Arc<OwnedFd>, id: u64, answer: Result<Answer, Errno>) {
    let _ = match answer {
        Ok(Answer::Done) => sys::answer_call(listener, id, 0),
        Ok(Answer::Continue) => sys::continue_call(listener, id),
        Ok(Answer::Descriptor {
            file,
            close_on_exec,
        }) => sys::answer_descriptor(listener, id, &file, close_on_exec),
        Ok(Answer::Later(carry_out)) => give_later(Arc::clone(listener), id, carry_out),
        Err(errno) => sys::answer_call(listener, id, errno.raw_os_error()),
    };
}

/// Carries out a call that may take long on a thread of its own, which ends with this process at
/// the latest: the supervisor must not wait for a server of the job's.
fn give_later(
    listener: Arc<OwnedFd>,
    id: u64,
    carry_out: Box<dyn FnOnce() -> Result<(), Errno> + Send>,
) -> io::Result<()> {
    let on_failure = Arc::clone(&listener);
    let started = thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || {
            let result = carry_out().map_err(Errno::raw_os_error);
            let _ = sys::answer_call(&listener, id, result.err().unwrap_or(0));
        });
    started
        .map(drop)
        .or_else(|_| sys::answer_call(&on_failure, id, libc::EAGAIN))
}
